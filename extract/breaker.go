package extract

import (
	"sync"
	"time"
)

// breaker limits how long all requests of a client together wait for a service that fails. It also holds the time until
// which the service asked for a pause.
//
// The time of a failed request counts as waiting, and so does the time until it is sent again; time in which several
// requests wait counts once. An answer to a question that had failed before refills the budget. Once the budget is used
// up, each question is sent once only. If these single requests bring no answer for another budget's time, nothing is
// sent any more. So a service that is down costs at most two budgets, and a service that answers some questions costs
// little more than one budget. A day that always fails does not hold up the other days.
type breaker struct {
	budget time.Duration
	silent time.Duration // how long questions that are sent once may remain without any answer

	mu      sync.Mutex
	resume  time.Time     // no request is sent before this time, because the service asked for a pause
	spent   time.Duration // waited since an answer last refilled the budget
	counted time.Time     // spent includes the waiting up to this time
}

// waited counts the time since an instant as waiting.
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

// answered records an answer. An answer to a question that had failed refills the budget. After the budget is used up,
// every answer restarts the time silent.
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

// left returns how much longer a request may wait. A request that was never sent may also wait for the time silent.
func (b *breaker) left(wasSent bool) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.budget
	if !wasSent {
		all += b.silent
	}
	return max(0, all-b.spent)
}

// pause makes all requests wait for d from now, unless they already wait longer.
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
