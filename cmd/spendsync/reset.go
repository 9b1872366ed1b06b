package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/explain"
	"spendsync/load"
)

func newResetCommand(c *call) *cobra.Command {
	return &cobra.Command{
		Use: "reset", Short: "Move all stored data of an account aside; delete nothing",
		Long: `Moves all stored data of the account that --account names into the folder aside of the data directory,
and publishes a generation without it. It is the way out if another account's numbers were stored under this name. The
next sync begins afresh and reads the days that the report still reaches: older days are then only in the folder aside.
Other accounts stay unchanged.`,
		Example: "  spendsync repair reset --account acme",
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.reset(cmd.Context()) },
	}
}

// reset moves an account aside. The account must be named by --account, as a confirmation; SPENDSYNC_ACCOUNT does not
// count.
func (c *call) reset(ctx context.Context) (err error) {
	if err := c.setUp(ctx); err != nil {
		return err
	}
	if c.account == "" {
		return exit.Advise(exit.Usagef("which account? All of it will be moved aside; nothing is changed"),
			"name it: 'spendsync repair reset --account NAME'")
	}
	dir := c.cfg.DataDir
	store, err := load.Open(ctx, dir, c.account, c.loadOptions())
	if err != nil {
		return err
	}
	done, err := store.Reset(ctx, c.runID)
	if err := errors.Join(err, store.Close()); err != nil {
		return err
	}
	if c.json {
		if err := cli.WriteJSON(c.stdout, done); err != nil {
			return err
		}
	}
	happened := fmt.Sprintf("published generation %d without account %s: %s moved to %s; the next sync of it begins "+
		"afresh", done.Generation, c.account, cli.Count(done.Files, "file"), filepath.Join(dir, done.Aside))
	c.lastLines(slog.LevelInfo, explain.Sentence(happened, exit.OK), exit.OK)
	return nil
}
