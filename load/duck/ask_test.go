package duck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"spendsync/load/durable"
	files "spendsync/load/parquet"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// publish builds a DuckDB file with four rows of the report.
func publish(t *testing.T, dir string) {
	t.Helper()
	var rows []schema.Spend
	for i, source := range []string{"S1", "S2", "S1", "S2"} {
		rows = append(rows, schema.Spend{
			AccountID: "acme", ReportDate: day - schema.Date(i/2), CampaignID: "C1234567", CreativeID: "C1234567-001",
			SourceID: source,
			Spend:    12_340_000, Clicks: schema.Some[int64](3),
		})
	}
	parts := filepath.Join(dir, "data.parquet")
	var b bytes.Buffer
	_, err := files.Write(&b, schema.SpendDaily.Table, files.Record(schema.SpendDaily, rows))
	if err := errors.Join(err, os.WriteFile(parts, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	loads := []ReplacePartition{ReplacePartition{Table: schema.SpendDaily.Table, Files: []string{parts}}}
	o := Options{Threads: 1, Memory: "256MiB", Dir: dir, Disk: durable.OS}
	w, err := Build(t.Context(), filepath.Join(dir, FileName), true, loads, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(w.Finish(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// fileHashes returns the hashes of all files of a folder, by name.
func fileHashes(t *testing.T, dir string) map[string]string {
	t.Helper()
	hashes := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		hashes[path], _, err = durable.OS.HashFile(path)
		return err
	})
	if err != nil || len(hashes) == 0 {
		t.Fatal(err, hashes)
	}
	return hashes
}

// asked runs a query and returns the result, which is closed when the test ends.
func asked(t *testing.T, dir, q string) *Result {
	t.Helper()
	r, err := Ask(t.Context(), dir, Query{SQL: q}, Options{})
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// rowsOf returns the rows as texts, with cells separated by bars.
func rowsOf(t *testing.T, r *Result) []string {
	t.Helper()
	var all []string
	for row, err := range r.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		var cells []string
		for _, c := range row {
			if !c.Valid {
				c.V = "NULL"
			}
			cells = append(cells, c.V)
		}
		all = append(all, strings.Join(cells, "|"))
	}
	return all
}

// TestAsk_RefusesWhatIsNoQuestion tries statements that would write, open, load or set something. They are refused, and
// the store stays unchanged.
func TestAsk_RefusesWhatIsNoQuestion(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	publish(t, dir)
	before := fileHashes(t, dir)
	for i, q := range []string{
		"INSERT INTO spend_daily SELECT * FROM spend_daily", "UPDATE spend_daily SET spend = 0",
		"DELETE FROM spend_daily", "TRUNCATE spend_daily",
		"MERGE INTO spend_daily USING spend_daily AS s ON true WHEN MATCHED THEN DELETE",
		"CREATE TABLE x (i INTEGER)", "CREATE TEMP TABLE x (i INTEGER)", "CREATE TABLE memory.x AS SELECT 1 AS i",
		"CREATE VIEW v AS SELECT 1 AS i", "CREATE MACRO m() AS 1",
		"DROP TABLE spend_daily", "ALTER TABLE spend_daily ADD COLUMN x INTEGER", "COMMENT ON TABLE spend_daily IS 'x'",
		"ATTACH ':memory:' AS z", "ATTACH '" + other + "/x.duckdb' AS z", "DETACH w", "USE memory",
		"COPY spend_daily TO '" + other + "/x.csv'", "COPY (SELECT 1) TO '" + other + "/x.parquet'",
		"COPY spend_daily FROM '/etc/passwd'",
		"EXPORT DATABASE '" + other + "'", "IMPORT DATABASE '" + other + "'",
		"INSTALL httpfs", "LOAD httpfs", "SET threads = 1", "RESET threads", "SET VARIABLE a = 1",
		"SET lock_configuration = false",
		"PRAGMA database_list", "PRAGMA table_info('spend_daily')", "PRAGMA enable_profiling", "CALL pragma_version()",
		"CHECKPOINT", "VACUUM", "ANALYZE",
		"BEGIN", "COMMIT", "PREPARE p AS SELECT 1", "EXECUTE p", "EXPLAIN ANALYZE DELETE FROM spend_daily",
		"SELECT 1; SELECT 2", "SELECT 1; DELETE FROM spend_daily", "", ";", "-- a comment alone",
		"SELECT 1); DELETE FROM spend_daily; SELECT (1", "') ; DELETE FROM spend_daily; --",
		"FROM query('DELETE FROM spend_daily')",
		"FROM read_csv('/etc/passwd')", "FROM '/etc/passwd'", "FROM read_text('/etc/hostname')",
		"FROM read_blob('/etc/hostname')", "FROM glob('/etc/*')", "FROM sniff_csv('/etc/passwd')",
		"FROM read_parquet('" + dir + "/parquet/calendar/account=acme/data.parquet')", "FROM '" + dir +
			"/manifest.json'",
		"FROM read_csv('https://example.com/x.csv')", "FROM 'https://example.com/x.parquet'",
		"FROM 's3://bucket/x.parquet'",
		// This statement would end the process, because the engine throws while it closes.
		"FROM enable_logging('QueryLog', storage := 'file', storage_config := {'path': '" + other + "'})",
		"SELECT (FROM system.main.Enable_Logging())",
		"FROM query('FROM enable' || '_logging()')", "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
		"FROM enable_profiling()", "FROM disable_profiling()", "FROM enable_peg_parser()", "FROM read_duckdb('" + dir +
			"/warehouse.duckdb', table_name = 'spend_daily')", "FROM duckdb_secrets()", "FROM duckdb_logs()",
		"SELECT write_log('x')", `FROM "READ_TEXT"('/etc/hostname')`,
		"FROM spend_daily, read_text('/etc/hostname') AS t",
		"SELECT (SELECT content FROM system.main.read_text('/etc/hostname'))",
		"FROM spend_daily WHERE source_id IN (SELECT content FROM read_text('/etc/hostname'))",
		"FROM arrow_scan(1::POINTER, 2::POINTER, 3::POINTER)",
		"WITH x AS (FROM read_blob('" + dir + "/warehouse.duckdb')) SELECT 1 FROM x", "SELECT * FROM spend_daily " +
			"WHERE EXISTS (FROM force_checkpoint('w'))",
		"SELEC 1", "SELECT nope FROM spend_daily", "FROM nope", "SELECT 'x'::INTEGER", "SELECT $a", "SELECT ?",
	} {
		if i%3 != 0 && !schematest.All() {
			continue
		}
		r, err := Ask(t.Context(), dir, Query{SQL: q}, Options{})
		var qe *QueryError
		if !errors.As(err, &qe) || qe.Message == "" || strings.Contains(qe.Message, "answer AS") {
			t.Errorf("%s: %v", q, err)
		}
		if r != nil {
			t.Errorf("%s: there is an answer", q)
			r.Close()
		}
	}
	if after := fileHashes(t, dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the store changed:\n%v\n%v", before, after)
	}
	if left, _ := os.ReadDir(other); len(left) > 0 {
		t.Errorf("%v was written", left)
	}
}

// TestAsk_KnowsEveryFunctionOfTheEngine: each table function of the engine is refused unless tableFunctions allows it.
// That includes functions that a new version of the engine adds.
func TestAsk_KnowsEveryFunctionOfTheEngine(t *testing.T) {
	schematest.Long(t) // changes only with the engine's version
	dir := t.TempDir()
	publish(t, dir)
	allowed := 0
	for _, name := range rowsOf(t, asked(t, dir, "SELECT DISTINCT function_name FROM duckdb_functions() AS f "+
		"WHERE f.function_type IN ('table', 'table_macro') AND f.database_name = 'system'")) {
		if tableFunctions.MatchString(name) {
			allowed++
			continue
		}
		for _, q := range []string{"FROM " + name + "()", "FROM " + strings.ToUpper(name) + "('x') AS f",
			"SELECT 1 WHERE EXISTS (FROM system.main." + name + "('x', 1))"} {
			r, err := Ask(t.Context(), dir, Query{SQL: q}, Options{})
			if qe := (*QueryError)(nil); !errors.As(err, &qe) {
				t.Errorf("%s: %v", q, err)
			}
			if r != nil {
				r.Close()
			}
		}
	}
	if allowed < 20 {
		t.Errorf("only %d functions of the engine are allowed", allowed)
	}
}

func TestAsk_ShowsThePlaceOfAMistake(t *testing.T) {
	dir := t.TempDir()
	publish(t, dir)
	_, err := Ask(t.Context(), dir, Query{SQL: "SELECT\n  nope FROM spend_daily"}, Options{})
	var qe *QueryError
	if !errors.As(err, &qe) || !strings.Contains(qe.Message, `"nope" not found`) ||
		strings.Contains(qe.Message, "LINE") || !strings.HasPrefix(qe.Excerpt, "LINE 2:   nope FROM") {
		t.Errorf("%#v, %v", qe, err)
	}
}

func TestAsk_TakesWhateverReads(t *testing.T) {
	dir := t.TempDir()
	publish(t, dir)
	columns := int64(len(schema.Calendar.Columns))
	for q, rows := range map[string]int64{
		"SELECT 1": 1, "SELECT 1 AS a;": 1, "SELECT 1; -- the end": 1, "/* first */ SELECT ')' AS a": 1,
		"VALUES (1), (2)": 2, "FROM spend_daily": 4,
		"WITH a AS (SELECT 1 AS i) FROM a": 1, "DESCRIBE calendar": columns, "SUMMARIZE calendar": columns,
		"(SELECT 1) UNION ALL (SELECT 1)": 2, "SELECT 1 AS a WHERE false": 0,
	} {
		if r := asked(t, dir, q); r.Count != rows || int64(len(rowsOf(t, r))) != rows {
			t.Errorf("%s: %d rows, want %d", q, r.Count, rows)
		}
	}
}

// TestAsk_KeepsTypesAndDigits uses values that a conversion through float or text would change.
func TestAsk_KeepsTypesAndDigits(t *testing.T) {
	dir := t.TempDir()
	publish(t, dir)
	for _, c := range []struct{ sql, kind, text string }{
		{"9007199254740993", "BIGINT", "9007199254740993"},
		{"170141183460469231731687303715884105727", "HUGEINT", "170141183460469231731687303715884105727"},
		{"12345678901234567890.123456::DECIMAL(38,6)", "DECIMAL(38,6)", "12345678901234567890.123456"},
		{"sum(spend)", "DECIMAL(38,6)", "22.340000"},
		{"[123456789012.123456::DECIMAL(18,6)]", "DECIMAL(18,6)[]", "[123456789012.123456]"},
		{"{'a': 123456789012.123456::DECIMAL(18,6), 'b': NULL}", `STRUCT(a DECIMAL(18,6), b INTEGER)`,
			`{"a":123456789012.123456,"b":null}`},
		{"MAP {'k': 9007199254740993}", "MAP(VARCHAR, BIGINT)", `{"k":9007199254740993}`},
		{"0.1::DOUBLE", "DOUBLE", "0.1"}, {"''", "VARCHAR", ""}, {"NULL::VARCHAR", "VARCHAR", "NULL"},
		{"true", "BOOLEAN", "true"},
		{"TIMESTAMPTZ '2026-03-08 01:59:59.5-06'", "TIMESTAMP WITH TIME ZONE", "2026-03-08T07:59:59.5Z"},
		{"DATE '2026-03-08'", "DATE", "2026-03-08"}, {`'\x00'::BLOB`, "BLOB", `\x00`},
		{"'é😀' || chr(10)", "VARCHAR", "é😀\n"},
	} {
		r := asked(t, dir, "SELECT "+c.sql+` AS "a ""b""" FROM (SELECT 22.34::DECIMAL(18,6) AS spend) GROUP BY ALL`)
		if r.Columns[0].Name != `a "b"` || r.Columns[0].Type != c.kind {
			t.Errorf("%s: column %+v, want %s", c.sql, r.Columns[0], c.kind)
		}
		if got := rowsOf(t, r); len(got) != 1 || got[0] != c.text {
			t.Errorf("%s = %q, want %q", c.sql, got, c.text)
		}
	}
	if r := asked(t, dir, "SELECT 1 AS a, 2 AS a, 3 AS A"); r.Columns[0].Name == r.Columns[1].Name ||
		strings.EqualFold(r.Columns[1].Name, r.Columns[2].Name) {
		t.Errorf("two columns of one name: %v", r.Columns)
	}
}

func TestAsk_SetsParameters(t *testing.T) {
	dir := t.TempDir()
	publish(t, dir)
	hostile := `'); DELETE FROM spend_daily; --`
	r, err := Ask(t.Context(), dir, Query{SQL: "SELECT $n::INTEGER + 1 AS n, $t AS t LIMIT $n::BIGINT",
		Params: map[string]string{"n": "7", "t": hostile}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := rowsOf(t, r); len(got) != 1 || got[0] != "8|"+hostile {
		t.Errorf("rows = %q", got)
	}
	_, err = Ask(t.Context(), dir, Query{SQL: "SELECT $n::INTEGER AS n", Params: map[string]string{"n": "seven"}},
		Options{})
	if qe := (*QueryError)(nil); !errors.As(err, &qe) || !strings.Contains(err.Error(), "seven") {
		t.Errorf("a parameter that is no number: %v", err)
	}
}

// TestAsk_AnswersInOrderAcrossPages expects every row once, in the order of the query.
func TestAsk_AnswersInOrderAcrossPages(t *testing.T) {
	dir := t.TempDir()
	publish(t, dir)
	n := 3*rowsPerPage + 7
	got := rowsOf(t, asked(t, dir, fmt.Sprintf("SELECT i FROM range(%d) AS r(i) ORDER BY i DESC", n)))
	if len(got) != n {
		t.Fatalf("%d rows, want %d", len(got), n)
	}
	for i, s := range got {
		if s != fmt.Sprint(n-1-i) {
			t.Fatalf("row %d is %s", i, s)
		}
	}
}

// TestAsk_HoldsMoreThanItsMemory: an answer of 100 MB works with 48 MB of memory, and the temporary files are removed
// afterwards.
func TestAsk_HoldsMoreThanItsMemory(t *testing.T) {
	dir, temp := t.TempDir(), t.TempDir()
	publish(t, dir)
	t.Setenv("TMPDIR", temp)
	r, err := Ask(t.Context(), dir, Query{SQL: "SELECT i, repeat(i::VARCHAR, 200) AS long FROM " +
		"range(90000) AS r(i)"}, Options{Memory: "48MiB", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	if spilled, _ := filepath.Glob(temp + "/*/*"); len(spilled) == 0 {
		t.Error("nothing went to disk: the answer fitted, or was held by the driver")
	}
	n := 0
	for row, err := range r.Rows(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprint(n); row[0].V != want || row[1].V != strings.Repeat(want, 200) {
			t.Fatalf("row %d is %.60v", n, row)
		}
		n++
	}
	if n != 90000 {
		t.Errorf("%d rows", n)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestAsk_StopsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	publish(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	// This query would take years.
	_, err := Ask(ctx, dir, Query{SQL: "SELECT sum(a.i * b.i) AS s FROM range(10000000000) AS a(i), " +
		"range(10000000000) AS b(i)"}, Options{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
	r := asked(t, dir, fmt.Sprintf("FROM range(%d)", 2*rowsPerPage))
	ctx, cancelRows := context.WithCancel(t.Context())
	defer cancelRows()
	n := 0
	for _, err = range r.Rows(ctx) {
		if n++; n == 1 {
			cancelRows()
		}
	}
	if !errors.Is(err, context.Canceled) || n != rowsPerPage+1 {
		t.Errorf("after %d rows: %v", n, err)
	}
}

func TestAsk_NamesAWarehouseThatDoesNotOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Ask(t.Context(), dir, Query{SQL: "SELECT 1"}, Options{}); !errors.Is(err, durable.ErrEmpty) {
		t.Errorf("of nothing: %v", err)
	}
	publish(t, dir)
	if err := os.WriteFile(filepath.Join(dir, FileName), []byte("no database"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Ask(t.Context(), dir, Query{SQL: "SELECT 1"}, Options{})
	if d := (*durable.Damage)(nil); !errors.As(err, &d) || d.Repair != durable.RepairRebuild {
		t.Errorf("of garbage: %v", err)
	}
}

// TestResult_WritesParquet checks the types of the columns in the Parquet file.
func TestResult_WritesParquet(t *testing.T) {
	dir := t.TempDir()
	publish(t, dir)
	r := asked(t, dir, `SELECT 9007199254740993::HUGEINT AS h, 12345678901234567890.123456::DECIMAL(38,6) AS d, DATE
		'2026-03-08' AS day,
		TIMESTAMPTZ '2026-03-08 07:59:59.5+00' AS at, '' AS empty, NULL::VARCHAR AS nothing, INTERVAL 1 MONTH AS i,
		[1::HUGEINT] AS l FROM range(3)`)
	var b bytes.Buffer
	if err := r.WriteParquet(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if f.NumRows() != 3 {
		t.Errorf("%d rows", f.NumRows())
	}
	var got []string
	for _, field := range f.Schema().Fields() {
		got = append(got, field.Name()+" "+field.Type().String())
	}
	want := []string{"h DECIMAL(38,0)", "d DECIMAL(38,6)", "day DATE", "at TIMESTAMP(isAdjustedToUTC=true,unit=MICROS)",
		"empty STRING", "nothing STRING", "i STRING", "l STRING"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("columns\n%v, want\n%v", got, want)
	}
	rows := make([]parquet.Row, 1)
	reader := f.RowGroups()[0].Rows()
	defer reader.Close()
	if _, err := reader.ReadRows(rows); err != nil {
		t.Fatal(err)
	}
	if v := rows[0]; v[4].IsNull() || v[4].String() != "" || !v[5].IsNull() || v[6].String() != "1 month" ||
		v[7].String() != "[1]" {
		t.Errorf("row = %v", v)
	}
	if h := rows[0][0].ByteArray(); fmt.Sprintf("%x", h) != "00000000000000000020000000000001" {
		t.Errorf("h = %x", h)
	}
}
