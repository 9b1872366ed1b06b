package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/schema"
)

// TestDemo_ShowsTheWholeJob runs the demo as a newcomer does, and then the
// commands that it names.
func TestDemo_ShowsTheWholeJob(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo-data")
	demo := func(env []string, args ...string) (int, string) {
		var out, errOut bytes.Buffer
		code := run(t.Context(), args, env, &out, &errOut)
		return code, out.String() + errOut.String()
	}
	// A caller's own settings must not lead the demo to his real account.
	code, text := demo([]string{"SPENDSYNC_REPORT_URL=https://real.example.com", "SPENDSYNC_ACCOUNT=real"}, "demo",
		"--dir", dir, "--rows-per-day", "300")
	if code != exit.OK {
		t.Fatalf("exit %d: %s", code, text)
	}
	for _, want := range []string{
		"33 days of 33 planned proven, 33 changed; settings of ", "restatements", "Which campaigns pay",
		"SPENDSYNC_DATA_DIR=" + dir, "duckdb -readonly", "all campaigns",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the demo does not show %q:\n%s", want, text)
		}
	}
	// What it ends with fits on a screen, and its commands run as they are printed.
	_, end, _ := strings.Cut(text, "Syncing now:\n")
	end, _, found := strings.Cut(end, "duckdb -readonly")
	if lines := strings.Count(end, "\n"); !found || lines > 30 {
		t.Errorf("the demo ends with %d lines:\n%s", lines, end)
	}
	if program := regexp.MustCompile(`(?m)^  (\S+) status `).FindStringSubmatch(end); program == nil {
		t.Errorf("the demo does not say how to go on:\n%s", end)
	} else if _, err := exec.LookPath(program[1]); err != nil {
		t.Errorf("the demo goes on with a program that is not there: %v", err)
	}
	// Commands that only look take the only account that there is.
	if code, text := demo([]string{"SPENDSYNC_DATA_DIR=" + dir}, "plan"); code != exit.OK ||
		!strings.HasPrefix(text, "Account demo, ") {
		t.Errorf("plan without an account: exit %d: %s", code, text)
	}
	env := []string{"SPENDSYNC_DATA_DIR=" + dir, "SPENDSYNC_ACCOUNT=demo"}
	for _, command := range []string{"status", "plan", "verify", "tables", "version", "rebuild", "replay"} {
		if code, text := demo(env, command); code != exit.OK {
			t.Errorf("%s: exit %d: %s", command, code, text)
		}
		if command == "rebuild" || command == "replay" {
			continue
		}
		code, text := demo(env, command, "--json")
		if code != exit.OK || !json.Valid([]byte(text)) {
			t.Errorf("%s --json: exit %d: %s", command, code, text)
		}
	}
}

func TestHelp_NamesVariablesAndExitCodes(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"help", "config"}, nil, &out, &out); code != exit.OK {
		t.Fatalf("exit %d", code)
	}
	for _, v := range config.Variables() {
		if !strings.Contains(out.String(), config.Prefix+v.Name+"\n") {
			t.Errorf("help config does not name %s", v.Name)
		}
	}
	if !strings.Contains(out.String(), "143") {
		t.Error("help config does not list the exit codes")
	}
}

func TestTables_OfOneTable(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"tables", "ops.run", "--json"}, nil, &out, &out); code != exit.OK {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	var docs []schema.TableDoc
	if err := json.Unmarshal(out.Bytes(), &docs); err != nil || len(docs) != 1 || docs[0].Name != "ops.run" {
		t.Errorf("tables = %v, %v", docs, err)
	}
}

func TestTables_DescribesViews(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"tables", "settlement", "mart.campaign_performance", "--json"}, nil, &out,
		&out); code != exit.OK {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	var docs []schema.TableDoc
	if err := json.Unmarshal(out.Bytes(), &docs); err != nil || len(docs) != 2 || docs[0].Name != "mart.settlement" ||
		docs[1].Kind != schema.KindView || len(docs[1].Columns) < 20 {
		t.Fatalf("tables = %+v, %v", docs, err)
	}
	for _, d := range docs {
		for _, c := range d.Columns {
			if c.Doc == "" || c.Type == "" {
				t.Errorf("%s.%s: type %q, %q", d.Name, c.Name, c.Type, c.Doc)
			}
		}
	}
	out.Reset()
	if code := run(t.Context(), []string{"tables", "settlment"}, nil, &out, &out); code != exit.Usage ||
		!strings.Contains(out.String(), "did you mean mart.settlement?") {
		t.Errorf("exit %d: %s", code, out.String())
	}
}

func TestStatus_OfNothing(t *testing.T) {
	var out bytes.Buffer
	env := []string{"SPENDSYNC_DATA_DIR=" + t.TempDir()}
	if code := run(t.Context(), []string{"status"}, env, &out, &out); code != exit.Usage ||
		!strings.Contains(out.String(), "nothing is stored yet") {
		t.Errorf("exit %d: %s", code, out.String())
	}
}
