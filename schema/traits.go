package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Trait says something about a table that its columns do not show.
type Trait func(*Table)

// MadeFrom says what the rows of a table can be made from again when its files are lost.
type MadeFrom int

// What the rows of a table can be made from.
const (
	Nothing     MadeFrom = iota // they are history: nothing but a backup has them
	Replies                     // the stored replies of the report
	OtherTables                 // other tables, the manifest, the ledger
)

// From says what the table's rows can be made from again.
func From(m MadeFrom) Trait { return func(t *Table) { t.MadeFrom = m } }

// Since says that the table came in a version after the first.
func Since(version int) Trait { return func(t *Table) { t.Since = version } }

// Large says that the table has by far the most rows: its files are written with larger
// pages, and few at a time.
func Large() Trait { return func(t *Table) { t.Large = true } }

// DeletedAfter says how many complete listings in a row must lack an entity for a version
// to say that it is deleted.
func DeletedAfter(absences int) Trait { return func(t *Table) { t.Patience = absences } }

// Stubbed says that an entity which only the report knows has a version, too, which says
// nothing of it but its key.
func Stubbed() Trait { return func(t *Table) { t.Stubbed = true } }

// AnswerOf says that the table's files keep the answer of a view in schema mart, or the rows
// of a table of schema ops, named with its schema. Such a table is in no DuckDB file.
func AnswerOf(view string) Trait {
	return func(t *Table) { t.View, t.MadeFrom = view, OtherTables }
}

// SumsOf gives the query for the rows of a [Summed] table that a condition selects.
func SumsOf(query func(where string) string) Trait {
	return func(t *Table) { t.SumsSQL = query }
}

// InHistory says what a column is in a table of versions.
type InHistory int

// What a column is in a table of versions.
const (
	// Tracked: another value makes a version.
	Tracked InHistory = iota
	// Untracked: the value is the one of when the version was last written.
	Untracked
	// Refreshed is Untracked, but a newer value is written into the current version.
	Refreshed
	// Volatile is Untracked, and moves on with every run: DuckDB has it as of the last run,
	// Parquet as of the last change of the file, which would otherwise never stay the same.
	Volatile
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
	case "volatile":
		return Volatile, nil
	}
	return 0, fmt.Errorf("column %s: history %q", c.Name, tag)
}

// FilesVersion is the version in which the columns of the table were last altered, which
// its files name: equal rows give an equal file for as long as it stands.
func (t *Table) FilesVersion() int {
	version := t.Since
	for _, c := range t.Columns {
		version = max(version, c.Since)
	}
	return version
}

// AsOf is the table as it was in a version, without the columns that came later; nil if
// it came later itself.
func (t *Table) AsOf(version int) *Table {
	switch {
	case version >= t.FilesVersion():
		return t
	case version < t.Since:
		return nil
	}
	return t.Only(func(c Column) bool { return c.Since <= version })
}

// Only is the table with some of its columns.
func (t *Table) Only(has func(Column) bool) *Table {
	some := *t
	some.Columns = slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return !has(c) })
	some.rows = nil // the row struct has all columns
	some.deriveSchemas()
	return &some
}

// ColumnsThatAre are the columns with that part in a table of versions, in their order.
func (t *Table) ColumnsThatAre(part InHistory) []Column {
	return slices.DeleteFunc(slices.Clone(t.Columns), func(c Column) bool { return c.History != part })
}

// TablesAsOf are the tables of a version, as they were in it.
func TablesAsOf(version int) (tables []*Table) {
	for _, t := range Tables {
		if was := t.AsOf(version); was != nil {
			tables = append(tables, was)
		}
	}
	return tables
}

// FieldsSQL is what DuckDB's read_parquet has to be given, as its schema, to read files of
// the table from before it gained columns: they are NULL there. It is empty for a table
// that never did.
func (t *Table) FieldsSQL() string {
	if t.FilesVersion() == t.Since {
		return ""
	}
	var fields []string
	for _, c := range t.Columns {
		fields = append(fields, fmt.Sprintf("%d: {name: %s, type: %s, default_value: NULL}", c.FieldID,
			QuoteText(c.Name), QuoteText(c.DuckDB())))
	}
	return "MAP {" + strings.Join(fields, ", ") + "}"
}

// Fields are the columns of a table of versions that hold what was read, in their order:
// all but the key, the frame, and what spendsync notes.
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
