package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/cmd/spendsync/job"
	"spendsync/load"
	"spendsync/load/duck"
	"spendsync/load/durable"
)

// verifyCommand is "verify".
type verifyCommand struct {
	*call
	from string
}

func newVerifyCommand(a *call) *cobra.Command {
	c := &verifyCommand{call: a}
	cmd := &cobra.Command{
		Use: "verify", Short: "Check every stored byte, row and sum: replies, Parquet, DuckDB",
		Example: "  spendsync verify\n  spendsync verify --json | jq .damages",
		Long: `Checks every published file against the manifest, every day against its sums, its hash and its stored
replies, and the DuckDB file against the Parquet files, row by row. Exit 8 names what is damaged and what repairs it.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&c.from, "from", "", "URL of a bucket that 'spendsync push' writes: its whole store is "+
		"pulled into a folder below TMPDIR, verified there, and removed; the files that readers glob are compared, "+
		"too (default: "+config.Prefix+"BUCKET, if the data directory holds no store)")
	return cmd
}

func (c *verifyCommand) run(ctx context.Context) error {
	if err := c.setUp(ctx); err != nil {
		return err
	}
	if from := c.bucketOf(c.from); from != "" {
		return c.verifyFrom(ctx, from)
	}
	return c.verify(ctx, c.cfg.DataDir)
}

// verify checks a store. The damages were found elsewhere, and are reported together with those of the store.
func (c *verifyCommand) verify(ctx context.Context, dir string, damages ...*durable.Damage) error {
	report, err := load.Verify(ctx, dir, c.loadOptions(), job.RowsOfReplies(c.cfg.Service()))
	var damage *durable.Damage
	if errors.As(err, &damage) { // the manifest or the commit record is damaged: nothing else can be checked
		report, err = &load.Verification{Damages: []*durable.Damage{damage}}, nil
	}
	if err != nil {
		return err
	}
	report.Damages = append(report.Damages, damages...)
	return c.tellVerified(report)
}

func (c *verifyCommand) tellVerified(r *load.Verification) error {
	if c.json {
		if err := cli.WriteJSON(c.stdout, r); err != nil {
			return err
		}
	}
	if r.Unlocked && !c.json {
		fmt.Fprintf(c.stdout, "user %d may not take the store's lock: no run was held up meanwhile; generation %d "+
			"was published before and after, and no commit went on then\n", os.Getuid(), r.Generation)
	}
	var errs []error
	for _, d := range r.Damages {
		if !c.json {
			fmt.Fprintf(c.stdout, "damaged  %s: %s", d.Path, d.What)
			if d.Repair != "" {
				fmt.Fprintf(c.stdout, "  [%s]", d.Repair)
			}
			fmt.Fprintln(c.stdout)
		}
		errs = append(errs, d)
	}
	if r.Generation == 0 && len(errs) > 0 {
		return errs[0]
	}
	if len(errs) > 0 {
		return fmt.Errorf("generation %d: %s damaged, the first is %w", r.Generation, cli.Count(len(errs), "file"),
			errs[0])
	}
	if !c.json {
		for _, u := range r.Unproven {
			fmt.Fprintln(c.stdout, unprovenLine(u))
		}
		fmt.Fprintf(c.stdout, "generation %d is as it was published: %s, %s rows, %s, %s of replies, "+
			"warehouse.duckdb\n",
			r.Generation, cli.Count(r.Files, "file"), cli.Grouped(r.Rows), cli.Count(r.Days, "day"),
			cli.Count(r.RawPages, "page"))
	}
	return nil
}

// unprovenLine returns the advice for an account whose stored report may belong to another account.
func unprovenLine(u duck.Unproven) string {
	return fmt.Sprintf("unproven  account %s: no proof is kept of whose its first rows are, and the settings have "+
		"none of the %s on %s of the report (%s among them)  [spendsync sync reads the settings; if this stays, these "+
		"days may be another account's: spendsync repair reset moves the account aside]",
		u.Account, cli.Count(int(u.Campaigns), "campaign"), cli.Count(int(u.Days), "day"), u.Example)
}
