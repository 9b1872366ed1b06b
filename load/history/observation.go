package history

import (
	"cmp"
	"fmt"

	"spendsync/schema"
)

// Seen is one entity with the values that a run has read.
type Seen[R any] struct {
	// Row has the key and all fields that could be read, in canonical form: decimals to scale, lists sorted. Its
	// version columns, the [schema.Frame], are ignored.
	Row R
	// Unread names the columns that could not be read. Their values in Row are ignored, and the last known values are
	// kept.
	Unread []string
	// FillsRaw means that the entity differs from its current version only by a new key of its JSON. The column raw is
	// then updated without a new version.
	FillsRaw bool
}

// Absence is the reason why an entity was not seen.
type Absence int

const (
	// Unknown: the entity was not asked for, or the listing was incomplete. The absence proves nothing.
	Unknown Absence = iota
	// Gone: a complete listing lacked the entity.
	Gone
)

// Observation contains what one run has read for one table.
type Observation[R any] struct {
	// Since is when the reading began, and At is when it ended. The values were true at an unknown moment between the
	// two. So a version is valid only from At, which is its valid_from: a change had happened by then. A version is
	// confirmed only as of Since, because the value may have changed right afterwards. That instant becomes the
	// changed_after of the next version. If Since is zero, At is used for both.
	Since, At schema.Instant
	RunID     string
	Seen      []Seen[R] // one element for each entity that was read
	Stubs     []R       // keys of entities that are named only in the report; stored entities are skipped
	// Refreshed are untracked columns whose newest values are always written into the current version. Other untracked
	// columns are written only together with a version.
	Refreshed []schema.Column
	// Absence returns why a stored entity was not seen. If an entity is deleted already, Gone confirms the deletion. If
	// the function is nil, the reason is Unknown for all entities.
	Absence func(row *R) Absence
	// Confirmed returns when the current version of a stored entity was last confirmed. It is for callers that store
	// this time outside of the row, and nil for all others.
	Confirmed func(row *R) schema.Instant
	// Confirm is called with the current version of each entity and the instant of its last confirmation. It may be
	// nil.
	Confirm func(row *R, at schema.Instant)
	// Patience is the number of consecutive complete listings without an entity after which the entity counts as
	// deleted.
	Patience int
}

// since returns when the reading began. If that is unknown, it returns when the reading ended.
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

// Stats counts the entities by the effect that an observation had on them. Changed means that rows have changed, so
// that the file of the rows must be written.
type Stats struct {
	Changed   bool
	FirstSeen int64 // new entities that were read, at least in part
	Stubs     int64 // new entities that are named only in the report
	Filled    int64 // current versions that got a value in a column that had never been read
	Refreshed int64 // current versions that got a newer value of an untracked column
	Versions  int64 // new versions with changed values
	Deleted   int64 // new versions that record a deletion
	Restored  int64 // new versions of entities that had been deleted
	Confirmed int64 // seen entities of which every tracked field was read
	Unread    int64 // seen entities of which a tracked field could not be read
	Missing   int64 // entities that a complete listing lacked, but that are not deleted yet
}

// Add adds the counts of another observation.
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

// advance is the state while an observation is merged into a history.
type advance[R any, P Versioned[R]] struct {
	Observation[R]
	table   schema.TableOf[R]
	tracked columns  // sorted by name
	names   []string // names of the tracked columns
	fields  columns  // the columns that Seen.Unread may name; nil until they are needed
	id      identity[R]
	replay  bool // whether the observation repeats the last one

	stored   []entity[R]           // in key order
	entities []*entity[R]          // the stored entities, and then the new ones
	next     int                   // index of the entity that is expected next, in the slice stored
	added    map[string]*entity[R] // the new entities, by key
	asked    R                     // copy of a current version, the argument of [Observation.Absence]
	stats    Stats
}
