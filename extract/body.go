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

// The bounds of the replies that a client reads at the same time, in bytes.
const (
	maxInFlight    = 64 << 20 // of all replies together
	defaultMaxBody = 30 << 20 // of one reply: while its parts are joined it takes twice as much, and a little more

	firstPart   = 64 << 10
	largestPart = 1 << 20
)

var (
	errTooLarge = errors.New("too large")
	errCut      = errors.New("the body is shorter than its content-length")
	// errCrowded reports that a reply could not grow, because another one waits for memory, too.
	errCrowded = errors.New("other replies take the memory that it needs")
)

// inFlight is the memory of the replies that are being read, one budget for all of them.
type inFlight struct {
	free *semaphore.Weighted
	// waiting counts the replies for which the others have to make room: one that holds memory and waits for more, and
	// those that wait for all of it.
	waiting atomic.Int32
}

func newInFlight() *inFlight { return &inFlight{free: semaphore.NewWeighted(maxInFlight)} }

// memory is what one reply holds of the budget.
type memory struct {
	of    *inFlight
	held  int64
	alone bool // it holds all
}

// acquireAll waits until no other reply is being read, and keeps the others waiting.
func (m *memory) acquireAll(ctx context.Context) error {
	m.of.waiting.Add(1)
	defer m.of.waiting.Add(-1)
	err := m.of.free.Acquire(ctx, maxInFlight)
	if err == nil {
		m.held, m.alone = maxInFlight, true
	}
	return err
}

// acquire waits for n more bytes. A reply that holds memory waits only if no other one waits for it to end.
func (m *memory) acquire(ctx context.Context, n int64) error {
	if m.alone || m.of.free.TryAcquire(n) {
		m.held += n
		return nil
	}
	if m.held > 0 {
		if !m.of.waiting.CompareAndSwap(0, 1) {
			return errCrowded
		}
		defer m.of.waiting.Add(-1)
	}
	if m.held+n > maxInFlight {
		return errTooLarge
	}
	err := m.of.free.Acquire(ctx, n)
	if err == nil {
		m.held += n
	}
	return err
}

// release gives the reply's share of the memory back.
func (m *memory) release() {
	held := m.held
	if m.alone {
		held = maxInFlight
	}
	m.of.free.Release(held)
	*m = memory{of: m.of}
}

// readAll reads a body to its end, into room if it fits. It grows by parts, which never double beyond [largestPart].
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

// readBody is the whole decompressed body, in room if it fits, and how many bytes were read. The cap holds for
// decompressed bytes, so a small bomb stays small.
func (m *memory) readBody(ctx context.Context, resp *http.Response, room []byte, most int64) (body []byte, n int64,
	err error) {
	if n := resp.ContentLength; n > 0 && n <= most && int64(cap(room)) < n+bytes.MinRead {
		// The next page may be a little longer.
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
		// net/http sees this on real connections; other transports may not.
		return nil, n, errCut
	case bytes.HasPrefix(body, []byte{0x1f, 0x8b}):
		// Some services send any JSON in gzip that was not requested, with or without a header for it.
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
