package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/explain"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/metrics"
	"spendsync/cmd/spendsync/shop"
	"spendsync/load/remote"
	"spendsync/schema"
)

// startJob runs one kind of job by a method of [job.Job], for example Sync.
type startJob func(job.Job, context.Context) (*job.Result, error)

// runner runs jobs, and reports the results.
type runner struct{ *call }

// newJob makes a job from the configuration. It sends no request.
func (r *runner) newJob() job.Job {
	cfg := r.cfg
	return job.Job{
		RunID: r.runID, Account: cfg.Account, DataDir: cfg.DataDir, Version: version(), Store: r.loadOptions(),
		Plan: r.planOptions(), Concurrency: r.limits.concurrency, RequestsPerMinute: cfg.RequestsPerMinute,
		Service: cfg.Service(), Own: r.ownFiles(cfg.DataDir), StopGrace: r.limits.grace,
		Now: r.now, Log: r.log,
		Progress: func(kind string, n int, waitsUntil func() time.Time) job.Bar {
			return r.screen.Progress(kind, "read", n, waitsUntil)
		},
	}
}

// runJob runs a job that reads from the service. It reports the result to Prometheus, to the receivers of notices, and
// in the last line of the log. With --json it also prints the result on stdout.
func (r *runner) runJob(ctx context.Context, start startJob) error {
	facts := &metrics.Inputs{Start: r.now()}
	err := r.setUp(ctx)
	told := r.newTold()
	var result *job.Result
	if err == nil {
		told.start(ctx)
		result, err = r.readAndPublish(ctx, start)
	}
	if err != nil {
		facts.Code = exit.Of(err)
		r.sendMetrics(ctx, facts)
		told.end(ctx, facts.Code, nil)
		return err
	}
	facts.Code, facts.Failures = int(result.Run.ExitCode), result.Failures
	facts.Run, facts.Expires = result.Run, result.KeyExpires
	facts.Ended, facts.Quarantined, facts.Unread = true, result.Quarantined, result.UnreadFields
	r.sendMetrics(ctx, facts)
	if err := r.printResult(result); err != nil {
		told.end(ctx, exit.Of(err), result)
		return err
	}
	told.end(ctx, facts.Code, result)
	return r.endJob(result, summary(result, r.now().Sub(facts.Start))...)
}

// printResult prints the result as JSON, if --json is set. If that fails after a successful run, the returned error
// states what the run has done and why writing failed.
func (r *runner) printResult(result *job.Result) error {
	if !r.json {
		return nil
	}
	err := cli.WriteJSON(r.stdout, result.Run)
	if err == nil || result.Run.ExitCode != exit.OK { // a failed run reports its own failure
		return nil
	}
	return fmt.Errorf("%s; but this could not be written to stdout: %w", result.Run.Message.V, err)
}

// readAndPublish runs the job. If a bucket is configured, an empty data directory is first filled from the bucket, and
// the new generation is pushed to the bucket.
func (r *runner) readAndPublish(ctx context.Context, start startJob) (*job.Result, error) {
	if r.cfg.Bucket == "" {
		return r.serviceJob(ctx, start)
	}
	b, err := r.openBucket(r.cfg.Bucket)
	if err != nil {
		return nil, err
	}
	if err := r.beginWith(ctx, b); err != nil {
		return nil, err
	}
	result, err := r.serviceJob(ctx, start)
	if err == nil && result.Run.Published {
		r.pushResult(ctx, b, result)
	}
	return result, err
}

// serviceJob runs a job that reads from the service. The configuration must have been read.
func (r *runner) serviceJob(ctx context.Context, start startJob) (result *job.Result, err error) {
	j := r.newJob()
	if j.Report, err = r.cfg.ReportClient(r.clientOptions()); err != nil {
		if shop.Owns(j.DataDir) {
			err = exit.Advise(err, "ask the store, for the folder is the demo's, whose simulated service ended with "+
				"it; for an account of your own run 'spendsync init' in another folder")
		}
		return nil, err
	}
	defer j.Report.Close()
	if j.API, err = r.cfg.AdvertiserClient(r.clientOptions()); err != nil {
		return nil, err
	}
	defer j.API.Close()
	if result, err = start(j, ctx); err != nil {
		return nil, err
	}
	r.takeOwn(ctx, j, result)
	if result.Run.Generation > 0 {
		r.placeGuide(j.DataDir)
	}
	return result, nil
}

// runRepair runs a job that sends no request, and reports the result.
func (r *runner) runRepair(ctx context.Context, start startJob) error {
	if err := r.setUp(ctx); err != nil {
		return err
	}
	j := r.newJob()
	result, err := start(j, ctx)
	if err != nil {
		return err
	}
	if err := r.printResult(result); err != nil {
		return err
	}
	return r.endJob(result, "generation", result.Run.Generation)
}

// endJob logs the summary, which is the last line of the log, and returns the outcome.
func (r *runner) endJob(result *job.Result, attrs ...any) error {
	row := result.Run
	r.lastLines(levelOf(int(row.ExitCode)), explain.Run(result), int(row.ExitCode), attrs...)
	if row.ExitCode == exit.OK {
		return nil
	}
	return &exit.Outcome{Code: int(row.ExitCode), Happens: row.Message.V}
}

// levelOf returns the log level of a run's summary line, by the exit code of the run.
func levelOf(code int) slog.Level {
	switch code {
	case exit.OK:
		return slog.LevelInfo
	case exit.Partial, exit.Stopped:
		return slog.LevelWarn
	}
	return slog.LevelError
}

// beginWith pulls the bucket's generation into an empty data directory, so that a run on a new volume continues from
// that generation. If the bucket is empty, the run starts a new store.
func (r *runner) beginWith(ctx context.Context, b *remote.Bucket) error {
	dir := r.cfg.DataDir
	if !isEmpty(dir) {
		return nil
	}
	done, err := b.Pull(ctx, remote.PullOptions{Dir: dir, All: true, Log: r.log, Store: r.loadOptions()})
	if errors.Is(err, remote.ErrNothing) {
		r.log.Info("the bucket is empty: the run begins a new store", "bucket", b.Address())
		return nil
	}
	if err == nil {
		r.log.Info("the run goes on from the bucket", "bucket", b.Address(), "generation", done.Generation,
			"published_at", done.PublishedAt.String(), "files", done.Files, "bytes", done.Received)
	}
	return bucketErr(err)
}

// pushResult pushes the published generation to the bucket. After a failed push the run ends with exit 4, and the next
// run pushes both generations.
func (r *runner) pushResult(ctx context.Context, b *remote.Bucket, result *job.Result) {
	if ctx.Err() != nil { // after a signal, the push must end within the grace period
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(r.limits.grace, pushGrace))
		defer cancel()
		ctx = within
	}
	done, err := r.push(ctx, b, remote.PushOptions{}, false)
	switch {
	case err != nil:
		incomplete(result, err, fmt.Sprintf("generation %d is published and not in the bucket: %s",
			result.Run.Generation, cli.OneLine(err.Error())))
	case done.PageErr != nil:
		incomplete(result, done.PageErr, pageMissing(done))
	default:
		r.log.Info("pushed", "bucket", b.Address(), "generation", done.Generation, "objects", done.Uploaded, "bytes",
			done.Sent)
	}
}

// incomplete adds a failure to the result of a run that has published. If the exit code was 0, it becomes 4.
func incomplete(result *job.Result, cause error, happened string) {
	if result.Run.ExitCode == exit.OK {
		result.Run.ExitCode, result.Run.Outcome = exit.Partial, exit.About(exit.Partial).Means
		result.Cause = cause
	}
	result.Run.Message = schema.Some(result.Run.Message.V + "; " + happened)
}
