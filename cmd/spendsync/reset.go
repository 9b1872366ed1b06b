package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/output"
	"spendsync/cmd/spendsync/explain"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load"
)

// resetCommand is "repair reset".
type resetCommand struct {
	*call
	named string // by --account
}

func newResetCommand(a *call) *cobra.Command {
	c := &resetCommand{call: a}
	cmd := &cobra.Command{
		Use: "reset-account", Short: "Move all stored data of the account aside; delete nothing",
		Long: `Moves all stored data of the account into the folder aside of the data directory, and publishes a
generation without it. It is the way out if another account's numbers were stored under this name. The next sync
begins afresh and reads the days that the report still reaches: older days are then only in the folder aside. Other
accounts stay unchanged. It asks for the account's name, and nothing else confirms.`,
		Example: "  spendsync repair reset\n  spendsync repair reset --account acme",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.run(cmd.Context(), cmd.InOrStdin(), cmd.Flags().Changed("account"))
		},
	}
	cmd.Flags().StringVar(&c.named, "account", "", "the account's name, for scripts: it must be that of "+
		config.Prefix+"ACCOUNT")
	return cmd
}

// run moves the account aside if its name is given, or typed on a terminal.
func (c *resetCommand) run(ctx context.Context, stdin io.Reader, given bool) error {
	if err := c.setUpRun(ctx); err != nil {
		return err
	}
	account, known, err := c.knownAccount()
	if err != nil {
		return err
	}
	if !given {
		in, ok := stdin.(*os.File)
		if !ok || !output.IsTerminal(in) {
			return exit.Usagef("nobody can be asked here for the account's name: give it with --account %s; "+
				"nothing is changed", account)
		}
		fmt.Fprintf(c.stderr, "Account %s has %s in %s. All of it will be moved aside.\n"+
			"Type the account's name: ", account, phrase.Count(len(known.Days), "day"), c.cfg.DataDir)
		if c.named, err = readName(ctx, in); err != nil {
			return err
		}
	}
	if c.named != account {
		return exit.Usagef("the account is %s (%sACCOUNT), and the name given is %q: nothing is changed",
			account, config.Prefix, c.named)
	}
	return c.reset(ctx, account)
}

// readName reads a line, and waits for it no longer than until a signal comes.
func readName(ctx context.Context, in io.Reader) (string, error) {
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(in).ReadString('\n')
		line <- strings.TrimSpace(text)
	}()
	select {
	case text := <-line:
		return text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (c *resetCommand) reset(ctx context.Context, account string) (err error) {
	dir, err := c.cfg.StoreDir()
	if err != nil {
		return err
	}
	store, err := load.Open(ctx, dir, account, c.loadOptions())
	if err != nil {
		return err
	}
	done, err := store.Reset(ctx, c.runID)
	if closeErr := store.Close(); err == nil && closeErr != nil {
		c.log.Warn("the account's lock could not be released", "error", closeErr)
	}
	if err != nil {
		return err
	}
	if c.json {
		if err := output.JSON(c.stdout, done); err != nil {
			return err
		}
	}
	happened := fmt.Sprintf("published generation %d without account %s: %s moved to %s; the next sync of it begins "+
		"afresh", done.Generation, account, phrase.Count(done.Files, "file"), filepath.Join(dir, done.Aside))
	c.lastLines(slog.LevelInfo, explain.Sentence(happened, exit.OK), exit.OK)
	return nil
}
