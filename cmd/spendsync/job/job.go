package job

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/load"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// Job is the input of one run. A run does not modify it, so the same job can be run again under another RunID.
type Job struct {
	RunID   string
	Account string // name of the account in the store
	DataDir string // absolute path of the data folder
	Version string // version of the binary
	Store   load.Options

	// Report and API ask the service. A repair needs neither.
	Report, API *extract.Client
	Service     *service.Service // assumptions about the replies; nil: the embedded assumptions

	Plan              PlanOptions
	Concurrency       int  // days read at the same time
	RequestsPerMinute int  // limit of requests to the advertiser API
	Full              bool // read settled campaigns again, too

	// Own reads the operator's own files; nil: there are none.
	Own ReadOwn

	// SettingsBudget is how long a run may read settings; 0 means 20 minutes. The proven days wait at most that long to
	// be published.
	SettingsBudget time.Duration
	// StopGrace is the time after a signal in which complete data may still be published.
	StopGrace time.Duration

	Now      func() time.Time
	Log      *slog.Logger
	Progress Progress // nil disables progress

	trial *StoredAccount // stored state that a trial run compares with; nil: a normal run
}

// Progress starts to show a phase that reads n entities of a kind, for example days. The function waitsUntil returns
// the time at which the present wait for the request limit ends; zero: there is no wait.
type Progress func(kind string, n int, waitsUntil func() time.Time) Bar

// Bar shows the progress of one phase. Its methods may be called from several goroutines.
type Bar interface {
	Step()      // one day or campaign is done
	Rows(n int) // n rows were read
	Done()      // the phase has ended, completed or not
}

// Result describes how a run ended, and the store after it.
type Result struct {
	Run            schema.Run           // the run's line in the ledger, with the exit code and the sentence
	Coverage       []schema.DayCoverage // of each day of the account, after the run
	WarehouseBytes int64                // size of the published DuckDB file; 0: there is none
	Failures       int                  // number of reads that failed
	Quarantined    int                  // days in quarantine, after the run
	UnreadFields   schema.Null[int64]   // settings fields that were not understood; NULL: no settings were requested
	KeyExpires     schema.Null[schema.Instant]
	Cause          error // the failure that decided the exit code, or else the first failure; nil: there is none
}

// session is the state that all phases of a run share.
type session struct {
	Job
	command string
	start   time.Time
	store   *load.Store
	area    *load.Area
	pinned  string // the account's name at the service, if this run stores it; else empty
	plan    Plan
	clock   *clock         // its time is what Job.Now returns
	labels  func() *labels // returns the report's names of campaigns; the first call requests them
	asking  sync.WaitGroup // counts the background requests, which end with the run
}

// progress starts to show a phase that sends its requests through one client.
func (r *session) progress(kind string, n int, client *extract.Client) Bar {
	if r.Progress == nil {
		return noBar{}
	}
	return r.Progress(kind, n, client.WaitsUntil)
}

// noBar shows nothing.
type noBar struct{}

func (noBar) Step() {}

func (noBar) Rows(int) {}

func (noBar) Done() {}

// outlasting returns a context that ends later than ctx, by the grace period. A signal stops all reads at once. Within
// the grace period, completed reads may still be proven and published. After it, publication is canceled: its files are
// still in the staging area, where no reader sees them. A commit that has started is never canceled.
func outlasting(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(grace):
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() { stop(); cancel() }
}

// begin opens the store and a staging area.
func (j Job) begin(ctx context.Context, command string) (*session, error) {
	c := newClock(j.Now)
	j.Now, j.Store.Now = c.Now, c.Now
	store, err := load.Open(ctx, j.DataDir, j.Account, j.Store)
	if err != nil {
		return nil, err
	}
	if m := store.Manifest(); m != nil {
		c.floor = m.PublishedAt.Time().Add(time.Microsecond)
	}
	r := &session{Job: j, command: command, clock: c, start: j.Now(), store: store}
	r.SettingsBudget = cmp.Or(j.SettingsBudget, 20*time.Minute)
	if r.area, err = store.Begin(j.RunID); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return r, nil
}

// end removes the staging area and releases the account's lock.
func (r *session) end() {
	if err := errors.Join(r.area.Discard(), r.store.Close()); err != nil {
		r.Log.Warn("the run could not clean up after itself; the next one will", "error", err)
	}
}

// StoredAccount is the stored state of an account, with which a run compares its reads.
type StoredAccount struct {
	*manifest.Account
	stored storedCampaigns
}

// storedAccount returns the stored state of the account; a trial uses the state that syncs have stored.
func (s *session) storedAccount() *manifest.Account {
	if s.trial != nil && s.trial.Account != nil {
		return s.trial.Account
	}
	return s.store.Account()
}

// storedCampaigns maps the ID of each stored campaign to whether the advertiser API has described it.
type storedCampaigns map[string]bool

// endOf returns the ledger row of a run that ended, with the fields that every command sets.
func endOf(j Job, command string, start time.Time, code int, text string) schema.Run {
	return schema.Run{
		AccountID: j.Account, Command: command, RunID: j.RunID, Version: j.Version,
		StartedAt: schema.InstantOf(start), FinishedAt: schema.InstantOf(j.Now()),
		ExitCode: int64(code), Outcome: exit.About(code).Means, Message: schema.Some(text),
	}
}

// checkClock compares the run's clock with the clock of one client's service, once the service has answered. It ends a
// run whose clock is so wrong that an unfinished day would count as complete, or a readable day as lost.
func (r *session) checkClock(service *extract.Client) error {
	theirs, ok := service.ServiceTime()
	if !ok {
		return nil
	}
	ahead, isFirst := r.clock.observe(theirs)
	ahead = ahead.Round(time.Second)
	where := "ahead of"
	if ahead < 0 {
		where = "behind"
	}
	ours := r.clock.machine()
	if ahead.Abs() > MaxClockOff {
		err := exit.Usagef("this machine's clock is %v %s the service's, %s against %s: days would count as %s",
			ahead.Abs(), where, ours.UTC().Format(time.RFC3339), theirs.UTC().Format(time.RFC3339),
			map[bool]string{true: "over that are not", false: "lost that can be read"}[ahead > 0])
		return exit.Advise(err, "set this machine's clock, for example by NTP, then run it again")
	}
	if isFirst && ahead.Abs() > clockWarning {
		r.Log.Warn("this machine's clock and the service's differ; the run follows the service's",
			slog.String("ahead", ahead.String()))
	}
	return nil
}
