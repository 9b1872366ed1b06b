package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/files"
	"spendsync/cmd/internal/output"
	"spendsync/cmd/spendsync/page"
	"spendsync/cmd/spendsync/pagedata"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/remote"
)

// pushCommand is "push".
type pushCommand struct {
	app *app

	acceptLoss, full, watch bool
	every                   time.Duration
}

func newPushCommand(a *app) *cobra.Command {
	c := &pushCommand{app: a, every: 10 * time.Second}
	cmd := &cobra.Command{
		Use: "push URL", Short: "Bring the published generation to a bucket or a folder, for readers and as a backup",
		Long: `Uploads what the bucket lacks of the published generation, and its pointer current.json last. Readers
open the DuckDB file that the pointer names, or the Parquet files; 'spendsync pull' gives the store back. The
generations of the last 24 hours, and one a day of the last 7 days, stay readable. The store is only read, and no lock
is taken.

URL is one of these:
  s3://BUCKET/PREFIX          credentials, region and endpoint are found as the AWS SDK finds them: AWS_ACCESS_KEY_ID
                              and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, AWS_WEB_IDENTITY_TOKEN_FILE, AWS_REGION,
                              AWS_ENDPOINT_URL. A server of one's own is addressed by path;
                              ?use_path_style=false changes that.
  gs://BUCKET/PREFIX          Google's: GOOGLE_APPLICATION_CREDENTIALS names a key file; without it the machine's or
                              the pod's own account counts.
  azblob://CONTAINER/PREFIX   Azure's: AZURE_STORAGE_CONNECTION_STRING; or AZURE_STORAGE_ACCOUNT with
                              AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN, a workload identity
                              (AZURE_FEDERATED_TOKEN_FILE), an application's AZURE_CLIENT_SECRET, or the machine's
                              managed identity.
  file:///FOLDER

An older store never replaces a newer one (exit 10). A store of another account, or one that does not continue the
history in the bucket, is refused (exit 8). Two pushes at once do no harm.`,
		Example: `  spendsync push s3://acme-spend/store
  AWS_ENDPOINT_URL=https://minio.example.com spendsync push s3://spend
  spendsync push gs://acme-spend/store
  AZURE_STORAGE_ACCOUNT=acme spendsync push azblob://spend/store
  spendsync push file:///mnt/backup/spend`,
		Args: oneURL,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.setUp(cmd.Context()); err != nil {
				return err
			}
			o := remote.PushOptions{AcceptLoss: c.acceptLoss, Full: c.full}
			switch {
			case c.watch && (c.acceptLoss || c.full):
				return exit.Usagef("--watch pushes what continues the bucket; push once with --accept-loss or --full")
			case c.every <= 0:
				return exit.Usagef("--every %v is not positive", c.every)
			case c.watch:
				return c.follow(cmd.Context(), args[0], o)
			}
			return c.push(cmd.Context(), args[0], o)
		},
	}
	cmd.Flags().BoolVar(&c.acceptLoss, "accept-loss", false, "replace a newer generation or another history: what "+
		"only the bucket has becomes unreadable after a week")
	cmd.Flags().BoolVar(&c.watch, "watch", false, "stay, push every generation that is published, and once more after "+
		"a signal, within SPENDSYNC_STOP_GRACE: for a container beside that of 'sync'")
	cmd.Flags().DurationVar(&c.every, "every", c.every, "how often --watch looks at the store")
	cmd.Flags().BoolVar(&c.full, "full", false, "upload every file, also those that the bucket should have: repairs "+
		"objects that 'pull' finds damaged, and Parquet files that readers glob")
	return cmd
}

// oneURL is the argument of push.
func oneURL(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit.Usagef("one URL, such as s3://bucket/prefix; see '%s --help'", cmd.CommandPath())
	}
	return nil
}

func (c *pushCommand) push(ctx context.Context, url string, o remote.PushOptions) (err error) {
	if o.Dir, err = c.app.cfg.StoreDir(); err != nil {
		return err
	}
	b, err := c.app.openBucket(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	if err := files.CheckTempDir(); err != nil {
		return err
	}
	t := &transfer{command: "push", bucket: b.Address(), dir: o.Dir, start: c.app.now()}
	defer func() {
		t.err, t.traffic = err, b.Traffic()
		c.app.report(ctx, t)
	}()
	o.Log, o.Now, o.LockWait = c.app.log, c.app.now, c.app.cfg.LockWait
	o.Page = func(ctx context.Context, parts []byte) (text, nextParts []byte, err error) {
		r, nextParts, err := pagedata.ReadAgain(ctx, o.Dir, c.app.loadOptions(), parts)
		if err != nil {
			return nil, nil, err
		}
		var b bytes.Buffer
		err = page.Write(&b, r)
		return b.Bytes(), nextParts, err
	}
	done, err := b.Push(ctx, o)
	if err != nil {
		return bucketErr(err)
	}
	t.generation, t.publishedAt = done.Generation, done.PublishedAt
	if c.app.json {
		err = output.JSON(c.app.stdout, done)
	} else {
		_, err = fmt.Fprintln(c.app.stdout, pushedText(b.Address(), done))
		err = output.QuietPipe(err)
	}
	if done.PageErr != nil && err == nil {
		return c.app.endIncomplete(fmt.Sprintf("generation %d is pushed without its report page: %v", done.Generation,
			done.PageErr))
	}
	return err
}

// follow pushes after each publication until a signal, and then once more: by that time a
// concurrent run has ended.
func (c *pushCommand) follow(ctx context.Context, url string, o remote.PushOptions) error {
	dir, err := c.app.cfg.StoreDir()
	if err != nil {
		return err
	}
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	var last *manifest.Manifest
	for stopped := false; !stopped; {
		select {
		case <-ctx.Done():
			stopped = true
		case <-tick.C:
		}
		now, err := manifest.ReadRoot(durable.OS, dir, last)
		if err == nil && (now != last || stopped) {
			err = c.push(context.WithoutCancel(ctx), url, o)
		}
		switch {
		case err == nil:
			last = now
		case stopped:
			return err
		case !errors.Is(err, durable.ErrEmpty):
			c.app.log.Error("push: trying again", "error", err)
		}
	}
	return nil
}

func pushedText(address string, done *remote.Pushed) string {
	text := fmt.Sprintf("%s has generation %d of %s", address, done.Generation, done.PublishedAt)
	if done.New {
		text += fmt.Sprintf(": %s uploaded, %s KB", phrase.Count(done.Uploaded, "object"), thousands(done.Sent/1000))
	} else {
		text += " already"
	}
	if done.Removed > 0 {
		text += fmt.Sprintf(", %d removed", done.Removed)
	}
	return text + fmt.Sprintf("; %s readable", phrase.Count(done.Readable, "generation"))
}

// openBucket opens the address that the caller gave.
func (a *app) openBucket(ctx context.Context, url string) (*remote.Bucket, error) {
	// The SDKs read the variables of this process.
	if err := files.CheckNamed(files.OfTheSDKs(os.Getenv), ""); err != nil {
		return nil, err
	}
	certificates, err := files.CABundle(os.Getenv)
	if err != nil {
		return nil, err
	}
	key, err := files.GoogleKey(os.Getenv)
	if err != nil {
		return nil, err
	}
	o := a.bucket
	o.AllowHTTP, o.CABundle, o.GoogleKey = a.cfg.AllowHTTP, certificates, key
	b, err := remote.Open(ctx, url, o)
	return b, bucketErr(err)
}

// bucketErr gives an error of a bucket its exit code.
func bucketErr(err error) error {
	for _, k := range []struct{ is, means error }{
		{remote.ErrAddress, exit.ErrUsage}, {remote.ErrNoGeneration, exit.ErrUsage},
		{remote.ErrNothing, exit.ErrUsage},
		{remote.ErrOlder, durable.ErrNewer}, {remote.ErrOtherHistory, durable.ErrDamaged},
		{remote.ErrDenied, extract.ErrAuth}, {remote.ErrUnavailable, extract.ErrUnavailable},
	} {
		if errors.Is(err, k.is) {
			return exit.As(err, k.means)
		}
	}
	return err
}
