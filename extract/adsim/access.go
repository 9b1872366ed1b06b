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

// reportAccesses are the names of the values of ReportAccess, in their order.
var reportAccesses = []string{"granted", "unconfirmed", "no-advertiser"}

// ParseReportAccess takes granted, unconfirmed or no-advertiser.
func ParseReportAccess(name string) (ReportAccess, error) {
	i := slices.Index(reportAccesses, name)
	if i < 0 {
		return 0, fmt.Errorf("report access: %q is none of granted, unconfirmed, no-advertiser", name)
	}
	return ReportAccess(i), nil
}

// SetReportAccess decides from now on whether the report answers the account's user.
func (s *Service) SetReportAccess(to ReportAccess) {
	s.access.mu.Lock()
	defer s.access.mu.Unlock()
	s.access.report = to
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
func (s *Service) SetBudget(kind string, n int) error {
	if err := CheckBudget(kind, n); err != nil {
		return err
	}
	s.access.mu.Lock()
	defer s.access.mu.Unlock()
	next := maps.Clone(s.access.budgets)
	if next == nil {
		next = map[string]int{}
	}
	next[kind] = n
	s.access.budgets = next
	return nil
}

// Websites are those of the account, to whose subscribers it may send.
func (s *Service) Websites() []string {
	s.access.mu.Lock()
	defer s.access.mu.Unlock()
	return slices.Clone(s.access.websites)
}

// SetWebsites makes them others. Subscribers stay, also those of a website that the
// account no longer has.
func (s *Service) SetWebsites(websites []string) error {
	for _, w := range websites {
		if !isWebURL(w) {
			return fmt.Errorf("websites: %q is not a URL", w)
		}
	}
	if len(websites) == 0 {
		return errors.New("websites: an account has at least one")
	}
	s.access.mu.Lock()
	defer s.access.mu.Unlock()
	s.access.websites = slices.Clone(websites)
	return nil
}

// resetAccess puts it back as the Config has it.
func (s *Service) resetAccess() {
	was := newAccess(&s.cfg)
	s.access.mu.Lock()
	defer s.access.mu.Unlock()
	s.access.report, s.access.budgets, s.access.websites = was.report, was.budgets, was.websites
}
