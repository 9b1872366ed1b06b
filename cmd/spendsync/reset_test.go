package main

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/load"
	"spendsync/schema/schematest"
)

// TestReset: the account's name alone moves it aside; another account in the store stays unchanged, and
// the next sync starts again.
func TestReset(t *testing.T) {
	w := twoAccounts(t)
	w.must("sync")
	w.env["ACCOUNT"], w.env["API_KEY"], w.env["REPORT_USER"] = "beta", adsim.DefaultKey+"2", secondUser
	w.must("sync")
	const stored = "SELECT account_id, count(*), sum(spend) FROM spend_daily GROUP BY ALL ORDER BY 1"
	both := w.ask(stored)

	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "--account beta"}, // nobody types a name here
		{[]string{"--account", "acme"}, "nothing is changed"},
		{[]string{"--account", ""}, "nothing is changed"},
	} {
		if code, _, last := w.run(append([]string{"reset-account"}, c.args...)...); code != exit.Usage ||
			!strings.Contains(last, c.says) {
			t.Errorf("%q: exit %d: %s", c.args, code, last)
		}
	}
	held, err := load.Open(t.Context(), w.dir, "beta", load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if code, _, last := w.run("reset-account", "--account", "beta"); code != exit.Locked {
		t.Errorf("while a run holds the lock: exit %d: %s", code, last)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if got := w.ask(stored); got != both {
		t.Errorf("something changed:\n%s\n%s", both, got)
	}

	w.must("reset-account", "--account", "beta")
	w.must("verify")
	if got := w.ask("SELECT DISTINCT account_id FROM spend_daily"); got != "acme" {
		t.Errorf("rows of %q are stored", got)
	}
	days, err := filepath.Glob(filepath.Join(w.dir, "aside", "beta-*", "parquet", "spend_daily", "*", "*",
		"data.parquet"))
	if err != nil || len(days) != 33 {
		t.Errorf("%d days are aside: %v", len(days), err)
	}
	if code, _, last := w.run("reset-account", "--account", "beta"); code != exit.Usage {
		t.Errorf("again: exit %d: %s", code, last)
	}
	w.must("status")
	w.must("sync")
	if got := w.ask(stored); got != both {
		t.Errorf("after the next sync:\n%s\n%s", both, got)
	}
	w.must("verify")
}

// TestReset_LastAccount: what is left is a store in which nothing is published of any account.
func TestReset_LastAccount(t *testing.T) {
	schematest.Long(t)
	w := newSyncedWorld(t)
	w.must("reset-account", "--account", "acme", "--json")
	w.must("verify")
	w.must("status")
	w.must("plan")
	w.must("query", "last_week")
	w.must("sync")
	w.checkTruth()
}

// TestReset_ReadsTheName: the line that is typed counts without the blanks around it.
func TestReset_ReadsTheName(t *testing.T) {
	for text, want := range map[string]string{"acme\n": "acme", " acme \r\n": "acme", "\n": "", "acme": "acme",
		"yes\nacme\n": "yes"} {
		if got, err := readName(t.Context(), iotest.OneByteReader(strings.NewReader(text))); got != want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
