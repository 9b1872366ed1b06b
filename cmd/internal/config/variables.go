package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"spendsync/cmd/internal/cli"
)

// FromEnviron returns the variables with our prefix, by their names without the prefix.
func FromEnviron(environ []string) map[string]string {
	env := map[string]string{}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(k, Prefix) && v != "" {
			env[strings.TrimPrefix(k, Prefix)] = v
		}
	}
	return env
}

// docs describes the variables.
var docs = map[string]string{
	"ADVERTISER_URL":      "base URL of the advertiser API; may have a path prefix",
	"API_KEY":             "key of the advertiser API; read scope suffices",
	"REPORT_URL":          "base URL of the spend report; may have a path prefix",
	"REPORT_USER":         "user of the dashboard, for the spend report",
	"REPORT_PASSWORD":     "that user's password",
	"ACCOUNT":             "short name of the account in the warehouse: [a-z0-9][a-z0-9_-]{0,39}",
	"DATA_DIR":            "folder of the store",
	"BUCKET":              "URL of the store's bucket: sync begins with it on an empty volume, and ends with a push",
	"YOUNG_DAYS":          "days younger than this are read by every run",
	"REREAD_AFTER":        "older days are read again when their last read is older than this",
	"CA_FILE":             "PEM file of authorities to trust beside the system's, such as a company proxy's",
	"PAGE_SIZE":           "rows of the report a page, 1 to 10000",
	"REQUESTS_PER_MINUTE": "requests to the advertiser API in any 60 seconds; it allows 120",
	"HTTP_TIMEOUT":        "one request, with its reply",
	"RETRY_BUDGET":        "waiting for a service that fails, by all requests together",
	"LOCK_WAIT":           "how long to wait for the store's lock",
	"DUCKDB_MEMORY":       "DuckDB's memory limit, such as 512MiB",
	"SERVICE_FILE":        "YAML file of names, paths and forms of the service in place of those built in",
	"THRESHOLDS":          "other values for int.threshold, such as block_loss=0.2,balance_stop=0",
	"PAYOUTS": "each a file of payouts (from,to,campaign,creative,source,payout) or of a tracker's days, as CSV, " +
		"TSV, a workbook (.xlsx) or Parquet: a,b or exports/*.csv",
	"TRACKER_COLUMNS": "columns of a tracker's export, NAME=HEADING with commas between: day=Date,campaign=Sub 1," +
		"source=Sub 2,clicks=Visits,refused=Rejected,refused=Cancelled,revenue=\"Revenue, $\". NAME is day, " +
		"campaign, source, state, clicks, conversions, approved, held, refused, revenue, currency or incomplete " +
		"(true: rows are missing); counts and revenue may be declared several times, and are added up. A heading " +
		"with a comma is in double quotes, a quote in it is doubled. Also encoding=windows-1251, decimal=point, " +
		"decimal=comma, dates=DD/MM/YYYY, dates=MM/DD/YYYY, where the export leaves it open",
	"METRICS_FILE":    "file for Prometheus' textfile collector, written at the end of every run; one an account",
	"PUSHGATEWAY_URL": "Prometheus Pushgateway that every run reports its end to; may hold user:password@",
	"HEARTBEAT_URL":   "every run reports to URL/start, then to URL (exit 0) or URL/CODE, as to healthchecks",
	"NOTIFY_URL":      "where findings are sent: addresses of Slack, Telegram, mail, or JSON",
	"NOTIFY":          "which findings: " + strings.Join(noticeKinds, ","),
	"LOG_FORMAT":      "text or json",
	"LOG_LEVEL":       "debug, info, warn or error",
	"ALLOW_HTTP":      "allow plain http to a host that is not loopback",
}

// Variable is one entry of "help config". Instead of a secret variable NAME, NAME_FILE may name a file that contains
// the secret.
type Variable struct {
	Name, Default, Doc string
	IsSecret           bool
}

// Variables returns all variables in the order of 'help config'.
func Variables() []Variable {
	t := reflect.TypeFor[Config]()
	var vars []Variable
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, fallback, _ := strings.Cut(f.Tag.Get("env"), ", default=")
		name, _, _ = strings.Cut(name, ",")
		switch {
		case f.Tag.Get("required") == "true":
			fallback = "required"
		case f.Tag.Get("from") != "":
			fallback = f.Tag.Get("from")
		}
		vars = append(vars, Variable{Name: name, Default: fallback, Doc: docs[name],
			IsSecret: f.Type == reflect.TypeFor[Secret]()})
	}
	return vars
}

// names returns all variables that some command reads, without the prefix. For a secret NAME, it also returns
// NAME_FILE.
func names() (all []string) {
	for _, v := range Variables() {
		if all = append(all, v.Name); v.IsSecret {
			all = append(all, v.Name+"_FILE")
		}
	}
	return all
}

// unknownIn returns the variables that no command reads. They are reported, because a misspelled variable has no
// effect.
func unknownIn(env map[string]string) (unknown []string) {
	known := names()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !slices.Contains(known, name) && !strings.HasPrefix(name, "LAKE_") { // variables of spendsync-lake
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// Meant returns the known variable, with its prefix, that is most similar to an unknown name, or "" if no variable is
// similar. It looks first among the given missing variables.
func Meant(unknown string, missing ...string) string {
	for _, list := range [][]string{missing, names()} {
		if near := cli.Nearest(unknown, list); len(near) > 0 {
			return Prefix + near[0]
		}
	}
	return ""
}

// Unknown returns the variables with our prefix that no command reads.
func (c *Config) Unknown() []string { return c.unknown }
