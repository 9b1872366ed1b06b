package history

import (
	"errors"
	"fmt"
	"slices"

	"spendsync/load/durable"
	"spendsync/schema"
)

// Check verifies that a history is consistent. The versions of every key are numbered from 1 without a gap, and each
// begins when the version before it ends. Only the newest version is current and has no end. Each version correctly
// describes its predecessor. The memory h.Memory names only keys that have a version. The error, a
// [durable.ErrDamaged], names the first key that breaks a rule.
func Check[R any, P Versioned[R]](t schema.TableOf[R], h Versions[R]) error {
	if _, err := checkedEntities[R, P](t, identityOf(t), h); err != nil {
		return fmt.Errorf("%s: %w", t.FullName(), err)
	}
	return nil
}

// checkedEntities returns the entities of a history in key order, or an error if the history is inconsistent.
func checkedEntities[R any, P Versioned[R]](t schema.TableOf[R], id identity[R], h Versions[R]) (
	[]entity[R], error) {
	entities, err := entitiesOf(id, h.Rows)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, durable.ErrDamaged)
	}
	var fields columns
	if len(h.Memory.Never) > 0 {
		fields = t.Fields()
	}
	keys := map[string]bool{} // the keys of the entities
	for i := range entities {
		e := &entities[i]
		e.confirmed = P(e.current).FramePtr().LastConfirmedAt
		if len(h.Memory.Missed)+len(h.Memory.Never) > 0 {
			key := id.text(e.current)
			keys[key] = true
			e.missed, e.never = h.Memory.Missed[key], h.Memory.Never[key]
		}
		if err := checkEntity[R, P](t, fields, e, h.Memory.ObservedAt); err != nil {
			return nil, fmt.Errorf("%q: %w: %w", id.text(e.current), err, durable.ErrDamaged)
		}
	}
	return entities, h.Memory.checkKeys(keys)
}

// entitiesOf groups rows by key. It returns an error if the rows are not in key order, or belong to several accounts.
func entitiesOf[R any](id identity[R], rows []R) ([]entity[R], error) {
	entities := make([]entity[R], 0, len(rows))
	for i := range rows {
		order := -1
		if i > 0 {
			if a, b := *id.account(&rows[i-1]), *id.account(&rows[i]); a != b {
				return nil, fmt.Errorf("rows of account %q and of %q", a, b)
			}
			order = id.compare(&rows[i-1], &rows[i])
		}
		if order > 0 {
			return nil, fmt.Errorf("%q is stored after %q", id.text(&rows[i]), id.text(&rows[i-1]))
		}
		if order < 0 {
			entities = append(entities, entity[R]{stored: rows[i:i]})
		}
		e := &entities[len(entities)-1]
		e.stored, e.current = rows[i-len(e.stored):i+1:i+1], &rows[i]
	}
	return entities, nil
}

func checkEntity[R any, P Versioned[R]](t schema.TableOf[R], fields columns, e *entity[R],
	observed schema.Instant) error {
	var before *schema.Frame
	for i := range e.stored {
		f := P(&e.stored[i]).FramePtr()
		if err := checkVersion(before, f, int64(i+1), i == len(e.stored)-1); err != nil {
			return fmt.Errorf("version %d: %w", i+1, err)
		}
		before = f
	}
	for _, name := range e.never {
		i := fields.index(name)
		if i < 0 {
			return fmt.Errorf("%q is listed as never read, and is not a tracked column", name)
		}
		if !t.ColumnEqual(e.current, new(R), fields[i]) {
			return fmt.Errorf("%s is listed as never read, and has a value", name)
		}
	}
	return checkRemembered(e, before, observed)
}

// checkRemembered compares what the memory says about an entity with the version columns f of the entity's current
// version.
func checkRemembered[R any](e *entity[R], f *schema.Frame, observed schema.Instant) error {
	switch {
	case f.ValidFrom > observed:
		return fmt.Errorf("it was seen at %s, after the last observation at %s", f.ValidFrom, observed)
	case f.LastConfirmedAt > observed:
		return fmt.Errorf("it was confirmed at %s, after the last observation at %s", f.LastConfirmedAt, observed)
	case (f.ReadState == schema.ReadPartial) != (len(e.never) > 0):
		return fmt.Errorf("its read state is %s, with %d columns that have never been read", f.ReadState, len(e.never))
	case e.missed < 0 || (e.missed > 0 && (f.IsDeleted || f.ReadState == schema.ReadStub)):
		return fmt.Errorf("it counts %d absences", e.missed)
	}
	return nil
}

// checkVersion checks a version against the version before it, which is nil for the first version.
func checkVersion(before, f *schema.Frame, no int64, newest bool) error {
	switch {
	case f.VersionNo != no:
		return fmt.Errorf("its number is %d", f.VersionNo)
	case f.ValidFrom >= f.ValidTo:
		return fmt.Errorf("it is valid from %s to %s", f.ValidFrom, f.ValidTo)
	case f.IsCurrent != newest || (f.ValidTo == schema.Forever) != newest:
		return fmt.Errorf("it ends at %s, is_current %t", f.ValidTo, f.IsCurrent)
	case f.LastConfirmedAt >= f.ValidTo:
		return fmt.Errorf("it was confirmed at %s, after its end at %s", f.LastConfirmedAt, f.ValidTo)
	case before != nil && f.ValidFrom != before.ValidTo:
		return fmt.Errorf("it starts at %s, and the previous version ends at %s", f.ValidFrom, before.ValidTo)
	case before != nil && f.ChangedAfter != schema.Some(before.LastConfirmedAt):
		return fmt.Errorf("it changed after %v, and the previous version was last confirmed at %s", f.ChangedAfter,
			before.LastConfirmedAt)
	case before == nil && f.ChangedAfter.Valid:
		return errors.New("changed_after is set, and there is no previous version")
	}
	return checkKind(before, f)
}

// The possible predecessors of a version.
const (
	nothing = iota
	existing
	deleted
)

// precedes maps each kind of change to the predecessor that a version of that kind must have.
var precedes = map[string]int{
	schema.FirstSeen: nothing, schema.FirstRead: nothing, schema.Stub: nothing,
	schema.Changed: existing, schema.ChangedBeyond: existing, schema.Deleted: existing,
	schema.Restored: deleted,
}

// checkKind checks that the kind of change fits the previous version. A version of the kind [schema.Changed] must name
// its changed columns. A version of the kind [schema.Restored] may name changed columns, and no other version may.
func checkKind(before, f *schema.Frame) error {
	predecessor, names := nothing, f.ChangedColumns.V != ""
	if before != nil {
		predecessor = existing
		if before.IsDeleted {
			predecessor = deleted
		}
	}
	kind, isKnown := precedes[f.ChangeType]
	if !isKnown || kind != predecessor || f.IsDeleted != (f.ChangeType == schema.Deleted) ||
		f.ChangedColumns.Valid != names || predecessor != deleted && names != (f.ChangeType == schema.Changed) {
		return fmt.Errorf("change type %q, is_deleted %t, changed columns %q do not fit the previous version",
			f.ChangeType, f.IsDeleted, f.ChangedColumns.V)
	}
	states := []string{schema.ReadOK, schema.ReadPartial, schema.ReadUnreadable}
	if f.ChangeType == schema.Stub {
		states = append(states, schema.ReadStub)
	}
	if !slices.Contains(states, f.ReadState) {
		return fmt.Errorf("read state %q of change type %q", f.ReadState, f.ChangeType)
	}
	return nil
}
