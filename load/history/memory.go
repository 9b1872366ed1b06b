package history

import (
	"fmt"
	"iter"
	"maps"

	"spendsync/load/durable"
	"spendsync/schema"
)

// Memory is what the rows of a history do not show. It is kept in the manifest, so that the Parquet file changes only
// when a version does. When a version was last confirmed is a fact of a reading, see [schema.Reading].
type Memory struct {
	// ObservedAt is the last observation's instant. A run before it is refused,
	// and one at it again counts no absence twice.
	ObservedAt schema.Instant `json:"observed_at,omitzero"`
	// Missed counts complete absences in a row.
	Missed map[string]int `json:"missed,omitempty"`
	// Never lists, by key, the tracked columns that no run has been able to read, sorted. Only keys with the read
	// state partial have an entry: of a stub and of an unreadable key no column was ever read.
	Never map[string][]string `json:"never,omitempty"`

	// ConfirmedAt and Exceptions are of version 11 of the tables: when the keys were last confirmed. A group whose
	// entities share an instant has one key: the first part of its entities' keys, and a slash.
	ConfirmedAt schema.Instant            `json:"confirmed_at,omitzero"`
	Exceptions  map[string]schema.Instant `json:"excepted,omitempty"`
}

// Confirmed returns when the current version of a key was last confirmed, by the memory of version 11 of the tables.
func (m Memory) Confirmed(key string) schema.Instant {
	if at, ok := m.Exceptions[key]; ok {
		return at
	}
	if at, ok := m.Exceptions[groupOf(key)]; ok {
		return at
	}
	return m.ConfirmedAt
}

// Forget returns the memory without the instants of version 11 of the tables.
func (m Memory) Forget() Memory {
	m.ConfirmedAt, m.Exceptions = 0, nil
	return m
}

// ByGroup cuts the memory into those of the groups with listed entities, by [GroupKey].
func (m Memory) ByGroup() map[string]Memory {
	groups := map[string]Memory{}
	of := func(key string) Memory {
		is, ok := groups[groupOf(key)]
		if !ok {
			is = Memory{ObservedAt: m.ObservedAt, Missed: map[string]int{}, Never: map[string][]string{}}
			groups[groupOf(key)] = is
		}
		return is
	}
	for key, n := range m.Missed {
		of(key).Missed[key] = n
	}
	for key, columns := range m.Never {
		of(key).Never[key] = columns
	}
	return groups
}

// Add adds the entities of another memory.
func (m *Memory) Add(o Memory) {
	m.Missed, m.Never = added(m.Missed, o.Missed), added(m.Never, o.Never)
}

// added adds the second map to the first.
func added[V any](to, more map[string]V) map[string]V {
	if to == nil && len(more) > 0 {
		to = map[string]V{}
	}
	maps.Copy(to, more)
	return to
}

// remember adds the entities of an observation to the memory, and hands over when each was last confirmed.
func (a *advance[R, P]) remember(m *Memory) {
	for _, th := range a.entities {
		if a.Confirm != nil {
			a.Confirm(th.current, th.confirmed)
		}
		if th.missed > 0 {
			if m.Missed == nil {
				m.Missed = map[string]int{}
			}
			m.Missed[a.id.text(th.current)] = th.missed
		}
		if P(th.current).FramePtr().ReadState == schema.ReadPartial {
			if m.Never == nil {
				m.Never = map[string][]string{}
			}
			m.Never[a.id.text(th.current)] = th.never
		}
	}
}

// checkKeys refuses a memory of entities that the rows do not have.
func (m Memory) checkKeys(known map[string]bool) error {
	for what, keys := range map[string]iter.Seq[string]{"absences": maps.Keys(m.Missed),
		"unread columns": maps.Keys(m.Never)} {
		for key := range keys {
			if !known[key] {
				return fmt.Errorf("%q: the manifest lists %s, but there is no row: %w", key, what, durable.ErrDamaged)
			}
		}
	}
	return nil
}
