package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/explain"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/cmd/spendsync/record"
	"spendsync/extract"
	"spendsync/load/manifest"
)

// The states of a check.
const (
	OK      = "ok"
	Warning = "warning"
	Failed  = "failed"
)

// Line is one line of the answer.
type Line struct {
	Check string `json:"check"`
	State string `json:"state"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // what to do, where something is wrong
}

// Findings is what check found, as a program reads it.
type Findings struct {
	ExitCode int    `json:"exit_code"`
	Checks   []Line `json:"checks"`
}

// Bounds of the checks.
const (
	patience     = 20 * time.Second // for one question to the service, with its retries
	skewNotice   = 30 * time.Second
	LittleMemory = 512 << 20
)

// Options are the inputs of a check.
type Options struct {
	Config    *config.Config // nil: the variables could not be read
	ConfigErr error          // why they could not, or are refused
	Client    config.ClientOptions
	Job       job.Job // as a sync runs it; not used if ConfigErr is not nil
	Now       func() time.Time
}

// checker goes through the checks. A check that needs what an earlier one has not
// found is left out.
type checker struct {
	Options
	lines  []Line
	code   int // of the first line that failed
	report *extract.Client
	api    *extract.Client
	seen   *record.Recorder  // the replies of both
	at     time.Time         // of the checks
	known  *manifest.Account // that is stored; nil: nothing is
}

func (c *checker) ok(check, format string, args ...any) {
	c.lines = append(c.lines, Line{Check: check, State: OK, Found: fmt.Sprintf(format, args...)})
}

func (c *checker) warn(check, do, format string, args ...any) {
	c.lines = append(c.lines, Line{Check: check, State: Warning, Found: fmt.Sprintf(format, args...), Do: do})
}

func (c *checker) fail(code int, check, do, format string, args ...any) {
	if c.code == exit.OK {
		c.code = code
	}
	c.lines = append(c.lines, Line{Check: check, State: Failed, Found: fmt.Sprintf(format, args...), Do: do})
}

// failRead reports a request to the service that brought nothing, as a sync would.
func (c *checker) failRead(check string, err error) {
	client, isKnown := c.report, c.known != nil && len(c.known.Days) > 0
	if e, ok := errors.AsType[*extract.ReadError](err); ok && e.Interface == config.API {
		client, isKnown = c.api, c.known != nil && len(c.known.Confirmations) > 0
	}
	err = job.OfWrongURL(err, client, isKnown)
	code := exit.Of(err)
	m := explain.Error(err, code)
	c.fail(code, check, m.Do, "%s", m.Happened)
}

// Run makes the checks. A signal ends them early.
func Run(ctx context.Context, o Options) Findings {
	c := &checker{Options: o, at: o.Now(), seen: record.New()}
	c.all(ctx)
	return Findings{c.code, c.lines}
}

func (c *checker) all(ctx context.Context) {
	configured := c.configuration()
	c.timeZone()
	c.memory()
	if c.Config == nil {
		return
	}
	known := c.store()
	c.known = known
	c.volume()
	if !configured {
		c.payouts(ctx, nil)
		return
	}
	var stored *job.Known
	if known != nil {
		var err error
		dir, _ := c.Config.StoreDir()
		if stored, err = job.ReadKnown(dir, c.Config.Account, known); err != nil {
			c.warn("store", exit.About(exit.Damaged).Do, "the stored data of the account cannot be read: %s",
				phrase.OneLine(err.Error()))
		}
	}
	tried := c.try(ctx, stored)
	c.payouts(ctx, tried)
	c.clock()
	if tried != nil {
		c.stores(tried)
	}
	c.key()
	c.endings()
	c.secrets()
}

// configuration reads the variables and makes both clients.
func (c *checker) configuration() bool {
	const name = "configuration"
	do := "correct what is named; see 'spendsync help config'"
	if c.ConfigErr != nil {
		c.fail(exit.Usage, name, do, "%s", phrase.OneLine(c.ConfigErr.Error()))
		return false
	}
	quick := *c.Config
	quick.RetryBudget, quick.HTTPTimeout = min(quick.RetryBudget, patience), min(quick.HTTPTimeout, patience)
	var err error
	if c.report, c.api, err = c.seen.Clients(&quick, c.Client); err != nil {
		c.fail(exit.Usage, name, do, "%s", phrase.OneLine(err.Error()))
		return false
	}
	if unknown := c.Config.Unknown(); len(unknown) > 0 {
		c.warn(name, "correct or remove them; in a pod enableServiceLinks: false keeps those of Services away",
			"%s%s has no effect%s", config.Prefix, unknown[0], nowOf(unknown[0]))
		return true
	}
	c.ok(name, "all variables are readable; account %s", c.Config.Account)
	return true
}

// nowOf returns what holds in the place of a removed variable.
func nowOf(name string) string {
	if now := config.Removed(name); now != "" {
		return "; now " + now
	}
	return ""
}
