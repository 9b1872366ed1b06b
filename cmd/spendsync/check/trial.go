package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/load/durable"
	"spendsync/transform"
)

// shown is the maximum number of examples in a line.
const shown = 3

// try syncs one day and one campaign of each status into a temporary store, and then removes that store. It reports how
// much of the replies a sync would understand. The last argument is the stored account, or nil if nothing is stored.
// The result is nil if the sync did not start.
func (c *checker) try(ctx context.Context, known *job.StoredAccount) *job.Trial {
	scratch, err := durable.MakeScratch("")
	if err != nil {
		c.failErr("sync", err)
		return nil
	}
	defer scratch.Remove()
	j := c.Job
	j.Report, j.API, j.DataDir = c.report, c.api, filepath.Join(scratch.Dir, "data")
	j.Store.DuckDB.Views = nil // make no views: the requests do not depend on them
	j.Log, j.Store.Log = slog.New(slog.DiscardHandler), nil
	j.Own, j.Progress = nil, nil
	t, err := j.Try(ctx, known)
	if err != nil {
		c.failErr("sync", err)
	}
	if err != nil || ctx.Err() != nil {
		return nil
	}
	c.spendReport(t)
	c.apiKey(t)
	c.sameAccount(t)
	c.fields(t)
	return t
}

// spendReport adds the checks of the spend report: whether it can be read, and whether it has the requested columns.
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
	c.ok(name, "%s may read it; one day was read, %s: %s, $%s", c.Config.ReportUser, d.Unit,
		cli.Count(int(d.Rows), "row"), cli.Thousands(fmt.Sprintf("%.2f", float64(d.Spend)/1e6)))
	c.ok("columns", "the report gives all that a sync asks for")
}

// apiKey adds the check of the API key, and names the key's account.
func (c *checker) apiKey(t *job.Trial) {
	const name = "advertiser API"
	switch {
	case errors.Is(t.KeyErr, exit.ErrOtherAccount):
		c.fail(exit.Auth, "same account", "use another "+config.Prefix+"ACCOUNT or the right key", "%s",
			cli.OneLine(t.KeyErr.Error()))
		return
	case t.KeyErr != nil:
		c.failRead(name, t.KeyErr)
		return
	case t.Account == "" && t.Me.Raw != nil:
		c.ok(name, "the API does not name the account of the key, which is known by its campaigns; another key for "+
			"the name is a line me.account of "+config.Prefix+"SERVICE_FILE")
		return
	case t.Account == "":
		return // not requested, or not understood
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

// sameAccount checks whether the report and the key belong to one account. A key sees only its own account.
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

// fields adds a warning about the settings fields that could not be read. It proposes lines for the service file that
// say under which keys the replies have these fields.
func (c *checker) fields(t *job.Trial) {
	if len(t.Unread) == 0 || c.code != exit.OK { // an earlier check reports the failed request
		return
	}
	var examples []string
	for _, e := range t.Unread[:min(len(t.Unread), shown)] {
		examples = append(examples, strings.TrimSpace(e.EntityType+" "+e.EntityID+" "+e.Field)+" ("+
			cmp.Or(e.Message.V, e.ReadState)+")")
	}
	do := "look for a newer version of spendsync; another name is a line of " + config.Prefix + "SERVICE_FILE"
	lines := serviceLines(t)
	if len(lines) > 0 {
		do = "write what is right of these lines into the file of " + config.Prefix + "SERVICE_FILE"
	}
	c.warn("fields unread", do, "%s, such as %s", cli.Count(len(t.Unread), "part"),
		cli.OneLine(strings.Join(examples, "; ")))
	c.lines[len(c.lines)-1].Paste = lines
}

// serviceLines returns lines for the service file: for each field that the replies lack, the most similar key that no
// column reads.
func serviceLines(t *job.Trial) (lines []string) {
	for _, e := range t.Unread {
		var keys []string
		for _, u := range t.Unknown {
			if u.Stream == e.EntityType && !strings.ContainsAny(u.Path, ".[ ") {
				keys = append(keys, u.Path)
			}
		}
		if e.Field == "" || len(keys) == 0 {
			continue
		}
		slices.SortStableFunc(keys, func(a, b string) int {
			return cmp.Compare(unlike(a, e.Field), unlike(b, e.Field))
		})
		line := fmt.Sprintf("%s.%s: %s", e.EntityType, e.Field, keys[0])
		if more := keys[1:min(len(keys), 1+shown)]; len(more) > 0 {
			line += "  # or " + strings.Join(more, ", ")
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// unlike counts the words of a name that do not occur in another name.
func unlike(name, other string) (n int) {
	for word := range strings.SplitSeq(name, "_") {
		if !strings.Contains(other, word) {
			n++
		}
	}
	return n
}

// stores adds the last check: whether the trial sync could prove and store what it read.
func (c *checker) stores(t *job.Trial) {
	const name = "sync"
	code := int(t.Run.ExitCode)
	switch do := exit.About(code).Do; {
	case t.Day.Stored && code == exit.OK:
		c.ok(name, "%s and %s were read, proven and stored in a temporary folder, which is removed", t.Day.Unit,
			cli.Count(t.Campaigns, "campaign"))
	case t.Day.Stored:
		c.fail(code, name, do, "a sync stores the report and ends with exit code %d: %s", code,
			cli.OneLine(t.Problems()))
	case c.code != exit.OK: // an earlier check reports the cause
	default:
		c.fail(code, name, do, "%s", cli.OneLine(t.Run.Message.V))
	}
}
