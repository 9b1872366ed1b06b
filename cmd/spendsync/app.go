package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/explain"
	"spendsync/load/duck"
)

// app runs the whole program for one command line. Only the handling of signals is in main.
type app struct{ call }

func newApp(environ []string, stdout, stderr io.Writer) *app {
	return &app{call: call{terminal: terminal{stdout: stdout, stderr: stderr, environ: environ}, now: time.Now,
		limits: usual, log: slog.New(slog.NewJSONHandler(stderr, nil))}}
}

// run runs one command and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	a.grace.Store(int64(a.limits.grace))
	a.endAfterSignal(ctx)
	root := a.commands()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if _, a.path, _ = strings.Cut(cmd.CommandPath(), " "); a.path == "help" {
		a.path = "" // without a subcommand, the list of commands is the help
	}
	if err != nil && a.command == "" { // cobra refused the arguments or flags
		err = exit.As(err, exit.ErrUsage)
	}
	return a.end(err)
}

// end reports the outcome and returns the exit code. The last line on stderr states the result, which data is safe,
// and the next step.
func (a *app) end(err error) int {
	if err == nil || cli.IsClosedPipe(err) {
		return exit.OK
	}
	code := exit.Of(err)
	_, reported := err.(*exit.Outcome)
	if code == exit.Stopped && !reported {
		err = errors.New("stopped by a signal: " + cli.Interrupted(err))
	}
	if code == exit.Usage && a.cfg != nil && a.cfg.LogFormat == "" { // a mistake of a person: print plain text
		a.jsonLog = nil
	}
	if !reported {
		m := explain.Error(err, code)
		m.Do = strings.Replace(m.Do, "help COMMAND", strings.TrimSpace("help "+a.path), 1)
		if demo := a.demoBeside(err); demo != "" {
			m.Do = "add --data-dir " + demo + " to ask the demo's store; for an account of your own, " + m.Do
		}
		m.Excerpt = a.excerpt
		a.lastLines(slog.LevelError, m, code)
	}
	return code
}

// commands returns the tree of all commands and help topics.
func (a *app) commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "spendsync",
		Short: "Copies a push advertising account's spend report and settings into Parquet and DuckDB",
		Long: "spendsync copies a push advertising account's spend report and settings into Parquet and DuckDB; each " +
			"day is held to the service's own count of rows, or to its sum. The report reaches 32 days back; what is " +
			"not copied in time is gone for good.\n\n" +
			"'spendsync help config' describes the variables and exit codes, 'spendsync help guide' how to ask the " +
			"warehouse.",
		Args:          noArguments,
		Example:       "  spendsync demo\n  spendsync check\n  spendsync sync\n  spendsync query last_week",
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		name, isUnknown := strings.CutPrefix(err.Error(), "unknown flag: --")
		meant := ""
		if isUnknown && len(name) > 3 { // a shorter name is similar to too many flags
			meant = cli.DidYouMean("--"+name, flagName.FindAllString(cmd.Flags().FlagUsages(), -1))
		}
		wrong := exit.Usagef("%v%s", err, meant)
		if isUnknown && cmd.Name() == "query" {
			return exit.Advise(wrong, "a parameter of a question is written --param %s=VALUE; else see '%s --help'",
				name, cmd.CommandPath())
		}
		return exit.Advise(wrong, "see '%s --help'", cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "answer in JSON on stdout")
	flags.StringVar(&a.account, "account", "", "account in the warehouse, in place of "+config.Prefix+"ACCOUNT; "+
		"status, query, report and mcp then show only this one")
	flags.StringVar(&a.dataDir, "data-dir", "", "folder of the store, in place of "+config.Prefix+"DATA_DIR")
	flags.StringVar(&a.configFile, "config", "", "file with variables (default: "+config.FileName+" in the working "+
		"folder, if there is one)")
	c, t := &a.call, &a.terminal
	for _, g := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"start", "Start here:", []*cobra.Command{newDemoCommand(c), newInitCommand(c), newCheckCommand(c)}},
		{"daily", "Every day:", []*cobra.Command{newSyncCommand(c), newStatusCommand(c), newQueryCommand(c),
			newReportCommand(c), newTablesCommand(t), newMCPCommand(c)}},
		{"keep", "Keep it:", []*cobra.Command{newPushCommand(c), newPullCommand(c), newVerifyCommand(c),
			newRepairCommand(c), newCronjobCommand(c), newVersionCommand(t)}},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, command := range g.commands {
			command.GroupID = g.id
			root.AddCommand(command)
		}
	}
	topics := []*cobra.Command{newConfigTopic(t), newGuideTopic(t)}
	for _, topic := range topics {
		topic.Hidden = true // 'help' lists a topic separately, not among the commands
		root.AddCommand(topic)
	}
	root.SetHelpCommandGroupID("keep")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.Version = version() + ", DuckDB " + duck.EngineVersion()
	root.SetVersionTemplate("spendsync {{.Version}}\n")
	root.SetOut(a.stdout) // set before cobra adds its own commands, so that they also write to stdout
	root.SetErr(a.stderr)
	cli.FitHelp(root, a.stdout)
	a.begins(root)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	help, _, _ := root.Find([]string{"help"})
	offered := help.ValidArgsFunction
	help.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		names, directive := offered(cmd, args, typed)
		for _, topic := range topics {
			if len(args) == 0 && strings.HasPrefix(topic.Name(), typed) {
				names = append(names, cobra.CompletionWithDesc(topic.Name(), topic.Short))
			}
		}
		return names, directive
	}
	help.Args = func(_ *cobra.Command, args []string) error { // cobra's help accepts unknown commands
		cmd, rest, err := root.Find(args)
		if err == nil && cmd.HasSubCommands() {
			err = noArguments(cmd, rest)
		}
		return err
	}
	return root
}

// completeNames completes a name of a table, view or question. Names of schema main are offered without the schema;
// working tables (int) are offered only after their schema is typed.
func completeNames(all func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
		for _, name := range all() {
			name = strings.TrimPrefix(name, "main.")
			isWorking := strings.HasPrefix(name, "int.") && !strings.HasPrefix(typed, "int")
			if strings.HasPrefix(name, typed) && !isWorking {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// flagName matches a flag in a usage text.
var flagName = regexp.MustCompile(`--[a-z][a-z-]+`)

// begins prepares a command and its subcommands: a command without its own rule for arguments accepts none. When a
// command runs, it refuses empty values of flags, and records its name in the app.
func (a *app) begins(cmd *cobra.Command) {
	if cmd.Args == nil && cmd.HasParent() {
		cmd.Args, cmd.ValidArgsFunction = noArguments, cobra.NoFileCompletions
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			var empty error // for example of an unset variable of a shell script
			cmd.Flags().Visit(func(f *pflag.Flag) {
				if f.Value.String() == "" {
					empty = exit.Usagef("--%s is empty", f.Name)
				}
			})
			if empty != nil {
				return empty
			}
			a.command = cmd.Name()
			return run(cmd, args)
		}
	}
	for _, below := range cmd.Commands() {
		a.begins(below)
	}
}

// noArguments refuses arguments. If the first argument is a common word for a subcommand, or similar to its name, the
// error suggests the subcommand.
func noArguments(cmd *cobra.Command, args []string) error {
	err := cobra.NoArgs(cmd, args)
	if err == nil {
		return nil
	}
	var below []string
	for _, c := range cmd.Commands() {
		if slices.Contains(c.SuggestFor, args[0]) {
			return fmt.Errorf("%w; did you mean %s?", err, c.Name())
		}
		below = append(below, c.Name())
	}
	return fmt.Errorf("%w%s", err, cli.DidYouMean(args[0], below))
}
