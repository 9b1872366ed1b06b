package main

import (
	"path/filepath"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/load"
)

// TestReset: reset moves an account aside only if its name is given. Another account in the store stays unchanged, and
// the next sync starts again from scratch.
func TestReset(t *testing.T) {
	w := twoAccounts(t).synced()
	w.env["ACCOUNT"], w.env["API_KEY"], w.env["REPORT_USER"] = "beta", adsim.DefaultKey+"2", secondUser
	w.must("sync")
	const stored = "SELECT account_id, count(*), sum(spend) FROM spend_daily GROUP BY ALL ORDER BY 1"
	both := w.ask(stored)

	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "--account NAME"},
		{[]string{"--account", ""}, "--account is empty"},
		{[]string{"--account", "gamma"}, "gamma"},
	} {
		if code, _, last := w.run(append([]string{"repair", "reset"}, c.args...)...); code != exit.Usage ||
			!strings.Contains(last, c.says) {
			t.Errorf("%q: exit %d: %s", c.args, code, last)
		}
	}
	held, err := load.Open(t.Context(), w.dir, "beta", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if code, _, last := w.run("repair", "reset", "--account", "beta"); code != exit.Locked {
		t.Errorf("while a run holds the lock: exit %d: %s", code, last)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if got := w.ask(stored); got != both {
		t.Errorf("something changed:\n%s\n%s", both, got)
	}

	w.must("repair", "reset", "--account", "beta")
	w.must("verify")
	if got := w.ask("SELECT DISTINCT account_id FROM spend_daily"); got != "acme" {
		t.Errorf("rows of %q are stored", got)
	}
	days, err := filepath.Glob(filepath.Join(w.dir, "aside", "beta-*", "parquet", "spend_daily", "*", "*",
		"data.parquet"))
	if err != nil || len(days) != 33 {
		t.Errorf("%d days are aside: %v", len(days), err)
	}
	if code, _, last := w.run("repair", "reset", "--account", "beta"); code != exit.Usage {
		t.Errorf("again: exit %d: %s", code, last)
	}
	w.must("status")
	w.must("sync")
	if got := w.ask(stored); got != both {
		t.Errorf("after the next sync:\n%s\n%s", both, got)
	}
}
