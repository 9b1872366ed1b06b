package main

import (
	"context"
	"errors"
	"fmt"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/load/remote"
	"spendsync/schema"
)

// beginWith brings an empty data directory to the bucket's generation, so that a run goes on where the last one ended
// on another volume. A bucket to which nothing has been pushed is the beginning of a store.
func (a *app) beginWith(ctx context.Context, b *remote.Bucket) error {
	dir, err := a.cfg.StoreDir()
	if err != nil || !a.isEmpty(dir) {
		return err
	}
	t := &transfer{command: "pull", bucket: b.Address(), dir: dir}
	done, err := b.Pull(ctx, remote.PullOptions{Dir: dir, All: true, Log: a.log, Store: a.loadOptions()})
	if errors.Is(err, remote.ErrNothing) {
		a.log.Info("the bucket is empty: the run begins a new store", "bucket", b.Address())
		return nil
	}
	t.err = bucketErr(err)
	a.report(ctx, t)
	if err == nil {
		a.log.Info("the run goes on from the bucket", "bucket", b.Address(), "generation", done.Generation,
			"published_at", done.PublishedAt.String(), "files", done.Files, "bytes", done.Received)
	}
	return t.err
}

// pushResult brings what a run has published to the bucket. If that fails, the run has published all the same: it ends
// with exit 4, and the next one pushes both.
func (a *app) pushResult(ctx context.Context, b *remote.Bucket, result *job.Result) {
	if ctx.Err() != nil { // a signal has ended the run: the generation may still arrive within the grace
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(a.limits.grace, pushGrace))
		defer cancel()
		ctx = within
	}
	done, err := a.push(ctx, b, remote.PushOptions{})
	switch {
	case err != nil:
		incomplete(result, err, fmt.Sprintf("generation %d is published and not in the bucket: %s",
			result.Run.Generation, phrase.OneLine(err.Error())))
	case done.PageErr != nil:
		incomplete(result, done.PageErr, pageMissing(done))
	default:
		a.log.Info("pushed", "bucket", b.Address(), "generation", done.Generation, "objects", done.Uploaded, "bytes",
			done.Sent)
	}
}

// incomplete adds to the end of a run that published.
func incomplete(result *job.Result, cause error, happened string) {
	if result.Run.ExitCode == exit.OK {
		result.Run.ExitCode, result.Run.Outcome = exit.Partial, exit.About(exit.Partial).Means
		result.Cause = cause
	}
	result.Run.Message = schema.Some(result.Run.Message.V + "; " + happened)
}
