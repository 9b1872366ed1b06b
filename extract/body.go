package extract

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// The bounds of the replies in memory, in bytes.
const (
	maxInFlight    = 64 << 20 // all replies of a client together
	defaultMaxBody = 30 << 20 // one reply; while its parts are joined, they take twice as much memory

	firstPart   = 64 << 10
	largestPart = 1 << 20
)

var (
	errTooLarge = errors.New("too large")
	errCut      = errors.New("the body is shorter than its content-length")
	// errCrowded reports that a reply could not get more memory, because another reply already waits for memory.
	errCrowded = errors.New("other replies take the memory that it needs")
)

// inFlight is the memory budget that all replies of a client share while they are read.
type inFlight struct {
	free *semaphore.Weighted
	// waiting counts the replies that wait while they hold memory (at most one), and the replies that wait for the
	// entire budget.
	waiting atomic.Int32
}

func newInFlight() *inFlight { return &inFlight{free: semaphore.NewWeighted(maxInFlight)} }

// memory is the part of the budget that one reply holds.
type memory struct {
	budget *inFlight
	held   int64
	alone  bool // the reply holds the entire budget
}

// acquireAll waits until no other reply is being read, and then holds the entire budget.
func (m *memory) acquireAll(ctx context.Context) error {
	m.budget.waiting.Add(1)
	defer m.budget.waiting.Add(-1)
	err := m.budget.free.Acquire(ctx, maxInFlight)
	if err == nil {
		m.held, m.alone = maxInFlight, true
	}
	return err
}

// acquire waits for n more bytes. If the reply already holds memory and another reply is counted in waiting, acquire
// returns errCrowded: two replies that hold memory could wait for each other forever.
func (m *memory) acquire(ctx context.Context, n int64) error {
	if m.alone || m.budget.free.TryAcquire(n) {
		m.held += n
		return nil
	}
	if m.held > 0 {
		if !m.budget.waiting.CompareAndSwap(0, 1) {
			return errCrowded
		}
		defer m.budget.waiting.Add(-1)
	}
	if m.held+n > maxInFlight {
		return errTooLarge
	}
	err := m.budget.free.Acquire(ctx, n)
	if err == nil {
		m.held += n
	}
	return err
}

// release returns the reply's memory.
func (m *memory) release() {
	held := m.held
	if m.alone {
		held = maxInFlight
	}
	m.budget.free.Release(held)
	*m = memory{budget: m.budget}
}

// readAll reads a body to its end, into room, and returns its number of bytes. If room is too small, readAll adds parts
// of at most [largestPart] bytes. A body of more than most bytes is errTooLarge.
func (m *memory) readAll(ctx context.Context, r io.Reader, room []byte, most int64) (body []byte, n int64, err error) {
	r = io.LimitReader(r, most+1)
	var parts [][]byte
	for part := room[:0]; ; {
		if len(part) == cap(part) {
			parts = append(parts, part)
			size := min(max(n, firstPart), largestPart)
			if err := m.acquire(ctx, size); err != nil {
				return nil, n, err
			}
			part = make([]byte, 0, size)
		}
		more, err := r.Read(part[len(part):cap(part)])
		part, n = part[:len(part)+more], n+int64(more)
		switch {
		case n > most:
			return nil, n, errTooLarge
		case errors.Is(err, io.EOF) && len(parts) == 0:
			return part, n, nil
		case errors.Is(err, io.EOF):
			if err := m.acquire(ctx, n); err != nil {
				return nil, n, err
			}
			return slices.Concat(append(parts, part)...), n, nil
		case err != nil:
			return nil, n, err
		}
	}
}

// readBody returns the whole decompressed body, in room if the body fits there, and the number of bytes read. The
// parameter most bounds the decompressed bytes, so a compression bomb does no harm.
func (m *memory) readBody(ctx context.Context, resp *http.Response, room []byte, most int64) (body []byte, n int64,
	err error) {
	if n := resp.ContentLength; n > 0 && n <= most && int64(cap(room)) < n+bytes.MinRead {
		// Allocate more than this reply needs: the next page is read into the same memory, and may be a little longer.
		n += n/16 + bytes.MinRead
		if err := m.acquire(ctx, n); err != nil {
			return nil, 0, err
		}
		room = make([]byte, 0, n)
	}
	body, n, err = m.readAll(ctx, resp.Body, room, most)
	switch {
	case err != nil:
		return nil, n, err
	case resp.ContentLength >= 0 && !resp.Uncompressed && n != resp.ContentLength:
		// net/http reports a short body on real connections; other transports may not.
		return nil, n, errCut
	case bytes.HasPrefix(body, []byte{0x1f, 0x8b}):
		// Some services compress JSON although no request asked for it, with or without a header that says so.
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, n, err
		}
		if body, _, err = m.readAll(ctx, z, nil, most); err != nil {
			return nil, n, err
		}
	}
	return bytes.TrimPrefix(body, []byte("\uFEFF")), n, nil // RFC 8259, section 8.1
}
