package caveat

import (
	"fmt"
	"slices"
	"strings"
)

// isMeasure reports whether an expression holds sums of the report, or counts.
func (q *query) isMeasure(e any) (found bool) {
	within(e, func(o object) bool {
		if found {
			return false
		}
		if name := functionName(o); name == "count" || name == "count_star" {
			found = true
		}
		if isColumn(o) {
			r, column := q.resolve(o)
			found = found || slices.Contains(measures, column)
			if d, in := definition(r, column); d != nil && !found {
				found = in.isMeasure(d)
			}
		}
		return !found
	})
	return found
}

// isRatio reports whether an expression is a ratio of two sums of the report.
func (q *query) isRatio(e object) (found bool) {
	within(e, func(o object) bool {
		if found {
			return false
		}
		if name := functionName(o); name == "/" {
			sides := list(o["children"])
			found = len(sides) == 2 && q.isMeasure(sides[0]) && q.isMeasure(sides[1])
		}
		if isColumn(o) {
			r, column := q.resolve(o)
			if d, in := definition(r, column); d != nil {
				found = found || in.isRatio(d)
			} else if base, name := origin(r, column); base != nil && !base.table.fact && name != "" {
				found = found || ratioColumn.MatchString(name)
			}
		}
		return !found
	})
	return found
}

// findMeans finds means and sums of values that must not be added up.
func (q *query) findMeans(s *Statement) {
	for _, e := range q.expressions() {
		within(e, func(o object) bool {
			name := functionName(o)
			children := list(o["children"])
			if len(children) == 0 || o["class"] != "WINDOW" && !isAggregate(o) {
				return true
			}
			argument := bare(obj(children[0]))
			isMean := slices.Contains(means, name)
			if (isMean || name == "sum") && q.isRatio(argument) && (isMean || isColumn(argument) ||
				functionName(argument) == "/") {
				s.add(Mean, "%s weighs each ratio the same, whatever it is of: divide sums, as in "+
					"sum(spend) / nullif(sum(clicks), 0)", spelled(o))
				return true
			}
			r, column := q.resolve(argument)
			if !isColumn(argument) || r == nil || !r.table.fact {
				return true
			}
			switch {
			case isMean && slices.Contains(measures, column):
				s.add(Mean, "%s is of rows, one per creative, source and day: add up by day or campaign in a "+
					"subquery, then take the mean", spelled(o))
			case (isMean || name == "sum") && slices.Contains(settings, column):
				s.add(Mean, "%s counts the setting once per row of spend: take it once per campaign and day, with "+
					"any_value in a subquery or from mart.campaign_day", spelled(o))
			case name == "count" && o["distinct"] != true && slices.Contains(entityColumns, column):
				s.add(Mean, "count(%[1]s) counts rows: write count(DISTINCT %[1]s)", column)
			}
			return true
		})
	}
}

// findDifferences finds sums of new values of changes: they are of what changed alone.
func (q *query) findDifferences(s *Statement) {
	for _, r := range q.relations {
		if r.name != "main.spend_change" {
			continue
		}
		for _, e := range q.expressions() {
			within(e, func(o object) bool {
				if !isAggregate(o) || !slices.Contains(counting, functionName(o)) || o["distinct"] == true {
					return true
				}
				_, column := q.resolve(bare(obj(append(list(o["children"]), object{})[0])))
				if strings.HasPrefix(column, "new_") && !q.mentions(r, "old_"+strings.TrimPrefix(column, "new_")) {
					s.add(Difference, "spend_change has rows that changed, each as often as it changed: ask spend "+
						"for what was spent, or add up new less old")
				}
				return true
			})
		}
	}
}

// hasDay reports whether a relation has money of days, at whatever depth.
func (r *relation) hasDay() bool {
	if r.sub == nil {
		return r.table.dated != ""
	}
	return r.sub.hasDay()
}

func (q *query) hasDay() bool {
	return slices.ContainsFunc(q.relations, (*relation).hasDay) || slices.ContainsFunc(q.parts, (*query).hasDay)
}

// findSettingsOfNow finds current settings next to the money of days.
func (q *query) findSettingsOfNow(s *Statement) {
	if !slices.ContainsFunc(q.relations, (*relation).hasDay) {
		return
	}
	for _, e := range q.expressions() {
		within(e, func(o object) bool {
			if !isColumn(o) {
				return true
			}
			from, name := q.resolve(o)
			base, column := origin(from, name)
			if base == nil || base.table.now == "" || !slices.Contains(settingsOfNow, column) {
				return true
			}
			cure := "ask spend, which has the settings of each day"
			if !strings.Contains(" "+spendColumns+" ", " "+column+" ") {
				cure = "mart.bid_vs_cpc has the bids of each day"
			}
			thing := "campaigns"
			if base.name == "main.source_rule" {
				thing = "rules"
			}
			s.addCheck(Check{Kind: Now, SinceDay: true, Text: fmt.Sprintf("%s of %s is the setting of now, and %%s "+
				"%s had "+
				"another on the days used: %s", column, strings.TrimPrefix(base.name, "main."), thing, cure),
				SQL: differedSQL(base, column)})
			return true
		})
	}
}

// differedSQL counts the things whose setting differed at some time since a day.
func differedSQL(view *relation, column string) string {
	key := slices.DeleteFunc(slices.Clone(tables[view.table.now].key), func(c string) bool { return c == "version_no" })
	return fmt.Sprintf("SELECT count(*) FROM (SELECT DISTINCT %[1]s FROM %[2]s AS h JOIN (FROM %[2]s WHERE "+
		"is_current AND "+
		"NOT is_deleted) AS n USING (%[1]s) WHERE NOT h.is_current AND h.valid_to > $day AND h.read_state = 'ok' AND "+
		"n.%[3]s IS DISTINCT FROM h.%[3]s) HAVING count(*) > 0", strings.Join(key, ", "), view.table.now, column)
}

// findUnread has the caller look whether settings that the SELECT shows could not be confirmed.
func (q *query) findUnread(s *Statement) {
	for _, r := range q.relations {
		if r.table.entity == "" || q.mentions(r, "unread_fields", "unread_since", "read_state", "last_confirmed_at") {
			continue
		}
		var used []string
		for _, column := range r.table.columns {
			if !slices.Contains(r.table.key, column) && q.mentions(r, column) {
				used = append(used, "'"+column+"'")
			}
		}
		if q.star && !q.aggregated || len(used) == 0 {
			continue
		}
		s.addCheck(Check{Kind: Unread, SQL: fmt.Sprintf("SELECT count(*) FROM mart.unconfirmed_settings AS u WHERE "+
			"u.entity_type = '%s' AND (u.unread_fields = 'everything' OR "+
			"list_has_any(string_split(u.unread_fields, ','), "+
			"[%s])) HAVING count(*) > 0", r.table.entity, strings.Join(used, ", ")),
			Text: fmt.Sprintf("%s: %%s could not be read at the last sync and show what was read before: "+
				"unread_fields and "+
				"unread_since say which", strings.TrimPrefix(r.name, "main."))})
	}
}
