package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/output"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/remote"
	"spendsync/schema"
)

// pullCommand is "pull".
type pullCommand struct {
	app *app

	all, parquet, watch bool
	generation          int64
	at                  string
	every               time.Duration
}

func newPullCommand(a *app) *cobra.Command {
	c := &pullCommand{app: a, every: 30 * time.Second}
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
  spendsync pull --all s3://acme-spend/store /data && SPENDSYNC_DATA_DIR=/data spendsync verify
  spendsync pull --at 2026-11-23 s3://acme-spend/store ./yesterday`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return exit.Usagef("a URL and a folder, or a folder; see '%s --help'", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.setUp(cmd.Context()); err != nil {
				return err
			}
			args = slices.Concat([]string{a.cfg.Bucket}, args)
			return c.pull(cmd.Context(), args[len(args)-2], args[len(args)-1])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&c.all, "all", false, "a whole store, with replies and ledgers")
	flags.BoolVar(&c.parquet, "parquet", false, "the Parquet files, too")
	flags.BoolVar(&c.watch, "watch", false, "stay, and follow the bucket until a signal")
	flags.DurationVar(&c.every, "every", c.every, "how often --watch looks")
	flags.Int64Var(&c.generation, "generation", 0, "an older generation, by its number")
	flags.StringVar(&c.at, "at", "", "the generation of that time, such as 2026-11-23T14:00:00Z, or of the end of a "+
		"Chicago day, such as 2026-11-23")
	return cmd
}

func (c *pullCommand) pull(ctx context.Context, url, dir string) (err error) {
	o := remote.PullOptions{Dir: dir, All: c.all, Parquet: c.parquet, Generation: c.generation, Log: c.app.log,
		Store: c.app.loadOptions()}
	if o.At, err = timeOf(c.at); err != nil {
		return err
	}
	switch {
	case c.generation < 0:
		return exit.Usagef("--generation %d: generations are counted from 1", c.generation)
	case c.generation != 0 && c.at != "":
		return exit.Usagef("--generation and --at: which one counts?")
	case c.watch && (c.generation != 0 || c.at != ""):
		return exit.Usagef("--watch follows the newest generation; --generation and --at choose one")
	case c.watch && c.all:
		return exit.Usagef("--watch is for readers; run 'spendsync pull --all' on a schedule")
	case c.every <= 0:
		return exit.Usagef("--every %v is not positive", c.every)
	case dir == "":
		return exit.Usagef("which folder?")
	case strings.Contains(dir, "://"):
		return exit.Usagef("which folder? %s is an address; write it and a folder, in this order", dir)
	}
	b, err := c.app.openBucket(url)
	if err != nil {
		return err
	}
	if c.watch {
		return c.watchBucket(ctx, b, o)
	}
	t := &transfer{command: "pull", bucket: b.Address(), dir: dir}
	done, err := b.Pull(ctx, o)
	t.err = bucketErr(err)
	c.app.report(ctx, t)
	if err != nil {
		return t.err
	}
	c.app.placeGuide(dir)
	if c.app.json {
		return output.JSON(c.app.stdout, done)
	}
	_, err = fmt.Fprintln(c.app.stdout, pulledText(dir, done))
	return err
}

func pulledText(dir string, done *remote.Pulled) string {
	text := fmt.Sprintf("%s has generation %d of %s", dir, done.Generation, done.PublishedAt)
	if !done.New {
		return text + " already"
	}
	return text + fmt.Sprintf(": %s fetched, %s KB", phrase.Count(done.Files, "file"), thousands(done.Received/1000))
}

// watchBucket follows the bucket. What goes wrong once is logged, and tried again.
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
	t := &transfer{command: "pull", bucket: b.Address(), dir: o.Dir}
	return b.Watch(ctx, o, wait, func(done *remote.Pulled, err error) {
		t.err = bucketErr(err)
		c.app.report(ctx, t)
		switch {
		case err != nil:
			c.app.log.Error("pull: the folder stays as it is; trying again", "error", err)
		case done != nil && done.New:
			c.app.placeGuide(o.Dir)
			c.app.log.Info("pulled", "generation", done.Generation, "published_at", done.PublishedAt.String(),
				"files", done.Files, "bytes", done.Received)
		}
	})
}

// timeOf parses an instant, or a day of Chicago, which means the end of that day.
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

// addFrom adds the flag by which a command that only reads asks a bucket.
func addFrom(cmd *cobra.Command, from *string) {
	cmd.Flags().StringVar(from, "from", "", "URL of a bucket that 'spendsync push' writes: its newest generation is "+
		"pulled into the user's cache folder and answers (default: "+config.Prefix+"BUCKET, if the data directory "+
		"holds no store)")
}

// bucketOf returns the bucket that a command reads: the one that --from names or, if the data directory holds no store,
// the configured one. Empty: the store on this machine.
func (a *app) bucketOf(from string) string {
	if from != "" || a.cfg.Bucket == "" || !a.isEmpty(a.cfg.DataDir) {
		return from
	}
	return a.cfg.Bucket
}

// isEmpty reports whether a folder holds no store, or is not there.
func (a *app) isEmpty(dir string) bool {
	_, err := manifest.ReadRoot(durable.OS, dir, nil)
	return errors.Is(err, durable.ErrEmpty)
}

// pullFrom brings the copy in the user's cache folder to the bucket's generation, and makes it the store
// of this command.
func (a *app) pullFrom(ctx context.Context, url string) error {
	if url == "" {
		return nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return exit.Usagef("--from: there is no cache folder: %v; set XDG_CACHE_HOME", err)
	}
	b, err := a.openBucket(url)
	if err != nil {
		return err
	}
	dir := b.Location(cache)
	if _, err := b.Pull(ctx, remote.PullOptions{Dir: dir, Log: a.log, Store: a.loadOptions()}); err != nil {
		return bucketErr(err)
	}
	a.cfg.DataDir = dir
	return nil
}
