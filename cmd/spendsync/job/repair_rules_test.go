package job

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// oneDayStore is a published store of a day with two pages of replies.
func oneDayStore(t *testing.T, day schema.Date) (dir string) {
	return storeOf(t, day, "a1 b2 c3~ =4 / d4? =4")
}

// storeOf is a published store of a day.
func storeOf(t *testing.T, day schema.Date, replies string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	before := emptyStore(t)
	firsts.Copy(t, "day "+replies, dir, func() {
		if err := os.CopyFS(dir, os.DirFS(before)); err != nil {
			t.Fatal(err)
		}
		d, end := newDayTest(t, dir, &scriptedReport{day: day, reads: []string{replies},
			sums: []string{"400 none"}})
		defer end()
		d.s.RunID = "run0b"
		if k := d.copyDay(t.Context(), plannedDay{Day: day}); !k.isStaged {
			t.Fatal(k.err)
		}
		d.commit(t)
	})
	return dir
}

// commit publishes what is staged.
func (d *dayTest) commit(t *testing.T) {
	t.Helper()
	prepared, err := d.s.staged.Prepare(t.Context(), load.Contents{Since: d.day})
	if err == nil {
		defer prepared.Close()
		run := schema.Run{AccountID: "acme", RunID: d.s.RunID, Published: true, StartedAt: schema.InstantOf(worldNow),
			Generation: prepared.Preview().Generation}
		_, err = prepared.Commit(t.Context(), load.RunRecord{Run: run})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestReplayDay: a day is made again from its replies if they yield other rows now, or if its file is damaged; what
// would lose rows is refused.
func TestReplayDay(t *testing.T) {
	day := schema.DateOf(worldNow) - 5
	dir := oneDayStore(t, day)
	part := filepath.Join(dir, manifest.PartPath(schema.SpendDaily.Table, "acme", day))
	good, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		edit   func(*manifest.Day)
		damage bool
		noRaw  bool
		want   string // replayed, changed, skipped
		err    error
		says   string
	}{
		"as it is":              {want: "1 0 0"},
		"other rows":            {edit: func(k *manifest.Day) { k.ContentHash = "x" }, want: "1 1 0"},
		"rows were refused":     {edit: func(k *manifest.Day) { k.Refused = 1 }, want: "1 1 0"},
		"another number unread": {edit: func(k *manifest.Day) { k.Unread = 2 }, want: "1 1 0"},
		"damaged":               {damage: true, want: "1 1 0"},
		"no replies":            {noRaw: true, want: "0 0 1"},
		"damaged, and no replies": {noRaw: true, damage: true, want: "0 0 0", err: durable.ErrDamaged,
			says: "no replies are kept"},
	} {
		d, end := newDayTest(t, dir, &scriptedReport{day: day})
		known := *d.s.store.Account().Days[day]
		if c.edit != nil {
			c.edit(&known)
		}
		d.s.store.Account().Days[day] = &known
		if c.noRaw {
			for path, f := range d.s.store.Account().Files {
				if f.Kind == manifest.KindRaw {
					delete(d.s.store.Account().Files, path)
				}
			}
		}
		if c.damage {
			if err := os.WriteFile(part, []byte("PAR1"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		m := &offlineRun{Job: d.s.Job, command: "replay", start: worldNow, store: d.s.store, staged: d.s.staged}
		err := m.replayDay(t.Context(), day, &known)
		if got := fmt.Sprint(m.replayed, m.changed, m.skipped); got != c.want || !errors.Is(err, c.err) ||
			(err == nil) != (c.err == nil) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		end()
		if err := os.WriteFile(part, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReplayDay_OfRefusedRows: a proven day never loses a row to a replay.
func TestReplayDay_OfRefusedRows(t *testing.T) {
	day := schema.DateOf(worldNow) - 5
	for name, c := range map[string]struct {
		replies string
		refused int64 // that were when the day was stored
		older   bool
		want    string
		says    string
	}{
		"as they were":                    {"a1 b2! =2", 1, false, "1 0", ""},
		"none was refused":                {"a1 b2! =2", 0, false, "0 0", "its replies: "},
		"none was, by older rules":        {"a1 b2! =2", 0, true, "0 0", "its replies: "},
		"more were":                       {"a1 b2! =2", 2, false, "1 1", ""},
		"without a source":                {"a1 b2_ =2", 1, false, "1 0", ""},
		"without a source, but published": {"a1 b2_ =2", 0, true, "0 0", "its replies: "},
		"by older rules, as they were":    {"a1 b2_ =2", 1, true, "1 0", ""},
	} {
		d, end := newDayTest(t, storeOf(t, day, c.replies), &scriptedReport{day: day})
		known := *d.s.store.Account().Days[day]
		known.Refused = c.refused
		d.s.store.Account().Days[day] = &known
		for _, f := range d.s.store.Account().Files {
			if f.Kind == manifest.KindRaw && c.older {
				f.Fingerprint = "0:x"
			}
		}
		m := &offlineRun{Job: d.s.Job, command: "replay", start: worldNow, store: d.s.store, staged: d.s.staged}
		err := m.replayDay(t.Context(), day, &known)
		if got := fmt.Sprint(m.replayed, m.changed); got != c.want || (err == nil) != (c.says == "") ||
			err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		end()
	}
}

// TestRowsOf: replies are taken apart as when they came, and their pages are named.
func TestRowsOf(t *testing.T) {
	f := &scriptedReport{day: aDay}
	for script, want := range map[string]string{
		"a1 b2~ c3! / d4? e5? f6! / g1~": "5 rows, 2 rounded, 2 refused, 2 unread [clicks.string], page 1 row 3",
		"a1 b2":                          "2 rows, 0 rounded, 0 refused, 0 unread []",
		"a1 / no":                        "page 2: ",
	} {
		pages := func(yield func([]byte, error) bool) {
			for i, page := range strings.Split(script, " / ") {
				_, body := f.page(i+1, page)
				if page == "no" {
					body = "no JSON"
				}
				if !yield([]byte(body), nil) {
					return
				}
			}
		}
		c := transform.SpendContext{Account: "acme", Day: aDay}
		got, err := rowsOf(c, pages)
		text := fmt.Sprint(err)
		if err == nil {
			text = fmt.Sprintf("%d rows, %d rounded, %d refused, %d unread %v", got.rows.Len(), got.Rounded,
				got.Refused, got.Unread, got.UnreadForms)
			if got.first != nil {
				text += ", " + got.first.Error()
			}
		}
		if !strings.Contains(strings.ReplaceAll(text, "spend_daily ", ""), want) {
			t.Errorf("%s: %s", script, text)
		}
	}
	broken := func(yield func([]byte, error) bool) { yield(nil, io.ErrUnexpectedEOF) }
	if _, err := rowsOf(transform.SpendContext{Day: aDay}, broken); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a page that cannot be read: %v", err)
	}
}

// TestOfflineRun_Row: what a repair's line says, and its exit code.
func TestOfflineRun_Row(t *testing.T) {
	const rebuilt = "published generation 7: warehouse.duckdb is built again from Parquet"
	const replayed = "published generation 7: 3 days read again from the stored replies, 2 changed, 1 without replies"
	for want, c := range map[string]struct {
		run  offlineRun
		o    load.Preview
		code int
	}{
		rebuilt: {run: offlineRun{command: "rebuild", replayed: 3, filled: 1}},
		rebuilt + "; views: no view": {o: load.Preview{ViewErrors: []error{errors.New("no view")}},
			code: exit.Partial},
		replayed: {run: offlineRun{command: "replay", replayed: 3, changed: 2, skipped: 1}},
		replayed + ", 1 day proven from quarantine, 4 versions of settings filled in, " +
			"2 days in quarantine not proven by this version": {run: offlineRun{command: "replay", replayed: 3,
			changed: 2, skipped: 1, released: []schema.Date{1}, filled: 4, unproven: 2}},
		rebuilt + "; a: no reply: ; b: x": {run: offlineRun{findings: []finding{
			{what: "a", err: fmt.Errorf("no reply: %w", extract.ErrContract)}, {what: "b", err: errors.New("x")}}},
			code: exit.Contract},
	} {
		var log strings.Builder
		c.run.Job = Job{Account: "acme", RunID: "run2", Now: atWorldNow, Log: logTo(&log)}
		c.o.Generation, c.o.Restatements = 7, 5
		row := c.run.row(c.o)
		text := strings.ReplaceAll(row.Message.V, extract.ErrContract.Error(), "")
		if text != want || row.ExitCode != int64(c.code) || row.Generation != 7 || !row.Published ||
			row.Restatements != 5 || row.DaysChanged != int64(c.run.changed) {
			t.Errorf("%q: %q, exit %d, %+v, %s", want, text, row.ExitCode, row, log.String())
		}
	}
}

// TestOpenStored: a repair needs a store that has the account.
func TestOpenStored(t *testing.T) {
	j := Job{Account: "acme", DataDir: filepath.Join(t.TempDir(), "data"), Now: atWorldNow, Log: newTestLog(t)}
	j.Store.Now = atWorldNow
	if _, err := j.openStored(t.Context()); !errors.Is(err, durable.ErrEmpty) {
		t.Errorf("an empty folder: %v", err)
	}
	j.DataDir = emptyStore(t)
	store, err := j.openStored(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	j.Account = "other"
	if _, err := j.openStored(t.Context()); !errors.Is(err, exit.ErrUsage) ||
		!strings.Contains(err.Error(), `no account "other"; set SPENDSYNC_ACCOUNT to acme`) {
		t.Errorf("another account: %v", err)
	}
}

// TestOfflineRun_ReplaysARange: days outside the range stay, and a day that cannot be made again is named.
func TestOfflineRun_ReplaysARange(t *testing.T) {
	day := schema.DateOf(worldNow) - 5
	dir := oneDayStore(t, day)
	for name, c := range map[string]struct {
		first, last schema.Date
		replayed    int
	}{"the day": {day, day, 1}, "before": {day - 9, day - 1, 0}, "after": {day + 1, day + 9, 0}} {
		d, end := newDayTest(t, dir, &scriptedReport{day: day})
		m := &offlineRun{Job: d.s.Job, command: "replay", start: worldNow, store: d.s.store, staged: d.s.staged}
		err := m.replay(t.Context(), c.first, c.last)
		if err != nil || m.replayed != c.replayed || len(m.findings) != 0 {
			t.Errorf("%s: %d replayed, %v, %v", name, m.replayed, m.findings, err)
		}
		m.note(day, errors.New("x"))
		if len(m.findings) != 1 || m.findings[0].what != "spend "+day.String() ||
			!strings.Contains(d.log.String(), "could not be made again") {
			t.Errorf("%s: %v, %s", name, m.findings, d.log.String())
		}
		end()
	}
}
