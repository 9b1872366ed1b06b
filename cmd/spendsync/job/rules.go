package job

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// ruleKind is the kind of the source rules. A campaign may have tens of thousands of rules.
type ruleKind struct{}

// sourceRule is a rule in compact form, with a fifth of the memory of a row of the table. The campaign is known from
// the context.
type sourceRule struct {
	source, rule string
	bid          schema.Null[schema.Money]
}

// readSources decodes the reply with a campaign's source settings: its source mode and its rules.
func readSources(n *settingsReader, a transform.Reply) error {
	if a.Own.Raw == nil {
		return nil // the request failed, and that is already recorded
	}
	read, err := transform.Sources(a.Own, a.Campaign, n.context())
	if err != nil {
		n.fail(ofSources, a.Campaign, "failed", err)
		return err
	}
	modeKind.record(n, a.Campaign, &reading[schema.SourceMode]{read.Mode, read.Decoded, true})
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.settings.campaign(a.Campaign)
	c.rules = rulesIn(read)
	maps.Copy(c.whole, read.Kinds)
	return nil
}

// rulesIn returns the rules of a reply, sorted like the stored history.
func rulesIn(read transform.SourceRead) []sourceRule {
	rules := make([]sourceRule, len(read.Rules))
	for i, r := range read.Rules {
		rules[i] = sourceRule{source: r.SourceID, rule: r.Rule, bid: r.Bid}
	}
	slices.SortFunc(rules, compareRules)
	return rules
}

// compareRules orders the rules of a campaign as the stored history does.
func compareRules(a, b sourceRule) int {
	return cmp.Or(strings.Compare(a.source, b.source), strings.Compare(a.rule, b.rule))
}

// isRead reports whether this run has read all of a campaign's rules of one kind, for example all blocked sources.
func (s *settings) isRead(campaign, kind string) bool {
	return s.campaigns[campaign] != nil && s.campaigns[campaign].whole[kind]
}

// confirm compares the rules that were read with the stored rules. If stored rules of a campaign are missing, it
// requests the campaign's source settings once more: a rule ends only if both replies lack it. If the two replies
// differ, a rule counts if it is in one of them, and the next run reads the campaign again.
func (k ruleKind) confirm(ctx context.Context, n *settingsReader) {
	differ, lacking, err := k.differing(n.s.store, n.settings)
	if err != nil {
		n.fail("source settings", "rules", "failed", err)
		for id := range n.settings.campaigns {
			n.settings.forgetRules(id)
		}
		return
	}
	n.settings.rulesDiffer = differ
	for _, campaign := range lacking {
		c := n.settings.campaigns[campaign]
		e, err := n.s.API.Sources(ctx, campaign)
		var again transform.SourceRead
		if err == nil {
			again, err = transform.Sources(e, campaign, n.context())
		}
		if err != nil {
			n.settings.forgetRules(campaign)
			n.fail(ofSources, campaign, "incomplete", fmt.Errorf(
				"some of the stored rules are missing, and none of them counts as ended: %w", err))
			continue
		}
		readingsOf(n.settings, modeKind.table)[campaign] = &reading[schema.SourceMode]{again.Mode, again.Decoded, true}
		for _, kind := range ruleKinds { // a rule ends only if its kind was readable in both replies
			c.whole[kind] = c.whole[kind] && again.Kinds[kind]
		}
		if second := rulesIn(again); !slices.Equal(c.rules, second) {
			c.rules, c.isSettled = unionOf(c.rules, second), false
		}
	}
}

// forgetRules marks all rules of a campaign as not read, so that none of them counts as ended.
func (s *settings) forgetRules(campaign string) {
	for _, kind := range ruleKinds {
		s.campaigns[campaign].whole[kind] = false
	}
}

// unionOf returns the rules that are in either of two replies. If a rule is in both, the bid of the second one counts.
func unionOf(first, second []sourceRule) []sourceRule {
	all := slices.Concat(second, first)
	slices.SortStableFunc(all, compareRules)
	return slices.CompactFunc(all, func(a, b sourceRule) bool { return compareRules(a, b) == 0 })
}

// differing returns two lists of campaigns. The first list is sorted. It has the campaigns whose rules differ from the
// stored rules, and after an upgrade that added columns also all others with stored rules. In the second list are the
// campaigns that have lost a stored rule: all rules of its kind were read, and it was not among them.
func (k ruleKind) differing(store *load.Store, s *settings) (differ, lacking []string, err error) {
	added, err := load.AddedColumns(store, schema.SourceRuleHistory)
	if err != nil {
		return nil, nil, err
	}
	isStored := map[string]bool{}
	for campaign, stored := range k.stored(store, &err) {
		isStored[campaign] = true
		c := s.campaigns[campaign]
		isOther := c != nil && c.rules != nil && !slices.Equal(stored, c.rules)
		if isOther || len(added) > 0 {
			differ = append(differ, campaign)
		}
		if isOther && c.lacksRules(stored) {
			lacking = append(lacking, campaign)
		}
	}
	for campaign, c := range s.campaigns {
		if !isStored[campaign] && len(c.rules) > 0 {
			differ = append(differ, campaign)
		}
	}
	slices.Sort(differ)
	return differ, lacking, err
}

// lacksRules reports whether one of the stored rules is missing, although all rules of its kind were read.
func (c *readCampaign) lacksRules(stored []sourceRule) bool {
	return slices.ContainsFunc(stored, func(r sourceRule) bool {
		_, isRead := slices.BinarySearchFunc(c.rules, r, compareRules)
		return c.whole[r.rule] && !isRead
	})
}

// stored yields each campaign with its current stored rules, sorted like the stored history. The slice is valid only
// until the next iteration. An error ends the sequence, and is stored in *failed.
func (ruleKind) stored(store *load.Store, failed *error) iter.Seq2[string, []sourceRule] {
	return func(yield func(string, []sourceRule) bool) {
		campaign, rules := "", []sourceRule{}
		for rows, err := range load.StoredColumns(store, schema.SourceRuleHistory, "campaign_id", "source_id", "rule",
			"is_current", "is_deleted", "bid") {
			if err != nil {
				*failed = err
				return
			}
			for i := range rows {
				r := &rows[i]
				if r.CampaignID != campaign {
					if campaign != "" && !yield(campaign, rules) {
						return
					}
					campaign, rules = strings.Clone(r.CampaignID), rules[:0]
				}
				if r.IsCurrent && !r.IsDeleted {
					rules = append(rules, sourceRule{source: r.SourceID, rule: r.Rule, bid: r.Bid})
				}
			}
		}
		if campaign != "" {
			yield(campaign, rules)
		}
	}
}

// stage adds the rules that were read to the stored history. There may be hundreds of thousands of rules, so it
// rewrites only campaigns whose rules differ or end.
func (k ruleKind) stage(r *settingsStage, s *settings) error {
	t := schema.SourceRuleHistory
	for p := range r.was { // the rules of a deleted campaign have ended, so they count as read in full by this run
		if r.ended[p.CampaignID] && p.EntityID == "" && slices.Contains(ruleKinds, p.Part) {
			r.next[p] = s.since
		}
	}
	names := slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.rulesDiffer, r.endNow))))
	r.keepOtherRules(s, names)
	if len(names) == 0 {
		is := r.store.Account().Memory[t.Name]
		is.ObservedAt = s.at
		return load.PutMemory(r.store, r.area, &r.part, t, is)
	}
	var sum history.Stats
	o := k.observation(r, s)
	campaignOf := func(rule *schema.SourceRule) string { return rule.CampaignID }
	err := load.PutGroups(r.store, r.area, &r.part, t, campaignOf, names, s.at, func(campaign string,
		h history.Versions[schema.SourceRule]) (history.Versions[schema.SourceRule], error) {
		o.Seen = s.rowsOfRules(r.Account, campaign)
		next, st, err := history.Advance(t, t.Tracked(), h, o)
		sum.Add(st)
		return next, err
	})
	if err == nil {
		r.noteAdvance(t.Table, sum)
	}
	return err
}

// observation returns what [history.Advance] needs besides the rules themselves. It is the same for all campaigns.
func (ruleKind) observation(r *settingsStage, s *settings) history.Observation[schema.SourceRule] {
	return history.Observation[schema.SourceRule]{
		Since: s.since, At: s.at, RunID: r.RunID, Patience: schema.SourceRuleHistory.Patience,
		Absence: func(rule *schema.SourceRule) history.Absence {
			return goneIf(s.isRead(rule.CampaignID, rule.Rule) || r.ended[rule.CampaignID])
		},
		Confirmed: func(rule *schema.SourceRule) schema.Instant { return r.was.Confirmed(rule.Place()) },
		Confirm:   func(rule *schema.SourceRule, at schema.Instant) { r.next.Confirm(rule.Place(), at) },
	}
}

// keepOtherRules copies the times at which single rules were last confirmed to the new table of readings. It copies
// only the times of kinds that this run has not read, in campaigns that stage() does not rewrite.
func (r *settingsStage) keepOtherRules(s *settings, advance []string) {
	for p, at := range r.was {
		_, advances := slices.BinarySearch(advance, p.CampaignID)
		isRule := slices.Contains(ruleKinds, p.Part) && p.EntityID != ""
		if isRule && !advances && !s.isRead(p.CampaignID, p.Part) && !r.ended[p.CampaignID] {
			r.next[p] = at
		}
	}
}

// ruleKinds are the kinds of source rules: blocked, allowed, with a bid of their own, or optimized by the service.
var ruleKinds = []string{schema.RuleBlocked, schema.RuleAllowed, schema.RuleBid, schema.RuleOptimized}

// rowsOfRules returns a campaign's rules that this run has read, as rows of the table; nil if none were read.
func (s *settings) rowsOfRules(account, campaign string) []history.Seen[schema.SourceRule] {
	c := s.campaigns[campaign]
	if c == nil || c.rules == nil {
		return nil
	}
	seen := make([]history.Seen[schema.SourceRule], len(c.rules))
	for i, r := range c.rules {
		seen[i].Row = schema.SourceRule{AccountID: account, CampaignID: campaign, SourceID: r.source, Rule: r.rule,
			Bid: r.bid}
	}
	return seen
}
