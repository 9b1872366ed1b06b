package extract

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// firstWait and longestWait bound the wait before a request is sent again. Each wait is random between zero and the
	// bound, so that clients that failed together do not retry together.
	firstWait   = 500 * time.Millisecond
	longestWait = 30 * time.Second

	// fewRetries is how often a request is sent again if its reply is not valid JSON, if its URL may be wrong, or if
	// credentials are refused that were accepted before.
	fewRetries = 2

	// maxHold bounds the pause that a reply asks for. A longer pause is probably a mistake, and a read gives up long
	// before a day is over.
	maxHold = 24 * time.Hour
)

// read sends a question until it is answered, refused for good, or the retry budget is used up, see [breaker]. Its
// errors are *ReadError, or the context's error with the question's name.
func (c *Client) read(ctx context.Context, q question) ([]byte, error) {
	r := reading{c: c, q: q, wait: newBackOff(), memory: memory{budget: c.inFlight}}
	defer r.memory.release()
	for {
		if err := r.acquire(ctx); err != nil {
			return nil, err
		}
		sent := time.Now()
		if r.attempts++; r.attempts > 1 {
			c.retries.Add(1)
		}
		timeout := max(time.Duration(c.timeout.Load()), min(r.longer, c.breaker.left(true)))
		body, keys, f := c.send(ctx, q, timeout, &r.memory)
		r.memory.release()
		c.limit.release(true)
		if f == nil {
			took := time.Since(sent)
			if took > time.Duration(c.timeout.Load()) { // give later answers twice the time of this one
				c.timeout.Store(int64(2 * took))
			}
			c.isAnswered.Store(true)
			c.keys.judged(keys, true)
			c.breaker.answered(r.attempts > 1)
			c.log.Debug("read", "what", q.what, "attempt", r.attempts, "bytes", len(body), "elapsed", took)
			return body, nil
		}
		if ctx.Err() != nil {
			return nil, r.ctxError(ctx)
		}
		if f.isCrowded {
			if r.memory.acquireAll(ctx) != nil {
				return nil, r.ctxError(ctx)
			}
			continue
		}
		if f.status == http.StatusUnauthorized && !r.renewed && c.keys.renew(keys) {
			r.renewed = true
			continue
		}
		if f.kind == ErrAuth && c.keys.wereAccepted(keys) {
			f.retry = retryBriefly // one of several servers, or a server that restarts, may refuse valid credentials
		}
		if f.timedOut {
			r.longer = 2 * timeout
		}
		if err := r.retry(ctx, f, sent); err != nil {
			if f.kind == ErrAuth {
				c.keys.judged(keys, false)
			}
			return nil, err
		}
	}
}

// reading is the state of one call of [Client.read], over all its requests.
type reading struct {
	c        *Client
	q        question
	wait     *backoff.ExponentialBackOff
	attempts int
	failures [retryInBudget + 1]int // number of failures, for each value of the type retry
	renewed  bool                   // whether the credentials were read again
	memory   memory                 // memory that holds the reply being read

	longer time.Duration // twice the timeout of the latest request that timed out; 0: none did
}

// newBackOff returns a backoff with full jitter. The library randomizes around an interval, so the interval is half of
// the bound.
func newBackOff() *backoff.ExponentialBackOff {
	b := &backoff.ExponentialBackOff{
		InitialInterval: firstWait / 2, MaxInterval: longestWait / 2, Multiplier: 2, RandomizationFactor: 1,
	}
	b.Reset()
	return b
}

// acquire waits until a request may be sent: until the service's pause is over, and the limit per minute allows it. The
// caller must call limit.release once for each acquire without an error. Waiting for our own limit is not charged to
// the retry budget, because the service did not fail.
func (r *reading) acquire(ctx context.Context) error {
	for {
		if err := r.waitForPause(ctx); err != nil {
			return err
		}
		if err := r.c.limit.acquire(ctx); err != nil {
			return r.ctxError(ctx)
		}
		if r.c.breaker.paused() == 0 && (r.attempts > 0 || r.c.breaker.left(false) > 0) {
			return nil
		}
		r.c.limit.release(false) // in the meantime the service asked for a pause, or the budget was used up
	}
}

// waitForPause waits until the pause that the service asked for is over. Any reply to the client may have asked for it.
// waitForPause gives up if the pause is longer than the rest of the retry budget.
func (r *reading) waitForPause(ctx context.Context) error {
	for {
		pause, left := r.c.breaker.paused(), r.c.breaker.left(r.attempts > 0)
		switch {
		case pause > left:
			return r.fail(ErrUnavailable, nil, fmt.Sprintf("the service asked to wait until %s, longer than the %v "+
				"left of the retry budget", time.Now().Add(pause).UTC().Format(time.RFC3339), left))
		case r.attempts == 0 && left == 0:
			kind := ErrUnavailable
			if last := r.c.lastFailure.Load(); last != nil && last.kind == ErrPage {
				kind = ErrPage
			}
			return r.fail(kind, nil, r.usedUp("nothing is answered any more"))
		case pause == 0:
			return nil
		}
		start := time.Now()
		err := r.sleep(ctx, pause)
		r.c.throttled.Add(int64(time.Since(start)))
		if err != nil {
			return err
		}
	}
}

// retry waits until a failed request may be sent again, or returns the error with which the read ends. The parameter
// sent is the time at which the failed request was sent.
func (r *reading) retry(ctx context.Context, f *failure, sent time.Time) error {
	r.failures[f.retry]++
	if f.retry == retryNever || r.failures[retryOnce] > 1 || r.failures[retryBriefly] > fewRetries {
		return r.fail(f.kind, f, f.reason)
	}
	b := r.c.breaker
	b.waited(sent)
	r.c.lastFailure.Store(f)
	left := b.left(true)
	if f.pause <= r.c.budget || left == 0 {
		// The pause delays all requests, with one exception: a pause longer than the entire retry budget may be meant
		// for one endpoint only. Once the budget is used up, every pause delays all requests.
		b.pause(f.pause)
	}
	switch {
	case r.attempts > fewRetries && r.c.isUntried.Load() && !r.c.Answered() && r.doubtsURL(f):
		return r.fail(f.kind, f, f.reason)
	case f.pause > left:
		b.useUp()
		return r.fail(ErrUnavailable, f, fmt.Sprintf("%s: the service asks to wait %v (retry-after %s), longer than "+
			"the %v left of the retry budget", f.reason, f.pause, f.pauseText, left.Round(100*time.Millisecond)))
	case left == 0:
		return r.fail(f.kind, f, r.usedUp(f.reason))
	}
	wait := min(r.wait.NextBackOff(), left)
	level := slog.LevelDebug
	if r.c.warned.CompareAndSwap(false, true) { // warn once of an outage
		level = slog.LevelWarn
	}
	r.c.log.Log(ctx, level, "read again", "what", r.q.what, "attempt", r.attempts, "wait_ms",
		max(wait, f.pause).Milliseconds(), "reason", f.reason)
	// The backoff comes on top of a pause, so that not all requests return at the same instant.
	if err := r.waitForPause(ctx); err != nil {
		return err
	}
	return r.sleep(ctx, min(wait, b.left(true)))
}

// usedUp returns the given reason, extended by the statement that the retry budget is used up.
func (r *reading) usedUp(reason string) string {
	return fmt.Sprintf("%s, and the retry budget of %v is used up", reason, r.c.budget)
}

func (r *reading) doubtsURL(f *failure) bool {
	e, ok := errors.AsType[*ReadError](r.fail(f.kind, f, f.reason))
	return ok && e.DoubtsURL()
}

// sleep waits, unless the context ends.
func (r *reading) sleep(ctx context.Context, d time.Duration) error {
	start := time.Now()
	defer r.c.breaker.waited(start)
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return r.ctxError(ctx)
	}
}

func (r *reading) ctxError(ctx context.Context) error {
	return fmt.Errorf("%s: %w", r.q.what, ctx.Err())
}

func (r *reading) fail(kind error, f *failure, reason string) error {
	e := &ReadError{What: r.q.what, Reason: reason, Attempts: r.attempts, Err: kind, Interface: r.c.name,
		client: r.c}
	if last := r.c.lastFailure.Load(); f == nil && last != nil {
		e.Reason += "; the last failure: " + last.reason
		e.Status, e.Cause = last.status, last.cause
	}
	if f != nil {
		e.Cause = f.cause
		e.Status, e.RequestID = f.status, f.requestID
		e.Reply, e.Refusal = f.reply, f.refusal
	}
	return e
}

// retryAfter returns how long a reply asks to wait: in seconds or until a date (RFC 9110, section 10.2.3). Invalid,
// negative and past values ask for nothing. A date is compared with the reply's own Date, because the clocks of two
// machines differ.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(maxHold/time.Second) {
			return maxHold
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(0, at.Sub(now)), maxHold)
}
