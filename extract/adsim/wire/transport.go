package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
)

// Transport sends every request to a handler in-process, without a socket. The host of the request is ignored. As over
// TCP, a cut body reads as [io.ErrUnexpectedEOF], a reset as ECONNRESET, and a canceled request ends with its context's
// error.
func Transport(h http.Handler) http.RoundTripper {
	dial := func(context.Context, string, string) (net.Conn, error) {
		wasReset := new(atomic.Bool)
		client, server := net.Pipe()
		accept := make(onePipe, 1)
		accept <- pipe{server, wasReset}
		close(accept)
		go func() { _ = http.Serve(accept, h) }() // Serve returns after accepting the one connection, which stays open
		return pipe{client, wasReset}, nil
	}
	return &http.Transport{DialContext: dial, DialTLSContext: dial, DisableKeepAlives: true, DisableCompression: true}
}

// pipe is one end of an in-process connection. Its method reset simulates a TCP reset.
type pipe struct {
	net.Conn
	wasReset *atomic.Bool
}

func (p pipe) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if errors.Is(err, io.EOF) && p.wasReset.Load() {
		err = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return n, err
}

func (p pipe) reset() { p.wasReset.Store(true) }

// onePipe is a listener with a single connection.
type onePipe chan net.Conn

func (l onePipe) Accept() (net.Conn, error) {
	if c, ok := <-l; ok {
		return c, nil
	}
	return nil, io.EOF
}
func (l onePipe) Close() error   { return nil }
func (l onePipe) Addr() net.Addr { return nil }
