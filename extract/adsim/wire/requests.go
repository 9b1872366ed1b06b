package wire

import (
	"net/http"
	"slices"
	"sync"
)

// Request is one entry of the log. It has no headers, and therefore no credentials.
type Request struct {
	Path  string
	Query string // as sent
	Fault string // kind of the fault that affected the request, if any
}

// mostRequests is the number of requests that the log holds before it drops the oldest tenth.
const mostRequests = 100_000

// Log records the requests of all accounts.
type Log struct {
	mu   sync.Mutex
	list []Request
}

// Add logs a request that has arrived. Commands under /_sim/ are not logged.
func (l *Log) Add(r *http.Request, f *Fault) {
	rq := Request{Path: r.URL.Path, Query: r.URL.RawQuery}
	if f != nil {
		rq.Fault = string(f.Kind)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) >= mostRequests {
		l.list = slices.Delete(l.list, 0, mostRequests/10)
	}
	l.list = append(l.list, rq)
}

// Requests returns the logged requests, oldest first.
func (l *Log) Requests() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}
