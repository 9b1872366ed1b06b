package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/load/remote"
)

// pushCommand is "push".
type pushCommand struct {
	*call

	acceptLoss, full, again bool
}

func newPushCommand(a *call) *cobra.Command {
	c := &pushCommand{call: a}
	cmd := &cobra.Command{
		Use: "push [URL]", Short: "Bring the published generation to a bucket or a folder, for readers and as a backup",
		Long: `Uploads what the bucket lacks of the published generation, and its pointer current.json last. Readers
open the DuckDB file that the pointer names, or the Parquet files; 'spendsync pull' gives the store back. The
generations of the last 24 hours, and one a day of the last 7 days, stay readable. No lock is taken, and nothing of a
generation is written. Where a push has ended before and nothing is left, nothing is begun (exit 4): the share may not
be mounted.

URL is one of these; without it ` + config.Prefix + `BUCKET counts, which a 'sync' that published pushes to by itself:
  s3://BUCKET/PREFIX   Amazon's storage, or another one that speaks S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,
                       AWS_PROFILE, AWS_WEB_IDENTITY_TOKEN_FILE or the role of the machine; AWS_REGION,
                       AWS_ENDPOINT_URL. A server of one's own is addressed by path; ?use_path_style=false changes that.
  gs://BUCKET/PREFIX   Google's storage by its S3 endpoint: the HMAC key of a service account in AWS_ACCESS_KEY_ID and
                       AWS_SECRET_ACCESS_KEY. It knows no conditional writes: let one push run at a time.
  file:///FOLDER       a disk or a share, or a container of Azure that is mounted
A bucket whose policy demands encryption: s3://BUCKET/PREFIX?sse=AES256, or ?sse=aws:kms, with &sse_key=ID for a key of
one's own.

An older store never replaces a newer one (exit 10). A store of another account, or one that does not continue the
history in the bucket, is refused (exit 8). Two pushes at once do no harm if the storage knows conditional writes.`,
		Example: `  spendsync push s3://acme-spend/store
  AWS_ENDPOINT_URL=https://minio.example.com spendsync push s3://spend
  spendsync push gs://acme-spend/store
  spendsync push file:///mnt/backup/spend`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&c.acceptLoss, "accept-loss", false, "replace a newer generation or another history: what "+
		"only the bucket has becomes unreadable after a week")
	cmd.Flags().BoolVar(&c.full, "full", false, "upload every file, also those that the bucket should have: repairs "+
		"objects that 'pull' finds damaged, and Parquet files that readers glob")
	cmd.Flags().BoolVar(&c.again, "again", false, "begin a bucket anew that is empty although a push to it has ended")
	return cmd
}

func (c *pushCommand) run(ctx context.Context, args []string) error {
	if err := c.setUp(ctx); err != nil {
		return err
	}
	b, err := c.openBucket(slices.Concat(args, []string{c.cfg.Bucket})[0])
	if err != nil {
		return err
	}
	done, err := c.push(ctx, b, remote.PushOptions{AcceptLoss: c.acceptLoss, Full: c.full}, c.again)
	if err != nil {
		return err
	}
	err = c.answer(done, pushedText(b.Address(), done)+"\n")
	if done.PageErr != nil && err == nil {
		return c.endIncomplete(pageMissing(done))
	}
	return err
}

func pageMissing(done *remote.Pushed) string {
	return fmt.Sprintf("generation %d is pushed without its report page: %v", done.Generation, done.PageErr)
}

func pushedText(address string, done *remote.Pushed) string {
	text := fmt.Sprintf("%s has generation %d of %s", address, done.Generation, done.PublishedAt)
	if done.New {
		text += fmt.Sprintf(": %s uploaded, %s KB", cli.Count(done.Uploaded, "object"),
			cli.Grouped(done.Sent/1000))
	} else {
		text += " already"
	}
	if done.Removed > 0 {
		text += fmt.Sprintf(", %d removed", done.Removed)
	}
	return text + fmt.Sprintf("; %s readable", cli.Count(done.Readable, "generation"))
}
