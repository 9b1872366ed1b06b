package job

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// ruleKind are the rules of sources: a campaign may have tens of thousands.
type ruleKind struct{}

// readSources are the source settings of a campaign.
type readSources struct {
	rules []sourceRule
	kinds map[string]bool // rules that could be read, by kind
}

// sourceRule is a rule of a campaign, in a fifth of the memory that its row takes.
type sourceRule struct {
	source, rule string
	bid          schema.Null[schema.Money]
}

// kindsIn returns the kinds of rules that one read could read.
func kindsIn(read transform.SourceRead) map[string]bool {
	return map[string]bool{schema.RuleBlocked: read.BlockedRead, schema.RuleAllowed: read.AllowedRead,
		schema.RuleBid: read.BidsRead, schema.RuleOptimized: read.OptimizedRead}
}

// rulesIn returns the rules of one read, in the order of their history.
func rulesIn(read transform.SourceRead) []sourceRule {
	rules := make([]sourceRule, len(read.Rules))
	for i, r := range read.Rules {
		rules[i] = sourceRule{source: r.SourceID, rule: r.Rule, bid: r.Bid}
	}
	sortRules(rules)
	return rules
}

func sortRules(rules []sourceRule) {
	slices.SortFunc(rules, func(a, b sourceRule) int {
		return cmp.Or(strings.Compare(a.source, b.source), strings.Compare(a.rule, b.rule))
	})
}

// isRead reports whether a kind of rules of a campaign was read.
func (s *settings) isRead(campaign, kind string) bool {
	e := s.campaigns[campaign]
	return e != nil && e.sources != nil && e.sources.kinds[kind]
}

// confirm compares the rules that were read with the stored ones, and reads the source settings again that lack
// some: a rule ends when two readings in a row lack it that could read its kind. If the two differ, the rules of both
// stand, and the next run reads them again.
func (k ruleKind) confirm(ctx context.Context, n *settingsReader) {
	sources := map[string]*readSources{}
	for id, c := range n.read.campaigns {
		if c.sources != nil {
			sources[id] = c.sources
		}
	}
	differ, lacking, err := k.differing(n.s.store, sources)
	if err != nil {
		n.fail("source settings", "rules", "failed", err)
		for _, s := range sources {
			s.kinds = nil
		}
		return
	}
	n.read.rulesDiffer = differ
	for _, campaign := range lacking {
		s := sources[campaign]
		e, err := n.s.API.Sources(ctx, campaign)
		var again transform.SourceRead
		if err == nil {
			again, err = transform.Sources(e, campaign, n.context())
		}
		if err != nil {
			s.kinds = nil
			n.fail("sources of", campaign, "incomplete", fmt.Errorf(
				"some of the stored rules are missing, and none of them counts as ended: %w", err))
			continue
		}
		modeKind.record(n, campaign, &reading[schema.SourceMode]{row: again.Mode, Decoded: again.Decoded, isOwn: true})
		for kind, is := range kindsIn(again) {
			s.kinds[kind] = s.kinds[kind] && is // a reading that cannot read a kind confirms no end of its rules
		}
		if second := rulesIn(again); !slices.Equal(s.rules, second) {
			s.rules = unionOf(s.rules, second)
			n.read.campaigns[campaign].isSettled = false
		}
	}
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
	sortRules(all)
	return all
}

// differing returns the campaigns whose rules differ from the stored ones, and those of them that lack stored rules of
// a kind that was read, both sorted. It reads the rules that are in force once.
func (k ruleKind) differing(store *load.Store, of map[string]*readSources) (differ, lacking []string, err error) {
	added, err := load.AddedColumns(store, schema.SourceRuleHistory)
	if err != nil {
		return nil, nil, err
	}
	isStored := map[string]bool{}
	for campaign, stored := range k.stored(store, &err) {
		isStored[campaign] = true
		s := of[campaign]
		isOther := s != nil && !slices.Equal(stored, s.rules)
		if isOther || len(added) > 0 {
			differ = append(differ, campaign)
		}
		if isOther && s.lacks(stored) {
			lacking = append(lacking, campaign)
		}
	}
	for campaign, s := range of {
		if !isStored[campaign] && len(s.rules) > 0 {
			differ = append(differ, campaign)
		}
	}
	slices.Sort(differ)
	return differ, lacking, err
}

// lacks reports whether a reading lacks one of the stored rules, of a kind that it could read.
func (s *readSources) lacks(stored []sourceRule) bool {
	has := map[[2]string]bool{}
	for _, r := range s.rules {
		has[[2]string{r.source, r.rule}] = true
	}
	return slices.ContainsFunc(stored, func(r sourceRule) bool {
		return s.kinds[r.rule] && !has[[2]string{r.source, r.rule}]
	})
}

// stored yields the rules that are in force by campaign, in the order of their history; they are valid only until the
// next iteration. It ends at the first error.
func (ruleKind) stored(store *load.Store, failed *error) iter.Seq2[string, []sourceRule] {
	return func(yield func(string, []sourceRule) bool) {
		campaign, rules := "", []sourceRule{}
		isFirst := true
		for rows, err := range load.StoredColumns(store, schema.SourceRuleHistory, "campaign_id", "source_id", "rule",
			"is_current", "is_deleted", "bid") {
			if err != nil {
				*failed = err
				return
			}
			for i := range rows {
				r := &rows[i]
				if isFirst || r.CampaignID != campaign {
					if !isFirst && !yield(campaign, rules) {
						return
					}
					campaign, rules, isFirst = strings.Clone(r.CampaignID), rules[:0], false
				}
				if r.IsCurrent && !r.IsDeleted {
					rules = append(rules, sourceRule{source: r.SourceID, rule: r.Rule, bid: r.Bid})
				}
			}
		}
		if !isFirst {
			yield(campaign, rules)
		}
	}
}

// stage adds the rules of sources to their history. There may be hundreds of thousands: only those of campaigns whose
// rules differ or end are advanced.
func (k ruleKind) stage(r *settingsStage, s *settings) error {
	t := schema.SourceRuleHistory
	for p := range r.was { // the end of a campaign confirms that its rules have ended
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
	err := load.PutGroups(r.store, r.area, &r.part, t, names, s.at, func(campaign string,
		h history.Versions[schema.SourceRule]) (history.Versions[schema.SourceRule], history.Stats, error) {
		o.Seen = s.rowsOfRules(r.Account, campaign)
		next, st, err := history.Advance(t, t.Tracked(), h, o)
		sum.Add(st)
		return next, st, err
	})
	if err == nil {
		r.noteAdvance(t.Table, sum)
	}
	return err
}

// observation returns the observation of the rules, without those that were read.
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

// keepOtherRules keeps when rules of the campaigns that do not advance were confirmed, if their kind was not read now.
func (r *settingsStage) keepOtherRules(s *settings, advance []string) {
	for p, at := range r.was {
		_, advances := slices.BinarySearch(advance, p.CampaignID)
		isRule := slices.Contains(ruleKinds, p.Part) && p.EntityID != ""
		if isRule && !advances && !s.isRead(p.CampaignID, p.Part) && !r.ended[p.CampaignID] {
			r.next[p] = at
		}
	}
}

// ruleKinds are the kinds of rules of sources.
var ruleKinds = []string{schema.RuleBlocked, schema.RuleAllowed, schema.RuleBid, schema.RuleOptimized}

// rowsOfRules returns the rules of a campaign as they were read.
func (s *settings) rowsOfRules(account, campaign string) []history.Seen[schema.SourceRule] {
	c := s.campaigns[campaign]
	if c == nil || c.sources == nil {
		return nil
	}
	rules := c.sources.rules
	seen := make([]history.Seen[schema.SourceRule], len(rules))
	for i, r := range rules {
		seen[i].Row = schema.SourceRule{AccountID: account, CampaignID: campaign, SourceID: r.source, Rule: r.rule,
			Bid: r.bid}
	}
	return seen
}
