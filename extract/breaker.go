package extract

import (
	"sync"
	"time"
)

// breaker limits how long all requests of a client together wait for a service that fails. It also holds the time until
// which the service asked for a pause.
//
// A failed request uses up the budget: its own duration counts, and so does the wait until it is sent again. Time in
// which several requests wait counts once. If a request is answered at a later attempt, the budget is full again. Once
// the budget is used up, failed requests are not repeated. If no request is answered for a further time, the duration
// in b.silent, the client stops sending. So a service that is down costs at most the budget plus that duration. A
// service that answers some requests costs little more than one budget. A day that always fails does not hold up the
// other days.
type breaker struct {
	budget time.Duration
	// After the budget is used up, the client stops sending if no request is answered for this long.
	silent time.Duration

	mu      sync.Mutex
	resume  time.Time     // no request is sent before this time, because the service asked for a pause
	spent   time.Duration // time waited since the budget was last full
	counted time.Time     // waits before this time are already part of spent
}

// waited adds the time since the given instant to the used part of the budget, except time that was already added.
func (b *breaker) waited(since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	more := max(0, now.Sub(latest(since, b.counted)))
	b.counted = now
	if b.spent < b.budget {
		more = min(more, b.budget-b.spent)
	}
	b.spent += more
}

// answered records that a request was answered. If an earlier attempt of it had failed, the budget is full again. Once
// the budget is used up, each answer restarts the time after which the client stops sending.
func (b *breaker) answered(hadFailed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if hadFailed {
		b.spent, b.counted = 0, time.Now()
	}
	b.spent = min(b.spent, b.budget)
}

// useUp uses up the rest of the budget.
func (b *breaker) useUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = max(b.spent, b.budget)
}

// left returns how much longer a request may wait: the rest of the budget. A request that was never sent may wait
// longer, by b.silent.
func (b *breaker) left(wasSent bool) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.budget
	if !wasSent {
		all += b.silent
	}
	return max(0, all-b.spent)
}

// pause delays all requests by d from now. A longer pause that is already in force remains.
func (b *breaker) pause(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.resume = latest(b.resume, time.Now().Add(d))
}

// paused returns how long requests have to wait.
func (b *breaker) paused() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, time.Until(b.resume))
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
