package load

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// now is the default time of runs in these tests.
var now = time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)

const day = schema.Date(20777) // 2026-11-20

// run is one run of a store, as the command drives it.
type run struct {
	t       *testing.T
	dir     string
	account string
	at      time.Time
	opts    Options
	names   map[string]string // names of the campaigns, from the report's labels
	reports []schema.Date     // lost days that the run reports by its exit code
	preview *Preview          // of the last publication
}

func newRun(t *testing.T, dir string) run {
	return run{t: t, dir: dir, account: "acme", at: now, preview: &Preview{}, opts: Options{
		DuckDB:   duck.Options{Threads: 1, Memory: "512MiB"},
		LockWait: time.Second, disk: durable.Disk{FS: lazyFiles{}}}}
}

// runs counts the runs of all tests. Its value is part of each run's ID.
var runs int

// sync publishes the given days as a run does.
func (r run) sync(days map[schema.Date][]schema.Spend) (*manifest.Manifest, error) {
	r.t.Helper()
	ctx := r.t.Context()
	r.opts.Now = func() time.Time { return r.at }
	s, err := Open(ctx, r.dir, r.account, r.opts)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	runs++
	id := fmt.Sprintf("run%06d", runs)
	g, err := stagingOf(s, id)
	if err != nil {
		return nil, err
	}
	seen := schema.InstantOf(r.at)
	for d, read := range days {
		for i := range read {
			read[i].AccountID, read[i].FirstSeenAt, read[i].ChangedAt, read[i].RunID = r.account, seen, seen, id
		}
		sealed, err := history.NewDay(schematest.Packed(read))
		if err != nil {
			return nil, err
		}
		p := DayRead{ReadAt: seen, ReadOutcome: manifest.ReadOutcome{Control: schema.ControlMatched},
			Names: func() map[string]string { return r.names }}
		if err := g.putDay(ctx, d, p, sealed); err != nil {
			return nil, err
		}
	}
	m, preview, err := publish(ctx, g, g.publication(r.at), RunRecord{
		Run: schema.Run{AccountID: r.account, Command: "sync", StartedAt: seen, FinishedAt: seen, Published: true,
			RunID: id},
		Steps: []schema.Step{{AccountID: r.account, Stream: "spend_report", Unit: "x", StartedAt: seen,
			FinishedAt: seen, Outcome: "stored", RunID: id}},
		ReportedLost: r.reports,
	})
	if err != nil {
		return nil, err
	}
	*r.preview = preview
	return m, g.Discard()
}

func (r run) mustSync(days map[schema.Date][]schema.Spend) *manifest.Manifest {
	r.t.Helper()
	m, err := r.sync(days)
	if err != nil {
		r.t.Fatalf("sync: %v", err)
	}
	checkStore(r.t, r.dir)
	return m
}

// checkStore checks everything in a store. All storage tests call it after every step.
func checkStore(t *testing.T, dir string) *Verification {
	t.Helper()
	report, err := Verify(context.Background(), dir, Options{DuckDB: duck.Options{Threads: 2}, LockWait: time.Second},
		nil)
	if errors.Is(err, durable.ErrEmpty) {
		return &Verification{}
	}
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	for _, d := range report.Damages {
		t.Errorf("verify: %v", d)
	}
	return report
}

// query runs SQL on the published DuckDB file.
func query(t *testing.T, dir, q string) string {
	t.Helper()
	db, err := sql.Open("duckdb", filepath.Join(dir, duck.FileName)+"?access_mode=read_only&threads=1")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("SELECT COLUMNS(*)::VARCHAR FROM (" + q + ")")
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer rows.Close()
	cols, _ := rows.Columns()
	var out []string
	for rows.Next() {
		cells := make([]any, len(cols))
		texts := make([]sql.NullString, len(cols))
		for i := range cells {
			cells[i] = &texts[i]
		}
		if err := rows.Scan(cells...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for _, c := range texts {
			if c.Valid {
				line = append(line, c.String)
			} else {
				line = append(line, "NULL")
			}
		}
		out = append(out, strings.Join(line, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "\n")
}

// fileHashes returns the SHA-256 of the files below the given folders, by path.
func fileHashes(t *testing.T, dir string, under ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, u := range under {
		err := filepath.WalkDir(filepath.Join(dir, u), func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			b, err := os.ReadFile(p)
			rel, _ := filepath.Rel(dir, p)
			out[rel] = fmt.Sprintf("%x", sha256.Sum256(b))
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return out
}

func twoDays() map[schema.Date][]schema.Spend {
	noClicks := func(r *schema.Spend) { r.Clicks = schema.Null[int64]{} }
	return map[schema.Date][]schema.Spend{
		day: {
			schematest.SpendRow(day, "S1", 12_340_000), schematest.SpendRow(day, "S2", 1),
			schematest.SpendRow(day, "", 0, noClicks),
		},
		day - 1: {schematest.SpendRow(day-1, "S1", -5_000_000)},
	}
}

// TestPublish_LostDaysUntilTheyAreReported: if days leave the reach unread, every run reports them as newly lost until
// the run of a generation has reported them, or in an earlier store a line of the ledger. In the coverage they stay
// lost. The generation's own files contain the report, so a folder that was filled from a bucket has it, too.
func TestPublish_LostDaysUntilTheyAreReported(t *testing.T) {
	r := newRun(t, t.TempDir())
	r.mustSync(twoDays())
	r.at = r.at.AddDate(0, 0, 36)
	today := schema.DateOf(r.at)
	only := map[schema.Date][]schema.Spend{today: {schematest.SpendRow(today, "S1", 1)}}
	r.mustSync(only)
	// 33 days were in reach of the first run, which stored two of them; three later days have left the reach, too.
	if got := len(r.preview.NewlyLost); got != 34 {
		t.Errorf("%d days newly lost, want 34: %v", got, r.preview.NewlyLost)
	}
	r.at = r.at.Add(time.Minute)
	r.mustSync(only)
	if got := len(r.preview.NewlyLost); got != 34 {
		t.Errorf("%d days newly lost in a second run, want 34: nobody has reported them", got)
	}
	lines, err := manifest.EncodeLedger(manifest.LedgerRows{Lost: []manifest.ReportedLost{{RunID: "earlier",
		Days: r.preview.NewlyLost[:4]}}})
	path := filepath.Join(r.dir, manifest.LedgerPath(r.account, r.at))
	published, readErr := os.ReadFile(path)
	if err := errors.Join(err, readErr, os.WriteFile(path, append(published, lines...), 0o644)); err != nil {
		t.Fatal(err)
	}
	r.at, r.reports = r.at.Add(time.Minute), r.preview.NewlyLost[4:]
	m := r.mustSync(only)
	if got := len(r.preview.NewlyLost); got != 30 {
		t.Errorf("%d days newly lost in a third run, want 30: a line of the ledger reported four", got)
	}
	for path, size := range m.Accounts[r.account].Ledger {
		if info, err := os.Stat(filepath.Join(r.dir, path)); err != nil || info.Size() != size {
			t.Errorf("%s: %d bytes are published, and %v, %v", path, size, info, err)
		}
	}
	r.at, r.reports = r.at.Add(time.Minute), nil
	r.mustSync(only)
	if got := r.preview.NewlyLost; len(got) != 0 {
		t.Errorf("days that were reported are newly lost: %v", got)
	}
	if got := query(t, r.dir, "SELECT state, count(*) FROM ops.day_coverage GROUP BY 1 "+
		"ORDER BY 1"); got != "final|2\nlost|34\nmissing|32\nopen|1" {
		t.Errorf("coverage = %s", got)
	}
}

// TestStage_StoresLostRepliesAgain: after stored replies were lost, damaged or swapped, a read with the same replies
// stores them again. A read with other replies replaces all stored replies.
func TestStage_StoresLostRepliesAgain(t *testing.T) {
	kept := newRun(t, filepath.Join(quickDir(t), "kept"))
	kept.putReplies("one", "two")
	path := func(d schema.Date, page int) string { return manifest.RawPath("acme", d, page) }
	for name, spoil := range map[string]func(dir string) error{
		"lost": func(dir string) error { return os.Remove(filepath.Join(dir, path(day, 2))) },
		"damaged": func(dir string) error {
			one := filepath.Join(dir, path(day, 1))
			return errors.Join(os.Remove(one), os.WriteFile(one, []byte("x"), 0o644))
		},
		"swapped": func(dir string) error {
			one, other := filepath.Join(dir, path(day, 1)), filepath.Join(dir, path(day-1, 1))
			aside := filepath.Join(dir, "x")
			return errors.Join(os.Rename(one, aside), os.Rename(other, one), os.Rename(aside, other))
		},
	} {
		for _, replies := range [][]string{{"one", "two"}, {"both"}} {
			t.Run(fmt.Sprint(name, " ", replies), func(t *testing.T) {
				r := newRun(t, filepath.Join(quickDir(t), "data"))
				copyStore(t, kept.dir, r.dir)
				if err := spoil(r.dir); err != nil {
					t.Fatal(err)
				}
				r.putReplies(replies...)
				checkStore(t, r.dir)
				m, err := manifest.Read(r.dir)
				if err != nil {
					t.Fatal(err)
				}
				a := m.Accounts["acme"]
				pages, err := textsOf(manifest.RawPages(durable.OS, r.dir, a, a.RawPages(day)))
				var want []string
				for _, body := range replies {
					want = append(want, day.String()+" "+body)
				}
				if err != nil || !slices.Equal(pages, want) {
					t.Errorf("the replies are %q, %v; want %q", pages, err, want)
				}
			})
		}
	}
}

// putReplies publishes two days with the same rows and the given replies.
func (r run) putReplies(replies ...string) {
	r.t.Helper()
	s, err := Open(r.t.Context(), r.dir, r.account, r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	defer s.Close()
	runs++
	g, err := stagingOf(s, fmt.Sprintf("run%06d", runs))
	if err != nil {
		r.t.Fatal(err)
	}
	defer g.Discard()
	for _, d := range []schema.Date{day, day - 1} {
		rows := []schema.Spend{schematest.SpendRow(d, "S1", 1), schematest.SpendRow(d, "S2", 2)}
		sealed, err := history.NewDay(schematest.Packed(rows))
		if err != nil {
			r.t.Fatal(err)
		}
		stored := s.Replies(g.Area, d)
		for i, body := range replies {
			if err := stored.Put(i+1, []byte(d.String()+" "+body), int64(len(rows)/len(replies))); err != nil {
				r.t.Fatal(err)
			}
		}
		if err := g.stage(r.t.Context(), stored, DayRead{ReadAt: schema.InstantOf(now)}, sealed); err != nil {
			r.t.Fatal(err)
		}
	}
	record := RunRecord{Run: schema.Run{AccountID: r.account, RunID: g.runID}}
	if _, _, err := publish(r.t.Context(), g, g.publication(now), record); err != nil {
		r.t.Fatal(err)
	}
}

// TestPublish_WithoutTheSettingsThatSpoilIt: if a publication fails because of staged settings, the days that the same
// run has staged can be published without the settings.
func TestPublish_WithoutTheSettingsThatSpoilIt(t *testing.T) {
	st, r := scene(t), sceneSecond()
	dir := filepath.Join(quickDir(t), "store")
	copyStore(t, st.before, dir)
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	s, g, err := r.begin(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer g.Discard()
	if err := r.stage(t.Context(), s, g); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(g.path(manifest.TablePath(schema.AccountLimits.Table, "acme", 0)), []byte("spoilt"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.publish(t.Context(), g); err == nil {
		t.Fatal("a file that is no Parquet was published")
	}
	if got := whole(t, dir); got != contentOf(t, st.was) {
		t.Errorf("after the refusal the store has\n%s", got)
	}
	g.settings = NewStagedChange()
	m, err := r.publish(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	checkScene(t, dir)
	was, is, got := st.was.Accounts["acme"], st.is.Accounts["acme"], m.Accounts["acme"]
	for d, want := range is.Days {
		if k := got.Days[d]; k == nil || k.ContentHash != want.ContentHash || k.Sums != want.Sums {
			t.Errorf("%s: %+v, want %+v", d, k, want)
		}
	}
	for _, table := range []*schema.Table{schema.CampaignHistory.Table, schema.AccountLimits.Table} {
		path := manifest.TablePath(table, "acme", 0)
		if got.Files[path].SHA256 != was.Files[path].SHA256 {
			t.Errorf("%s is not as it was", path)
		}
	}
}

func TestOpen_RefusesASecondRun(t *testing.T) {
	dir := t.TempDir()
	first, err := Open(t.Context(), dir, "acme", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir, "acme", Options{}); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("second Open = %v, want ErrLocked", err)
	}
	other, err := Open(t.Context(), dir, "other", Options{})
	if err != nil {
		t.Errorf("another account: %v", err)
	} else {
		other.Close()
	}
	first.Close()
	again, err := Open(t.Context(), dir, "acme", Options{})
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	again.Close()
}

// TestPublish_LeavesOtherAccountsUnread: a later run on the same day reads no file of other accounts and writes only
// files of its own account. The generation keeps the other accounts. The first run of a new day reads their files,
// because states in the coverage change. Verify reads all files.
func TestPublish_LeavesOtherAccountsUnread(t *testing.T) {
	dir := t.TempDir()
	acme, beta := newRun(t, dir), newRun(t, dir)
	beta.account = "beta"
	acme.mustSync(twoDays())
	was := beta.mustSync(twoDays())
	path := filepath.Join(dir, was.AccountFiles["beta"].Path)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spoiled(t, path, append(good, ' '))
	acme.at = acme.at.Add(time.Hour)
	is, err := acme.sync(twoDays())
	if err != nil || len(is.Accounts) != 1 {
		t.Fatalf("an hour later: %d accounts are loaded, %v", len(is.Accounts), err)
	}
	if _, err := Verify(t.Context(), dir, acme.opts, nil); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("verify: %v", err)
	}
	acme.at = acme.at.Add(24 * time.Hour)
	if _, err := acme.sync(twoDays()); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("a day later: %v", err)
	}
	spoiled(t, path, good)
	checkStore(t, dir)
	acme.mustSync(twoDays())
	files, err := filepath.Glob(filepath.Join(dir, "manifest", "*", "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("account files: %q, %v", files, err)
	}
}

func TestPublish_HealsAForeignWarehouse(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"deleted": os.Remove,
		"written by somebody": func(path string) error {
			if err := os.Chmod(path, 0o644); err != nil {
				return err
			}
			db, err := sql.Open("duckdb", path)
			if err != nil {
				return err
			}
			defer db.Close()
			_, err = db.Exec("UPDATE spend_daily SET spend = 999; CHECKPOINT")
			return err
		},
		"truncated": func(path string) error {
			return errors.Join(os.Chmod(path, 0o644), os.Truncate(path, 4096))
		},
		"a log left beside it": func(path string) error { return os.WriteFile(path+".wal", []byte("not ours"), 0o644) },
	} {
		if (name == "deleted" || name == "truncated") && !schematest.All() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := newRun(t, dir)
			r.mustSync(twoDays())
			if err := spoil(filepath.Join(dir, duck.FileName)); err != nil {
				t.Fatal(err)
			}
			report, err := Verify(t.Context(), dir, Options{LockWait: time.Second}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Damages) != 1 || !strings.HasPrefix(report.Damages[0].Path, duck.FileName) {
				t.Errorf("damages = %v, want one of %s", report.Damages, duck.FileName)
			}
			r.at = r.at.Add(time.Hour)
			r.mustSync(twoDays())
			if got := query(t, dir, "SELECT sum(spend) FROM spend_daily"); got != "7.340001" {
				t.Errorf("sum = %s, want 7.340001", got)
			}
			if got := query(t, dir, "SELECT count(*) FROM ops.run"); got != "2" {
				t.Errorf("runs = %s, want 2", got)
			}
		})
	}
}

func TestAppendRun_ShowsInTheNextGeneration(t *testing.T) {
	dir := t.TempDir()
	r := newRun(t, dir)
	fail := func(at time.Time, id string) {
		s, err := Open(t.Context(), dir, "acme", r.opts)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.AppendRun(schema.Run{AccountID: "acme", Command: "sync", FinishedAt: schema.InstantOf(at),
			ExitCode: 5, RunID: id}, nil); err != nil {
			t.Fatal(err)
		}
	}
	fail(r.at.AddDate(0, -1, 0), "a failed run of last month")
	r.mustSync(twoDays())
	fail(r.at, "a failed run")
	r.mustSync(twoDays())
	if got := query(t, dir, "SELECT exit_code, count(*) FROM ops.run GROUP BY 1 ORDER BY 1"); got != "0|2\n5|2" {
		t.Errorf("runs by exit code = %s, want 0|2 and 5|2", got)
	}
	last, err := manifest.LastRunThat(dir, "acme", func(*schema.Run) bool { return true })
	if err != nil || last == nil || last.ExitCode != 0 {
		t.Errorf("LastRun = %+v, %v", last, err)
	}
}

// TestPrepared_IsPublishedByCommitAlone: while a generation is built, other accounts cannot publish and readers do not
// see it. If the run is stopped before the commit, the same changes can be published again.
func TestPrepared_IsPublishedByCommitAlone(t *testing.T) {
	st, r := scene(t), sceneSecond()
	dir := filepath.Join(quickDir(t), "store")
	copyStore(t, st.before, dir)
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	s, g, err := r.begin(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer g.Discard()
	if err := r.stage(t.Context(), s, g); err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	publication := g.publication(r.at)
	publication.Record = func(is Preview) RunRecord {
		if is.Generation != st.is.Generation || len(is.ViewErrors) > 0 {
			t.Errorf("the preview is %+v", is)
		}
		err := s.whileLocked(t.Context(), func() error { return nil })
		if !errors.Is(err, durable.ErrLocked) {
			t.Errorf("another publisher got the store: %v", err)
		}
		stop()
		return r.record()
	}
	_, err = s.Publish(stopped, publication)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("stopped before its commit: %v", err)
	}
	if got := whole(t, dir); got != contentOf(t, st.was) {
		t.Errorf("what was not committed shows in the store:\n%s", got)
	}
	if _, err := r.publish(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if got := whole(t, dir); got != contentOf(t, st.is) {
		t.Errorf("published again, the store has\n%s\nwant\n%s", got, contentOf(t, st.is))
	}
}
