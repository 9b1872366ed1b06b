package job

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/extract/adsim"
	"spendsync/schema"
)

// settings lists the differences between the stored settings and the service's: columns of campaigns and creatives,
// kinds of rules, and entities without a current version.
func (w *world) settings() string {
	w.t.Helper()
	wrong := map[string]bool{}
	differ := func(what string, differs bool) {
		if differs {
			wrong[what] = true
		}
	}
	campaigns := map[string]schema.Campaign{}
	for _, c := range rowsOf(w, schema.CampaignHistory, "account=acme") {
		if c.IsCurrent && !c.IsDeleted {
			campaigns[c.CampaignID] = c
		}
	}
	creatives := map[string]schema.Creative{}
	for _, c := range rowsOf(w, schema.CreativeHistory, "account=acme") {
		if c.IsCurrent && !c.IsDeleted {
			creatives[c.CreativeID] = c
		}
	}
	rules := map[string]bool{}
	for _, r := range rowsOf(w, schema.SourceRuleHistory, "account=acme") {
		// The simulated service does not list rules of optimized sources.
		if r.IsCurrent && !r.IsDeleted && r.Rule != schema.RuleOptimized {
			rules[strings.Join([]string{r.CampaignID, r.Rule, r.SourceID, moneyText(r.Bid)}, " ")] = true
		}
	}
	modes := map[string]string{}
	for _, m := range rowsOf(w, schema.SourceModeHistory, "account=acme") {
		if m.IsCurrent && !m.IsDeleted {
			modes[m.CampaignID] = m.SourceMode.V
		}
	}
	for _, id := range w.service.CampaignIDs() {
		truth, err := w.service.Settings(id)
		if err != nil {
			w.t.Fatal(err)
		}
		c, there := campaigns[id]
		if !there || c.ReadState == schema.ReadStub {
			wrong["campaigns"] = true
			continue
		}
		differ("source_mode", modes[id] != truth.SourceMode)
		for column, pair := range campaignColumns(c, truth) {
			differ(column, pair[0] != pair[1])
		}
		for _, cr := range truth.Creatives {
			stored, there := creatives[cr.CreativeID]
			if !there || stored.ReadState == schema.ReadStub {
				wrong["creatives"] = true
				continue
			}
			for column, pair := range creativeColumns(stored, cr) {
				differ(column, pair[0] != pair[1])
			}
		}
		for _, rule := range rulesOf(truth) {
			differ("rules", !rules[rule])
			delete(rules, rule)
		}
	}
	differ("rules", len(rules) > 0)
	return strings.Join(slices.Sorted(maps.Keys(wrong)), " ")
}

// campaignColumns returns the columns of a campaign, each with the stored value and the service's value.
func campaignColumns(c schema.Campaign, truth adsim.Settings) map[string][2]string {
	a := truth.Audience
	return map[string][2]string{
		"name":              {c.Name.V, truth.Name},
		"status":            {c.Status.V, truth.Status},
		"default_bid":       {moneyText(c.DefaultBid), truth.DefaultBid},
		"daily_spend_limit": {moneyText(c.DailySpendLimit), truth.DailySpendLimit},
		"target_cpa":        {moneyText(c.TargetCPA), truth.TargetCPA},
		"start_at":          {instantText(c.StartAt), truth.StartDate},
		"end_at":            {instantText(c.EndAt), truth.EndDate},
		"audience": {
			fmt.Sprintln(c.Country.V, c.States.V, c.Platforms.V, c.Gender.V, c.MinAge.V, c.MaxAge.V,
				c.SubscribedMoreThan.V, c.SubscribedLessThan.V),
			fmt.Sprintln(a.Country, joined(a.States), joined(a.Platforms), a.Gender, a.MinAge, a.MaxAge,
				a.SubscribedMoreThan, a.SubscribedLessThan),
		},
		"source_mode": {c.SourceMode.V, truth.SourceMode},
	}
}

func creativeColumns(c schema.Creative, truth adsim.CreativeSettings) map[string][2]string {
	return map[string][2]string{
		"title":           {c.Title.V, truth.Title},
		"message":         {c.Message.V, truth.Message},
		"link":            {c.Link.V, truth.Link},
		"icon_id":         {c.IconID.V, truth.IconID},
		"image_id":        {c.ImageID.V, truth.ImageID},
		"button":          {c.Button1.V + c.Button2.V, truth.Button1 + truth.Button2},
		"creative status": {c.Status.V, truth.Status},
	}
}

func rulesOf(truth adsim.Settings) (rules []string) {
	for _, id := range truth.Blocked {
		rules = append(rules, strings.Join([]string{truth.CampaignID, schema.RuleBlocked, id, ""}, " "))
	}
	for _, id := range truth.Allowed {
		rules = append(rules, strings.Join([]string{truth.CampaignID, schema.RuleAllowed, id, ""}, " "))
	}
	for id, bid := range truth.Bids {
		rules = append(rules, strings.Join([]string{truth.CampaignID, schema.RuleBid, id, bid}, " "))
	}
	return rules
}

func joined(list []string) string { return strings.Join(slices.Sorted(slices.Values(list)), ",") }

func moneyText(m schema.Null[schema.Money]) string {
	if !m.Valid {
		return ""
	}
	return fmt.Sprintf("%d.%06d", m.V/schema.Dollar, m.V%schema.Dollar)
}

func instantText(at schema.Null[schema.Instant]) string {
	if !at.Valid {
		return ""
	}
	return at.V.Time().UTC().Format("2006-01-02T15:04:05Z")
}
