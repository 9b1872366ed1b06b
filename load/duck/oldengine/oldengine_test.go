package oldengine

import (
	"database/sql"
	"encoding/csv"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/marcboeker/go-duckdb/v2"

	"spendsync/extract/adsim"
	"spendsync/schema/schematest"
)

// queries makes one query for every view and table that readers use: how many rows it has, and a hash of
// them. A DOUBLE is rounded, as the engines add floats in different orders. A view that asks the time is
// counted only.
const queries = `
	SELECT format('SELECT ''{0}.{1}'' AS view, count(*) AS rows, {2} AS content FROM (' ||
		'SELECT ({3})::VARCHAR AS line FROM {0}.{1})',
		c.table_schema, c.table_name,
		CASE WHEN any_value(v.sql) ILIKE '%now()%' THEN '''''' ELSE 'md5(string_agg(line, chr(10) ORDER BY line))' END,
		string_agg(format(CASE c.data_type WHEN 'DOUBLE' THEN 'round("{}", 6)' ELSE '"{}"' END, c.column_name),
			', ' ORDER BY c.ordinal_position))
	FROM information_schema.columns AS c
	LEFT JOIN duckdb_views() AS v ON v.schema_name = c.table_schema AND v.view_name = c.table_name
	WHERE c.table_schema IN ('main', 'mart', 'ops') AND c.table_catalog = current_database()
	GROUP BY c.table_schema, c.table_name`

// TestOldEngine_ReadsWhatTheCurrentOneWrites: DuckDB 1.4 opens a store that the current engine wrote, and
// every view and table in it has the rows that the current engine finds there.
func TestOldEngine_ReadsWhatTheCurrentOneWrites(t *testing.T) {
	schematest.Long(t) // both engines take half a minute to plan every view
	dir := t.TempDir()
	binary, data := filepath.Join(dir, "spendsync"), filepath.Join(dir, "data")
	service := adsim.New(adsim.Config{Campaigns: 6, CreativesPerCampaign: 3, Sources: 60, RowsPerDay: 200,
		RateLimit: -1})
	server := httptest.NewServer(service)
	defer server.Close()
	for name, value := range map[string]string{
		"ADVERTISER_URL": server.URL + adsim.APIPrefix, "API_KEY": adsim.DefaultKey,
		"REPORT_URL": server.URL + adsim.ReportPrefix, "REPORT_USER": adsim.DefaultUser,
		"REPORT_PASSWORD": adsim.DefaultPassword, "DATA_DIR": data, "ACCOUNT": "acme", "REREAD_AFTER": "0s",
	} {
		t.Setenv("SPENDSYNC_"+name, value)
	}
	run(t, "go", "build", "-ldflags", "-s -w", "-o", binary, "spendsync/cmd/spendsync") // no debug information
	run(t, binary, "sync")
	today, err := time.Parse(time.DateOnly, service.Today())
	if err != nil {
		t.Fatal(err)
	}
	yesterday := today.AddDate(0, 0, -1).Format(time.DateOnly) // today's first rows may be hours away
	if _, err := service.Restate(yesterday, adsim.Restatement{Kind: "change", Row: 0}); err != nil {
		t.Fatal(err)
	}
	run(t, binary, "sync")
	db, err := sql.Open("duckdb", filepath.Join(data, "warehouse.duckdb")+"?access_mode=read_only")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var version string
	if err := db.QueryRow("SELECT version()").Scan(&version); err != nil || !strings.HasPrefix(version, "v1.4.") {
		t.Fatalf("the old engine is %s, %v; this test is about 1.4", version, err)
	}
	each := texts(t, db, queries)
	if len(each) < 30 {
		t.Fatalf("the store has only %d views and tables", len(each))
	}
	for some := range slices.Chunk(each, 8) { // both engines take a minute to plan all of them in one statement
		query := strings.Join(some, "\nUNION ALL ") + "\nORDER BY view"
		want, err := csv.NewReader(strings.NewReader(run(t, binary, "query", "--format", "csv", "-c", query))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		got := texts(t, db, "SELECT concat_ws(',', view, rows, coalesce(content, '')) FROM (\n"+query+"\n)")
		if len(got) != len(want)-1 {
			t.Fatalf("%d views from the old engine, %d from the current one", len(got), len(want)-1)
		}
		for i, line := range got {
			if w := strings.Join(want[i+1], ","); line != w {
				t.Errorf("the old engine finds %s, the current one %s", line, w)
			}
		}
	}
}

// run returns the standard output of a command that must succeed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), args, err, stderr.String())
	}
	return string(out)
}

// texts returns the values of a query with one column.
func texts(t *testing.T, db *sql.DB, query string) (values []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		values = append(values, v)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}
