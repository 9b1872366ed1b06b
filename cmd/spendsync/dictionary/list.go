package dictionary

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"spendsync/cmd/internal/cli"
	"spendsync/schema"
)

type tableGroup struct {
	title string
	names []string
}

// tableGroups lists tables and views by subject, in the order in which a person needs them. The names of views include
// the schema.
var tableGroups = []tableGroup{
	{"Start here: the report, and the settings of now", []string{"main.spend", "main.today", "main.campaign",
		"main.creative",
		"main.source", "main.source_rule", "main.source_mode", "main.account", "main.payout", "calendar"}},
	{"Answers: days and money", []string{"mart.to_do", "mart.campaign_performance", "mart.campaign_day",
		"mart.daily_pacing", "mart.intraday_hourly", "mart.budget_runway", "mart.revenue"}},
	{"Answers: sources, bids and creatives", []string{"mart.source_performance", "mart.source_block_candidates",
		"mart.source_scale_candidates", "mart.bid_vs_cpc", "mart.creative_fatigue"}},
	{"Answers: changes", []string{"mart.breaks", "mart.change_log", "mart.change_impact"}},
	{"How far to trust them", []string{"mart.coverage", "mart.data_quality", "ops.day_coverage", "ops.run",
		"ops.step", "ops.entity_read", "ops.refused_row", "ops.note", "ops.unknown_field", "ops.file"}},
	{"The report, row by row", []string{"spend_daily", "spend_change", "spend_intraday",
		"tracker_daily", "tracker_change"}},
	{"Every version of the settings", []string{"campaign_history", "campaign_delivery_history", "creative_history",
		"source_rule_history", "source_mode_history", "main.campaign_versions", "main.campaign_delivery_versions",
		"main.creative_versions", "main.source_rule_versions", "main.source_mode_versions", "reading",
		"account_snapshot", "account_limit", "payout_history"}},
	{"Macros: the state at a day or an instant, sums of a span", []string{"main.campaign_at", "main.campaigns_asof",
		"main.source_rules_asof", "main.spend_known_at", "main.source_performance", "main.creative_performance",
		"main.spend_on_stopped"}},
	{"Parquet only", []string{"ops_day_coverage", "ops_run", "mart_campaign_day", "mart_source_30d"}},
}

// tableDocs returns the description of every table, view and macro, without the columns of views.
func tableDocs() map[string]string {
	docs := map[string]string{}
	for _, t := range schema.Documented() {
		docs[t.FullName()] = t.Doc
	}
	for _, v := range Views() {
		docs[v.Schema+"."+v.Name] = v.Question
	}
	return docs
}

// List lists tables and views in their groups, one per line. Tables and views that belong to no group come last.
func List(width int) string {
	docs, rest := tableDocs(), tableDocs()
	for _, g := range tableGroups {
		for _, name := range g.names {
			delete(rest, name)
		}
	}
	maps.DeleteFunc(rest, func(name, _ string) bool { return strings.HasPrefix(name, "int.") })
	groups := slices.Clone(tableGroups)
	if len(rest) > 0 {
		groups = append(groups, tableGroup{"More", slices.Sorted(maps.Keys(rest))})
	}
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "%s\n\n", g.title)
		for _, name := range g.names {
			b.WriteString(cli.Entry("  "+strings.TrimPrefix(name, "main."), firstSentence(docs[name]), 31, width))
		}
		b.WriteByte('\n')
	}
	return b.String() + cli.WrapLine("'spendsync tables NAME' describes one with its columns, 'spendsync tables "+
		"--all' prints everything. Schema int has working tables, which may change with any version.", width, "") + "\n"
}

// endOfSentence matches a period or a question mark before a space.
var endOfSentence = regexp.MustCompile(`[.?] `)

func firstSentence(text string) string {
	if end := endOfSentence.FindStringIndex(text); end != nil {
		return text[:end[0]+1]
	}
	return text
}
