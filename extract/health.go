package extract

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// errDown is how a wait ends when the service has been taken for down.
var errDown = errors.New("down")

// health is what the requests of a client tell each other about the service:
// until when it asked to be left alone, and whether it answers at all.
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
type health struct {
	patience time.Duration

	mu      sync.Mutex
	resume  time.Time     // nobody asks before: the service said so
	success time.Time     // when it last answered
	since   time.Time     // when the first request after that was sent
	latest  time.Time     // when a request last failed
	cause   string        // why
	alarm   chan struct{} // closed when the service is down
	down    bool
	probes  int

	givenUp map[string]bool // questions that have used up the budget, until one is answered
}

// maxProbes are the reads that may try once while the service is down;
// probeEvery lets in another one after a while.
const (
	maxProbes  = 3
	probeEvery = 30 * time.Second
)

// patientAttempts is how often a read asks once another has used up its budget in vain.
const patientAttempts = 3

// giveUp notes that a question has used up its budget.
func (h *health) giveUp(question string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.givenUp == nil {
		h.givenUp = map[string]bool{}
	}
	h.givenUp[question] = true
}

// recovered notes that a question is answered.
func (h *health) recovered(question string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.givenUp[question] {
		clear(h.givenUp)
	}
}

// isSpent says whether a question has used up its budget.
func (h *health) isSpent() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.givenUp) > 0
}

func newHealth(patience time.Duration) *health {
	return &health{patience: patience, alarm: make(chan struct{})}
}

// join lets a read begin. The alarm that it returns ends the read's waits. It
// is nil for a read that may try once although the service is down.
func (h *health) join() (alarm <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.down {
		return h.alarm, nil
	}
	if h.probes >= maxProbes && time.Since(h.latest) < probeEvery {
		return nil, errDown
	}
	h.probes++
	return nil, nil
}

// answered notes that the service gave an answer, whatever it was.
func (h *health) answered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.success, h.since, h.latest = time.Now(), time.Time{}, time.Time{}
	if h.down {
		h.down, h.probes, h.alarm = false, 0, make(chan struct{})
	}
}

// failed notes a request, sent at the given time, that the service did not
// answer. It reports whether the service is down, and else the alarm that ends
// the read's next wait.
func (h *health) failed(sent time.Time, cause string) (alarm <-chan struct{}, down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if sent.Before(h.success) {
		sent = h.success // others were answered while this one was on its way
	}
	// After a silence longer than our patience an older failure proves nothing.
	if h.since.IsZero() || sent.Sub(h.latest) > h.patience {
		h.since = sent
	}
	h.latest, h.cause = now, cause
	if !h.down && now.Sub(h.since) >= h.patience {
		h.down, h.probes = true, 0
		close(h.alarm)
	}
	return h.alarm, h.down
}

// hold makes everybody wait for so long from now, unless they already wait
// longer.
func (h *health) hold(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := time.Now().Add(d); t.After(h.resume) {
		h.resume = t
	}
}

// held is when the next request may be sent.
func (h *health) held() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.resume
}

// report says since when the service is down, and why.
func (h *health) report() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return fmt.Sprintf("nothing had succeeded for %v", h.patience) // and just now something did
	}
	return fmt.Sprintf("nothing has succeeded since %s (%v); the last failure: %s",
		h.since.UTC().Format(time.RFC3339), time.Since(h.since).Round(time.Second), h.cause)
}
