package manifest

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"spendsync/load/durable"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestSetBack names both generations and the time between them, as far as the newer part shows them.
func TestSetBack(t *testing.T) {
	m := New()
	m.Generation, m.PublishedAt = 5, schema.InstantOf(schema.NewDate(2026, 3, 8).Start())
	at := schema.InstantOf(schema.NewDate(2026, 3, 9).Start())
	for name, c := range map[string]struct {
		part NewerPart
		says []string
	}{
		"known": {NewerPart{"ledger/x", 7, "R7", at}, []string{"from generation 7 to 5", "ledger/x", "run R7",
			"of generation 7 or later", "between " + m.PublishedAt.String() + " and " + at.String()}},
		"not known": {NewerPart{Path: "parquet/x", RunID: "R7"}, []string{"from a later generation to 5",
			"of a generation later than 5", "since " + m.PublishedAt.String()}},
	} {
		d := m.SetBack(c.part)
		for _, says := range c.says {
			if text := d.What + "; " + d.Repair; !strings.Contains(text, says) || d.Path != FileName {
				t.Errorf("%s: %q lacks %q", name, text, says)
			}
		}
	}
}

// older is a store of generation 5 in which each part names the runs that wrote it.
type older struct {
	dir  string
	m    *Manifest
	day  string // file of a day
	rows []schema.Spend
}

const (
	octoberLedger  = "ledger/account=acme/2026-10.jsonl"
	novemberLedger = "ledger/account=acme/2026-11.jsonl"
)

func ledger(t testing.TB, runs ...schema.Run) []byte {
	t.Helper()
	b, err := EncodeLedger(LedgerRows{Runs: runs})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func published(generation int64, id string) schema.Run {
	return schema.Run{RunID: id, Generation: generation, Published: true, FinishedAt: schema.Instant(generation)}
}

func newOlder(t *testing.T) *older {
	t.Helper()
	o := &older{dir: t.TempDir(), m: New()}
	o.m.Generation, o.m.RunID = 5, "R5"
	a := o.m.Of("acme")
	a.Days[20000] = &Day{RunID: "of the day"}
	a.Files["raw/x"] = &File{Kind: KindRaw, RunID: "of a file"}
	for path, text := range map[string][]byte{
		octoberLedger:  ledger(t, published(3, "of the ledger"), schema.Run{RunID: "failed", Generation: 6}),
		novemberLedger: ledger(t, published(5, "R5")),
	} {
		write(t, filepath.Join(o.dir, path), text)
		a.Ledger[path], a.LedgerSHA256[path] = int64(len(text)), HashLedger(text)
	}
	o.day = PartPath(schema.SpendDaily.Table, "acme", 20000)
	o.rows = schematest.SpendOfSources(20000, 6)
	for i, id := range []string{"R5", "of the day", "of a file", "of the ledger", "failed", "R5"} {
		o.rows[i].RunID, o.rows[i].ChangedAt = id, schema.Instant(100+i)
	}
	a.Files[o.day] = putTable(t, o.dir, o.day, schema.SpendDaily, o.rows)
	return o
}

// add appends lines to a file.
func (o *older) add(t *testing.T, path string, lines []byte) {
	t.Helper()
	b, err := ReadLedger(durable.OS, o.dir, path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(o.dir, path), append(b, lines...))
}

// by replaces the file of the day by one with rows of other runs.
func (o *older) by(t *testing.T, runs ...string) {
	for i, id := range runs {
		o.rows[i+1].RunID = id
	}
	// Text of another length: a file of the published size is not read.
	o.rows[5].CampaignName = HashLedger([]byte(o.day))
	putTable(t, o.dir, o.day, schema.SpendDaily, o.rows)
}

func (o *older) newest(t *testing.T, d durable.Disk) (NewerPart, error) {
	t.Helper()
	files, err := FilesIn(durable.OS, o.dir)
	if err != nil {
		t.Fatal(err)
	}
	return o.m.Newest(d, o.dir, files)
}

// TestNewest finds the part of a store that is newer than its manifest: publishing on top of the store would forget
// what only that part knows. What is unreadable shows nothing: it is another damage, with another repair.
func TestNewest(t *testing.T) {
	unknown := NewerPart{Path: PartPath(schema.SpendDaily.Table, "acme", 20000), RunID: "R6", At: 103}
	for name, c := range map[string]struct {
		change func(*testing.T, *older)
		want   NewerPart
	}{
		"as published": {func(*testing.T, *older) {}, NewerPart{}},
		"the ledger/a later run published": {func(t *testing.T, o *older) {
			o.add(t, novemberLedger, ledger(t, published(6, "R6")))
		}, NewerPart{novemberLedger, 6, "R6", 6}},
		"the ledger/a later file": {func(t *testing.T, o *older) {
			o.add(t, "ledger/account=acme/2026-12.jsonl", ledger(t, published(6, "R6")))
		}, NewerPart{"ledger/account=acme/2026-12.jsonl", 6, "R6", 6}},
		"the ledger/three later runs": {func(t *testing.T, o *older) {
			o.add(t, novemberLedger, ledger(t, published(7, "R7"), published(8, "R8"), published(6, "R6")))
		}, NewerPart{novemberLedger, 8, "R8", 8}},
		"the ledger/two runs of one generation": {func(t *testing.T, o *older) {
			o.add(t, novemberLedger, ledger(t, published(6, "R6"), published(6, "R6b")))
		}, NewerPart{novemberLedger, 6, "R6", 6}},
		"the ledger/a later run failed": {func(t *testing.T, o *older) {
			o.add(t, novemberLedger, ledger(t, schema.Run{RunID: "R6", Generation: 6}))
		}, NewerPart{}},
		"the ledger/a line is cut": {func(t *testing.T, o *older) {
			o.add(t, novemberLedger, ledger(t, published(6, "R6"))[:20])
		}, NewerPart{}},
		"the ledger/a line after one that is cut": {func(t *testing.T, o *older) {
			o.add(t, novemberLedger, append([]byte("{\n{}\n"), ledger(t, published(6, "R6"))...))
		}, NewerPart{novemberLedger, 6, "R6", 6}},
		"the ledger/cut below what is published": {func(t *testing.T, o *older) {
			write(t, filepath.Join(o.dir, novemberLedger), nil)
		}, NewerPart{}},
		"the ledger/of another account, as old": {func(t *testing.T, o *older) {
			o.add(t, "ledger/account=other/2026-11.jsonl", ledger(t, published(4, "R4"), published(5, "R5")))
		}, NewerPart{}},
		"the ledger/of another account, later": {func(t *testing.T, o *older) {
			o.add(t, "ledger/account=other/2026-11.jsonl", ledger(t, published(6, "R6")))
		}, NewerPart{"ledger/account=other/2026-11.jsonl", 6, "R6", 6}},
		"not a ledger": {func(t *testing.T, o *older) {
			o.add(t, "ledger/account=acme/2026-11.jsonl.bak", ledger(t, published(6, "R6")))
		}, NewerPart{}},
		"parquet/other rows of known runs": {func(t *testing.T, o *older) { o.by(t) }, NewerPart{}},
		"parquet/rows of an unknown run": {func(t *testing.T, o *older) { o.by(t, "a", "R6", "R6") },
			unknownAs(unknown, "a")},
		"parquet/the last row is unknown": {func(t *testing.T, o *older) { o.by(t, "R5", "R5", "R6") }, unknown},
		"parquet/of the published size":   {func(t *testing.T, o *older) { o.ofItsSize(t) }, NewerPart{}},
		"parquet/of another account's rows": {func(t *testing.T, o *older) {
			o.rows[0].AccountID = "x"
			o.by(t, "R6")
		}, NewerPart{}},
		"parquet/damaged": {func(t *testing.T, o *older) { o.add(t, o.day, []byte("more")) }, NewerPart{}},
		"parquet/a name that no table has": {func(t *testing.T, o *older) {
			o.copied(t, "parquet/spend_daily/account=acme/x")
		}, NewerPart{}},
		"parquet/of an account that is not loaded": {func(t *testing.T, o *older) {
			o.copied(t, PartPath(schema.SpendDaily.Table, "other", 20000))
		}, NewerPart{}},
		"parquet/a file that is not named": {func(t *testing.T, o *older) {
			o.by(t, "R5", "R5", "R6")
			delete(o.m.Accounts["acme"].Files, o.day)
		}, unknown},
		"parquet/a ledger is changed": {func(t *testing.T, o *older) {
			o.by(t, "R6")
			o.m.Accounts["acme"].LedgerSHA256[octoberLedger] = HashLedger(nil)
		}, NewerPart{}},
		"parquet/a ledger is missing": {func(t *testing.T, o *older) {
			o.by(t, "R6")
			if err := durable.OS.Remove(filepath.Join(o.dir, octoberLedger)); err != nil {
				t.Fatal(err)
			}
		}, NewerPart{}},
		"parquet/the ledger has a line that is cut": {func(t *testing.T, o *older) {
			o.by(t, "R6")
			o.add(t, novemberLedger, []byte("{\n"))
		}, NewerPart{}},
		"parquet/a failed run after the generation": {func(t *testing.T, o *older) {
			o.by(t, "R6")
			o.add(t, novemberLedger, ledger(t, schema.Run{RunID: "R6"}))
		}, NewerPart{}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOlder(t)
			c.change(t, o)
			if got, err := o.newest(t, durable.OS); got != c.want || err != nil {
				t.Errorf("%+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

func unknownAs(p NewerPart, run string) NewerPart { p.RunID = run; return p }

// ofItsSize replaces the file of the day by one with rows of an unknown run that has the published size.
func (o *older) ofItsSize(t *testing.T) {
	o.by(t, "R6")
	b, err := durable.OS.ReadFile(filepath.Join(o.dir, o.day), durable.MaxText)
	if err != nil {
		t.Fatal(err)
	}
	o.m.Accounts["acme"].Files[o.day].Bytes = int64(len(b))
}

// copied puts the rows of an unknown run at another path.
func (o *older) copied(t *testing.T, path string) {
	o.rows[1].RunID = "R6"
	putTable(t, o.dir, path, schema.SpendDaily, o.rows)
}

// TestNewest_DiskFails: what cannot be read may be newer, so that is an error.
func TestNewest_DiskFails(t *testing.T) {
	for path, change := range map[string]func(*older){
		novemberLedger: func(o *older) { o.add(t, novemberLedger, []byte("\n")) },
		octoberLedger:  func(o *older) { o.by(t, "R6") },
		PartPath(schema.SpendDaily.Table, "acme", 20000): func(o *older) { o.by(t, "R6") },
		"ledger/account=acme":                            func(o *older) { o.by(t, "R6") },
	} {
		o := newOlder(t)
		change(o)
		if got, err := o.newest(t, failingAt(o.dir, path)); !errors.Is(err, durable.ErrStorage) || got.Path != "" {
			t.Errorf("%s cannot be read: %+v, %v", path, got, err)
		}
	}
}

// TestNewerParquet: the runs that a ledger records for a later generation are not known, and the time of a newer
// file is that of its newest row, in each table that has one.
func TestNewerParquet(t *testing.T) {
	o := newOlder(t)
	o.add(t, novemberLedger, ledger(t, published(6, "R6"), published(6, "R6")))
	o.by(t, "R6", "R5", "R6")
	want := NewerPart{Path: o.day, RunID: "R6", At: 103}
	if got, err := o.m.newerParquet(durable.OS, o.dir, "acme", o.day); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	limits := PartPath(schema.AccountLimits.Table, "acme", 0)
	putTable(t, o.dir, limits, schema.AccountLimits, []schema.AccountLimit{{AccountID: "acme", SeenAt: 7, RunID: "R6"},
		{AccountID: "acme", SeenAt: 6, RunID: "R6"}, {AccountID: "acme", SeenAt: 9, RunID: "R5"}})
	calendar := PartPath(schema.Calendar.Table, "acme", 0)
	putTable(t, o.dir, calendar, schema.Calendar, schema.CalendarDays("acme", "R6", 2026, 2026))
	campaigns := PartPath(schema.CampaignHistory.Table, "acme", 0)
	putTable(t, o.dir, campaigns, schema.CampaignHistory, []schema.Campaign{{AccountID: "acme",
		RunID: "R6", Frame: schema.Frame{ValidFrom: 11}}})
	for path, at := range map[string]schema.Instant{limits: 7, calendar: 0, campaigns: 11} {
		want := NewerPart{Path: path, RunID: "R6", At: at}
		if got, err := o.m.newerParquet(durable.OS, o.dir, "acme", path); got != want || err != nil {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		if got, err := o.m.newerParquet(durable.OS, o.dir, "other", path); got != (NewerPart{}) || err != nil {
			t.Errorf("of another account: %+v, %v", got, err)
		}
	}
}

// TestPublishedRuns skips what is not a line of a run that published.
func TestPublishedRuns(t *testing.T) {
	lines := ledger(t, published(1, "R1"), schema.Run{RunID: "R2"}, published(3, "R3"))
	lines = append(lines, `{"step": {}}
{"run": {"_run_id": "R4", "published": true, "generation": "x"}}
{`...)
	runs := publishedRuns(lines)
	if len(runs) != 2 || runs[0].RunID != "R1" || runs[1].RunID != "R3" || runs[1].Generation != 3 {
		t.Errorf("%+v", runs)
	}
}
