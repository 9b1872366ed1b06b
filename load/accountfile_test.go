package load

import (
	"fmt"
	"strings"
	"testing"

	"spendsync/load/duck"
	"spendsync/load/loadtest"
	"spendsync/schema/schematest"
)

// TestAccountFile_HasOneAccountAlone queries one account, by every table and view of the warehouse and through every
// entry point of the engine. No answer and no error mentions the other account.
func TestAccountFile_HasOneAccountAlone(t *testing.T) {
	r := withTwoAccounts(t, quickDir(t))
	checkStore(t, r.dir)
	ask := func(account, query string) (text string) {
		result, err := duck.Ask(t.Context(), r.dir, duck.Query{SQL: query, Account: account}, r.opts.DuckDB)
		if err != nil {
			return err.Error()
		}
		defer result.Close()
		for row, err := range result.Rows(t.Context()) {
			if err != nil {
				return text + err.Error()
			}
			for _, cell := range row {
				text += cell.V + "\n"
			}
		}
		return text
	}
	names := strings.Fields(ask("", `SELECT schema_name || '.' || table_name FROM duckdb_tables() WHERE NOT internal
		UNION ALL SELECT schema_name || '.' || view_name FROM duckdb_views() WHERE NOT internal`))
	var asked []string
	all, err := duck.OpenSession(t.Context(), r.dir, r.opts.DuckDB)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	whole := 0
	for _, name := range names {
		if a, err := all.Query(t.Context(), "FROM "+name); err != nil || strings.Contains(fmt.Sprint(a.Rows), "other") {
			whole++
		}
		for _, form := range []string{"FROM %s", "FROM w.%s", "FROM one.%s", "FROM query_table('w.%s')",
			"SUMMARIZE w.%s"} {
			if schematest.Drawn(form+name, 30) {
				asked = append(asked, fmt.Sprintf(form, name))
			}
		}
	}
	if whole < 5 {
		t.Fatalf("the warehouse names the other account in %d of %q", whole, names)
	}
	for _, f := range []string{"databases", "tables", "views", "columns", "functions", "schemas", "settings", "memory",
		"dependencies", "constraints", "types", "secrets", "variables", "temporary_files", "logs"} {
		asked = append(asked, "FROM duckdb_"+f+"()")
	}
	for _, query := range append(asked, "SELECT stats(account_id) FROM spend_daily",
		"SELECT stats(account_id) FROM spend",
		"SELECT max(account_id) FROM ops.run", "FROM information_schema.tables", "FROM information_schema.schemata",
		"FROM pg_catalog.pg_class", "FROM sqlite_master", "SHOW ALL TABLES", "SHOW DATABASES", "PRAGMA database_list",
		"FROM pragma_storage_info('spend_daily')", "FROM pragma_metadata_info('w')", "FROM temp.answer",
		"FROM query('FROM w.main.spend_daily')", "SELECT getenv('HOME')", "FROM '"+r.dir+"/warehouse.duckdb'",
		"ATTACH '"+r.dir+"/warehouse.duckdb' AS x", "FROM read_blob('"+r.dir+"/warehouse.duckdb')",
		"FROM read_parquet('"+r.dir+"/parquet/spend_daily/*/*/*.parquet')",
		"FROM spend_known_at('2030-01-01'::TIMESTAMPTZ)") {
		if !schematest.Drawn(query, 2) {
			continue
		}
		if got := ask("acme", query); strings.Contains(got, "other\n") || strings.Contains(got, "'other'") {
			t.Errorf("%s: %s", query, got)
		}
	}
	if got := ask("acme", "SELECT count(*) > 0 FROM spend_daily"); got != "true\n" {
		t.Errorf("rows of acme: %s", got)
	}
	if got := ask("../..", "SELECT 1"); !strings.Contains(got, "no account") {
		t.Errorf("a path as an account: %s", got)
	}
}

// TestAccountFile_IsOfTheSecondAccountOn: a store of one account has no account files. When a second account is added,
// each account gets a file. When the second account is reset, both files are removed.
func TestAccountFile_IsOfTheSecondAccountOn(t *testing.T) {
	r := newRun(t, quickDir(t))
	r.mustSync(twoDays())
	has := func(account string) bool { return loadtest.Files(t, r.dir)[duck.AccountFile(account)] != "" }
	if has("acme") {
		t.Error("the only account has a file of its own")
	}
	other := r
	other.account = "other"
	other.mustSync(twoDays())
	if !has("acme") || !has("other") {
		t.Errorf("of two accounts: acme %t, other %t", has("acme"), has("other"))
	}
	if _, err := other.reset(); err != nil {
		t.Fatal(err)
	}
	if checkStore(t, r.dir); has("acme") || has("other") {
		t.Error("the account that is left has a file of its own")
	}
}
