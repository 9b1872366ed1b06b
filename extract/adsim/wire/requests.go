package wire

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// Request is one line of the log. It holds no header, so no credentials.
type Request struct {
	Time   time.Time // of the service's clock
	Method string
	Path   string
	Query  string // as sent
	Fault  string // kind of the fault that it met, if any
	Status int    // 0: not answered
	Bytes  int64  // of the body, without what a fault cuts off
}

// mostRequests is the number of requests that the log holds before it drops the oldest tenth.
const mostRequests = 100_000

// Log records the requests of all accounts.
type Log struct {
	mu   sync.Mutex
	list []*Request
}

// Begin records a request that has arrived.
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

// answered records the status and size of the reply, before any of it is sent.
func (l *Log) answered(rq *Request, status int, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rq.Status, rq.Bytes = status, size
}

// Requests returns the logged requests, oldest first. A request is logged when it arrives, and its status before any of
// the reply is sent. Commands under /_sim/ are not logged.
func (l *Log) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Request, len(l.list))
	for i, rq := range l.list {
		out[i] = *rq
	}
	return out
}
