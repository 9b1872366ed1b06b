package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

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

// openBucket opens a bucket by its URL. If that is the configured bucket, errors name the variable.
func (c *call) openBucket(url string) (b *remote.Bucket, err error) {
	defer func() {
		if err != nil && url != "" && url == c.cfg.Bucket {
			err = fmt.Errorf("%sBUCKET: %w", config.Prefix, err)
		}
	}()
	if url == "" {
		return nil, exit.Usagef("which bucket? Give its URL, such as s3://bucket/prefix, or set %sBUCKET",
			config.Prefix)
	}
	if !strings.Contains(url, "://") {
		return nil, exit.Advise(exit.Usagef("%s is not the address of a bucket", url), "write s3://BUCKET/PREFIX, or "+
			"file:///FOLDER for a folder")
	}
	o := c.bucket
	o.AllowHTTP = c.cfg.AllowHTTP
	b, err = remote.Open(url, o)
	return b, bucketErr(err)
}

// bucketErr gives a bucket's error the exit code that belongs to the kind of the error.
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

// addFrom adds --from, which makes a read-only command read a bucket.
func addFrom(cmd *cobra.Command, from *string) {
	cmd.Flags().StringVar(from, "from", "", "URL of a bucket that 'spendsync push' writes: its newest generation is "+
		"pulled into the user's cache folder and answers (default: "+config.Prefix+"BUCKET, if the data directory "+
		"holds no store)")
}

// bucketOf returns the URL of the bucket that a command reads: the value of --from or, if the data directory holds no
// store, the configured bucket. If the result is empty, the command reads the store on this machine.
func (c *call) bucketOf(from string) string {
	if from != "" || c.cfg.Bucket == "" || !isEmpty(c.cfg.DataDir) {
		return from
	}
	return c.cfg.Bucket
}

// isEmpty reports whether a folder holds no store or does not exist.
func isEmpty(dir string) bool {
	_, err := manifest.ReadRoot(durable.OS, dir, nil)
	return errors.Is(err, durable.ErrEmpty)
}

// openStore reads the variables and returns the folder of the store to read: the data directory or, if the command
// reads a bucket, a copy of the bucket's newest generation in the user's cache folder.
func (c *call) openStore(ctx context.Context, from string) (dir string, err error) {
	if err := c.setUp(ctx); err != nil {
		return "", err
	}
	if err := c.pullFrom(ctx, c.bucketOf(from)); err != nil {
		return "", err
	}
	return c.cfg.DataDir, nil
}

// pullFrom pulls the bucket's newest generation into the cache folder, and makes this copy the store of the command.
// Without a URL it does nothing.
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

// push uploads the store's newest generation to a bucket. It refuses to write to an empty bucket to which a push has
// already completed, unless again == true.
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
	// A bucket that is empty after a completed push has lost its data, or is a share that is not mounted. So the last
	// push to each bucket is recorded beside the store.
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
