package main

import (
	"fmt"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"spendsync/cmd/internal/exit"
)

// TestExitCodes_AreTheContract checks that the numbers of the exit codes do not change.
func TestExitCodes_AreTheContract(t *testing.T) {
	var got []int
	for _, e := range exit.Codes {
		got = append(got, e.Code)
		if e.Means == "" || e.Safe == "" || e.Do == "" {
			t.Errorf("exit %d lacks a text", e.Code)
		}
	}
	if s := fmt.Sprint(got); s != "[0 1 2 3 4 5 6 7 8 9 10 11 143]" {
		t.Errorf("codes = %s", s)
	}
}

// TestUsage_IsAnsweredAsText: wrong usage is reported as text, for the person who wrote the command, unless LOG_FORMAT
// is json.
func TestUsage_IsAnsweredAsText(t *testing.T) {
	w := newWorld(t, small)
	for _, args := range [][]string{{"pull", "--generation", "-1", "file:///nowhere", "x"}, {"push", "./backup"},
		{"query", "--format", "yaml", "-c", "SELECT 1"}} {
		code, _, stderr := w.execute(t.Context(), args)
		if code != exit.Usage || !strings.HasPrefix(stderr, "spendsync: ") {
			t.Errorf("%v: exit %d, %s", args, code, stderr)
		}
	}
	w.env["LOG_FORMAT"] = "json"
	if code, _, stderr := w.execute(t.Context(), []string{"push", "./backup"}); code != exit.Usage ||
		!strings.HasPrefix(stderr, "{") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}
