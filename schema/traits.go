package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Trait is a property of a table that its columns do not show.
type Trait func(*Table)

// MadeFrom is the source from which a table's rows can be rebuilt if its files are lost.
type MadeFrom int

// The sources from which a table's rows can be rebuilt.
const (
	Nothing     MadeFrom = iota // they are history: nothing but a backup has them
	Replies                     // the stored replies of the report
	OtherTables                 // other tables, the manifest, the ledger
)

// From sets the source from which the table's rows can be rebuilt.
func From(m MadeFrom) Trait { return func(t *Table) { t.MadeFrom = m } }

// Since sets the version that added the table, if not the first.
func Since(version int) Trait { return func(t *Table) { t.Since = version } }

// DroppedColumn is a column that files of earlier versions have. Its field id is never given to another.
type DroppedColumn struct {
	In      int // version of the tables that dropped it
	Name    string
	FieldID int
}

// Dropped names the columns that the table has lost.
func Dropped(columns ...DroppedColumn) Trait { return func(t *Table) { t.Dropped = columns } }

// Large marks the table with by far the most rows: its files are written with larger pages, and few
// at a time.
func Large() Trait { return func(t *Table) { t.Large = true } }

// Grouped sets the group of a row. The row groups of the table's files end with a group, so that a change of one group
// rewrites one row group.
func Grouped[R any](group func(*R) string) Trait { return func(t *Table) { t.group = group } }

// Group returns the group of a row of a [Grouped] table; nil: the table has none.
func (t TableOf[R]) Group() func(*R) string {
	group, _ := t.group.(func(*R) string)
	return group
}

// DeletedAfter sets how many complete listings in a row must lack an entity before a version marks
// it as deleted.
func DeletedAfter(absences int) Trait { return func(t *Table) { t.Patience = absences } }

// Stubbed gives an entity that only the report knows a version of its own, with nothing but its
// key.
func Stubbed() Trait { return func(t *Table) { t.Stubbed = true } }

// AnswerOf marks a table whose files keep the rows of a view in schema mart, or of a table of
// schema ops, named with its schema. Such a table is in no DuckDB file.
func AnswerOf(view string) Trait {
	return func(t *Table) { t.View, t.MadeFrom = view, OtherTables }
}

// SumsOf sets the query for the rows of a [Summed] table that meet a condition.
func SumsOf(query func(where string) string) Trait {
	return func(t *Table) { t.SumsSQL = query }
}

// InHistory is the role of a column in a table of versions.
type InHistory int

// The roles of a column in a table of versions.
const (
	// Tracked: another value makes a version.
	Tracked InHistory = iota
	// Untracked: the value is the one of when the version was last written.
	Untracked
	// Refreshed is Untracked, but a newer value is written into the current version.
	Refreshed
)

func inHistory(tag string, c Column) (InHistory, error) {
	switch tag {
	case "":
		if c.Key || strings.HasPrefix(c.Name, "_") {
			return Untracked, nil
		}
		return Tracked, nil
	case "no":
		return Untracked, nil
	case "refreshed":
		return Refreshed, nil
	}
	return 0, fmt.Errorf("column %s: history %q", c.Name, tag)
}

// FilesVersion returns the version that last altered the columns of the table. Its files name that
// version: until it changes, equal rows give an equal file.
func (t *Table) FilesVersion() int {
	version := t.Since
	for _, c := range t.Columns {
		version = max(version, c.Since)
	}
	for _, c := range t.Dropped {
		version = max(version, c.In)
	}
	return version
}

// HasColumnsOf reports whether the names are the columns of a file that a version of the tables wrote.
func (t *Table) HasColumnsOf(version int, names []string) bool {
	was := t.AsOf(version)
	return was != nil && slices.Equal(was.ColumnNames(), slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(t.Dropped, func(c DroppedColumn) bool { return c.In > version && c.Name == name })
	}))
}

// AsOf returns the table of an older version, without the columns added later and without those dropped since; nil if
// the table itself was added later.
func (t *Table) AsOf(version int) *Table {
	switch {
	case version >= t.FilesVersion():
		return t
	case version < t.Since:
		return nil
	}
	was := t.Only(func(c Column) bool { return c.Since <= version })
	was.Dropped = slices.DeleteFunc(slices.Clone(t.Dropped), func(c DroppedColumn) bool { return c.In > version })
	return was
}

// Only is the table with some of its columns.
func (t *Table) Only(has func(Column) bool) *Table {
	some := *t
	some.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return !has(c) })
	some.deriveSchemas()
	return &some
}

// ColumnsThatAre are the columns with that part in a table of versions, in their order.
func (t *Table) ColumnsThatAre(part InHistory) []Column {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return c.History != part })
}

// TablesAsOf returns the tables of an older version, each with its columns of that version.
func TablesAsOf(version int) (tables []*Table) {
	for _, t := range Tables {
		if was := t.AsOf(version); was != nil {
			tables = append(tables, was)
		}
	}
	return tables
}

// Fields returns the columns of a table of versions that hold values read from the service, in
// their order: all but the key, the frame, and spendsync's own notes.
func (t *Table) Fields() []Column {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool {
		return c.Key || c.isEmbedded() || strings.HasPrefix(c.Name, "_")
	})
}

func (c Column) isEmbedded() bool { return len(c.index) > 1 }

// Named is the table that has a name, with its schema unless that is main; nil if there
// is none.
func Named(name string) *Table {
	for _, t := range Documented() {
		if t.FullName() == name {
			return t
		}
	}
	return nil
}
