package payouts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spendsync/schema"
)

func n(n int64) schema.Null[int64] { return schema.Some(n) }

// TestRead_TakesBothLayoutsOfAnExport: an export with one column per state of a conversion gives the same rows as an
// export with one row per state.
func TestRead_TakesBothLayoutsOfAnExport(t *testing.T) {
	want := []schema.TrackerDay{
		{ReportDate: day("2026-11-19"), CampaignID: "C1", SourceID: "S2", Clicks: n(90), Conversions: n(6),
			Approved: n(3), Held: n(2), Refused: n(1), Revenue: dollars("28.5")},
		{ReportDate: day("2026-11-20"), CampaignID: "C1", SourceID: "S2", Clicks: n(10), Conversions: n(1),
			Approved: n(0), Held: n(0), Refused: n(1), Revenue: dollars("0")},
	}
	for name, of := range map[string]struct{ text, columns string }{
		"columns": {"day,campaign,source,clicks,approved,held,refused,revenue,ROI\n2026-11-20,C1,S2,10,0,0,1,0,5 %\n" +
			"2026-11-19,C1,S2,90,3,2,1,28.50,\n", ""},
		"semicolons, CRLF, other names": {"\ufeffDate;Campaign ID;Source ID;Visits;Approved;Pending;" +
			"Rejected;Revenue\r\n2026-11-20;C1;S2;10;0;0;1;0\r\n2026-11-19;C1;S2;90;3;2;1;28.5\r\n", ""},
		"tabs, declared columns": {"Datum\tCustom 1\tCustom 2\tvisits\tOK\tOn hold\tNew\tNo\tMoney\tBack\n" +
			"2026-11-20\tC1\tS2\t10\t0\t0\t0\t1\t0\t0\n2026-11-19\tC1\tS2\t90\t3\t1\t1\t1\t30\t-1.5\n",
			`day=Datum, campaign=Custom 1,source="Custom 2",clicks=Visits,approved=OK,held=On hold,held=New,` +
				"refused=No,revenue=Money,revenue=Back"},
		"rows": {"date,campaign,source,status,conversions,revenue,visits\n2026-11-19,C1,S2,approved,2,20,90\n" +
			"2026-11-19,C1,S2,Sale,1,8.5,90\n2026-11-19,C1,S2,On hold,2,17,\n2026-11-19,C1,S2,trash,1,9,90\n" +
			"2026-11-20,C1,S2,rejected,1,,10\n", ""},
	} {
		got := readAll(t, Options{Paths: []string{write(t, of.text)}, Columns: of.columns})
		if diff := cmp.Diff(want, got.days); got.Findings != nil || got.Payouts != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, got.Findings, diff)
		}
	}
}

// TestRead_NamesWhatIsWrongWithADeclaration: if the declaration has a syntax error, no file is read.
func TestRead_NamesWhatIsWrongWithADeclaration(t *testing.T) {
	for columns, want := range map[string]string{
		"day=Day,revenue=Revenue, $":       "$: not of the form NAME=HEADING",
		"day=Day,revenu=Revenue":           "revenu=Revenue: not one of day, campaign",
		"day=Day,day=Date":                 "day=Date: declared twice",
		"encoding=klingon":                 "encoding=klingon: not one of",
		"decimal=semicolon":                "decimal=semicolon: not one of",
		"day=":                             "day=: not one of",
		`day="Day,campaign=Campaign`:       "not of the form NAME=HEADING",
		"dates=YYYY/DD/MM,campaign=Custom": "dates=YYYY/DD/MM: not one of",
	} {
		if _, err := Read(t.Context(), Options{Columns: columns, TempDir: t.TempDir()}); err == nil ||
			!strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), Variable) {
			t.Errorf("%s: %v\ndoes not say %q", columns, err, want)
		}
	}
	for columns, want := range map[string]string{
		"day=Tag,campaign=campaign,source=source,clicks=clicks": "line 1 lacks day=tag; its columns are day, campaign",
		"day=day,campaign=campaign,clicks=clicks":               "line 1 lacks source",
		"day=day,campaign=campaign,source=source":               "line 1 lacks one of clicks, conversions",
		"day=day,campaign=campaign,source=source,clicks=Twice":  `"Twice" and "twice" may each be clicks`,
	} {
		got := readAll(t, Options{Columns: columns,
			Paths: []string{write(t, "day,campaign,source,clicks,Twice,twice\n2026-11-20,C1,S1,1,2,3\n")}})
		if !strings.Contains(got.said(), want) || got.days != nil {
			t.Errorf("%s: %v\ndoes not say %q", columns, got.said(), want)
		}
	}
}

// TestRead_TakesSeveralFiles: the files are payouts and exports in any order. For each day of a campaign the newest
// file counts, and the result has the number of rows that only older files have.
func TestRead_TakesSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, age time.Duration, text string) string {
		path := filepath.Join(dir, name)
		at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC).Add(-age)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const head = "day,campaign,source,clicks\n"
	payouts := file("payouts.csv", 0, "from,payout\n2026-01-01,9.5\n")
	file("a.csv", time.Hour, head+"2026-11-20,C1,S1,5\n2026-11-21,C1,S1,6\n2026-11-22,C1,S1,7\n")
	file("b.csv", 2*time.Hour, head+"2026-11-20,C1,S1,4\n2026-11-21,C1,S1,5\n2026-11-20,C2000000004,S1,1\n")
	file("c.csv", 3*time.Hour, head+"2026-11-21,C1,S2,9\n")
	got := readAll(t, Options{Paths: []string{filepath.Join(dir, "?.csv"), payouts}})
	clicks := ""
	for _, d := range got.days {
		clicks += fmt.Sprint(d.Clicks.V, " ")
	}
	if clicks != "5 1 6 7 " || len(got.Payouts) != 1 || got.Findings != nil ||
		!slices.Equal(got.lost, []string{"", "1 of its 2 rows", ""}) {
		t.Errorf("%s, %v, %v, lost %v", clicks, got.Payouts, got.Findings, got.lost)
	}
	missing := readAll(t, Options{Paths: []string{payouts, payouts + ".none", filepath.Join(dir, "a.csv")}})
	if missing.Payouts != nil || len(missing.days) != 3 || len(missing.Findings) != 1 {
		t.Errorf("a file that cannot be opened may be the rest of the payouts: %v, %v", missing.Payouts,
			missing.Findings)
	}
}

// TestRead_ReadsAgainWhatDiffers: files are read again if a file, the columns or the campaigns differ.
func TestRead_ReadsAgainWhatDiffers(t *testing.T) {
	path := write(t, "day,campaign,source,clicks\n2026-11-20,C1,S1,5\n")
	o := Options{Paths: []string{path}, Campaigns: ofAccount, Today: day("2026-11-27"), TempDir: t.TempDir()}
	read := func(o Options) *Own {
		t.Helper()
		own, err := Read(t.Context(), o)
		if err == nil && own != nil {
			err = own.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return own
	}
	o.Last = read(o).Inputs
	if read(o) != nil {
		t.Error("the same files are read again")
	}
	columns, campaigns, later := o, o, o
	columns.Columns, campaigns.Campaigns, later.Today = "day=day,campaign=campaign,source=source,clicks=clicks",
		map[string]bool{"C1": true}, o.Today+1
	if read(later) != nil {
		t.Error("the same files are read again on another day")
	}
	for i, o := range []Options{columns, campaigns} {
		if read(o) == nil {
			t.Errorf("%d: nothing is read", i)
		}
	}
	if err := os.WriteFile(path, []byte("day,campaign,source,clicks\n2026-11-20,C1,S1,66\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if read(o) == nil {
		t.Error("another content is not read")
	}
}

// TestRead_ComparesCounts: if counts differ much from the service's counts, this is a finding that can be accepted. The
// service counts 1000 clicks on November 20, and 300 on November 18.
func TestRead_ComparesCounts(t *testing.T) {
	for rows, want := range map[string]string{
		"2026-11-20,C2000000002,S1,1010\n": "", "2026-11-20,C2000000002,S1,490\n": "tracker.far-clicks 51",
		"2026-11-20,C2000000002,S1,1600\n": "tracker.far-clicks 160",
		"2026-11-18,C2000000002,S1,900\n":  "", // too few clicks to judge
		"2026-11-18,C2000000002,S1,9000\n": "tracker.far-clicks 3000",
		// A day that is wrong beside one that is right.
		"2026-11-20,C2000000002,S1,800\n2026-11-18,C2000000002,S1,1050\n": "tracker.far-clicks 350",
	} {
		got := readAll(t, Options{Paths: []string{write(t, "day,campaign,source,clicks\n"+rows)}})
		is := ""
		for _, f := range got.Findings {
			is += fmt.Sprint(f.Note, " ", f.Size)
		}
		if is != want || len(got.days) != strings.Count(rows, "\n") {
			t.Errorf("%s: %s, want %s", rows, got.said(), want)
		}
	}
}
