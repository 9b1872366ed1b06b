package job_test

import (
	"strings"
	"testing"
)

// TestRefusedRows_CostThemselves: a row that cannot be stored makes its day partial and is
// kept aside with its JSON; a day that is proven stands, and a whole read heals the rest.
func TestRefusedRows_CostThemselves(t *testing.T) {
	t.Parallel()
	w := newQuirkWorld(t, "row-spend-null")
	w.page = 20
	first := w.sync()
	if first.Run.ExitCode != 4 || !strings.Contains(first.Run.Message.V, "cannot be stored, see ops.refused_row") {
		t.Fatalf("exit %d: %s", first.Run.ExitCode, first.Run.Message.V)
	}
	const refused = `SELECT count(*) >= 33, min(field), bool_and(raw LIKE '{%"total_spend":null%}'),
		count(DISTINCT report_date) FROM ops.refused_row`
	if got := w.lines(refused); got != "true|total_spend|true|33" {
		t.Errorf("ops.refused_row: %s", got)
	}
	if err := w.service.SetQuirks(); err != nil {
		t.Fatal(err)
	}
	if healed := w.sync(); healed.Run.ExitCode != 0 || days(healed) != allMatched || w.numbers() != "" {
		t.Errorf("exit %d, %s, %s: %s", healed.Run.ExitCode, days(healed), w.numbers(), healed.Run.Message.V)
	}
	if err := w.service.SetQuirks("row-spend-null"); err != nil {
		t.Fatal(err)
	}
	again := w.sync()
	if again.Run.ExitCode != 4 || !strings.Contains(again.Run.Message.V, "the day that is proven stands") {
		t.Errorf("exit %d: %s", again.Run.ExitCode, again.Run.Message.V)
	}
	if got := days(again); !strings.Contains(got, "complete/matched 32") {
		t.Errorf("proven days became %s", got)
	}
}
