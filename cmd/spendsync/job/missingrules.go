package job

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/schema"
	"spendsync/transform"
)

// confirmRules reads the source settings again that lack stored rules: a rule ends when two readings in a row lack it.
// What was read is kept from here on, unless the two differ.
func (n *settingsReader) confirmRules(ctx context.Context) {
	lacking, err := n.lackingRules()
	if err != nil {
		n.fail("source settings", "rules", "failed", err)
		clear(n.read.rulesRead)
		clear(n.read.newSources)
		return
	}
	for _, campaign := range lacking {
		e, err := n.run.API.Sources(ctx, campaign)
		var again transform.SourceRead
		if err == nil {
			again, err = transform.Sources(e, campaign, n.context())
		}
		if err != nil {
			for key := range n.read.rulesRead {
				n.read.rulesRead[key] = n.read.rulesRead[key] && key[0] != campaign
			}
			n.fail("sources of", campaign, "incomplete", fmt.Errorf(
				"some of the stored rules are missing, and none of them counts as ended: %w", err))
		}
		if first, second := n.read.rules[campaign], rulesIn(again); !slices.Equal(first, second) {
			n.read.rules[campaign] = unionOf(first, second)
			n.read.settled = slices.DeleteFunc(n.read.settled, func(id string) bool { return id == campaign })
			delete(n.read.newSources, campaign)
		}
	}
	for campaign, reply := range n.read.newSources {
		n.keep(extract.KindSources, campaign, reply)
	}
	clear(n.read.newSources)
}

// unionOf returns the rules that either of two readings has, those of the second as it has them.
func unionOf(first, second []sourceRule) []sourceRule {
	all := slices.Clone(second)
	has := map[[2]string]bool{}
	for _, r := range second {
		has[[2]string{r.rule, r.source}] = true
	}
	for _, r := range first {
		if !has[[2]string{r.rule, r.source}] {
			all = append(all, r)
		}
	}
	return all
}

// lackingRules returns the campaigns whose source settings lack stored rules of a kind that was read. It looks at those
// that differ from the last kept reply.
func (n *settingsReader) lackingRules() (campaigns []string, err error) {
	if len(n.read.newSources) == 0 {
		return nil, nil
	}
	now := map[[3]string]bool{}
	for campaign := range n.read.newSources {
		for _, r := range n.read.rules[campaign] {
			now[[3]string{campaign, r.rule, r.source}] = true
		}
	}
	stored, err := load.StoredGroups(n.run.store, schema.SourceRuleHistory)
	if err != nil || stored.Stored == nil {
		return nil, err
	}
	for rows, err := range stored.Stored {
		if err != nil {
			return nil, err
		}
		for i := range rows {
			r := &rows[i]
			isRead := n.read.newSources[r.CampaignID] != nil && n.read.rulesRead[[2]string{r.CampaignID, r.Rule}]
			if r.IsCurrent && !r.IsDeleted && isRead && !now[[3]string{r.CampaignID, r.Rule, r.SourceID}] {
				campaigns = append(campaigns, strings.Clone(r.CampaignID))
			}
		}
	}
	return slices.Compact(campaigns), nil
}
