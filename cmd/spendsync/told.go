package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/notice"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/remote"
	"spendsync/schema"
)

// told reports a run to other systems: it sends heartbeats, and notices of findings. If a report fails, this is only a
// warning.
type told struct {
	runner *runner
	log    *slog.Logger
	beat   *url.URL       // nil if no heartbeat is configured
	teller *notice.Teller // nil if no receiver is configured
	wanted map[string]bool
}

// newTold reads the addresses even if another variable is invalid, so that the failure of the run is still reported.
func (r *runner) newTold() *told {
	t := &told{runner: r, log: r.log}
	cfg := r.cfg
	var err error
	if t.beat, err = cfg.Heartbeat(); err != nil {
		t.log.Warn("no heartbeat is sent", "error", err)
	}
	receivers, err := cfg.Receivers()
	if err == nil {
		t.wanted, err = cfg.NoticeKinds()
	}
	if err != nil {
		t.log.Warn("no notices are sent", "error", err)
		return t
	}
	if len(receivers) > 0 && schema.AccountName.MatchString(cfg.Account) {
		t.teller = &notice.Teller{Disk: durable.OS, Dir: cfg.DataDir, Account: cfg.Account, Receivers: receivers,
			Post: notice.Post}
	}
	return t
}

// start reports that the run has started. It takes at most as long as [call.lastCall] allows.
func (t *told) start(ctx context.Context) {
	within, cancel := t.runner.lastCall(ctx)
	defer cancel()
	if err := notice.Beat(within, t.beat, "start"); err != nil {
		t.log.Warn("the start could not be reported to the heartbeat", "error", cli.OneLine(err.Error()))
	}
}

// end reports the exit code and the findings. All receivers together get as much time as one [call.lastCall] allows;
// the search for findings does not count. The argument result is nil if the run ended with an error.
func (t *told) end(ctx context.Context, code int, result *job.Result) {
	var run notice.Run
	if t.teller != nil {
		run = t.run(ctx, code, result)
		if t.runner.cfg.Bucket != "" && ctx.Err() == nil {
			defer t.fromBucket(ctx)()
		}
	}
	ctx, cancel := t.runner.lastCall(ctx)
	defer cancel()
	g := errgroup.Group{}
	g.Go(func() error {
		if err := notice.Beat(ctx, t.beat, strconv.Itoa(code)); err != nil {
			t.log.Warn("the heartbeat could not be sent", "exit_code", code, "means", exit.About(code).Means,
				"error", cli.OneLine(err.Error()))
		}
		return nil
	})
	if t.teller != nil {
		g.Go(func() error {
			if err := t.teller.Tell(ctx, run); err != nil {
				t.log.Warn("not every notice could be sent; the next run sends those that wait",
					"error", cli.OneLine(err.Error()))
			}
			return nil
		})
	}
	_ = g.Wait() // cannot fail: the functions return nil
}

// fromBucket fetches the state of the notices from the bucket if the data directory has none, so that a run in a new
// folder continues from the last run. It returns a function that writes the new state to the bucket. If a run is killed
// before that call, the next run in a new folder sends its notices again. If the state cannot be fetched, the function
// writes nothing, because the new state may lack findings that are open in the bucket.
func (t *told) fromBucket(ctx context.Context) (toBucket func()) {
	note, dir := notice.StateOf(t.teller.Account), t.teller.Dir
	object := notice.Folder + "/" + note
	fetch := func(ctx context.Context, b *remote.Bucket) error {
		text, err := b.ReadNote(ctx, object)
		if err != nil || !json.Valid(text) { // also if there is none
			return err
		}
		return notice.Write(durable.OS, dir, note, json.RawMessage(text))
	}
	write := func(ctx context.Context, b *remote.Bucket) error {
		var text json.RawMessage
		if err := notice.Read(durable.OS, dir, note, &text); err != nil || text == nil {
			return err
		}
		return b.WriteNote(ctx, object, text)
	}
	if !durable.Exists(filepath.Join(dir, object)) && !t.withBucket(ctx, fetch) {
		return func() {}
	}
	return func() { t.withBucket(ctx, write) }
}

// withBucket calls do with the bucket. It takes at most as long as [call.lastCall] allows, and reports whether do has
// succeeded.
func (t *told) withBucket(ctx context.Context, do func(context.Context, *remote.Bucket) error) bool {
	ctx, cancel := t.runner.lastCall(ctx)
	defer cancel()
	b, err := t.runner.openBucket(t.runner.cfg.Bucket)
	if err == nil {
		err = do(ctx, b)
	}
	if err != nil {
		t.log.Warn("the state of the notices is not in the bucket: a run in a new folder may send some again",
			"error", cli.OneLine(err.Error()))
	}
	return err == nil
}

// run returns the findings of this run: findings about the run itself, and findings in the published generation.
func (t *told) run(ctx context.Context, code int, result *job.Result) notice.Run {
	run := notice.Run{At: t.runner.now().UTC()}
	published, known := t.published(ctx, &run.Generation)
	all := append(published, notice.OfRun(code, result, run.At)...)
	backup, err := t.backup(run.At)
	if err != nil {
		t.log.Warn("the last verified backup is not known", "error", err)
	}
	for _, f := range append(all, backup...) {
		if t.wanted[f.Group()] {
			run.Findings = append(run.Findings, f)
		}
	}
	run.Knows = func(group string) bool {
		switch group {
		case "failed":
			return code != exit.Stopped
		case "account": // known only if the service has answered
			return code == exit.OK || code == exit.Auth || code == exit.Partial || code == exit.DayAtRisk
		case "backup":
			return err == nil
		}
		return known
	}
	return run
}

// published queries the published generation for findings, and sets *generation to its number. The second result is
// false if the findings are not known.
func (t *told) published(ctx context.Context, generation *int64) (all []notice.Finding, known bool) {
	if t.runner.screen == nil || ctx.Err() != nil { // the configuration is invalid
		return nil, false
	}
	m, err := manifest.Read(t.teller.Dir)
	if errors.Is(err, durable.ErrEmpty) {
		return nil, false
	}
	if err == nil {
		*generation = m.Generation
		all, err = t.ask(ctx)
	}
	if err != nil {
		t.log.Warn("the notices lack what the warehouse shows", "error", cli.OneLine(err.Error()))
		return nil, false
	}
	return all, true
}

func (t *told) ask(ctx context.Context) (all []notice.Finding, err error) {
	o := t.runner.loadOptions()
	s, err := duck.OpenSession(ctx, t.teller.Dir, o.DuckDB)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	answer, err := s.Query(ctx, "SELECT f.kind, f.place, f.since_date, f.begins, f.happened, f.what_to_do FROM "+
		"int.findings AS f WHERE f.account_id = "+schema.QuoteText(t.teller.Account)+" ORDER BY ALL")
	if err != nil {
		return nil, err
	}
	for _, r := range answer.Rows {
		all = append(all, notice.Finding{Kind: r[0].V, Place: r[1].V, Since: r[2].V, Begins: r[3].V == "true",
			Happened: r[4].V, Do: r[5].V})
	}
	return all, nil
}

// maxUnverified is the age of the last verified backup at which a notice is sent.
const maxUnverified = 8 * 24 * time.Hour

// backup returns a finding if the last verified backup is older than [maxUnverified]. If no backup was ever verified,
// there is no finding.
func (t *told) backup(now time.Time) (all []notice.Finding, err error) {
	var at time.Time
	err = notice.Read(durable.OS, t.teller.Dir, notice.Verified, &at)
	if err != nil || at.IsZero() || now.Sub(at) < maxUnverified {
		return nil, err
	}
	return []notice.Finding{{Kind: "backup", Begins: true,
		Happened: fmt.Sprintf("no backup was verified for %d days", int(now.Sub(at).Hours()/24)),
		Do:       "see why 'spendsync verify --from' fails or is no longer run"}}, nil
}
