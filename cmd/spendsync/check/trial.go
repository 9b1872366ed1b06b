package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/schema"
	"spendsync/transform"
)

// shown is how many examples a line names.
const shown = 3

// Try syncs one day and one campaign of each status into a temporary store, which is removed, and with it those that
// killed checks have left. known is what syncs have stored; nil: nothing.
func Try(ctx context.Context, j job.Job, known *job.Known) (*job.Trial, error) {
	dir, release, err := scratchFolder()
	if err != nil {
		return nil, exit.Advise(exit.Usagef("%v", err), "give TMPDIR a folder that can be written to")
	}
	defer release()
	j.DataDir = filepath.Join(dir, "data")
	j.Store.KeepRaw, j.Store.DuckDB.Views = false, nil // neither is about the service
	j.Log, j.Store.Log = slog.New(slog.DiscardHandler), nil
	j.Own, j.Progress = nil, nil
	return j.Try(ctx, known)
}

// try reports what a sync understands of the service. It returns nil if a sync did not start.
func (c *checker) try(ctx context.Context, known *job.Known) *job.Trial {
	j := c.Job
	j.Report, j.API = c.report, c.api
	t, err := Try(ctx, j, known)
	if err != nil {
		do := cmp.Or(exit.Advice(err), exit.About(exit.Of(err)).Do)
		c.fail(exit.Of(err), "sync", do, "%s", phrase.OneLine(err.Error()))
		return nil
	}
	if ctx.Err() != nil {
		return nil
	}
	c.spendReport(t)
	c.apiKey(t)
	c.sameAccount(t)
	c.fields(t)
	return t
}

// spendReport reports what was understood of the report.
func (c *checker) spendReport(t *job.Trial) {
	const name = "spend report"
	d := t.Day
	switch {
	case !d.Tried:
		return
	case d.Err != nil:
		c.failRead(name, d.Err)
		return
	}
	c.ok(name, "%s may read it; %s has %s and %s US dollars on %s of up to %d rows, read %s; the service's own total: "+
		"%s",
		c.Config.ReportUser, d.Unit, phrase.Count(int(d.Rows), "row"), d.Spend, phrase.Count(int(d.Pages), "page"),
		t.PageSize, phrase.Count(int(d.Attempts), "time"), d.Control)
	if lacks := strings.Join(t.Lacks, ", "); lacks != "" {
		c.warn("columns", "look for a newer version of spendsync; another name is a line of "+config.Prefix+
			"SERVICE_FILE", "the report gives no %s; a sync stores it as unknown", lacks)
	} else {
		c.ok("columns", "the report gives all that a sync asks for")
	}
}

// apiKey reports whom the key acts for.
func (c *checker) apiKey(t *job.Trial) {
	const name = "advertiser API"
	switch {
	case errors.Is(t.KeyErr, exit.ErrOtherAccount):
		c.fail(exit.Auth, "same account", "use another "+config.Prefix+"ACCOUNT or the right key", "%s",
			phrase.OneLine(t.KeyErr.Error()))
		return
	case t.KeyErr != nil:
		c.failRead(name, t.KeyErr)
		return
	case t.Account == "" && t.Me.Raw != nil:
		c.ok(name, "the API does not name the account of the key, which is known by its campaigns; another key for "+
			"the name is a line me.account of "+config.Prefix+"SERVICE_FILE")
		return
	case t.Account == "":
		return // it was not asked for, or not understood
	}
	switch can := transform.CanWrite(c.Config.Service(), t.Me); {
	case can.V:
		c.warn(name, "give it a key that can only read: nothing more is needed", "the key acts on %s and can "+
			"make changes", t.Account)
	case !can.Valid:
		c.ok(name, "the key acts on %s; the API does not state whether it can make changes", t.Account)
	default:
		c.ok(name, "the key acts on %s", t.Account)
	}
}

// sameAccount reports whether the report and the key are of one account. A key sees its own account alone.
func (c *checker) sameAccount(t *job.Trial) {
	const name = "same account"
	d := t.Day
	if !d.Tried || d.Err != nil || t.KeyErr != nil {
		return
	}
	var unlisted []string
	for _, id := range d.Campaigns {
		if !t.Lists(id) {
			unlisted = append(unlisted, id)
		}
	}
	first := unlisted[:min(len(unlisted), shown)]
	switch {
	case errors.Is(t.Cause, exit.ErrOtherReport):
		c.fail(exit.Auth, name, "use the key and the user of one and the same account",
			"the key of %s knows none of the report's campaigns %v", t.Account, first)
	case !d.Stored && t.Cause != nil:
		c.failRead(name, t.Cause)
	case len(d.Campaigns) == 0:
		c.warn(name, "check again when a campaign has run", "the report of %s has no campaign to compare by", d.Unit)
	case len(unlisted) > 0 && t.Listing.Complete:
		c.warn(name, "nothing, if they were deleted; else use the key and the user of one and the same account",
			"the key of %s does not list %d of the report's %d campaigns, such as %v", t.Account, len(unlisted),
			len(d.Campaigns), first)
	default:
		c.ok(name, "the API knows the report's campaigns (%d compared)", len(d.Campaigns)-len(unlisted))
	}
}

// fields reports which fields of the replies were read, which could not be, and which no column shows.
func (c *checker) fields(t *job.Trial) {
	const newer = "look for a newer version of spendsync; another name is a line of " + config.Prefix + "SERVICE_FILE"
	if len(t.Keys) > 0 {
		var read []string
		for _, stream := range slices.Sorted(maps.Keys(t.Keys)) {
			read = append(read, fmt.Sprintf("%s %d", stream, t.Keys[stream]))
		}
		c.ok("fields read", "keys of %s with values that are stored: %s", phrase.Count(t.Campaigns, "campaign"),
			strings.Join(read, ", "))
	}
	if n := len(t.Unread); n > 0 && c.code == exit.OK { // a request that failed is named above
		c.warn("fields unread", newer, "%s, such as %s", phrase.Count(n, "part"), some(t.Unread, unreadText))
	}
	if unknown := c.newFields(t.Unknown); len(unknown) > 0 {
		c.warn("fields unknown", "nothing: they are kept in the raw columns; a newer version may have columns for them",
			"%s that no sync has seen and no column shows, such as %s", phrase.Count(len(unknown), "key"),
			some(unknown, unknownText))
	}
	path := func(name string) string { return c.Config.Service().Path(name, "") }
	report, list := c.seen.Envelope("report", path("report")), c.seen.Envelope("api", path("campaigns"))
	if report != "" || list != "" {
		c.ok("envelope", "the report: %s; the list of campaigns: %s", cmp.Or(phrase.OneLine(report), "no reply"),
			cmp.Or(phrase.OneLine(list), "no reply"))
	}
	zone := "times without a zone are not understood"
	if z := c.Config.Service().Zone(); z != nil {
		zone = "times without a zone are of " + z.String()
	}
	c.ok("forms", "days are of America/Chicago; %s; amounts are in %s", zone, c.Config.Service().Text("currency.code"))
}

// newFields returns those of the fields without a column that no sync has seen. Before the first sync there are none.
func (c *checker) newFields(all []schema.UnknownField) (unseen []schema.UnknownField) {
	if c.known == nil {
		return nil
	}
	for _, u := range all {
		if !slices.ContainsFunc(c.known.Unknown, func(k schema.UnknownField) bool {
			return k.Stream == u.Stream && k.Path == u.Path
		}) {
			unseen = append(unseen, u)
		}
	}
	return unseen
}

// some returns the first of a list as text.
func some[T any](list []T, text func(T) string) string {
	var all []string
	for _, item := range list[:min(len(list), shown)] {
		all = append(all, text(item))
	}
	return phrase.OneLine(strings.Join(all, "; "))
}

func unreadText(e schema.EntityRead) string {
	text := strings.TrimSpace(e.EntityType + " " + e.EntityID + " " + e.Field)
	if e.Message.Valid {
		return text + " (" + e.Message.V + ")"
	}
	return text + " (missing)"
}

func unknownText(u schema.UnknownField) string {
	return u.Stream + " " + u.Path + " (" + u.SampleType + ")"
}

// stores reports whether a sync stores what the service answers.
func (c *checker) stores(t *job.Trial) {
	const name = "sync"
	code := int(t.Run.ExitCode)
	switch do := exit.About(code).Do; {
	case t.Day.Stored && code == exit.OK:
		c.ok(name, "%s and %s were read, proven and stored in a temporary folder, which is removed", t.Day.Unit,
			phrase.Count(t.Campaigns, "campaign"))
	case t.Day.Stored:
		c.fail(code, name, do, "a sync stores the report and ends with exit code %d: %s", code,
			phrase.OneLine(t.Problems()))
	case c.code != exit.OK: // the line above has the cause
	default:
		c.fail(code, name, do, "%s", phrase.OneLine(t.Run.Message.V))
	}
}
