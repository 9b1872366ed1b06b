package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync-lake/lake"
)

func (a *app) verifyCommand() *cobra.Command {
	var deep bool
	cmd := &cobra.Command{
		Use: "verify", Short: "Compare the lake with the store, file by file", Args: cobra.NoArgs,
		Long: "Compares the live files of every account and table with those that the published generation names: by " +
			"name, rows and size, from metadata alone. With --deep every byte is read and compared by its hash.",
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
	return &cobra.Command{
		Use: "maintain", Short: "Merge manifests, expire snapshots and delete orphans", Args: cobra.NoArgs,
		Long: "Merges manifests, expires snapshots with the files that only they name, and deletes objects that " +
			"nothing names. Run it once a day, in one place; followers may go on meanwhile. Reads of an older " +
			"generation must end before its snapshots expire.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withLake(cmd.Context(), func(l *lake.Lake, s *settings) error {
				if s.SnapshotAge < time.Hour {
					return exit.Usagef("SPENDSYNC_LAKE_SNAPSHOT_AGE must be an hour or more")
				}
				done, err := l.Maintain(cmd.Context(), lake.MaintainOptions{SnapshotAge: s.SnapshotAge})
				if err != nil {
					return err
				}
				if a.json {
					return a.encode(done, nil)
				}
				fmt.Fprintf(a.stdout, "%d tables: %d snapshots expired, %d orphans deleted (%d bytes)\n",
					done.Tables, done.Expired, done.Orphans, done.Bytes)
				return nil
			})
		},
	}
}
