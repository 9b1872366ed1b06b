package extract

import (
	"sync"
	"time"
)

// breaker is the patience of a client, which all of its requests share: one budget of waiting, and until when the
// service asked to be left alone.
//
// Waiting is the time of a request that failed and the time until it is sent again. It counts once, however many
// requests wait in it. An answer to a question that had failed refills the budget. Once it is used up, each question is
// sent once; if that brings no answer for as long again, nothing is sent any more. So a service that is down costs two
// budgets at most, one that answers only in part little more than one, and a day that always fails keeps no other day
// back.
type breaker struct {
	budget time.Duration
	silent time.Duration // for which a service may leave the questions without an answer that are sent once

	mu      sync.Mutex
	resume  time.Time     // no request is sent before this time: the service asked for the pause
	spent   time.Duration // waited since an answer last refilled the budget
	counted time.Time     // up to which spent counts
}

// waited counts the time since an instant as waited.
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

// answered notes an answer. One to a question that had failed makes the whole budget available again.
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

// left returns how much longer a request may wait. A request that was never sent may wait longer.
func (b *breaker) left(wasSent bool) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.budget
	if !wasSent {
		all += b.silent
	}
	return max(0, all-b.spent)
}

// pause makes all requests wait for this long from now, unless they already wait longer.
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
