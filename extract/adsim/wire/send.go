package wire

import (
	"cmp"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Send writes a reply, and applies the faults that strike while it is sent.
func Send(w http.ResponseWriter, r *http.Request, now time.Time, rep Reply, f *Fault) {
	if f.Is(Hang) {
		f.wait(r)
	}
	if f.Is(Trailing) {
		rep.Body = slices.Concat(rep.Body, []byte(cmp.Or(f.Value, `{"columns":[],"data":[]}`)))
	}
	sent := f.sent(len(rep.Body))
	if f.Is(Reset) && f.After == 0 {
		reset(w)
	}
	h := w.Header()
	maps.Copy(h, rep.Header)
	if _, set := h["Date"]; !set {
		h.Set("Date", now.UTC().Format(http.TimeFormat))
	}
	chunked := f != nil && f.Chunked
	if !chunked {
		h.Set("Content-Length", strconv.Itoa(len(rep.Body)))
	}
	w.WriteHeader(rep.Status)
	if f.Is(Slow) {
		dribble(w, r, rep.Body, max(1, f.After), f.For)
		return
	}
	// A write fails if the client has disconnected, and then nothing is left to do.
	_, _ = w.Write(rep.Body[:sent])
	if chunked || f.cuts() {
		flush(w)
	}
	switch {
	case f.Is(Cut):
		panic(http.ErrAbortHandler)
	case f.Is(Reset):
		reset(w)
	case f.Is(Stall):
		f.wait(r)
		_, _ = w.Write(rep.Body[sent:])
	}
}

// cuts reports whether the fault interrupts the reply after a part of the body.
func (f *Fault) cuts() bool { return f.Is(Cut) || f.Is(Reset) || f.Is(Stall) }

// sent returns how many bytes of a body of the given size are sent before the fault strikes.
func (f *Fault) sent(size int) int {
	switch {
	case !f.cuts():
		return size
	case f.Kind == Cut && f.After == 0:
		return size / 2
	}
	return min(size, max(0, f.After))
}

// wait pauses for the fault's duration. If the client disconnects during the pause, wait panics with
// [http.ErrAbortHandler].
func (f *Fault) wait(r *http.Request) {
	if !pause(r, f.For) {
		panic(http.ErrAbortHandler)
	}
}

// pause waits for d, and reports whether the client is still connected. If d is 0, pause waits until the client
// disconnects.
func pause(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		<-r.Context().Done()
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// dribble writes the body, n bytes at a time, with a pause after each write.
func dribble(w http.ResponseWriter, r *http.Request, body []byte, n int, wait time.Duration) {
	if wait <= 0 {
		wait = 10 * time.Millisecond
	}
	for len(body) > 0 {
		part := body[:min(n, len(body))]
		body = body[len(part):]
		if _, err := w.Write(part); err != nil {
			return
		}
		flush(w)
		if len(body) > 0 && !pause(r, wait) {
			panic(http.ErrAbortHandler)
		}
	}
}

func flush(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush()
}

// reset closes the connection with a TCP reset, and panics to end the handler.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	switch c := conn.(type) {
	case *net.TCPConn:
		_ = c.SetLinger(0)
	case pipe:
		c.reset()
	}
	_ = conn.Close()
	panic(http.ErrAbortHandler)
}
