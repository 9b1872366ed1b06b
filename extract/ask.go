package extract

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"spendsync/extract/service"
)

// Ask is the part of the report to request. A service may refuse a column by name, or pages as large as its description
// allows.
type Ask struct {
	// Without are the columns that the service refused by name. The keys and total_spend are never among them.
	Without []string
	// PageSize is the largest page to request; 0: the size that the caller asks for.
	PageSize int
}

// minPageSize is the smallest page to try if larger ones are rejected.
const minPageSize = 500

// necessary are the columns that are always asked for, and indispensable those without which no reply is stored: a
// reply without the others has rows without these IDs.
var (
	necessary     = []string{"campaign_id", "creative_id", "source_id", "total_spend"}
	indispensable = []string{"campaign_id", "total_spend"}
)

// asking is the part of the report that a client requests, given the service's earlier answers. A column is left out
// only if an answer names it: any other refusal fails its own request and takes nothing from the others.
type asking struct {
	mu      sync.Mutex
	now     Ask
	before  Ask // the value of now before smaller requests failed, too
	trying  bool
	givenUp bool // no smaller request is answered either
}

// AskLess starts over with the request that was answered in an earlier run, or with the complete one if a is empty.
func (c *Client) AskLess(a Ask) {
	c.ask.mu.Lock()
	defer c.ask.mu.Unlock()
	a.Without = without(a.Without, necessary)
	c.ask.now, c.ask.trying, c.ask.givenUp = a, false, false
}

// Asked returns the largest request that is answered, as far as the client knows.
func (c *Client) Asked() Ask {
	c.ask.mu.Lock()
	defer c.ask.mu.Unlock()
	if c.ask.trying {
		return c.ask.before
	}
	return c.ask.now
}

// current returns the part that is requested now. Callers do not change its elements.
func (k *asking) current() Ask {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

// columns returns the requested columns.
func (a Ask) columns(s *service.Service) []string {
	return without(without(spendColumns, a.Without), without(s.Names("report_query.without"), necessary))
}

// size returns the page size to request in place of a larger one.
func (a Ask) size(asked int) int {
	if asked <= 0 {
		asked = maxPageSize
	}
	if a.PageSize > 0 {
		asked = min(asked, a.PageSize)
	}
	return asked
}

var speaksOfSize = regexp.MustCompile(`(?i)page[ _-]?size|per[ _-]?page|too large|too many rows`)

// refused decides, after an error of the first page that was asked for with asked, whether to ask for less. It
// reports whether to ask again.
func (k *asking) refused(s *service.Service, err error, asked Ask, pageSize int) bool {
	e, ok := errors.AsType[*ReadError](err)
	if !ok || e.Status != http.StatusBadRequest && e.Status < 500 || errors.Is(err, ErrUnreachable) ||
		e.Status < 500 && e.Err == ErrUnavailable { // a limit
		return false
	}
	if e.Attempts == 0 { // the client waits no more because of other requests
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	less, ok := asked.less(s, e, pageSize)
	switch {
	case !ok && asked.equal(k.now) && k.trying:
		k.now, k.trying, k.givenUp = k.before, false, true
		return false
	case !ok || k.givenUp:
		return false
	case !asked.equal(k.now): // another day has already reduced the request
		return true
	case !k.trying:
		k.trying, k.before = true, k.now
	}
	k.now = less
	return true
}

func (a Ask) equal(b Ask) bool { return slices.Equal(a.Without, b.Without) && a.PageSize == b.PageSize }

// less returns the next smaller request: without the columns that a refusal names, or with smaller pages if they are
// the cause. A page for people is not the service's answer, whatever words are on it.
func (a Ask) less(s *service.Service, e *ReadError, pageSize int) (less Ask, ok bool) {
	if e.Status == http.StatusBadRequest && !speaksOfSize.MatchString(e.Reason) {
		if bytes.HasPrefix(bytes.TrimSpace(e.Refusal), []byte("<")) {
			return a, false
		}
		less = a.without(a.named(s, e.Reason)...)
		return less, len(less.Without) > len(a.Without)
	}
	size := a.size(pageSize)
	less = Ask{Without: a.Without, PageSize: max(size/2, minPageSize)}
	return less, size > minPageSize
}

// named returns the columns that the text of a refusal names. The date is never one of them: errors of a range name
// it.
func (a Ask) named(s *service.Service, text string) (names []string) {
	for _, name := range a.columns(s) {
		word := regexp.MustCompile(`(?i)\b(` + name + `|` + regexp.QuoteMeta(s.Text("report."+name)) + `)\b`)
		if name != "date" && !slices.Contains(necessary, name) && word.MatchString(text) {
			names = append(names, name)
		}
	}
	return names
}

func (a Ask) without(names ...string) Ask {
	a.Without = append(slices.Clone(a.Without), names...)
	slices.Sort(a.Without)
	a.Without = slices.Compact(a.Without)
	return a
}

// unnamed adds to a refusal that names no column how an operator leaves one out.
func unnamed(err error) error {
	if e, ok := errors.AsType[*ReadError](err); ok && isRefusal(err) {
		e.Reason += "; if the report lacks a column, the line report_query.without of SPENDSYNC_SERVICE_FILE leaves " +
			"it out, for example report_query.without: [clicks]"
	}
	return err
}

// isRefusal reports whether the service refused a request for a reason that may pass.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*ReadError](err)
	return ok && e.Status == http.StatusBadRequest && e.Err == ErrContract
}

// isTooLarge reports whether the service refused a page for its size.
func isTooLarge(err error) bool {
	e, ok := errors.AsType[*ReadError](err)
	return ok && isRefusal(err) && speaksOfSize.MatchString(e.Reason)
}

// answered notes that the first page of a request came.
func (k *asking) answered(asked Ask) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if asked.equal(k.now) {
		k.trying = false
	}
}

// refusals counts the refusals of one question that name nothing, and asks it again after a pause, [fewRetries] times:
// a limit, a proxy or a timeout may answer with the status of a wrong question, and passes.
type refusals struct {
	n    int
	wait *backoff.ExponentialBackOff
}

// pass waits before the question is asked again, and reports whether it is.
func (r *refusals) pass(ctx context.Context, c *Client, what string, err error) bool {
	if !isRefusal(err) || r.n >= fewRetries {
		return false
	}
	if r.n++; r.wait == nil {
		r.wait = newBackOff()
	}
	pause := min(r.wait.NextBackOff(), c.budget)
	c.log.Warn("the question is refused; it is asked again", "what", what, "wait", pause, "error", err)
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}
