package job

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/schema"
	"spendsync/transform"
)

// confirmRules reads the source settings again that have lost most of the stored rules of one
// kind. Only what two reads in one run agree on takes rules away. What was read is kept from
// here on.
func (n *settingsReader) confirmRules(ctx context.Context) {
	lost, err := n.lostRules()
	if err != nil {
		n.fail("source settings", "rules", "failed", err)
		clear(n.read.rulesRead)
		clear(n.read.newSources)
		return
	}
	for _, campaign := range slices.Sorted(maps.Keys(lost)) {
		e, err := n.run.API.Sources(ctx, campaign)
		var again transform.SourceRead
		if err == nil {
			again, err = transform.Sources(e, campaign, n.context())
		}
		if err == nil && slices.Equal(rulesIn(again), n.read.rules[campaign]) {
			n.run.Log.Warn("most rules of a kind have ended at once; a second read confirms it", "campaign", campaign,
				"kinds", lost[campaign])
			continue
		}
		if err == nil {
			err = errors.New("a second read in this run differs")
		}
		for _, kind := range lost[campaign] {
			n.read.rulesRead[[2]string{campaign, kind}] = false
			n.read.bidsRead[campaign] = n.read.bidsRead[campaign] && kind != schema.RuleBid
		}
		n.read.settled = slices.DeleteFunc(n.read.settled, func(id string) bool { return id == campaign })
		delete(n.read.newSources, campaign)
		n.fail("sources of", campaign, "incomplete", fmt.Errorf(
			"most of the stored rules of the kind %s are missing, and none of them counts as ended: %w",
			strings.Join(lost[campaign], ", "), err))
	}
	for campaign, reply := range n.read.newSources {
		n.keep(extract.KindSources, campaign, reply)
	}
	clear(n.read.newSources)
}

// lostRules returns the kinds of rules that have lost most of their stored entries, by campaign. It looks at campaigns
// whose source settings differ from the last kept reply.
func (n *settingsReader) lostRules() (lost map[string][]string, err error) {
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
	counts := map[[2]string][2]int{} // by campaign and kind: missing and known
	for rows, err := range stored.Stored {
		if err != nil {
			return nil, err
		}
		for i := range rows {
			r := &rows[i]
			key := [2]string{r.CampaignID, r.Rule}
			if r.IsDeleted || !r.IsCurrent || n.read.newSources[r.CampaignID] == nil || !n.read.rulesRead[key] {
				continue
			}
			c := counts[key]
			c[1]++
			if !now[[3]string{r.CampaignID, r.Rule, r.SourceID}] {
				c[0]++
			}
			counts[[2]string{strings.Clone(r.CampaignID), strings.Clone(r.Rule)}] = c
		}
	}
	lost = map[string][]string{}
	for key, c := range counts {
		if lostMany(c[0], c[1]) {
			lost[key[0]] = append(lost[key[0]], key[1])
			slices.Sort(lost[key[0]])
		}
	}
	return lost, nil
}
