package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/sethvargo/go-envconfig"

	"spendsync/cmd/spendsync/exit"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/queries"
)

const envPrefix = "SPENDSYNC_"

// config is everything that can be set, by environment variables with the prefix
// SPENDSYNC_. This struct is the only place that names them; "help config" is
// printed from it.
type config struct {
	AdvertiserURL string `env:"ADVERTISER_URL" doc:"base URL of the advertiser API; may have a path prefix" required:"true"`
	APIKey        secret `env:"API_KEY" doc:"key of the advertiser API; read scope suffices" required:"or API_KEY_FILE"`
	APIKeyFile    string `env:"API_KEY_FILE" doc:"file that holds the key"`
	ReportURL     string `env:"REPORT_URL" doc:"base URL of the spend report; may have a path prefix" required:"true"`
	ReportUser    string `env:"REPORT_USER" doc:"user of the dashboard, for the spend report" required:"true"`
	ReportPass    secret `env:"REPORT_PASSWORD" doc:"that user's password" required:"or REPORT_PASSWORD_FILE"`
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
	Pushgateway secret `env:"PUSHGATEWAY_URL" doc:"Prometheus Pushgateway that every run tells its end; may hold user:password@" from:"none"`

	LogFormat string `env:"LOG_FORMAT" doc:"text or json" from:"text on a terminal, else json"`
	LogLevel  string `env:"LOG_LEVEL, default=info" doc:"debug, info, warn or error"`
	AllowHTTP bool   `env:"ALLOW_HTTP, default=false" doc:"allow plain http to a host that is not loopback"`

	// unknown are variables with our prefix that nobody reads. They are warned
	// of, not refused: Kubernetes sets some for every Service named spendsync.
	unknown []string

	transport http.RoundTripper // to both interfaces; nil: the network
}

// secret is a value that never shows: not in a log, an error, a file.
type secret string

func (secret) String() string               { return "[redacted]" }
func (secret) GoString() string             { return "[redacted]" }
func (secret) LogValue() slog.Value         { return slog.StringValue("[redacted]") }
func (secret) MarshalText() ([]byte, error) { return []byte("[redacted]"), nil }

// readConfig reads and checks the variables. An empty variable is an unset one:
// that is what a manifest means that lists it without a value.
func readConfig(ctx context.Context, environ []string) (*config, error) {
	env := ourVariables(environ)
	c := &config{unknown: unknownVariables(env)}
	if err := envconfig.ProcessWith(ctx, &envconfig.Config{Target: c, Lookuper: envconfig.MapLookuper(env)}); err != nil {
		return nil, exit.Usagef("%s", configError(err))
	}
	return c, c.check()
}

// ourVariables are the variables with our prefix, without it.
func ourVariables(environ []string) map[string]string {
	env := map[string]string{}
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(k, envPrefix) && v != "" {
			env[strings.TrimPrefix(k, envPrefix)] = v
		}
	}
	return env
}

// configError names the variable as the user knows it.
func configError(err error) string {
	text := err.Error()
	for _, v := range variables() {
		// envconfig names the field; the user knows the variable.
		text = strings.Replace(text, v.field+":", envPrefix+v.name+":", 1)
	}
	return text
}

// check refuses values that no command could work with.
func (c *config) check() error {
	oneOf := func(v string, allowed ...string) bool { return slices.Contains(allowed, v) }
	switch {
	case !load.AccountName.MatchString(c.Account):
		return exit.Usagef("%sACCOUNT=%q does not match %s", envPrefix, c.Account, load.AccountName)
	case strings.ContainsRune(c.DataDir, 0):
		return exit.Usagef("%sDATA_DIR holds a NUL", envPrefix)
	case c.YoungDays < 0 || c.YoungDays > 33:
		return exit.Usagef("%sYOUNG_DAYS=%d is not between 0 and 33", envPrefix, c.YoungDays)
	case c.RereadAfter < 0:
		return exit.Usagef("%sREREAD_AFTER=%s is negative", envPrefix, c.RereadAfter)
	case c.PageSize < 1 || c.PageSize > 10000:
		return exit.Usagef("%sPAGE_SIZE=%d is not between 1 and 10000", envPrefix, c.PageSize)
	case c.ReportConcurrency < 1 || c.ReportConcurrency > 64:
		return exit.Usagef("%sREPORT_CONCURRENCY=%d is not between 1 and 64", envPrefix, c.ReportConcurrency)
	case c.RequestsPerMinute < 1 || c.RequestsPerMinute > 120:
		return exit.Usagef("%sREQUESTS_PER_MINUTE=%d is not between 1 and 120", envPrefix, c.RequestsPerMinute)
	case c.HTTPTimeout <= 0:
		return exit.Usagef("%sHTTP_TIMEOUT=%s is not positive", envPrefix, c.HTTPTimeout)
	case c.RetryBudget < 0:
		return exit.Usagef("%sRETRY_BUDGET=%s is negative", envPrefix, c.RetryBudget)
	case c.LockWait < 0:
		return exit.Usagef("%sLOCK_WAIT=%s is negative", envPrefix, c.LockWait)
	case c.StopGrace < 0:
		return exit.Usagef("%sSTOP_GRACE=%s is negative", envPrefix, c.StopGrace)
	case c.DuckDBThreads < 0:
		return exit.Usagef("%sDUCKDB_THREADS=%d is negative", envPrefix, c.DuckDBThreads)
	case c.DuckDBMemory != "" && !duckMemory.MatchString(c.DuckDBMemory):
		return exit.Usagef("%sDUCKDB_MEMORY=%q is no size such as 512MiB", envPrefix, c.DuckDBMemory)
	case !oneOf(c.LogFormat, "", "text", "json"):
		return exit.Usagef("%sLOG_FORMAT=%q is neither text nor json", envPrefix, c.LogFormat)
	case !oneOf(c.LogLevel, "debug", "info", "warn", "error"):
		return exit.Usagef("%sLOG_LEVEL=%q is none of debug, info, warn, error", envPrefix, c.LogLevel)
	}
	if _, err := queries.Views(c.Thresholds); err != nil {
		return exit.Usagef("%sTHRESHOLDS: %v", envPrefix, err)
	}
	return c.checkMetrics()
}

var duckMemory = regexp.MustCompile(`^[0-9]+(\.[0-9]+)? ?([KMGT]i?B)$`)

// credentials are what the two interfaces ask for, read from their variables or
// files. Its fields are exported so that fmt asks them how to print.
type credentials struct {
	APIKey         secret
	User           string
	ReportPassword secret
}

// credentials reads the secrets. Files are read each time, so that a rotated
// secret is taken up.
func (c *config) credentials() (k credentials, err error) {
	for _, v := range []struct{ name, value string }{
		{"ADVERTISER_URL", c.AdvertiserURL}, {"REPORT_URL", c.ReportURL}, {"REPORT_USER", c.ReportUser},
	} {
		if v.value == "" {
			return k, exit.Usagef("%s%s is not set; see 'spendsync help config'", envPrefix, v.name)
		}
	}
	k.User = c.ReportUser
	if strings.ContainsRune(k.User, ':') {
		return k, exit.Usagef("%sREPORT_USER has a colon, which HTTP Basic cannot carry", envPrefix)
	}
	if k.APIKey, err = readSecret("API_KEY", c.APIKey, c.APIKeyFile); err != nil {
		return k, err
	}
	k.ReportPassword, err = readSecret("REPORT_PASSWORD", c.ReportPass, c.ReportPassF)
	return k, err
}

func readSecret(name string, value secret, file string) (secret, error) {
	if value != "" && file != "" {
		return "", exit.Usagef("both %s%s and %s%s_FILE are set; which one counts?", envPrefix, name, envPrefix, name)
	}
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", exit.Usagef("%s%s_FILE: %v", envPrefix, name, err)
		}
		// Editors and kubectl end a file with a newline; no secret does.
		value = secret(strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r"))
		if value == "" {
			return "", exit.Usagef("%s%s_FILE: %s is empty", envPrefix, name, file)
		}
	}
	if value == "" {
		return "", exit.Usagef("neither %s%s nor %s%s_FILE is set; see 'spendsync help config'", envPrefix, name, envPrefix, name)
	}
	if strings.ContainsAny(string(value), "\x00\r\n") {
		return "", exit.Usagef("%s%s holds a line break", envPrefix, name)
	}
	return value, nil
}

// reportClient is the client of the spend report. After a 401 the password is
// read again once, in case it was rotated.
func (c *config) reportClient(log *slog.Logger) (*extract.Client, error) {
	k, err := c.credentials()
	if err != nil {
		return nil, err
	}
	auth := newAuthorization(basic(k))
	client, err := extract.NewClient(extract.Options{
		BaseURL: c.ReportURL, Authorize: auth.set, Timeout: c.HTTPTimeout, RetryBudget: c.RetryBudget,
		AllowHTTP: c.AllowHTTP, UserAgent: "spendsync/" + version(), Log: log, Transport: c.transport,
		Reload: func() bool {
			k, err := c.credentials()
			return err == nil && auth.replace(basic(k))
		},
	})
	if err != nil {
		return nil, exit.Usagef("%sREPORT_URL: %v", envPrefix, err)
	}
	return client, nil
}

// advertiserClient is the client of the advertiser API. All its requests share
// one limit, for the service counts by key.
func (c *config) advertiserClient(log *slog.Logger) (*extract.Client, error) {
	k, err := c.credentials()
	if err != nil {
		return nil, err
	}
	auth := newAuthorization("Bearer " + string(k.APIKey))
	client, err := extract.NewClient(extract.Options{
		BaseURL: c.AdvertiserURL, Authorize: auth.set, Timeout: c.HTTPTimeout, RetryBudget: c.RetryBudget,
		PerMinute: c.RequestsPerMinute, AllowHTTP: c.AllowHTTP, UserAgent: "spendsync/" + version(), Log: log, Transport: c.transport,
		Reload: func() bool {
			k, err := c.credentials()
			return err == nil && auth.replace("Bearer "+string(k.APIKey))
		},
	})
	if err != nil {
		return nil, exit.Usagef("%sADVERTISER_URL: %v", envPrefix, err)
	}
	return client, nil
}

func basic(k credentials) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(k.User+":"+string(k.ReportPassword)))
}

// resources fills in what follows from the machine: half of the memory that the
// process may use goes to DuckDB, and as many threads as it has processors.
func (c *config) resources() (memory string, threads int) {
	memory, threads = c.DuckDBMemory, c.DuckDBThreads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	if memory == "" {
		limit, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
		if err == nil && limit > 0 {
			memory = fmt.Sprintf("%dMiB", max(128, limit/2>>20))
		}
	}
	return memory, threads
}

// holdHeap holds Go's heap to two fifths of the memory that the cgroup may use, if
// there is a limit and GOMEMLIMIT says nothing else: a process that grows as it likes
// is killed there.
func holdHeap() {
	if limit, err := memlimit.FromCgroup(); err == nil && limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(limit / 5 * 2))
	}
}

// variable is one line of "help config".
type variable struct {
	field, name, fallback, doc string
}

func variables() []variable {
	t := reflect.TypeFor[config]()
	var vars []variable
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
		case f.Tag.Get("required") != "":
			fallback = "required, " + f.Tag.Get("required")
		case f.Tag.Get("from") != "":
			fallback = f.Tag.Get("from")
		}
		vars = append(vars, variable{f.Name, name, fallback, f.Tag.Get("doc")})
	}
	return vars
}

// unknownVariables are those that nobody reads: a typing mistake there would
// otherwise pass for a setting.
func unknownVariables(env map[string]string) []string {
	known := map[string]bool{}
	for _, v := range variables() {
		known[v.name] = true
	}
	var unknown []string
	for name := range env {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// dataDir is the store's folder as an absolute path.
func (c *config) dataDir() (string, error) {
	dir, err := filepath.Abs(c.DataDir)
	if err != nil {
		return "", errors.Join(err, exit.ErrUsage)
	}
	return dir, nil
}
