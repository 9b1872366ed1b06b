package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync-lake/lake"
)

// run executes the command in args, prints its error to stderr, and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := codeOf(err)
	if err != nil {
		text := err.Error()
		if s, settingsErr := readSettings(ctx, a.environ); settingsErr == nil {
			text = s.redactor().Replace(text)
		}
		about := exit.About(code)
		fmt.Fprintf(a.stderr, "spendsync-lake: %s\n%s (exit code %d)\nSafe: the store is untouched, and the lake is "+
			"as it was or as it shall be.\n", text, adviceOf(err, about), code)
	}
	return code
}

// codeOf returns the exit code of an error. The codes are those of spendsync: see 'spendsync help config'.
func codeOf(err error) int {
	switch {
	case errors.Is(err, lake.ErrWrongURL):
		return exit.Usage
	case errors.Is(err, lake.ErrNewer), errors.Is(err, lake.ErrAhead):
		return exit.Newer
	case errors.Is(err, lake.ErrDenied):
		return exit.Auth
	case errors.Is(err, lake.ErrShrink), errors.Is(err, lake.ErrDiffers):
		return exit.Damaged
	case errors.Is(err, lake.ErrForeign), errors.Is(err, lake.ErrElsewhere), errors.Is(err, lake.ErrRejected):
		return exit.Contract
	case errors.Is(err, context.Canceled):
		return exit.Stopped
	case errors.Is(err, lake.ErrUnreachable):
		return exit.Unreachable
	case err != nil && strings.HasPrefix(err.Error(), "unknown "):
		return exit.Usage // an unknown command or flag, which cobra has refused
	}
	return exit.Of(err)
}

// adviceOf returns what an error means and what to do about it.
func adviceOf(err error, about exit.Code) string {
	if errors.Is(err, lake.ErrElsewhere) {
		return "A redirect or the catalog's configuration leads to another host, which was sent nothing. If that " +
			"host is right, set the variable to its address; otherwise find out who answers."
	}
	if errors.Is(err, lake.ErrRejected) {
		return "The catalog will refuse the same request again: its text above says why. If it says that it does not " +
			"know or support something, this catalog can't hold these tables."
	}
	switch about.Code {
	case exit.Unreachable:
		return "The catalog or the object storage can't be reached or keeps failing: run it again."
	case exit.Auth:
		return "The catalog or the object storage refuses the credentials, or does not let them do this."
	case exit.Contract:
		return "A table of the lake is not as spendsync made it: see who has changed it, or choose another " +
			"SPENDSYNC_LAKE_NAMESPACE."
	case exit.Newer:
		return "The lake is newer than this store or this binary: nothing was written."
	case exit.Damaged:
		return "What is stored differs from what it should be: nothing was taken away."
	}
	return about.Means
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use: "spendsync-lake", Short: "Keep Apache Iceberg tables equal to a spendsync store",
		Long: "Keeps Apache Iceberg tables in object storage equal to a spendsync store: exact to the row, replaced " +
			"day by day, each generation in one transaction over all tables. Reads the store and never writes to it.",
		SilenceUsage: true, SilenceErrors: true, Version: version(), Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cli.FitHelp(root, a.stdout)
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().BoolVar(&a.json, "json", false, "answer in JSON on stdout")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.Usagef("%v", err) })
	root.AddCommand(a.followCommand(), a.verifyCommand(), a.maintainCommand())
	return root
}

// withLake reads the environment variables, connects to the lake, calls a function, and disconnects.
func (a *app) withLake(ctx context.Context, do func(*lake.Lake, *settings) error) error {
	s, err := readSettings(ctx, a.environ)
	if err != nil {
		return err
	}
	l, err := a.open(ctx, s)
	if err != nil {
		return err
	}
	defer l.Close()
	return do(l, s)
}

// open connects to the lake that the environment variables name.
func (a *app) open(ctx context.Context, s *settings) (*lake.Lake, error) {
	o, err := s.lake()
	if err != nil {
		return nil, err
	}
	o.Now = a.now
	return lake.Open(ctx, o)
}

func (a *app) followCommand() *cobra.Command {
	var o lake.FollowOptions
	cmd := &cobra.Command{
		Use: "follow", Short: "Bring the lake to the published generation of the store", Args: cobra.NoArgs,
		Long: "Brings every account's part of every table to what the published generation of the store names, in " +
			"one transaction. Running it again does nothing; after a pause it catches up in one commit.",
		Example: "  spendsync-lake follow",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.follow(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.AllowShrink, "allow-shrink", false, "take days and rows from the lake that the store lacks")
	return cmd
}

// follow makes the lake equal to the store once, and prints the result.
func (a *app) follow(ctx context.Context, o lake.FollowOptions) (err error) {
	s, err := readSettings(ctx, a.environ)
	if err != nil {
		return err
	}
	o.Dir = s.DataDir
	var done *lake.Followed
	defer func() { err = errors.Join(err, a.writeMetrics(s, done, err)) }()
	l, err := a.open(ctx, s)
	if err != nil {
		return err
	}
	defer l.Close()
	if done, err = l.Follow(ctx, o); err != nil {
		return err
	}
	if a.json {
		return a.encode(done, nil)
	}
	a.showFollowed(done)
	return nil
}

// showFollowed prints the result of a call of [lake.Lake.Follow].
func (a *app) showFollowed(done *lake.Followed) {
	switch {
	case done.IsNothing():
		fmt.Fprintf(a.stdout, "the lake has generation %d already (%d accounts)\n", done.Generation, done.Accounts)
	default:
		fmt.Fprintf(a.stdout, "committed generation %d of %d accounts: %d files added (%d rows, %d bytes), %d "+
			"removed, in %d tables (%s)\n", done.Generation, done.Accounts, done.Added, done.Rows, done.Bytes,
			done.Removed, len(done.Tables), strings.Join(slices.Sorted(maps.Keys(done.Tables)), ", "))
	}
	if len(done.Changed) > 0 {
		fmt.Fprintf(a.stdout, "another program had written to %s: the days that it changed are the store's again\n",
			strings.Join(done.Changed, ", "))
	}
}
