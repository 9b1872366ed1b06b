package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"spendsync/schema/schematest"
)

func TestRun_MeasuresAndPrintsAll(t *testing.T) {
	schematest.Long(t) // the test builds spendsync and runs all measurements
	var out, progress bytes.Buffer
	// With this number of creatives, every day has rows, no matter on which date the test runs.
	err := run(t.Context(), strings.Fields("-rows 6000 -campaigns 20 -turns 1 -dir "+inMemory(t)), &out, &progress)
	if err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	for _, name := range []string{firstLoad, unchanged, scattered, hour, nothingToDo, rebuild, replay, verify,
		allRestated} {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `( +[0-9]+\.[0-9]{2}){3} +[0-9]+`).
			MatchString(out.String()) {
			t.Errorf("no figures of %q", name)
		}
	}
	rows, _, _ := strings.Cut(out.String(), " rows over 33 days, 20 campaigns")
	if n, err := strconv.Atoi(rows); err != nil || n < 5100 || n > 6900 {
		t.Errorf("%q rows, asked for 6000", rows)
	}
	if t.Failed() {
		t.Logf("it printed\n%s", out.String())
	}
}

// inMemory returns a folder in memory, if the system has one. On a disk, a small load would mostly wait for the disk.
func inMemory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "spendsync-bench-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestParse_RefusesWhatCannotBeMeasured(t *testing.T) {
	for args, want := range map[string]string{
		"-rows 3299":         "-rows 3299: whole numbers of at least 3300, 100 a day",
		"-rows 100000,0":     "-rows 0: whole numbers of at least 3300, 100 a day",
		"-rows 1e6":          "-rows 1e6: whole numbers of at least 3300, 100 a day",
		"-rows 100000,":      "-rows : whole numbers of at least 3300, 100 a day",
		"-turns 0":           "-turns 0: at least 1",
		"-campaigns 4":       "-campaigns 4: at least 5",
		"-rows 100000 50000": "50000: nothing follows the flags",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", args, err, want)
		}
	}
}

// TestREADME_CommandsParse parses the command lines in the README. Running them takes too long for a test.
func TestREADME_CommandsParse(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	calls := regexp.MustCompile(`(?m)^go run ./cmd/bench(.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(calls) == 0 {
		t.Error("it names no call")
	}
	for _, call := range calls {
		if _, err := parse(strings.Fields(call[1]), io.Discard); err != nil {
			t.Errorf("%s: %v", call[0], err)
		}
	}
}
