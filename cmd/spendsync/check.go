package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/spf13/cobra"

	"spendsync/cmd/spendsync/config"
	"spendsync/cmd/spendsync/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/output"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/schema"
	"spendsync/transform"
)

// The states of a check.
const (
	checkOK      = "ok"
	checkWarning = "warning"
	checkFailed  = "failed"
)

// checked is one line of the answer.
type checked struct {
	Check string `json:"check"`
	State string `json:"state"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // what to do, where something is wrong
}

// checkAnswer is what check answers a program.
type checkAnswer struct {
	ExitCode int       `json:"exit_code"`
	Checks   []checked `json:"checks"`
}

// Bounds of the checks.
const (
	checkPatience = 20 * time.Second // for one question to the service, with its retries
	skewNotice    = 30 * time.Second
	skewTooMuch   = 10 * time.Minute // around midnight it takes one day for another
	littleMemory  = 512 << 20
	sampled       = 3 // campaigns of the report that the API is asked for
)

func (a *app) checkCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Check that a sync can work here: variables, credentials, clock, volume",
		Long: `Checks all that a sync needs, and says of each thing whether it is ok, and if not, what to do. It writes nothing: whether
the data directory can be written to is asked of the system, and a lock that somebody holds is only looked at. It sends
about ten requests to the service, of which none changes anything.

Exit 0: nothing failed, warnings included; 2: the configuration or this machine; 3: credentials, or two accounts; 5: the
service cannot be reached. Of several the first line decides.`,
		Example: "  spendsync check\n  spendsync check --json | jq -r '.checks[] | select(.state != \"ok\") | .do'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := &checker{app: a}
			c.all(cmd.Context())
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			return c.tell()
		},
	}
}

// checker goes through the checks. A check that needs what an earlier one has not
// found is left out.
type checker struct {
	app    *app
	lines  []checked
	code   int // of the first line that failed
	report *extract.Client
	api    *extract.Client
	now    time.Time
}

func (c *checker) ok(check, format string, args ...any) {
	c.lines = append(c.lines, checked{Check: check, State: checkOK, Found: fmt.Sprintf(format, args...)})
}

func (c *checker) warn(check, do, format string, args ...any) {
	c.lines = append(c.lines, checked{Check: check, State: checkWarning, Found: fmt.Sprintf(format, args...), Do: do})
}

func (c *checker) fail(code int, check, do, format string, args ...any) {
	if c.code == exit.OK {
		c.code = code
	}
	c.lines = append(c.lines, checked{Check: check, State: checkFailed, Found: fmt.Sprintf(format, args...), Do: do})
}

// failRead tells of a question to the service that brought nothing.
func (c *checker) failRead(check string, err error) {
	switch {
	case errors.Is(err, extract.ErrAuth):
		c.fail(exit.Auth, check, "check the user, the password or the key in the variables or files, and that they are of this service", "%s", phrase.OneLine(err.Error()))
	case errors.Is(err, extract.ErrUnavailable):
		c.fail(exit.Unreachable, check, "check the address, DNS, the proxy and the network policy; if they are right, wait for the service", "%s", phrase.OneLine(err.Error()))
	default:
		c.fail(exit.Usage, check, "check that the URL is the base of this service, without its last part", "%s", phrase.OneLine(err.Error()))
	}
}

func (c *checker) all(ctx context.Context) {
	c.now = c.app.now()
	configured := c.configuration(ctx)
	c.timeZone()
	c.memory()
	if c.app.cfg == nil {
		return
	}
	known := c.store()
	c.volume()
	if !configured {
		return
	}
	campaigns, answered := c.reportAnswers(ctx)
	if account := c.apiAnswers(ctx, known); account != "" && answered {
		c.sameAccount(ctx, account, campaigns)
	}
	c.clock()
	c.key()
	c.description(ctx)
}

// configuration reads the variables and makes both clients.
func (c *checker) configuration(ctx context.Context) bool {
	const name = "configuration"
	do := "correct what is named; see 'spendsync help config'"
	a := c.app
	if err := a.setUp(ctx); err != nil {
		c.fail(exit.Usage, name, do, "%s", phrase.OneLine(err.Error()))
		return false
	}
	quick := *a.cfg
	quick.RetryBudget, quick.HTTPTimeout = min(quick.RetryBudget, checkPatience), min(quick.HTTPTimeout, checkPatience)
	var err error
	if c.report, err = quick.ReportClient(a.clientOptions()); err == nil {
		c.api, err = quick.AdvertiserClient(a.clientOptions())
	}
	if err != nil {
		c.fail(exit.Usage, name, do, "%s", phrase.OneLine(err.Error()))
		return false
	}
	if len(a.cfg.Unknown()) > 0 {
		c.warn(name, "correct or remove them; in a pod enableServiceLinks: false keeps those of Services away", "nobody reads %s%s", config.Prefix, a.cfg.Unknown()[0])
		return true
	}
	c.ok(name, "all variables are readable; account %s", a.cfg.Account)
	return true
}

// timeZone looks whether Chicago's zone data knows its daylight saving.
func (c *checker) timeZone() {
	winter, summer := schema.NewDate(2026, 1, 15).Start(), schema.NewDate(2026, 7, 15).Start()
	_, w := winter.Zone()
	_, s := summer.Zone()
	if w != -6*60*60 || s != -5*60*60 {
		c.fail(exit.Usage, "time zone", "use a binary that was built with its zone data", "in Chicago it is UTC%+d in January and UTC%+d in July", w/3600, s/3600)
		return
	}
	c.ok("time zone", "today in Chicago is %s", schema.DateOf(c.now))
}

// memory looks at the memory limit of the cgroup, from which DuckDB's follows.
func (c *checker) memory() {
	const name = "memory"
	limit, err := memlimit.FromCgroup()
	switch {
	case err != nil || limit == 0:
		c.ok(name, "no limit; DuckDB takes up to half of the machine's memory unless %sDUCKDB_MEMORY says less", config.Prefix)
	case limit < littleMemory:
		c.warn(name, "give the container 1 GiB or more", "the limit is %s, DuckDB gets half of it", bytesText(limit))
	default:
		c.ok(name, "the limit is %s, DuckDB gets half of it unless %sDUCKDB_MEMORY says otherwise", bytesText(limit), config.Prefix)
	}
}

// store reads what is published. It is nil where nothing is.
func (c *checker) store() *load.Account {
	const name = "store"
	dir, err := c.app.cfg.StoreDir()
	if err != nil {
		c.fail(exit.Usage, name, "choose another "+config.Prefix+"DATA_DIR", "%v", err)
		return nil
	}
	m, err := load.ReadManifest(dir)
	switch {
	case errors.Is(err, load.ErrEmpty):
		c.ok(name, "%s: nothing is stored yet", dir)
		return nil
	case errors.Is(err, load.ErrNewer):
		c.fail(exit.Usage, name, exit.About(exit.Newer).Do, "%s", phrase.OneLine(err.Error()))
		return nil
	case errors.Is(err, load.ErrDamaged):
		c.fail(exit.Usage, name, exit.About(exit.Damaged).Do, "%s", phrase.OneLine(err.Error()))
		return nil
	case err != nil:
		c.fail(exit.Usage, name, "mend the volume, or its permissions", "%s", phrase.OneLine(err.Error()))
		return nil
	}
	c.ok(name, "%s: generation %d of %s", dir, m.Generation, phrase.Count(len(m.Accounts), "account"))
	return m.Accounts[c.app.cfg.Account]
}

// reportAnswers asks the report, and answers with campaigns that it knows, which
// may be none.
func (c *checker) reportAnswers(ctx context.Context) (campaigns []string, answered bool) {
	const name = "spend report"
	today := schema.DateOf(c.now)
	seen := map[string]bool{}
	for page, err := range c.report.ReportCreatives(ctx, today-7, today, 1000) {
		if err != nil {
			c.failRead(name, err)
			return nil, false
		}
		lines, left := transform.ReportCreatives(page)
		if len(left) > 0 {
			c.fail(exit.Usage, name, "update spendsync: the report has changed", "%s", phrase.OneLine(left[0].Error()))
			return nil, false
		}
		for _, l := range lines {
			if l.CampaignID != "" && !seen[l.CampaignID] && len(campaigns) < sampled {
				campaigns = append(campaigns, l.CampaignID)
			}
			seen[l.CampaignID] = true
		}
		break
	}
	c.ok(name, "%s may read it", c.app.cfg.ReportUser)
	return campaigns, true
}

// apiAnswers asks the API whom the key acts for. It answers with that account, or
// with none if it is not the one of this warehouse.
func (c *checker) apiAnswers(ctx context.Context, known *load.Account) string {
	const name = "advertiser API"
	me, err := c.api.Me(ctx)
	if err != nil {
		c.failRead(name, err)
		return ""
	}
	account, err := transform.AccountRef(me)
	if err != nil {
		c.fail(exit.Usage, name, "check that the URL is the base of the advertiser API", "%s", phrase.OneLine(err.Error()))
		return ""
	}
	switch can := transform.CanWrite(me); {
	case can.V:
		c.warn(name, "give it a key that can only read: nothing more is needed", "the key acts on %s and may change things", account)
	case !can.Valid:
		c.ok(name, "the key acts on %s; the API does not say whether it may change things", account)
	default:
		c.ok(name, "the key acts on %s", account)
	}
	if known != nil && job.CheckPinned(c.app.cfg.Account, known.Pinned, account) != nil {
		c.fail(exit.Auth, "same account", "use another "+config.Prefix+"ACCOUNT or the right key", "account %s in this warehouse is %s, the key acts on %s", c.app.cfg.Account, known.Pinned, account)
		return ""
	}
	return account
}

// sameAccount asks the API for some campaigns of the report. A key sees its own
// account alone, so one that knows none of them is of another.
func (c *checker) sameAccount(ctx context.Context, account string, campaigns []string) {
	const name = "same account"
	found := 0
	for _, id := range campaigns {
		_, err := c.api.Campaign(ctx, id)
		switch {
		case err == nil:
			found++
		case !errors.Is(err, extract.ErrNotFound):
			c.failRead(name, err)
			return
		}
	}
	switch {
	case len(campaigns) == 0:
		c.warn(name, "check again when a campaign has run", "the report of the last 7 days has no campaign to compare by")
	case found == 0:
		c.fail(exit.Auth, name, "use the key and the user of one and the same account", "the key of %s knows none of the report's campaigns %v", account, campaigns)
	case found < len(campaigns):
		c.warn(name, "none, if campaigns were deleted", "the API knows %d of the report's campaigns %v", found, campaigns)
	default:
		c.ok(name, "the API knows the report's campaigns (%s compared)", fmt.Sprint(found))
	}
}

// clock compares this machine's clock with those of both interfaces, by the one
// that differs more.
func (c *checker) clock() {
	const name, do = "clock", "set this machine's clock by NTP: which day it is in Chicago follows from it"
	var worst time.Duration
	told := false
	for _, client := range []*extract.Client{c.report, c.api} {
		if theirs, ok := client.ServiceTime(); ok {
			ahead := c.app.now().Sub(theirs)
			if told = true; ahead.Abs() > worst.Abs() {
				worst = ahead
			}
		}
	}
	found := fmt.Sprintf("%s behind the service's, by its Date header", worst.Abs().Round(time.Second))
	if worst > 0 {
		found = fmt.Sprintf("%s ahead of the service's, by its Date header", worst.Round(time.Second))
	}
	switch {
	case !told:
		c.warn(name, do, "the service tells no date to compare with")
	case worst.Abs() >= skewTooMuch:
		c.fail(exit.Usage, name, do, "%s", found)
	case worst.Abs() >= skewNotice:
		c.warn(name, do, "%s", found)
	default:
		c.ok(name, "%s", found)
	}
}

// key looks when the API key ends.
func (c *checker) key() {
	const name = "key expiry"
	at, warning, told := c.api.KeyNotice()
	do := "renew it on the dashboard's API access page; the key itself stays the same"
	switch {
	case !told || at.IsZero():
		if warning != "" {
			c.warn(name, do, "the service says: %s", warning)
		}
	case !at.After(c.now):
		c.fail(exit.Auth, name, do, "it expired at %s", at.Format(time.RFC3339))
	case at.Sub(c.now) < job.KeyNotice:
		c.warn(name, do, "it expires at %s, in %s", at.Format(time.RFC3339), phrase.Count(int(at.Sub(c.now).Hours()/24), "day"))
	default:
		c.ok(name, "it expires at %s, in %s", at.Format(time.RFC3339), phrase.Count(int(at.Sub(c.now).Hours()/24), "day"))
	}
}

// description compares the API's own description with what we rely on.
func (c *checker) description(ctx context.Context) {
	const name = "openapi.json"
	if c.code == exit.Auth || c.code == exit.Unreachable {
		return
	}
	d, err := c.api.Description(ctx)
	if err != nil {
		c.warn(name, "nothing, as long as syncs succeed", "it cannot be read: %s", phrase.OneLine(err.Error()))
		return
	}
	drift := d.Drift()
	for _, text := range drift {
		c.warn(name, "look for a newer version of spendsync", "%s", text)
	}
	if len(drift) == 0 {
		c.ok(name, "version %s describes all that we rely on", d.Version)
	}
}

// tell prints the answer, and ends with the code of the first line that failed.
func (c *checker) tell() error {
	a := c.app
	if a.json {
		if err := output.JSON(a.stdout, checkAnswer{c.code, c.lines}); err != nil {
			return err
		}
	} else {
		c.print()
	}
	n := map[string]int{}
	for _, l := range c.lines {
		n[l.State]++
	}
	happened := fmt.Sprintf("%d checks: %d ok, %s, %d failed", len(c.lines), n[checkOK], phrase.Count(n[checkWarning], "warning"), n[checkFailed])
	switch {
	case c.code != exit.OK:
	case a.jsonLogs():
		a.log.Info(happened, "exit_code", exit.OK)
		return nil
	default:
		fmt.Fprintln(a.stderr, "spendsync:", happened)
		return nil
	}
	a.lastLine(slog.LevelError, happened, c.code)
	return &exit.Outcome{Code: c.code, Happens: happened}
}

func (c *checker) print() {
	wide := 0
	for _, l := range c.lines {
		wide = max(wide, len(l.Check))
	}
	for _, l := range c.lines {
		fmt.Fprintf(c.app.stdout, "%-7s  %-*s  %s\n", l.State, wide, l.Check, l.Found)
		if l.Do != "" {
			fmt.Fprintf(c.app.stdout, "%-7s  %-*s  > %s\n", "", wide, "", l.Do)
		}
	}
}

// bytesText shows a size in the unit that suits it.
func bytesText(n uint64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d bytes", n)
	}
	v, i := float64(n)/unit, 0
	for ; v >= unit; i++ {
		v /= unit
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGTPE"[i])
}
