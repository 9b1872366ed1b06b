package world

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/jsontext"
)

// Access is what an account may do, as somebody at the service's end has set it. It
// begins as its [Config] has it, and KeepState does not keep it.
type Access struct {
	mu       sync.Mutex
	report   config.ReportAccess
	budgets  map[string]int
	websites []string
}

func newAccess(cfg *config.Config) *Access {
	return &Access{report: cfg.ReportAccess, budgets: maps.Clone(cfg.ChangeBudgets),
		websites: slices.Clone(cfg.Websites)}
}

func (a *Access) ReportAccess() config.ReportAccess {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.report
}

// changeBudgets are those that are not the usual ones; they are not to be changed.
func (a *Access) changeBudgets() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.budgets
}

// SetReportAccess decides from now on whether the report answers the account's user.
func (a *Access) SetReportAccess(to config.ReportAccess) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report = to
}

// CheckBudget says whether there is such a kind of change, and whether a day may have
// so many of it.
func CheckBudget(kind string, n int) error {
	switch {
	case !slices.Contains(ChangeKinds, kind):
		return fmt.Errorf("budget: there is no kind of change %q; there are %v", kind, ChangeKinds)
	case n < 0:
		return fmt.Errorf("budget: %d %s is negative", n, kind)
	}
	return nil
}

// SetBudget makes the day's budget of a kind of change another one, from now on. What
// was used of it stays used.
func (a *Access) SetBudget(kind string, n int) error {
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
func (a *Access) Websites() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.websites)
}

// SetWebsites makes them others. Subscribers stay, also those of a website that the
// account no longer has.
func (a *Access) SetWebsites(websites []string) error {
	for _, w := range websites {
		if !jsontext.IsWebURL(w) {
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
func (a *Access) reset(cfg *config.Config) {
	was := newAccess(cfg)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report, a.budgets, a.websites = was.report, was.budgets, was.websites
}

// BudgetOf is how many changes of a kind a day has.
func (a *Access) BudgetOf(kind string) int {
	if n, set := a.changeBudgets()[kind]; set {
		return n
	}
	return usualBudgets[kind]
}
