package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/exit"
	"spendsync/load/lake"
	"spendsync/load/lake/inbox"
)

func (a *app) verifyCommand() *cobra.Command {
	var deep bool
	cmd := &cobra.Command{
		Use: "verify", Short: "Compare the lake with the store, file by file", Args: cobra.NoArgs,
		Long: "Compares the live files of every account and table with those that the published generation names: by " +
			"name, " +
			"rows and size, from metadata alone. With --deep every byte is read and compared by its hash.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withLake(cmd.Context(), func(l *lake.Lake, s *settings) error {
				v, err := l.Verify(cmd.Context(), s.DataDir, deep)
				if v == nil {
					return err
				}
				if a.json {
					return a.encode(v, err)
				}
				for _, f := range v.Findings {
					fmt.Fprintln(a.stdout, f)
				}
				a.showForeign(v.Foreign)
				if err == nil {
					fmt.Fprintf(a.stdout, "the lake holds generation %d: %d files and %d rows as in the store, "+
						"%d bytes compared\n", v.Generation, v.Files, v.Rows, v.Bytes)
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "read every byte")
	return cmd
}

func (a *app) encode(v any, err error) error {
	if encodeErr := json.NewEncoder(a.stdout).Encode(v); encodeErr != nil && err == nil {
		return encodeErr
	}
	return err
}

func (a *app) maintainCommand() *cobra.Command {
	var o lake.MaintainOptions
	cmd := &cobra.Command{
		Use: "maintain", Short: "Expire snapshots, delete orphans, group manifests", Args: cobra.NoArgs,
		Long: "Expires snapshots with the files that only they name, deletes objects that nothing names, and groups " +
			"manifests " +
			"again that others have scattered. " +
			"Run it once a day, in one place; followers may go on meanwhile. Who " +
			"reads an " +
			"older generation must be done before its snapshots expire.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd.Context(), a.environ)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("snapshot-age") {
				o.SnapshotAge = s.SnapshotAge
			}
			if o.SnapshotAge < time.Hour || o.OrphanAge < 24*time.Hour {
				return exit.Usagef("--snapshot-age (SPENDSYNC_LAKE_SNAPSHOT_AGE) must be an hour or more, " +
					"--orphan-age a day or more")
			}
			l, err := a.open(cmd.Context(), s)
			if err != nil {
				return err
			}
			defer l.Close()
			done, err := l.Maintain(cmd.Context(), o)
			if err != nil {
				return err
			}
			if a.json {
				return a.encode(done, nil)
			}
			fmt.Fprintf(a.stdout, "%d tables: %d snapshots expired, %d orphans deleted (%d bytes), manifests of %d "+
				"tables grouped\n",
				done.Tables, done.Expired, done.Orphans, done.Bytes, done.Regroups)
			return nil
		},
	}
	cmd.Flags().DurationVar(&o.SnapshotAge, "snapshot-age", lake.SnapshotAge, "how long snapshots are kept; otherwise "+
		"SPENDSYNC_LAKE_SNAPSHOT_AGE")
	cmd.Flags().DurationVar(&o.OrphanAge, "orphan-age", lake.OrphanAge, "how old an object is before it counts as "+
		"nobody's")
	return cmd
}

func (a *app) commitCommand() *cobra.Command {
	var allowShrink bool
	cmd := &cobra.Command{
		Use: "commit", Short: "Fold the inbox of many stores into one commit", Args: cobra.NoArgs,
		Long: "Folds what followers with SPENDSYNC_LAKE_MODE=inbox have described into one commit for all their " +
			"accounts, of " +
			"each store its newest description. Needs no store. Run it in one place, such as once an hour: " +
			"running it " +
			"again does nothing. A description that may not be folded is named, and the others are folded.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.commit(cmd.Context(), allowShrink)
		},
	}
	cmd.Flags().BoolVar(&allowShrink, "allow-shrink", false,
		"take days and rows from the lake that the stores lack")
	return cmd
}

func (a *app) commit(ctx context.Context, allowShrink bool) (err error) {
	s, err := readSettings(ctx, a.environ)
	if err != nil {
		return err
	}
	var done *inbox.Folded
	defer func() { err = errors.Join(err, a.writeCommitMetrics(s, done, err)) }()
	l, err := a.open(ctx, s)
	if err != nil {
		return err
	}
	defer l.Close()
	done, err = inbox.Commit(ctx, l, a.now(), allowShrink)
	if done == nil {
		return err
	}
	if a.json {
		return a.encode(done, err)
	}
	for _, r := range done.Refused {
		fmt.Fprintln(a.stdout, r)
	}
	fmt.Fprintf(a.stdout, "folded %d stores, %d accounts: %d files added, %d removed, in %d tables; %d requests to "+
		"the catalog\n", done.Stores, done.Accounts, done.Added, done.Removed, len(done.Tables), done.Requests)
	return err
}
