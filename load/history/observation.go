package history

import (
	"cmp"
	"fmt"

	"spendsync/schema"
)

// Seen is one entity as one run read it.
type Seen[R any] struct {
	// Row has the key and every field that could be read, canonical: decimals to scale, lists sorted. Its frame is
	// ignored.
	Row R
	// Unread names the columns that could not be read: they take the last known
	// value before anything is compared, whatever Row has there.
	Unread []string
	// FillsRaw means that the reading differs only by a new key: the column raw takes its JSON, and no version begins.
	FillsRaw bool
}

// Absence is the reason why a run did not see a stored entity.
type Absence int

const (
	// Unknown: it was not asked for, or its listing did not end. Nothing is learnt.
	Unknown Absence = iota
	// Gone: a complete listing lacked it.
	Gone
)

// Observation is what one run saw of a table.
type Observation[R any] struct {
	// The values were true at some moment from Since, when the reading began, to At, when it had ended. A version
	// therefore counts from At and a confirmation from Since, and the true change is always within (changed_after,
	// valid_from]. A zero Since means At.
	Since, At schema.Instant
	RunID     string
	Seen      []Seen[R] // one for each entity that was read
	Stubs     []R       // keys of entities that only the report names; stored ones are skipped
	// Refreshed are untracked columns whose newest value is written into the current version as soon as it differs.
	// The other untracked columns keep the values from when their version was last written.
	Refreshed []schema.Column
	// Absence judges a stored entity that was not seen. A deleted entity that is Gone is confirmed as deleted, so its
	// return is later. Nil means Unknown for all.
	Absence func(row *R) Absence
	// Confirmed returns when the current version of a stored entity was last confirmed, if that is later than its row
	// records; nil: it is not.
	Confirmed func(row *R) schema.Instant
	// Keep receives the current version of each entity, and when it was last confirmed; nil: nothing is kept.
	Confirm func(row *R, at schema.Instant)
	// Patience is how many complete absences in a row make an entity deleted.
	Patience int
}

// since returns the instant from which the values count as confirmed.
func (o *Observation[R]) since() schema.Instant { return cmp.Or(o.Since, o.At) }

func (o *Observation[R]) check(m Memory) error {
	switch {
	case o.since() > o.At:
		return fmt.Errorf("the reading began at %s, after its end at %s", o.Since, o.At)
	case o.At < m.ObservedAt:
		return fmt.Errorf("the clock went back: it is %s, and settings were already seen at %s", o.At, m.ObservedAt)
	case o.Absence != nil && o.Patience < 1:
		return fmt.Errorf("a patience of %d absences", o.Patience)
	}
	return nil
}

// Stats counts what an observation did, in entities. Changed reports whether the rows differ from before, so that
// their file must be written.
type Stats struct {
	Changed   bool
	FirstSeen int64 // new entities that were read, if only in part
	Stubs     int64 // new entities that only the report knows
	Filled    int64 // current versions completed in place by a first reading
	Refreshed int64 // current versions that got a newer value of an untracked column
	Versions  int64 // new versions with other values, in columns or beyond them
	Deleted   int64 // new versions that record a deletion
	Restored  int64 // new versions of entities that had been gone
	Confirmed int64 // read in full
	Unread    int64 // seen, with at least one tracked field that could not be read
	Missing   int64 // absent from a complete listing, and not deleted yet
}

// Add adds up.
func (s *Stats) Add(o Stats) {
	s.Changed = s.Changed || o.Changed
	s.FirstSeen += o.FirstSeen
	s.Stubs += o.Stubs
	s.Filled += o.Filled
	s.Refreshed += o.Refreshed
	s.Versions += o.Versions
	s.Deleted += o.Deleted
	s.Restored += o.Restored
	s.Confirmed += o.Confirmed
	s.Unread += o.Unread
	s.Missing += o.Missing
}

// advance is one observation being laid over a history.
type advance[R any, P Versioned[R]] struct {
	Observation[R]
	table   schema.TableOf[R]
	tracked columns  // sorted by name
	names   []string // of the tracked columns
	fields  columns  // that can be unread; found when one is
	id      identity[R]
	replay  bool // the instant has been observed before

	stored   []entity[R]           // in order
	entities []*entity[R]          // those that are stored, and the new ones
	next     int                   // the stored entity behind the last one that was seen
	added    map[string]*entity[R] // the new ones, by key
	asked    R                     // the row that Absence is asked about
	stats    Stats
}
