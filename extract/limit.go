package extract

import (
	"context"
	"sync"
	"time"
)

// limitWindow is a minute plus a margin for clocks that run at different speeds.
const limitWindow = time.Minute + 250*time.Millisecond

// limiter limits the requests so that no window of 60 seconds has more than the limit, not even by the service's clock.
// A request arrives at the service somewhere between its sending and its end, so it counts from its sending until a
// minute after its end. If only sending times counted, a slow request could arrive together with the requests of the
// next minute.
//
// The limiter cannot count the requests that net/http repeats by itself. That happens when the server closed an idle
// connection before it answered anything.
type limiter struct {
	limit int
	// The first waiter holds turn; other waiters queue for it.
	turn chan struct{}
	// moved tells the first waiter that a request ended.
	moved chan struct{}

	mu    sync.Mutex
	open  int         // requests not yet ended
	ended []time.Time // ends of requests that still count, oldest first
}

// newLimiter returns nil for a limit of 0; a nil limiter limits nothing.
func newLimiter(perMinute int) *limiter {
	if perMinute == 0 {
		return nil
	}
	return &limiter{limit: perMinute, turn: make(chan struct{}, 1), moved: make(chan struct{}, 1)}
}

// acquire returns when one more request may be sent. Each acquire without an error must be followed by one release.
func (l *limiter) acquire(ctx context.Context) error {
	if l == nil {
		return nil
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.turn }()
	for {
		room, ok := l.tryAcquire(time.Now())
		if ok {
			return nil
		}
		var timer <-chan time.Time // nil while unknown: all requests are still open
		if !room.IsZero() {
			timer = time.After(time.Until(room))
		}
		select {
		case <-timer:
		case <-l.moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryAcquire reserves the place of one request, or returns the time at which a place becomes free.
func (l *limiter) tryAcquire(now time.Time) (room time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room, ok = l.room(now); ok {
		l.open++
	}
	return room, ok
}

// room reports whether a place is free, and returns when one becomes free if none is; the zero time if all requests are
// still open. It must be called with mu locked.
func (l *limiter) room(now time.Time) (at time.Time, ok bool) {
	old := 0
	for old < len(l.ended) && now.Sub(l.ended[old]) >= limitWindow {
		old++
	}
	l.ended = append(l.ended[:0], l.ended[old:]...)
	if l.open+len(l.ended) < l.limit {
		return time.Time{}, true
	}
	if len(l.ended) == 0 {
		return time.Time{}, false
	}
	return l.ended[0].Add(limitWindow), false
}

// waitsUntil returns when the first waiting request may be sent; the zero time if no request waits, or if the time is
// unknown.
func (l *limiter) waitsUntil() time.Time {
	if l == nil || len(l.turn) == 0 {
		return time.Time{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at, _ := l.room(time.Now())
	return at
}

// release records that the request ended, or that it was not sent after all.
func (l *limiter) release(sent bool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.open--
	if sent {
		l.ended = append(l.ended, time.Now())
	}
	l.mu.Unlock()
	select {
	case l.moved <- struct{}{}:
	default: // already signaled
	}
}
