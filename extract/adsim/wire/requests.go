package wire

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// Request is one line of the log. It holds no header, so no credentials.
type Request struct {
	Time   time.Time `json:"time"` // of the service's clock
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Query  string    `json:"query"`  // as sent
	Fault  string    `json:"fault"`  // the kind of fault it met, if any
	Status int       `json:"status"` // 0: not answered yet, or never
	Bytes  int64     `json:"bytes"`  // of the part of the body that was to be sent
}

// mostRequests is how many requests the log keeps; the oldest go first.
const mostRequests = 100_000

type Log struct {
	mu   sync.Mutex
	list []*Request
}

func (l *Log) Begin(r *http.Request, now time.Time, f *Fault) *Request {
	rq := &Request{Time: now.UTC(), Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery}
	if f != nil {
		rq.Fault = string(f.Kind)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) >= mostRequests {
		l.list = slices.Delete(l.list, 0, mostRequests/10)
	}
	l.list = append(l.list, rq)
	return rq
}

// answered notes what the reply is, before the client can see any of it.
func (l *Log) answered(rq *Request, status int, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rq.Status, rq.Bytes = status, size
}

// Requests lists what the service was asked, oldest first; of very many, the
// latest. A request stands there as soon as it came in, and its status before
// any of the answer is sent. Requests of the control are not among them.
func (l *Log) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Request, len(l.list))
	for i, rq := range l.list {
		out[i] = *rq
	}
	return out
}
