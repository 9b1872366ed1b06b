package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/load/remote"
	"spendsync/schema"
)

// pullCommand is "pull".
type pullCommand struct {
	*call

	all, parquet, watch bool
	generation          int64
	at                  string
	every               time.Duration
}

func newPullCommand(a *call) *cobra.Command {
	c := &pullCommand{call: a, every: 30 * time.Second}
	cmd := &cobra.Command{
		Use: "pull [URL] DIR", Short: "Bring a folder to the bucket's generation: for readers, or a lost store again",
		Long: `Brings a folder to the newest generation that 'spendsync push' brought to a bucket: the DuckDB file and
the manifest, with --parquet the Parquet files too, with --all a whole store that 'verify' passes and 'sync'
continues. Only files that differ are fetched, each is compared with its SHA-256, and all take their places by the
commit of the store: readers of the folder see one generation. A byte that has changed in the bucket is named (exit 8).

Without a URL ` + config.Prefix + `BUCKET counts. --watch stays and follows the pointer. --generation and --at choose an
older generation that is still readable.`,
		Example: `  spendsync pull s3://acme-spend/store ./acme
  spendsync pull --watch --parquet s3://acme-spend/store /data
  spendsync pull --all s3://acme-spend/store /data
  spendsync pull --at 2026-11-23 s3://acme-spend/store ./yesterday`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&c.all, "all", false, "a whole store, with replies and ledgers")
	flags.BoolVar(&c.parquet, "parquet", false, "the Parquet files, too")
	flags.BoolVar(&c.watch, "watch", false, "stay, and follow the bucket until a signal")
	flags.DurationVar(&c.every, "every", c.every, "how often --watch looks")
	flags.Int64Var(&c.generation, "generation", 0, "an older generation, by its number")
	flags.StringVar(&c.at, "at", "", "the generation of that time, such as 2026-11-23T14:00:00Z, or of the end of a "+
		"Chicago day, such as 2026-11-23")
	cmd.MarkFlagsMutuallyExclusive("watch", "all") // to pull a whole store repeatedly, use a schedule
	cmd.MarkFlagsMutuallyExclusive("watch", "generation", "at")
	return cmd
}

func (c *pullCommand) run(ctx context.Context, args []string) (err error) {
	if err := c.setUp(ctx); err != nil {
		return err
	}
	args = slices.Concat([]string{c.cfg.Bucket}, args)
	url, dir := args[len(args)-2], args[len(args)-1]
	o := remote.PullOptions{Dir: dir, All: c.all, Parquet: c.parquet, Generation: c.generation, Log: c.log,
		Store: c.loadOptions()}
	if o.At, err = timeOf(c.at); err != nil {
		return err
	}
	if err := c.wrongUsage(dir); err != nil {
		return err
	}
	b, err := c.openBucket(url)
	if err != nil {
		return err
	}
	if c.watch {
		return c.watchBucket(ctx, b, o)
	}
	done, err := b.Pull(ctx, o)
	if err != nil {
		return bucketErr(err)
	}
	c.placeGuide(dir)
	return c.answer(done, pulledText(dir, done)+"\n")
}

// wrongUsage returns what is wrong with the folder or the combination of flags.
func (c *pullCommand) wrongUsage(dir string) error {
	switch {
	case c.generation < 0:
		return exit.Usagef("--generation %d: generations are counted from 1", c.generation)
	case c.every <= 0:
		return exit.Usagef("--every %v is not positive", c.every)
	case dir == "":
		return exit.Usagef("which folder?")
	case strings.Contains(dir, "://"):
		return exit.Usagef("which folder? %s is an address; write it and a folder, in this order", dir)
	}
	return nil
}

func pulledText(dir string, done *remote.Pulled) string {
	text := fmt.Sprintf("%s has generation %d of %s", dir, done.Generation, done.PublishedAt)
	if !done.New {
		return text + " already"
	}
	return text + fmt.Sprintf(": %s fetched, %s KB", cli.Count(done.Files, "file"),
		cli.Grouped(done.Received/1000))
}

// watchBucket pulls each new generation. After a failure it logs the error and tries again.
func (c *pullCommand) watchBucket(ctx context.Context, b *remote.Bucket, o remote.PullOptions) error {
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	wait := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			return nil
		}
	}
	return b.Watch(ctx, o, wait, func(done *remote.Pulled, err error) {
		switch {
		case err != nil:
			c.log.Error("pull: the folder stays as it is; trying again", "error", err)
		case done != nil && done.New:
			c.placeGuide(o.Dir)
			c.log.Info("pulled", "generation", done.Generation, "published_at", done.PublishedAt.String(),
				"files", done.Files, "bytes", done.Received)
		}
	})
}

// timeOf parses an instant or a Chicago day. For a day, it returns the end of the day.
func timeOf(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := schema.ParseDate(text); err == nil {
		return d.End(), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, exit.Usagef("--at %s is neither a time such as 2026-11-23T14:00:00Z nor a day such as 2026-11-23",
			text)
	}
	return t, nil
}
