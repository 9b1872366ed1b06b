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
	Nothing     MadeFrom = iota // none: only a backup has the rows
	Replies                     // the stored replies of the report
	OtherTables                 // other tables, the manifest, the ledger
)

// From sets the source from which the table's rows can be rebuilt.
func From(m MadeFrom) Trait { return func(t *Table) { t.MadeFrom = m } }

// Since sets the version of the tables that added the table. A table without this trait is as old as [Oldest].
func Since(version int) Trait { return func(t *Table) { t.Since = version } }

// DroppedColumn is a column that only files of earlier versions have. Its field ID is never reused.
type DroppedColumn struct {
	In      int // the column is gone since this version of the tables
	Name    string
	FieldID int
}

// Dropped lists the columns that earlier versions of the table had.
func Dropped(columns ...DroppedColumn) Trait { return func(t *Table) { t.Dropped = columns } }

// Large marks the table that has by far the most rows. Its files are written with larger pages, and only a few files at
// a time.
func Large() Trait { return func(t *Table) { t.Large = true } }

// DeletedAfter sets how many consecutive complete listings must lack an entity before a version marks it as deleted.
func DeletedAfter(absences int) Trait { return func(t *Table) { t.Patience = absences } }

// Stubbed marks a table of versions in which an entity that is known only from the report has a version, too. Such a
// version has the entity's key, but no settings.
func Stubbed() Trait { return func(t *Table) { t.Stubbed = true } }

// AnswerOf marks a table that exists only as Parquet files. They hold the rows of a view in schema mart, or of a table
// of schema ops (then its name includes the schema). DuckDB has no table of this name.
func AnswerOf(view string) Trait {
	return func(t *Table) { t.View, t.MadeFrom = view, OtherTables }
}

// SumsOf sets the function that returns the query for the rows of a [Summed] table that meet a condition.
func SumsOf(query func(where string) string) Trait {
	return func(t *Table) { t.SumsSQL = query }
}

// InHistory is the role of a column in a table of versions.
type InHistory int

// The roles of a column in a table of versions.
const (
	// Tracked: a changed value starts a new version.
	Tracked InHistory = iota
	// Untracked: a changed value starts no version. It is stored only when the row of the version is written for
	// another reason.
	Untracked
	// Refreshed: a changed value starts no version, but replaces the value in the current version.
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

// FilesVersion returns the version, see [Version], in which the columns of this table last changed. The table's Parquet
// files state that version and not the newest one. So equal rows give equal files until the columns change.
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

// HasColumnsOf reports whether the names are those of all columns, in order, of a file written by the given version of
// the tables. Columns that a later version dropped may be among the names or not.
func (t *Table) HasColumnsOf(version int, names []string) bool {
	was := t.AsOf(version)
	return was != nil && slices.Equal(was.ColumnNames(), slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(t.Dropped, func(c DroppedColumn) bool { return c.In > version && c.Name == name })
	}))
}

// AsOf returns the table as of an older version, without columns added since; nil if the table itself was added later.
// Columns dropped since are not restored.
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

// Only returns a copy of the table that has only the columns for which the function returns true.
func (t *Table) Only(has func(Column) bool) *Table {
	some := *t
	some.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return !has(c) })
	some.deriveSchemas()
	return &some
}

// ColumnsThatAre returns the columns with the given role in a table of versions, in the table's order.
func (t *Table) ColumnsThatAre(role InHistory) []Column {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return c.History != role })
}

// TablesAsOf returns the tables as they were defined in an older version, see [Version] and [Table.AsOf]. Tables that
// did not exist yet are left out.
func TablesAsOf(version int) (tables []*Table) {
	for _, t := range Tables {
		if was := t.AsOf(version); was != nil {
			tables = append(tables, was)
		}
	}
	return tables
}

// Fields returns the columns with values that are read from the service, in the table's order. It leaves out the key,
// the columns of the embedded [Frame], and the columns that spendsync itself sets (their names begin with _).
func (t *Table) Fields() []Column {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool {
		return c.Key || c.isEmbedded() || strings.HasPrefix(c.Name, "_")
	})
}

func (c Column) isEmbedded() bool { return len(c.index) > 1 }

// Named returns the table, mart or copy with the given full name; nil: there is none.
func Named(name string) *Table {
	for _, t := range Documented() {
		if t.FullName() == name {
			return t
		}
	}
	return nil
}
