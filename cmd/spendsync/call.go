package main

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/cmd/spendsync/dictionary"
	"spendsync/cmd/spendsync/job"
	"spendsync/load"
	"spendsync/load/duck"
	"spendsync/load/remote"
	"spendsync/queries"
)

// call is one invocation of the program: its inputs and, after [call.setUp], its configuration.
type call struct {
	terminal
	now       func() time.Time
	transport http.RoundTripper // for requests to both interfaces; if nil, they go over the network
	bucket    remote.Options    // set by tests; the zero value has the usual pauses between tries
	limits    runLimits
	grace     atomic.Int64 // how long the command may still run after a signal
	exit      func(int)    // os.Exit in main; nil in tests

	only func([]queries.Query) []queries.Query // selects the views of the warehouse; if nil, it has all views

	account, dataDir string // values of --account and --data-dir; empty if not given
	configFile       string // value of --config; if empty, the file in the working folder
	command, path    string // the command's name; path includes its parent commands

	cfg     *config.Config
	log     *slog.Logger
	screen  *cli.Screen // nil if the configuration is invalid
	excerpt string      // the faulty line of SQL, and a mark below it; printed with the error
	runID   string      // ID of the current run, in every line of its log
}

// runLimits bound the resources of a run. Tests use smaller ones.
type runLimits struct {
	// concurrency is the number of report days that are read at a time. threads is the number of DuckDB's threads; 0
	// means one per processor.
	concurrency, threads int
	grace                time.Duration // time after a signal in which complete data may still be published
}

var usual = runLimits{concurrency: 4, grace: 8 * time.Second}

// scheduled lists the commands that a scheduler usually starts. They log text on a terminal and JSON elsewhere, unless
// LOG_FORMAT is set; other commands log text.
var scheduled = []string{"sync", "push", "pull", "rebuild", "replay", "accept", "reset"}

// setUp combines the variables of the configuration file, the environment and the flags. Flags override the
// environment, and the environment overrides the file. If a variable is invalid, setUp still reads the others and logs
// JSON, so that monitoring sees the failed run.
func (c *call) setUp(ctx context.Context) (err error) {
	environ, err := config.WithFile(c.environ, c.configFile)
	if err != nil {
		c.cfg, _ = config.Read(ctx, c.environ)
		return err
	}
	c.environ = environ
	for name, value := range map[string]string{"ACCOUNT": c.account, "DATA_DIR": c.dataDir} {
		if value != "" {
			c.environ = append(c.environ, config.Prefix+name+"="+value)
		}
	}
	return c.configure(ctx)
}

// configure reads the configuration from the environment, and starts the log.
func (c *call) configure(ctx context.Context) (err error) {
	if c.cfg, err = config.Read(ctx, c.environ); err != nil {
		return err
	}
	config.HoldHeap()
	c.screen = cli.NewScreen(c.stderr)
	c.runID = ulid.Make().String()
	isJSON := c.cfg.LogFormat == "json" || c.cfg.LogFormat == "" && !cli.IsTerminal(c.stderr)
	c.startLog(isJSON && slices.Contains(scheduled, c.command))
	for _, name := range c.cfg.Unknown() {
		attrs := []any{"variable", config.Prefix + name}
		if meant := config.Meant(name); meant != "" {
			attrs = append(attrs, "did_you_mean", meant)
		}
		c.log.Warn("this variable is not one of ours and has no effect", attrs...)
	}
	if c.cfg.Bucket != "" {
		c.grace.Store(int64(max(c.limits.grace, pushGrace)))
	}
	return nil
}

// startLog starts the log on stderr, at the configured level. On a terminal, the default level is WARN.
func (c *call) startLog(asJSON bool) {
	var level slog.Level
	// This cannot fail, because the configuration was checked. An empty text leaves the level at info.
	_ = level.UnmarshalText([]byte(c.cfg.LogLevel))
	if c.cfg.LogLevel == "" && cli.IsTerminal(c.stderr) {
		level = slog.LevelWarn // on a terminal, the bar replaces the log lines of level info
	}
	o := &slog.HandlerOptions{Level: level}
	if !asJSON {
		c.log, c.jsonLog = slog.New(slog.NewTextHandler(c.screen, o)), nil
		return
	}
	c.log = slog.New(slog.NewJSONHandler(c.screen, o)).With("run", c.runID, "command", c.command, "account",
		c.cfg.Account)
	c.jsonLog = c.log
}

// clientOptions returns the options of both clients that no environment variable sets.
func (c *call) clientOptions() config.ClientOptions {
	return config.ClientOptions{UserAgent: "spendsync/" + version(), Log: c.log, Transport: c.transport}
}

// loadOptions returns the options with which this command opens the store.
func (c *call) loadOptions() load.Options {
	memory, first, threads := c.cfg.Resources()
	threads = cmp.Or(c.limits.threads, threads)
	return load.Options{
		LockWait: c.cfg.LockWait, Version: version(), Log: c.log,
		Now: c.now,
		DuckDB: duck.Options{
			Memory: memory, FirstMemory: first, Threads: threads, Views: c.views(),
		},
	}
}

// views returns the queries that every warehouse contains as views or tables.
func (c *call) views() []duck.View {
	values, err := queries.ParseThresholds(c.cfg.Thresholds)
	if err != nil {
		panic(err) // the configuration was checked
	}
	asked := queries.Views(values)
	if c.only != nil {
		asked = c.only(asked)
	}
	return dictionary.ViewsOf(asked)
}

func (c *call) planOptions() job.PlanOptions {
	return job.PlanOptions{YoungDays: c.cfg.YoungDays, RereadAfter: c.cfg.RereadAfter, PageSize: c.cfg.PageSize}
}
