package main

import (
	"context"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/schema"
)

func newSyncCommand(a *app) *cobra.Command {
	full := false
	cmd := &cobra.Command{
		Use: "sync", Short: "Read what is new or may have changed, prove it, publish it",
		Long: `Reads the days of the spend report that the plan names and proves each complete. Beside them it reads the
settings of the account, its campaigns, creatives and sources, and publishes all as one generation. It reads settings
for 20 minutes at most, those confirmed longest ago first, and leaves the others to the next run. Run it as often as
you like: it reads young days every time and the others once in ` + config.Prefix + "REREAD_AFTER.\n\nExit codes:\n\n" +
			exit.Table(),
		Example: "  spendsync sync\n  spendsync sync --json | jq .exit_code",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return (&runner{a}).runJob(cmd.Context(), func(j job.Job, ctx context.Context) (*job.Result, error) {
				j.Full = full
				return j.Sync(ctx)
			})
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "read archived campaigns again, too")
	return cmd
}

func newBackfillCommand(a *app) *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use: "backfill --from DAY --to DAY", Short: "Read the days of a range again, whatever is known of them",
		Example: "  spendsync backfill --from 2026-11-01 --to 2026-11-10",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return (&runner{a}).runJob(cmd.Context(), func(j job.Job, ctx context.Context) (*job.Result, error) {
				first, err := schema.ParseDate(from)
				if err != nil {
					return nil, exit.Usagef("--from: %v", err)
				}
				last, err := schema.ParseDate(to)
				if err != nil {
					return nil, exit.Usagef("--to: %v", err)
				}
				return j.Backfill(ctx, first, last)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first Chicago day, YYYY-MM-DD")
	cmd.Flags().StringVar(&to, "to", "", "last Chicago day, YYYY-MM-DD")
	return cmd
}

func newRebuildCommand(a *app) *cobra.Command {
	acceptLoss := false
	cmd := &cobra.Command{
		Use: "rebuild", Short: "Build warehouse.duckdb again from the Parquet files",
		Long: `Builds the DuckDB file from nothing but the Parquet files and the ledger. A damaged Parquet file or
ledger is first restored from the old DuckDB file if that is intact: it is used only if it proves to be what was
published. If something can't be restored, it is named and nothing is published.

If parts of the store are older than others, for example after a backup that was restored in part, every command that
publishes refuses to run. Restore one complete backup then. If there is none, --accept-loss continues with this store:
every intact file is used, whatever no part of the store contains any more is named and forgotten for good, and the
next sync reads the days in reach again. Copy the data directory first.`,
		Example: "  spendsync rebuild\n  spendsync rebuild --accept-loss",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return (&runner{a}).runRepair(cmd.Context(), func(j job.Job, ctx context.Context) (*job.Result, error) {
				if acceptLoss {
					j.Store.AcceptLoss = job.RowsOfReplies(j.Service)
				}
				return j.Rebuild(ctx)
			})
		},
	}
	cmd.Flags().BoolVar(&acceptLoss, "accept-loss", false, "go on without what is lost for good")
	return cmd
}

func newReplayCommand(a *app) *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use: "replay", Short: "Make days again from their stored replies",
		Long: `Reads the stored replies of the account's days again, as the service sent them, and stores what differs
from the published data. It repairs a damaged Parquet file of a day, and a mistake of an earlier version's parser. It
also reads the replies of days that an earlier version could not prove, which are kept in quarantine/. It asks the
service nothing.`,
		Example: "  spendsync replay\n  spendsync replay --from 2026-11-01 --to 2026-11-10",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return (&runner{a}).runRepair(cmd.Context(), func(j job.Job, ctx context.Context) (*job.Result, error) {
				first, last := schema.Date(-1<<31), schema.Date(1<<31-1)
				var err error
				if from != "" {
					if first, err = schema.ParseDate(from); err != nil {
						return nil, exit.Usagef("--from: %v", err)
					}
				}
				if to != "" {
					if last, err = schema.ParseDate(to); err != nil {
						return nil, exit.Usagef("--to: %v", err)
					}
				}
				return j.Replay(ctx, first, last)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first Chicago day, YYYY-MM-DD (default: the first stored)")
	cmd.Flags().StringVar(&to, "to", "", "last Chicago day, YYYY-MM-DD (default: the last stored)")
	return cmd
}
