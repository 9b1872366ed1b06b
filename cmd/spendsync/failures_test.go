package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// endOfFailure is a failure, and how the command then ends: texts in the first line, which names the cause, and in the
// last line, which advises.
type endOfFailure struct {
	name        string
	args        []string // empty: sync
	synced      bool     // a store exists before the failure
	breaks      func(w *world)
	code        int
	first, last string
}

// set makes a failure by setting variables, as NAME=value. NAME= removes a variable.
func set(variables ...string) func(*world) {
	return func(w *world) {
		for _, kv := range variables {
			name, value, _ := strings.Cut(kv, "=")
			if delete(w.env, name); value != "" {
				w.env[name] = value
			}
		}
	}
}

// status makes the service answer with a status.
func status(code int) func(*world) {
	return func(w *world) { w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: code}) }
}

// spoiled changes a file of the store; nil removes it.
func spoiled(name string, text []byte) func(*world) {
	return func(w *world) {
		path := filepath.Join(w.dir, name)
		err := os.Remove(path)
		if text != nil {
			err = os.WriteFile(path, text, 0o644)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// isFile replaces the data directory by a file.
func isFile(w *world) {
	if err := os.WriteFile(w.dir, []byte("a file"), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// closedPort sets an address with a port on which no server listens.
func closedPort(w *world) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.env["REPORT_URL"] = "http://" + l.Addr().String()
	l.Close()
}

// unknownHost puts a host that DNS does not know into a variable.
func unknownHost(variable string) func(*world) {
	return func(w *world) {
		w.env["REREAD_AFTER"] = "0s"
		host := "nowhere.invalid"
		w.env[variable] = "https://" + host
		w.transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host != host {
				return http.DefaultTransport.RoundTrip(r)
			}
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}}
		})
	}
}

// noDNS makes DNS not answer.
func noDNS(w *world) {
	w.transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "server misbehaving", Name: r.URL.Host,
			IsTemporary: true}}
	})
}

// noTLS makes the client use https with a server that only accepts http.
func noTLS(w *world) {
	w.transport = nil
	w.env["REREAD_AFTER"], w.env["REPORT_URL"] = "0s", strings.Replace(w.env["REPORT_URL"], "http:", "https:", 1)
}

// onlyTLS makes the client use http with a server that only accepts https.
func onlyTLS(w *world) {
	w.transport = nil
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	w.t.Cleanup(server.Close)
	w.env["REPORT_URL"] = strings.Replace(server.URL, "https:", "http:", 1)
}

// noDay makes the report answer 404 for one day.
func noDay(w *world) {
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 404, Day: (w.today() - 9).String(),
		Query: "include_creatives=true"})
}

// onDay sets a fault for the day that is some days before today.
func onDay(before int, f adsim.Fault) func(*world) {
	return func(w *world) {
		f.Day = (w.today() - schema.Date(before)).String()
		w.service.Fail(f)
	}
}

// wrongPath makes a base URL wrong by adding to its path.
func wrongPath(variable string) func(*world) {
	return func(w *world) { w.env["REREAD_AFTER"], w.env[variable] = "0s", w.env[variable]+"/wrong" }
}

const inConfig = "'spendsync help config' describes each variable (exit 2)"

var failures = []endOfFailure{
	{name: "wrong password", breaks: set("REPORT_PASSWORD=wrong"), code: exit.Auth,
		first: "The report refused the user or password (401): SPENDSYNC_REPORT_USER, SPENDSYNC_REPORT_PASSWORD",
		last:  "run 'spendsync check' (exit 3)"},
	{name: "wrong user", breaks: set("REPORT_USER=nobody@example.com"), code: exit.Auth,
		first: "The report refused the user or password (401)", last: "run 'spendsync check' (exit 3)"},
	{name: "wrong key", synced: true, breaks: set("API_KEY=wrong"), code: exit.Auth,
		first: "The advertiser API refused the key (401): SPENDSYNC_API_KEY", last: "run 'spendsync check' (exit 3)"},
	{name: "forbidden", breaks: status(http.StatusForbidden), code: exit.Auth,
		first: "refuses access (403)", last: "give that user or key access"},
	{name: "the service fails", breaks: status(http.StatusServiceUnavailable), code: exit.Unreachable,
		first: "keeps failing", last: "wait for the service and run it again"},
	{name: "nothing listens", breaks: closedPort, code: exit.Unreachable,
		first: "Nothing listens at SPENDSYNC_REPORT_URL (connection refused)",
		last:  "check host and port in SPENDSYNC_REPORT_URL"},
	{name: "an unknown host", breaks: unknownHost("REPORT_URL"), code: exit.Usage,
		first: "SPENDSYNC_REPORT_URL names a host that DNS does not know: nowhere.invalid",
		last:  "correct the host in SPENDSYNC_REPORT_URL, then run 'spendsync check' (exit 2)"},
	{name: "an unknown host of the API", breaks: unknownHost("ADVERTISER_URL"), code: exit.Usage,
		first: "SPENDSYNC_ADVERTISER_URL names a host that DNS does not know: nowhere.invalid",
		last:  "correct the host in SPENDSYNC_ADVERTISER_URL, then run 'spendsync check' (exit 2)"},
	{name: "a host that was known", synced: true, breaks: unknownHost("REPORT_URL"), code: exit.Unreachable,
		first: "SPENDSYNC_REPORT_URL names a host that DNS does not know", last: "(exit 5)"},
	{name: "DNS is down", breaks: noDNS, code: exit.Unreachable,
		first: "DNS does not answer for", last: "repair DNS on this machine"},
	{name: "a port without TLS", breaks: noTLS, code: exit.Usage,
		first: "SPENDSYNC_REPORT_URL begins with https, and its port does not speak TLS",
		last:  "correct the port in SPENDSYNC_REPORT_URL, then run 'spendsync check' (exit 2)"},
	{name: "a port that lost TLS", synced: true, breaks: noTLS, code: exit.Unreachable,
		first: "SPENDSYNC_REPORT_URL begins with https, and its port does not speak TLS", last: "(exit 5)"},
	{name: "a port with TLS alone", breaks: onlyTLS, code: exit.Usage,
		first: "SPENDSYNC_REPORT_URL begins with http, and its port speaks TLS",
		last:  "write https in SPENDSYNC_REPORT_URL, then run 'spendsync check' (exit 2)"},
	{name: "a wrong path", breaks: wrongPath("REPORT_URL"), code: exit.Usage,
		first: "SPENDSYNC_REPORT_URL has no report under its path (404)",
		last:  "correct the path of SPENDSYNC_REPORT_URL"},
	{name: "a wrong path of the API", breaks: wrongPath("ADVERTISER_URL"), code: exit.Usage,
		first: "SPENDSYNC_ADVERTISER_URL has no advertiser API under its path (404)",
		last:  "correct the path of SPENDSYNC_ADVERTISER_URL"},
	{name: "a path that is gone", synced: true, breaks: wrongPath("REPORT_URL"), code: exit.Usage,
		first: "SPENDSYNC_REPORT_URL has no report under its path (404)",
		last:  "correct the path of SPENDSYNC_REPORT_URL"},
	{name: "a day that is not there", breaks: noDay, code: exit.Partial,
		first: "The report answers 404 to spend ",
		last:  "ask the service why it answers 404; SPENDSYNC_REPORT_URL is right"},
	{name: "the key is missing", breaks: set("API_KEY="), code: exit.Usage,
		first: "not set: SPENDSYNC_API_KEY (or SPENDSYNC_API_KEY_FILE)", last: inConfig},
	{name: "everything is missing", breaks: set("API_KEY=", "ADVERTISER_URL=", "REPORT_URL=", "REPORT_USER=",
		"REPORT_PASSWORD="), code: exit.Usage,
		first: "not set: SPENDSYNC_ADVERTISER_URL, SPENDSYNC_API_KEY (or SPENDSYNC_API_KEY_FILE), " +
			"SPENDSYNC_REPORT_URL, " +
			"SPENDSYNC_REPORT_USER, SPENDSYNC_REPORT_PASSWORD (or SPENDSYNC_REPORT_PASSWORD_FILE)",
		last: inConfig},
	{name: "misspelt", breaks: set("REPORT_USER=", "REPORT_USR=me"), code: exit.Usage,
		first: "SPENDSYNC_REPORT_USR is set: did you mean SPENDSYNC_REPORT_USER?", last: inConfig},
	{name: "a number in words", breaks: set("PAGE_SIZE=many"), code: exit.Usage,
		first: `SPENDSYNC_PAGE_SIZE="many": must be a whole number from 1 to 10000`, last: inConfig},
	{name: "two numbers out of bounds", breaks: set("PAGE_SIZE=0", "YOUNG_DAYS=99"), code: exit.Usage,
		first: `SPENDSYNC_YOUNG_DAYS="99": must be a whole number from 0 to 33; SPENDSYNC_PAGE_SIZE="0": must be a ` +
			"whole number from 1 to 10000", last: inConfig},
	{name: "a duration without unit", breaks: set("REREAD_AFTER=20"), code: exit.Usage,
		first: `SPENDSYNC_REREAD_AFTER="20": must be a number with its unit (s, m or h), at least 0s, for example 20h`,
		last:  inConfig},
	{name: "a negative duration", breaks: set("LOCK_WAIT=-5m"), code: exit.Usage,
		first: `SPENDSYNC_LOCK_WAIT="-5m": must be a number with its unit (s, m or h), at least 0s`, last: inConfig},
	{name: "not a truth value", breaks: set("ALLOW_HTTP=maybe"), code: exit.Usage,
		first: `SPENDSYNC_ALLOW_HTTP="maybe": must be true or false`, last: inConfig},
	{name: "not a size", breaks: set("DUCKDB_MEMORY=much"), code: exit.Usage,
		first: `SPENDSYNC_DUCKDB_MEMORY="much": must be a size from 64MiB to 1024TiB, for example 512MiB`,
		last:  inConfig},
	{name: "less memory than DuckDB needs", breaks: set("DUCKDB_MEMORY=1KB"), code: exit.Usage,
		first: `SPENDSYNC_DUCKDB_MEMORY="1KB": must be a size from 64MiB`, last: inConfig},
	{name: "more memory than can be", breaks: set("DUCKDB_MEMORY=99999999999999999999GB"), code: exit.Usage,
		first: `must be a size from 64MiB to 1024TiB`, last: inConfig},
	{name: "no time for a request", breaks: set("HTTP_TIMEOUT=0"), code: exit.Usage,
		first: `SPENDSYNC_HTTP_TIMEOUT="0": must be a number with its unit (s, m or h), at least 1ms`, last: inConfig},
	{name: "no budget to retry", breaks: func(w *world) {
		set("RETRY_BUDGET=0s")(w)
		status(http.StatusServiceUnavailable)(w)
	}, code: exit.Unreachable, first: "the retry budget of 0s is used up", last: "wait for the service"},
	{name: "payouts without a name", breaks: set("PAYOUTS=,"), code: exit.Usage,
		first: `SPENDSYNC_PAYOUTS=",": must be names of files`, last: inConfig},
	{name: "a port that cannot be", breaks: set("ADVERTISER_URL=http://127.0.0.1:99999/api"), code: exit.Usage,
		first: "SPENDSYNC_ADVERTISER_URL: the base URL has a port that is not one of 1 to 65535", last: inConfig},
	{name: "a bucket without a scheme", synced: true, breaks: set("BUCKET=nonsense"), code: exit.Usage,
		first: "SPENDSYNC_BUCKET: nonsense is not the address of a bucket", last: "write s3://BUCKET/PREFIX"},
	{name: "a bucket with an unknown option", breaks: set("BUCKET=s3://b?bogus=1"), code: exit.Usage,
		first: "SPENDSYNC_BUCKET: not the address of a bucket: it has an unknown option", last: inConfig},
	{name: "a name that is too long", breaks: set("DATA_DIR=/tmp/" + strings.Repeat("x", 300)), code: exit.Storage,
		first: "the name of SPENDSYNC_DATA_DIR is too long", last: "name another folder in SPENDSYNC_DATA_DIR"},
	{name: "a name that is not UTF-8", breaks: set("DATA_DIR=/tmp/\xff"), code: exit.Usage,
		first: "SPENDSYNC_DATA_DIR=", last: inConfig},
	{name: "a bad account", breaks: set("ACCOUNT=My Account"), code: exit.Usage,
		first: "lower-case letters, digits, _ and -, at most 40, for example acme", last: inConfig},
	{name: "an unknown log format", breaks: set("LOG_FORMAT=xml"), code: exit.Usage,
		first: `SPENDSYNC_LOG_FORMAT="xml": must be one of text, json`, last: inConfig},
	{name: "an unknown threshold", breaks: set("THRESHOLDS=foo=2"), code: exit.Usage,
		first: `SPENDSYNC_THRESHOLDS: there is no threshold "foo"`, last: inConfig},
	{name: "a threshold without a number", breaks: set("THRESHOLDS=block_loss=0.2,"), code: exit.Usage,
		first: `SPENDSYNC_THRESHOLDS: "" is not of the form NAME=NUMBER`, last: inConfig},
	{name: "a threshold that cannot be", breaks: set("THRESHOLDS=recent_days=0"), code: exit.Usage,
		first: `SPENDSYNC_THRESHOLDS: recent_days="0": must be a whole number from 1 to 366, for example 7`,
		last:  inConfig},
	{name: "an address without scheme", breaks: set("REPORT_URL=reports.example.com"), code: exit.Usage,
		first: `SPENDSYNC_REPORT_URL: the base URL is not of the form https://host/path: "reports.example.com"`,
		last:  inConfig},
	{name: "an address and port without scheme", breaks: set("REPORT_URL=127.0.0.1:8080/report"), code: exit.Usage,
		first: "SPENDSYNC_REPORT_URL: the base URL cannot be parsed; its form is https://host/path", last: inConfig},
	{name: "a space behind an address", breaks: set("REPORT_URL=https://reports.example.com/ "), code: exit.Usage,
		first: "SPENDSYNC_REPORT_URL: the base URL begins or ends with a space", last: inConfig},
	{name: "a password in an address", breaks: set("REPORT_URL=https://ann:secret@ads.example.com"), code: exit.Usage,
		first: "SPENDSYNC_REPORT_URL: the base URL of ads.example.com holds a user name or password", last: inConfig},
	{name: "a header for a key", breaks: set("API_KEY=Bearer adv_key"), code: exit.Usage,
		first: `SPENDSYNC_API_KEY begins with "Bearer"; write the key without it`, last: inConfig},
	{name: "a page of a gateway", breaks: func(w *world) { w.service.Fail(adsim.Fault{Kind: adsim.HTML}) },
		code:  exit.Contract,
		first: "A page for people answers at SPENDSYNC_REPORT_URL in place of the report: Be right back",
		last:  "check that no proxy, gateway or login page answers there"},
	{name: "a missing file of the key", breaks: set("API_KEY=", "API_KEY_FILE=/nowhere/key"), code: exit.Usage,
		first: "SPENDSYNC_API_KEY_FILE: /nowhere/key cannot be read: no such file or directory",
		last:  "name a file that exists and that you may read (exit 2)"},
	{name: "a missing file of payouts", breaks: set("PAYOUTS=/nowhere/payouts.csv"), code: exit.Partial,
		first: "/nowhere/payouts.csv: it cannot be read: no such file or directory (SPENDSYNC_PAYOUTS names it)",
		last:  "correct the file that is named"},
	{name: "a parameter as a flag", args: []string{"query", "last_week", "--days", "3"}, code: exit.Usage,
		first: "unknown flag: --days", last: "a parameter of a question is written --param days=VALUE"},
	{name: "days the wrong way round", args: []string{"sync", "--from", "2026-11-20", "--to", "2026-11-10"},
		code: exit.Usage, first: "--from 2026-11-20 is after --to 2026-11-10", last: "give the earlier day to --from"},
	{name: "an empty flag", args: []string{"sync", "--from", ""}, code: exit.Usage,
		first: "--from is empty", last: "'spendsync help sync' describes it (exit 2)"},
	{name: "pull alone", args: []string{"pull"}, code: exit.Usage,
		first: "accepts between 1 and 2 arg(s), received 0", last: "'spendsync help pull' describes it"},
	{name: "flags that exclude each other", args: []string{"sync", "--dry-run", "--from", "2026-11-20"},
		code: exit.Usage, first: "[dry-run from] are set none of the others can be", last: "correct the command"},
	{name: "plain http", breaks: set("REPORT_URL=http://ads.example.com/report"), code: exit.Usage,
		first: "SPENDSYNC_REPORT_URL", last: inConfig},
	{name: "a secret twice", breaks: set("API_KEY_FILE=/nowhere/key"), code: exit.Usage,
		first: "SPENDSYNC_API_KEY", last: inConfig},
	{name: "no configuration file", args: []string{"sync", "--config", "/nowhere/spendsync.env"}, code: exit.Usage,
		first: "--config: ", last: "name a file that exists and that you may read (exit 2)"},
	{name: "the data directory is a file", breaks: isFile, code: exit.Storage,
		first: "SPENDSYNC_DATA_DIR is or contains a file, not a folder",
		last:  "name a folder in SPENDSYNC_DATA_DIR (exit 7)"},
	{name: "a question of a file", args: []string{"query", "last_week"}, breaks: isFile, code: exit.Storage,
		first: "SPENDSYNC_DATA_DIR is or contains a file, not a folder",
		last:  "name a folder in SPENDSYNC_DATA_DIR (exit 7)"},
	{name: "a question of nothing", args: []string{"query", "last_week"}, code: exit.Usage,
		first: "nothing is stored yet", last: "run 'spendsync sync', or name another folder"},
	{name: "the status of nothing", args: []string{"status"}, code: exit.Usage,
		first: "nothing is stored yet", last: "run 'spendsync sync', or name another folder"},
	{name: "a question without warehouse", args: []string{"query", "last_week"}, synced: true,
		breaks: spoiled("warehouse.duckdb", nil), code: exit.Damaged,
		first: "warehouse.duckdb: it is missing from a published store",
		last:  "run 'spendsync repair rebuild' (exit 8)"},
	{name: "a report without warehouse", args: []string{"report"}, synced: true,
		breaks: spoiled("warehouse.duckdb", nil), code: exit.Damaged,
		first: "warehouse.duckdb: it is missing from a published store",
		last:  "run 'spendsync repair rebuild' (exit 8)"},
	{name: "verify without warehouse", args: []string{"verify"}, synced: true,
		breaks: spoiled("warehouse.duckdb", nil), code: exit.Damaged,
		first: "the first is warehouse.duckdb", last: "run 'spendsync repair rebuild' (exit 8)"},
	{name: "a damaged manifest", args: []string{"status"}, synced: true,
		breaks: spoiled("manifest.json", []byte("{}")), code: exit.Damaged,
		first: "manifest.json: ", last: "'spendsync pull --all URL DIR'"},
	{name: "verify of a damaged manifest", args: []string{"verify"}, synced: true,
		breaks: spoiled("manifest.json", []byte("{}")), code: exit.Damaged,
		first: "manifest.json: ", last: "'spendsync pull --all URL DIR'"},
	{name: "a newer store", synced: true, breaks: spoiled("manifest.json", []byte(`{"format": 99}`)),
		code: exit.Newer, first: "newer version", last: "use the newer version of spendsync (exit 10)"},
	{name: "a typo in SQL", args: []string{"query", "-c", "SELCT 1"}, synced: true, code: exit.Usage,
		first: `syntax error at or near "SELCT"`, last: "correct the SQL; 'spendsync tables' names the tables"},
	{name: "an unknown column", args: []string{"query", "-c", "SELECT foo FROM spend_daily"}, synced: true,
		code: exit.Usage, first: `"foo" not found`, last: "correct the SQL; 'spendsync tables' names the tables"},
	{name: "an unknown question", args: []string{"query", "lastweek"}, code: exit.Usage,
		first: "did you mean last_week?", last: "'spendsync query' lists"},
	{name: "an unknown command", args: []string{"synk"}, code: exit.Usage,
		first: `unknown command "synk" for "spendsync"; did you mean sync?`,
		last:  "describes it (exit 2)"},
	{name: "an unknown repair", args: []string{"repair", "rebild"}, code: exit.Usage,
		first: `unknown command "rebild" for "spendsync repair"`,
		last:  "'spendsync help repair' describes it (exit 2)"},
	{name: "help for an unknown command", args: []string{"help", "synk"}, code: exit.Usage,
		first: `unknown command "synk" for "spendsync"; did you mean sync?`,
		last:  "'spendsync help' describes it (exit 2)"},
	{name: "help for a misspelled topic", args: []string{"help", "gude"}, code: exit.Usage,
		first: `unknown command "gude" for "spendsync"; did you mean guide?`, last: "(exit 2)"},
	{name: "help for exit codes", args: []string{"help", "exit"}, code: exit.Usage,
		first: `unknown command "exit" for "spendsync"; did you mean config?`, last: "(exit 2)"},
	{name: "help for codes", args: []string{"help", "codes"}, code: exit.Usage,
		first: `unknown command "codes" for "spendsync"; did you mean config?`, last: "(exit 2)"},
	{name: "an unknown flag", args: []string{"sync", "--fill"}, code: exit.Usage,
		first: "unknown flag: --fill", last: "see 'spendsync sync --help' (exit 2)"},
	{name: "weeks before now", args: []string{"status", "--weeks", "-1"}, code: exit.Usage,
		first: "--weeks -1: must be a whole number from 0", last: "0 shows all (exit 2)"},
	{name: "a file that cannot be written", args: []string{"query", "-c", "SELECT 1", "--out", "/dev/null/a.csv"},
		synced: true, code: exit.Storage, first: "/dev/null/a.csv cannot be written: ",
		last: "name a file in a folder that can be written to (exit 7)"},
	{name: "an ending without format", args: []string{"query", "last_week", "--out", "a.txt"}, synced: true,
		code: exit.Usage, first: "--out a.txt: the ending does not name a format", last: "or give --format (exit 2)"},
	{name: "a repair of another account", args: []string{"repair", "rebuild"}, synced: true,
		breaks: set("ACCOUNT=another"), code: exit.Usage,
		first: `no account "another"; set SPENDSYNC_ACCOUNT to acme`, last: "(exit 2)"},
	{name: "an answer for another account", args: []string{"query", "-c", "SELECT 1", "--account", "nobody"},
		synced: true, code: exit.Usage, first: "the warehouse has acme", last: "(exit 2)"},
	{name: "an acceptance of nothing", args: []string{"repair", "accept"}, synced: true, code: exit.Usage,
		first: "accepts 1 arg(s), received 0", last: "(exit 2)"},
	{name: "an acceptance of what is not there", args: []string{"repair", "accept", "report.day-total"}, synced: true,
		code: exit.Usage, first: "report.day-total", last: "(exit 2)"},
	{name: "a day that fails", breaks: onDay(5, adsim.Fault{Kind: adsim.Status, Status: 500}), code: exit.Partial,
		first: "The report keeps failing: spend ", last: "(exit 4)"},
	{name: "a day that does not add up", breaks: onDay(5, adsim.Fault{Kind: adsim.Total}), code: exit.Partial,
		first: "total", last: "(exit 4)"},
	{name: "a day about to leave the reach", breaks: onDay(31, adsim.Fault{Kind: adsim.Status, Status: 500}),
		code: exit.DayAtRisk, first: "leaves the reach in 2 days and is not proven", last: "(exit 11)"},
	{name: "a text where a number belongs", code: exit.Contract, breaks: func(w *world) {
		w.service.Fail(adsim.Fault{Kind: adsim.WrongType, Query: "include_creatives=true", Row: -1,
			Column: "total_spend", Value: `"12,5"`})
	}, first: "total_spend", last: "(exit 6)"},
	{name: "a store without its manifest", synced: true, breaks: spoiled("manifest.json", nil), code: exit.Damaged,
		first: "a store lies there", last: "backup"},
	{name: "a damaged file", args: []string{"verify"}, synced: true,
		breaks: spoiled("parquet/calendar/account=acme/data.parquet", []byte("PAR1")), code: exit.Damaged,
		first: "parquet/calendar/account=acme/data.parquet", last: "'spendsync repair rebuild' (exit 8)"},
	{name: "a day out of reach", args: []string{"sync", "--from", "2020-01-01", "--to", "2020-01-02"},
		code: exit.Usage, first: "2020-01-01", last: "correct the command"},
}

// TestFailures_NameTheCauseAndWhatToDo causes each failure once. The first line names the cause, the last line names
// what to do, and both lines are short.
func TestFailures_NameTheCauseAndWhatToDo(t *testing.T) {
	if len(failures) < 40 {
		t.Errorf("%d failures", len(failures))
	}
	for _, f := range failures {
		if !schematest.Drawn(f.name, 3) {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			w := newWorld(t, small)
			if f.synced {
				w.synced()
			}
			w.env["RETRY_BUDGET"] = "1s"
			if f.breaks != nil {
				f.breaks(w)
			}
			if f.args == nil {
				f.args = []string{"sync"}
			}
			code, stderr := w.stderr(f.args...)
			at := strings.LastIndex("\n"+stderr, "\nspendsync: ")
			if code != f.code || at < 0 {
				t.Fatalf("exit %d, want %d: %s", code, f.code, stderr)
			}
			lines := strings.Split(strings.TrimSpace(stderr[at:]), "\n")
			first, last := lines[0], lines[len(lines)-1]
			if len(lines) > 2 && strings.HasPrefix(lines[1], "LINE 1: ") { // the place in the SQL, and a mark below it
				lines = slices.Delete(lines, 1, 3)
			}
			if !strings.Contains(first, f.first) {
				t.Errorf("the first line is %q, without %q", first, f.first)
			}
			if !strings.HasPrefix(last, "  do: ") || !strings.Contains(last, f.last) {
				t.Errorf("the last line is %q, without %q", last, f.last)
			}
			if len(lines) > 4 {
				t.Errorf("%d lines: %s", len(lines), stderr[at:])
			}
		})
	}
}
