package extract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errDown ends a wait when the service counts as down.
var errDown = errors.New("down")

// breaker is a circuit breaker, which all requests of a client share: until when the service
// asked to be left alone, and whether it answers at all.
//
// A read alone gives up after its own budget. When nothing at all has succeeded
// for so long, the service is down, and the reads that wait and those to come
// end at once: an outage costs one budget, not one for each day.
//
// An outage may be partial: some questions are answered, others never. All questions that stay
// unanswered share one budget, and time counts once, however many of them wait in it. When
// it is used up, a question is still asked, for it may be one of the healthy ones, but a failure
// is not waited for: it is asked again only if that is quick, [patientAttempts] times at most,
// and a request may take no longer than healthy ones do. An answer to a question that had
// used up the budget ends the outage: the next one has a budget of its own.
//
// A service that is down still gets a single request from a few further reads, and the others wait for how these
// end. Without that, one day that always fails would pass for an outage if days are read one after the other, and
// a few that always fail if several are read at a time.
type breaker struct {
	patience time.Duration

	mu          sync.Mutex
	resume      time.Time            // no request is sent before this time: the service asked for the pause
	closed      map[string]time.Time // the same for one endpoint, if the pause is longer than any read waits
	lastSuccess time.Time            // when it last answered
	since       time.Time            // when the first request after that was sent
	latest      time.Time            // when a request last failed
	cause       string               // why
	tripped     chan struct{}        // closed when the service is down
	down        bool
	probes      int
	probing     int           // of the probes, those that have not ended
	probed      chan struct{} // closed when one of them ends

	spent   time.Duration   // waited without success, by all requests
	until   time.Time       // up to which it counts
	unheard map[string]bool // questions that are not answered, until one of them is
	slowest time.Duration   // that an answer took
}

// maxProbes is the number of reads that may send one request while the service is down; after probeEvery, another one
// may.
const (
	maxProbes  = 3
	probeEvery = 30 * time.Second
)

// patientAttempts is how often a question is asked once the budget is used up.
const patientAttempts = 3

// Once the budget is used up, a question may take a part of it, or some times as long as the slowest
// answer took, for a healthy one may be slow.
const (
	briefPart = 60
	slowTimes = 3
	briefest  = time.Second
)

// left returns how much longer a question may wait that has been failing since an instant.
func (b *breaker) left(since time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.patience - b.spent - time.Since(latest(since, b.until))
}

// giveUp counts the time since an instant as waited without success by a request.
func (b *breaker) giveUp(question string, since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.spent += max(0, now.Sub(latest(since, b.until)))
	b.until = now
	if b.unheard == nil {
		b.unheard = map[string]bool{}
	}
	b.unheard[question] = true
}

// useUp ends the budget for a request that is asked to wait longer than the rest of it.
func (b *breaker) useUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent = b.patience
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// answered notes that a question is answered, and how long the request took.
func (b *breaker) answered(question string, took time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slowest = max(b.slowest, took)
	if b.unheard[question] {
		clear(b.unheard)
		b.spent = 0
	}
}

// slowestAnswer returns how long the slowest answer took.
func (b *breaker) slowestAnswer() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slowest
}

// hasSpent reports whether the budget is used up.
func (b *breaker) hasSpent() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent >= b.patience
}

// brief is how long a question may take, with all of its requests, once the budget is used up.
func (b *breaker) brief() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(briefest, b.patience/briefPart, slowTimes*b.slowest)
}

func newBreaker(patience time.Duration) *breaker {
	return &breaker{patience: patience, tripped: make(chan struct{})}
}

// allow admits a read. The returned channel ends the waits of the read. It is nil for a read that may send one
// request although the service is down; that read must call endProbe when it is done.
func (b *breaker) allow(ctx context.Context) (tripped <-chan struct{}, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.down && b.probes >= maxProbes && time.Since(b.latest) < probeEvery {
		if b.probing == 0 {
			return nil, errDown
		}
		ended := b.probed
		b.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
		}
		b.mu.Lock()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if !b.down {
		return b.tripped, nil
	}
	if b.probing == 0 {
		b.probed = make(chan struct{})
	}
	b.probes, b.probing = b.probes+1, b.probing+1
	return nil, nil
}

// endProbe releases the reads that wait for a probe.
func (b *breaker) endProbe() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.probed)
	b.probing, b.probed = b.probing-1, make(chan struct{})
}

// askAgain notes that a failed read is repeated with a smaller request. The repetition does not count as another
// probe: otherwise one day that always fails would look like an outage.
func (b *breaker) askAgain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probes = max(0, b.probes-1)
}

// success notes that the service answered, with any status.
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

// pause makes all requests wait for this long from now, unless they already wait longer.
func (b *breaker) pause(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := time.Now().Add(d); t.After(b.resume) {
		b.resume = t
	}
}

// close refuses the requests of one endpoint for a pause that is longer than a read may wait. If another endpoint
// demands such a pause too, the limit belongs to the whole service, and the pause holds for all, as in [breaker.pause].
func (b *breaker) close(endpoint string, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.closed == nil {
		b.closed = map[string]time.Time{}
	}
	b.closed[endpoint] = latest(b.closed[endpoint], now.Add(d))
	for other, until := range b.closed {
		if other != endpoint && now.Before(until) {
			b.resume = latest(b.resume, now.Add(d))
		}
	}
}

// pausedUntil is when the next request to an endpoint may be sent.
func (b *breaker) pausedUntil(endpoint string) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return latest(b.resume, b.closed[endpoint])
}

// reason states since when the service is down, and why.
func (b *breaker) reason() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since.IsZero() {
		return fmt.Sprintf("nothing had succeeded for %v", b.patience) // and just now something did
	}
	return fmt.Sprintf("nothing has succeeded since %s (%v); the last failure: %s",
		b.since.UTC().Format(time.RFC3339), time.Since(b.since).Round(time.Second), b.cause)
}
