package payouts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spendsync/schema"
)

func n(n int64) schema.Null[int64] { return schema.Some(n) }

// TestRead_TakesBothLayoutsOfAnExport: a column for each state and a row for each state give the same rows.
func TestRead_TakesBothLayoutsOfAnExport(t *testing.T) {
	want := []schema.TrackerDay{
		{ReportDate: day("2026-11-19"), CampaignID: "C1", SourceID: "", Clicks: n(7), Conversions: n(0),
			Approved: n(0), Held: n(0), Refused: n(0), Revenue: dollars("0")},
		{ReportDate: day("2026-11-19"), CampaignID: "C1", SourceID: "S2", Clicks: n(90), Conversions: n(6),
			Approved: n(3), Held: n(2), Refused: n(1), Revenue: dollars("28.5")},
		{ReportDate: day("2026-11-20"), CampaignID: "C1", SourceID: "S2", Clicks: n(10), Conversions: n(1),
			Approved: n(0), Held: n(0), Refused: n(1), Revenue: dollars("0")},
	}
	mapping := map[string]string{"day": "Datum", "campaign": "Custom 1", "source": "Custom 2", "clicks": "Visits",
		"approved": "OK", "held": "On hold", "refused": "No", "revenue": "Money"}
	for name, of := range map[string]struct {
		text    string
		mapping map[string]string
	}{
		"columns": {"day,campaign,source,clicks,approved,held,refused,revenue,ROI\n2026-11-20,C1,S2,10,0,0,1,0,5 %\n" +
			"2026-11-19,C1,S2,90,3,2,1,28.50,\n2026-11-19,C1,,7,0,0,0,0.00,\n", nil},
		"semicolons, CRLF, a tracker's names": {"\ufeffDate;Campaign ID;Source ID;Visits;Clicks;Sales;Pending;" +
			"Rejected;Revenue\r\n2026-11-20;C1;S2;10;1;0;0;1;0\r\n2026-11-19;C1;S2;90;8;3;2;1;28.5\r\n" +
			"2026-11-19;C1;;7;1;0;0;0;0\r\n", nil},
		"tabs, named columns": {"Datum\tCustom 1\tCustom 2\tvisits\tOK\tOn hold\tNo\tMoney\tOther\n" +
			"2026-11-20\tC1\tS2\t10\t0\t0\t1\t0\tx\n2026-11-19\tC1\tS2\t90\t3\t2\t1\t28.5\tx\n" +
			"2026-11-19\tC1\t\t7\t0\t0\t0\t0\tx\n", mapping},
		"rows": {"date,campaign,source,status,conversions,revenue,visits\n2026-11-19,C1,S2,approved,2,20,90\n" +
			"2026-11-19,C1,S2,Sale,1,8.5,90\n2026-11-19,C1,S2,On hold,2,17,\n2026-11-19,C1,S2,trash,1,9,90\n" +
			"2026-11-20,C1,S2,rejected,1,,10\n2026-11-19,C1,,approved,0,0,7\n", nil},
	} {
		got := readAll(t, Options{Paths: []string{write(t, of.text)}, Columns: of.mapping})
		if diff := cmp.Diff(want, got.days); got.Failures != nil || got.Payouts != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, got.Failures, diff)
		}
	}
	totals := "day,campaign,source,conversions,revenue\n2026-11-19,C1,S2,6,28.5\n2026-11-20,C1,S2,,\n"
	if diff := cmp.Diff([]schema.TrackerDay{
		{ReportDate: day("2026-11-19"), CampaignID: "C1", SourceID: "S2", Conversions: n(6), Revenue: dollars("28.5")},
		{ReportDate: day("2026-11-20"), CampaignID: "C1", SourceID: "S2"},
	}, readAll(t, Options{Paths: []string{write(t, totals)}}).days); diff != "" {
		t.Errorf("conversions alone:\n%s", diff)
	}
}

// TestRead_NamesWhatIsWrongWithAnExport wants the cause, the value and the line, and the smallest thing left out.
func TestRead_NamesWhatIsWrongWithAnExport(t *testing.T) {
	const head = "day,campaign,source,clicks,conversions,approved,held,refused,revenue\n"
	const rows = "day,campaign,source,state,conversions,revenue,clicks\n"
	const good = "2026-11-19,C1,S1,1,1,1,0,0,1\n"
	for text, of := range map[string]struct {
		rows int
		want []string
	}{
		"day,campaign,clicks\n": {0, []string{"no column is known as the source"}},
		"day,campaign,source\n": {0, []string{"is known as clicks, conversions"}},
		"day,Date,campaign,source,clicks\n": {0,
			[]string{`the columns "day" and "Date" may both be the day`}},
		"day,campaign,source,state,clicks\n": {0,
			[]string{"a column state, and no column conversions"}},
		"day,campaign,source,state,conversions,sales\n": {0,
			[]string{"a column state and a column approved"}},
		"day,campaign,source,clicks,Clicks\n2026-11-20,C1,S1,1,2\n": {0, []string{"is there twice"}},
		head + good + "2026-11-20,C1\n": {1, []string{"line 3",
			"fewer values than the 9 columns"}},
		head + good + "2026-11-32,C1,S1,1,1,1,0,0,1\nlater,C1,S2,1,1,1,0,0,1\n": {1, []string{
			`line 3: column day: "2026-11-32" is not a day`, `line 4: column day: "later"`}},
		head + "2026-11-20,C1,S1,-1,1,1,0,0,1\n2026-11-20,C1,S2,1,1.5,1,0,0,1\n2026-11-20,C1,S4,1,1,1,0,0,€5\n": {3,
			[]string{`line 2: column clicks: "-1" is not a whole number`,
				`line 3: column conversions: "1.5"`,
				`line 4: column revenue: "€5" is not an amount`}},
		head + good + "2026-11-20,C1,S1,1,1,1,0,0,1\n2026-11-20,C1,S1,2,1,1,0,0,1\n": {1, []string{
			`line 3 and line 4 are both of 2026-11-20, campaign "C1", source "S1": which counts`}},
		rows + "2026-11-20,C1,S1,approved,1,1,\n2026-11-20,C1,S1,approved,1,1,\n": {0,
			[]string{"line 2 and line 3 are both"}},
		rows + "2026-11-20,C1,S1,approved,1,1,9\n2026-11-20,C1,S1,held,1,1,8\n": {0, []string{"line 3",
			"clicks 8 differ"}},
		rows + "2026-11-20,C1,S1,sort of,1,1,\n": {1,
			[]string{`line 2: column state: "sort_of" is none of`}},
		head + good + "2026-11-20,C\xe9,S1,1,1,1,0,0,1\n": {1,
			[]string{"line 3: it is not UTF-8 text"}},
		head: {0, []string{"a heading and no row of a day"}},
	} {
		path := write(t, text)
		got := readAll(t, Options{Paths: []string{path}})
		if len(got.days) != of.rows || len(got.Failures) == 0 {
			t.Errorf("%q gives %v", text, got.days)
		}
		for _, part := range append(of.want, path) {
			if !strings.Contains(got.said(), part) {
				t.Errorf("%q: %v\ndoes not say %q", text, got.said(), part)
			}
		}
	}
	for want, mapping := range map[string]map[string]string{
		`there is no column "Tag"`:           {"day": "Tag", "clicks": "day"},
		"revenu is none of day, campaign":    {"day": "day", "revenu": "revenue"},
		"no column is known as the campaign": {"day": "day"},
	} {
		if said := readAll(t, Options{Paths: []string{write(t, head)},
			Columns: mapping}).said(); !strings.Contains(said, want) {
			t.Errorf("%v: %v\ndoes not say %q", mapping, said, want)
		}
	}
}

// TestRead_TakesSeveralFiles: payouts and exports in any order. A row that two files have alike counts once; a day of
// which they differ is not taken.
func TestRead_TakesSeveralFiles(t *testing.T) {
	payouts := write(t, "from,payout\n2026-01-01,9.5\n")
	first := write(t, "day,campaign,source,clicks\n2026-11-20,C1,S1,4\n2026-11-21,C1,S1,5\n")
	second := write(t, "day,campaign,source,clicks\n2026-11-21,C1,S1,5\n2026-11-22,C1,S1,6\n")
	other := write(t, "day,campaign,source,clicks\n2026-11-22,C1,S1,7\n")
	got := readAll(t, Options{Paths: []string{first, payouts, second}})
	if len(got.Payouts) != 1 || len(got.days) != 3 || got.Failures != nil {
		t.Errorf("%v, %v, %v", got.Payouts, got.days, got.Failures)
	}
	got = readAll(t, Options{Paths: []string{first, second, other}})
	if len(got.days) != 2 || len(got.Failures) != 1 || !strings.Contains(got.Failures[0],
		second+", line 3, than in "+other) {
		t.Errorf("%v, %v", got.days, got.Failures)
	}
	missing := readAll(t, Options{Paths: []string{payouts, payouts + ".none", first}})
	if missing.Payouts != nil || len(missing.days) != 2 || len(missing.Failures) != 1 {
		t.Errorf("a file that cannot be opened may be the rest of the payouts: %v, %v", missing.Payouts,
			missing.Failures)
	}
}
