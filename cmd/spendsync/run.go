package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/nearest"
	"spendsync/cmd/internal/output"
	"spendsync/cmd/internal/wrap"
	"spendsync/cmd/spendsync/explain"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load"
	"spendsync/load/duck"
	"spendsync/load/remote"
	"spendsync/queries"
	"spendsync/schema"
)

// app holds the values that all commands share: output streams, environment, clock.
type app struct {
	stdout, stderr io.Writer
	environ        []string
	now            func() time.Time
	transport      http.RoundTripper // to both interfaces; nil: the network
	bucket         remote.Options    // of tests; zero: the usual pauses
	limits         runLimits
	exit           func(code int) // os.Exit in main; nil in tests

	only func([]queries.Query) []queries.Query // chooses the views that warehouses have; nil: all

	account, dataDir string // --account and --data-dir; empty: not given
	configFile       string // --config; empty: the one in the working folder
	apart            bool   // the command sets all variables itself

	cfg    *config.Config
	log    *slog.Logger
	screen *screen
	json   bool

	grace   atomic.Int64 // how long after a signal the command may go on
	command string       // the name of the command
	runID   string       // of the current run; on every line of its log
}

// runLimits are what a run may take. Tests have others.
type runLimits struct {
	concurrency, threads int           // days of the report at a time; DuckDB's threads, 0: one a processor
	grace                time.Duration // how long after a signal complete data may still be published
}

var usual = runLimits{concurrency: 4, grace: 8 * time.Second}

func newApp(environ []string, stdout, stderr io.Writer) *app {
	return &app{stdout: stdout, stderr: stderr, environ: environ, now: time.Now, limits: usual}
}

// run runs one command and returns the exit code. It is the whole program: main
// adds signals and nothing else.
func (a *app) run(ctx context.Context, args []string) int {
	a.grace.Store(int64(a.limits.grace))
	a.endAfterSignal(ctx)
	root := a.commands()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	return a.end(err)
}

// end reports the outcome and returns the exit code. The last line on stderr states the result, which data is safe,
// and the next step.
func (a *app) end(err error) int {
	if err == nil || output.IsClosedPipe(err) {
		return exit.OK
	}
	code := exit.Of(err)
	_, reported := err.(*exit.Outcome)
	if code == exit.Stopped && !reported {
		err = errors.New("stopped by a signal: " + phrase.Interrupted(err))
	}
	if !reported {
		a.lastLines(slog.LevelError, explain.Error(err, code), code)
	}
	return code
}

// lastLines print the end of a command: a JSON object in JSON logs, otherwise three lines for a person,
// wrapped at words on a terminal.
func (a *app) lastLines(level slog.Level, m explain.Message, code int, attrs ...any) {
	if a.log != nil && a.cfg != nil && a.jsonLogs() {
		if m.Detail != "" {
			attrs = append(attrs, "detail", m.Detail)
		}
		attrs = append(attrs, "exit_code", code, "means", exit.About(code).Means, "safe", m.Safe, "do", m.Do)
		a.log.Log(context.Background(), level, m.Happened, attrs...)
		return
	}
	width := 0
	if output.IsTerminal(a.stderr) {
		width = output.TerminalWidth(a.stderr)
	}
	fmt.Fprint(a.stderr, m.Text(code, width))
}

// commands is the tree of commands.
func (a *app) commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "spendsync",
		Short: "Copies a push advertising account's spend report into Parquet and DuckDB, provably complete",
		Long: "spendsync copies a push advertising account's spend report into Parquet and DuckDB, provably " +
			"complete. The report reaches 32 days back; what is not copied in time is gone for good.\n\n" +
			"'spendsync help config' describes the variables and exit codes, 'spendsync help guide' how to ask the " +
			"warehouse.",
		SilenceErrors: true, SilenceUsage: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.Advise(exit.Usagef("there is no command %q%s", args[0],
					nearest.DidYouMean(args[0], commandNames(cmd))), "choose one that 'spendsync help' lists")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return exit.Advise(exit.Usagef("%s: %v", cmd.CommandPath(), err), "see '%s --help'", cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "answer in JSON on stdout")
	flags.StringVar(&a.account, "account", "", "account in the warehouse, in place of "+config.Prefix+"ACCOUNT; "+
		"status, query, report and mcp then show only this one")
	flags.StringVar(&a.dataDir, "data-dir", "", "folder of the store, in place of "+config.Prefix+"DATA_DIR")
	flags.StringVar(&a.configFile, "config", "", "file with variables (default: "+config.FileName+" in the working "+
		"folder, if there is one)")
	for _, g := range []struct {
		id, title string
		commands  []func(*app) *cobra.Command
	}{
		{"start", "Start here:", []func(*app) *cobra.Command{newDemoCommand, newInitCommand, newCheckCommand}},
		{"daily", "Every day:", []func(*app) *cobra.Command{newSyncCommand, newStatusCommand, newQueryCommand,
			newReportCommand, newTablesCommand, newMCPCommand}},
		{"keep", "Keep it:", []func(*app) *cobra.Command{newPushCommand, newPullCommand, newVerifyCommand,
			newRepairCommand, newCronjobCommand, newVersionCommand}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, command := range g.commands {
			c := command(a)
			c.GroupID = g.id
			root.AddCommand(c)
		}
	}
	for _, command := range []func(*app) *cobra.Command{newConfigTopic, newGuideTopic, newRecordCommand, newPlanCommand,
		newBackfillCommand, newRebuildCommand, newReplayCommand, newAcceptCommand, newResetCommand} {
		c := command(a) // topics of help, what maintainers ask for, and names of earlier versions
		c.Hidden = true
		root.AddCommand(c)
	}
	root.SetHelpCommandGroupID("keep")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.Version = version()
	root.SetVersionTemplate("spendsync {{.Version}}\n")
	for _, c := range root.Commands() {
		if c.Args == nil {
			c.Args, c.ValidArgsFunction = noArguments, cobra.NoFileCompletions
		}
	}
	root.SetOut(a.stdout) // before the library makes commands that write there
	root.SetErr(a.stderr)
	output.WrapHelp(root, a.stdout)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	addExamples(root)
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) { a.command = cmd.Name() }
	return root
}

// commandNames are the names of a command's commands.
func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return names
}

// addExamples gives examples to the commands that come from the library.
func addExamples(root *cobra.Command) {
	root.Example = "  spendsync demo\n  spendsync check\n  spendsync sync\n  spendsync query last_week"
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Example = "  spendsync help sync\n  spendsync help config"
			c.Args = func(_ *cobra.Command, args []string) error {
				if found, _, err := root.Find(args); err == nil && found != root {
					return nil
				}
				return root.Args(root, args)
			}
		case "completion":
			c.Example = "  source <(spendsync completion bash)"
			for _, shell := range c.Commands() {
				shell.Example = "  spendsync completion " + shell.Name()
			}
		}
	}
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.Advise(exit.Usagef("%s takes no argument %q", cmd.CommandPath(), args[0]), "see '%s --help'",
			cmd.CommandPath())
	}
	return nil
}

// settle puts the variables together: the file, the environment above it, and above both the flags.
func (a *app) settle() (err error) {
	if a.apart {
		return nil
	}
	if a.environ, err = config.WithFile(a.environ, a.configFile); err != nil {
		return err
	}
	for name, value := range map[string]string{"ACCOUNT": a.account, "DATA_DIR": a.dataDir} {
		if value != "" {
			a.environ = append(a.environ, config.Prefix+name+"="+value)
		}
	}
	return nil
}

// setUp reads the configuration and starts the log.
func (a *app) setUp(ctx context.Context) error {
	err := a.settle()
	if err != nil {
		return err
	}
	if a.cfg, err = config.Read(ctx, a.environ); err != nil {
		return err
	}
	config.HoldHeap()
	a.screen = newScreen(a.stderr, a.environ)
	a.log = a.logger()
	a.runID = ulid.Make().String()
	if a.jsonLogs() {
		a.log = a.log.With("run", a.runID, "command", a.command, "account", a.cfg.Account)
	}
	for _, name := range a.cfg.Unknown() {
		attrs := []any{"variable", config.Prefix + name}
		if now := config.Removed(name); now != "" {
			a.log.Warn("this variable was removed and has no effect", append(attrs, "now", now)...)
			continue
		}
		if meant := config.Meant(name); meant != "" {
			attrs = append(attrs, "did_you_mean", meant)
		}
		a.log.Warn("this variable is not one of ours and has no effect", attrs...)
	}
	if a.cfg.Bucket != "" {
		a.grace.Store(int64(max(a.limits.grace, pushGrace)))
	}
	return nil
}

// interactive are the commands that a person runs: their stderr is text everywhere.
var interactive = []string{"query", "status", "plan", "report", "tables", "verify", "check", "demo",
	"init", "version", "config", "cronjob", "guide", "mcp", "record"}

// logger writes text on a terminal and JSON elsewhere, unless the configuration sets the format.
func (a *app) logger() *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(a.cfg.LogLevel)) // checked with the configuration; empty is info
	if a.cfg.LogLevel == "" && output.IsTerminal(a.stderr) {
		level = slog.LevelWarn // the bar shows the rest
	}
	o := &slog.HandlerOptions{Level: level}
	if a.jsonLogs() {
		return slog.New(slog.NewJSONHandler(a.screen, o))
	}
	return slog.New(slog.NewTextHandler(a.screen, o))
}

func (a *app) jsonLogs() bool {
	if slices.Contains(interactive, a.command) {
		return false
	}
	return a.cfg.LogFormat == "json" || (a.cfg.LogFormat == "" && !output.IsTerminal(a.stderr))
}

// clientOptions returns the options of the service's clients that the configuration lacks.
func (a *app) clientOptions() config.ClientOptions {
	return config.ClientOptions{UserAgent: "spendsync/" + version(), Log: a.log, Transport: a.transport}
}

// loadOptions are the settings of the store.
func (a *app) loadOptions() load.Options {
	memory, first, threads := a.cfg.Resources()
	threads = cmp.Or(a.limits.threads, threads)
	return load.Options{
		LockWait: a.cfg.LockWait, KeepRaw: true, Version: version(), Log: a.log,
		Now: a.now,
		DuckDB: duck.Options{
			Memory: memory, FirstMemory: first, Threads: threads, Views: a.views(),
		},
	}
}

// views are the questions that every warehouse answers by name.
func (a *app) views() []duck.View {
	asked, err := queries.Views(a.cfg.Thresholds)
	if err != nil {
		panic(err) // the configuration was checked
	}
	if a.only != nil {
		asked = a.only(asked)
	}
	return viewsOf(asked)
}

// viewsOf are questions as the store makes them, with what each column means.
func viewsOf(asked []queries.Query) []duck.View {
	docs := columnDocs()
	var all []duck.View
	for _, q := range asked {
		columns := maps.Clone(docs)
		maps.Copy(columns, q.Columns)
		all = append(all, duck.View{
			Schema: q.Schema, Name: q.Name, SQL: q.SQL, Doc: q.Question + " Trap: " + q.Trap, Columns: columns,
			Parameters: q.Parameters, Stored: q.Stored, ByDay: q.ByDay, Key: q.Key,
			WholeDays: q.WholeDays,
		})
	}
	return all
}

// columnDocs returns the dictionary's text for each column name; the first table with the column
// supplies it.
func columnDocs() map[string]string {
	docs := map[string]string{}
	for _, t := range schema.Tables {
		for _, c := range t.Columns {
			if docs[c.Name] == "" {
				docs[c.Name] = c.Doc
			}
		}
	}
	return docs
}

func (a *app) planOptions() job.PlanOptions {
	return job.PlanOptions{YoungDays: a.cfg.YoungDays, RereadAfter: a.cfg.RereadAfter, PageSize: a.cfg.PageSize}
}

// newConfigTopic is "help config": every variable, and the exit codes.
func newConfigTopic(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "The variables and the exit codes", Long: configHelp(),
		Example: "  spendsync help config",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(a.stdout, wrap.Help(configHelp(), output.HelpWidth(a.stdout)))
			return err
		},
	}
}

func configHelp() string {
	var b strings.Builder
	b.WriteString("Variables (an empty one counts as unset). They are read from a file first, " + config.FileName +
		" in the working folder or the one that --config names, with a line NAME=value each; the environment wins " +
		"over the file, and --account and --data-dir win over both. A secret may be in a file, which NAME_FILE " +
		"names:\n\n")
	for _, v := range config.Variables() {
		or := ""
		if v.IsSecret {
			or = " or " + config.Prefix + v.Name + "_FILE"
		}
		fmt.Fprintf(&b, "  %s%s%s\n      %s", config.Prefix, v.Name, or, v.Doc)
		if v.Default != "" {
			fmt.Fprintf(&b, " (%s)", defaultText(v.Default))
		}
		b.WriteByte('\n')
	}
	b.WriteString("\nMetrics (" + config.Prefix + "METRICS_FILE, " + config.Prefix + "PUSHGATEWAY_URL):\n\n" +
		metricsHelp())
	b.WriteString("\nMetrics of push, pull and verify --from, whose file lies beside that of sync: FILE-push.prom, " +
		"FILE-pull.prom and FILE-verify.prom for FILE.prom:\n\n" + transferHelp())
	b.WriteString("\nExit codes:\n\n" + exit.Table())
	return b.String()
}

func defaultText(fallback string) string {
	if strings.HasPrefix(fallback, "required") {
		return fallback
	}
	return "default: " + fallback
}
