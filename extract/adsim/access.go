package adsim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// access is what an account may do, as somebody at the service's end has set it. It
// begins as its [Config] has it, and KeepState does not keep it.
type access struct {
	mu       sync.Mutex
	report   ReportAccess
	budgets  map[string]int
	websites []string
}

func newAccess(cfg *Config) *access {
	return &access{report: cfg.ReportAccess, budgets: maps.Clone(cfg.ChangeBudgets),
		websites: slices.Clone(cfg.Websites)}
}

func (a *access) reportAccess() ReportAccess {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.report
}

// changeBudgets are those that are not the usual ones; they are not to be changed.
func (a *access) changeBudgets() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.budgets
}

// SetReportAccess decides from now on whether the report answers the account's user.
func (a *access) SetReportAccess(to ReportAccess) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report = to
}

// CheckBudget says whether there is such a kind of change, and whether a day may have
// so many of it.
func CheckBudget(kind string, n int) error {
	switch {
	case !slices.Contains(changeKinds, kind):
		return fmt.Errorf("budget: there is no kind of change %q; there are %v", kind, changeKinds)
	case n < 0:
		return fmt.Errorf("budget: %d %s is negative", n, kind)
	}
	return nil
}

// SetBudget makes the day's budget of a kind of change another one, from now on. What
// was used of it stays used.
func (a *access) SetBudget(kind string, n int) error {
	if err := CheckBudget(kind, n); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	next := maps.Clone(a.budgets)
	if next == nil {
		next = map[string]int{}
	}
	next[kind] = n
	a.budgets = next
	return nil
}

// Websites are those of the account, to whose subscribers it may send.
func (a *access) Websites() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.websites)
}

// SetWebsites makes them others. Subscribers stay, also those of a website that the
// account no longer has.
func (a *access) SetWebsites(websites []string) error {
	for _, w := range websites {
		if !isWebURL(w) {
			return fmt.Errorf("websites: %q is not a URL", w)
		}
	}
	if len(websites) == 0 {
		return errors.New("websites: an account has at least one")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.websites = slices.Clone(websites)
	return nil
}

// reset restores what the Config has.
func (a *access) reset(cfg *Config) {
	was := newAccess(cfg)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report, a.budgets, a.websites = was.report, was.budgets, was.websites
}

// budgetOf is how many changes of a kind a day has.
func (a *access) budgetOf(kind string) int {
	if n, set := a.changeBudgets()[kind]; set {
		return n
	}
	return usualBudgets[kind]
}
