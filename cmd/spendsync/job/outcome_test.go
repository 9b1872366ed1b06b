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
)

// coverageOf returns the coverage of a day that can be read for left more days.
func coverageOf(state string, left int64, readAtEnd schema.Instant) schema.DayCoverage {
	c := schema.DayCoverage{ReportDate: 20000, State: state, DaysUntilUnreachable: left}
	if readAtEnd != 0 {
		c.LastReadAt = schema.Some(schema.InstantOf(c.ReportDate.End()) + readAtEnd)
	}
	return c
}

// TestAtRisk: a day is at risk if it is not proven and leaves the reach within three days. A day that was read after
// its end and lacks only refused rows is not at risk, because another read would change nothing.
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

// TestOutcome_Code: the exit code is the code of the gravest finding. A problem that needs a person comes before a
// problem that passes by itself.
func TestOutcome_Code(t *testing.T) {
	named := func(errs ...error) (all []finding) {
		for _, err := range errs {
			all = append(all, finding{what: "x", err: err})
		}
		return all
	}
	differ := finding{err: errors.New("x"), notes: []string{"a", "b"}}
	auth, damaged, out, other := extract.ErrAuth, durable.ErrDamaged, extract.ErrUnavailable, errors.New("x")
	risk := load.Preview{Coverage: []schema.DayCoverage{coverageOf(schema.StateMissing, 1, 0)}}
	done, nothing := outcome{planned: 2, proven: 2}, outcome{planned: 1}
	for name, c := range map[string]struct {
		of       outcome
		findings []finding
		o        load.Preview
		want     int
	}{
		"all is well":           {of: done},
		"nothing was planned":   {},
		"only unreachable days": {of: outcome{planned: 1, unreachable: 1}},
		"a remark":              {of: done, findings: []finding{{err: other, isRemark: true}}},
		"a failure":             {of: done, findings: named(out), want: exit.Partial},
		"a difference":          {of: done, findings: []finding{differ}, want: exit.Partial},
		"half of it stands": {of: outcome{planned: 1, proven: 1, accepted: []string{"a"}}, findings: []finding{differ},
			want: exit.Partial},
		"it stands": {of: outcome{planned: 1, proven: 1, accepted: []string{"b", "a"}},
			findings: []finding{differ}},
		"a partial day": {of: done, want: exit.Partial,
			o: load.Preview{Coverage: []schema.DayCoverage{coverageOf(schema.StatePartial, 9, 1)}}},
		"a partial day that is accepted": {of: done, o: load.Preview{Coverage: []schema.DayCoverage{{
			State: schema.StatePartial, Doubt: schema.Some(schema.Accepted), DaysUntilUnreachable: 9}}}},
		"a form of a day": {of: done, want: exit.Partial,
			o: load.Preview{Notes: []manifest.Note{{Name: "report.day-total.above", Size: 9}}}},
		"a form that is accepted": {of: done, o: load.Preview{Notes: []manifest.Note{{Name: "report.day-total.above",
			Size: 9, Accepted: &manifest.Acceptance{Size: 9}}}}},
		"a day at risk":      {of: done, findings: named(out), o: risk, want: exit.DayAtRisk},
		"a day is lost":      {of: done, o: load.Preview{NewlyLost: []schema.Date{1}}, want: exit.DayAtRisk},
		"damage and risk":    {of: done, findings: named(damaged), o: risk, want: exit.Damaged},
		"refused and damage": {of: done, findings: named(damaged, auth), o: risk, want: exit.Auth},
		"no settings: disk":  {of: done, findings: named(auth, durable.ErrStorage), o: risk, want: exit.Storage},
		"no settings":        {of: done, findings: named(out), want: exit.Partial},
		"stopped": {of: outcome{planned: 2, proven: 1, stopped: true}, findings: named(auth), o: risk,
			want: exit.Stopped},
		"nothing, no cause":    {of: nothing, o: risk, want: exit.Unexpected},
		"nothing, unreachable": {of: nothing, findings: named(other, extract.ErrContract, out), want: exit.Unreachable},
		"nothing, contract":    {of: nothing, findings: named(extract.ErrContract, other), want: exit.Contract},
		"nothing, storage":     {of: nothing, findings: named(damaged, durable.ErrStorage, out), want: exit.Storage},
		"nothing, refused":     {of: nothing, findings: named(durable.ErrStorage, auth), want: exit.Auth},
		"nothing, usage":       {of: nothing, findings: named(auth, exit.ErrUsage), want: exit.Usage},
	} {
		if c.of.findings = c.findings; c.of.publishedCode(c.o) != c.want {
			t.Errorf("%s: exit %d, want %d", name, c.of.publishedCode(c.o), c.want)
		}
	}
	c := outcome{findings: named(fmt.Errorf("a: %w", out), fmt.Errorf("b: %w", extract.ErrContract))}
	for code, i := range map[int]int{exit.Unreachable: 0, exit.Contract: 1, exit.DayAtRisk: 0} {
		if got := c.cause(code); got != c.findings[i].err {
			t.Errorf("the cause of exit %d: %v", code, got)
		}
	}
}

// TestOutcome_Sentence: the sentence of a run lists its findings. Failures with the same reason are listed once. The
// sentence shows two reasons, and counts the others.
func TestOutcome_Sentence(t *testing.T) {
	named := func(texts ...string) (all []finding) {
		for _, text := range texts {
			what, why, _ := strings.Cut(text, ": ")
			all = append(all, finding{what: what, err: errors.New(why)})
		}
		return all
	}
	noted := func(name string) finding {
		return finding{err: errors.New("it differs"), notes: []string{name}}
	}
	full := load.Preview{Generation: 7, Restatements: 2, NewlyLost: []schema.Date{19000},
		Coverage: []schema.DayCoverage{coverageOf(schema.StateMissing, 1, 0)}}
	const done = "published generation 7: 3 days of 3 planned proven, 0 changed"
	broken := []finding{{what: "a", err: fmt.Errorf("a: %w", context.Canceled)}}
	for name, c := range map[string]struct {
		of       outcome
		findings []finding
		o        load.Preview
		want     string
	}{
		"published": {of: outcome{planned: 3, proven: 3}, want: done},
		"settings alone": {of: outcome{planned: 3}, want: "nothing of the report published: none of 3 planned days " +
			"proven; generation 7 has the settings alone"},
		"stopped": {of: outcome{planned: 3, proven: 3, stopped: true}, findings: broken, want: "stopped by a signal: " +
			done},
		"from quarantine": {of: outcome{planned: 3, proven: 3, fromQuarantine: 1},
			want: done + ", 1 day proven from quarantine"},
		"lost and at risk": {of: outcome{planned: 3, proven: 3}, o: full, want: done + ", 2 restatements; lost for " +
			"good: 2022-01-08; 2024-10-04 is not proven and can be read for 1 day more"},
		"accepted": {of: outcome{planned: 3, proven: 3, accepted: []string{"other"}},
			findings: []finding{noted("note"), noted("other")},
			want:     done + "; it differs; 1 accepted difference (other), see 'spendsync status'"},
		"one reason": {of: outcome{planned: 3, proven: 3}, findings: named("a: x", "b: x"),
			want: done + "; a: x (and 1 more for the same reason)"},
		"four reasons": {of: outcome{planned: 3, proven: 3}, findings: named("a: x", "b: y", "c: z", "d: w"),
			want: done + "; a: x; b: y; and 2 more"},
		"not tried": {of: outcome{planned: 3, proven: 3}, findings: append(named("a: x"),
			finding{err: errors.New("2 more days not tried")}), want: done + "; 2 more days not tried; a: x"},
		"broken off by another": {of: outcome{planned: 3, proven: 3}, findings: append(named("b: x"), broken...),
			want: done + "; b: x"},
		"broken off": {of: outcome{planned: 3, proven: 3}, findings: broken, want: done + "; a: context canceled"},
	} {
		c.of.findings = c.findings
		if c.o.Generation == 0 {
			c.o.Generation = 7
		}
		if got := c.of.sentence(c.o, true, ""); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
