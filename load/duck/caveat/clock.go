package caveat

import (
	"slices"
	"strings"
)

// clocks are the functions and names that give the moment of the reader's clock; those in days give its day.
var (
	clockMoments = []string{"now", "current_timestamp", "get_current_timestamp", "transaction_timestamp",
		"localtimestamp",
		"current_localtimestamp"}
	clockDays = []string{"current_date", "today"}
)

// clockOf returns the clock that an expression reads, or "".
func clockOf(o object, names []string) string {
	name := functionName(o)
	if isColumn(o) && len(list(o["column_names"])) == 1 {
		if _, name = columnName(o); name == "today" { // a column of main.today
			return ""
		}
	}
	if slices.Contains(names, name) {
		return name
	}
	return ""
}

// dayMakers are the functions that cut an instant to days or parts of them.
var dayMakers = []string{"date_trunc", "datetrunc", "date_part", "datepart", "strftime", "dayname", "dayofweek", "dow",
	"isodow", "day", "month", "year", "hour", "week", "to_char", "time_bucket", "last_day", "monthname",
	"weekday", "date",
	"extract"}

// makesDay reports whether an expression truncates an instant to a day in the reader's time zone.
func makesDay(o object) bool {
	if o["class"] == "CAST" {
		_, literal := constant(o)
		return !literal && lower(obj(o["cast_type"])["id"]) == "date"
	}
	return slices.Contains(dayMakers, functionName(o))
}

// has reports whether an expression contains something, outside of what converts it to a named time zone.
func has(e any, what func(object) bool) (found bool) {
	within(e, func(o object) bool {
		if found || functionName(o) == "timezone" {
			return false
		}
		found = what(o)
		return !found
	})
	return found
}

// namesDay reports whether an expression is a column of Chicago days.
func namesDay(o object) bool {
	_, column := columnName(o)
	return isColumn(o) && dayColumn.MatchString(column)
}

const clockCure = "its day differs from Chicago's for hours, and an old file's from both: ask today, as in " +
	"report_date = " +
	"(SELECT last_whole_date FROM today)"

// findClock finds the reader's clock where a Chicago day is meant.
func findClock(s *Statement, root object, queries []*query) {
	if !slices.ContainsFunc(queries, func(q *query) bool {
		return slices.ContainsFunc(q.relations, func(r *relation) bool { return r.name != "" })
	}) {
		return
	}
	walk(root, func(o object) bool {
		if name := clockOf(o, clockDays); name != "" {
			s.add(Clock, "%s is of the reader's clock: %s", name, clockCure)
		}
		moment := ""
		isMoment := func(e object) bool {
			if name := clockOf(e, clockMoments); name != "" {
				moment = name
				return true
			}
			return false
		}
		compares := o["class"] == "COMPARISON" || o["class"] == "BETWEEN"
		if (makesDay(o) || compares && has(o, namesDay)) && has(o, isMoment) {
			s.add(Clock, "%s() is of the reader's clock: %s", moment, clockCure)
		}
		return true
	})
}

// findInstants finds instants that are truncated, or compared, at the midnight of a time zone other than Chicago's.
func (q *query) findInstants(s *Statement) {
	column := ""
	isInstant := func(o object) bool {
		r, name := q.resolve(o)
		base, name := origin(r, name)
		if !isColumn(o) || base == nil || base.name == "" || !instantColumn.MatchString(name) {
			return false
		}
		column = name
		return true
	}
	for _, e := range q.expressions() {
		within(e, func(o object) bool {
			switch {
			case makesDay(o) && !cutsHour(o) && has(o, isInstant):
				s.add(Clock, "%s is an instant, and its day is that of the reader's time zone: join calendar ON "+
					"starts_at <= %s "+
					"AND %[1]s < ends_at for Chicago's", column, column)
			case o["class"] == "COMPARISON" && !has(o, makesDay) && (midnight(obj(o["left"])) && has(o["right"],
				isInstant) ||
				midnight(obj(o["right"])) && has(o["left"], isInstant)),
				o["class"] == "BETWEEN" && has(o["input"], isInstant) && (midnight(obj(o["lower"])) ||
					midnight(obj(o["upper"]))),
				(o["class"] == "COMPARISON" || o["class"] == "BETWEEN") && !has(o, makesDay) && has(o, namesDay) &&
					has(o, isInstant):
				s.add(Clock, "%s is an instant, and the day that it is compared with begins at the reader's "+
					"midnight: compare it "+
					"with calendar's starts_at and ends_at for Chicago's", column)
			}
			return true
		})
	}
}

// cutsHour reports whether a function cuts to hours or less, which are the same in every time zone.
func cutsHour(o object) bool {
	children := list(o["children"])
	if len(children) == 0 || functionName(o) != "date_trunc" {
		return false
	}
	unit, _ := constant(obj(children[0]))
	return slices.Contains([]string{"hour", "minute", "second"}, strings.ToLower(unit))
}

// midnight reports whether an expression is a constant day, or a time without a time zone.
func midnight(e object) bool {
	text, ok := constant(e)
	if !ok || len(text) < 10 || text[4] != '-' || text[7] != '-' || strings.HasPrefix(text, "9999") {
		return false
	}
	rest := text[10:]
	return !strings.ContainsAny(rest, "+-Z") && !strings.Contains(rest, "/") && !strings.Contains(rest, "UTC")
}
