package job

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"spendsync/load"
	"spendsync/schema"
	"spendsync/transform"
)

// confirmRules reads the source settings again that lack stored rules: a rule ends when two readings in a row lack it.
// If the two differ, the rules of both stand, and the next run reads them again.
func (n *settingsReader) confirmRules(ctx context.Context) {
	sources := n.sourcesRead()
	lacking, err := n.lackingRules(sources)
	if err != nil {
		n.fail("source settings", "rules", "failed", err)
		for _, s := range sources {
			s.kinds = nil
		}
		return
	}
	for _, campaign := range lacking {
		s := sources[campaign]
		e, err := n.run.API.Sources(ctx, campaign)
		var again transform.SourceRead
		if err == nil {
			again, err = transform.Sources(e, campaign, n.context())
		}
		if err != nil {
			s.kinds = nil
			n.fail("sources of", campaign, "incomplete", fmt.Errorf(
				"some of the stored rules are missing, and none of them counts as ended: %w", err))
		}
		if second := rulesIn(again); !slices.Equal(s.rules, second) {
			s.rules = unionOf(s.rules, second)
			n.read.campaigns[campaign].isSettled = false
		}
	}
}

// sourcesRead returns the source settings that this run has read, by campaign.
func (n *settingsReader) sourcesRead() map[string]*readSources {
	read := map[string]*readSources{}
	for id, c := range n.read.campaigns {
		if c.sources != nil {
			read[id] = c.sources
		}
	}
	return read
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

// lackingRules returns the campaigns of some whose source settings lack stored rules of a kind that was read.
func (n *settingsReader) lackingRules(of map[string]*readSources) (campaigns []string, err error) {
	if len(of) == 0 {
		return nil, nil
	}
	now := map[[3]string]bool{}
	for campaign, s := range of {
		for _, r := range s.rules {
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
			isRead := of[r.CampaignID] != nil && of[r.CampaignID].kinds[r.Rule]
			if r.IsCurrent && !r.IsDeleted && isRead && !now[[3]string{r.CampaignID, r.Rule, r.SourceID}] {
				campaigns = append(campaigns, strings.Clone(r.CampaignID))
			}
		}
	}
	return slices.Compact(campaigns), nil
}
