package config

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sethvargo/go-envconfig"

	"spendsync/cmd/spendsync/exit"
	"spendsync/load"
	"spendsync/queries"
)

// Prefix begins the name of every variable.
const Prefix = "SPENDSYNC_"

// Config is everything that can be set, by environment variables with the prefix
// SPENDSYNC_. This struct is the only place that names them; "help config" is
// printed from it.
type Config struct {
	AdvertiserURL string `env:"ADVERTISER_URL" doc:"base URL of the advertiser API; may have a path prefix" required:"true"`
	APIKey        Secret `env:"API_KEY" doc:"key of the advertiser API; read scope suffices" required:"or API_KEY_FILE"`
	APIKeyFile    string `env:"API_KEY_FILE" doc:"file that holds the key"`
	ReportURL     string `env:"REPORT_URL" doc:"base URL of the spend report; may have a path prefix" required:"true"`
	ReportUser    string `env:"REPORT_USER" doc:"user of the dashboard, for the spend report" required:"true"`
	ReportPass    Secret `env:"REPORT_PASSWORD" doc:"that user's password" required:"or REPORT_PASSWORD_FILE"`
	ReportPassF   string `env:"REPORT_PASSWORD_FILE" doc:"file that holds the password"`

	Account string `env:"ACCOUNT, default=default" doc:"short name of the account in the warehouse: [a-z0-9][a-z0-9_-]{0,39}"`
	DataDir string `env:"DATA_DIR, default=data" doc:"folder of the store"`

	YoungDays   int           `env:"YOUNG_DAYS, default=3" doc:"days younger than this are read by every run"`
	RereadAfter time.Duration `env:"REREAD_AFTER, default=20h" doc:"older days are read again when their last read is older than this"`

	PageSize          int           `env:"PAGE_SIZE, default=10000" doc:"rows of the report a page, 1 to 10000"`
	ReportConcurrency int           `env:"REPORT_CONCURRENCY, default=4" doc:"report days read at the same time"`
	RequestsPerMinute int           `env:"REQUESTS_PER_MINUTE, default=100" doc:"requests to the advertiser API in any 60 seconds; it allows 120"`
	HTTPTimeout       time.Duration `env:"HTTP_TIMEOUT, default=60s" doc:"one request, with its reply"`
	RetryBudget       time.Duration `env:"RETRY_BUDGET, default=10m" doc:"one read, with all its retries"`

	KeepRaw       bool          `env:"KEEP_RAW, default=true" doc:"keep the replies behind the stored days"`
	LockWait      time.Duration `env:"LOCK_WAIT, default=5m" doc:"how long to wait for the store's lock"`
	StopGrace     time.Duration `env:"STOP_GRACE, default=8s" doc:"how long after a signal what is complete may still be published"`
	DuckDBMemory  string        `env:"DUCKDB_MEMORY" doc:"DuckDB's memory limit, such as 512MiB" from:"half of the cgroup's limit"`
	DuckDBThreads int           `env:"DUCKDB_THREADS" doc:"DuckDB's threads" from:"the cgroup's processors"`

	Thresholds map[string]string `env:"THRESHOLDS, separator==" doc:"other values for mart.threshold, such as block_spend_in_targets=2,balance_stop=0"`

	MetricsFile string `env:"METRICS_FILE" doc:"file for Prometheus' textfile collector, written at the end of every run; one an account" from:"none"`
	Pushgateway Secret `env:"PUSHGATEWAY_URL" doc:"Prometheus Pushgateway that every run tells its end; may hold user:password@" from:"none"`

	LogFormat string `env:"LOG_FORMAT" doc:"text or json" from:"text on a terminal, else json"`
	LogLevel  string `env:"LOG_LEVEL, default=info" doc:"debug, info, warn or error"`
	AllowHTTP bool   `env:"ALLOW_HTTP, default=false" doc:"allow plain http to a host that is not loopback"`

	// unknown are variables with our prefix that nobody reads. They are warned
	// of, not refused: Kubernetes sets some for every Service named spendsync.
	unknown []string
}

// Read reads and checks the variables. An empty variable is an unset one:
// that is what a manifest means that lists it without a value.
func Read(ctx context.Context, environ []string) (*Config, error) {
	env := FromEnviron(environ)
	c := &Config{unknown: unknownIn(env)}
	if err := envconfig.ProcessWith(ctx, &envconfig.Config{Target: c, Lookuper: envconfig.MapLookuper(env)}); err != nil {
		return nil, exit.Usagef("%s", configError(err))
	}
	return c, c.check()
}

// configError names the variable as the user knows it.
func configError(err error) string {
	text := err.Error()
	for _, v := range Variables() {
		// envconfig names the field; the user knows the variable.
		text = strings.Replace(text, v.field+":", Prefix+v.Name+":", 1)
	}
	return text
}

// check refuses values that no command could work with.
func (c *Config) check() error {
	oneOf := func(v string, allowed ...string) bool { return slices.Contains(allowed, v) }
	switch {
	case !load.AccountName.MatchString(c.Account):
		return exit.Usagef("%sACCOUNT=%q does not match %s", Prefix, c.Account, load.AccountName)
	case strings.ContainsRune(c.DataDir, 0):
		return exit.Usagef("%sDATA_DIR holds a NUL", Prefix)
	case strings.ContainsAny(c.absolute(), "?*["):
		return exit.Usagef("%sDATA_DIR=%s holds a ?, * or [, which DuckDB does not take as part of a name; "+
			"choose another folder, or rename it", Prefix, c.absolute())
	case c.YoungDays < 0 || c.YoungDays > 33:
		return exit.Usagef("%sYOUNG_DAYS=%d is not between 0 and 33", Prefix, c.YoungDays)
	case c.RereadAfter < 0:
		return exit.Usagef("%sREREAD_AFTER=%s is negative", Prefix, c.RereadAfter)
	case c.PageSize < 1 || c.PageSize > 10000:
		return exit.Usagef("%sPAGE_SIZE=%d is not between 1 and 10000", Prefix, c.PageSize)
	case c.ReportConcurrency < 1 || c.ReportConcurrency > 64:
		return exit.Usagef("%sREPORT_CONCURRENCY=%d is not between 1 and 64", Prefix, c.ReportConcurrency)
	case c.RequestsPerMinute < 1 || c.RequestsPerMinute > 120:
		return exit.Usagef("%sREQUESTS_PER_MINUTE=%d is not between 1 and 120", Prefix, c.RequestsPerMinute)
	case c.HTTPTimeout <= 0:
		return exit.Usagef("%sHTTP_TIMEOUT=%s is not positive", Prefix, c.HTTPTimeout)
	case c.RetryBudget < 0:
		return exit.Usagef("%sRETRY_BUDGET=%s is negative", Prefix, c.RetryBudget)
	case c.LockWait < 0:
		return exit.Usagef("%sLOCK_WAIT=%s is negative", Prefix, c.LockWait)
	case c.StopGrace < 0:
		return exit.Usagef("%sSTOP_GRACE=%s is negative", Prefix, c.StopGrace)
	case c.DuckDBThreads < 0:
		return exit.Usagef("%sDUCKDB_THREADS=%d is negative", Prefix, c.DuckDBThreads)
	case c.DuckDBMemory != "" && !duckMemory.MatchString(c.DuckDBMemory):
		return exit.Usagef("%sDUCKDB_MEMORY=%q is no size such as 512MiB", Prefix, c.DuckDBMemory)
	case !oneOf(c.LogFormat, "", "text", "json"):
		return exit.Usagef("%sLOG_FORMAT=%q is neither text nor json", Prefix, c.LogFormat)
	case !oneOf(c.LogLevel, "debug", "info", "warn", "error"):
		return exit.Usagef("%sLOG_LEVEL=%q is none of debug, info, warn, error", Prefix, c.LogLevel)
	}
	if _, err := queries.Views(c.Thresholds); err != nil {
		return exit.Usagef("%sTHRESHOLDS: %v", Prefix, err)
	}
	return c.checkMetrics()
}

var duckMemory = regexp.MustCompile(`^[0-9]+(\.[0-9]+)? ?([KMGT]i?B)$`)

// StoreDir is the store's folder as an absolute path.
func (c *Config) StoreDir() (string, error) {
	dir, err := filepath.Abs(c.DataDir)
	if err != nil {
		return "", errors.Join(err, exit.ErrUsage)
	}
	return dir, nil
}

// absolute is the store's folder for checks: as it is set, where the working folder is
// not known.
func (c *Config) absolute() string {
	if dir, err := filepath.Abs(c.DataDir); err == nil {
		return dir
	}
	return c.DataDir
}
