package duck

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"spendsync/load/duck/caveat"
	"spendsync/schema"
)

// dayTables are the tables that the days of a statement are found in. today is the day of the newest read.
var dayTables = []string{
	`CREATE TEMP TABLE IF NOT EXISTS ` + caveat.DayTable + ` AS
WITH first AS (
  SELECT c.account_id, min(c.report_date) AS day, max(c.last_read_at) AS as_of_at
  FROM ops.day_coverage AS c
  GROUP BY c.account_id
)
SELECT
  k.account_id, k.report_date, k.report_date AS date_day, c.state = 'open' AS is_open,
  c.state IN ('complete', 'final') AS is_complete, c.state = 'final' AS is_final, k.starts_at,
  CASE
    WHEN k.report_date < (SELECT min(day) FROM first) THEN 'before'
    WHEN k.report_date < f.day THEN 'after' -- the account came later
    WHEN f.as_of_at < k.starts_at THEN 'after'
    WHEN f.as_of_at < k.ends_at THEN 'going on'
    WHEN c.state IN ('complete', 'final', 'lost') THEN c.state
    WHEN c.state IN ('open', 'partial') THEN 'not over'
    ELSE 'missing'
  END AS state
FROM main.calendar AS k
JOIN first AS f ON f.account_id = k.account_id
LEFT JOIN ops.day_coverage AS c ON c.account_id = k.account_id AND c.report_date = k.report_date`,
	"CREATE TEMP VIEW IF NOT EXISTS " + caveat.StoredTable + " AS FROM temp." + caveat.DayTable +
		" WHERE state NOT IN ('before', 'after', 'missing')",
	"CREATE TEMP VIEW IF NOT EXISTS " + caveat.OverTable + " AS FROM temp." + caveat.DayTable +
		" WHERE state NOT IN ('before', 'after', 'missing', 'going on')",
}

// caveatFinder finds out how the answers to statements are easily misread.
type caveatFinder struct {
	conn  *sql.Conn
	since string // when the first of the days that a statement uses began
}

// find reports nothing where it cannot tell: the answer does not depend on it.
func (u *caveatFinder) find(ctx context.Context, tree string) (found []caveat.Finding) {
	s, err := caveat.Read([]byte(tree))
	if err != nil {
		return nil
	}
	if len(s.Days) > 0 && execAll(ctx, u.conn, dayTables) == nil {
		for _, d := range s.Days {
			found = append(found, u.findings(ctx, d)...)
		}
	}
	found = append(found, s.Findings...)
	for _, c := range s.Checks {
		query := c.SQL
		if c.SinceDay {
			if u.since == "" {
				continue
			}
			query = strings.ReplaceAll(query, "$day", schema.QuoteText(u.since)+"::TIMESTAMPTZ")
		}
		if value, ok := u.one(ctx, query); ok {
			found = append(found, caveat.Finding{Kind: c.Kind, Text: fmt.Sprintf(c.Text, value)})
		}
	}
	var once []caveat.Finding
	for _, f := range found {
		if !slices.Contains(once, f) {
			once = append(once, f)
		}
	}
	return once
}

// one returns the only value of a query, if it has one.
func (u *caveatFinder) one(ctx context.Context, query string) (value string, ok bool) {
	rows, err := u.conn.QueryContext(ctx, query)
	if err != nil {
		return "", false
	}
	defer rows.Close()
	if !rows.Next() {
		return "", false
	}
	err = rows.Scan(&value)
	return value, err == nil && rows.Err() == nil
}

// dayCounts is how many of the days are in which state.
type dayCounts struct {
	stored, before int
	unbounded      bool // the first day of the calendar is among them
	since          string
	states         []dayState
}

// dayState is one state, with its first and last day.
type dayState struct {
	state       string
	days        int
	first, last string
}

func (s dayState) span() string {
	if s.first == s.last {
		return s.first
	}
	return fmt.Sprintf("%d days from %s to %s", s.days, s.first, s.last)
}

func (u *caveatFinder) findings(ctx context.Context, d caveat.Days) (found []caveat.Finding) {
	var days string
	if err := u.conn.QueryRowContext(ctx, "SELECT json_deserialize_sql($1::JSON)", string(d.Tree)).
		Scan(&days); err != nil {
		return nil
	}
	used := "(SELECT * FROM temp." + caveat.DayTable + " SEMI JOIN (" + days + ") USING (account_id, report_date)"
	if !d.GoesOn {
		used += " WHERE state <> 'going on'"
	}
	used += ")"
	counts, err := u.count(ctx, used)
	if err != nil {
		return nil
	}
	if counts.since != "" && (u.since == "" || counts.since < u.since) {
		u.since = counts.since
	}
	add := func(k caveat.Kind, format string, args ...any) {
		found = append(found, caveat.Finding{Kind: k, Text: fmt.Sprintf(format, args...)})
	}
	if counts.stored == 0 {
		if d.Conditional {
			if span, ok := u.one(ctx, "SELECT min(report_date) || ' to ' || max(report_date) FROM temp."+
				caveat.OverTable); ok {
				add(caveat.NoDay, "no stored day meets the conditions: days that were over are stored from %s; "+
					"mart.intraday_hourly has the open day", span)
			}
		}
		return found
	}
	for _, s := range counts.states {
		switch s.state {
		case "going on":
			add(caveat.Open, "%s was not over when it was last read and is not complete: ask spend, or add "+
				"report_date <= (SELECT last_whole_date FROM today)", s.span())
		case "not over":
			add(caveat.Open, "%s: last read before the end of the day, so more may be missing: run "+
				"'spendsync sync', or add is_complete", s.span())
		case "missing":
			add(caveat.Missing, "%s: not read, so what was spent is unknown, not 0: run 'spendsync sync'; "+
				"coverage_gaps lists them", s.span())
		case "lost":
			add(caveat.Lost, "%s: lost, out of the report's reach: a sum is too low by what was spent then; "+
				"coverage_gaps lists them", s.span())
		}
	}
	if counts.before > 0 && !counts.unbounded {
		add(caveat.Before, "%d of the days asked for are before the first stored one: their spend is unknown, not "+
			"0: begin with (SELECT min(report_date) FROM ops.day_coverage)", counts.before)
	}
	if d.Conversions {
		found = append(found, u.young(ctx, used)...)
	}
	for _, m := range d.Measures {
		if rows, ok := u.one(ctx, fmt.Sprintf("SELECT sum(s.\"rows\" - s.rows_with_%s)::BIGINT FROM "+
			"mart.campaign_spend AS s SEMI JOIN %s AS u USING (account_id, report_date) "+
			"HAVING sum(s.\"rows\" - s.rows_with_%[1]s) > 0", m, used)); ok {
			add(caveat.Null, "%s is NULL, that is unknown, in %s rows of the days used, and a sum leaves them out: "+
				"add WHERE %[1]s IS NOT NULL to what you divide it by", m, rows)
		}
	}
	return found
}

func (u *caveatFinder) count(ctx context.Context, used string) (c dayCounts, err error) {
	rows, err := u.conn.QueryContext(ctx, "SELECT state, count(DISTINCT report_date), min(report_date)::VARCHAR, "+
		"max(report_date)::VARCHAR, min(starts_at)::VARCHAR, min(report_date) = (SELECT min(report_date) FROM temp."+
		caveat.DayTable+") FROM "+used+" GROUP BY state ORDER BY state")
	if err != nil {
		return c, err
	}
	defer rows.Close()
	for rows.Next() {
		var s dayState
		var since string
		var atFirst bool
		if err := rows.Scan(&s.state, &s.days, &s.first, &s.last, &since, &atFirst); err != nil {
			return c, err
		}
		switch s.state {
		case "before":
			c.before, c.unbounded = s.days, atFirst
		case "after":
		default:
			c.stored += s.days
			c.states = append(c.states, s)
			if c.since == "" || since < c.since {
				c.since = since
			}
		}
	}
	return c, rows.Err()
}

// youngShare is the least share of conversions still to come that an answer reports.
const youngShare = 0.02

// young finds the share of conversions that is still to come.
func (u *caveatFinder) young(ctx context.Context, used string) []caveat.Finding {
	// Final days have all: the curve is queried only if there are other days.
	if _, ok := u.one(ctx, "SELECT 1 FROM "+used+" WHERE state = 'complete' LIMIT 1"); !ok {
		return nil
	}
	text, ok := u.one(ctx, fmt.Sprintf(`WITH summed AS (
  SELECT s.account_id, s.report_date, sum(s.conversions) AS conversions
  FROM mart.campaign_spend AS s
  SEMI JOIN %s AS u USING (account_id, report_date)
  GROUP BY ALL
)
SELECT
  format('{} %% of the conversions of {} to {} are still to come', round(100 * (1 - sum(s.conversions) /
    sum(s.conversions / m.conversions_share)))::INTEGER, min(s.report_date), max(s.report_date))
FROM summed AS s
JOIN mart.day_maturity AS m USING (account_id, report_date)
WHERE m.conversions_share > 0 AND m.conversions_share < 1
HAVING 1 - sum(s.conversions) / (sum(s.conversions / m.conversions_share) + (
  SELECT coalesce(sum(conversions), 0) FROM summed
) - sum(s.conversions)) >= %g`, used, youngShare))
	if !ok {
		return nil
	}
	return []caveat.Finding{{Kind: caveat.Young, Text: text +
		": for a CPA divide by sum(conversions_expected) of spend"}}
}
