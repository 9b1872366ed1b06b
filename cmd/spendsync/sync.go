package main

import (
	"context"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/schema"
)

func newSyncCommand(c *call) *cobra.Command {
	full, dryRun, from, to := false, false, "", ""
	cmd := &cobra.Command{
		Use: "sync", Short: "Read what is new or may have changed, prove it, publish it",
		Long: `Reads the days of the spend report that the plan names and proves each complete. Beside them it reads the
settings of the account, its campaigns, creatives and sources, and publishes all as one generation. It reads settings
for 20 minutes at most, those confirmed longest ago first, and leaves the others to the next run. Run it as often as
you like: it reads young days every time and the others once in ` + config.Prefix + "REREAD_AFTER.\n\nExit codes:\n\n" +
			exit.Table(),
		Example: "  spendsync sync\n  spendsync sync --json | jq .exit_code\n  spendsync sync --dry-run\n" +
			"  spendsync sync --from 2026-11-01 --to 2026-11-10",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case dryRun:
				return c.showPlan(cmd.Context())
			case from != "" || to != "":
				return (&runner{c}).backfill(cmd.Context(), from, to)
			}
			return (&runner{c}).runJob(cmd.Context(), func(j job.Job, ctx context.Context) (*job.Result, error) {
				j.Full = full
				return j.Sync(ctx)
			})
		},
	}
	cmd.Flags().BoolVar(&full, "full", false, "read archived campaigns again, too")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show which days would be read now, why, and at what cost")
	cmd.Flags().StringVar(&from, "from", "", "read the days from this one on again, YYYY-MM-DD")
	cmd.Flags().StringVar(&to, "to", "", "last day to read again (default: today)")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "from")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "to")
	return cmd
}

// backfill reads the days of a range again. The range is given by two Chicago days, YYYY-MM-DD; an empty second day
// means today.
func (r *runner) backfill(ctx context.Context, from, to string) error {
	return r.runJob(ctx, func(j job.Job, ctx context.Context) (*job.Result, error) {
		first, last, err := daysBetween(from, to, schema.DateOf(r.now()))
		if err != nil { // checked here and not before runJob, so that monitoring sees this failure, too
			return nil, err
		}
		return j.Backfill(ctx, first, last)
	})
}

// daysBetween parses the two ends of a range of days.
func daysBetween(from, to string, today schema.Date) (first, last schema.Date, err error) {
	if from == "" {
		return 0, 0, exit.Advise(exit.Usagef("--to %s has no --from", to), "give the first day, such as --from %s",
			today-7)
	}
	if first, err = dayOf("--from", from, 0, today-7); err != nil {
		return 0, 0, err
	}
	last, err = dayOf("--to", to, today, today)
	return first, last, err
}

// dayOf parses the day that a flag gives. If the text is empty, it returns the given default.
func dayOf(flag, text string, usual, example schema.Date) (schema.Date, error) {
	if text == "" {
		return usual, nil
	}
	d, err := schema.ParseDate(text)
	if err != nil {
		return 0, exit.Advise(exit.Usagef("%s: %v", flag, err), "write it as YYYY-MM-DD, such as %s", example)
	}
	return d, nil
}

// newRepairCommand groups the commands that publish without reading the service.
func newRepairCommand(c *call) *cobra.Command {
	cmd := &cobra.Command{
		Use: "repair", Short: "Build again, replay stored replies, accept a note, move an account aside",
		Long: `Repairs a store without reading the service. 'spendsync verify' names the command for each damaged file;
what none of them can repair comes back from a bucket by 'spendsync pull --all'.`,
		Example: "  spendsync repair rebuild\n  spendsync repair replay\n  spendsync repair accept NOTE",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRebuildCommand(c), newReplayCommand(c), newAcceptCommand(c), newResetCommand(c))
	return cmd
}

func newRebuildCommand(c *call) *cobra.Command {
	return &cobra.Command{
		Use: "rebuild", Short: "Build warehouse.duckdb again from the Parquet files",
		Long: `Builds the DuckDB file, and the Parquet files that follow from others, from nothing but the other Parquet
files and the ledger. If one of these is damaged, it is named and nothing is published: 'spendsync repair replay'
makes a day again from its replies, and 'spendsync pull --all' brings the whole data directory back from the bucket.

If parts of the store are older than others, for example after a backup that was restored in part, every command that
publishes refuses to run. Bring back one complete backup then.`,
		Example: "  spendsync repair rebuild",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return (&runner{c}).runRepair(cmd.Context(), func(j job.Job, ctx context.Context) (*job.Result, error) {
				return j.Rebuild(ctx)
			})
		},
	}
}

func newReplayCommand(c *call) *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use: "replay", Short: "Make days again from their stored replies",
		Long: `Reads the stored replies of the account's days again, as the service sent them, and stores what differs
from the published data. It repairs a damaged Parquet file of a day, and a mistake of an earlier version's parser. It
also reads the replies of days that an earlier version could not prove, which are kept in quarantine/. It asks the
service nothing.`,
		Example: "  spendsync repair replay\n  spendsync repair replay --from 2026-11-01 --to 2026-11-10",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return (&runner{c}).runRepair(cmd.Context(), func(j job.Job, ctx context.Context) (*job.Result, error) {
				first, err := dayOf("--from", from, -1<<31, schema.DateOf(c.now())-7)
				if err != nil {
					return nil, err
				}
				last, err := dayOf("--to", to, 1<<31-1, schema.DateOf(c.now()))
				if err != nil {
					return nil, err
				}
				return j.Replay(ctx, first, last)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first Chicago day, YYYY-MM-DD (default: the first stored)")
	cmd.Flags().StringVar(&to, "to", "", "last Chicago day, YYYY-MM-DD (default: the last stored)")
	return cmd
}
