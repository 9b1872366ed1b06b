package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// reportAnswers asks the report, and answers with campaigns that it knows, which
// may be none.
func (c *checker) reportAnswers(ctx context.Context) (campaigns []string, answered bool) {
	const name = "spend report"
	today := schema.DateOf(c.at)
	seen := map[string]bool{}
	for page, err := range c.report.ReportCreatives(ctx, today-7, today, 1000) {
		if err != nil {
			c.failRead(name, err)
			return nil, false
		}
		lines, left := transform.ReportCreatives(c.Config.Service(), page)
		if len(left) > 0 {
			c.fail(exit.Usage, name, "update spendsync: the report has changed", "%s", phrase.OneLine(left[0].Error()))
			return nil, false
		}
		for _, l := range lines {
			if l.CampaignID != "" && !seen[l.CampaignID] {
				campaigns = append(campaigns, l.CampaignID)
			}
			seen[l.CampaignID] = true
		}
		break
	}
	c.ok(name, "%s may read it", c.Config.ReportUser)
	return campaigns, true
}

// apiAnswers asks the API whom the key acts for. It answers with that account, or
// with none if it is not the one of this warehouse.
func (c *checker) apiAnswers(ctx context.Context, known *manifest.Account) string {
	const name = "advertiser API"
	me, err := c.api.Me(ctx)
	if err != nil {
		c.failRead(name, err)
		return ""
	}
	account, err := transform.AccountRef(c.Config.Service(), me)
	if err != nil {
		c.unnamed(ctx, err)
		return ""
	}
	switch can := transform.CanWrite(c.Config.Service(), me); {
	case can.V:
		c.warn(name, "give it a key that can only read: nothing more is needed", "the key acts on %s and may "+
			"change things", account)
	case !can.Valid:
		c.ok(name, "the key acts on %s; the API does not say whether it may change things", account)
	default:
		c.ok(name, "the key acts on %s", account)
	}
	if known != nil && job.CheckPinned(c.Config.Account, known.Pinned, account) != nil {
		c.fail(exit.Auth, "same account", "use another "+config.Prefix+"ACCOUNT or the right key",
			"account %s in this warehouse is %s, the key acts on %s", c.Config.Account, known.Pinned, account)
		return ""
	}
	return account
}

// unnamed reports that the API does not name the account of the key, and records that this is
// accepted if the operator says so.
func (c *checker) unnamed(ctx context.Context, why error) {
	const name = "advertiser API"
	if c.AcceptUnpinned == nil {
		c.fail(exit.Usage, name, "check that the URL is the base of the advertiser API, and that the key and the "+
			"report's user belong to one account; then 'spendsync check --accept-unpinned' accepts it", "%s",
			phrase.OneLine(why.Error()))
		return
	}
	if err := c.AcceptUnpinned(ctx); err != nil {
		c.fail(exit.Of(err), name, "correct what is named, and run it again", "%s", phrase.OneLine(err.Error()))
		return
	}
	c.ok(name, "the API does not name the account of the key; this is accepted, and 'spendsync status' shows it")
}

// sameAccount compares the report's campaigns with the API's list, before anything is
// stored. A key sees its own account alone: one that knows none of them is of another.
func (c *checker) sameAccount(ctx context.Context, account string, campaigns []string) {
	const name = "same account"
	unknown, compared, err := c.unknownCampaigns(ctx, campaigns)
	if err != nil {
		c.failRead(name, err)
		return
	}
	first := unknown[:min(len(unknown), sampled)]
	switch {
	case len(campaigns) == 0:
		c.warn(name, "check again when a campaign has run", "the report of the last 7 days has no campaign "+
			"to compare by")
	case len(unknown) == compared:
		c.fail(exit.Auth, name, "use the key and the user of one and the same account",
			"the key of %s knows none of the report's campaigns %v", account, first)
	case len(unknown) > 0:
		c.warn(name, "nothing, if they were deleted; else use the key and the user of one and the same account",
			"the key of %s does not know %d of the report's %d campaigns, such as %v", account, len(unknown),
			compared, first)
	default:
		c.ok(name, "the API knows the report's campaigns (%d compared)", compared)
	}
}

// unknownCampaigns are those that neither the API's list has nor the API answers for
// one by one; of the latter it asks for a few. Without a list it compares a few.
func (c *checker) unknownCampaigns(ctx context.Context, campaigns []string) (unknown []string, compared int,
	err error) {
	list, listErr := c.api.Campaigns(ctx)
	listed := map[string]bool{}
	for _, e := range list.Entities {
		listed[e.ID] = true
	}
	asked := 0
	for _, id := range campaigns {
		switch {
		case listed[id]:
		case asked < sampled:
			asked++
			_, err := c.api.Campaign(ctx, id)
			if errors.Is(err, extract.ErrNotFound) {
				unknown = append(unknown, id)
			} else if err != nil {
				return nil, 0, err
			}
		case listErr == nil && list.Complete:
			unknown = append(unknown, id)
		default:
			continue
		}
		compared++
	}
	return unknown, compared, nil
}

// clock compares this machine's clock with those of both interfaces, by the one
// that differs more.
func (c *checker) clock() {
	const name, do = "clock", "set this machine's clock by NTP: which day it is in Chicago follows from it"
	var worst time.Duration
	dated := false
	for _, client := range []*extract.Client{c.report, c.api} {
		if theirs, ok := client.ServiceTime(); ok {
			ahead := c.Now().Sub(theirs)
			if dated = true; ahead.Abs() > worst.Abs() {
				worst = ahead
			}
		}
	}
	found := fmt.Sprintf("%s behind the service's, by its Date header", worst.Abs().Round(time.Second))
	if worst > 0 {
		found = fmt.Sprintf("%s ahead of the service's, by its Date header", worst.Round(time.Second))
	}
	switch {
	case !dated:
		c.warn(name, do, "the service sends no date to compare with")
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
	at, warning, known := c.api.KeyNotice()
	do := "renew it on the dashboard's API access page; the key itself stays the same"
	switch {
	case !known || at.IsZero():
		if warning != "" {
			c.warn(name, do, "the service says: %s", warning)
		}
	case !at.After(c.at):
		c.fail(exit.Auth, name, do, "it expired at %s", at.Format(time.RFC3339))
	case at.Sub(c.at) < job.KeyNotice:
		c.warn(name, do, "it expires at %s, in %s", at.Format(time.RFC3339),
			phrase.Count(int(at.Sub(c.at).Hours()/24), "day"))
	default:
		c.ok(name, "it expires at %s, in %s", at.Format(time.RFC3339),
			phrase.Count(int(at.Sub(c.at).Hours()/24), "day"))
	}
}

// description compares the API's own description with what we rely on.
func (c *checker) description(ctx context.Context) {
	const name = "openapi.json"
	if c.code == exit.Auth || c.code == exit.Unreachable {
		return
	}
	version, drift, err := c.api.Drift(ctx)
	if err != nil {
		c.warn(name, "nothing, as long as syncs succeed", "it cannot be read: %s", phrase.OneLine(err.Error()))
		return
	}
	for _, text := range drift {
		c.warn(name, "look for a newer version of spendsync", "%s", text)
	}
	if len(drift) == 0 {
		c.ok(name, "version %s describes all that we rely on", version)
	}
}

// endings warns of what the service announces to end, by the headers of its replies.
func (c *checker) endings() {
	for _, client := range []*extract.Client{c.report, c.api} {
		for _, e := range client.Endings() {
			text := e.Path + " is deprecated since " + e.Deprecated
			if e.Deprecated == "" {
				text = e.Path + " is still served"
			}
			if e.Sunset != "" {
				text += ", and ends on " + e.Sunset
			}
			c.warn("deprecation", "look for a newer version of spendsync; a new path or name is a line of "+
				config.Prefix+"SERVICE_FILE", "the service announces: %s", phrase.OneLine(text))
		}
	}
}

// secrets looks whether a reply has repeated the credentials.
func (c *checker) secrets() {
	if n := c.report.Stats().Repeated + c.api.Stats().Repeated; n > 0 {
		c.warn("secrets", "report it to the service, and then renew the password and the key",
			"%s of the service repeated the credentials; nothing of them is stored", phrase.Count(int(n), "response"))
	}
}
