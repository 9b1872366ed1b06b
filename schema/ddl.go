package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Quote quotes an identifier for SQL, whatever it contains.
func Quote(identifier string) string {
	return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"`
}

// QuoteText returns a text as an SQL literal, whatever it contains. A NUL character would end the statement, so a text
// with NUL becomes an expression with chr(0).
func QuoteText(text string) string {
	quoted := `'` + strings.ReplaceAll(text, `'`, `''`) + `'`
	if strings.Contains(text, "\x00") {
		quoted = `(` + strings.ReplaceAll(quoted, "\x00", `' || chr(0) || '`) + `)`
	}
	return quoted
}

// QuoteTexts returns texts as a list of SQL literals, separated by commas.
func QuoteTexts(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = QuoteText(text)
	}
	return strings.Join(quoted, ", ")
}

// SQLName returns the table's quoted name with its schema.
func (t *Table) SQLName() string { return Quote(t.Schema) + "." + Quote(t.Name) }

// SQLColumns returns the quoted names of the table's columns, separated by commas, except the given names.
func (t *Table) SQLColumns(without ...string) string {
	return sqlList(slices.DeleteFunc(t.ColumnNames(), func(n string) bool { return slices.Contains(without, n) }))
}

func sqlList(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = Quote(n)
	}
	return strings.Join(quoted, ", ")
}

// CommentSQL returns the statement that sets the table's comment in DuckDB.
func (t *Table) CommentSQL() string {
	return fmt.Sprintf("COMMENT ON TABLE %s IS %s", t.SQLName(), QuoteText(t.Doc))
}

// CreateSQL returns the statements that create the table in DuckDB with its comments. The table has no primary key:
// with DuckDB's index for it, loading would take four times as long, and the file would be twice as large. Keys are
// proven unique before rows are stored.
func (t *Table) CreateSQL() []string {
	var cols []string
	for _, c := range t.Columns {
		column := "  " + Quote(c.Name) + " " + c.DuckDB()
		if !c.Nullable {
			column += " NOT NULL"
		}
		if c.compress != "" {
			column += " USING COMPRESSION " + c.compress
		}
		cols = append(cols, column)
	}
	out := []string{
		fmt.Sprintf("CREATE TABLE %s (\n%s\n)", t.SQLName(), strings.Join(cols, ",\n")),
		t.CommentSQL(),
	}
	for _, c := range t.Columns {
		out = append(out, fmt.Sprintf("COMMENT ON COLUMN %s.%s IS %s", t.SQLName(), Quote(c.Name), QuoteText(c.Doc)))
	}
	return out
}
