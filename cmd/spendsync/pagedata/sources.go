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

// candidate is a source that a view names for something to be done.
type candidate struct {
	sourceKey
	verdict string // one of verdicts
	place   int    // among those of its verdict, the most important first
	// US dollars: spent beyond the worth of the conversions, and lost by a day of going on.
	excess, daily page.Number
}

// verdicts are what there is to do, in the order of the page: to block what loses, and what takes the place of better
// sources; to bid more, or to leave that to the service.
var verdicts = []string{"block", "crowds_out", "scale", "optimized"}

// candidates asks which sources are to be blocked, which are worth a higher bid, and for which of
// those the service moves the bid by itself. Each view is asked by itself:
// joined with each other they take the engine four times as long.
func (q *reader) candidates(id string) (all []candidate) {
	places := map[string]int{}
	add := func(verdict string, r row) {
		all = append(all, candidate{sourceKey{r.text("campaign_id"), r.text("source_id")}, verdict, places[verdict],
			r.number("excess_spend"), r.number("loss_per_day")})
		places[verdict]++
	}
	for _, r := range q.rows(`SELECT b.campaign_id, b.source_id, b.is_losing, b.excess_spend, b.loss_per_day
FROM mart.source_block_candidates AS b WHERE b.account_id = %s
ORDER BY b.loss_per_day DESC NULLS LAST, b.excess_spend DESC, b.campaign_id, b.source_id`, id) {
		if r.bool("is_losing") {
			add("block", r)
		} else {
			add("crowds_out", r)
		}
	}
	for _, r := range q.rows(`SELECT c.campaign_id, c.source_id, c.is_optimized FROM mart.source_scale_candidates AS c
WHERE c.account_id = %s ORDER BY c.spend DESC, c.campaign_id, c.source_id`, id) {
		if r.bool("is_optimized") {
			add("optimized", r)
		} else {
			add("scale", r)
		}
	}
	return all
}

// sources asks what the sources cost and bring, and which are to be blocked, those
// without a line on the page among them.
func (q *reader) sources(id string) (s page.Sources, blocked map[sourceKey]bool) {
	s.Why = "No source spent anything in the window of whole days, so there is nothing to judge."
	named, blocked, shown := map[sourceKey]candidate{}, map[sourceKey]bool{}, []string{"('', '')"}
	var excess, losing, crowding []page.Number
	counts := map[string]int{}
	for _, c := range q.candidates(id) {
		switch c.verdict {
		case "block":
			excess, losing = append(excess, c.excess), append(losing, c.daily)
		case "crowds_out":
			crowding = append(crowding, c.daily)
		}
		counts[c.verdict]++
		if blocked[c.sourceKey] {
			continue
		}
		blocked[c.sourceKey] = c.verdict == "block" || c.verdict == "crowds_out"
		if named[c.sourceKey] = c; c.place < maxSources {
			shown = append(shown, "("+schema.QuoteText(c.campaign)+", "+schema.QuoteText(c.source)+")")
		}
	}
	rows := q.rows(`SELECT p.campaign_id, p.campaign_name, p.source_id, p.window_from, p.window_to, p.days_known,
  p.spend, p.clicks, p.conversions, p.cpa, p.cpa_best_case, p.cpa_worst_case, p.judged_cpa, p.target_origin,
  j.loss_per_day
FROM mart.source_performance AS p
LEFT JOIN mart.source_judgement AS j
  ON j.account_id = p.account_id AND j.campaign_id = p.campaign_id AND j.source_id = p.source_id
WHERE p.account_id = %[1]s AND p.spend > 0 AND ((p.campaign_id, p.source_id) IN (%[3]s)
  OR (p.campaign_id, p.source_id) IN (
    SELECT (t.campaign_id, t.source_id) FROM mart.source_performance AS t WHERE t.account_id = %[1]s AND t.spend > 0
    ORDER BY t.spend DESC, t.campaign_id, t.source_id LIMIT %[2]d))
ORDER BY p.spend DESC, p.campaign_id, p.source_id`, id, maxSources+len(named), strings.Join(shown, ", "))
	s.More = q.row("SELECT count(*) AS sources FROM mart.source_performance AS p WHERE p.account_id = %s AND "+
		"p.spend > 0", id).int("sources")
	of := map[string][]page.Source{}
	for _, r := range rows {
		k := sourceKey{r.text("campaign_id"), r.text("source_id")}
		c, daily := named[k], r.number("loss_per_day")
		if c.daily.Known {
			daily = c.daily
		}
		of[c.verdict] = append(of[c.verdict], page.Source{Campaign: r.named("campaign_id", "campaign_name"),
			Source: k.source, Spend: r.number("spend"), Clicks: r.number("clicks"),
			Conversions: r.number("conversions"), CPA: r.number("cpa"), Best: r.number("cpa_best_case"),
			Worst: r.number("cpa_worst_case"), Target: r.number("judged_cpa"), Daily: daily,
			TargetOrigin: r.text("target_origin"), Verdict: c.verdict})
		s.From, s.To, s.Days = r.date("window_from"), r.date("window_to"), r.number("days_known")
	}
	for _, verdict := range append(verdicts, "") {
		slices.SortStableFunc(of[verdict], func(x, y page.Source) int {
			return named[sourceKey{x.Campaign.ID, x.Source}].place - named[sourceKey{y.Campaign.ID, y.Source}].place
		})
		s.Rows = append(s.Rows, of[verdict][:min(maxSources, len(of[verdict]))]...)
	}
	if s.More -= len(s.Rows); len(rows) > 0 {
		count := func(verdict string) page.Number { return page.N(float64(counts[verdict])) }
		s.Block, s.CrowdsOut, s.Scale, s.Optimized = count("block"), count("crowds_out"), count("scale"),
			count("optimized")
		s.Excess, s.Losing, s.Crowding = sumOf(excess), sumOf(losing), sumOf(crowding)
	}
	return s, blocked
}

// sumOf adds amounts up, in millionths: they have no more decimals.
func sumOf(amounts []page.Number) page.Number {
	total := int64(0)
	for _, n := range amounts {
		total += int64(math.Round(n.V * 1e6))
	}
	return page.N(float64(total) / 1e6)
}
