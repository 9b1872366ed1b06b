package manifest

import (
	"maps"

	"spendsync/load/history"
	"spendsync/schema"
)

// Change is a set of changes of an account. Zero values change nothing.
type Change struct {
	Since   schema.Date // the first day of a new account, see [Account]
	First   schema.Date // the first day of which the service has data
	Days    map[schema.Date]*Day
	Files   map[string]*File // by path; nil removes the file
	Memory  map[string]history.Memory
	Pinned  string
	Settled []string                      // nil: unchanged
	Unknown []schema.UnknownField         // [Next] sets the schema.Sighting of each field
	Unread  *Sightings[schema.EntityRead] // nil: unchanged
	Refused *Sightings[schema.RefusedRow] // nil: unchanged
	Waiting map[schema.Date]string        // by day; an empty text removes the entry
	Reach   *int                          // nil: unchanged
	// Seen are the differences that the run has seen, by the names of their notes. It lacks the differences of stored
	// days, because Days contains these. Nil means that the run has not looked for differences.
	Seen  map[string]Note
	Notes []Note    // nil: unchanged
	Own   *OwnFiles // nil: unchanged
}

// NewChange returns an empty change.
func NewChange() Change {
	return Change{Days: map[schema.Date]*Day{}, Files: map[string]*File{},
		Memory: map[string]history.Memory{}}
}

// Next returns the next manifest, which is base with the changes of one account, applied in order. It modifies none of
// its arguments and reads no file. The argument base may be nil.
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

// apply applies a change, except the lasting facts.
func (a *Account) apply(c Change) {
	a.Since = max(a.Since, c.First)
	maps.Copy(a.Days, c.Days)
	for day := range c.Days { // replayed replies may prove a day before Since
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
	if c.Reach != nil {
		a.Reach = *c.Reach
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
