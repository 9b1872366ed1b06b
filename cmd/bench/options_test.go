package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestParse_TakesOneSizeOrSeveral(t *testing.T) {
	for _, c := range []struct {
		args            string
		rows, campaigns sizes
	}{
		{"", sizes{1_000_000}, nil},
		{"-rows 200000", sizes{200_000}, nil},
		{"-rows 100000,1000000,3200000", sizes{100_000, 1_000_000, 3_200_000}, nil},
		{"-rows 100000 -rows 200000", sizes{200_000}, nil},
		{"-campaigns 50,1000", nil, sizes{50, 1000}},
		{"-history 5000000", nil, nil},
		{"-rows 3300 -campaigns 10 -history 9", sizes{3300}, sizes{10}},
	} {
		o, err := parse(strings.Fields(c.args), io.Discard)
		if err != nil || !slices.Equal(o.rows, c.rows) || !slices.Equal(o.campaigns, c.campaigns) {
			t.Errorf("%q: got rows %v, campaigns %v, %v", c.args, o.rows, o.campaigns, err)
		}
	}
	o, err := parse([]string{"-rows", "100000, 200000"}, io.Discard)
	if err != nil || o.rows.String() != "100000,200000" || o.runs != 5 || o.creatives != 100 || o.waits {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestParse_RefusesWhatCannotBeMeasured(t *testing.T) {
	for args, want := range map[string]string{
		"-rows 3299":         "-rows 3299: at least 3300, 100 a day",
		"-rows 100000,0":     "-rows 0: at least 3300, 100 a day",
		"-rows 1e6":          `invalid value "1e6" for flag -rows: "1e6" is not a whole number`,
		"-rows 100000,":      `invalid value "100000," for flag -rows: "" is not a whole number`,
		"-campaigns 9":       "-campaigns 9: 10 to 10000",
		"-campaigns 10001":   "-campaigns 10001: 10 to 10000",
		"-history -1":        "-history -1: not below 0",
		"-runs 0":            "-runs 0: at least 1",
		"-shape all":         "-shape all: few or many",
		"-creatives 49":      "-creatives 49: at least 50",
		"-rows 100000 50000": "nothing follows the flags",
	} {
		if _, err := parse(strings.Fields(args), io.Discard); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", args, err, want)
		}
	}
}

// TestREADME_CommandsParse parses what the README calls, too long as it is to be run
// by a test.
func TestREADME_CommandsParse(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for line := range strings.Lines(string(text)) {
		call, ok := strings.CutPrefix(line, "go run ./cmd/bench")
		if !ok {
			continue
		}
		calls++
		call, _, _ = strings.Cut(call, "#")
		if _, err := parse(strings.Fields(call), io.Discard); err != nil && !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s: %v", strings.TrimSpace(line), err)
		}
	}
	if calls < 3 {
		t.Errorf("%d calls", calls)
	}
}
