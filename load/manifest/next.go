package manifest

import (
	"maps"

	"spendsync/load/history"
	"spendsync/schema"
)

// Change is what a run changes of its account.
type Change struct {
	Since   schema.Date // first day that could be asked for, of an account that is new
	First   schema.Date // the service has nothing of any day before it; 0: unchanged
	Days    map[schema.Date]*Day
	Files   map[string]*File // by path; nil removes a file
	Memory  map[string]history.Memory
	Pinned  string                        // empty: unchanged
	Settled []string                      // nil: unchanged
	Unknown []schema.UnknownField         // their sightings are set by [Next]
	Unread  *Sightings[schema.EntityRead] // nil: unchanged
	Refused *Sightings[schema.RefusedRow] // nil: unchanged
	Asked   bool                          // Reach replaces the account's
	Waiting map[schema.Date]string        // by day; an empty one goes
	Reach   int
	// Seen are the differences that a run has seen, by the names of their notes, beside those of the days; nil: it has
	// not looked.
	Seen  map[string]Note
	Notes []Note    // nil: unchanged
	Own   *OwnFiles // nil: unchanged
}

// NewChange returns a change of nothing.
func NewChange() Change {
	return Change{Days: map[schema.Date]*Day{}, Files: map[string]*File{},
		Memory: map[string]history.Memory{}}
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
	var seen map[string]Note
	for _, c := range changes {
		a.apply(c)
		a.applyFacts(c, head)
		if c.Seen != nil {
			seen = c.Seen
		}
	}
	a.Notes = a.see(seen, head.PublishedAt, head.RunID)
	return next
}

// apply makes a change.
func (a *Account) apply(c Change) {
	a.Since = max(a.Since, c.First)
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
	maps.Copy(a.Memory, c.Memory)
	if c.Pinned != "" {
		a.Pinned = c.Pinned
	}
	if c.Settled != nil {
		a.Settled, a.SettledTables = c.Settled, settingsTables()
	}
	if c.Asked {
		a.Reach = c.Reach
	}
	for day, waiting := range c.Waiting {
		if a.Waiting[day] = waiting; waiting == "" {
			delete(a.Waiting, day)
		}
	}
	if c.Notes != nil {
		a.Notes = c.Notes
	}
	if c.Own != nil {
		a.Own = *c.Own
	}
}
