package main

import (
	"strings"
	"testing"
)

// TestViews_ExplainEveryColumn holds that nobody who opens the warehouse finds a
// view or a column without a word on it.
func TestViews_ExplainEveryColumn(t *testing.T) {
	w := newSyncedWorld(t)
	const ours = "database_name = current_database() AND schema_name IN ('main', 'mart')"
	views := w.lines("SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal AND " + ours)
	if len(views) < 20 {
		t.Fatalf("the warehouse has %d views: %v", len(views), views)
	}
	for _, v := range w.lines("SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal AND " +
		"coalesce(trim(comment), '') = '' AND " + ours) {
		t.Errorf("%s has no comment", v)
	}
	for _, c := range w.lines("SELECT schema_name || '.' || table_name || '.' || column_name FROM duckdb_columns() " +
		"WHERE NOT internal AND coalesce(trim(comment), '') = '' AND " + ours) {
		t.Errorf("%s has no comment", c)
	}
}

// lines are the rows of an answer.
func (w *world) lines(q string) []string {
	w.t.Helper()
	if got := w.ask(q); got != "" {
		return strings.Split(got, "\n")
	}
	return nil
}
