package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"spendsync/schema/schematest"
)

// TestMain lets the test binary be the processes that bench starts itself.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestRun_MeasuresAndPrintsAll(t *testing.T) {
	schematest.Long(t) // it builds spendsync and runs everything that is measured
	var out, progress bytes.Buffer
	// So few campaigns stay below the limit: there is nothing to wait for. So many
	// creatives have rows on every day, whatever day it is.
	args := "-rows 6000 -creatives 200 -campaigns 20 -month 100 -hours 5 -waits -runs 1 -dir "
	err := run(t.Context(), strings.Fields(args+inMemory(t)),
		&out, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	const figures = ` +[0-9]+\.[0-9]{2} +[0-9]+\.[0-9]{2} +[0-9]+`
	for _, name := range []string{
		download, decodeOnly, decodeStrict, duckdbAlone, firstLoad, unchanged, restated, scattered, hour,
		nothingToDo, rebuildAlone, replayAlone, verifyAlone, allRestated, firstSettings, unchangedSettings,
	} {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + figures).MatchString(out.String()) {
			t.Errorf("no figures of %q", name)
		}
	}
	for _, line := range []string{
		`20 campaigns, 1[4-9] of them archived, [0-9]+ rows, 1 turns, with the waits for the limit \(medians\)`,
		`first snapshot of the settings` + figures + ` +69 *`,
		`snapshot again, unchanged` + figures + ` +[0-9]+ *`,
		`a client without a memory +67 *`,
		`unchanged account, API requests against no memory +0\.[0-9]+ +<= 0\.35 *(missed)? *`,
		`all hours +[0-9.]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+ *`,
		`0 hours in which the service failed; 33 days equal the service's totals in the end`,
		`decoding, MB/s against strict jsontext +[0-9.]+ +>= 2\.50 *(missed)? *`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(out.String()) {
			t.Errorf("no line %s", line)
		}
	}
	var rows int
	if n, _, ok := strings.Cut(out.String(), " rows over 33 days"); ok {
		_ = json.Unmarshal([]byte(n), &rows)
	}
	if !near(rows, 6000) {
		t.Errorf("%d rows, asked for 6000", rows)
	}
	if t.Failed() {
		t.Logf("it printed\n%s", out.String())
	}
}

// inMemory is a folder in memory, where there is one: a small load mostly waits for
// the disk.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "spendsync-bench-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestOverlay_TakesTheMinuteOut compiles the package that the overlay changes, and
// sees that nothing else of it is changed.
func TestOverlay_TakesTheMinuteOut(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a package")
	}
	overlay, err := overlay(t.Context(), t.TempDir(), noWaits)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "spendsync/extract").
		CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	var names struct{ Replace map[string]string }
	text, err := os.ReadFile(overlay)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &names); err != nil || len(names.Replace) != 1 {
		t.Fatalf("%s, %v", text, err)
	}
	for source, changed := range names.Replace {
		was, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		is, err := os.ReadFile(changed)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(string(was), "= time.Minute + 250*time.Millisecond\n", "= time.Millisecond\n",
			1); string(is) != want || want == string(was) {
			t.Errorf("%s differs in something else than the minute", changed)
		}
	}
}
