package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"spendsync/cmd/spendsync/config"
	"spendsync/cmd/spendsync/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
)

func (a *app) syncCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sync", Short: "Read what is new or may have changed, prove it, publish it",
		Long: "Reads the days of the spend report that the plan names and proves each complete, then reads the settings of the\n" +
			"account, its campaigns, creatives and sources, and publishes all as one generation. Settings that take long hold no\n" +
			"number back: the report is published first then, and they are the next generation.\n" +
			"Run it as often as you like: it reads young days every time and the others once in " + config.Prefix + "REREAD_AFTER.\n\n" +
			"Exit codes:\n\n" + exit.Table(),
		Example: "  spendsync sync\n  spendsync sync --json | jq .exit_code",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.asRun(cmd.Context(), func() error {
				if err := a.setUp(cmd.Context()); err != nil {
					return err
				}
				return a.sync(cmd.Context(), "sync", func(s *load.Store) (plan, error) {
					return planDays(a.cfg.Account, a.now(), s.Account(), a.planOptions()), nil
				})
			})
		},
	}
	cmd.Flags().BoolVar(&a.full, "full", false, "read archived campaigns again, too")
	return cmd
}

func (a *app) backfillCommand() *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use: "backfill --from DAY --to DAY", Short: "Read the days of a range again, whatever is known of them",
		Example: "  spendsync backfill --from 2026-11-01 --to 2026-11-10",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.asRun(cmd.Context(), func() error {
				if err := a.setUp(cmd.Context()); err != nil {
					return err
				}
				first, err := schema.ParseDate(from)
				if err != nil {
					return exit.Usagef("--from: %v", err)
				}
				last, err := schema.ParseDate(to)
				if err != nil {
					return exit.Usagef("--to: %v", err)
				}
				makePlan := func(known *load.Account) (plan, error) {
					return planRange(a.cfg.Account, a.now(), known, first, last, a.planOptions())
				}
				// Refuse an impossible range before anything is opened or asked.
				if _, err := makePlan(&load.Account{}); err != nil {
					return err
				}
				return a.sync(cmd.Context(), "backfill", func(s *load.Store) (plan, error) { return makePlan(s.Account()) })
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first Chicago day, YYYY-MM-DD")
	cmd.Flags().StringVar(&to, "to", "", "last Chicago day, YYYY-MM-DD")
	return cmd
}

// syncer is one run.
type syncer struct {
	app    *app
	runID  string
	cmd    string
	start  time.Time
	report *extract.Client
	api    *extract.Client
	store  *load.Store
	staged *load.Staged // of the report
	plan   plan
	totals func(context.Context) (extract.Totals, error)
	bar    *progress

	identity func() (identity, error) // whom the key acts for; waits for the answer
	reported bool                     // the report is published, without the settings
	snapshot *snapshot                // nil until the settings are read
	versions int64                    // of settings, written by this run
	outlook  load.Outlook             // of the report's generation
	noTotals sync.Once                // the failure to ask for totals is told once

	mu    sync.Mutex // guards what the days tell and leave behind
	desks []*desk    // that no day is worked on at
	room  *semaphore.Weighted
	tally tally
	steps []schema.Step
	seen  []schema.UnknownField
	diff  history.Diff
	rows  int64
}

// sync runs the order of steps: open the store, plan, read and prove the days,
// publish what is proven, tell how it ended.
func (a *app) sync(ctx context.Context, command string, makePlan func(*load.Store) (plan, error)) (ended error) {
	ignoreBrokenPipe() // the data does not depend on who reads the log
	report, err := a.cfg.ReportClient(a.clientOptions())
	if err != nil {
		return err
	}
	api, err := a.cfg.AdvertiserClient(a.clientOptions())
	if err != nil {
		return err
	}
	defer report.Close()
	defer api.Close()
	dir, err := a.cfg.StoreDir()
	if err != nil {
		return err
	}
	store, err := load.Open(ctx, dir, a.cfg.Account, a.loadOptions())
	if err != nil {
		return err
	}
	defer store.Close()
	p, err := makePlan(store)
	if err != nil {
		return err
	}
	ctx = a.startTrace(ctx, command, a.runID)
	defer func() { a.endTrace(ctx, exit.Of(ended)) }()
	publishing, release := a.publishing(ctx)
	defer release()
	s := &syncer{app: a, runID: a.runID, cmd: command, start: a.now(), report: report, api: api, store: store, plan: p, room: semaphore.NewWeighted(roomForRows)}
	if s.staged, err = store.Begin(s.runID); err != nil {
		return err
	}
	defer s.staged.Discard()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // nothing that the run began goes on after it
	s.tally.planned = len(p.Read)
	a.log.Info("run started", "days", len(p.Read), "requests", p.Requests, "data_dir", dir)

	s.identify(ctx)
	s.bar = a.screen.progress("days", len(p.Read))
	s.readDays(ctx)
	s.bar.done()
	if err := s.refuseOtherAccount(ctx); err != nil {
		return s.fail(ctx, err)
	}
	if err := s.refuseClockAhead(); err != nil {
		return s.fail(ctx, err)
	}
	if err := s.nothingToPublish(); err != nil {
		return s.fail(ctx, err)
	}
	var row schema.Run
	if s.tally.stopped = s.tally.stopped || command == "sync" && ctx.Err() != nil; command != "sync" || s.tally.stopped {
		row, err = s.publishReport(publishing)
	} else {
		row, err = s.copySettings(ctx, publishing)
	}
	if err != nil {
		return s.fail(ctx, err)
	}
	return s.tell(ctx, row)
}

// readDays reads the planned days, several at a time, oldest first. What fails
// is noted; other days go on unless that is pointless.
func (s *syncer) readDays(ctx context.Context) {
	var once sync.Once
	var totals extract.Totals
	var totalsErr error
	s.totals = func(ctx context.Context) (extract.Totals, error) {
		once.Do(func() {
			from, to := s.plan.Read[0].Day, s.plan.Read[len(s.plan.Read)-1].Day
			totals, totalsErr = s.report.ControlTotals(ctx, from, to)
			if totalsErr == nil && !totals.Exists && from < to {
				// The oldest day may have left the reach since the plan was made, and a
				// range that begins there is refused whole.
				totals, totalsErr = s.report.ControlTotals(ctx, from+1, to)
			}
			if totalsErr == nil && !totals.Exists {
				s.app.log.Warn("the service gives no total per day; days are proven without it", "why", totals.Why)
			}
		})
		return totals, totalsErr
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(s.app.cfg.ReportConcurrency)
	for _, d := range s.plan.Read {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return nil // told below: the day was not read
			}
			err := s.copyDayTraced(gctx, d)
			if err != nil && fatal(err) {
				return err
			}
			return nil
		})
	}
	fatalErr := g.Wait()
	s.desks = nil // their memory is wanted elsewhere now
	s.tally.stopped = ctx.Err() != nil
	if fatalErr != nil || s.tally.stopped {
		s.noteUnread(fatalErr)
	}
}

// noteUnread names the days that were never begun because the run ended early.
func (s *syncer) noteUnread(cause error) {
	unread := 0
	told := map[string]bool{}
	for _, st := range s.steps {
		told[st.Unit] = true
	}
	for _, d := range s.plan.Read {
		if !told[d.Day.String()] {
			unread++
		}
	}
	if unread > 0 && cause != nil {
		s.tally.failures = append(s.tally.failures, failure{fmt.Sprintf("%s not tried", phrase.Count(unread, "more day")), cause})
	}
}

// nothingNew says whether the report shows readers nothing that they do not have: no
// day is new or has changed. Then it holds no number back, however long the settings
// take.
func (s *syncer) nothingNew() bool {
	return s.store.Manifest() != nil && s.tally.changed == 0 && s.tally.added == 0 && len(s.tally.failures) == 0
}

// publishReport publishes the days that are proven. A day that fails keeps no
// other back; a report of which no day is proven publishes nothing.
func (s *syncer) publishReport(ctx context.Context) (row schema.Run, err error) {
	err = s.app.traced(ctx, "publish report", func(ctx context.Context) error {
		row, err = s.publish(ctx, s.staged, nil)
		return err
	})
	return row, err
}

// nothingToPublish says why a run publishes nothing: no day is proven, or the storage
// has failed.
func (s *syncer) nothingToPublish() error {
	var errs []error
	for _, f := range s.tally.failures {
		if errors.Is(f.err, load.ErrStorage) {
			return f.err
		}
		errs = append(errs, f.err)
	}
	switch {
	case !s.tally.nothing():
		return nil
	case len(errs) == 0: // a signal came before the first day was begun
		return context.Canceled
	}
	return errors.Join(errs...)
}

// publish makes a generation of what is staged, with all that the run knows so far.
func (s *syncer) publish(ctx context.Context, staged *load.Staged, entities []schema.EntityRead) (row schema.Run, err error) {
	// A signal stops the reading, not at once the publishing of what is complete.
	_, err = staged.Publish(ctx, load.Publication{
		Since: s.plan.Reach, Unknown: s.seen, Steps: s.steps, Entities: entities,
		Run: func(o load.Outlook) schema.Run {
			s.outlook = o
			row = s.publishedRow(o)
			return row
		},
	})
	if err == nil {
		s.logAtRisk(s.outlook)
	}
	return row, err
}

// publishedRow is the run's line as things stand when a generation is published.
func (s *syncer) publishedRow(o load.Outlook) schema.Run {
	// The days that were lost and the restatements are the report's, also in the
	// generation of the settings.
	o.NewlyLost, o.Restatements = s.outlook.NewlyLost, s.outlook.Restatements
	s.tally.addTroubles(o.Troubles)
	row := s.runRow(s.tally.publishedCode(o), s.tally.sentence(o, true, s.snapshot.sentence()), true)
	row.Generation, row.Restatements = o.Generation, int64(o.Restatements)
	return row
}

// fail records a run that published nothing, and tells why.
func (s *syncer) fail(ctx context.Context, cause error) error {
	code := exit.Of(cause)
	if s.tally.nothing() {
		code = s.tally.unpublishedCode()
	}
	if code == exit.OK {
		code = exit.Unexpected
	}
	text := s.tally.sentence(load.Outlook{}, false, "")
	if !s.tally.nothing() {
		text = "nothing published: " + phrase.OneLine(cause.Error())
	}
	if code == exit.Stopped && !s.tally.nothing() {
		text = "stopped by a signal before anything was published: " + placeOf(cause)
	}
	row := s.runRow(code, text, false)
	if m := s.store.Manifest(); m != nil {
		row.Generation = m.Generation
	}
	if err := s.store.RecordFailure(row, s.steps); err != nil {
		s.app.log.Warn("the failed run could not be written to the ledger", "error", err)
	}
	return s.tell(ctx, row)
}

// runRow is the run's line in the ledger.
func (s *syncer) runRow(code int, text string, published bool) schema.Run {
	st := addStats(s.report.Stats(), s.api.Stats())
	row := schema.Run{
		AccountID: s.app.cfg.Account, Command: s.cmd, StartedAt: schema.InstantOf(s.start), FinishedAt: schema.InstantOf(s.app.now()),
		ExitCode: int64(code), Outcome: exit.About(code).Means, Published: published,
		DaysPlanned: int64(s.tally.planned), DaysProven: int64(s.tally.proven), DaysChanged: int64(s.tally.changed),
		RowsRead: s.rows, RowsInserted: s.diff.Inserted, RowsUpdated: s.diff.Updated, RowsDeleted: s.diff.Deleted,
		Requests: st.Requests, Retries: st.Retries, BytesRead: st.Bytes, ThrottledMs: st.Throttled.Milliseconds(),
		SettingsVersions: s.versions, Version: version(), RunID: s.runID,
	}
	if n := s.snapshot; n != nil {
		row.CampaignsRead, row.CampaignsSkipped = int64(len(n.campaigns)), int64(n.skipped)
	}
	row.Message = schema.Some(text)
	return row
}

func addStats(a, b extract.Stats) extract.Stats {
	return extract.Stats{Requests: a.Requests + b.Requests, Retries: a.Retries + b.Retries, Bytes: a.Bytes + b.Bytes, Throttled: a.Throttled + b.Throttled}
}

// tell logs the run's one summary line, last of all, and answers with it.
func (s *syncer) tell(ctx context.Context, row schema.Run) error {
	a := s.app
	level := slog.LevelInfo
	switch row.ExitCode {
	case exit.OK:
	case exit.Partial, exit.Stopped:
		level = slog.LevelWarn
	default:
		level = slog.LevelError
	}
	if a.json {
		if err := writeJSON(a.stdout, row); err != nil {
			return err
		}
	}
	expires := s.warnOfKey()
	a.endTrace(ctx, int(row.ExitCode))
	a.tellMetrics(ctx, &runFacts{start: s.start, code: int(row.ExitCode), failures: len(s.tally.failures), run: row, expires: expires})
	a.lastLine(level, row.Message.V, int(row.ExitCode), s.summary(row, expires)...)
	if row.ExitCode == exit.OK {
		return nil
	}
	return &exit.Outcome{Code: int(row.ExitCode), Happens: row.Message.V}
}

func (s *syncer) logAtRisk(o load.Outlook) {
	for _, d := range o.NewlyLost {
		s.app.log.Error("a report day is lost: it left the reach before it was proven", "day", d.String())
	}
	for _, c := range atRisk(o.Coverage) {
		s.app.log.Error("a report day leaves the reach soon and is not proven", "day", c.ReportDate.String(), "days_left", c.DaysUntilUnreachable, "state", c.State)
	}
}
