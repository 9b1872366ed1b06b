package main

import (
	"context"
	"fmt"
	"log/slog"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/output"
	"spendsync/cmd/spendsync/explain"
	"spendsync/cmd/spendsync/job"
)

// startJob is one of the methods of a job that run it.
type startJob func(job.Job, context.Context) (*job.Result, error)

// runner runs jobs, and reports how they end.
type runner struct{ app *app }

// newJob wires a job to the variables and to the terminal. It asks nothing of the
// service.
func (r *runner) newJob() (job.Job, error) {
	cfg := r.app.cfg
	dir, err := cfg.StoreDir()
	if err != nil {
		return job.Job{}, err
	}
	own, err := r.app.ownFiles(dir)
	return job.Job{
		RunID: r.app.runID, Account: cfg.Account, DataDir: dir, Version: version(), Store: r.app.loadOptions(),
		Plan: r.app.planOptions(), Concurrency: r.app.limits.concurrency, RequestsPerMinute: cfg.RequestsPerMinute,
		Service: cfg.Service(), Own: own, StopGrace: r.app.limits.grace,
		Now: r.app.now, Log: r.app.log, Progress: r.app.screen.progress,
	}, err
}

// runJob runs a job that reads from the service, and reports its end: to Prometheus
// however it ends, in JSON, and as the last line.
func (r *runner) runJob(ctx context.Context, start startJob) error {
	facts := &runFacts{start: r.app.now()}
	err := r.app.setUp(ctx)
	told := r.newTold()
	var result *job.Result
	if err == nil {
		told.start(ctx)
		result, err = r.readAndPublish(ctx, start)
	}
	if err != nil {
		facts.code = exit.Of(err)
		r.sendMetrics(ctx, facts)
		told.end(ctx, facts.code, nil)
		return err
	}
	facts.code, facts.failures = int(result.Run.ExitCode), result.Failures
	facts.run, facts.expires = result.Run, result.KeyExpires
	facts.ended, facts.quarantined, facts.unread = true, result.Quarantined, result.UnreadFields
	r.sendMetrics(ctx, facts)
	if err := r.printResult(result); err != nil {
		told.end(ctx, exit.Of(err), result)
		return err
	}
	told.end(ctx, facts.code, result)
	return endJob(r.app, result, summary(result, r.app.now())...)
}

// printResult prints the result for a program. If it cannot be printed, the run's work stands: the
// error reports both.
func (r *runner) printResult(result *job.Result) error {
	if !r.app.json {
		return nil
	}
	err := output.JSON(r.app.stdout, result.Run)
	if err == nil || result.Run.ExitCode != exit.OK { // the run's own end matters more
		return nil
	}
	return fmt.Errorf("%s; but this could not be written to stdout: %w", result.Run.Message.V, err)
}

// readAndPublish runs the job. If the store has a bucket, an empty volume begins with what that has, and what was
// published is pushed.
func (r *runner) readAndPublish(ctx context.Context, start startJob) (*job.Result, error) {
	if r.app.cfg.Bucket == "" {
		return r.serviceJob(ctx, start)
	}
	b, err := r.app.openBucket(r.app.cfg.Bucket)
	if err != nil {
		return nil, err
	}
	if err := r.app.beginWith(ctx, b); err != nil {
		return nil, err
	}
	result, err := r.serviceJob(ctx, start)
	if err == nil && result.Run.Published {
		r.app.pushResult(ctx, b, result)
	}
	return result, err
}

// serviceJob runs a job that asks the service. The variables have been read.
func (r *runner) serviceJob(ctx context.Context, start startJob, edit ...func(*job.Job)) (result *job.Result,
	err error) {
	j, err := r.newJob()
	if err != nil {
		return nil, err
	}
	if j.Report, err = r.app.cfg.ReportClient(r.app.clientOptions()); err != nil {
		return nil, err
	}
	defer j.Report.Close()
	if j.API, err = r.app.cfg.AdvertiserClient(r.app.clientOptions()); err != nil {
		return nil, err
	}
	defer j.API.Close()
	for _, e := range edit {
		e(&j)
	}
	if result, err = start(j, ctx); err == nil && result.Run.Generation > 0 {
		r.app.placeGuide(j.DataDir)
	}
	return result, err
}

// runRepair runs a job that asks nothing of the service, and reports its end.
func (r *runner) runRepair(ctx context.Context, start startJob) error {
	if err := r.app.setUp(ctx); err != nil {
		return err
	}
	j, err := r.newJob()
	if err != nil {
		return err
	}
	result, err := start(j, ctx)
	if err != nil {
		return err
	}
	if err := r.printResult(result); err != nil {
		return err
	}
	return endJob(r.app, result, "generation", result.Run.Generation)
}

// endJob logs the one summary line, last of all, and returns the job's end.
func endJob(a *app, result *job.Result, attrs ...any) error {
	row := result.Run
	level := slog.LevelError
	switch row.ExitCode {
	case exit.OK:
		level = slog.LevelInfo
	case exit.Partial, exit.Stopped:
		level = slog.LevelWarn
	}
	a.lastLines(level, explain.Run(result), int(row.ExitCode), attrs...)
	if row.ExitCode == exit.OK {
		return nil
	}
	return &exit.Outcome{Code: int(row.ExitCode), Happens: row.Message.V}
}
