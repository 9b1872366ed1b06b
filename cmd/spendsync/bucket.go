package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/notice"
	"spendsync/cmd/spendsync/page"
	"spendsync/cmd/spendsync/pagedata"
	"spendsync/extract"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/remote"
)

// openBucket opens the address that the caller gave, or the configuration has.
func (c *call) openBucket(url string) (*remote.Bucket, error) {
	if url == "" {
		return nil, exit.Usagef("which bucket? Give its URL, such as s3://bucket/prefix, or set %sBUCKET",
			config.Prefix)
	}
	if !strings.Contains(url, "://") {
		return nil, exit.Advise(exit.Usagef("%s is not the address of a bucket", url), "write s3://BUCKET/PREFIX, or "+
			"file:///FOLDER for a folder")
	}
	certificates, err := cli.CABundle(os.Getenv)
	if err != nil {
		return nil, err
	}
	o := c.bucket
	o.AllowHTTP, o.CABundle = c.cfg.AllowHTTP, certificates
	b, err := remote.Open(url, o)
	return b, bucketErr(err)
}

// bucketErr gives an error of a bucket its exit code.
func bucketErr(err error) error {
	for _, k := range []struct{ is, means error }{
		{remote.ErrAddress, exit.ErrUsage}, {remote.ErrNoGeneration, exit.ErrUsage},
		{remote.ErrNothing, exit.ErrUsage}, {remote.ErrLacking, exit.ErrUsage}, {remote.ErrVanished, exit.ErrPartial},
		{remote.ErrOlder, durable.ErrNewer}, {remote.ErrOtherHistory, durable.ErrDamaged},
		{remote.ErrDenied, extract.ErrAuth}, {remote.ErrUnavailable, extract.ErrUnavailable},
	} {
		if errors.Is(err, k.is) {
			return exit.As(err, k.means)
		}
	}
	return err
}

// addFrom adds the flag by which a command that only reads asks a bucket.
func addFrom(cmd *cobra.Command, from *string) {
	cmd.Flags().StringVar(from, "from", "", "URL of a bucket that 'spendsync push' writes: its newest generation is "+
		"pulled into the user's cache folder and answers (default: "+config.Prefix+"BUCKET, if the data directory "+
		"holds no store)")
}

// bucketOf returns the bucket that a command reads: the one that --from names or, if the data directory holds no store,
// the configured one. Empty: the store on this machine.
func (c *call) bucketOf(from string) string {
	if from != "" || c.cfg.Bucket == "" || !isEmpty(c.cfg.DataDir) {
		return from
	}
	return c.cfg.Bucket
}

// isEmpty reports whether a folder holds no store, or is not there.
func isEmpty(dir string) bool {
	_, err := manifest.ReadRoot(durable.OS, dir, nil)
	return errors.Is(err, durable.ErrEmpty)
}

// openStore reads the variables and returns the folder of the store that this command reads: a copy in the user's cache
// folder of the bucket's generation, if a bucket is what it reads.
func (c *call) openStore(ctx context.Context, from string) (dir string, err error) {
	if err := c.setUp(ctx); err != nil {
		return "", err
	}
	if err := c.pullFrom(ctx, c.bucketOf(from)); err != nil {
		return "", err
	}
	return c.cfg.DataDir, nil
}

// pullFrom makes a copy of the bucket's generation the store of this command; without a bucket it does nothing.
func (c *call) pullFrom(ctx context.Context, url string) error {
	if url == "" {
		return nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return exit.Usagef("--from: there is no cache folder: %v; set XDG_CACHE_HOME", err)
	}
	b, err := c.openBucket(url)
	if err != nil {
		return err
	}
	dir := b.Location(cache)
	if _, err := b.Pull(ctx, remote.PullOptions{Dir: dir, Log: c.log, Store: c.loadOptions()}); err != nil {
		return bucketErr(err)
	}
	c.cfg.DataDir = dir
	return nil
}

// push brings the store's generation to a bucket. If an earlier push has ended there and nothing is left, it begins the
// bucket only again, when the caller says so.
func (c *call) push(ctx context.Context, b *remote.Bucket, o remote.PushOptions, again bool) (
	done *remote.Pushed, err error) {
	o.Dir, o.Log, o.LockWait = c.cfg.DataDir, c.log, c.cfg.LockWait
	o.Page = func(ctx context.Context) ([]byte, error) {
		r, err := pagedata.Read(ctx, o.Dir, "", c.loadOptions())
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		err = page.Write(&b, r)
		return b.Bytes(), err
	}
	// A bucket to which a push has ended, and that is empty all the same, is lost, or a share that is not mounted.
	pushed := map[string]int64{}
	if err := notice.Read(durable.OS, o.Dir, notice.Pushed, &pushed); err != nil {
		return nil, err
	}
	last, began := pushed[b.Address()]
	o.Begun = began && !again
	if done, err = b.Push(ctx, o); err != nil {
		return nil, bucketErr(err)
	}
	if last == done.Generation {
		return done, nil
	}
	pushed[b.Address()] = done.Generation
	if err := notice.Write(durable.OS, o.Dir, notice.Pushed, pushed); err != nil {
		c.log.Warn("the push could not be noted beside the store: if the bucket vanishes, the next one begins it anew",
			"error", err)
	}
	return done, nil
}
