package extract

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// errDown is how a wait ends when the service has been taken for down.
var errDown = errors.New("down")

// breaker is a circuit breaker, which all requests of a client share: until when the service
// asked to be left alone, and whether it answers at all.
//
// A read alone gives up after its own budget. When nothing at all has succeeded
// for so long, the service is down, and the reads that wait and those to come
// end at once: an outage costs one budget, not one for each day.
//
// An outage may be partial: some questions are answered, others never. The first read
// that has used up its budget has waited for all: from then on a question is asked
// [patientAttempts] times at most, and where each takes long, such as one that ends by its
// timeout, not again after a tenth of the budget.
//
// A service that is down still gets a single request from a few further reads.
// Without that, one day that always fails would pass for an outage where days
// are read one after the other.
type breaker struct {
	patience time.Duration

	mu          sync.Mutex
	resume      time.Time     // nobody asks before: the service said so
	lastSuccess time.Time     // when it last answered
	since       time.Time     // when the first request after that was sent
	latest      time.Time     // when a request last failed
	cause       string        // why
	tripped     chan struct{} // closed when the service is down
	down        bool
	probes      int

	exhausted map[string]bool // questions that have used up the budget, until one is answered
}

// maxProbes are the reads that may try once while the service is down;
// probeEvery lets in another one after a while.
const (
	maxProbes  = 3
	probeEvery = 30 * time.Second
)

// patientAttempts is how often a read asks once another has used up its budget in vain.
const patientAttempts = 3

// exhaust notes that a question has used up its budget.
func (b *breaker) exhaust(question string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.exhausted == nil {
		b.exhausted = map[string]bool{}
	}
	b.exhausted[question] = true
}

// recovered notes that a question is answered.
func (b *breaker) recovered(question string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.exhausted[question] {
		clear(b.exhausted)
	}
}

// isExhausted says whether a question has used up its budget.
func (b *breaker) isExhausted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.exhausted) > 0
}

func newBreaker(patience time.Duration) *breaker {
	return &breaker{patience: patience, tripped: make(chan struct{})}
}

// allow lets a read begin. The channel that it returns ends the read's waits. It
// is nil for a read that may try once although the service is down.
func (b *breaker) allow() (tripped <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.down {
		return b.tripped, nil
	}
	if b.probes >= maxProbes && time.Since(b.latest) < probeEvery {
		return nil, errDown
	}
	b.probes++
	return nil, nil
}

// success notes that the service gave an answer, whatever it was.
func (b *breaker) success() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastSuccess, b.since, b.latest = time.Now(), time.Time{}, time.Time{}
	if b.down {
		b.down, b.probes, b.tripped = false, 0, make(chan struct{})
	}
}

// failure notes a request, sent at the given time, that the service did not
// answer. It reports whether the service is down, and else the channel that ends
// the read's next wait.
func (b *breaker) failure(sent time.Time, cause string) (tripped <-chan struct{}, down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if sent.Before(b.lastSuccess) {
		sent = b.lastSuccess // others were answered while this one was on its way
	}
	// After a silence longer than our patience an older failure proves nothing.
	if b.since.IsZero() || sent.Sub(b.latest) > b.patience {
		b.since = sent
	}
	b.latest, b.cause = now, cause
	if !b.down && now.Sub(b.since) >= b.patience {
		b.down, b.probes = true, 0
		close(b.tripped)
	}
	return b.tripped, b.down
}

// pause makes everybody wait for so long from now, unless they already wait
// longer.
func (b *breaker) pause(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := time.Now().Add(d); t.After(b.resume) {
		b.resume = t
	}
}

// pausedUntil is when the next request may be sent.
func (b *breaker) pausedUntil() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.resume
}

// reason says since when the service is down, and why.
func (b *breaker) reason() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since.IsZero() {
		return fmt.Sprintf("nothing had succeeded for %v", b.patience) // and just now something did
	}
	return fmt.Sprintf("nothing has succeeded since %s (%v); the last failure: %s",
		b.since.UTC().Format(time.RFC3339), time.Since(b.since).Round(time.Second), b.cause)
}
