package adsim

import (
	"slices"
	"testing"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
)

// restated restates a day and returns its lines before and after.
func restated(t *testing.T, s *Service, date string, r ledger.Restatement) (before, after []ledger.Line) {
	t.Helper()
	before = truth(s, date)
	if err := s.Restate(date, r); err != nil {
		t.Fatal(err)
	}
	after = truth(s, date)
	// The pages and the sums of the report must agree with the new lines.
	diff(t, lines(t, allPages(t, s, finest(date)+"&page_size=97")), after)
	rows := reportOf(t, s, oneDay(date)+"&columns=date,total_spend,clicks").Data
	sum := total(after)
	if len(rows) == 1 {
		sum.Spend -= millionths(t, string(rows[0]["total_spend"]))
		sum.Clicks -= number(t, rows[0]["clicks"])
	}
	if sum.Spend != 0 || sum.Clicks != 0 {
		t.Errorf("the control total is off by %+v", sum.Measures)
	}
	return before, after
}

// firstChange returns the index of the first line that differs, or of the first line that only one list has.
func firstChange(before, after []ledger.Line) int {
	i := 0
	for i < min(len(before), len(after)) && before[i] == after[i] {
		i++
	}
	return i
}

func TestRestate_DeletesOneRow(t *testing.T) {
	s := sim(config.Config{})
	for _, date := range []string{yesterday, s.Today()} {
		for range 3 {
			before, after := restated(t, s, date, ledger.Restatement{Kind: "delete", Row: 40})
			i := firstChange(before, after)
			if i < 40 {
				t.Fatalf("line %d is deleted", i)
			}
			diff(t, after, slices.Delete(before, i, i+1))
		}
	}
}

func TestRestate_InsertsOneRow(t *testing.T) {
	s := sim(config.Config{})
	for row := range 5 {
		before, after := restated(t, s, yesterday, ledger.Restatement{Kind: "insert", Row: row * 60})
		i := firstChange(before, after)
		if i == len(after) || after[i].SourceID == "" {
			t.Fatalf("no line with a source is inserted at %d", i)
		}
		diff(t, slices.Delete(slices.Clone(after), i, i+1), before)
	}
}

func TestRestate_ChangesOneRow(t *testing.T) {
	s := sim(config.Config{})
	before, after := restated(t, s, yesterday, ledger.Restatement{Kind: "change", Row: 100})
	i := firstChange(before, after)
	before[i].Clicks++
	before[i].Conversions++
	before[i].Spend += 100_000
	diff(t, after, before)

	m := ledger.Measures{Spend: -1_500_000, Clicks: 2, Impressions: 3, Conversions: 1}
	_, after = restated(t, s, yesterday, ledger.Restatement{Kind: "change", Row: 100, Measures: &m})
	if after[i].Measures != m {
		t.Errorf("got %+v, want %+v", after[i], m)
	}
}
