package history

import (
	"fmt"
	"slices"

	"spendsync/schema"
)

// unread are the columns that could not be read. An unknown name is refused: a
// misspelt one would make of an unreadable field a readable NULL.
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

// carry returns a row in which unread columns have their last known value, or NULL where there is none.
func (a *advance[R, P]) carry(row, known *R, unread columns) *R {
	if len(unread) == 0 {
		return row
	}
	carried := *row
	if known == nil {
		known = new(R)
	}
	for _, c := range unread {
		a.table.CopyColumn(&carried, known, c)
	}
	return &carried
}

// reading is the result of comparing one read of an entity with its known values.
type reading struct {
	changed  []string // tracked columns known before and different now, sorted
	never    []string // tracked columns still never readable, sorted
	filled   bool     // a tracked column was readable for the first time
	first    bool     // one of these has existed as long as the table
	full     bool     // every tracked column was readable
	confirms bool     // the whole version is confirmed by it
}

func (a *advance[R, P]) difference(th *entity[R], row *R, unread columns) reading {
	r := reading{full: true}
	for _, c := range a.tracked {
		never := len(th.never) > 0 && slices.Contains(th.never, c.Name)
		switch {
		case unread.has(c.Name):
			r.full = false
			if never {
				r.never = append(r.never, c.Name)
			}
		case never:
			r.filled = true
			r.first = r.first || c.Since == a.table.Since
		case !a.table.ColumnEqual(row, th.current, c):
			r.changed = append(r.changed, c.Name)
		}
	}
	// If nothing was known before, all known values have just been read.
	r.confirms = r.full || (r.filled && len(th.never) == len(a.tracked))
	return r
}

// state returns the read state of a version. never are the columns that have never been readable.
func (a *advance[R, P]) state(never []string) string {
	switch len(never) {
	case 0:
		return schema.ReadOK
	case len(a.tracked):
		return schema.ReadUnreadable
	}
	return schema.ReadPartial
}
