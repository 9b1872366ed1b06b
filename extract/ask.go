package extract

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"sync"
)

// Ask is the part of the report to request. A service may reject a column in combination with others, or pages as
// large as its description allows.
type Ask struct {
	// Without are the columns that are asked for no more, for the service refused them by name,
	// or left them out of its columns. The keys and total_spend are never among them.
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

// asking is the part of the report that a client requests, given the service's earlier answers.
type asking struct {
	mu      sync.Mutex
	now     Ask
	before  Ask // the value of now before smaller requests failed, too
	trying  bool
	givenUp bool     // no smaller request is answered either
	guess   []string // columns left out of now though no error named them
}

// AskLess starts over with the request that was answered in an earlier run, or with the complete one if a is empty.
func (c *Client) AskLess(a Ask) {
	c.ask.mu.Lock()
	defer c.ask.mu.Unlock()
	a.Without = without(a.Without, necessary)
	c.ask.now, c.ask.trying, c.ask.givenUp, c.ask.guess = a, false, false, nil
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
func (a Ask) columns() []string {
	return without(spendColumns, a.Without)
}

// size returns the page size to request in place of a larger one.
func (a Ask) size(asked int) int {
	if asked <= 0 {
		asked = MaxPageSize
	}
	if a.PageSize > 0 {
		asked = min(asked, a.PageSize)
	}
	return asked
}

var speaksOfSize = regexp.MustCompile(`(?i)page[ _-]?size|per[ _-]?page|too (large|many)`)

// refused decides, after an error of the first page that was asked for with asked, whether to ask for less. It
// reports whether to ask again.
func (k *asking) refused(err error, asked Ask, pageSize int) bool {
	e, ok := errors.AsType[*ReadError](err)
	if !ok || e.Status != http.StatusBadRequest && e.Status < 500 || errors.Is(err, ErrUnreachable) {
		return false
	}
	if e.Attempts == 0 { // the service counts as down because of other requests
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Equal(asked.Without, k.now.Without) || asked.PageSize != k.now.PageSize {
		return !k.givenUp // another day has already reduced the request
	}
	if k.givenUp {
		return false
	}
	if !k.trying {
		k.trying, k.before = true, k.now
	}
	less, named, ok := asked.less(e, pageSize)
	if !ok {
		k.now, k.givenUp, k.guess = k.before, true, nil
		return false
	}
	if !named {
		k.guess = append(k.guess, without(less.Without, asked.Without)...)
	}
	k.now = less
	return true
}

// doubted returns the request to try once more after the smaller request asked was answered: the cause of an error
// that names no column may be gone, and must not cost a measure.
func (k *asking) doubted(asked Ask) (all Ask, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all = Ask{Without: without(k.now.Without, k.guess), PageSize: k.now.PageSize}
	return all, len(without(asked.Without, all.Without)) > 0
}

// passed notes that the complete request is answered.
func (k *asking) passed() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now.Without, k.guess = without(k.now.Without, k.guess), nil
}

// less returns the next smaller request. named reports whether the error names the columns that it leaves out.
func (a Ask) less(e *ReadError, pageSize int) (less Ask, named, ok bool) {
	size := a.size(pageSize)
	half := Ask{Without: a.Without, PageSize: max(size/2, minPageSize)}
	if size <= minPageSize {
		half.PageSize = 0
	}
	if e.Status >= 500 || speaksOfSize.MatchString(e.Reason) {
		return half, true, half.PageSize > 0
	}
	for _, name := range a.columns() {
		if !slices.Contains(necessary, name) && regexp.MustCompile(`\b`+name+`\b`).MatchString(e.Reason) {
			return a.without(name), true, true
		}
	}
	// The error does not help: the most likely cause is the combination of clicks and creatives.
	switch left := a.columns(); {
	case slices.Contains(left, "clicks"):
		return a.without("clicks"), false, true
	case len(left) > len(necessary):
		return a.without(without(left, necessary)...), false, true
	}
	return half, false, half.PageSize > 0
}

func (a Ask) without(names ...string) Ask {
	a.Without = append(slices.Clone(a.Without), names...)
	slices.Sort(a.Without)
	a.Without = slices.Compact(a.Without)
	return a
}

// isRefusal reports whether an error is the answer to a question that asks for too much.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*ReadError](err)
	return ok && e.Status == http.StatusBadRequest && !errors.Is(err, ErrUnreachable)
}

// answered notes that a first page came, and which columns it left out.
func (k *asking) answered(lacks []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trying, k.guess = false, nil
	k.now = k.now.without(without(lacks, necessary)...)
}
