package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/schema"
)

// TestBuild_ChecksWhatIsOnDisk: the check reads the file and no cached block, so it notices when the file on disk was
// replaced.
func TestBuild_ChecksWhatIsOnDisk(t *testing.T) {
	dir, other := quickDir(t), quickDir(t)
	m := newRun(t, dir).mustSync(twoDays())
	newRun(t, other).mustSync(map[schema.Date][]schema.Spend{day: twoDays()[day]})
	content := func(dir string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, duck.FileName))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	o := sceneOptions(durable.Disk{FS: lazyFiles{}}).filled()
	o.DuckDB.Dir = t.TempDir()
	path := filepath.Join(o.DuckDB.Dir, duck.FileName)
	build := func(after []byte) error {
		if err := os.WriteFile(path, content(dir), 0o644); err != nil {
			t.Fatal(err)
		}
		w, err := duck.Build(t.Context(), path, false, nil, o.DuckDB)
		if err != nil {
			t.Fatal(err)
		}
		err = warehouseCheck{manifest: m}.content(t.Context(), w)
		if err := errors.Join(err, w.Finish(t.Context())); err != nil {
			t.Fatal(err)
		}
		if after != nil {
			if err := os.WriteFile(path, after, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return w.Stop(warehouseCheck{manifest: m}.file(context.Background(), w))
	}
	if err := build(nil); err != nil {
		t.Fatal(err)
	}
	if err := build(content(other)); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("another file is taken for this one: %v", err)
	}
	flipped := content(dir)
	for i := 3 * 4096; i < len(flipped); i += 4096 {
		flipped[i] ^= 1
	}
	if err := build(flipped); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("a damaged file is taken for a whole one: %v", err)
	}
}

// alteredWarehouse runs a statement on a copy of a store's DuckDB file, and returns the copy and the options to check
// it with.
func alteredWarehouse(t *testing.T, dir, statement string) (path string, o Options) {
	t.Helper()
	o = sceneOptions(durable.Disk{FS: lazyFiles{}}).filled()
	o.DuckDB.Dir = dir
	b, err := os.ReadFile(filepath.Join(dir, duck.FileName))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "altered.duckdb")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := duck.Open(t.Context(), path, o.DuckDB)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(errors.Join(w.Exec(t.Context(), statement), w.Finish(t.Context()))); err != nil {
		t.Fatal(err)
	}
	return path, o
}

// TestVerify_ComparesTheLedgersTables: verify compares the runs and the coverage in DuckDB with their Parquet files.
// For the other tables see TestCompareRows.
func TestVerify_ComparesTheLedgersTables(t *testing.T) {
	dir := quickDir(t)
	m := newRun(t, dir).mustSync(twoDays())
	for statement, says := range map[string]string{
		"SELECT 1":                         "",
		"UPDATE ops.run SET exit_code = 9": "parquet/ops_run: its files hold other rows than ops.run",
		"UPDATE ops.day_coverage SET state = 'lost' WHERE state = 'missing'": "parquet/ops_day_coverage: its files " +
			"hold other rows than ops.day_coverage",
	} {
		path, o := alteredWarehouse(t, dir, statement)
		wantDamage(t, statement, (&verifier{dir: dir, opts: o, manifest: m}).content(t.Context(), path), says)
	}
}

// TestVerify_TellsLittleMemoryFromDamage: a check that runs out of memory is repeated with more memory, and reports no
// damage.
func TestVerify_TellsLittleMemoryFromDamage(t *testing.T) {
	dir := quickDir(t)
	v := &verifier{dir: dir, manifest: newRun(t, dir).mustSync(twoDays())}
	for _, c := range []struct {
		first, most string
		fails       bool
	}{{"300KiB", "1GiB", false}, {"200KiB", "300KiB", true}} {
		v.opts = sceneOptions(durable.Disk{FS: lazyFiles{}}).filled()
		v.opts.DuckDB.Dir, v.opts.DuckDB.FirstMemory, v.opts.DuckDB.Memory = dir, c.first, c.most
		err := v.content(t.Context(), filepath.Join(dir, duck.FileName))
		if errors.Is(err, durable.ErrDamaged) || duck.IsOutOfMemory(err) != c.fails || (err != nil) != c.fails {
			t.Errorf("%s of %s: %v, want it to fail: %t", c.first, c.most, err, c.fails)
		}
	}
}

// TestPublish_BeginsAgainWithAllMemory: if the first memory limit does not even suffice to create the tables, a new
// engine starts with the full limit.
func TestPublish_BeginsAgainWithAllMemory(t *testing.T) {
	r := newRun(t, quickDir(t))
	r.opts.DuckDB.FirstMemory = "600KiB"
	view := duck.View{Schema: "mart", Name: "days", SQL: "SELECT report_date FROM main.spend_daily", Doc: "Days."}
	for i, views := range [][]duck.View{nil, {view}} {
		r.opts.DuckDB.Views = views
		days := twoDays()
		days[day][0].Spend += schema.Money(i)
		m := r.mustSync(days)
		if m.Generation != int64(i)+1 {
			t.Errorf("generation %d", m.Generation)
		}
	}
	s, err := duck.OpenSession(t.Context(), r.dir, sceneOptions(durable.Disk{FS: lazyFiles{}}).DuckDB)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := s.Query(t.Context(), "SELECT count(*) FROM mart.days")
	if err != nil || a.Rows[0][0].V != "4" {
		t.Errorf("the view has %v rows, %v", a.Rows, err)
	}
}

// TestVerify_NamesUnprovenReports: a report is proven by the first run that stored rows, or by a campaign in the report
// whose settings were read.
func TestVerify_NamesUnprovenReports(t *testing.T) {
	dir := quickDir(t)
	newRun(t, dir).mustSync(twoDays())
	if found := checkStore(t, dir).Unproven; len(found) != 1 || found[0].Account != "acme" || found[0].Example == "" {
		t.Errorf("verify: %+v", found)
	}
	const proof = "UPDATE ops.run SET identity_proof = 'x'"
	const first = "DELETE FROM campaign_history; UPDATE ops.run SET rows_inserted = 1; "
	const later = "INSERT INTO ops.run SELECT * REPLACE (generation + %d AS generation, 'later' AS _run_id, %s AS " +
		"identity_proof) FROM ops.run; "
	const version = "INSERT INTO campaign_history BY NAME SELECT account_id, campaign_id, '%s' AS read_state, " +
		"1 AS version_no, now() AS valid_from, now() AS valid_to, now() AS last_confirmed_at, true AS is_current, " +
		"false AS is_deleted, 'first_seen' AS change_type, '' AS _run_id FROM spend_daily LIMIT 1"
	for name, c := range map[string]struct {
		sql      string
		unproven bool
	}{
		"no proof":                {first, true},
		"a proof":                 {first + proof, false},
		"a later run has a proof": {first + fmt.Sprintf(later, 1, "'x'"), true},
		"a later run has none":    {first + proof + "; " + fmt.Sprintf(later, 1, "NULL"), false},
		"a stub":                  {first + fmt.Sprintf(version, schema.ReadStub), true},
		"settings":                {first + fmt.Sprintf(version, schema.ReadOK), false},
		"no campaign":             {first + "UPDATE spend_daily SET campaign_id = ''", false},
	} {
		path, o := alteredWarehouse(t, dir, c.sql)
		w, err := duck.OpenPublished(t.Context(), path, o.DuckDB)
		if err != nil {
			t.Fatal(err)
		}
		found, err := w.Unproven(t.Context())
		if err := w.Stop(err); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if (len(found) == 1) != c.unproven || len(found) > 1 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}
