package main

import (
	"context"
	"fmt"
	"log/slog"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/output"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/payouts"
	"spendsync/schema"
)

// startJob is one of the methods of a job that run it.
type startJob func(job.Job, context.Context) (*job.Result, error)

// newJob wires a job to the variables and to the terminal. It asks nothing of the
// service.
func (a *app) newJob() (job.Job, error) {
	dir, err := a.cfg.StoreDir()
	return job.Job{
		RunID: a.runID, Account: a.cfg.Account, DataDir: dir, Version: version(), Store: a.loadOptions(),
		Plan: a.planOptions(), Concurrency: a.cfg.ReportConcurrency, RequestsPerMinute: a.cfg.RequestsPerMinute,
		Payouts: a.payouts(), StopGrace: a.cfg.StopGrace, AcceptUnpinned: a.cfg.AcceptUnpinned,
		Now: a.now, Log: a.log, Progress: a.screen.progress,
	}, err
}

// runJob runs a job that reads from the service, and reports its end: to Prometheus
// however it ends, in JSON, and as the last line.
func (a *app) runJob(ctx context.Context, start startJob) error {
	facts := &runFacts{start: a.now()}
	result, err := a.tracedJob(ctx, start)
	if err != nil {
		facts.code = exit.Of(err)
		a.sendMetrics(ctx, facts)
		return err
	}
	facts.code, facts.failures = int(result.Run.ExitCode), result.Failures
	facts.run, facts.expires = result.Run, result.KeyExpires
	facts.ended, facts.quarantined, facts.unread = true, result.Quarantined, result.UnreadFields
	a.sendMetrics(ctx, facts)
	if err := a.printResult(result); err != nil {
		return err
	}
	return a.endJob(result, a.summary(result)...)
}

// printResult prints the result for a program. If it cannot be printed, the run's work stands: the
// error reports both.
func (a *app) printResult(result *job.Result) error {
	if !a.json {
		return nil
	}
	err := output.QuietPipe(output.JSON(a.stdout, result.Run))
	if err == nil || result.Run.ExitCode != exit.OK { // the run's own end matters more
		return nil
	}
	return fmt.Errorf("%s; but this could not be written to stdout: %w", result.Run.Message.V, err)
}

// tracedJob reads the variables and runs the job in a trace of its own.
func (a *app) tracedJob(ctx context.Context, start startJob) (result *job.Result, err error) {
	if err := a.setUp(ctx); err != nil {
		return nil, err
	}
	output.IgnoreBrokenPipe() // the data does not depend on who reads the log
	j, err := a.newJob()
	if err != nil {
		return nil, err
	}
	if j.Report, err = a.cfg.ReportClient(a.clientOptions()); err != nil {
		return nil, err
	}
	defer j.Report.Close()
	if j.API, err = a.cfg.AdvertiserClient(a.clientOptions()); err != nil {
		return nil, err
	}
	defer j.API.Close()
	ctx, t := a.startTrace(ctx, a.command, a.runID)
	defer func() {
		code := exit.Of(err)
		if err == nil {
			code = int(result.Run.ExitCode)
		}
		t.end(ctx, code)
	}()
	j.Trace = t.stage
	return start(j, ctx)
}

// runRepair runs a job that asks nothing of the service, and reports its end.
func (a *app) runRepair(ctx context.Context, start startJob) error {
	if err := a.setUp(ctx); err != nil {
		return err
	}
	output.IgnoreBrokenPipe() // the data does not depend on who reads the log
	j, err := a.newJob()
	if err != nil {
		return err
	}
	result, err := start(j, ctx)
	if err != nil {
		return err
	}
	if err := a.printResult(result); err != nil {
		return err
	}
	return a.endJob(result, "generation", result.Run.Generation)
}

// endJob logs the one summary line, last of all, and returns the job's end.
func (a *app) endJob(result *job.Result, attrs ...any) error {
	row := result.Run
	level := slog.LevelError
	switch row.ExitCode {
	case exit.OK:
		level = slog.LevelInfo
	case exit.Partial, exit.Stopped:
		level = slog.LevelWarn
	}
	a.lastLine(level, row.Message.V, int(row.ExitCode), attrs...)
	if row.ExitCode == exit.OK {
		return nil
	}
	return &exit.Outcome{Code: int(row.ExitCode), Happens: row.Message.V}
}

// payouts reads the operator's file of payouts when a run wants it; nil: there is none.
func (a *app) payouts() func() ([]schema.Payout, error) {
	if a.cfg.Payouts == "" {
		return nil
	}
	return func() ([]schema.Payout, error) { return payouts.Read(a.cfg.Payouts) }
}
