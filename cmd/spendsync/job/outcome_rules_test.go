package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// coverageOf is a day that can be read for so many more days.
func coverageOf(state string, left int64, readAtEnd schema.Instant) schema.DayCoverage {
	c := schema.DayCoverage{ReportDate: 20000, State: state, DaysUntilUnreachable: left}
	if readAtEnd != 0 {
		c.LastReadAt = schema.Some(schema.InstantOf(c.ReportDate.End()) + readAtEnd)
	}
	return c
}

// TestAtRisk: a day calls a person if it is not proven and leaves the reach within three days. Refused rows of a day
// that was read after its end do not: reading it again changes nothing.
func TestAtRisk(t *testing.T) {
	for name, c := range map[string]struct {
		day  schema.DayCoverage
		want bool
	}{
		"missing/3 days":           {coverageOf(schema.StateMissing, RiskDays, 0), true},
		"missing/last day":         {coverageOf(schema.StateMissing, 1, 0), true},
		"missing/4 days":           {coverageOf(schema.StateMissing, RiskDays+1, 0), false},
		"lost":                     {coverageOf(schema.StateLost, 0, 0), false},
		"missing/out of reach":     {coverageOf(schema.StateMissing, 0, 0), false},
		"partial/before its end":   {coverageOf(schema.StatePartial, 2, -1), true},
		"partial/at its end":       {coverageOf(schema.StatePartial, 2, 1), false},
		"complete":                 {coverageOf(schema.StateComplete, 1, 1), false},
		"open/read before its end": {coverageOf(schema.StateOpen, 1, -1), false},
	} {
		if got := AtRisk([]schema.DayCoverage{c.day}); (len(got) == 1) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	exact := coverageOf(schema.StatePartial, 2, 0)
	exact.LastReadAt = schema.Some(schema.InstantOf(exact.ReportDate.End()))
	if got := AtRisk([]schema.DayCoverage{exact}); len(got) > 0 {
		t.Error("a day that was read in the instant of its end is over")
	}
}

// differ are differences of these names.
func differ(names ...string) map[string]manifest.Note {
	notes := map[string]manifest.Note{}
	for _, name := range names {
		notes[name] = manifest.Note{Message: name}
	}
	return notes
}

// TestTally_Codes: the exit code says what a person has to do. What needs one comes before what heals, also if
// several things fail.
func TestTally_Codes(t *testing.T) {
	var (
		auth, damaged, storage    = extract.ErrAuth, durable.ErrDamaged, durable.ErrStorage
		contract, out, unexpected = extract.ErrContract, extract.ErrUnavailable, errors.New("x")
	)
	done := tally{planned: 2, proven: 2}
	differing := tally{planned: 1, proven: 1, differences: differ("x", "y")}
	half, stands := differing, differing
	half.standing, stands.standing = []string{"x"}, []string{"x", "y"}
	risk := load.Preview{Coverage: []schema.DayCoverage{coverageOf(schema.StateMissing, 1, 0)}}
	for name, c := range map[string]struct {
		tally  tally
		o      load.Preview
		failed []error
		want   int
	}{
		"all is well":              {done, load.Preview{}, nil, exit.OK},
		"nothing was planned":      {tally{}, load.Preview{}, nil, exit.OK},
		"nothing but refused days": {tally{planned: 1, unreachable: 1}, load.Preview{}, nil, exit.OK},
		"one day in part":          {tally{planned: 2, proven: 1, partial: 1}, load.Preview{}, nil, exit.OK},
		"a day in part":            {tally{planned: 1, partial: 1}, load.Preview{}, nil, exit.OK},
		"one failure":              {done, load.Preview{}, []error{out}, exit.Partial},
		"the total differs":        {differing, load.Preview{}, nil, exit.Partial},
		"all differences stand":    {stands, load.Preview{}, nil, exit.OK},
		"known measures are lost": {tally{planned: 1, proven: 1, unreadAnew: []schema.Date{1}}, load.Preview{}, nil,
			exit.Partial},
		"one does not stand":        {half, load.Preview{}, nil, exit.Partial},
		"odd IDs":                   {tally{oddIDs: []transform.OddID{{}}}, load.Preview{}, nil, exit.Partial},
		"a day at risk":             {done, risk, []error{out}, exit.DayAtRisk},
		"a day is lost":             {done, load.Preview{NewlyLost: []schema.Date{1}}, nil, exit.DayAtRisk},
		"damage and risk":           {done, risk, []error{damaged}, exit.Damaged},
		"refused and damage":        {done, risk, []error{damaged, auth}, exit.Auth},
		"stopped":                   {tally{planned: 2, proven: 1, stopped: true}, risk, []error{auth}, exit.Stopped},
		"nothing/stopped":           {tally{planned: 1, stopped: true}, risk, []error{auth}, exit.Stopped},
		"nothing/no cause":          {tally{planned: 1}, risk, nil, exit.Unexpected},
		"nothing/unexpected":        {tally{planned: 1}, risk, []error{unexpected}, exit.Unexpected},
		"nothing/unreachable":       {tally{planned: 1}, risk, []error{unexpected, contract, out}, exit.Unreachable},
		"nothing/contract":          {tally{planned: 1}, risk, []error{contract, unexpected}, exit.Contract},
		"nothing/damage":            {tally{planned: 1}, risk, []error{out, damaged}, exit.Damaged},
		"nothing/storage":           {tally{planned: 1}, risk, []error{damaged, storage}, exit.Storage},
		"nothing/refused":           {tally{planned: 1}, risk, []error{storage, auth}, exit.Auth},
		"nothing/wrong usage":       {tally{planned: 1}, risk, []error{auth, exit.ErrUsage}, exit.Usage},
		"nothing/another's account": {tally{planned: 1}, risk, []error{exit.ErrOtherReport}, exit.Auth},
	} {
		for _, err := range c.failed {
			c.tally.fail("x", err)
		}
		if got := c.tally.publishedCode(c.o); got != c.want {
			t.Errorf("%s: exit %d, want %d", name, got, c.want)
		}
		for reason, kept := range map[int]bool{exit.Storage: true, exit.Damaged: true, exit.Locked: true,
			exit.Auth: true, exit.Partial: false, exit.Unreachable: false, exit.Contract: false} {
			want := c.want
			if kept {
				want = reason
			}
			if got := c.tally.settingsCode(c.o, reason); got != want {
				t.Errorf("%s, no settings because of %d: exit %d, want %d", name, reason, got, want)
			}
		}
	}
}

// TestTally_AddsAViewOnce: a view that fails in two publications of a run is one failure.
func TestTally_AddsAViewOnce(t *testing.T) {
	var c tally
	c.addViewErrors([]error{errors.New("view a"), errors.New("view b")})
	c.addViewErrors([]error{errors.New("view b"), errors.New("view c")})
	if len(c.failures) != 3 {
		t.Errorf("%v", c.failures)
	}
}

// TestTally_Sentence: what a run's line says to whoever reads it first.
func TestTally_Sentence(t *testing.T) {
	full := load.Preview{Generation: 7, Restatements: 2, NewlyLost: []schema.Date{19000},
		Coverage: []schema.DayCoverage{coverageOf(schema.StateMissing, 1, 0)}}
	for name, c := range map[string]struct {
		tally     tally
		o         load.Preview
		published bool
		want      string
	}{
		"published": {tally{planned: 3, proven: 1, changed: 1}, load.Preview{Generation: 7}, true,
			"published generation 7: 1 day of 3 planned proven, 1 changed; settings"},
		"settings alone": {tally{planned: 3}, load.Preview{Generation: 7}, true, "nothing of the report published: " +
			"none of 3 planned days proven; generation 7 has the settings alone; settings"},
		"nothing": {tally{planned: 3}, load.Preview{}, false,
			"nothing published: none of 3 planned days proven; settings"},
		"stopped": {tally{planned: 3, proven: 3, stopped: true}, load.Preview{Generation: 7}, true,
			"stopped by a signal: published generation 7: 3 days of 3 planned proven, 0 changed; settings"},
		"odd IDs": {tally{planned: 3, proven: 3, oddIDs: []transform.OddID{{Column: "source_id", Value: "x y"}}},
			load.Preview{Generation: 7}, true,
			"published generation 7: 3 days of 3 planned proven, 0 changed; settings" +
				"; IDs of a new form, stored without the blanks around them and reported once: source_id x y ()"},
		"everything": {tally{planned: 3, proven: 3, differs: "the total differs", unread: 2, unreadDays: 1,
			differences: differ("report.day-total.above-1pct", "report.unread.clicks.string.some-rows")}, full, true,
			"published generation 7: 3 days of 3 planned proven, 0 changed, 2 restatements; settings; lost for good: " +
				"2022-01-08; 2024-10-04 is not proven and can be read for 1 day more; the total differs; " +
				"2 rows on 1 day have measures that cannot be read; these are stored as unknown (NULL), " +
				"the rest of each row as it came; see ops.refused_row"},
	} {
		if got := c.tally.sentence(c.o, c.published, "; settings"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestTally_FailureSentence: failures for one reason are one, and more than two reasons are counted.
func TestTally_FailureSentence(t *testing.T) {
	read := func(what string) error {
		return &extract.ReadError{What: what, Reason: "x", Err: extract.ErrUnavailable}
	}
	unproven := func(what string) error { return &extract.UnprovenError{What: what, Reason: "x"} }
	for name, c := range map[string]struct {
		failures []failure
		stopped  bool
		want     string
	}{
		"none":         {},
		"one":          {[]failure{{what: "a", err: errors.New("it is late")}}, false, "; a: it is late"},
		"names itself": {[]failure{{what: "a", err: errors.New("a: it is late")}}, false, "; a: it is late"},
		"for one reason": {[]failure{{what: "a", err: errors.New("x")}, {what: "b", err: errors.New("x")}}, false,
			"; a: x (and 1 more for the same reason)"},
		"untried": {[]failure{{what: "a", err: errors.New("x")},
			{what: "b", err: errors.New("x"), untried: true}}, false,
			"; a: x; b"},
		"untried for another reason": {[]failure{{what: "a", err: errors.New("x")}, {what: "b", err: errors.New("y"),
			untried: true}}, false, "; a: x; b: y"},
		"two reasons": {[]failure{{what: "a", err: errors.New("x")}, {what: "b", err: errors.New("y")}}, false,
			"; a: x; b: y"},
		"four reasons": {[]failure{{what: "a", err: errors.New("x")}, {what: "b", err: errors.New("y")}, {what: "c",
			err: errors.New("z")}, {what: "d", err: errors.New("w")}}, false, "; a: x; b: y; and 2 more"},
		"broken off by another": {[]failure{{what: "a", err: context.Canceled},
			{what: "b", err: errors.New("x")}}, false,
			"; b: x"},
		"broken off by a signal":  {[]failure{{what: "a", err: context.Canceled}}, true, ""},
		"broken off by something": {[]failure{{what: "a", err: context.Canceled}}, false, "; a: context canceled"},
	} {
		got := tally{failures: c.failures, stopped: c.stopped}.failureSentence()
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for _, errs := range [][2]error{{read("a"), fmt.Errorf("y: %w", read("b"))},
		{unproven("a"), fmt.Errorf("y: %w", unproven("b"))}} {
		c := tally{failures: []failure{{what: "1", err: errs[0]}, {what: "2", err: errs[1]}}}
		if got := c.failureSentence(); !strings.HasSuffix(got, "(and 1 more for the same reason)") {
			t.Errorf("%v: %q", errs, got)
		}
	}
	// Only what the service states of page_size leads to the variable.
	for _, err := range []error{errors.New("page_size"), fmt.Errorf("no such page: %w", extract.ErrContract)} {
		if text := (failure{what: "a", err: err}).String(); strings.Contains(text, "SPENDSYNC_PAGE_SIZE") {
			t.Errorf("%q", text)
		}
	}
}

// TestTally_Cause: the cause of a run's end is the failure that its exit code is of, or else the first one.
func TestTally_Cause(t *testing.T) {
	out, contract := fmt.Errorf("a: %w", extract.ErrUnavailable), fmt.Errorf("b: %w", extract.ErrContract)
	c := tally{failures: []failure{{what: "a", err: out}, {what: "b", err: contract}}}
	for code, want := range map[int]error{exit.Unreachable: out, exit.Contract: contract, exit.DayAtRisk: out} {
		if got := c.cause(code); got != want {
			t.Errorf("of exit %d: %v, want %v", code, got, want)
		}
	}
	if err := (tally{}).cause(exit.OK); err != nil {
		t.Errorf("of no failure: %v", err)
	}
}
