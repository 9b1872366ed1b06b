package history

import (
	"fmt"
	"slices"

	"spendsync/schema"
)

// unread returns the columns that could not be read. It refuses unknown names, because a misspelled name would turn an
// unreadable field into a NULL.
func (a *advance[R, P]) unread(s *Seen[R]) (unread columns, err error) {
	if len(s.Unread) > 0 && a.fields == nil {
		a.fields = a.table.Fields()
	}
	for _, name := range s.Unread {
		i := a.fields.index(name)
		if i < 0 {
			return nil, fmt.Errorf("%q is not a column that can be unreadable", name)
		}
		unread = append(unread, a.fields[i])
	}
	return unread, nil
}

// carry returns the row with other values in its unread columns. These are the values of the row source, or NULL if
// source is nil.
func (a *advance[R, P]) carry(row, source *R, unread columns) *R {
	if len(unread) == 0 {
		return row
	}
	carried := *row
	if source == nil {
		source = new(R)
	}
	for _, c := range unread {
		a.table.CopyColumn(&carried, source, c)
	}
	return &carried
}

// reading is the result of comparing an entity as it was read with its current version.
type reading struct {
	changed  []string // tracked columns whose values differ, sorted
	never    []string // tracked columns that no run has been able to read yet, sorted
	filled   bool     // whether a tracked column was read for the first time
	first    bool     // whether such a column is as old as the table, not added to the table later
	full     bool     // whether every tracked column was read
	confirms bool     // whether all values of the version are confirmed
}

func (a *advance[R, P]) difference(e *entity[R], row *R, unread columns) reading {
	r := reading{full: true}
	for _, c := range a.tracked {
		never := len(e.never) > 0 && slices.Contains(e.never, c.Name)
		switch {
		case unread.has(c.Name):
			r.full = false
			if never {
				r.never = append(r.never, c.Name)
			}
		case never:
			r.filled = true
			r.first = r.first || c.Since == a.table.Since
		case !a.table.ColumnEqual(row, e.current, c):
			r.changed = append(r.changed, c.Name)
		}
	}
	// If no column had ever been read, all values of the version are from this reading.
	r.confirms = r.full || (r.filled && len(e.never) == len(a.tracked))
	return r
}

// state returns the read state of a version, given the tracked columns that have never been read.
func (a *advance[R, P]) state(never []string) string {
	switch len(never) {
	case 0:
		return schema.ReadOK
	case len(a.tracked):
		return schema.ReadUnreadable
	}
	return schema.ReadPartial
}
