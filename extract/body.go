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

// The bounds of the memory for replies, in bytes.
const (
	maxInFlight    = 64 << 20 // limit for all replies of a client together
	defaultMaxBody = 30 << 20 // limit for one reply; joining its parts takes twice as much memory

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
	// waiting counts replies that wait for memory: at most one reply that already holds some memory, and all replies
	// that need the entire budget.
	waiting atomic.Int32
}

func newInFlight() *inFlight { return &inFlight{free: semaphore.NewWeighted(maxInFlight)} }

// memory is the part of the budget that one reply holds.
type memory struct {
	budget *inFlight
	held   int64
	alone  bool // whether the reply holds the entire budget
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

// acquire waits for n more bytes. If this reply already holds memory and another reply waits (m.budget.waiting > 0),
// acquire does not wait but returns errCrowded, because two replies that hold memory could wait for each other forever.
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

// readAll reads r to its end and returns the body and its length in bytes. The body is stored in the slice `room` if it
// fits there. If not, readAll allocates further parts of at most [largestPart] bytes. The error is errTooLarge if the
// body has more than `most` bytes.
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

// readBody returns the complete decompressed body of a reply, and the number of bytes that were received. The body is
// stored in the slice `room` if it fits there. The decompressed body may not exceed the limit `most`, so a compression
// bomb does no harm.
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
