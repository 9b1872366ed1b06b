package history

import (
	"fmt"
	"iter"
	"maps"

	"spendsync/load/durable"
	"spendsync/schema"
)

// Memory is the part of a history's state that is not in the rows. The manifest contains it, so that the Parquet file
// changes only if a version changes. The times when versions were last confirmed are stored elsewhere: in the table of
// readings, see [schema.Reading].
type Memory struct {
	// ObservedAt is the instant of the last observation. An earlier observation is refused. Repeating the last
	// observation counts no absence twice.
	ObservedAt schema.Instant `json:"observed_at,omitzero"`
	// Missed counts, by key, the consecutive complete listings that lacked the entity.
	Missed map[string]int `json:"missed,omitempty"`
	// Never has, by key, the tracked columns that no run has been able to read yet, sorted. Only keys with the read
	// state partial have an entry. A stub or an unreadable key needs no entry, because none of its columns was ever
	// read.
	Never map[string][]string `json:"never,omitempty"`

	// ConfirmedAt and Exceptions record when the keys were last confirmed. Only version 11 of the tables uses them. A
	// group whose entities share an instant has one entry in Exceptions, with the key of [GroupKey].
	ConfirmedAt schema.Instant            `json:"confirmed_at,omitzero"`
	Exceptions  map[string]schema.Instant `json:"excepted,omitempty"`
}

// Confirmed returns when the current version of a key was last confirmed. It is for memories that were written with
// version 11 of the tables.
func (m Memory) Confirmed(key string) schema.Instant {
	if at, ok := m.Exceptions[key]; ok {
		return at
	}
	if at, ok := m.Exceptions[groupOf(key)]; ok {
		return at
	}
	return m.ConfirmedAt
}

// Forget returns the memory without ConfirmedAt and Exceptions, which only version 11 of the tables uses.
func (m Memory) Forget() Memory {
	m.ConfirmedAt, m.Exceptions = 0, nil
	return m
}

// ByGroup splits the memory into one memory for each group, by [GroupKey]. It leaves out groups that have no entry in
// the maps Missed and Never.
func (m Memory) ByGroup() map[string]Memory {
	groups := map[string]Memory{}
	groupFor := func(key string) Memory {
		group, ok := groups[groupOf(key)]
		if !ok {
			group = Memory{ObservedAt: m.ObservedAt, Missed: map[string]int{}, Never: map[string][]string{}}
			groups[groupOf(key)] = group
		}
		return group
	}
	for key, n := range m.Missed {
		groupFor(key).Missed[key] = n
	}
	for key, columns := range m.Never {
		groupFor(key).Never[key] = columns
	}
	return groups
}

// Add adds the entries of another memory to the maps Missed and Never.
func (m *Memory) Add(o Memory) {
	m.Missed, m.Never = added(m.Missed, o.Missed), added(m.Never, o.Never)
}

// added copies the entries of the second map into the first one, and returns the first one. If that is nil, it is
// created.
func added[V any](to, more map[string]V) map[string]V {
	if to == nil && len(more) > 0 {
		to = map[string]V{}
	}
	maps.Copy(to, more)
	return to
}

// remember fills the memory after an observation, and calls the function Confirm for each entity.
func (a *advance[R, P]) remember(m *Memory) {
	for _, e := range a.entities {
		if a.Confirm != nil {
			a.Confirm(e.current, e.confirmed)
		}
		if e.missed > 0 {
			if m.Missed == nil {
				m.Missed = map[string]int{}
			}
			m.Missed[a.id.text(e.current)] = e.missed
		}
		if P(e.current).FramePtr().ReadState == schema.ReadPartial {
			if m.Never == nil {
				m.Never = map[string][]string{}
			}
			m.Never[a.id.text(e.current)] = e.never
		}
	}
}

// checkKeys returns an error if the memory names a key without a row.
func (m Memory) checkKeys(existing map[string]bool) error {
	for kind, keys := range map[string]iter.Seq[string]{"absences": maps.Keys(m.Missed),
		"unread columns": maps.Keys(m.Never)} {
		for key := range keys {
			if !existing[key] {
				return fmt.Errorf("%q: the manifest lists %s, but there is no row: %w", key, kind, durable.ErrDamaged)
			}
		}
	}
	return nil
}
