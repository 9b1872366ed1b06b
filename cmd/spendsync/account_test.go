package main

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"spendsync/cmd/internal/exit"
	"spendsync/schema/schematest"
)

// TestAccount_ShowsEveryAccountOrTheOneAskedFor: with --account an answer is that of a warehouse without the other
// accounts, whether a question, a view, a macro or SQL asks.
func TestAccount_ShowsEveryAccountOrTheOneAskedFor(t *testing.T) {
	schematest.Long(t)
	w := newSyncedWorld(t)
	w.env["ACCOUNT"] = "beta"
	w.must("sync")
	for _, question := range [][]string{
		{"sources_to_block", "--param", "rows=10000"}, {"mart.campaign_day"}, {"main.campaign"},
		{"campaigns_asof", "--param", "instant=2030-01-01 00:00:00+00"},
		{"-c", "SELECT account_id, count(*) AS n, sum(spend) AS spend FROM spend_daily GROUP BY ALL ORDER BY ALL"},
		{"-c", "SELECT account_id, count(*) AS n FROM mart.creative_spend GROUP BY ALL ORDER BY ALL"},
	} {
		args := append([]string{"query", "--format", "csv"}, question...)
		both := w.must(args...)
		want := ""
		for line := range strings.Lines(both) {
			if !strings.HasPrefix(line, "beta,") {
				want += line
			}
		}
		if got := w.must(append(args, "--account", "acme")...); got != want || want == both {
			t.Errorf("%q of acme:\n%s\nwant\n%s\nof both\n%s", question, got, want, both)
		}
	}
	if got := regexp.MustCompile(`<h1>[^\n]*</h1>`).FindAllString(w.report(), -1); len(got) != 2 ||
		!strings.Contains(got[0], "acme") || !strings.Contains(got[1], "beta") {
		t.Errorf("headings %q", got)
	}
	if got := strings.Count(w.report("--account", "beta"), "<h1>"); got != 1 {
		t.Errorf("%d headings for one account", got)
	}
	if got := w.must("status", "--account", "acme"); strings.Contains(got, "beta") ||
		!strings.Contains(w.must("status"), "beta") {
		t.Errorf("status of acme:\n%s", got)
	}
	for _, args := range [][]string{{"query", "last_week"}, {"query", "-c", "SELECT 1"}, {"report"}, {"status"},
		{"mcp"}} {
		code, out, last := w.run(append(args, "--account", "nobody")...)
		if code != exit.Usage || out != "" || !strings.Contains(last, "the warehouse has acme, beta") {
			t.Errorf("%q of nobody: exit %d, %q, %q", args, code, out, last)
		}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "assistant", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: w.start(context.WithoutCancel(t.Context()), "mcp", "--account", "acme")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	s := &assistantSession{t, session}
	for tool, arguments := range map[string]map[string]any{
		"ask": {"name": "mart.campaign_performance"}, "coverage": {}, "sql": {"sql": "FROM spend_daily"},
	} {
		a := s.answer(tool, arguments)
		for _, row := range a.Rows {
			if !strings.Contains(string(row), `"account_id":"acme"`) {
				t.Errorf("%s of acme has the row %s", tool, row)
			}
		}
		if len(a.Rows) == 0 {
			t.Errorf("%s of acme has no row", tool)
		}
	}
}
