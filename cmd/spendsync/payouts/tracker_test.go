package payouts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spendsync/schema"
)

func some(n int64) schema.Null[int64] { return schema.Some(n) }

// TestRead_TakesBothLayoutsOfAnExport: a column for each state and a row for each state give the same rows.
func TestRead_TakesBothLayoutsOfAnExport(t *testing.T) {
	want := []schema.TrackerDay{
		{ReportDate: day("2026-11-19"), CampaignID: "C1", SourceID: "", Clicks: some(7), Conversions: some(0),
			Approved: some(0), Held: some(0), Refused: some(0), Revenue: dollars("0")},
		{ReportDate: day("2026-11-19"), CampaignID: "C1", SourceID: "S2", Clicks: some(90), Conversions: some(6),
			Approved: some(3), Held: some(2), Refused: some(1), Revenue: dollars("28.5")},
		{ReportDate: day("2026-11-20"), CampaignID: "C1", SourceID: "S2", Clicks: some(10), Conversions: some(1),
			Approved: some(0), Held: some(0), Refused: some(1), Revenue: dollars("0")},
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
		lines, got, err := Read([]string{write(t, of.text)}, of.mapping)
		if diff := cmp.Diff(want, got); err != nil || lines != nil || diff != "" {
			t.Errorf("%s: %v, payouts %v\n%s", name, err, lines, diff)
		}
	}
	totals := "day,campaign,source,conversions,revenue\n2026-11-19,C1,S2,6,28.5\n2026-11-20,C1,S2,,\n"
	_, got, err := Read([]string{write(t, totals)}, nil)
	if diff := cmp.Diff([]schema.TrackerDay{
		{ReportDate: day("2026-11-19"), CampaignID: "C1", SourceID: "S2", Conversions: some(6),
			Revenue: dollars("28.5")},
		{ReportDate: day("2026-11-20"), CampaignID: "C1", SourceID: "S2"}}, got); err != nil || diff != "" {
		t.Errorf("conversions alone: %v\n%s", err, diff)
	}
}

// TestRead_NamesWhatIsWrongWithAnExport wants the cause, the value and the line.
func TestRead_NamesWhatIsWrongWithAnExport(t *testing.T) {
	const head = "day,campaign,source,clicks,conversions,approved,held,refused,revenue\n"
	const rows = "day,campaign,source,state,conversions,revenue,clicks\n"
	for text, want := range map[string][]string{
		"day,campaign,clicks\n":                       {"needs a column source"},
		"day,campaign,source\n":                       {"none of the columns clicks"},
		"day,campaign,source,clicks,aproved\n":        {`the column "aproved"`, "SPENDSYNC_TRACKER_COLUMNS"},
		"day,Date,campaign,source,clicks\n":           {`the columns "day" and "Date" are both day`},
		"day,campaign,source,state,clicks\n":          {"a column state, and no column conversions"},
		"day,campaign,source,state,conversions,sales": {"a column state and a column approved"},
		"day,campaign;source,clicks\n":                {`the column "campaign;source"`},
		head + "2026-11-20;C1;S1;1;1;1;1;1;1\n":       {"line 2: 1 values under 9 columns"},
		head + "20.11.2026,C1,S1,1,1,1,0,0,1\n11/12/2026,C1,S1,1,1,1,0,0,1\nTotal,,,1,1,1,0,0,1\n": {
			`line 2: day "20.11.2026" is not a day`, `line 3: day "11/12/2026"`, `line 4: day "Total"`},
		head + "2026-11-20,C1,S1,-1,1,1,0,0,1\n2026-11-20,C1,S2,1,1.5,1,0,0,1\n2026-11-20,C1,S3,1,1,1,0,0,-4.5\n" +
			"2026-11-20,C1,S4,1,1,1,0,0,\"1,5\"\n2026-11-20,C1,S5,1,1,1,0,0,1.0000001\n": {
			`line 2: clicks "-1" is not a whole number`, `line 3: conversions "1.5"`, `line 4: revenue "-4.5"`,
			`line 5: revenue "1,5"`, `line 6: revenue "1.0000001" has more than six decimals`},
		head + "2026-11-20,C1,S1,1,1,1,0,0,1\n2026-11-20,C1,S1,2,1,1,0,0,1\n": {
			`line 3: 2026-11-20, campaign "C1", source "S1" has a row before, in 2: which counts?`},
		rows + "2026-11-20,C1,S1,approved,1,1,\n2026-11-20,C1,S1,approved,1,1,\n": {"line 3: 2026-11-20"},
		rows + "2026-11-20,C1,S1,approved,1,1,9\n2026-11-20,C1,S1,held,1,1,8\n":   {"line 3: clicks 8 differ"},
		rows + "2026-11-20,C1,S1,refund,1,1,\n2026-11-20,C1,S1,held,,1,\n": {`line 2: state "refund" is none of`,
			`line 3: conversions ""`},
		head + "2026-11-20,C\xe9,S1,1,1,1,0,0,1\n": {`line 2: "C\xe9" is not UTF-8 text`},
	} {
		wantRefused(t, text, want)
	}
	path := write(t, head)
	for want, mapping := range map[string]map[string]string{
		`there is no column "Tag"`:        {"day": "Tag"},
		"revenu is none of day, campaign": {"revenu": "revenue"},
		"needs a column campaign":         {"day": "day"},
	} {
		if _, _, err := Read([]string{path}, mapping); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v\ndoes not say %q", mapping, err, want)
		}
	}
}

// TestRead_TakesOneFileOfAKind: payouts and an export may both be there, in any order.
func TestRead_TakesOneFileOfAKind(t *testing.T) {
	payouts := write(t, "from,payout\n2026-01-01,9.5\n")
	export := write(t, "day,campaign,source,clicks\n2026-11-20,C1,S1,4\n")
	lines, rows, err := Read([]string{export, payouts}, nil)
	if len(lines) != 1 || len(rows) != 1 || err != nil {
		t.Errorf("%v, %v, %v", lines, rows, err)
	}
	for _, twice := range []string{payouts, export} {
		lines, rows, err := Read([]string{twice, payouts, export}, nil)
		if err == nil || lines != nil || rows != nil || !strings.Contains(err.Error(), "one of a kind is read") {
			t.Errorf("%v, %v, %v", lines, rows, err)
		}
	}
}
