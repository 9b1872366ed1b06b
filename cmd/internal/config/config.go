package config

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sethvargo/go-envconfig"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/extract/outbound"
	"spendsync/extract/service"
	"spendsync/queries"
	"spendsync/schema"
)

// Prefix is the prefix of every environment variable.
const Prefix = "SPENDSYNC_"

// Config is the configuration, read from environment variables with the prefix SPENDSYNC_. This struct lists the
// variables, and docs[NAME] describes each of them; 'help config' is printed from both.
type Config struct {
	AdvertiserURL string `env:"ADVERTISER_URL" required:"true"`
	APIKey        Secret `env:"API_KEY" required:"true"`
	ReportURL     string `env:"REPORT_URL" required:"true"`
	ReportUser    string `env:"REPORT_USER" required:"true"`
	ReportPass    Secret `env:"REPORT_PASSWORD" required:"true"`

	Account string `env:"ACCOUNT, default=default"`
	DataDir string `env:"DATA_DIR, default=data"`
	Bucket  string `env:"BUCKET" from:"none"`

	YoungDays   int           `env:"YOUNG_DAYS, default=3"`
	RereadAfter time.Duration `env:"REREAD_AFTER, default=20h"`

	CAFile string `env:"CA_FILE" from:"none"`

	PageSize          int           `env:"PAGE_SIZE, default=10000"`
	RequestsPerMinute int           `env:"REQUESTS_PER_MINUTE, default=100"`
	HTTPTimeout       time.Duration `env:"HTTP_TIMEOUT, default=60s"`
	RetryBudget       time.Duration `env:"RETRY_BUDGET, default=10m"`

	LockWait     time.Duration `env:"LOCK_WAIT, default=5m"`
	DuckDBMemory string        `env:"DUCKDB_MEMORY" from:"half of the cgroup's limit"`

	ServiceFile string `env:"SERVICE_FILE" from:"none"`

	Thresholds string   `env:"THRESHOLDS"` // see [queries.ParseThresholds]
	Payouts    []string `env:"PAYOUTS" from:"none"`
	// TrackerColumns names the columns of a tracker's export files; package payouts parses it.
	TrackerColumns string `env:"TRACKER_COLUMNS" from:"the headings day, campaign, source, clicks, revenue, ..."`

	MetricsFile string `env:"METRICS_FILE" from:"none"`
	Pushgateway Secret `env:"PUSHGATEWAY_URL" from:"none"`

	HeartbeatURL Secret `env:"HEARTBEAT_URL" from:"none"`
	NotifyURL    Secret `env:"NOTIFY_URL" from:"none"`
	Notify       string `env:"NOTIFY" from:"all but settings"`

	LogFormat string `env:"LOG_FORMAT" from:"text on a terminal, else json; commands for people: text"`
	LogLevel  string `env:"LOG_LEVEL" from:"info; on a terminal warn"`
	AllowHTTP bool   `env:"ALLOW_HTTP, default=false"`

	// files maps each variable that names a file to the path, including files with secrets.
	files map[string]string

	// assumed contains the assumptions about the service: the embedded defaults, overridden by ServiceFile.
	assumed *service.Service

	// unknown contains the variables with our prefix that no command reads. They cause a warning and not an error,
	// because Kubernetes sets such variables for every Service named spendsync.
	unknown      []string
	wrongProxies []string   // errors in the proxy variables
	missing      []Variable // required variables that are not set
}

// Read reads and checks the variables. An empty variable counts as unset, because manifests list variables without a
// value. The error names every invalid variable; Read still returns the valid ones, so that a run can report its
// failure.
func Read(ctx context.Context, environ []string) (*Config, error) {
	env := FromEnviron(environ)
	c := &Config{unknown: unknownIn(env), files: maps.Clone(env), wrongProxies: wrongProxies(environ),
		missing: missingIn(env)}
	maps.DeleteFunc(c.files, func(name, _ string) bool { return !strings.HasSuffix(name, "_FILE") })
	wrong := dropMalformed(env)
	if err := envconfig.ProcessWith(ctx, &envconfig.Config{Target: c,
		Lookuper: envconfig.MapLookuper(env)}); err != nil {
		return c, exit.Usagef("%v", err)
	}
	dir, err := filepath.Abs(c.DataDir)
	if err != nil {
		return c, exit.Usagef("%sDATA_DIR: the working folder is not known: %v", Prefix, err)
	}
	c.DataDir = dir
	trustErr := Trust(Prefix+"CA_FILE", c.CAFile)
	if len(wrong) > 0 {
		return c, exit.Usagef("%s", strings.Join(wrong, "; "))
	}
	if err := cmp.Or(c.check(), trustErr); err != nil {
		return c, err
	}
	return c, c.readService()
}

// Trust makes all clients of this process trust the certificate authorities in a PEM file, in addition to the system's.
// If file is empty, Trust does nothing. Error messages name the given variable.
func Trust(variable, file string) error {
	if file == "" {
		return nil
	}
	pem, err := cli.ReadFile(file, cli.MaxSecret)
	if err == nil {
		err = outbound.Trust(pem)
	}
	if err != nil {
		return exit.Usagef("%s %s: %v", variable, file, err)
	}
	return nil
}

// Service returns how the service is assumed to answer: the embedded defaults, overridden by the operator's file.
func (c *Config) Service() *service.Service { return c.assumed }

// readService overrides the embedded assumptions about the service with the operator's file.
func (c *Config) readService() error {
	if c.ServiceFile == "" {
		return nil
	}
	name := Prefix + "SERVICE_FILE " + c.ServiceFile
	text, err := cli.ReadFile(c.ServiceFile, cli.MaxSecret)
	if err != nil {
		return exit.Usagef("%s: %v", Prefix+"SERVICE_FILE", err)
	}
	if c.assumed, err = service.Default().With(text); err != nil {
		meant := ""
		if line, ok := errors.AsType[*service.Error](err); ok && line.Unknown {
			meant = cli.DidYouMean(line.Key, service.Default().Keys())
		}
		return exit.Usagef("%s: %v%s", name, err, meant)
	}
	return nil
}

// check rejects values that no command can work with.
func (c *Config) check() error {
	switch {
	case !schema.AccountName.MatchString(c.Account):
		return exit.Usagef("%sACCOUNT=%q: use lower-case letters, digits, _ and -, at most 40, for example acme",
			Prefix, c.Account)
	case strings.ContainsRune(c.DataDir, 0), !utf8.ValidString(c.DataDir):
		return exit.Usagef("%sDATA_DIR=%q holds a NUL, or is not UTF-8", Prefix, c.DataDir)
	case strings.ContainsAny(c.DataDir, "?*["):
		return exit.Usagef("%sDATA_DIR=%s holds a ?, * or [, which DuckDB does not take as part of a name; choose "+
			"another folder, or rename it", Prefix, c.DataDir)
	}
	if _, err := queries.ParseThresholds(c.Thresholds); err != nil {
		return exit.Usagef("%sTHRESHOLDS: %v", Prefix, err)
	}
	if c.MetricsFile != "" {
		if err := cli.CheckMetrics(Prefix+"METRICS_FILE", c.MetricsFile, c.DataDir); err != nil {
			return err
		}
	}
	return c.checkNotices()
}
