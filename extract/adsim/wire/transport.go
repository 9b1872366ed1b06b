package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
)

// Transport answers requests in-process, without a socket: any host will do. A
// cut body reads as [io.ErrUnexpectedEOF], a reset as ECONNRESET, and a request
// that is cancelled ends with its context's error, as over TCP.
func Transport(h http.Handler) http.RoundTripper { return transport{h} }

type transport struct{ handler http.Handler }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	ctx, cancel := context.WithCancel(req.Context())
	body, pipe := io.Pipe()
	w := &pipeWriter{header: make(http.Header), pipe: pipe, ready: make(chan struct{})}
	// A client that stops waiting must not find the handler blocked on its pipe.
	stop := context.AfterFunc(ctx, func() { pipe.CloseWithError(context.Cause(ctx)) })

	in := req.Clone(ctx)
	if in.Body == nil {
		in.Body = http.NoBody
	}
	in.RequestURI = req.URL.RequestURI()
	go func() {
		err := w.serve(t.handler, in)
		// If the client gave up first, report the client's reason, not the handler's.
		if gone := context.Cause(req.Context()); gone != nil {
			err = gone
		}
		stop()
		cancel()
		pipe.CloseWithError(err)
		w.WriteHeader(0)
	}()
	select {
	case <-w.ready:
	case <-req.Context().Done():
		return nil, context.Cause(req.Context())
	}
	if err := w.err; err != nil {
		cancel()
		if gone := context.Cause(req.Context()); gone != nil {
			err = gone
		}
		return nil, err
	}
	return &http.Response{
		Status:        strconv.Itoa(w.status) + " " + http.StatusText(w.status),
		StatusCode:    w.status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        w.sent,
		Body:          pipeBody{body, cancel},
		ContentLength: w.length,
		Request:       req,
	}, nil
}

// pipeBody lets go of the handler when the client closes the body.
type pipeBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b pipeBody) Close() error {
	err := b.PipeReader.Close()
	b.cancel()
	return err
}

// pipeWriter is the ResponseWriter of a request without a socket.
type pipeWriter struct {
	header http.Header
	pipe   *io.PipeWriter
	ready  chan struct{} // closed when status, sent, length or err are there
	once   sync.Once
	sent   http.Header
	status int
	length int64 // -1: not known
	err    error
}

func (w *pipeWriter) Header() http.Header { return w.header }

// WriteHeader gives the response to the client. 0 stands for a handler that is
// done, or gone, without having done so.
func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent, w.length = status, w.header.Clone(), -1
		if status == 0 && w.err == nil {
			w.status = http.StatusOK
		}
		if n, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64); err == nil {
			w.length = n
		}
		close(w.ready)
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(p)
}

// Flush does nothing: a pipe holds nothing back.
func (w *pipeWriter) Flush() {}

var errReset = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

func (w *pipeWriter) reset() {
	w.pipe.CloseWithError(errReset)
	w.once.Do(func() { w.err = errReset; close(w.ready) })
}

// serve runs the handler and returns how the body ends.
func (w *pipeWriter) serve(h http.Handler, r *http.Request) (err error) {
	defer func() {
		switch p := recover(); {
		case p == nil:
		case errors.Is(asError(p), http.ErrAbortHandler):
			err = io.ErrUnexpectedEOF
			w.once.Do(func() { w.err = io.EOF; close(w.ready) })
		default:
			panic(p)
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

func asError(p any) error {
	err, _ := p.(error)
	return err
}
