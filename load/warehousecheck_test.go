package load

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// built is a DuckDB file of two accounts with its manifest and its Parquet files.
type built struct {
	dir  string
	m    *manifest.Manifest
	opts duck.Options
}

// newBuilt returns a file with two days with rows and one day without rows for acme, and one day for beta.
func newBuilt(t *testing.T) *built {
	t.Helper()
	b := &built{dir: t.TempDir(), m: manifest.New()}
	b.opts = duck.Options{Threads: 1, Memory: "256MiB", Dir: b.dir, Disk: durable.OS}
	b.m.Generation = 1
	var files []string
	for account, days := range map[string]map[schema.Date]int{"acme": {20000: 3, 20001: 2, 20002: 0},
		"beta": {20000: 1}} {
		a := b.m.Of(account)
		for day, n := range days {
			rows := schematest.SpendOfSources(day, n)
			for i := range rows {
				rows[i].AccountID = account
			}
			sealed, err := history.NewDay(schematest.Packed(rows))
			if err != nil {
				t.Fatal(err)
			}
			a.Days[day] = &manifest.Day{Sums: sealed.Sums()}
			if n > 0 {
				path := manifest.TablePath(schema.SpendDaily.Table, account, day)
				a.Files[path] = putTable(t, b.dir, path, schema.SpendDaily, rows)
				files = append(files, filepath.Join(b.dir, path))
			}
		}
	}
	// The check must not count the rows of marts and replies.
	mart := manifest.TablePath(schema.CampaignDays.Table, "acme", 20000)
	b.m.Of("acme").Files[mart] = &manifest.File{Kind: manifest.KindParquet, Table: schema.CampaignDays.Name, Rows: 5}
	b.m.Of("acme").Files["raw/x"] = &manifest.File{Kind: manifest.KindRaw, Rows: 5}
	w, err := duck.Build(t.Context(), filepath.Join(b.dir, duck.FileName), true, []duck.ReplacePartition{
		{Table: schema.SpendDaily.Table, Files: files}, duck.CampaignSums("true")}, b.opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(w.Finish(t.Context())); err != nil {
		t.Fatal(err)
	}
	return b
}

// putTable writes the Parquet file of a table and adds it to the manifest.
func putTable[R any](t testing.TB, dir, path string, table schema.TableOf[R], rows []R) *manifest.File {
	t.Helper()
	var b bytes.Buffer
	n, err := parquet.Write(&b, table.Table, parquet.Record(table, rows))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	return &manifest.File{Kind: manifest.KindParquet, Table: table.Name, Rows: n, Bytes: int64(b.Len())}
}

// after executes a statement on a copy of the file, and then checks the copy.
func (b *built) after(t *testing.T, statement string, check func(*duck.Warehouse) error) error {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(b.dir, duck.FileName))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.dir, "changed.duckdb")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := duck.Open(t.Context(), path, b.opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Exec(t.Context(), statement); err != nil {
		t.Fatal(w.Stop(err))
	}
	return w.Stop(check(w))
}

// TestWarehouseCheck: the check detects, by counts and exact sums, a DuckDB file that does not have each row of the
// Parquet files once.
func TestWarehouseCheck(t *testing.T) {
	b := newBuilt(t)
	all := func(*manifest.Manifest) {}
	unloaded := func(m *manifest.Manifest) {
		m.AccountFiles["beta"] = &manifest.AccountFile{Rows: m.RowsOf("beta")}
		delete(m.Accounts, "beta")
	}
	only := func(day schema.Date) map[string]map[schema.Date]bool {
		return map[string]map[schema.Date]bool{"acme": {day: true}}
	}
	const more = "UPDATE spend_daily SET spend = spend + 0.000001 WHERE account_id = 'acme' AND source_id = 'S000' " +
		"AND report_date = DATE '1970-01-01' + 20000"
	for name, c := range map[string]struct {
		sql     string
		m       func(*manifest.Manifest)
		changed map[string]map[schema.Date]bool
		says    string // text of the damage; empty: none
	}{
		"as built":                     {"SELECT 1", all, nil, ""},
		"as built/one account":         {"SELECT 1", unloaded, nil, ""},
		"other spend":                  {more, all, nil, "of account acme adds up to"},
		"other spend/of a changed day": {more, all, only(20000), "2024-10-04 of account acme adds up to"},
		"other spend/of another day":   {more, all, only(20001), ""},
		"a row moved": {"UPDATE spend_daily SET report_date = report_date + 1 WHERE account_id = 'acme' AND " +
			"source_id = 'S002'", all, nil, "rows, its Parquet file has"},
		"a row is gone/of an account that is not loaded": {"DELETE FROM spend_daily WHERE account_id = 'beta'",
			unloaded, nil, "spend_daily of account beta has no rows"},
		"a row of another table": {"INSERT INTO calendar BY NAME SELECT 'acme' AS account_id, report_date, " +
			"report_date AS month, '' AS iso_week, 1 AS day_of_week, false AS is_weekend, now() AS starts_at, " +
			"now() AS ends_at, 24 AS hours, '' AS _run_id FROM spend_daily LIMIT 1", all, nil,
			"calendar of account acme has 1 rows"},
		"a day that is not proven": {"SELECT 1", func(m *manifest.Manifest) {
			m.AccountFiles["acme"] = &manifest.AccountFile{} // as for a published account
			delete(m.Accounts["acme"].Days, 20001)
		}, nil, "acme has 2 rows, and the day is not proven"},
		"other sums of campaigns": {"UPDATE int.campaign_spend SET clicks = clicks + 1", all, nil,
			"int.campaign_spend adds up to"},
		"sums of campaigns/of an account that is not loaded": {"UPDATE int.campaign_spend SET report_date = " +
			"report_date + 9 WHERE account_id = 'beta'", unloaded, nil, ""},
		"sums of campaigns/of no account": {"UPDATE int.campaign_spend SET account_id = 'x' WHERE account_id = 'beta'",
			unloaded, nil, "int.campaign_spend has rows on 2024-10-04 of account x"},
	} {
		m := b.m.Clone()
		c.m(m)
		err := b.after(t, c.sql, func(w *duck.Warehouse) error {
			return warehouseCheck{manifest: m, changed: c.changed}.content(t.Context(), w)
		})
		wantDamage(t, name, err, c.says)
	}
}

func wantDamage(t *testing.T, name string, err error, says string) {
	t.Helper()
	if says == "" && err != nil || says != "" && (!errors.Is(err, durable.ErrDamaged) ||
		!strings.Contains(err.Error(), says)) {
		t.Errorf("%s: %v, want %q", name, err, says)
	}
}

// TestCompareRows: tables, sums by campaign and models with other rows are detected even if counts and sums are right.
func TestCompareRows(t *testing.T) {
	b := newBuilt(t)
	// Remove the mart's file from the manifest, because it was never written.
	delete(b.m.Accounts["acme"].Files, manifest.TablePath(schema.CampaignDays.Table, "acme", 20000))
	const query = "SELECT account_id, report_date, sum(spend) AS spend FROM main.spend_daily GROUP BY ALL"
	whole := duck.View{Schema: "mart", Name: "days", SQL: query, IsTable: true, Reads: []string{"main.spend_daily"}}
	plain := whole
	plain.IsTable = false
	const stored = "CREATE TABLE mart.days AS " + query +
		"; INSERT INTO int.made SELECT 'mart.days', account_id, '', '', " +
		"sum(hash(t)::HUGEINT)::VARCHAR || ' ' || count(*) FROM mart.days AS t GROUP BY ALL"
	const other = "; UPDATE mart.days SET spend = spend + 1 WHERE account_id = 'beta'"
	for name, c := range map[string]struct {
		sql     string
		views   []duck.View
		version int
		says    string
	}{
		"as built":     {"SELECT 1", nil, schema.Version, ""},
		"models":       {stored, []duck.View{whole, plain}, schema.Version, ""},
		"a model/rows": {stored + other, []duck.View{whole}, schema.Version, `mart.days`},
		"a model/view": {stored + other, []duck.View{plain}, schema.Version, ""},
		"a model/of no account": {stored + "; INSERT INTO mart.days VALUES ('x', DATE '2024-01-01', 1)",
			[]duck.View{whole}, schema.Version, `mart.days`},
		"spend": {"UPDATE spend_daily SET source_id = 'x' WHERE account_id = 'beta'", nil, schema.Version,
			"spend_daily holds other rows than its Parquet files"},
		"a key twice": {"UPDATE spend_daily SET source_id = 'S000' WHERE account_id = 'acme' AND source_id = 'S001'",
			nil, schema.Version, "spend_daily holds other rows than its Parquet files"},
		"a table without files": {"INSERT INTO tracker_daily (account_id, report_date, campaign_id, source_id, " +
			"_run_id) VALUES ('acme', DATE '2024-01-01', 'C1', 'S1', 'r')", nil, schema.Version,
			"tracker_daily holds other rows than its Parquet files"},
		"campaigns": {"UPDATE int.campaign_spend SET campaign_id = 'x' WHERE account_id = 'beta'", nil,
			schema.CampaignSpends.Since, "than spend_daily adds up to"},
	} {
		m := b.m.Clone()
		m.SchemaVersion = c.version
		err := b.after(t, c.sql, func(w *duck.Warehouse) error {
			return compareRows(t.Context(), m, b.dir, w, c.views)
		})
		wantDamage(t, name, err, c.says)
	}
}

// TestCompareRows_OfMarts: the files of a mart must have the rows of its view.
func TestCompareRows_OfMarts(t *testing.T) {
	b := newBuilt(t)
	acme, path := b.m.Accounts["acme"], manifest.TablePath(schema.CampaignDays.Table, "acme", 20000)
	acme.Files[path] = putTable(t, b.dir, path, schema.CampaignDays,
		[]schema.CampaignDay{{AccountID: "acme", ReportDate: 20000, CampaignID: "C1"}})
	view := "mart." + schema.Quote(schema.CampaignDays.View)
	as := "CREATE TABLE " + view + " AS FROM read_parquet('" + filepath.Join(b.dir, path) + "')"
	other := as + "; UPDATE " + view + " SET campaign_id = 'C2'"
	for name, c := range map[string]struct {
		sql  string
		says string
	}{
		"as the view":        {as, ""},
		"other rows":         {other, "its files hold other rows than the view mart."},
		"a row more":         {as + "; INSERT INTO " + view + " FROM " + view, "its files hold other rows"},
		"no row/in the view": {as + "; DELETE FROM " + view, "its files hold other rows"},
	} {
		err := b.after(t, c.sql, func(w *duck.Warehouse) error {
			return compareRows(t.Context(), b.m, b.dir, w, nil)
		})
		wantDamage(t, name, err, c.says)
	}
}

// TestNewerDuckDB: a DuckDB file of a later generation is a newer part. A file that does not open is not a newer part,
// and neither is a file of the same generation.
func TestNewerDuckDB(t *testing.T) {
	b := newBuilt(t)
	path := filepath.Join(b.dir, duck.FileName)
	w, err := duck.Open(t.Context(), path, b.opts)
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string]string{}
	for _, c := range schema.Runs.Columns {
		if !c.Nullable {
			columns[c.Name] = map[schema.Kind]string{schema.Text: "'R7'", schema.Flag: "true",
				schema.Moment: "TIMESTAMPTZ '2026-03-08 06:00:00+00'"}[c.Kind]
			if columns[c.Name] == "" {
				columns[c.Name] = "7"
			}
		}
	}
	var names, values []string
	for name, value := range columns {
		names, values = append(names, name), append(values, value)
	}
	insert := "INSERT INTO ops.run (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
	if err := w.Stop(errors.Join(w.Exec(t.Context(), insert), w.Finish(t.Context()))); err != nil {
		t.Fatal(err)
	}
	for generation, newer := range map[int64]bool{6: true, 7: false, 8: false} {
		b.m.Generation = generation
		got, err := newerDuckDB(t.Context(), b.m, b.dir, b.opts)
		want := manifest.NewerPart{}
		if newer {
			want = manifest.NewerPart{Path: duck.FileName, Generation: 7, RunID: "R7",
				At: schema.InstantOf(schema.NewDate(2026, 3, 8).Start())}
		}
		if got != want || err != nil {
			t.Errorf("generation %d: %+v, %v", generation, got, err)
		}
	}
	if err := os.WriteFile(path, []byte("no DuckDB file"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.m.Generation = 1
	if got, err := newerDuckDB(t.Context(), b.m, b.dir, b.opts); got != (manifest.NewerPart{}) || err != nil {
		t.Errorf("a file that does not open: %+v, %v", got, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := newerDuckDB(stopped, b.m, b.dir, b.opts); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
}
