package pagedata

import (
	"math"
	"slices"
	"strings"

	"spendsync/cmd/spendsync/page"
	"spendsync/schema"
)

// sourceKey is a source of a campaign.
type sourceKey struct{ campaign, source string }

// candidates are the sources that a view names, the most important first.
type candidates struct {
	keys   []sourceKey
	excess map[sourceKey]page.Number
}

// shown are the keys of those that have a line on the page, as a list of SQL.
func (c candidates) shown() (list []string) {
	for _, k := range c.keys[:min(maxSources, len(c.keys))] {
		list = append(list, "("+schema.QuoteText(k.campaign)+", "+schema.QuoteText(k.source)+")")
	}
	return list
}

// place is where each of them stands.
func (c candidates) place() map[sourceKey]int {
	places := map[sourceKey]int{}
	for i, k := range c.keys {
		places[k] = i
	}
	return places
}

func (c *candidates) add(r row) {
	k := sourceKey{r.text("campaign_id"), r.text("source_id")}
	c.keys = append(c.keys, k)
	c.excess[k] = r.number("excess_spend")
}

// candidates asks which sources lose and are to be blocked, which are worth a higher bid, and for
// which of those the service moves the bid by itself. Each view is asked by itself:
// joined with each other they take the engine four times as long.
func (q *reader) candidates(id string) (block, scale, optimized candidates) {
	for _, c := range []*candidates{&block, &scale, &optimized} {
		c.excess = map[sourceKey]page.Number{}
	}
	for _, r := range q.rows(`SELECT b.campaign_id, b.source_id, b.excess_spend FROM mart.source_block_candidates AS b
WHERE b.account_id = %s AND b.verdict <> 'crowds_out'
ORDER BY b.excess_spend DESC, b.spend DESC, b.campaign_id, b.source_id`, id) {
		block.add(r)
	}
	for _, r := range q.rows(`SELECT c.campaign_id, c.source_id, c.is_optimized FROM mart.source_scale_candidates AS c
WHERE c.account_id = %s ORDER BY c.spend DESC, c.campaign_id, c.source_id`, id) {
		if r.bool("is_optimized") {
			optimized.add(r)
		} else {
			scale.add(r)
		}
	}
	return block, scale, optimized
}

// sources asks what the sources cost and bring, and which are to be blocked, those
// without a line on the page among them.
func (q *reader) sources(id string) (s page.Sources, blocked map[sourceKey]int) {
	s.Why = "No source spent anything in the window of whole days, so there is nothing to judge."
	block, scale, optimized := q.candidates(id)
	blocked = block.place()
	verdicts := map[sourceKey]string{}
	for verdict, c := range map[string]candidates{"optimized": optimized, "scale": scale, "block": block} {
		for _, k := range c.keys {
			if verdict == "block" || verdicts[k] == "" {
				verdicts[k] = verdict
			}
		}
	}
	named := slices.Concat(block.shown(), scale.shown(), optimized.shown(), []string{"('', '')"})
	rows := q.rows(`SELECT p.campaign_id, p.campaign_name, p.source_id, p.window_from, p.window_to, p.days_known,
  p.spend, p.clicks, p.conversions, p.cpa, p.cpa_best_case, p.cpa_worst_case, p.judged_cpa, p.target_origin
FROM mart.source_performance AS p
WHERE p.account_id = %[1]s AND p.spend > 0 AND ((p.campaign_id, p.source_id) IN (%[3]s)
  OR (p.campaign_id, p.source_id) IN (
    SELECT (t.campaign_id, t.source_id) FROM mart.source_performance AS t WHERE t.account_id = %[1]s AND t.spend > 0
    ORDER BY t.spend DESC, t.campaign_id, t.source_id LIMIT %[2]d))
ORDER BY p.spend DESC, p.campaign_id, p.source_id`, id, maxSources+len(verdicts), strings.Join(named, ", "))
	s.More = q.row("SELECT count(*) AS sources FROM mart.source_performance AS p WHERE p.account_id = %s AND "+
		"p.spend > 0", id).int("sources")
	of := map[string][]page.Source{}
	for _, r := range rows {
		k := sourceKey{r.text("campaign_id"), r.text("source_id")}
		of[verdicts[k]] = append(of[verdicts[k]], page.Source{Campaign: r.named("campaign_id", "campaign_name"),
			Source: k.source, Spend: r.number("spend"), Clicks: r.number("clicks"),
			Conversions: r.number("conversions"), CPA: r.number("cpa"), Best: r.number("cpa_best_case"),
			Worst: r.number("cpa_worst_case"), Target: r.number("judged_cpa"), Excess: block.excess[k],
			TargetOrigin: r.text("target_origin"), Verdict: verdicts[k]})
		s.From, s.To, s.Days = r.date("window_from"), r.date("window_to"), r.number("days_known")
	}
	slices.SortStableFunc(of["block"], func(x, y page.Source) int {
		return blocked[sourceKey{x.Campaign.ID, x.Source}] - blocked[sourceKey{y.Campaign.ID, y.Source}]
	})
	for _, verdict := range []string{"block", "scale", "optimized", ""} {
		s.Rows = append(s.Rows, of[verdict][:min(maxSources, len(of[verdict]))]...)
	}
	if s.More -= len(s.Rows); len(rows) > 0 {
		s.Block, s.Scale = page.N(float64(len(block.keys))), page.N(float64(len(scale.keys)))
		s.Optimized, s.Excess = page.N(float64(len(optimized.keys))), sumOf(block.excess)
	}
	return s, blocked
}

// sumOf adds amounts up, in millionths: they have no more decimals.
func sumOf(amounts map[sourceKey]page.Number) page.Number {
	total := int64(0)
	for _, n := range amounts {
		total += int64(math.Round(n.V * 1e6))
	}
	return page.N(float64(total) / 1e6)
}
