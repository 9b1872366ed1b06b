package extract

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	// firstWait and longestWait bound the wait before a request is sent again.
	// Each wait is drawn from nothing up to the bound, so that clients which
	// failed together do not come back together.
	firstWait   = 500 * time.Millisecond
	longestWait = 30 * time.Second

	// fewRetries is how often a reply that is no JSON is asked for again.
	fewRetries = 2

	// maxHold is the longest wait that the service can ask for: past it, a number
	// is a mistake, and waiting a day is giving up anyway.
	maxHold = 24 * time.Hour
)

// reply is an accepted body, with the effort to get it.
type reply struct {
	body     []byte
	at       time.Time
	requests int
}

// read asks a question until it is answered, refused for good, or out of
// budget. Its errors are *ReadError, or the context's error with the question's
// name.
func (c *Client) read(ctx context.Context, q question) (reply, error) {
	r := reading{c: c, q: q, wait: newBackOff()}
	var err error
	if r.tripped, err = c.breaker.allow(ctx); err != nil {
		return reply{}, r.waitError(ctx, err)
	}
	if r.tripped == nil {
		defer c.breaker.endProbe()
	}
	r.began = time.Now()
	r.deadline = r.began.Add(c.budget)
	for {
		if err := r.acquire(ctx); err != nil {
			if !r.failing.IsZero() && ctx.Err() == nil && !q.spare {
				c.breaker.giveUp(q.what, r.failing)
			}
			return reply{}, err
		}
		sent := time.Now()
		if r.attempts++; r.attempts > 1 {
			c.retries.Add(1)
		}
		timeout := r.timeout()
		body, keys, f := c.send(ctx, q, timeout)
		c.limit.release(true)
		if f == nil {
			c.isAnswered.Store(true)
			c.breaker.success()
			c.breaker.answered(q.what, time.Since(sent))
			c.log.Debug("read", "what", q.what, "attempt", r.attempts, "bytes", len(body), "elapsed", time.Since(sent))
			return reply{body: body, at: time.Now(), requests: r.attempts}, nil
		}
		if ctx.Err() != nil {
			return reply{}, r.ctxError(ctx)
		}
		down := false
		switch {
		case !f.down:
			c.breaker.success()
		case !q.spare:
			c.lastDown.Store(f)
			r.tripped, down = c.breaker.failure(sent, f.reason)
		}
		if f.status == http.StatusUnauthorized && !r.renewed && c.keys.renew(keys) {
			r.renewed = true
			continue
		}
		if f.timedOut {
			r.longer = 2 * timeout
		}
		if r.failing.IsZero() {
			r.failing = sent
		}
		if err := r.retry(ctx, f, down); err != nil {
			if f.retry != retryNever && ctx.Err() == nil && !q.spare {
				c.breaker.giveUp(q.what, r.failing)
			}
			return reply{}, err
		}
	}
}

// reading is the state of one read.
type reading struct {
	c          *Client
	q          question
	tripped    <-chan struct{}
	wait       *backoff.ExponentialBackOff
	began      time.Time
	failing    time.Time // when the first request that failed was sent, less the time queued since
	deadline   time.Time // no request is sent after it
	attempts   int
	badReplies int  // replies that were no JSON
	renewed    bool // the credentials were read again

	longer time.Duration // for the next request, after one that had no complete reply in time
}

// timeout bounds the next request. A service may be slower than the client expects: each request of a read that has no
// complete reply in time gives the next one twice as long, within the budget, and all requests may take twice as long
// as the slowest answer that needed it.
func (r *reading) timeout() time.Duration {
	usual := r.c.timeout
	if slowest := r.c.breaker.slowestAnswer(); slowest > usual {
		usual = 2 * slowest
	}
	if r.c.breaker.hasSpent() {
		return min(usual, r.c.breaker.brief())
	}
	return max(usual, min(r.longer, left(r.deadline)))
}

// newBackOff draws each wait from the whole range (full jitter): the library
// randomizes around an interval, so the interval is half of the bound.
func newBackOff() *backoff.ExponentialBackOff {
	b := &backoff.ExponentialBackOff{
		InitialInterval: firstWait / 2, MaxInterval: longestWait / 2, Multiplier: 2, RandomizationFactor: 1,
	}
	b.Reset()
	return b
}

// acquire waits until a request may be sent: for a pause that the service asked for, and for the limit per minute.
// Each acquire without an error is followed by one release of the limiter.
func (r *reading) acquire(ctx context.Context) error {
	for {
		if err := r.waitForPause(ctx); err != nil {
			return err
		}
		queued := time.Now()
		if err := r.c.limit.acquire(ctx, r.tripped); err != nil {
			return r.waitError(ctx, err)
		}
		// Queueing for our own limit is not the service's failure.
		r.deadline = r.deadline.Add(time.Since(queued))
		if !r.failing.IsZero() {
			r.failing = r.failing.Add(time.Since(queued))
		}
		if !time.Now().Before(r.c.breaker.pausedUntil(r.q.endpoint())) {
			return nil
		}
		r.c.limit.release(false) // meanwhile another request was asked to wait
	}
}

// waitForPause waits as long as the service asked any request of the client to wait, or
// gives up where that is longer than the budget.
func (r *reading) waitForPause(ctx context.Context) error {
	for {
		until := r.c.breaker.pausedUntil(r.q.endpoint())
		if !time.Now().Before(until) {
			return nil
		}
		if until.After(r.deadline) {
			if r.c.breaker.pausedUntil("").After(r.deadline) { // everybody waits
				r.c.breaker.useUp()
			}
			return r.fail(ErrUnavailable, nil, fmt.Sprintf("the service asked to wait until %s, longer than the %v "+
				"left of the retry budget",
				until.UTC().Format(time.RFC3339), left(r.deadline)))
		}
		start := time.Now()
		err := r.sleep(ctx, until.Sub(start))
		r.c.throttled.Add(int64(time.Since(start)))
		if err != nil {
			return r.waitError(ctx, err)
		}
	}
}

// retry returns without an error when the failed request should be sent again.
func (r *reading) retry(ctx context.Context, f *failure, down bool) error {
	spent := r.c.breaker.hasSpent()
	isOwn := f.pause > r.c.budget // of this endpoint, as far as is known
	switch {
	case f.pause == 0:
	case isOwn:
		r.c.breaker.close(r.q.endpoint(), f.pause)
	case !spent || f.status == http.StatusTooManyRequests:
		// Once the budget is used up, only a limit of requests is everybody's.
		r.c.breaker.pause(f.pause)
	}
	if f.retry == retryBriefly {
		r.badReplies++
	}
	if at := time.Now().Add(r.c.breaker.left(r.failing)); at.Before(r.deadline) && !spent {
		r.deadline = at
	}
	budget := left(r.deadline)
	switch {
	case f.retry == retryNever, f.retry == retryBriefly && r.badReplies > fewRetries:
		return r.fail(f.kind, f, f.reason)
	case r.q.spare && (r.attempts >= patientAttempts || f.pause > budget):
		return r.fail(f.kind, f, f.reason)
	case r.attempts >= patientAttempts && r.c.isUntried.Load() && !r.c.Answered() && r.doubtsURL(f):
		return r.fail(f.kind, f, f.reason)
	case f.pause > budget: // before the failures of other requests: this is the cause, and it states until when
		if !isOwn {
			r.c.breaker.useUp()
		}
		return r.fail(ErrUnavailable, f, fmt.Sprintf("%s: the service asks to wait %v (retry-after %s), longer than "+
			"the %v left of the retry budget",
			f.reason, f.pause, f.pauseText, budget))
	case down:
		return r.downError(f)
	case spent && (r.attempts >= patientAttempts || time.Since(r.failing)+f.pause >= r.c.breaker.brief()):
		return r.fail(f.kind, f, fmt.Sprintf("%s, and the retry budget of %v is used up", f.reason, r.c.budget))
	case budget <= 0 && time.Since(r.failing) >= r.c.budget:
		return r.fail(f.kind, f, fmt.Sprintf("%s, for %v", f.reason, r.c.budget))
	case budget <= 0:
		return r.fail(f.kind, f, fmt.Sprintf("%s, and the retry budget of %v is used up", f.reason, r.c.budget))
	}
	wait := min(r.wait.NextBackOff(), left(r.deadline))
	r.c.log.Warn("read again", "what", r.q.what, "attempt", r.attempts, "wait", max(wait, f.pause), "reason", f.reason)
	if f.pause > 0 {
		// The wait comes on top, so that not all return in the same instant.
		if err := r.waitForPause(ctx); err != nil {
			return err
		}
	}
	return r.waitError(ctx, r.sleep(ctx, min(wait, left(r.deadline))))
}

func (r *reading) doubtsURL(f *failure) bool {
	e, ok := errors.AsType[*ReadError](r.fail(f.kind, f, f.reason))
	return ok && e.DoubtsURL()
}

func left(deadline time.Time) time.Duration { return max(0, time.Until(deadline)) }

// sleep waits, unless the context ends or the service counts as down.
func (r *reading) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-r.tripped:
		return errDown
	}
}

// waitError returns why a wait ended early.
func (r *reading) waitError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errDown):
		return r.downError(nil)
	}
	return r.ctxError(ctx)
}

func (r *reading) ctxError(ctx context.Context) error {
	return fmt.Errorf("%s: %w", r.q.what, ctx.Err())
}

func (r *reading) downError(f *failure) error {
	return r.fail(ErrUnavailable, f, r.c.breaker.reason())
}

func (r *reading) fail(kind error, f *failure, reason string) error {
	e := &ReadError{What: r.q.what, Reason: reason, Attempts: r.attempts, Err: kind, Interface: r.c.name,
		client: r.c}
	if last := r.c.lastDown.Load(); f == nil && last != nil { // the reason quotes it
		e.Status, e.Cause = last.status, last.cause
	}
	if f != nil {
		e.Cause = f.cause
		e.Status, e.RequestID, e.notThere = f.status, f.requestID, f.notThere
		e.Reply, e.Refusal = f.reply, f.refusal
	}
	return e
}

// retryAfter is how long the reply asks to wait: seconds or a date (RFC 9110,
// section 10.2.3). What is neither, negative or past asks for nothing. A date is
// measured against the reply's own, for the clocks of two machines differ.
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
