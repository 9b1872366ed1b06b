package extract

import (
	"context"
	"log/slog"
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
	// The first waiting request holds the place in this channel of capacity 1; the other waiting requests queue for it.
	turn chan struct{}
	// This channel signals that a request has ended; the first waiting request receives the signal.
	moved chan struct{}

	log  *slog.Logger
	told time.Time // time of the last log line about a wait; only the first waiting request uses this field

	mu    sync.Mutex
	open  int         // requests not yet ended
	ended []time.Time // end times of requests that still count, oldest first
}

// newLimiter returns nil for a limit of 0; a nil limiter limits nothing.
func newLimiter(perMinute int, log *slog.Logger) *limiter {
	if perMinute == 0 {
		return nil
	}
	return &limiter{limit: perMinute, turn: make(chan struct{}, 1), moved: make(chan struct{}, 1), log: log}
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
		var timer <-chan time.Time // stays nil if all counted requests are still open, because the time is then unknown
		if !room.IsZero() {
			wait := time.Until(room)
			timer = time.After(wait)
			if time.Since(l.told) >= limitWindow {
				l.told = time.Now()
				l.log.Info("requests wait for the limit per minute", "limit", l.limit, "wait_ms", wait.Milliseconds())
			}
		}
		select {
		case <-timer:
		case <-l.moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryAcquire counts one more request as open if the limit allows it. If not, it returns the time at which the next
// request will be allowed, or zero if that is unknown.
func (l *limiter) tryAcquire(now time.Time) (room time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room, ok = l.room(now); ok {
		l.open++
	}
	return room, ok
}

// room reports whether the limit allows one more request now. If not, it returns the time at which the limit will allow
// one. That time is zero (unknown) if all counted requests are still open. The mutex l.mu must be locked.
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

// waitsUntil returns when the first waiting request may be sent. It returns the zero time if no request waits, or if
// the time is unknown.
func (l *limiter) waitsUntil() time.Time {
	if l == nil || len(l.turn) == 0 {
		return time.Time{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at, _ := l.room(time.Now())
	return at
}

// release ends a request that acquire allowed. If the request was not sent after all (sent is false), it does not
// count.
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
