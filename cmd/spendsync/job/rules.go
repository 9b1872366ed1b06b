package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// ruleKind are the rules of sources: a campaign may have tens of thousands.
type ruleKind struct{}

// sourceRule is a rule of a campaign, in a fifth of the memory that its row takes.
type sourceRule struct {
	source, rule string
	bid          schema.Null[schema.Money]
}

// readSources takes over a reply about the sources of a campaign.
func readSources(n *settingsReader, a transform.Reply) error {
	if a.Own.Raw == nil {
		return nil // it could not be read, which is noted
	}
	read, err := transform.Sources(a.Own, a.Campaign, n.context())
	if err != nil {
		n.fail(ofSources, a.Campaign, "failed", err)
		return err
	}
	modeKind.record(n, a.Campaign, &reading[schema.SourceMode]{read.Mode, read.Decoded, true})
	n.mu.Lock()
	defer n.mu.Unlock()
	c := n.read.campaign(a.Campaign)
	c.rules = rulesIn(read)
	maps.Copy(c.whole, read.Kinds)
	return nil
}

// rulesIn returns the rules of one read.
func rulesIn(read transform.SourceRead) []sourceRule {
	rules := make([]sourceRule, len(read.Rules))
	for i, r := range read.Rules {
		rules[i] = sourceRule{source: r.SourceID, rule: r.Rule, bid: r.Bid}
	}
	return rules
}

// isRead reports whether a kind of rules of a campaign was read.
func (s *settings) isRead(campaign, kind string) bool {
	return s.campaigns[campaign] != nil &&
		s.campaigns[campaign].whole[kind]
}

// confirm compares the rules that were read with the stored ones, and reads the source settings again that lack
// some: a rule ends when two readings in a row lack it that could read its kind. If the two differ, the rules of both
// stand, and the next run reads them again.
func (k ruleKind) confirm(ctx context.Context, n *settingsReader) {
	lacking, differ, err := k.lacking(n.s.store, n.read)
	if err != nil {
		n.fail("source settings", "rules", "failed", err)
		for id := range n.read.campaigns {
			n.read.forgetRules(id)
		}
		return
	}
	n.read.rulesDiffer = differ
	for _, campaign := range lacking {
		c := n.read.campaigns[campaign]
		e, err := n.s.API.Sources(ctx, campaign)
		var again transform.SourceRead
		if err == nil {
			again, err = transform.Sources(e, campaign, n.context())
		}
		if err != nil {
			n.read.forgetRules(campaign)
			n.fail(ofSources, campaign, "incomplete", fmt.Errorf(
				"some of the stored rules are missing, and none of them counts as ended: %w", err))
			continue
		}
		readingsOf(n.read, modeKind.table)[campaign] = &reading[schema.SourceMode]{again.Mode, again.Decoded, true}
		for _, kind := range ruleKinds { // a reading that cannot read a kind confirms no end of its rules
			c.whole[kind] = c.whole[kind] && again.Kinds[kind]
		}
		if second := rulesIn(again); !slices.Equal(c.rules, second) {
			c.rules, c.isSettled = unionOf(c.rules, second), false
		}
	}
}

// forgetRules takes back that the rules of a campaign were read.
func (s *settings) forgetRules(campaign string) {
	for _, kind := range ruleKinds {
		s.campaigns[campaign].whole[kind] = false
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
	return all
}

// lacking returns the campaigns whose source settings lack stored rules of a kind that was read, and whether any rule
// differs from the stored ones: then the history of rules must be advanced. It reads the stored rules once.
func (ruleKind) lacking(store *load.Store, s *settings) (lacking []string, differ bool, err error) {
	now, same := map[schema.Place]schema.Null[schema.Money]{}, 0
	for campaign, c := range s.campaigns {
		for _, r := range c.rules {
			now[schema.Place{CampaignID: campaign, Part: r.rule, EntityID: r.source}] = r.bid
		}
	}
	stored, err := load.StoredGroups(store, schema.SourceRuleHistory)
	if err != nil || stored.Stored == nil {
		return nil, len(now) > 0, err
	}
	for rows, err := range stored.Stored {
		if err != nil {
			return nil, false, err
		}
		for i := range rows {
			r := &rows[i]
			if !r.IsCurrent || r.IsDeleted {
				continue
			}
			if bid, is := now[r.Place()]; is && bid == r.Bid {
				same++
			} else if !is && s.isRead(r.CampaignID, r.Rule) {
				lacking = append(lacking, strings.Clone(r.CampaignID))
			}
		}
	}
	return slices.Compact(lacking), same < len(now) || len(lacking) > 0 || len(stored.Added) > 0, nil
}

// stage adds the rules of sources to their history, campaign by campaign: there may be
// hundreds of thousands. If none has changed, their file is not read.
func (k ruleKind) stage(r *settingsStage, s *settings) error {
	t := schema.SourceRuleHistory
	h, err := load.StoredGroups(r.store, t)
	if err != nil {
		return err
	}
	for p := range r.was { // the end of a campaign confirms that its rules have ended
		if r.ended[p.CampaignID] && p.EntityID == "" && slices.Contains(ruleKinds, p.Part) {
			r.next[p] = s.since
		}
	}
	if !s.rulesDiffer && !r.endsNow && h.Stored != nil {
		return r.confirmUnchangedRules(s, h.Memory)
	}
	o, seen := k.observed(r, s)
	var memory history.Memory
	var st history.Stats
	var differ []string
	err = load.PutGroups(r.store, r.area, &r.part, t, func(yield func([]schema.SourceRule, error) bool) {
		stopped := errors.New("nothing more is asked for")
		put := func(rows []schema.SourceRule, is bool) error {
			if is {
				differ = append(differ, rows[0].CampaignID)
			}
			if !yield(rows, nil) {
				return stopped
			}
			return nil
		}
		memory, st, err = history.AdvanceGroups(t, t.Tracked(), h, o, seen, put)
		if err != nil && !errors.Is(err, stopped) {
			yield(nil, err)
		}
	}, &memory)
	if err == nil {
		r.part.PutDiffering(t.Table, differ)
		r.noteAdvance(t.Table, st)
	}
	return err
}

// observed returns the observation of the rules, and those that were read by campaign.
func (ruleKind) observed(r *settingsStage, s *settings) (o history.Observation[schema.SourceRule],
	seen []history.SeenGroup[schema.SourceRule]) {
	for _, campaign := range slices.Sorted(maps.Keys(s.campaigns)) {
		if s.campaigns[campaign].rules != nil {
			rows := func() []history.Seen[schema.SourceRule] { return s.rowsOfRules(r.Account, campaign) }
			seen = append(seen, history.SeenGroup[schema.SourceRule]{Name: campaign, Seen: rows})
		}
	}
	return history.Observation[schema.SourceRule]{
		Since: s.since, At: s.at, RunID: r.RunID, Patience: schema.SourceRuleHistory.Patience,
		Absence: func(rule *schema.SourceRule) history.Absence {
			return goneIf(s.isRead(rule.CampaignID, rule.Rule) || r.ended[rule.CampaignID])
		},
		Confirmed: func(rule *schema.SourceRule) schema.Instant { return r.was.Confirmed(rule.Place()) },
		Confirm:   func(rule *schema.SourceRule, at schema.Instant) { r.next.Confirm(rule.Place(), at) },
	}, seen
}

// confirmUnchangedRules carries all rules of sources forward when none has changed, and confirms the kinds of rules
// that were read.
func (r *settingsStage) confirmUnchangedRules(s *settings, was history.Memory) error {
	for p, at := range r.was {
		isRule := slices.Contains(ruleKinds, p.Part)
		if isRule && p.EntityID != "" && !s.isRead(p.CampaignID, p.Part) && !r.ended[p.CampaignID] {
			r.next[p] = at
		}
	}
	was.ObservedAt = s.at
	return load.PutMemory(r.store, r.area, &r.part, schema.SourceRuleHistory, was)
}

// ruleKinds are the kinds of rules of sources.
var ruleKinds = []string{schema.RuleBlocked, schema.RuleAllowed, schema.RuleBid, schema.RuleOptimized}

// rowsOfRules returns the observed rules of a campaign, in the order of their history.
func (s *settings) rowsOfRules(account, campaign string) []history.Seen[schema.SourceRule] {
	rules := s.campaigns[campaign].rules
	slices.SortFunc(rules, func(a, b sourceRule) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.rule, b.rule))
	})
	seen := make([]history.Seen[schema.SourceRule], len(rules))
	for i, r := range rules {
		seen[i].Row = schema.SourceRule{AccountID: account, CampaignID: campaign, SourceID: r.source, Rule: r.rule,
			Bid: r.bid}
	}
	return seen
}
