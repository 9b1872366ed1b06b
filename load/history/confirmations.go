package history

import (
	"maps"

	"spendsync/schema"
)

// Confirmations records when each key of a history was last confirmed, and what else its rows
// do not show. It is kept in the manifest, so that the Parquet file changes only when a version
// does.
//
// It is small: a run confirms nearly every key, so only the exceptions are listed.
type Confirmations struct {
	// ObservedAt is the last observation's instant. A run before it is refused,
	// and one at it again counts no absence twice.
	ObservedAt schema.Instant `json:"observed_at,omitzero"`
	// ConfirmedAt is when all keys that are not among the exceptions were last confirmed.
	ConfirmedAt schema.Instant `json:"confirmed_at,omitzero"`
	// Exceptions are the keys that were last confirmed at another time. A group whose entities share
	// that time has one key: the first part of its entities' keys, and a slash.
	Exceptions map[string]schema.Instant `json:"excepted,omitempty"`
	// Missed counts complete absences in a row.
	Missed map[string]int `json:"missed,omitempty"`
	// Never are the tracked columns that have never been readable, sorted, for keys whose read state is partial. A
	// stub and an unreadable key need no entry: for them it is every column.
	Never map[string][]string `json:"never,omitempty"`
	// SharedCount counts the keys that share ConfirmedAt; 0: not counted.
	SharedCount int64 `json:"-"`
}

// Confirmed returns when the current version of a key was last confirmed: all its values were read at or after this
// instant. A read confirms if every tracked field was readable, or if it is the first one that read anything. A
// deleted entity was confirmed when a complete listing last lacked it.
func (m Confirmations) Confirmed(key string) schema.Instant {
	if at, ok := m.Exceptions[key]; ok {
		return at
	}
	if at, ok := m.Exceptions[groupOf(key)]; ok {
		return at
	}
	return m.ConfirmedAt
}

// MovesOnly reports whether only the shared confirmation time changed.
func (m Confirmations) MovesOnly(was Confirmations) bool {
	for _, at := range was.Exceptions {
		if at == was.ConfirmedAt {
			return false // it cannot be told from the others
		}
	}
	return m.SharedCount > 0 && was.ConfirmedAt != 0 && m.ConfirmedAt != 0 && maps.Equal(was.Exceptions, m.Exceptions)
}

// names reports whether a key is listed by itself.
func (m Confirmations) names(key string) bool {
	_, excepted := m.Exceptions[key]
	_, missed := m.Missed[key]
	_, never := m.Never[key]
	return excepted || missed || never
}

// lists reports whether some keys are listed by themselves.
func (m Confirmations) lists() bool { return len(m.Exceptions)+len(m.Missed)+len(m.Never) > 0 }

// byGroup cuts the confirmations into those of each group that is listed, or has listed entities.
func (m Confirmations) byGroup() map[string]Confirmations {
	groups := map[string]Confirmations{}
	of := func(key string) Confirmations {
		is, ok := groups[groupOf(key)]
		if !ok {
			is = newConfirmations(m.ObservedAt)
			is.ConfirmedAt = m.ConfirmedAt
			groups[groupOf(key)] = is
		}
		return is
	}
	for key, at := range m.Exceptions {
		is := of(key)
		if groupOf(key) != key {
			is.Exceptions[key] = at
			continue
		}
		is.ConfirmedAt = at
		groups[key] = is
	}
	for key, n := range m.Missed {
		of(key).Missed[key] = n
	}
	for key, columns := range m.Never {
		of(key).Never[key] = columns
	}
	return groups
}

// confirmer collects the confirmations of entities, group by group.
type confirmer[R any, P Versioned[R]] struct {
	id    identity[R]
	m     Confirmations            // nothing of it is confirmed by the rule
	count map[schema.Instant]int64 // entities that were last confirmed then
}

func newConfirmer[R any, P Versioned[R]](id identity[R], at schema.Instant) confirmer[R, P] {
	return confirmer[R, P]{id: id, count: map[schema.Instant]int64{}, m: newConfirmations(at)}
}

func newConfirmations(at schema.Instant) Confirmations {
	return Confirmations{ObservedAt: at, Exceptions: map[string]schema.Instant{}, Missed: map[string]int{},
		Never: map[string][]string{}}
}

// add records entities in their order. A group that was confirmed as a whole has one key.
func (r *confirmer[R, P]) add(entities []*entity[R]) {
	for from, to := 0, 0; from < len(entities); from = to {
		first, shared := entities[from], true
		for to = from + 1; to < len(entities) && r.id.inGroup(entities[to].current, first.current); to++ {
			shared = shared && entities[to].confirmed == first.confirmed
		}
		if shared && len(r.id.key) > 1 {
			r.m.Exceptions[groupOf(r.id.text(first.current))] = first.confirmed
		}
		for _, th := range entities[from:to] {
			r.count[th.confirmed]++
			if !shared || len(r.id.key) == 1 {
				r.m.Exceptions[r.id.text(th.current)] = th.confirmed
			}
			if th.missed > 0 {
				r.m.Missed[r.id.text(th.current)] = th.missed
			}
			if P(th.current).FramePtr().ReadState == schema.ReadPartial {
				r.m.Never[r.id.text(th.current)] = th.never
			}
		}
	}
}

// confirmations returns those of all recorded entities. The most frequent instant becomes ConfirmedAt, and the
// later one of two that are equally frequent.
func (r *confirmer[R, P]) confirmations() Confirmations {
	for at, n := range r.count {
		if n > r.m.SharedCount || n == r.m.SharedCount && at > r.m.ConfirmedAt {
			r.m.ConfirmedAt, r.m.SharedCount = at, n
		}
	}
	maps.DeleteFunc(r.m.Exceptions, func(_ string, at schema.Instant) bool { return at == r.m.ConfirmedAt })
	return r.m.trim()
}

func (a *advance[R, P]) confirmations(at schema.Instant) Confirmations {
	r := newConfirmer[R, P](a.id, at)
	r.add(a.entities)
	return r.confirmations()
}

// With returns the confirmations with another confirmation of a key.
func (m Confirmations) With(key string, at schema.Instant) Confirmations {
	m.Exceptions = maps.Clone(m.Exceptions)
	if m.Exceptions == nil {
		m.Exceptions = map[string]schema.Instant{}
	}
	m.Exceptions[key] = at
	return m
}

// trim makes empty maps nil, as a manifest that is read back has them.
func (m Confirmations) trim() Confirmations {
	if len(m.Exceptions) == 0 {
		m.Exceptions = nil
	}
	if len(m.Missed) == 0 {
		m.Missed = nil
	}
	if len(m.Never) == 0 {
		m.Never = nil
	}
	return m
}
