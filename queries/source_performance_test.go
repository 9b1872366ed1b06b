package queries_test

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestSourcePerformance_TheMacroAnswersAsTheView compares the macro and the view: the view can't call the macro, so the
// sums are computed in both.
func TestSourcePerformance_TheMacroAnswersAsTheView(t *testing.T) {
	w := newWarehouse(t)
	c := readCase(t, filepath.Join("..", "testdata", "queries", "source_performance", "known_days_of_two_accounts"))
	defer w.exec(t, "ROLLBACK")
	w.fill(t, c, "mart.source_performance, main.source_performance")
	columns := cells(w.columnsOf(t, "mart.source_performance")...)
	view := w.ask(t, "SELECT * FROM mart.source_performance", nil, columns)
	macro := w.ask(t, "SELECT * FROM main.source_performance(DATE '2026-10-21', DATE '2026-11-19')", nil, columns)
	slices.Sort(view)
	slices.Sort(macro)
	if len(view) == 0 || !slices.Equal(view, macro) {
		t.Errorf("the view gives\n%q\nthe macro\n%q", view, macro)
	}
	if got := w.columnsOf(t, "main.source_performance('2026-10-21', '2026-11-19')"); !slices.Equal(cells(got...),
		columns) {
		t.Errorf("the macro has the columns %v, the view %v", got, columns)
	}
}
