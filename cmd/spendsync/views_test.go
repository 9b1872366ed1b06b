package main

import (
	"regexp"
	"strings"
	"testing"

	"spendsync/cmd/spendsync/dictionary"
)

// TestViews_ExplainEveryColumn checks that every table, view and column of the warehouse has a comment.
func TestViews_ExplainEveryColumn(t *testing.T) {
	w := newWorld(t).withMarts().synced()
	const ours = "database_name = current_database() AND schema_name IN ('main', 'mart')"
	const all = "(SELECT schema_name || '.' || view_name AS name, comment FROM duckdb_views() WHERE NOT internal AND " +
		ours + " UNION ALL SELECT schema_name || '.' || table_name, comment FROM duckdb_tables() WHERE " + ours + ")"
	if names := w.lines("SELECT name FROM " + all + " WHERE name LIKE 'mart.%'"); len(names) != 17 {
		t.Fatalf("the warehouse has %d marts: %v", len(names), names)
	}
	for _, name := range w.lines("SELECT name FROM " + all + " WHERE coalesce(trim(comment), '') = ''") {
		t.Errorf("%s has no comment", name)
	}
	for _, c := range w.lines("SELECT schema_name || '.' || table_name || '.' || column_name FROM duckdb_columns() " +
		"WHERE NOT internal AND coalesce(trim(comment), '') = '' AND " + ours) {
		t.Errorf("%s has no comment", c)
	}
}

// TestTables_AreEachListedOnce checks that each table and view is listed once, even if it belongs to no group yet, and
// that nothing else is listed.
func TestTables_AreEachListedOnce(t *testing.T) {
	list, listed := dictionary.List(200), 0
	for _, name := range dictionary.Names() {
		n := strings.Count(list, "\n  "+strings.TrimPrefix(name, "main.")+" ")
		if listed += n; n != 1 && !strings.HasPrefix(name, "int.") {
			t.Errorf("%s is listed %d times", name, n)
		}
	}
	if n := len(regexp.MustCompile(`(?m)^  \S`).FindAllString(list, -1)); n != listed {
		t.Errorf("%d lines, and %d tables and views are listed", n, listed)
	}
}

// lines returns the rows of an answer.
func (w *world) lines(q string) []string {
	w.t.Helper()
	if got := w.ask(q); got != "" {
		return strings.Split(got, "\n")
	}
	return nil
}

// TestTables_DescribeMacros: each macro is described with its columns, and with a call that works without a change.
func TestTables_DescribeMacros(t *testing.T) {
	w, n := newWorld(t).withMarts().synced(), 0
	for _, v := range dictionary.Views() {
		if v.Parameters == "" {
			continue
		}
		n++
		docs, err := dictionary.Describe(t.Context(), []string{"main." + v.Name})
		if err != nil {
			t.Fatal(err)
		}
		_, call, ok := strings.Cut(docs[0].Doc, " It is a macro of "+v.Parameters+"; call it like this: ")
		if !ok || len(docs[0].Columns) < 3 {
			t.Errorf("%s: %d columns: %s", v.Name, len(docs[0].Columns), docs[0].Doc)
			continue
		}
		w.ask("SELECT count(*) " + strings.TrimSuffix(call, "."))
	}
	if n != 7 {
		t.Errorf("%d macros", n)
	}
}
