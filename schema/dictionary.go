package schema

import (
	"fmt"
	"strings"
)

// TableDoc describes a table or a view in the data dictionary.
type TableDoc struct {
	Name    string      `json:"name"`
	Kind    string      `json:"kind,omitempty"` // KindView, KindMacro, or empty: a table
	Doc     string      `json:"doc"`
	Files   string      `json:"files,omitempty"` // path pattern of its Parquet files below the data directory
	Columns []ColumnDoc `json:"columns"`
}

// ColumnDoc describes a column in the data dictionary.
type ColumnDoc struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Nullable bool   `json:"nullable"`
	Key      bool   `json:"key"`
	FieldID  int    `json:"field_id"`
	Doc      string `json:"doc"`
}

// KindView marks a view in the dictionary. Each query computes the rows of a view anew, and any of its columns may be
// NULL.
const KindView = "view"

// KindMacro marks a table macro in the dictionary: a function with parameters that returns rows.
const KindMacro = "macro"

// FilePattern returns the path pattern of the table's Parquet files below the data directory, for example
// parquet/calendar/account=<account>/data.parquet; empty: the table has no files.
func (t *Table) FilePattern() string {
	switch {
	case !t.HasFiles():
		return ""
	case t.Partition == ByAccount:
		return "parquet/" + t.Name + "/account=<account>/data.parquet"
	}
	return fmt.Sprintf("parquet/%s/account=<account>/%s=<YYYY-MM-DD>/data.parquet", t.Name, t.Partition)
}

// Dictionary describes tables as data.
func Dictionary(tables []*Table) []TableDoc {
	var docs []TableDoc
	for _, t := range tables {
		d := TableDoc{Name: t.FullName(), Doc: t.Doc, Files: t.FilePattern()}
		for _, c := range t.Columns {
			d.Columns = append(d.Columns, ColumnDoc{c.Name, c.DuckDB(), c.Nullable, c.Key, c.FieldID, c.Doc})
		}
		docs = append(docs, d)
	}
	return docs
}

// DictionaryText describes tables for people. Key columns are marked with a star.
func DictionaryText(docs []TableDoc) string {
	var b strings.Builder
	for i, t := range docs {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n  %s\n", t.Name, t.Doc)
		if t.Files != "" {
			fmt.Fprintf(&b, "  %s\n", t.Files)
		}
		b.WriteByte('\n')
		for _, c := range t.Columns {
			star, null := " ", ""
			if c.Key {
				star = "*"
			}
			if c.Nullable && t.Kind == "" {
				null = ", may be NULL"
			}
			fmt.Fprintf(&b, "  %s %-24s %s%s\n      %s\n", star, c.Name, shortType(c.Type), null, c.Doc)
		}
	}
	return b.String()
}

func shortType(t string) string {
	if t == "TIMESTAMP WITH TIME ZONE" {
		return "TIMESTAMPTZ"
	}
	return t
}
