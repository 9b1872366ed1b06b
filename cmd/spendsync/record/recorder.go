package record

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Bounds of a recording.
const (
	mostOfOne   = 3        // replies to one question
	mostReplies = 2000     // of all questions
	mostBytes   = 64 << 20 // of all bodies
)

// Recorder keeps the replies that pass through it.
type Recorder struct {
	now func() time.Time

	mu    sync.Mutex
	taken []taken
	size  int
	full  bool
}

// taken is a request and its reply, unchanged.
type taken struct {
	of, path string
	query    url.Values
	status   int
	header   http.Header
	ahead    *int
	body     []byte
}

// New returns an empty recorder. now is this machine's clock.
func New(now func() time.Time) *Recorder { return &Recorder{now: now} }

// Through returns a transport that sends requests through another one, and keeps the replies of the interface with
// the given base URL.
func (r *Recorder) Through(next http.RoundTripper, of, base string) http.RoundTripper {
	prefix := ""
	if u, err := url.Parse(base); err == nil {
		prefix = strings.TrimSuffix(u.Path, "/")
	}
	return through{r, next, of, prefix}
}

type through struct {
	r          *Recorder
	next       http.RoundTripper
	of, prefix string
}

// RoundTrip sends a request. It reads the body of the reply to the end before it returns.
func (t through) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	x := taken{of: t.of, path: strings.TrimPrefix(strings.TrimPrefix(req.URL.Path, t.prefix), "/"),
		query: req.URL.Query()}
	if err != nil {
		if req.Context().Err() == nil {
			t.r.keep(x)
		}
		return resp, err
	}
	body, readErr := io.ReadAll(io.LimitReader(resp.Body, mostBytes))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), failing{readErr}, resp.Body), resp.Body}
	x.status, x.header, x.body = resp.StatusCode, resp.Header.Clone(), plain(resp.Header, body)
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		ahead := int(at.Sub(t.r.now()).Round(time.Second) / time.Second)
		x.ahead = &ahead
	}
	t.r.keep(x)
	return resp, nil
}

// failing is a reader that returns the error of another one; nil: the end of the input.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}

// plain returns the decompressed body.
func plain(h http.Header, body []byte) []byte {
	if !strings.EqualFold(h.Get("Content-Encoding"), "gzip") {
		return body
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return body
	}
	text, err := io.ReadAll(io.LimitReader(z, mostBytes))
	if err != nil {
		return body
	}
	return text
}

// keep keeps a reply, unless there are enough already.
func (r *Recorder) keep(x taken) {
	r.mu.Lock()
	defer r.mu.Unlock()
	same := 0
	for _, k := range r.taken {
		if k.of == x.of && k.path == x.path && k.query.Encode() == x.query.Encode() {
			if k.status == x.status && bytes.Equal(k.body, x.body) {
				return
			}
			same++
		}
	}
	if same >= mostOfOne || len(r.taken) >= mostReplies || r.size+len(x.body) > mostBytes {
		r.full = true
		return
	}
	r.size += len(x.body)
	r.taken = append(r.taken, x)
}
