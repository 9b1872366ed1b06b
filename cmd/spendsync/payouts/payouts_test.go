package payouts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"spendsync/load/duck"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "payouts.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// got contains all results of reading files.
type got struct {
	*Own
	days []schema.TrackerDay
	lost []string // for each day, what it would lose
}

// said returns the notes and texts of all findings.
func (g got) said() string {
	var all []string
	for _, f := range g.Findings {
		all = append(all, strings.TrimSpace(f.Note+" "+f.Message))
	}
	return strings.Join(all, "\n")
}

// ofAccount contains the account's campaigns. The account's sources are in [warehouse].
var ofAccount = map[string]bool{"C1": true, "C0000001": true, "C2000000004": true, "C2000000002": true,
	"C1000037": true, "C1000111": true}

// warehouse returns a DuckDB file with sources of the account.
var warehouse = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "warehouse")
	db, failed := duck.OpenScratch(context.Background(), duck.Options{TempDir: dir}, "")
	if err = errors.Join(err, failed); err == nil {
		err = db.Exec(context.Background(), "ATTACH "+schema.QuoteText(filepath.Join(db.Dir, "w"))+" AS w",
			`CREATE TABLE w.main.spend_daily AS SELECT 'acme' AS account_id, 'C2000000002' AS campaign_id,
				unnest(['S1', 'S2', 'S1000', 'S1004', 'S1005', 'S1006', 'S1007', 'S1009', 'S1012', 'S1013'])
					AS source_id, DATE '2026-11-20' AS report_date, 100 AS clicks, 5 AS conversions`,
			"INSERT INTO w.main.spend_daily SELECT * REPLACE (DATE '2026-11-18' AS report_date, 30 AS clicks) "+
				"FROM w.main.spend_daily", `CREATE TABLE w.main.tracker_daily AS SELECT 'acme' AS account_id,
				DATE '2025-01-01' AS report_date, 'C1' AS campaign_id, unnest(['S1', 'S2']) AS source_id,
				10.5::DECIMAL(18, 6) AS revenue`, "DETACH w")
	}
	path := filepath.Join(dir, "w")
	if err = errors.Join(err, os.Rename(filepath.Join(db.Dir, "w"), path), db.Close()); err != nil {
		panic(err)
	}
	return path
})

func TestMain(m *testing.M) {
	path := warehouse()
	code := m.Run()
	_ = os.RemoveAll(filepath.Dir(path))
	os.Exit(code)
}

// readAll reads files to the end.
func readAll(t *testing.T, o Options) (g got) {
	t.Helper()
	o.TempDir, o.Account, o.Warehouse = t.TempDir(), "acme", warehouse()
	if o.Campaigns == nil {
		o.Campaigns = ofAccount
	}
	if o.Today == 0 {
		o.Today = day("2026-11-27")
	}
	own, err := Read(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	g.Own = own
	if err := own.EachDay(t.Context(), func(d Day, rows []schema.TrackerDay) error {
		g.days, g.lost = append(g.days, rows...), append(g.lost, d.Loss)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := own.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(o.TempDir); err != nil || len(left) > 0 {
		t.Errorf("the reading left %v, %v", left, err)
	}
	return g
}

func day(text string) schema.Date {
	d, err := schema.ParseDate(text)
	if err != nil {
		panic(err)
	}
	return d
}

func dollars(text string) schema.Null[schema.Money] {
	m, _, err := schema.ParseMoney([]byte(text))
	if err != nil {
		panic(err)
	}
	return schema.Some(m)
}

// lines contains the payouts of both files of [TestRead_TakesBothKindsOfFileExactly].
var lines = []schema.Payout{
	{FromDate: day("2026-01-01"), ToDate: schema.Some(day("2026-06-30")), Payout: dollars("12.345678")},
	{FromDate: day("2026-07-01"), CampaignID: "C0000001", SourceID: "S1", Payout: dollars("0.1")},
	{FromDate: day("2026-07-01"), CreativeID: "C0000001-001", Payout: dollars("999999999999")},
}

func TestRead_TakesBothKindsOfFileExactly(t *testing.T) {
	for name, text := range map[string]string{
		"commas": "from,to,campaign,creative,source,payout\n2026-01-01,2026-06-30,,,,12.345678\n" +
			"2026-07-01,,C0000001,,S1,0.1\n2026-07-01,,,C0000001-001,,999999999999\n",
		"semicolons, CRLF, a mark, other names": "\ufeff" +
			"payout;from_date;campaign_id;source_id;creative_id;to_date\r\n" +
			"12.345678;2026-01-01;;;;2026-06-30\r\n0.10;2026-07-01; C0000001;S1;;\r\n" +
			"999999999999;2026-07-01;;;C0000001-001;\r\n",
		"tabs": "from\tto\tcampaign\tcreative\tsource\tpayout\n2026-01-01\t2026-06-30\t\t\t\t12.345678\n" +
			"2026-07-01\t\tC0000001\t\tS1\t0.1\n2026-07-01\t\t\tC0000001-001\t\t999999999999\n",
	} {
		got := readAll(t, Options{Paths: []string{write(t, text)}})
		if diff := cmp.Diff(lines, got.Payouts); got.Findings != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, got.Findings, diff)
		}
	}
	type row struct {
		From     int32   `parquet:"from,date"`
		To       *int32  `parquet:"to,date"`
		Campaign *string `parquet:"campaign"`
		Creative string  `parquet:"creative"`
		Source   string  `parquet:"source"`
		Payout   int64   `parquet:"payout,decimal(6:18)"`
	}
	var rows []row
	for _, l := range lines {
		r := row{From: int32(l.FromDate), Creative: l.CreativeID, Source: l.SourceID, Payout: int64(l.Payout.V)}
		if l.ToDate.Valid {
			to := int32(l.ToDate.V)
			r.To = &to
		}
		if l.CampaignID != "" {
			r.Campaign = &l.CampaignID
		}
		rows = append(rows, r)
	}
	path := filepath.Join(t.TempDir(), "payouts.parquet")
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
	got := readAll(t, Options{Paths: []string{path}})
	if diff := cmp.Diff(lines, got.Payouts); got.Findings != nil || diff != "" {
		t.Errorf("parquet: %v\n%s", got.Findings, diff)
	}
	type double struct {
		From   string  `parquet:"from"`
		Payout float64 `parquet:"payout"`
	}
	if err := parquet.WriteFile(path, []double{{"2026-01-01", 0.1}}); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, Options{Paths: []string{path}}).Payouts; len(got) != 1 || got[0].Payout != dollars("0.1") {
		t.Errorf("doubles: %v", got)
	}
}

// TestRead_NamesEverythingThatIsWrong checks that every bad line is reported, with its number and the wrong value.
func TestRead_NamesEverythingThatIsWrong(t *testing.T) {
	const head = "from,to,campaign,creative,source,payout\n"
	for text, want := range map[string][]string{
		"":                                     {"it is empty"},
		"from,to\n":                            {"line 1 lacks payout"},
		"from,payout,compaign\n":               {`the column "compaign" is none of`, "did you mean campaign?"},
		"from,payout,from_date\n":              {`"from" and "from_date" may each be from`},
		"from,payout,Payout\n2026-01-01,1,2\n": {`"payout" and "Payout" may each be payout`},
		head:                                   {"there is a heading and no line"},
		head + "2026-01-01,,,,\n":              {"line 2", "fewer values than the 6 columns"},
		head + "2026-01-01,,,,,1,2\n":          {"line 2", "more values than the 6 columns"},
		head + "2026-02-30,,,,,1\n":            {`line 2: column "from": "2026-02-30"`},
		head + "2026-01-02,2026-01-01,,,,1\n":  {"line 2: to 2026-01-01 is before from 2026-01-02"},
		head + "2026-01-01,,C1,C1-1,,1\n":      {`line 2: campaign "C1" and creative "C1-1"`},
		head + "2026-01-01,,,,,1\n2026,,,,,\n": {`line 3: column "from": "2026"`},
		head + "2026-01-01,,,,a,-1\n2026-01-01,,,,d,NaN\n2026-01-01,,,,e,€5\n2026-01-01,,,,f,1234567890123\n": {
			`line 2: the payout -1.00 is below 0`, `line 3: there is no payout`, `line 4: column "payout": "€5"`,
			`line 5: column "payout": "1234567890123"`},
		head + "2026-01-01,,C1,,,1\n2026-01-01,,C2,,,1\n2025-01-01,2026-01-01,C1,,,2\n": {
			"line 4 and payouts.csv line 2 are about the same and both hold on 2026-01-01"},
		head + strings.Repeat("x,,,,,1\n", 30): {"line 2:", "(so do 29 more)"},
	} {
		path := write(t, text)
		got := readAll(t, Options{Paths: []string{path}})
		if got.Payouts != nil || len(got.Findings) == 0 {
			t.Errorf("%q gives %v", text, got.Payouts)
		}
		for _, part := range append(want, filepath.Base(path)) {
			if !strings.Contains(got.said(), part) {
				t.Errorf("%q: %v\ndoes not say %q", text, got.said(), part)
			}
		}
	}
	if got := readAll(t, Options{Paths: []string{t.TempDir()}}); len(got.Findings) != 1 {
		t.Error("a folder is taken")
	}
}

// TestRead_OfAMillionLines: a file of a million rows that all fit is read within the memory of the engine.
func TestRead_OfAMillionLines(t *testing.T) {
	schematest.Long(t) // some eight CPU seconds
	const days, campaigns, sources = 40, 50, 500
	var text strings.Builder
	text.WriteString("date,campaign_id,source_id,clicks,conversions,revenue\n")
	known := map[string]bool{}
	for i := range days * campaigns * sources {
		campaign := fmt.Sprintf("C%07d", i/days%campaigns)
		known[campaign] = true
		fmt.Fprintf(&text, "%s,%s,S%d,%d,%d,0.25\n", schema.Date(20700+i%days), campaign, i/days/campaigns, i%300, i%7)
	}
	own, err := Read(t.Context(), Options{Paths: []string{write(t, text.String())}, Campaigns: known, Account: "acme",
		Today: 20780, TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	read, rows := 0, 0
	err = own.EachDay(t.Context(), func(_ Day, of []schema.TrackerDay) error {
		read, rows = read+1, rows+len(of)
		return nil
	})
	if err = errors.Join(err, own.Close()); err != nil || len(own.Findings) > 0 || read != days ||
		rows != days*campaigns*sources {
		t.Errorf("%d days, %d rows, findings %v, %v", read, rows, own.Findings, err)
	}
}
