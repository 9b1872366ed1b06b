package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"spendsync/schema"
)

// Replay merges kept replies into a table's history when they are read again, to recover what an older version of
// this program did not understand. It changes only the current version of an entity. Confirmations move only with a
// new version, and later replies of the service keep their effect.
//
// A reply newer than the current version makes versions, as if it had been understood at that time. The newest older
// reply fills in columns that were never readable. It corrects other columns of the current version only if the
// version was made from this reply.
type Replay[R any, P Versioned[R]] struct {
	a         *advance[R, P]
	confirmed Confirmations
	base      map[string]kept[R]      // the newest reply that is not newer than the current version
	groups    map[string][]*entity[R] // by the key of their group
}

// kept is an entity of a kept reply, which was received at since, in a reading that ended at at.
type kept[R any] struct {
	Seen[R]
	since, at schema.Instant
}

// NewReplay prepares the repair of a history, which is not modified.
func NewReplay[R any, P Versioned[R]](t schema.TableOf[R], h Versions[R], runID string) (*Replay[R, P], error) {
	at := h.Confirmations.ObservedAt
	known := map[string]bool{}
	a, err := newAdvance[R, P](t, t.Tracked(), h, Observation[R]{Since: min(1, at), At: at, RunID: runID}, known)
	if err = cmp.Or(err, h.Confirmations.checkKeys(known)); err != nil {
		return nil, fmt.Errorf("%s: %w", t.FullName(), err)
	}
	a.stats.Changed = h.Altered
	m := &Replay[R, P]{a: a, confirmed: h.Confirmations, base: map[string]kept[R]{}, groups: map[string][]*entity[R]{}}
	for _, th := range a.entities {
		m.group(th)
	}
	return m, nil
}

// group notes which group an entity is of.
func (m *Replay[R, P]) group(th *entity[R]) {
	of := groupOf(th.text)
	m.groups[of] = append(m.groups[of], th)
}

// Current returns the current version of the entity of a row; nil: there is none. It is not
// written to.
func (m *Replay[R, P]) Current(row *R) *R {
	if th := m.a.byKey[keyText(m.a.id.parts(row))]; th != nil {
		return th.current
	}
	return nil
}

// See processes an entity of a reply, which was received at since, in a reading that ended at at. Replies come in
// their order.
func (m *Replay[R, P]) See(s Seen[R], since, at schema.Instant) error {
	if at > m.confirmed.ObservedAt {
		return nil // of settings that were not stored
	}
	th := m.a.byKey[keyText(m.a.id.parts(&s.Row))]
	k := kept[R]{s, since, at}
	if th != nil && at <= P(th.current).FramePtr().ValidFrom {
		delete(m.base, th.text)
		if _, r, err := m.read(th, &k); err != nil || !r.filled && len(r.changed) == 0 {
			return err // the version has these values already
		}
		m.base[th.text] = k
		return nil
	}
	if th == nil {
		th = m.a.entity(&s.Row)
		m.group(th)
	} else if err := m.repairCurrent(th); err != nil {
		return err
	}
	row, r, err := m.read(th, &k)
	if err != nil {
		return err
	}
	m.a.Since, m.a.At = since, at
	switch {
	case th.current == nil:
		m.a.stats.FirstSeen++
		m.a.first(th, row, r.never, schema.FirstSeen, m.a.state(r.never))
	case P(th.current).FramePtr().IsDeleted:
		m.open(th, row, r, schema.Restored)
	case len(r.changed) > 0:
		m.open(th, row, r, schema.Changed)
	case r.filled:
		m.a.keep(th, row, r, ExtraSame)
	}
	return nil
}

// Gone processes a complete reply that lacked entities: those in the group of of for which is reports true, for
// example the rules of a campaign. Replies older than a version do not affect it.
func (m *Replay[R, P]) Gone(of string, since, at schema.Instant, is func(*R) bool) {
	for _, th := range m.groups[groupKey(of)] {
		f := P(th.current).FramePtr()
		if at <= m.confirmed.ObservedAt && f.ValidFrom < at && !f.IsDeleted && is(th.current) {
			m.a.Since, m.a.At = since, at
			m.open(th, *th.current, reading{never: th.never, confirms: true}, schema.Deleted)
		}
	}
}

// open opens a version at an instant of the past. The previous version was not confirmed after that, because its
// values had changed by then.
func (m *Replay[R, P]) open(th *entity[R], row R, r reading, why string) {
	confirmed := th.confirmed
	if r.confirms {
		confirmed = max(confirmed, m.a.Since)
	}
	if th.confirmed >= m.a.At {
		th.confirmed = P(th.current).FramePtr().ValidFrom
	}
	m.a.stats.Versions++
	m.a.open(th, row, r.never, why, r.changed, confirmed)
}

// read returns the row of a kept reply, with the last known values of its unread columns, and the comparison with the
// current version.
func (m *Replay[R, P]) read(th *entity[R], k *kept[R]) (row R, r reading, err error) {
	unread, err := m.a.unread(&k.Seen)
	if err != nil {
		return row, r, fmt.Errorf("%q: %w", th.text, err)
	}
	row = k.Row
	m.a.carry(&row, th.current, unread)
	return row, m.a.compare(th, &row, unread), nil
}

// repairCurrent reads the current version of an entity again in the newest reply before it.
func (m *Replay[R, P]) repairCurrent(th *entity[R]) error {
	k, ok := m.base[th.text]
	delete(m.base, th.text)
	is := *P(th.current).FramePtr()
	if !ok || is.IsDeleted || len(th.closed) > 0 {
		return nil
	}
	if k.at < is.ValidFrom {
		// Another reading made the version: the columns that it could read stay.
		k.Unread = slices.Concat(k.Unread, m.known(th))
	}
	row, r, err := m.read(th, &k)
	if err != nil || !r.filled && len(r.changed) == 0 {
		return err
	}
	m.a.stats.Filled++
	if r.filled {
		is.ReadState = m.a.state(r.never)
		if r.first && is.VersionNo == 1 {
			is.ChangeType = schema.FirstRead
		}
	}
	if changed := m.differing(th, &row); len(changed) > 0 {
		is.ChangeType, is.ChangedColumns = schema.Changed, schema.Some(strings.Join(changed, ","))
	}
	m.a.write(th, row, r.never, is)
	return nil
}

// known are the columns of an entity's current version that have been readable.
func (m *Replay[R, P]) known(th *entity[R]) (names []string) {
	for _, c := range m.a.table.Fields() {
		if m.a.tracked.has(c.Name) && !slices.Contains(th.never, c.Name) ||
			!m.a.table.ColumnEqual(th.current, new(R), c) {
			names = append(names, c.Name)
		}
	}
	return names
}

// differing returns the columns in which a corrected current version differs from its predecessor, if the version
// stands for a change.
func (m *Replay[R, P]) differing(th *entity[R], row *R) (names []string) {
	n := len(th.stored)
	if why := P(th.current).FramePtr().ChangeType; n < 2 || why != schema.Changed && why != schema.ChangedBeyond {
		return nil
	}
	for _, c := range m.a.tracked {
		// A column that was never readable before has not changed.
		if !m.a.table.ColumnEqual(row, &th.stored[n-2], c) && !slices.Contains(th.never, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Versions are the repaired history, and how many versions were filled in, corrected or made;
// with none, the rows are those that were given.
func (m *Replay[R, P]) Versions() (next Versions[R], repaired int, err error) {
	for _, th := range m.a.entities {
		if err := m.repairCurrent(th); err != nil {
			return next, 0, err
		}
	}
	st := m.a.stats
	repaired = int(st.FirstSeen + st.Filled + st.Versions)
	next.Confirmations = confirmationsOf[R, P](m.a.entities, m.confirmed.ObservedAt)
	next.Rows = m.a.rows()
	return next, repaired, Check[R, P](m.a.table, next)
}
