package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"spendsync/schema"
)

// Advance merges the observation of one run into a table's history. Every changed setting gets one new version. An
// unreadable field is not a change. A missing entity counts as deleted only after o.Patience consecutive complete
// listings lacked it. Merging the same observation again changes nothing.
//
// Only changes of the given columns create a version. The given history is not modified. If nothing has changed,
// Advance returns the same rows, and only the memory advances. Advance refuses an inconsistent history, an observation
// older than the last one, and an entity seen twice. It also refuses an observation that has the instant of the last
// one, but other values.
func Advance[R any, P Versioned[R]](t schema.TableOf[R], tracked []schema.Column, h Versions[R],
	o Observation[R]) (next Versions[R], st Stats, err error) {
	a := newAdvance[R, P](t, tracked, o)
	if err := a.merge(h); err != nil {
		return h, Stats{}, fmt.Errorf("%s: %w", t.FullName(), err)
	}
	next = Versions[R]{Rows: h.Rows, Memory: Memory{ObservedAt: o.At}}
	a.remember(&next.Memory)
	if a.stats.Changed {
		next.Rows = a.rows()
	}
	return next, a.stats, nil
}

func newAdvance[R any, P Versioned[R]](t schema.TableOf[R], tracked []schema.Column, o Observation[R]) advance[R, P] {
	a := advance[R, P]{Observation: o, table: t, id: identityOf(t)}
	a.tracked = slices.SortedFunc(slices.Values(tracked), func(a, b schema.Column) int {
		return cmp.Compare(a.Name, b.Name)
	})
	for _, c := range a.tracked {
		a.names = append(a.names, c.Name)
	}
	return a
}

// begin checks the observation and the history, and fills a.stored and a.entities with the stored entities.
func (a *advance[R, P]) begin(h Versions[R]) (err error) {
	if err := a.check(h.Memory); err != nil {
		return err
	}
	a.replay = a.At == h.Memory.ObservedAt
	if a.stored, err = checkedEntities[R, P](a.table, a.id, h); err != nil {
		return err
	}
	for i := range a.stored {
		e := &a.stored[i]
		a.entities = append(a.entities, e)
		if s := P(e.current).FramePtr().ReadState; s == schema.ReadStub || s == schema.ReadUnreadable {
			e.never = a.names
		}
		if a.Confirmed != nil {
			e.confirmed = max(e.confirmed, a.Confirmed(e.current))
		}
	}
	return nil
}

// merge processes the entities that were seen, then those that are named only in the report, and then those that are
// missing.
func (a *advance[R, P]) merge(h Versions[R]) error {
	if err := a.begin(h); err != nil {
		return err
	}
	for i := range a.Seen {
		if err := a.see(&a.Seen[i]); err != nil {
			return err
		}
	}
	for i := range a.Stubs {
		a.stub(&a.Stubs[i])
	}
	for _, e := range a.entities {
		a.miss(e)
	}
	if len(a.added) > 0 {
		slices.SortFunc(a.entities, func(x, y *entity[R]) int { return a.id.compare(x.current, y.current) })
	}
	a.stats.Changed = a.stats.Changed || h.Altered
	return nil
}

// entity returns the entity with a row's key. If the key is new, the entity has no version yet, and none of its tracked
// columns has been read.
func (a *advance[R, P]) entity(row *R) *entity[R] {
	i, isStored := a.next, a.next < len(a.stored) && a.id.compare(a.stored[a.next].current, row) == 0
	if !isStored { // search: an entity was skipped, the rows are unordered, or the key is new
		i, isStored = slices.BinarySearchFunc(a.stored, row, func(e entity[R], row *R) int {
			return a.id.compare(e.current, row)
		})
	}
	if isStored {
		a.next = i + 1
		return &a.stored[i]
	}
	key := a.id.text(row)
	e := a.added[key]
	if e == nil {
		e = &entity[R]{never: a.names}
		if a.added == nil {
			a.added = map[string]*entity[R]{}
		}
		a.added[key] = e
		a.entities = append(a.entities, e)
	}
	return e
}

// see processes an entity that was seen. The entity counts as seen even if none of its fields could be read.
func (a *advance[R, P]) see(s *Seen[R]) error {
	e := a.entity(&s.Row)
	if e.seen {
		return fmt.Errorf("%q: seen twice in one run", a.id.text(&s.Row))
	}
	e.seen, e.missed = true, 0
	unread, err := a.unread(s)
	if err != nil {
		return fmt.Errorf("%q: %w", a.id.text(&s.Row), err)
	}
	row := a.carry(&s.Row, e.current, unread)
	r := a.difference(e, row, unread)
	if r.full {
		a.stats.Confirmed++
	} else {
		a.stats.Unread++
	}
	confirmed := e.confirmed
	if r.confirms {
		confirmed = max(confirmed, a.since())
	}
	deleted := e.current != nil && P(e.current).FramePtr().IsDeleted
	switch {
	case e.current == nil:
		a.stats.FirstSeen++
		a.first(e, *row, r.never, schema.FirstSeen, a.state(r.never))
	case a.replay && (deleted || len(r.changed) > 0):
		return fmt.Errorf("%q: %s was observed before with other values", a.id.text(&s.Row), a.At)
	case deleted:
		a.stats.Restored++
		if !r.confirms {
			// e.confirmed is the time when the deletion was last confirmed. The time when the values were last
			// confirmed is in the version before the deletion.
			confirmed = P(&e.stored[len(e.stored)-2]).FramePtr().LastConfirmedAt
		}
		a.open(e, *row, r.never, schema.Restored, r.changed, confirmed)
	case len(r.changed) > 0:
		a.stats.Versions++
		a.open(e, *row, r.never, schema.Changed, r.changed, confirmed)
	default:
		e.confirmed = confirmed
		a.refresh(e, row, r, s.FillsRaw)
	}
	return nil
}

// first writes the first version of an entity.
func (a *advance[R, P]) first(e *entity[R], row R, never []string, why, state string) {
	e.confirmed = a.since()
	a.write(e, row, never, schema.Frame{
		VersionNo: 1, ValidFrom: a.At, ValidTo: schema.Forever, IsCurrent: true,
		ChangeType: why, ReadState: state,
	})
}

// open closes the current version at the instant of this observation and writes the next version. Both rows get this
// run's ID, so that a reader that follows changes by _run_id also sees the closing.
func (a *advance[R, P]) open(e *entity[R], row R, never []string, why string, changed []string,
	confirmed schema.Instant) {
	closed := *e.current
	closedFrame := P(&closed).FramePtr()
	closedFrame.ValidTo, closedFrame.IsCurrent, closedFrame.LastConfirmedAt = a.At, false, e.confirmed
	*a.id.runID(&closed) = a.RunID
	e.closed, e.confirmed = append(e.closed, closed), confirmed
	frame := schema.Frame{
		VersionNo: closedFrame.VersionNo + 1, ValidFrom: a.At, ValidTo: schema.Forever, IsCurrent: true,
		IsDeleted: why == schema.Deleted, ChangedAfter: schema.Some(closedFrame.LastConfirmedAt),
		ChangeType: why, ReadState: a.state(never),
	}
	if len(changed) > 0 {
		frame.ChangedColumns = schema.Some(strings.Join(changed, ","))
	}
	a.write(e, row, never, frame)
}

// refresh keeps the current version of an entity. It rewrites the row only to fill in columns that were read for the
// first time, or to store a newer value of an untracked column.
func (a *advance[R, P]) refresh(e *entity[R], row *R, r reading, fillsRaw bool) {
	refreshed := a.Refreshed
	if fillsRaw {
		refreshed = append(slices.Clone(refreshed), a.table.ColumnsNamed("raw")...)
	}
	frame := *P(e.current).FramePtr()
	switch {
	case r.filled || frame.ReadState == schema.ReadStub:
		a.stats.Filled++
		frame.ReadState = a.state(r.never)
		if r.first && frame.VersionNo == 1 {
			// Only a first version gets this kind of change. Later versions keep the kind that they have.
			frame.ChangeType = schema.FirstRead
		}
		a.write(e, *row, r.never, frame)
	case slices.ContainsFunc(refreshed, func(c schema.Column) bool { return !a.table.ColumnEqual(row, e.current, c) }):
		a.stats.Refreshed++
		refreshedRow := *e.current
		for _, c := range refreshed {
			a.table.CopyColumn(&refreshedRow, row, c)
		}
		a.write(e, refreshedRow, e.never, frame)
	}
}

// write stores row as the current version of the entity.
func (a *advance[R, P]) write(e *entity[R], row R, never []string, frame schema.Frame) {
	frame.LastConfirmedAt = e.confirmed
	*P(&row).FramePtr() = frame
	*a.id.runID(&row) = a.RunID
	e.current, e.never = &row, never
	a.stats.Changed = true
}

// stub processes an entity that is named only in the report. If the entity is not stored yet, a stub is created, which
// is a version without any values.
func (a *advance[R, P]) stub(key *R) {
	e := a.entity(key)
	if e.current != nil {
		return
	}
	a.stats.Stubs++
	a.first(e, *a.carry(key, nil, a.tracked), a.names, schema.Stub, schema.ReadStub)
}

// miss processes an entity that was not seen. The absence of a stub proves nothing, because no listing has ever had the
// stub.
func (a *advance[R, P]) miss(e *entity[R]) {
	frame := P(e.current).FramePtr()
	if e.seen || frame.ReadState == schema.ReadStub || a.Absence == nil {
		return
	}
	a.asked = *e.current
	if a.Absence(&a.asked) == Unknown {
		return
	}
	switch {
	case frame.IsDeleted:
		e.confirmed = max(e.confirmed, a.since())
	case a.replay:
		// This observation was merged before, and the absence was counted then.
	case e.missed+1 < a.Patience:
		e.missed++
		a.stats.Missing++
	default:
		e.missed = 0
		a.stats.Deleted++
		a.open(e, *e.current, e.never, schema.Deleted, nil, max(e.confirmed, a.since()))
	}
}

// rows returns all versions, in the order of the entities.
func (a *advance[R, P]) rows() []R {
	n := 0
	for _, e := range a.entities {
		n += max(len(e.stored), 1) + len(e.closed)
	}
	rows := make([]R, 0, n)
	for _, e := range a.entities {
		if n := len(e.stored); n > 0 {
			rows = append(rows, e.stored[:n-1]...)
		}
		rows = append(append(rows, e.closed...), *e.current)
	}
	return rows
}
