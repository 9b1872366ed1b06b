package schema

import (
	"reflect"
	"slices"
	"unsafe"
)

// Frame holds the columns that every version of a setting has. A version is valid from valid_from until just before
// valid_to. The service does not report when a setting changed, so valid_from is the time at which spendsync first saw
// the version. The setting changed between changed_after and valid_from.
type Frame struct {
	// Version of this entity, counted from 1.
	VersionNo int64 `col:"version_no" id:"101" key:"true" history:"no"`
	// When this version was first seen: the end of the reading that saw it.
	ValidFrom Instant `col:"valid_from" id:"102" history:"no"`
	// End of this version, exclusive: when the next version was first seen; 9999-12-31 for the newest version.
	ValidTo Instant `col:"valid_to" id:"103" history:"no"`
	// Whether this is the newest version.
	IsCurrent bool `col:"is_current" id:"104" history:"no"`
	// Whether the entity is deleted: two complete listings in a row lack it and the service answers not_found for its
	// ID. A source rule is deleted when two readings in a row lack it.
	IsDeleted bool `col:"is_deleted" id:"105" history:"no"`
	// When the previous version was last confirmed: the change was after this time, and at valid_from or before. NULL:
	// there is no previous version.
	ChangedAfter Null[Instant] `col:"changed_after" id:"106" history:"no"`
	// When this version was last confirmed: all its values were read at or after this time. For a deleted entity: when
	// it was last found missing. In a current version this is as of the last write of its row; the views have the time
	// of the last reading.
	LastConfirmedAt Instant `col:"last_confirmed_at" id:"107" history:"no"`
	// first_seen; first_read: known before, now readable; changed; undescribed: only the JSON in raw changed, under a
	// key without a column; deleted; restored; stub: known only from the report.
	ChangeType string `col:"change_type" id:"108" history:"no"`
	// Columns that differ from the previous version, sorted, comma-joined.
	ChangedColumns Null[string] `col:"changed_columns" id:"109" history:"no"`
	// ok; partial: some fields have never been readable; unreadable: no field has ever been readable; stub: never read.
	ReadState string `col:"read_state" id:"110" history:"no"`
}

// FramePtr returns the embedded Frame. Generic code calls it to read or set these fields in a row of any table of
// versions.
func (f *Frame) FramePtr() *Frame { return f }

// Forever is the valid_to of the newest version: 9999-12-31 00:00 UTC.
const Forever Instant = 253402214400_000000

// The values of Frame.ChangeType.
const (
	FirstSeen = "first_seen"
	FirstRead = "first_read"
	Changed   = "changed"
	// ChangedBeyond: only the JSON in raw changed, under a key that has no column.
	ChangedBeyond = "undescribed"
	Deleted       = "deleted"
	Restored      = "restored"
	Stub          = "stub"
)

// The values of Frame.ReadState.
const (
	ReadOK         = "ok"
	ReadPartial    = "partial"
	ReadUnreadable = "unreadable"
	ReadStub       = "stub"
)

// ColumnEqual reports whether two rows have the same value in a column.
func (t TableOf[R]) ColumnEqual(a, b *R, c Column) bool {
	return c.equal(unsafe.Pointer(a), unsafe.Pointer(b))
}

// CopyColumn sets a column of one row to another row's value.
func (t TableOf[R]) CopyColumn(to, from *R, c Column) {
	reflect.ValueOf(to).Elem().FieldByIndex(c.index).Set(reflect.ValueOf(from).Elem().FieldByIndex(c.index))
}

// RawJSON returns the service's JSON of the row's entity. isKept is false if the table has no column raw.
func (t TableOf[R]) RawJSON(row *R) (text string, isKept bool) {
	for _, c := range t.ColumnsNamed("raw") {
		return reflect.ValueOf(row).Elem().FieldByIndex(c.index).Interface().(Null[string]).V, true
	}
	return "", false
}

// Tracked returns the columns in which a changed value starts a new version, in the table's order.
func (t *Table) Tracked() []Column { return t.ColumnsThatAre(Tracked) }

// TrackedNames returns the names of the columns that [Table.Tracked] returns.
func (t *Table) TrackedNames() []string { return Names(t.Tracked()) }

// Names returns the name of each column, in the same order.
func Names(columns []Column) []string {
	var names []string
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

// ColumnsNamed returns the columns with the given names, in the table's order.
func (t *Table) ColumnsNamed(names ...string) []Column {
	var columns []Column
	for _, c := range t.Columns {
		if slices.Contains(names, c.Name) {
			columns = append(columns, c)
		}
	}
	return columns
}
