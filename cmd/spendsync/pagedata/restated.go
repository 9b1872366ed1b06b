package pagedata

import (
	"fmt"
	"slices"
	"time"

	"spendsync/cmd/spendsync/page"
	"spendsync/schema"
)

// restatedAges are the columns of the heat map: the first and the last age in days
// of each.
var restatedAges = [][2]int{{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {7, 7}, {8, 14}, {15, 21}, {22, 32}}

// restated queries the differences seen at each age. A cell is unknown if no read was made at that
// age, or not yet.
func (q *reader) restated(id string) page.Restated {
	v := page.Restated{Why: "No finished day has been seen to change yet. The first look at a day cannot show a " +
		"change, so this fills as syncs go on."}
	for _, a := range restatedAges {
		name := fmt.Sprint(a[0])
		if a[0] != a[1] {
			name = fmt.Sprintf("%d–%d", a[0], a[1])
		}
		v.Ages = append(v.Ages, name)
	}
	changed := q.restatements(id)
	if len(changed) == 0 {
		return v
	}
	looked := q.looks(id)
	for _, r := range q.rows("SELECT c.report_date FROM ops.day_coverage AS c WHERE c.account_id = %s AND c.state IN "+
		"('complete', 'final') ORDER BY c.report_date DESC LIMIT %d", id, maxRestated) {
		d := page.RestatedDay{Date: r.date("report_date")}
		for i := range restatedAges {
			k := restatedKey{d.Date, i}
			c, seen := changed[k]
			c.Seen, c.Unknown = seen, !seen && !looked[k]
			d.Cells = append(d.Cells, c)
		}
		v.Days = append(v.Days, d)
	}
	slices.Reverse(v.Days)
	days := map[schema.Date]bool{}
	for k := range changed {
		days[k.date] = true
	}
	v.Changed = len(days)
	q.settlement(id, &v)
	return v
}

type restatedKey struct {
	date schema.Date
	age  int // place in restatedAges
}

// ageAt returns the index in restatedAges of a day's age at an instant, or -1.
func ageAt(day schema.Date, at time.Time) int {
	age := int(schema.DateOf(at) - day)
	return slices.IndexFunc(restatedAges, func(a [2]int) bool { return a[0] <= age && age <= a[1] })
}

// looks are the ages at which each day was read again: only then could a change be
// seen. The first read of a day that was over is none.
func (q *reader) looks(id string) map[restatedKey]bool {
	looked, whole := map[restatedKey]bool{}, map[schema.Date]bool{}
	for _, r := range q.rows(`SELECT s.unit, epoch_us(s.started_at) AS read_at FROM ops.step AS s
JOIN ops.day_coverage AS c ON c.account_id = s.account_id AND c.report_date::VARCHAR = s.unit
WHERE s.account_id = %s AND s.stream = 'spend_report' AND s.outcome IN ('stored', 'unchanged') AND c.state IN
('complete', 'final')
ORDER BY s.started_at, s._run_id`, id) {
		day := r.date("unit")
		i := ageAt(day, r.instant("read_at"))
		if i < 0 {
			continue // the day was not over
		}
		if whole[day] {
			looked[restatedKey{day, i}] = true
		}
		whole[day] = true
	}
	return looked
}

func (q *reader) restatements(id string) map[restatedKey]page.RestatedCell {
	changed := map[restatedKey]page.RestatedCell{}
	buckets := "CASE"
	for i, a := range restatedAges {
		buckets += fmt.Sprintf(" WHEN s.age_days <= %d THEN %d", a[1], i)
	}
	for _, r := range q.rows(`WITH day AS (
  SELECT d.report_date, sum(d.conversions) AS conversions FROM mart.campaign_day AS d WHERE d.account_id = %[1]s
  GROUP BY d.report_date
), seen AS (
  SELECT r.*, d.conversions - sum(r.conversions_change) OVER (PARTITION BY r.report_date ORDER BY r.seen_at DESC) AS
  conversions_before
  FROM mart.restatements AS r LEFT JOIN day AS d ON d.report_date = r.report_date
  WHERE r.account_id = %[1]s
)
SELECT s.report_date, %[2]s ELSE %[3]d END AS age, sum(s.spend_change) AS spend_change, sum(s.conversions_change) AS
conversions_change,
  sum(s.spend_change)::DOUBLE / nullif(arg_min(s.spend_before, s.seen_at), 0)::DOUBLE AS spend_share,
  sum(s.conversions_change)::DOUBLE / nullif(arg_min(s.conversions_before, s.seen_at), 0) AS conversions_share,
  sum(s.rows_inserted + s.rows_updated + s.rows_deleted) AS lines
FROM seen AS s GROUP BY ALL`, id, buckets, len(restatedAges)-1) {
		changed[restatedKey{r.date("report_date"), r.int("age")}] = page.RestatedCell{
			Spend: r.number("spend_share"), SpendDelta: r.number("spend_change"),
			Conversions:      r.number("conversions_share"),
			ConversionsDelta: r.number("conversions_change"), Lines: r.number("lines"),
		}
	}
	return changed
}

// settlement asks how much of the final numbers is there at each age, up to the one from
// which on all of it is.
func (q *reader) settlement(id string, v *page.Restated) {
	for i, r := range q.rows(`SELECT s.age_days, s.spend_share, s.conversions_share, s.settled_age_days,
		s.days_followed, (SELECT t.value FROM mart.threshold AS t WHERE t.name = 'settled_share') AS share
FROM mart.settlement AS s WHERE s.account_id = %s AND s.days_followed > 0 ORDER BY s.age_days`, id) {
		f := page.Factor{Age: r.number("age_days"), Share: r.number("conversions_share"),
			Days: r.number("days_followed")}
		if i == 0 {
			v.SettledAge, v.FirstAge, v.FirstSpend, v.FirstConversions = r.number("settled_age_days"), f.Age,
				r.number("spend_share"), f.Share
			v.Followed, v.Share = f.Days, r.number("share")
		}
		if f.Share.Known && f.Share.V > 0 && len(v.Factors) < maxFactors {
			f.Times = page.N(1 / f.Share.V)
			v.Factors = append(v.Factors, f)
		}
	}
}
