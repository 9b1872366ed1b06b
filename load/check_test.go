package load

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/marcboeker/go-duckdb/v2"

	"spendsync/load/durable"
	"spendsync/schema"
)

// TestBuildWarehouse_ChecksWhatIsOnDisk holds that nothing of what the engine wrote is
// left in it when it is asked for the check: a file that is another one by then is seen.
func TestBuildWarehouse_ChecksWhatIsOnDisk(t *testing.T) {
	dir, other := quickDir(t), quickDir(t)
	m := newRun(t, dir).mustSync(twoDays())
	newRun(t, other).mustSync(map[schema.Date][]schema.Spend{day: twoDays()[day]})
	content := func(dir string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, warehouseName))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	o := sceneOptions(durable.Disk{FS: lazyFiles{}}).filled()
	o.dir = t.TempDir()
	path := filepath.Join(o.dir, warehouseName)
	build := func(after []byte) error {
		if err := os.WriteFile(path, content(dir), 0o644); err != nil {
			t.Fatal(err)
		}
		read := func(w *warehouse, _ []error) ([]tableLoad, error) {
			_, err := checkCounts(t.Context(), w.conn, warehouseCheck{manifest: m})
			return nil, err
		}
		return buildWarehouse(t.Context(), path, false, nil, nil, o, read, func(conn *sql.Conn) error {
			if after != nil {
				if err := os.WriteFile(path, after, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			return checkFile(context.Background(), conn, path, warehouseCheck{manifest: m})
		})
	}
	if err := build(nil); err != nil {
		t.Fatal(err)
	}
	if err := build(content(other)); !errors.Is(err, ErrDamaged) {
		t.Errorf("another file is taken for this one: %v", err)
	}
	flipped := content(dir)
	for i := 3 * 4096; i < len(flipped); i += 4096 {
		flipped[i] ^= 1
	}
	if err := build(flipped); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged file is taken for a whole one: %v", err)
	}
}

// TestVerify_SeesRowsOfNoAccount: a store of one account is counted by its name,
// and a row of another account or of another day shows all the same.
func TestVerify_SeesRowsOfNoAccount(t *testing.T) {
	dir := quickDir(t)
	m := newRun(t, dir).mustSync(twoDays())
	for name, c := range map[string]struct {
		sql  string
		says string
	}{
		"as it is":        {"SELECT 1", ""},
		"another account": {"INSERT INTO spend_daily SELECT * REPLACE ('other' AS account_id) FROM spend_daily LIMIT 1", "account other has 1 rows"},
		"renamed":         {"UPDATE spend_daily SET account_id = 'other'", "account other has"},
		"another day":     {"INSERT INTO spend_daily SELECT * REPLACE (report_date - 1000 AS report_date) FROM spend_daily LIMIT 1", "spend_daily of account acme has"},
		"a day moved":     {"UPDATE spend_daily SET report_date = report_date - 1000 WHERE report_date = (SELECT min(report_date) FROM spend_daily)", "has 0 rows"},
	} {
		path, o := alteredWarehouse(t, dir, c.sql)
		err := (&verifier{dir: dir, opts: o, manifest: m}).content(t.Context(), path)
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// alteredWarehouse is the DuckDB file of a store after a statement, beside it, and the
// options to check it with.
func alteredWarehouse(t *testing.T, dir, statement string) (path string, o Options) {
	t.Helper()
	o = sceneOptions(durable.Disk{FS: lazyFiles{}}).filled()
	o.dir = dir
	b, err := os.ReadFile(filepath.Join(dir, warehouseName))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "altered.duckdb")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := openWarehouse(t.Context(), path, o.dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.stop(errors.Join(execAll(t.Context(), w.conn, []string{statement}), w.finish(t.Context()))); err != nil {
		t.Fatal(err)
	}
	return path, o
}

// TestVerify_AddsUpCampaigns: what is kept as sums must be the sums, each day's and, as no
// publication checks, each campaign's.
func TestVerify_AddsUpCampaigns(t *testing.T) {
	dir := quickDir(t)
	m := newRun(t, dir).mustSync(twoDays())
	for name, c := range map[string]struct{ sql, says string }{
		"as it is":         {sql: "SELECT 1"},
		"other spend":      {sql: "UPDATE mart.campaign_spend SET spend = spend + 0.000001 WHERE spend > 0", says: "mart.campaign_spend adds up to"},
		"other clicks":     {sql: "UPDATE mart.campaign_spend SET clicks = NULL WHERE spend > 0", says: "mart.campaign_spend adds up to"},
		"other rows":       {sql: "UPDATE mart.campaign_spend SET rows = rows + 1 WHERE spend > 0", says: "mart.campaign_spend adds up to"},
		"a day is missing": {sql: "DELETE FROM mart.campaign_spend WHERE spend > 0", says: "mart.campaign_spend adds up to"},
		"a day too many":   {sql: "INSERT INTO mart.campaign_spend SELECT * REPLACE (report_date - 1000 AS report_date) FROM mart.campaign_spend LIMIT 1", says: "there is no Parquet file"},
		"another campaign": {sql: "UPDATE mart.campaign_spend SET campaign_id = 'other' WHERE spend > 0", says: "holds other rows than spend_daily adds up to"},
	} {
		path, o := alteredWarehouse(t, dir, c.sql)
		err := (&verifier{dir: dir, opts: o, manifest: m}).content(t.Context(), path)
		if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// TestVerify_TellsLittleMemoryFromDamage: what memory is too little for is looked at with
// more, and is no damage where there is none.
func TestVerify_TellsLittleMemoryFromDamage(t *testing.T) {
	dir := quickDir(t)
	v := &verifier{dir: dir, manifest: newRun(t, dir).mustSync(twoDays())}
	for _, c := range []struct {
		shares []string
		most   string
		fails  bool
	}{{[]string{"300KiB"}, "1GiB", false}, {[]string{"200KiB"}, "300KiB", true}} {
		v.opts = sceneOptions(durable.Disk{FS: lazyFiles{}}).filled()
		v.opts.DuckDBShares, v.opts.DuckDBMemory = c.shares, c.most
		err := v.content(t.Context(), filepath.Join(dir, warehouseName))
		if errors.Is(err, ErrDamaged) || isOutOfMemory(err) != c.fails || (err != nil) != c.fails {
			t.Errorf("%s of %s: %v, want it to fail: %t", c.shares, c.most, err, c.fails)
		}
	}
}

// TestWarehouse_NeedsNoRoomOnDisk: who only looks may do so on a volume that takes nothing.
// DuckDB is given more memory before it is to put rows aside there; who builds needs the
// disk anyway.
func TestWarehouse_NeedsNoRoomOnDisk(t *testing.T) {
	for spared, want := range map[bool]int{true: 3, false: 1} {
		o := sceneOptions(durable.Disk{FS: lazyFiles{}}).filled()
		o.dir, o.DuckDBShares, o.DuckDBMemory = t.TempDir(), []string{"8MiB", "9MiB"}, "1GiB"
		w, err := startWarehouse(t.Context(), filepath.Join(o.dir, warehouseName), o.dir, o)
		if err != nil {
			t.Fatal(err)
		}
		w.spared = spared
		tries := 0
		full := func() error {
			tries++
			return duckErr("SELECT", &duckdb.Error{Type: duckdb.ErrorTypeIO, Msg: `IO Error: Failed to create directory "w.tmp": Read-only file system`})
		}
		if err := w.stop(w.withRoom(t.Context(), full)); !errors.Is(err, ErrStorage) || tries != want {
			t.Errorf("spared %t: %d tries and %v, want %d", spared, tries, err, want)
		}
	}
}

// TestUnread_TellsTheDiskFromDamage: a disk that has no room for what DuckDB would put
// there says nothing of the file.
func TestUnread_TellsTheDiskFromDamage(t *testing.T) {
	for text, damage := range map[string]bool{
		`IO Error: Failed to create directory "w.tmp": Read-only file system`:          false,
		`IO Error: Could not write file "w.tmp/0": No space left on device`:            false,
		"IO Error: Corrupt database file: computed checksum 1 does not match stored 2": true,
		"INTERNAL Error: Attempted to access index 7 within vector of size 3":          true,
		"Catalog Error: Table with name spend_daily does not exist!":                   true,
	} {
		kind := duckdb.ErrorTypeInvalid
		if strings.HasPrefix(text, "IO Error") {
			kind = duckdb.ErrorTypeIO
		}
		err := unread(&duckdb.Error{Type: kind, Msg: text}, "%s cannot be summed", "spend_daily")
		if errors.Is(err, ErrDamaged) != damage || errors.Is(err, ErrStorage) == damage {
			t.Errorf("%s: %v, want a damage: %t", text, err, damage)
		}
	}
}

// TestDuckErr_TellsTheDisksTrouble: DuckDB gives the disk's errors the kind of what it
// was doing.
func TestDuckErr_TellsTheDisksTrouble(t *testing.T) {
	for text, want := range map[string]bool{
		"TransactionContext Error: Failed to commit: fsync failed!":                           true,
		"TransactionContext Error: Failed to commit: Could not write file: No space left":     true,
		"TransactionContext Error: Failed to commit: PRIMARY KEY or UNIQUE constraint broken": false,
	} {
		err := duckErr("COMMIT", &duckdb.Error{Type: duckdb.ErrorTypeTransaction, Msg: text})
		if got := errors.Is(err, ErrStorage); got != want {
			t.Errorf("%s: storage %t, want %t", text, got, want)
		}
	}
}

// TestWarehouse_TakesMoreMemoryWhereItMust: what cannot be done with the first share of
// memory is done again with the next, and fails with the last.
func TestWarehouse_TakesMoreMemoryWhereItMust(t *testing.T) {
	for name, c := range map[string]struct {
		shares []string
		most   string
		tries  int
		fails  bool
	}{
		"all at once":    {nil, "1GiB", 1, false},
		"the third":      {[]string{"8MiB", "9MiB"}, "1GiB", 3, false},
		"never enough":   {[]string{"8MiB"}, "9MiB", 2, true},
		"little enough":  {nil, "9MiB", 1, true},
		"its own choice": {[]string{"8MiB"}, "", 1, false},
	} {
		o := sceneOptions(durable.Disk{FS: lazyFiles{}}).filled()
		o.dir, o.DuckDBShares, o.DuckDBMemory = t.TempDir(), c.shares, c.most
		w, err := openWarehouse(t.Context(), filepath.Join(o.dir, warehouseName), o.dir, o)
		if err != nil {
			t.Fatal(err)
		}
		tries := 0
		err = w.withRoom(t.Context(), func() error {
			tries++
			return execAll(t.Context(), w.conn, []string{"SELECT length(list(i)::VARCHAR) FROM range(2_000_000) AS t(i)"})
		})
		if tries != c.tries || (err != nil) != c.fails {
			t.Errorf("%s: %d tries and %v, want %d and an error: %t", name, tries, err, c.tries, c.fails)
		}
		if err := w.stop(nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPublish_BeginsAgainWithAllMemory: an engine that cannot so much as make its tables
// in the first share of memory is given up for one that has all.
func TestPublish_BeginsAgainWithAllMemory(t *testing.T) {
	r := newRun(t, quickDir(t))
	r.opts.DuckDBShares = []string{"600KiB"}
	view := View{Schema: "mart", Name: "days", SQL: "SELECT report_date FROM main.spend_daily", Doc: "Days."}
	for i, views := range [][]View{nil, {view}} {
		r.opts.Views = views
		days := twoDays()
		days[day][0].Spend += schema.Money(i)
		m := r.mustSync(days)
		if m.Generation != int64(i)+1 {
			t.Errorf("generation %d", m.Generation)
		}
	}
	s, err := OpenSession(t.Context(), r.dir, sceneOptions(durable.Disk{FS: lazyFiles{}}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var n int
	if err := s.conn.QueryRowContext(t.Context(), "SELECT count(*) FROM mart.days").Scan(&n); err != nil || n != 4 {
		t.Errorf("the view has %d rows, %v", n, err)
	}
}

// TestDaysSQL: days that follow each other are a span, and no other day is among them.
func TestDaysSQL(t *testing.T) {
	for _, c := range []struct {
		days []schema.Date
		want string
	}{
		{[]schema.Date{day}, "BETWEEN DATE '2026-11-20' AND DATE '2026-11-20'"},
		{[]schema.Date{day, day - 1, day + 1}, "BETWEEN DATE '2026-11-19' AND DATE '2026-11-21'"},
		{[]schema.Date{day + 1, day - 1}, "IN (DATE '2026-11-19', DATE '2026-11-21')"},
	} {
		days := map[schema.Date]bool{}
		for _, d := range c.days {
			days[d] = true
		}
		if got, want := daysSQL("o'hara", "report_date", days), `account_id = 'o''hara' AND "report_date" `+c.want; got != want {
			t.Errorf("daysSQL = %s, want %s", got, want)
		}
	}
}
