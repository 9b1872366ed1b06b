package manifest

import (
	"maps"
	"slices"

	"spendsync/load/history"
	"spendsync/schema"
)

// Change is what a run changes of its account.
type Change struct {
	Since         schema.Date // first day that could be asked for, of an account that is new
	Days          map[schema.Date]*Day
	Files         map[string]*File // by path; nil removes a file
	Confirmations map[string]history.Confirmations
	Pinned        string // empty: unchanged
	// Settled and SettledUnclear are nil if they are unchanged.
	Settled        []string
	SettledUnclear map[string]string
	ExtraKeys      map[string]map[string]KeyChanges // by table
	Unknown        []schema.UnknownField            // known ones stay unchanged
	Asked          bool                             // Ask and Reach replace the account's
	Ask            *Ask
	Reach          int
	Notes          []Note    // nil: unchanged
	Own            *OwnFiles // nil: unchanged
}

// NewChange returns a change of nothing.
func NewChange() Change {
	return Change{Days: map[schema.Date]*Day{}, Files: map[string]*File{},
		Confirmations: map[string]history.Confirmations{}, ExtraKeys: map[string]map[string]KeyChanges{}}
}

// Next returns the manifest after base with a run's changes of one account, each after the other. It changes none of
// them, and reads no file. base may be nil.
func Next(base *Manifest, head Head, account string, changes ...Change) *Manifest {
	next := New()
	if base != nil {
		next = base.Clone()
	}
	head.Warehouse, head.Views = next.Warehouse, next.Views
	next.Head = head
	isNew := next.Accounts[account] == nil
	a := next.Of(account)
	for _, c := range changes {
		if isNew && c.Since != 0 {
			a.Since = c.Since
		}
	}
	for _, c := range changes {
		a.apply(c)
	}
	return next
}

// apply makes a change.
func (a *Account) apply(c Change) {
	maps.Copy(a.Days, c.Days)
	for day := range c.Days { // replies that were kept for long may prove a day before the first
		a.Since = min(a.Since, day)
	}
	for path, f := range c.Files {
		if f == nil {
			delete(a.Files, path)
		} else {
			a.Files[path] = f
		}
	}
	maps.Copy(a.Confirmations, c.Confirmations)
	if c.Pinned != "" {
		a.Pinned = c.Pinned
	}
	if c.Settled != nil {
		a.Settled, a.SettledUnclear, a.SettledTables = c.Settled, c.SettledUnclear, settingsTables()
	}
	if c.Asked {
		a.Ask, a.Reach = c.Ask, c.Reach
	}
	if c.Notes != nil {
		a.Notes = c.Notes
	}
	if c.Own != nil {
		a.Own = *c.Own
	}
	maps.Copy(a.ExtraKeys, c.ExtraKeys)
	for _, u := range c.Unknown {
		if !slices.ContainsFunc(a.Unknown, func(k schema.UnknownField) bool {
			return k.Stream == u.Stream && k.Path == u.Path
		}) {
			a.Unknown = append(a.Unknown, u)
		}
	}
}
