package duck

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"spendsync/schema"
)

// Caveats are the facts about an account's data that a reader of an answer needs: how recent the data is and which of
// the asked days are missing. If the answer has conversions or ratios of conversions, Caveats also has the number of
// days whose conversions still arrive.
type Caveats struct {
	Account string    `json:"account_id"`
	AsOf    time.Time `json:"as_of"`                      // when the newest rows were read
	OpenDay string    `json:"open_day"`                   // the Chicago day of AsOf, which was not over
	IsOver  bool      `json:"open_day_is_over,omitempty"` // OpenDay is over now, so days may be missing since then
	// Missing days have not been read yet. Partial days have been read only in part. Lost days are missing and can no
	// longer be read. Incomplete days are partial and can no longer be read in full. Absent days are before the first
	// day of the store or in the future. Consecutive days are one entry.
	Missing    []string `json:"missing_days,omitempty"`
	Partial    []string `json:"partial_days,omitempty"`
	Lost       []string `json:"lost_days,omitempty"`
	Incomplete []string `json:"incomplete_days,omitempty"`
	Absent     []string `json:"absent_days,omitempty"`
	// OfAllDays is set if the answer does not show its days. The facts about days are then about all days of the store,
	// and OfAllDays is the first of these.
	OfAllDays string `json:"of_all_days_since,omitempty"`
	Young     int    `json:"young_days,omitempty"` // days whose conversions still arrive
	YoungFrom string `json:"young_from,omitempty"` // the first of them
	// ToCome is the share of the young days' conversions that has yet to arrive.
	ToCome float64 `json:"conversions_to_come,omitempty"`
	// Unknown counts the days for which it is not known yet how many conversions will still arrive.
	Unknown int `json:"days_not_known_yet,omitempty"`
}

// String returns the caveats as a paragraph.
func (f Caveats) String() string {
	text := "No day is stored."
	if f.OpenDay != "" {
		rest := "is open."
		if f.IsOver {
			rest = "was open then, and no later day is stored ('spendsync sync' reads them)."
		}
		text = fmt.Sprintf("As of %s in Chicago; %s %s", f.AsOf.In(schema.Chicago()).Format("2006-01-02 15:04"),
			f.OpenDay, rest)
	}
	before := len(text)
	for _, days := range []struct {
		spans []string
		form  string
	}{
		{f.Missing, " Missing, so unknown and not 0: %s ('spendsync sync' reads them)."},
		{f.Partial, " Read only in part so far: %s ('spendsync query mart.coverage' says why)."},
		{f.Lost, " Lost: %s."},
		{f.Incomplete, " Read only in part, and the rest is lost: %s."},
		{f.Absent, " Not in the store, so unknown and not 0: %s."},
	} {
		if len(days.spans) > 0 {
			text += fmt.Sprintf(days.form, strings.Join(days.spans, ", "))
		}
	}
	if len(text) == before && f.OfAllDays != "" {
		text += " No day since " + f.OfAllDays + " is missing."
	} else if len(text) == before {
		text += " No day is missing."
	}
	if f.Young > 0 && f.OfAllDays != "" {
		text += fmt.Sprintf(" If the answer has days from %s on, their conversions are still arriving: %.0f %% of "+
			"those of %s are to come.", f.YoungFrom, 100*f.ToCome, countDays(f.Young))
	} else if f.Young > 0 {
		text += fmt.Sprintf(" Conversions of %s are still arriving: %.0f %% of them are to come.", countDays(f.Young),
			100*f.ToCome)
	}
	if f.Unknown > 0 {
		text += " How many conversions of " + countDays(f.Unknown) + " are still to come is not known yet: from the " +
			"sync of the next day on it is."
	}
	return text
}

func countDays(n int) string {
	if n == 1 {
		return "1 day"
	}
	return fmt.Sprintf("%d days", n)
}

// CaveatLines returns a paragraph for each account. If there are several accounts, each paragraph begins with the name
// of its account.
func CaveatLines(all []Caveats) (lines []string) {
	for _, f := range all {
		text := f.String()
		if len(all) > 1 {
			text = f.Account + ": " + text
		}
		lines = append(lines, text)
	}
	return lines
}

// ofConversions matches the names of columns that count conversions or are computed from them.
var ofConversions = regexp.MustCompile(`(^|_)(conversions|cpa|roi)($|_)`)

// hasConversions reports whether the answer has a conversion, or a number that is computed from conversions. The column
// target_cpa is left out, because it is a campaign's setting.
func (r *Result) hasConversions() bool {
	return (r.isView || r.Count > 0) && slices.ContainsFunc(r.Columns, func(c Column) bool {
		return ofConversions.MatchString(c.Name) && c.Name != "target_cpa"
	})
}

// caveats returns the caveats of the answer, by account. If the file lacks the tables that caveats are made from, there
// are no caveats.
func (r *Result) caveats(ctx context.Context, q Query) (all []Caveats) {
	read, err := r.s.Query(ctx, "SELECT t.account_id, epoch_us(t.as_of_at), t.today FROM main.today AS t ORDER BY ALL")
	if err != nil {
		return nil
	}
	for _, row := range read.Rows {
		var us int64
		fmt.Sscan(row[1].V, &us)
		all = append(all, Caveats{Account: row[0].V, AsOf: time.UnixMicro(us).UTC(), OpenDay: row[2].V,
			IsOver: row[2].V < schema.DateOf(q.CaveatsAt).String()})
	}
	caveatsOf := func(account string) *Caveats {
		i := slices.IndexFunc(all, func(f Caveats) bool { return f.Account == account })
		if i < 0 { // the account has no stored day
			i, all = len(all), append(all, Caveats{Account: account})
		}
		return &all[i]
	}
	daysSQL, isAll := r.askedDays(ctx, q.Days)
	if isAll {
		first, err := r.s.Query(ctx,
			"SELECT account_id, min(report_date) FROM ops.day_coverage GROUP BY ALL ORDER BY ALL")
		if err != nil {
			return all
		}
		for _, row := range first.Rows {
			caveatsOf(row[0].V).OfAllDays = row[1].V
		}
	}
	gaps, err := r.s.Query(ctx, "SELECT a.account_id, CASE WHEN a.state = 'partial' AND a.days_until_unreachable = 0 "+
		"THEN 'incomplete' ELSE a.state END, a.report_date - DATE '1970-01-01' FROM ("+daysSQL+") AS a WHERE a.state "+
		"IN ('missing', 'partial', 'lost', 'absent') ORDER BY ALL")
	if err != nil {
		return all
	}
	for i := 0; i < len(gaps.Rows); {
		var first schema.Date
		fmt.Sscan(gaps.Rows[i][2].V, (*int32)(&first))
		n := 1
		for i+n < len(gaps.Rows) && gaps.Rows[i+n][0] == gaps.Rows[i][0] && gaps.Rows[i+n][1] == gaps.Rows[i][1] &&
			gaps.Rows[i+n][2].V == fmt.Sprint(int32(first)+int32(n)) {
			n++
		}
		span := first.String()
		if n > 1 {
			span += " to " + (first + schema.Date(n-1)).String()
		}
		f := caveatsOf(gaps.Rows[i][0].V)
		to := map[string]*[]string{"missing": &f.Missing, "partial": &f.Partial, "lost": &f.Lost,
			"incomplete": &f.Incomplete, "absent": &f.Absent}[gaps.Rows[i][1].V]
		*to = append(*to, span)
		i += n
	}
	if r.hasConversions() {
		r.young(ctx, daysSQL, caveatsOf)
	}
	return all
}

// askedDays returns SQL for the days that the answer is about, with account_id, report_date, state and
// days_until_unreachable. The state of a day that the store does not have is "absent". If the answer does not show its
// days, the SQL is for all days of the store, and isAll is true.
func (r *Result) askedDays(ctx context.Context, days string) (daysSQL string, isAll bool) {
	between := func(first, last, where string) string {
		return fmt.Sprintf(`SELECT s.* FROM (SELECT d.account_id, d.report_date, coalesce(c.state, 'absent') AS state,
    c.days_until_unreachable
  FROM (SELECT account_id, unnest(generate_series(%s, %s, INTERVAL 1 DAY))::DATE AS report_date
    FROM ops.day_coverage GROUP BY account_id) AS d
  LEFT JOIN ops.day_coverage AS c ON c.account_id = d.account_id AND c.report_date = d.report_date) AS s
JOIN main.today AS t ON t.account_id = s.account_id WHERE %s`, first, last, where)
	}
	if days != "" { // no query with Days looks back further than 400 days
		return between("min(report_date) - 400", "max(report_date)", days), false
	}
	for _, pair := range [][2]string{{"report_date", "report_date"}, {"window_from", "window_to"}} {
		hasColumn := func(name string) bool { return slices.Contains(r.Columns, Column{name, "DATE"}) }
		if r.isView || !hasColumn(pair[0]) || !hasColumn(pair[1]) {
			continue
		}
		span, err := r.s.Query(ctx, fmt.Sprintf("SELECT min(%s), max(%s) FROM temp.answer", pair[0], pair[1]))
		if err == nil && span.Rows[0][0].Valid && span.Rows[0][1].Valid {
			return between("DATE "+schema.QuoteText(span.Rows[0][0].V), "DATE "+schema.QuoteText(span.Rows[0][1].V),
				"true"), false
		}
	}
	return between("min(report_date)", "max(report_date)", "true"), true
}

// young sets Young, YoungFrom, ToCome and Unknown.
func (r *Result) young(ctx context.Context, daysSQL string, caveatsOf func(string) *Caveats) {
	// Final days have all their conversions, so the expensive query is skipped if all days are final.
	if open, err := r.s.Query(ctx, "SELECT 1 FROM ("+daysSQL+") AS a WHERE a.state = 'complete' LIMIT 1"); err != nil ||
		len(open.Rows) == 0 {
		return
	}
	young, err := r.s.Query(ctx, fmt.Sprintf(`WITH day AS (
  SELECT c.account_id, c.report_date, sum(c.conversions) AS conversions, sum(c.spend)::DOUBLE AS spend
  FROM int.campaign_spend AS c
  GROUP BY c.account_id, c.report_date
)
SELECT
  m.account_id, count(*) FILTER (WHERE m.is_young),
  coalesce(1 - sum(d.conversions) FILTER (WHERE m.is_young)
    / nullif(sum(d.conversions / m.conversions_share) FILTER (WHERE m.is_young), 0),
    1 - avg(m.conversions_share) FILTER (WHERE m.is_young), 0),
  count(*) FILTER (WHERE m.conversions_share IS NULL),
  coalesce(min(m.report_date) FILTER (WHERE m.is_young)::VARCHAR, '')
FROM int.day_maturity AS m
JOIN (%s) AS a ON a.account_id = m.account_id AND a.report_date = m.report_date
JOIN day AS d ON d.account_id = m.account_id AND d.report_date = m.report_date
WHERE (m.conversions_share > 0 AND m.is_young) OR m.conversions_share IS NULL
GROUP BY m.account_id`, daysSQL))
	if err != nil {
		return
	}
	for _, row := range young.Rows {
		f := caveatsOf(row[0].V)
		fmt.Sscan(row[1].V, &f.Young)
		fmt.Sscan(row[2].V, &f.ToCome)
		fmt.Sscan(row[3].V, &f.Unknown)
		f.YoungFrom = row[4].V
		f.ToCome = math.Round(1000*f.ToCome) / 1000
	}
}
