package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/schema"
)

// TestCoverage_States checks the state of each day, and which days are newly lost.
func TestCoverage_States(t *testing.T) {
	now := time.Date(2026, 11, 24, 18, 0, 0, 0, time.UTC)
	today := schema.DateOf(now)
	ended := func(d schema.Date) *Day { return &Day{LastReadAt: schema.InstantOf(d.End()), Reads: 2, RunID: "r"} }
	early := func(d schema.Date) *Day { return &Day{LastReadAt: schema.InstantOf(d.End()) - 1} }
	refused := func(d schema.Date) *Day { k := ended(d); k.Refused = 1; return k }
	far := schema.Date(schema.ReachDays)
	for _, c := range []struct {
		name string
		ago  schema.Date
		day  func(schema.Date) *Day // nil: never proven
		want string
		lost bool
	}{
		{"today/unread", 0, nil, schema.StateMissing, false},
		{"today/read", 0, early, schema.StateOpen, false},
		{"today/with refused rows", 0, func(d schema.Date) *Day { k := early(d); k.Refused = 1; return k },
			schema.StatePartial, false},
		{"yesterday/unread", 1, nil, schema.StateMissing, false},
		{"yesterday/read before its end", 1, early, schema.StatePartial, false},
		{"yesterday/read after its end", 1, ended, schema.StateComplete, false},
		{"yesterday/with refused rows", 1, refused, schema.StatePartial, false},
		{"last reachable/unread", far, nil, schema.StateMissing, false},
		{"last reachable/read", far, ended, schema.StateComplete, false},
		{"last reachable/cut", far, early, schema.StatePartial, false},
		{"out of reach/unread", far + 1, nil, schema.StateLost, true},
		{"out of reach/read", far + 1, ended, schema.StateFinal, false},
		{"out of reach/cut", far + 1, early, schema.StatePartial, true},
		{"out of reach/with refused rows", far + 1, refused, schema.StatePartial, false},
	} {
		d := today - c.ago
		a := NewAccount(d)
		if c.day != nil {
			a.Days[d] = c.day(d)
		}
		for other := d + 1; other <= today; other++ {
			a.Days[other] = ended(other)
		}
		days := a.Coverage("acme", now)
		if len(days) != int(c.ago)+1 || days[0].State != c.want || days[0].ReportDate != d ||
			days[0].AccountID != "acme" ||
			days[0].FirstReadAt.Valid != (c.day != nil) || days[0].RunID.Valid != (c.day != nil) {
			t.Errorf("%s: %+v, want %s", c.name, days[0], c.want)
		}
		lost := a.NewlyLost("acme", now)
		if (len(lost) == 1 && lost[0] == d) != c.lost || len(lost) > 1 {
			t.Errorf("%s: newly lost %v", c.name, lost)
		}
		a.ReportedLost = []schema.Date{d}
		if lost := a.NewlyLost("acme", now); len(lost) > 0 {
			t.Errorf("%s: reported again: %v", c.name, lost)
		}
		m := New()
		m.Accounts["acme"], m.PublishedAt = a, schema.InstantOf(now)
		if got := m.Coverage("acme"); !slices.Equal(got, days) || m.Coverage("other") != nil {
			t.Errorf("%s: of the manifest %+v", c.name, got)
		}
	}
}

// TestLedger: lines are read as they were written, and a changed published part is damage. LastRunThat searches all
// months and uses the last line of each run.
func TestLedger(t *testing.T) {
	dir, all := t.TempDir(), func(*schema.Run) bool { return true }
	if run, err := LastRunThat(dir, "acme", all); run != nil || err != nil {
		t.Errorf("no ledger: %+v, %v", run, err)
	}
	for month, rows := range map[string]LedgerRows{
		"2026-10": {Runs: []schema.Run{{RunID: "r1", Outcome: "ok"}, {RunID: "r2", Outcome: "begun"}}},
		"2026-11": {Runs: []schema.Run{{RunID: "r2", Outcome: "ok"}, {RunID: "r3", Outcome: "ok"},
			{RunID: "r3", Outcome: "failed"}},
			Steps: []schema.Step{{RunID: "r2"}}, Lost: []ReportedLost{{RunID: "r2", Days: []schema.Date{5}}}},
	} {
		b, err := EncodeLedger(rows)
		if err != nil {
			t.Fatal(err)
		}
		path := "ledger/account=acme/" + month + ".jsonl"
		write(t, filepath.Join(dir, path), b)
		got, size, err := ReadLedger(durable.OS, dir, path, 0, ToEnd)
		if err != nil || size != int64(len(b)) || !slices.Equal(got.Runs, rows.Runs) ||
			!slices.Equal(got.Steps, rows.Steps) || len(got.Lost) != len(rows.Lost) {
			t.Errorf("%s: %+v, %v", month, got, err)
		}
		n := int64(len(b))
		for name, c := range map[string]struct {
			b         []byte
			published int64
			sha, want string
		}{
			"as it is":   {b, n, durable.HashBytes(b), ""},
			"more":       {slices.Concat(b, b), n, durable.HashBytes(b), ""},
			"nothing":    {nil, 0, durable.HashBytes(nil), ""},
			"missing":    {nil, n, durable.HashBytes(b), "missing"},
			"cut":        {b[:n-1], n, durable.HashBytes(b), "bytes, and had"},
			"other text": {slices.Concat([]byte{'x'}, b[1:]), n, durable.HashBytes(b), "not those"},
		} {
			write(t, filepath.Join(dir, path), c.b)
			err := CheckLedger(durable.OS, dir, path, c.published, c.sha)
			if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, durable.ErrDamaged) ||
				!strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		}
		write(t, filepath.Join(dir, path), b)
	}
	write(t, filepath.Join(dir, "ledger/account=acme/notes.txt"), []byte("x"))
	run, err := LastRunThat(dir, "acme", all)
	if err != nil || run == nil || run.RunID != "r3" || run.Outcome != "failed" {
		t.Errorf("the last run: %+v, %v", run, err)
	}
	for status, want := range map[string]string{"ok": "r2", "begun": ""} {
		run, err := LastRunThat(dir, "acme", func(r *schema.Run) bool { return string(r.Outcome) == status })
		if err != nil || (run == nil) != (want == "") || run != nil && run.RunID != want {
			t.Errorf("the last run that is %s: %+v, %v", status, run, err)
		}
	}
	write(t, filepath.Join(dir, "ledger/account=acme/2026-12.jsonl"), []byte("\n{}\n{\n"))
	_, err = LastRunThat(dir, "acme", all)
	if !errors.Is(err, durable.ErrDamaged) || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("a damaged line: %v", err)
	}
}

// TestStrays: strays are the files that the manifest does not name, except ledgers and the files of TryFolders.
func TestStrays(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"parquet/spend_daily/account=acme/data.parquet", "parquet/spend_daily/account=acme/x",
		"parquet/spend_daily/account=b/x", "ledger/account=acme/2026-11.jsonl", "ledger/account=acme/2026.jsonl",
		"raw/" + OwnPrefix + "probe", "manifest/account=acme/1.json", "other/x"} {
		write(t, filepath.Join(dir, path), []byte("abc"))
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "raw/link")); err != nil {
		t.Fatal(err)
	}
	m := New()
	m.Of("acme").Files["parquet/spend_daily/account=acme/data.parquet"] = &File{}
	m.AccountFiles["acme"] = &AccountFile{Path: "manifest/account=acme/1.json"}
	for _, c := range []struct{ accounts, want []string }{
		{nil, []string{"ledger/account=acme/2026.jsonl", "parquet/spend_daily/account=acme/x",
			"parquet/spend_daily/account=b/x", "raw/link"}},
		{[]string{"b"}, []string{"parquet/spend_daily/account=b/x", "raw/link"}},
	} {
		files, err := FilesIn(durable.OS, dir, c.accounts...)
		if err != nil || files["parquet/spend_daily/account=b/x"] != 3 {
			t.Errorf("%v, %v", files, err)
		}
		if got := m.Strays(files); !slices.Equal(got, c.want) {
			t.Errorf("of %q: %q, want %q", c.accounts, got, c.want)
		}
	}
}

// TestCoverage_HasTheNumbers: the coverage of a day has the numbers of its last proven read, and the service's own sum.
func TestCoverage_HasTheNumbers(t *testing.T) {
	now := time.Date(2026, 11, 24, 18, 0, 0, 0, time.UTC)
	d := schema.DateOf(now) - 1
	a := NewAccount(d)
	a.Days[d] = &Day{FirstReadAt: 1, LastReadAt: schema.InstantOf(d.End()), Reads: 3,
		Sums: history.Sums{Rows: 5, Spend: 70, Clicks: schema.Some[int64](8)}, ContentHash: "h", RunID: "R1",
		ReadOutcome: ReadOutcome{Control: schema.ControlMatched,
			ControlTotal: ControlTotal{Spend: schema.Some[schema.Money](70), Clicks: schema.Some[int64](8)},
			RowsTotal:    schema.Some[int64](6), RowsTotalState: schema.RowsDiffer}}
	want := schema.DayCoverage{AccountID: "acme", ReportDate: d, State: schema.StateComplete,
		FirstReadAt: schema.Some[schema.Instant](1), LastReadAt: schema.Some(schema.InstantOf(d.End())), Reads: 3,
		Rows: 5, Spend: schema.Some[schema.Money](70), Clicks: schema.Some[int64](8),
		ControlSpend: schema.Some[schema.Money](70), ControlClicks: schema.Some[int64](8),
		RowsTotal: schema.Some[int64](6), RowsTotalState: schema.Some(schema.RowsDiffer),
		ControlTotalState: schema.ControlMatched, DaysUntilUnreachable: schema.ReachDays,
		Doubt: schema.Some(schema.Doubtful), PartialWhy: schema.Some("5 rows came, and total_rows is 6"),
		ContentHash: schema.Some("h"), RunID: schema.Some("R1")}
	if got := a.Coverage("acme", now); got[0] != want {
		t.Errorf("%+v, want %+v", got[0], want)
	}
	a.Days[d].RowsTotalState, a.Reach = "", schema.ReachDays-2
	got := a.Coverage("acme", now)[0]
	if got.RowsTotalState.Valid || got.DaysUntilUnreachable != schema.ReachDays-2 {
		t.Errorf("no stated number of rows, and a service that reaches two days less: %+v", got)
	}
}
