package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"spendsync/cmd/spendsync/config"
	"spendsync/cmd/spendsync/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load"
	"spendsync/schema"
)

func (a *app) rebuildCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rebuild", Short: "Build warehouse.duckdb again from the Parquet files",
		Long: "Builds the DuckDB file from nothing but the Parquet files and the ledger.\n" +
			"A Parquet file or ledger that is damaged is first restored from the old DuckDB file, if that one is whole: it is taken\n" +
			"only if it proves to be what was published. What cannot be restored is named, and nothing is published then.",
		Example: "  spendsync rebuild",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.setUp(cmd.Context()); err != nil {
				return err
			}
			return a.mend(cmd.Context(), "rebuild", func(*mender) error { return nil })
		},
	}
}

// mender is a run that publishes without asking the service anything.
type mender struct {
	app    *app
	runID  string
	start  time.Time
	store  *load.Store
	staged *load.Staged

	replayed, changed, skipped int
	failures                   []failure
}

func (m *mender) note(day schema.Date, err error) {
	m.failures = append(m.failures, failure{"spend " + day.String(), err})
	m.app.log.Error("the day could not be made again", "day", day.String(), "error", err)
}

// mend opens the store, does its work, and publishes a generation whose DuckDB
// file is built from nothing.
func (a *app) mend(ctx context.Context, command string, work func(*mender) error) error {
	ignoreBrokenPipe() // the data does not depend on who reads the log
	dir, err := a.cfg.StoreDir()
	if err != nil {
		return err
	}
	store, err := load.Open(ctx, dir, a.cfg.Account, a.loadOptions())
	if err != nil {
		return err
	}
	defer store.Close()
	if store.Manifest() == nil {
		return fmt.Errorf("%s: %w", dir, load.ErrEmpty)
	}
	if stored := store.Manifest().AccountNames(); !slices.Contains(stored, a.cfg.Account) {
		return exit.Usagef("%s has no account %q; set %sACCOUNT to %s", dir, a.cfg.Account, config.Prefix, strings.Join(stored, " or "))
	}
	m := &mender{app: a, runID: a.runID, start: a.now(), store: store}
	if m.staged, err = store.Begin(m.runID); err != nil {
		return err
	}
	defer m.staged.Discard()
	if err := work(m); err != nil {
		return err
	}
	var row schema.Run
	published, err := m.staged.Publish(ctx, load.Publication{
		Since: planReach(m.start), Fresh: true,
		Run: func(o load.Outlook) schema.Run {
			row = m.row(command, o)
			return row
		},
	})
	if err != nil {
		return err
	}
	if a.json {
		if err := writeJSON(a.stdout, row); err != nil {
			return err
		}
	}
	if row.ExitCode != exit.OK {
		a.lastLine(slog.LevelError, row.Message.V, int(row.ExitCode), "generation", published.Generation)
		return &exit.Outcome{Code: int(row.ExitCode), Happens: row.Message.V}
	}
	a.lastLine(slog.LevelInfo, row.Message.V, exit.OK, "generation", published.Generation)
	return nil
}

func (m *mender) row(command string, o load.Outlook) schema.Run {
	text := fmt.Sprintf("published generation %d: warehouse.duckdb is built again from Parquet", o.Generation)
	if command == "replay" {
		text = fmt.Sprintf("published generation %d: %s read again from the stored replies, %d changed, %d without replies", o.Generation, phrase.Count(m.replayed, "day"), m.changed, m.skipped)
	}
	if n := len(o.Restored); n > 0 {
		text += fmt.Sprintf("; %s restored: %s", phrase.Count(n, "damaged file"), strings.Join(o.Restored[:min(n, 5)], ", "))
	}
	code := exit.OK
	var errs []error
	for _, err := range o.Troubles {
		code = exit.Partial
		text += "; " + failure{"views", err}.String()
	}
	for _, f := range m.failures {
		errs = append(errs, f.err)
		text += "; " + f.String()
	}
	if err := errors.Join(errs...); err != nil {
		code = exit.Of(err)
	}
	return schema.Run{
		AccountID: m.app.cfg.Account, Command: command, StartedAt: schema.InstantOf(m.start), FinishedAt: schema.InstantOf(m.app.now()),
		ExitCode: int64(code), Outcome: exit.About(code).Means, Published: true, Generation: o.Generation,
		DaysChanged: int64(m.changed), Restatements: int64(o.Restatements), Version: version(), Message: schema.Some(text), RunID: m.runID,
	}
}
