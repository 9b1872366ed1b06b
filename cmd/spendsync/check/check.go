package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/explain"
	"spendsync/cmd/spendsync/job"
	"spendsync/extract"
	"spendsync/load/manifest"
)

// The states of a check.
const (
	OK      = "ok"
	Warning = "warning"
	Failed  = "failed"
)

// Line is the result of one check.
type Line struct {
	Check string `json:"check"`
	State string `json:"state"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // what to do, if something is wrong
	// Paste contains lines to add to the service file, for fields that were not recognized.
	Paste []string `json:"service_file,omitempty"`
}

// Findings is the result of all checks, which --json prints.
type Findings struct {
	ExitCode int    `json:"exit_code"`
	Checks   []Line `json:"checks"`
}

// Bounds of the checks.
const (
	patience   = 20 * time.Second // how long one read from the service may take, retries included
	skewNotice = 30 * time.Second
	keyNotice  = 14 * 24 * time.Hour // warn this long before the API key expires, as the service does
)

// Options are the inputs of a check.
type Options struct {
	Config    *config.Config // nil if the variables cannot be read
	ConfigErr error          // why the variables cannot be read, or are refused
	Client    config.ClientOptions
	Job       job.Job // the job that a sync would run; not used if ConfigErr is not nil
	Now       func() time.Time
}

// checker runs the checks. If an earlier check failed to get something, for example the configuration, the checks that
// need it are skipped.
type checker struct {
	Options
	lines  []Line
	code   int // exit code of the first failed check
	report *extract.Client
	api    *extract.Client
	known  *manifest.Account // the stored account, or nil if nothing is stored
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

// failErr adds a failed check, with the text that a command would print for the error.
func (c *checker) failErr(check string, err error) {
	code := exit.Of(err)
	m := explain.Error(err, code)
	c.fail(code, check, m.Do, "%s", m.Happened)
}

// failRead adds a failed check for a failed request to the service, with the text that a sync would print.
func (c *checker) failRead(check string, err error) {
	client, isKnown := c.report, c.known != nil && len(c.known.Days) > 0
	if e, ok := errors.AsType[*extract.ReadError](err); ok && e.Interface == config.API {
		client, isKnown = c.api, c.known != nil && len(c.known.Memory) > 0
	}
	c.failErr(check, job.OfWrongURL(err, client, isKnown))
}

// Run makes the checks. A signal ends them early.
func Run(ctx context.Context, o Options) Findings {
	c := &checker{Options: o}
	c.all(ctx)
	return Findings{c.code, c.lines}
}

func (c *checker) all(ctx context.Context) {
	configured := c.configuration()
	if c.Config == nil {
		return
	}
	dir := c.Config.DataDir
	c.known = c.store(dir)
	c.volume(dir)
	if !configured {
		c.payouts(ctx, nil)
		return
	}
	var stored *job.StoredAccount
	if c.known != nil {
		var err error
		if stored, err = job.ReadStored(dir, c.Config.Account, c.known); err != nil {
			c.failErr("store", err)
		}
	}
	tried := c.try(ctx, stored)
	c.payouts(ctx, tried)
	c.clock()
	c.key()
	if tried != nil {
		c.stores(tried)
	}
}

// configuration adds the check of the variables and makes both clients. It reports whether requests can be sent.
func (c *checker) configuration() bool {
	const name = "configuration"
	do := "correct what is named: 'spendsync init' asks for it, 'spendsync help config' describes it"
	if c.ConfigErr != nil {
		c.fail(exit.Usage, name, do, "%s", cli.OneLine(c.ConfigErr.Error()))
		return false
	}
	quick := *c.Config
	quick.RetryBudget, quick.HTTPTimeout = min(quick.RetryBudget, patience), min(quick.HTTPTimeout, patience)
	var err error
	if c.report, err = quick.ReportClient(c.Client); err == nil {
		c.api, err = quick.AdvertiserClient(c.Client)
	}
	if err != nil {
		c.fail(exit.Usage, name, do, "%s", cli.OneLine(err.Error()))
		return false
	}
	if unknown := c.Config.Unknown(); len(unknown) > 0 {
		c.warn(name, "correct or remove them; in a pod enableServiceLinks: false keeps those of Services away",
			"%s%s has no effect", config.Prefix, unknown[0])
		return true
	}
	c.ok(name, "all variables are readable; account %s", c.Config.Account)
	return true
}

// clock compares this machine's clock with the service's clock.
func (c *checker) clock() {
	const name, do = "clock", "set this machine's clock by NTP: which day it is in Chicago follows from it"
	theirs, dated := c.api.ServiceTime()
	if !dated {
		theirs, dated = c.report.ServiceTime()
	}
	ahead, side := c.Now().Sub(theirs), "behind"
	if ahead > 0 {
		side = "ahead of"
	}
	found := fmt.Sprintf("%s %s the service's, by its Date header", ahead.Abs().Round(time.Second), side)
	switch {
	case !dated && c.code != exit.OK: // no reply came, and an earlier check reports that
	case !dated:
		c.warn(name, do, "the service sends no date to compare with")
	case ahead.Abs() > job.MaxClockOff:
		c.fail(exit.Usage, name, do, "%s", found)
	case ahead.Abs() >= skewNotice:
		c.warn(name, do, "%s; a sync follows the service's", found)
	default:
		c.ok(name, "%s", found)
	}
}

// key checks when the API key expires.
func (c *checker) key() {
	const name = "key expiry"
	const do = "renew it on the dashboard's API access page; the key itself stays the same"
	at, warning, known := c.api.KeyNotice()
	left := at.Sub(c.Now())
	found := fmt.Sprintf("it expires at %s, in %s", at.Format(time.RFC3339), cli.Count(int(left.Hours()/24), "day"))
	switch {
	case warning != "" && (!known || at.IsZero()):
		c.warn(name, do, "the service says: %s", warning)
	case !known || at.IsZero():
	case left <= 0:
		c.fail(exit.Auth, name, do, "it expired at %s", at.Format(time.RFC3339))
	case left < keyNotice:
		c.warn(name, do, "%s", found)
	default:
		c.ok(name, "%s", found)
	}
}
