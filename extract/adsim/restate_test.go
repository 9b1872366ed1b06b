package adsim

import (
	"slices"
	"testing"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
)

// restated restates a day and returns its lines before and after.
func restated(t *testing.T, s *Service, date string,
	r ledger.Restatement) (before, after []ledger.Line, line ledger.Line) {
	t.Helper()
	before = truth(s, date)
	line, err := s.Restate(date, r)
	if err != nil {
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
	return before, after, line
}

func TestRestate_DeletesOneRow(t *testing.T) {
	s := sim(config.Config{})
	for _, date := range []string{yesterday, s.Today()} {
		for range 3 {
			before, after, line := restated(t, s, date, ledger.Restatement{Kind: "delete", Row: 40})
			i := slices.Index(before, line)
			if i < 40 {
				t.Fatalf("got %+v, which is at %d", line, i)
			}
			diff(t, after, slices.Delete(before, i, i+1))
		}
	}
}

func TestRestate_InsertsOneRow(t *testing.T) {
	s := sim(config.Config{})
	for row := range 5 {
		before, after, line := restated(t, s, yesterday, ledger.Restatement{Kind: "insert", Row: row * 60})
		i := slices.Index(after, line)
		if i < 0 || line.SourceID == "" {
			t.Fatalf("%+v is not there", line)
		}
		diff(t, slices.Delete(slices.Clone(after), i, i+1), before)
	}
}

func TestRestate_ChangesOneRow(t *testing.T) {
	s := sim(config.Config{})
	before, after, line := restated(t, s, yesterday, ledger.Restatement{Kind: "change", Row: 100})
	i := slices.IndexFunc(before, func(l ledger.Line) bool {
		return l.CreativeID == line.CreativeID &&
			l.SourceID == line.SourceID
	})
	want := before[i]
	want.Clicks++
	want.Conversions++
	want.Spend += 100_000
	if line != want {
		t.Errorf("got %+v, want %+v", line, want)
	}
	before[i] = want
	diff(t, after, before)

	m := ledger.Measures{Spend: -1_500_000, Clicks: 2, Impressions: 3, Conversions: 1}
	_, _, line = restated(t, s, yesterday, ledger.Restatement{Kind: "change", Row: 100, Measures: &m})
	if line.Measures != m || line.Exact() != "-1.500000" {
		t.Errorf("got %+v %s, want %+v", line, line.Exact(), m)
	}
}
