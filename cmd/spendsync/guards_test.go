package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/load/durable"
)

// leaving are questions that would read or write something besides the warehouse, or change the engine,
// each in several forms. DIR is a folder of the test, with a file secret.csv.
var leaving = []string{
	// files, by functions, by their names, and by names in other forms
	"FROM read_csv('DIR/secret.csv')", "FROM read_csv_auto('DIR/secret.csv')", "FROM READ_TEXT('DIR/secret.csv')",
	`FROM "read_blob"('DIR/secret.csv') AS t`, "FROM system.main.read_text('DIR/secret.csv')",
	"FROM read_json('DIR/secret.csv')", "FROM read_ndjson_objects('DIR/*')", "FROM parquet_scan('DIR/secret.csv')",
	"FROM parquet_metadata('DIR/secret.csv')", "FROM parquet_bloom_probe('DIR/secret.csv', 'a', 1)",
	"FROM read_duckdb('DIR/secret.csv')", "FROM glob('DIR/*')", "FROM sniff_csv('DIR/secret.csv')",
	"FROM 'DIR/secret.csv'", `FROM "DIR/secret.csv"`, "FROM 'file://DIR/secret.csv'", "FROM ['DIR/secret.csv']",
	"FROM query_table('DIR/secret.csv')", "FROM query('FROM ''DIR/secret.csv''')", "SUMMARIZE 'DIR/secret.csv'",
	"DESCRIBE FROM 'DIR/secret.csv'", "SUMMARIZE FROM read_csv('DIR/secret.csv')",
	"WITH t AS MATERIALIZED (FROM read_text('DIR/secret.csv')) FROM t",
	"SELECT (SELECT content FROM read_text('DIR/secret.csv'))",
	"SELECT list(c.content) FROM spend_daily AS s, LATERAL (SELECT content FROM read_text('DIR/secret.csv')) AS c",
	"FROM json_execute_serialized_sql(json_serialize_sql('FROM read_text(''DIR/secret.csv'')'))",
	"PIVOT (FROM read_csv('DIR/secret.csv')) ON a",
	// writing
	"COPY (SELECT 1) TO 'DIR/out.csv'", "COPY spend_daily TO 'DIR/out.parquet' (FORMAT parquet)",
	"COPY FROM DATABASE w TO memory", "EXPORT DATABASE 'DIR/out'", "IMPORT DATABASE 'DIR/out'",
	"CREATE TABLE memory.t AS SELECT 1 AS a", "CREATE MACRO m() AS TABLE FROM read_text('DIR/secret.csv')",
	"CREATE TEMP VIEW v AS FROM read_text('DIR/secret.csv')", "CREATE SECRET s (TYPE s3)",
	"CREATE PERSISTENT SECRET s (TYPE s3)", "CREATE SEQUENCE s", "CREATE TYPE t AS ENUM ('a')",
	// databases, extensions, the network
	"ATTACH 'DIR/x.duckdb' AS x", "ATTACH ':memory:' AS x", "ATTACH 'https://192.0.2.1/x.duckdb' AS x", "DETACH w",
	"USE memory", "INSTALL httpfs", "FORCE INSTALL httpfs FROM 'DIR'", "LOAD httpfs", "LOAD 'DIR/x.duckdb_extension'",
	"UPDATE EXTENSIONS", "FROM 'https://192.0.2.1/x.parquet'", "FROM 's3://bucket/x.parquet'",
	"FROM read_text('http://192.0.2.1/x')",
	// the environment and the settings
	"SELECT getenv('HOME')", "SELECT system.main.getenv('HOME')", "SET enable_external_access = true",
	"SET GLOBAL allowed_directories = ['/']", "SET lock_configuration = false", "RESET lock_configuration",
	"SET VARIABLE x = (SELECT content FROM read_text('DIR/secret.csv'))", "PRAGMA enable_external_access = true",
	"PRAGMA enable_profiling = 'json'", "PRAGMA profiling_output = 'DIR/out.json'", "PRAGMA database_list",
	"CALL enable_profiling(format := 'json', save_location := 'DIR/out.json')", "FROM enable_profiling()",
	"FROM enable_logging('QueryLog', storage := 'file', storage_config := {'path': 'DIR'})",
	"CALL enable_logging()", "SELECT write_log('x')", "FROM enable_peg_parser()", "FROM duckdb_secrets()",
	"FROM which_secret('s3://x', 's3')", "FROM checkpoint()", "FROM force_checkpoint('w')", "CHECKPOINT w",
	"FROM arrow_scan(1::POINTER, 2::POINTER, 3::POINTER)",
	// several at once
	"SELECT 1; COPY (SELECT 1) TO 'DIR/out.csv'", "SELECT 1) TO 'DIR/out.csv'; --",
	"/* x */ COPY (SELECT 1) TO 'DIR/o'",
	"EXPLAIN ANALYZE COPY (SELECT 1) TO 'DIR/out.csv'", "PREPARE p AS COPY (SELECT 1) TO 'DIR/out.csv'",
}

// TestQuery_ReachesNothingButTheWarehouse asks the command each of them: exit code 2, a reason, no answer, no
// file made, and the store as it was.
func TestQuery_ReachesNothingButTheWarehouse(t *testing.T) {
	w := newWorld(t, small).withoutMarts()
	if code, _, last := w.run("sync"); code != exit.OK {
		t.Fatal(last)
	}
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.csv")
	if err := os.WriteFile(secret, []byte("a\ncanary-of-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := storeHashes(t, w.dir)
	for _, q := range leaving {
		code, out, last := w.run("query", "-c", strings.ReplaceAll(q, "DIR", dir))
		if code != exit.Usage || out != "" || !strings.HasPrefix(last, "spendsync: ") ||
			strings.Contains(last, "canary-of-a-file") {
			t.Errorf("%s: exit %d: %s%s", q, code, out, last)
		}
		if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
			t.Fatalf("%s: left %v, %v", q, names, err)
		}
	}
	if after := storeHashes(t, w.dir); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Error("the store has changed")
	}
}

// TestSync_WritesNothingForOthersToWrite: with any umask, no file or folder of the store, or of the metrics,
// can be written by the group or by others.
func TestSync_WritesNothingForOthersToWrite(t *testing.T) {
	w := newWorld(t, small).withoutMarts()
	metrics := filepath.Join(t.TempDir(), "m.prom")
	w.env["METRICS_FILE"] = metrics
	for _, umask := range []string{"000", "077", "002"} {
		cmd := w.start(t.Context(), "sync")
		sh := exec.CommandContext(t.Context(), "sh", "-c", `umask `+umask+`; exec "$0" "$@"`)
		sh.Args, sh.Env = append(sh.Args, cmd.Args...), cmd.Env
		if out, err := sh.CombinedOutput(); err != nil {
			t.Fatalf("umask %s: %v\n%s", umask, err, out)
		}
		seen := 0
		for _, root := range []string{w.dir, metrics} {
			err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := d.Info()
				if err == nil && info.Mode().Perm()&0o022 != 0 {
					t.Errorf("umask %s: %s is %v", umask, path, info.Mode())
				}
				seen++
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if seen < 50 {
			t.Errorf("umask %s: only %d files", umask, seen)
		}
	}
}

// TestSync_OddFilesHoldNothingUp: a pipe, a device, a folder or a huge file under the name of a variable ends
// sync at once, before it takes a lock.
func TestSync_OddFilesHoldNothingUp(t *testing.T) {
	w := newWorld(t, small).withoutMarts()
	dir := t.TempDir()
	pipe, huge := filepath.Join(dir, "pipe"), filepath.Join(dir, "huge")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 1<<40); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	for _, name := range []string{"API_KEY_FILE", "REPORT_PASSWORD_FILE", "PAYOUTS"} {
		for _, path := range []string{pipe, "/dev/zero", dir, huge} {
			before, wasSet := w.env[name]
			w.env[name] = path
			code, _, last := w.run("sync")
			if delete(w.env, name); wasSet {
				w.env[name] = before
			}
			if code != exit.Usage || !strings.Contains(last, name) || !strings.Contains(last, path) {
				t.Errorf("%s=%s: exit %d: %s", name, path, code, last)
			}
			if _, err := os.Lstat(filepath.Join(w.dir, "locks")); err == nil {
				t.Errorf("%s=%s: a lock was taken", name, path)
			}
		}
	}
}

// storeHashes are the hashes of all files of a folder.
func storeHashes(t *testing.T, dir string) map[string]string {
	t.Helper()
	hashes := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			hashes[path], _, err = durable.OS.HashFile(path)
		}
		return err
	})
	if err != nil || len(hashes) == 0 {
		t.Fatal(err, hashes)
	}
	return hashes
}
