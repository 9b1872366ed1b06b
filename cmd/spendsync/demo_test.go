package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/shop"
	"spendsync/load/manifest"
	"spendsync/schema/schematest"
)

// TestDemo_ShowsTheWholeJob runs the demo as a newcomer does, and then the commands that the demo prints.
func TestDemo_ShowsTheWholeJob(t *testing.T) {
	demo := func(env []string, args ...string) (int, string) {
		var out, errOut bytes.Buffer
		code := run(t.Context(), args, env, &out, &errOut)
		return code, out.String() + errOut.String()
	}
	// The caller's settings name another account. The demo must not use that account.
	dir, text := playedDemo()
	text, ok := strings.CutSuffix(text, "exit 0")
	if !ok {
		t.Fatal(text)
	}
	for _, want := range []string{
		"27 syncs; meanwhile the service changed rows of past days", "Which campaigns pay",
		"Rain jackets", "all campaigns", "loses",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the demo does not show %q:\n%s", want, text)
		}
	}
	for _, no := range []string{"NULL in every row", "unknown", "HYPERLINK"} {
		if strings.Contains(text, no) {
			t.Errorf("the demo shows %q:\n%s", no, text)
		}
	}
	// The commands at the end of the demo's output run as printed.
	_, end, _ := strings.Cut(text, "Go on:\n")
	lines := strings.Split(strings.TrimSpace(end), "\n")
	if len(lines) != 3 {
		t.Fatalf("the demo does not say how to go on:\n%s", text)
	}
	for _, line := range lines {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), program()+" ")
		if !ok {
			t.Errorf("the demo continues with %q", line)
		}
		words := strings.Fields(command)
		if code, text := demo(nil, append(words, outOf(t, words[0])...)...); code != exit.OK {
			t.Errorf("%s: exit %d: %s", line, code, text)
		}
	}
	// A second demo uses the existing store of the demo.
	if code, text := demo(nil, "demo", "--data-dir", dir); code != exit.OK ||
		!strings.Contains(text, "already in "+dir) || !strings.Contains(text, "--again --data-dir "+dir) ||
		!strings.Contains(text, "Rain jackets") {
		t.Errorf("again: exit %d: %s", code, text)
	}
	env := []string{"SPENDSYNC_DATA_DIR=" + dir, "SPENDSYNC_ACCOUNT=demo"}
	for i, command := range []string{"status", "sync --dry-run", "verify", "tables", "version", "repair rebuild",
		"repair replay"} {
		if i > 0 && !schematest.All() {
			break
		}
		if code, text := demo(env, strings.Fields(command)...); code != exit.OK {
			t.Errorf("%s: exit %d: %s", command, code, text)
		}
		if strings.HasPrefix(command, "repair") {
			continue
		}
		code, text := demo(env, append(strings.Fields(command), "--json")...)
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
		if !strings.Contains(out.String(), "  "+config.Prefix+v.Name) {
			t.Errorf("help config does not name %s", v.Name)
		}
	}
	if !strings.Contains(out.String(), "143") {
		t.Error("help config does not list the exit codes")
	}
	if strings.Contains(out.String(), "Usage:") || strings.Contains(out.String(), "Flags:") {
		t.Errorf("help config describes a command:\n%s", out.String())
	}
}

// outOf returns flags that keep a command of the demo from writing a file into the folder of the tests.
func outOf(t *testing.T, command string) []string {
	if command == "report" {
		return []string{"--out", filepath.Join(t.TempDir(), "report.html")}
	}
	return nil
}

// TestDemo_OwnsItsFolder: a folder with other files stays unchanged, one demo runs at a time, and a demo
// that was cut off at any moment starts again.
func TestDemo_OwnsItsFolder(t *testing.T) {
	schematest.Long(t)
	demo := func(ctx context.Context, args ...string) (int, string) {
		var out bytes.Buffer
		code := run(ctx, append([]string{"demo", "--rows-per-day", "30"}, args...), nil, &out, &out)
		return code, out.String()
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "mine.txt"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"not the demo's":             {"--data-dir", other},
		"the account of the demo is": {"--data-dir", other, "--account", "acme"},
	} {
		if code, text := demo(t.Context(), args...); code != exit.Usage || !strings.Contains(text, want) {
			t.Errorf("%q: exit %d: %s", args, code, text)
		}
	}
	if entries, _ := os.ReadDir(other); len(entries) != 1 {
		t.Errorf("the folder has %d entries", len(entries))
	}
	for _, rows := range []string{"-1", "0", "1000001"} {
		if code, text := demo(t.Context(), "--data-dir", other, "--rows-per-day", rows); code != exit.Usage ||
			!strings.Contains(text, "from 1 to 1000000") {
			t.Errorf("%s rows: exit %d: %s", rows, code, text)
		}
	}
	dir := filepath.Join(t.TempDir(), "demo")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code, text := demo(ctx, "--data-dir", dir); code != exit.Stopped {
		t.Fatalf("a demo that was stopped: exit %d: %s", code, text)
	}
	locked, err := shop.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if code, text := demo(t.Context(), "--data-dir", dir); code != exit.Locked {
		t.Errorf("a second demo: exit %d: %s", code, text)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	if locked.IsComplete() {
		t.Error("a demo that was stopped is complete")
	}
	locked.Close()
	// The next demo starts again from scratch.
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if m, err := manifest.Read(dir); err == nil && m.Generation > 0 {
				cancel()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	code, text := demo(ctx, "--data-dir", dir)
	if m, err := manifest.Read(dir); code != exit.Stopped || err != nil || strings.Contains(text, "demo-data") {
		t.Errorf("after a demo that was cut off: exit %d, %+v, %v: %s", code, m, err, text)
	}
}

// TestOutput_ClosedPipeIsNoFailure: the exit code does not change if the reader of stdout, for example head, closes the
// pipe early.
func TestOutput_ClosedPipeIsNoFailure(t *testing.T) {
	dir := demoStore(t)
	for _, args := range [][]string{
		{"demo"}, {"status"}, {"status", "--json"}, {"sync", "--dry-run"},
		{"sync", "--dry-run", "--json"}, {"verify", "--json"}, {"tables"},
		{"query"}, {"query", "last_week"}, {"report", "--out", "-"}, {"help", "config"}, {"version", "--json"},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		var errOut bytes.Buffer
		code := run(t.Context(), append(args, "--data-dir", dir, "--account", "demo"), nil, w, &errOut)
		w.Close()
		if code != exit.OK || strings.Contains(errOut.String(), "pipe") {
			t.Errorf("%q: exit %d: %s", args, code, errOut.String())
		}
	}
}

// TestDemo_IsNamedBesideNothing: if a command reads a folder without a store, and the demo's folder is next to that
// folder, the message says how to read the demo.
func TestDemo_IsNamedBesideNothing(t *testing.T) {
	beside := t.TempDir()
	env := []string{"SPENDSYNC_DATA_DIR=" + filepath.Join(beside, "data")}
	ask := func() string {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), []string{"query", "last_week"}, env, &out, &errOut); code != exit.Usage {
			t.Errorf("exit %d: %s", code, errOut.String())
		}
		return errOut.String()
	}
	demo := filepath.Join(beside, demoDir)
	if err := os.Mkdir(demo, 0o755); err != nil {
		t.Fatal(err)
	}
	if text := ask(); strings.Contains(text, demoDir) {
		t.Errorf("a folder without a store is named: %s", text)
	}
	if err := os.CopyFS(demo, os.DirFS(demoStore(t))); err != nil {
		t.Fatal(err)
	}
	if text := ask(); !strings.Contains(text, "  do: add --data-dir "+demo+" to ask the demo's store;") {
		t.Errorf("the demo is not named: %s", text)
	}
}
