package caveat

import (
	"fmt"
	"slices"
	"strings"
)

// binds reports whether the SELECT allows at most one value of a relation's column for each combination of the rows of
// the others, or within each group.
func (q *query) binds(r *relation, column string) bool {
	for _, using := range q.usings {
		if slices.Contains(using, column) {
			return true
		}
	}
	of := func(e any, column string) bool {
		o := obj(e)
		for o["class"] == "CAST" {
			o = obj(o["child"])
		}
		from, c := q.resolve(o)
		return isColumn(o) && from == r && c == column
	}
	for _, g := range q.groups {
		if of(g, column) {
			return true
		}
	}
	var compared []string // columns of the relation that are compared with something else
	for _, c := range q.conditions {
		within(c, func(o object) bool {
			if o["class"] == "COMPARISON" || o["class"] == "BETWEEN" {
				within(o, func(e object) bool {
					if from, name := q.resolve(e); isColumn(e) && from == r {
						compared = append(compared, name)
					}
					return true
				})
			}
			return true
		})
		if t := c["type"]; t == "COMPARE_EQUAL" || t == "COMPARE_NOT_DISTINCT_FROM" {
			for _, sides := range [][2]any{{c["left"], c["right"]}, {c["right"], c["left"]}} {
				if of(sides[0], column) && !slices.Contains(q.references(sides[1]), r) {
					return true
				}
			}
		}
		if column == "version_no" && (of(c, "is_current") || c["type"] == "COMPARE_EQUAL" &&
			(of(c["left"], "is_current") || of(c["right"], "is_current"))) {
			return true
		}
	}
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(compared, n) })
	}
	switch column {
	case "version_no":
		return r.asof || has("valid_from", "valid_to") || has("valid_to") && !has("valid_from")
	case "seen_at":
		return r.asof
	case "report_date":
		return r.name == "main.calendar" && has("starts_at", "ends_at")
	}
	return false
}

// loose returns the columns of a relation's key that the SELECT leaves open: it joins several of its rows.
func (q *query) loose(r *relation) (columns []string) {
	key, known := r.key()
	if !known || r.semi || q.natural || q.node["qualify"] != nil {
		return nil
	}
	// An ID is of one account; a day is not.
	ofEntity := slices.ContainsFunc(key, func(c string) bool { return c != "account_id" && c != "report_date" })
	for _, column := range key {
		if !q.binds(r, column) && !(column == "account_id" && ofEntity) {
			columns = append(columns, column)
		}
	}
	return columns
}

// argumentRelations returns the relations of an aggregate's arguments.
func (q *query) argumentRelations(aggregate object) []*relation {
	return q.references(aggregate["children"])
}

// findFanOut finds sums over rows that a join repeats.
func (q *query) findFanOut(s *Statement) {
	if len(q.relations) < 2 || q.distinct && !q.aggregated {
		return
	}
	report := func(counted *relation, what string) bool {
		for _, r := range q.relations {
			loose := q.loose(r)
			if r == counted || len(loose) == 0 {
				continue
			}
			if len(loose) == 1 && loose[0] == "account_id" {
				s.addCheck(Check{Kind: FanOut, SQL: "SELECT count(DISTINCT account_id) FROM ops.day_coverage HAVING " +
					"count(DISTINCT account_id) > 1", Text: fmt.Sprintf("%s counts each row once per account (%%s of "+
					"them): join %s by account_id", what, r.alias)})
				return true
			}
			name := strings.TrimPrefix(r.name, "main.")
			switch {
			case r.table.versioned() && strings.HasSuffix(name, "_history"):
				s.add(FanOut, "%s counts each row once per version in %s: ask spend, which has the settings of "+
					"each day, "+
					"or add %s.is_current to the join", what, name, r.alias)
			default:
				s.add(FanOut, "%s counts each row once per row of %s, which is joined without %s: add up in a "+
					"subquery, "+
					"then join", what, r.alias, strings.Join(loose, ", "))
			}
			return true
		}
		return false
	}
	if !q.aggregated {
		for _, o := range q.outputs {
			r, column := q.resolve(o.expr)
			if !isColumn(o.expr) || r == nil || !slices.Contains(measures, column) || q.groupsOf(r) {
				continue
			}
			if report(r, column) {
				return
			}
		}
		return
	}
	for _, e := range q.expressions()[:3] {
		found := false
		within(e, func(o object) bool {
			if found || !isAggregate(o) || o["distinct"] == true || !slices.Contains(counting, functionName(o)) {
				return !found
			}
			of := q.argumentRelations(o)
			if len(of) > 1 {
				of = slices.DeleteFunc(of, func(r *relation) bool { return !r.table.fact })
			}
			if len(of) == 1 {
				found = report(of[0], spelled(o))
			}
			return !found
		})
		if found {
			return
		}
	}
}

// groupsOf reports whether a relation has no key: then nothing is known of how often its rows are there.
func (q *query) groupsOf(r *relation) bool {
	_, known := r.key()
	return !known
}

// spelled returns a short name of an aggregate, such as sum(spend).
func spelled(e object) string {
	name, isRatio := functionName(e), false
	var columns []string
	within(e["children"], func(o object) bool {
		isRatio = isRatio || functionName(o) == "/"
		if _, column := columnName(o); isColumn(o) && !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
		return true
	})
	switch {
	case len(columns) == 0:
		return name
	case isRatio:
		return fmt.Sprintf("%s(%s)", name, strings.Join(columns, " / "))
	}
	return fmt.Sprintf("%s(%s)", name, columns[0])
}

// findVersions finds tables of versions that are read as if a row were a thing.
func (q *query) findVersions(s *Statement) {
	for _, r := range q.relations {
		if !r.table.versioned() || r.sub != nil || r.semi {
			continue
		}
		name := strings.TrimPrefix(r.name, "main.")
		if q.mentions(r, versionColumns...) {
			q.checkDeleted(s, r)
			continue
		}
		if q.aggregated && q.groupsByThing(r) || !q.aggregated && (q.star || q.distinct) {
			continue
		}
		if q.aggregated && !q.countsRows(r) && !q.filtersBySetting(r) {
			continue
		}
		cure := "add is_current, or a time within valid_from and valid_to"
		if r.name == "main.account_snapshot" {
			cure = "ask account for now, or take one seen_at"
		} else if strings.HasPrefix(name, "spend_intraday") {
			cure = "each has all since midnight: take the last seen_at of a day, or ask mart.intraday_hourly"
		}
		for _, c := range current {
			if "main."+c.of == r.name && r.name != "main.account_snapshot" {
				cure = "ask " + c.view + " for now, " + cure
			}
		}
		s.add(Versions, "%s has a row per version: %s", name, cure)
	}
}

// groupsByThing reports whether the SELECT groups by the thing that a table has versions of.
func (q *query) groupsByThing(r *relation) bool {
	for _, column := range r.table.key {
		if slices.Contains([]string{"version_no", "seen_at"}, column) || column == "account_id" &&
			len(r.table.key) > 2 {
			continue
		}
		if !slices.ContainsFunc(q.groups, func(g object) bool {
			from, c := q.resolve(g)
			return isColumn(g) && from == r && c == column
		}) {
			return false
		}
	}
	return len(q.groups) > 0
}

// countsRows reports whether an aggregate depends on how many rows there are.
func (q *query) countsRows(r *relation) (found bool) {
	for _, e := range q.expressions() {
		within(e, func(o object) bool {
			if isAggregate(o) && o["distinct"] != true && slices.Contains(counting, functionName(o)) {
				of := q.argumentRelations(o)
				found = found || len(of) == 0 || slices.Contains(of, r)
			}
			return true
		})
	}
	return found
}

// filtersBySetting reports whether a condition is about something that differs between versions.
func (q *query) filtersBySetting(r *relation) (found bool) {
	for _, c := range q.conditions {
		within(c, func(o object) bool {
			if from, column := q.resolve(o); isColumn(o) && from == r {
				found = found || !slices.Contains(r.table.key, column)
			}
			return true
		})
	}
	return found
}

// checkDeleted makes the caller check whether current versions that are deleted are counted.
func (q *query) checkDeleted(s *Statement, r *relation) {
	if len(q.relations) > 1 || !slices.Contains(r.table.columns, "is_deleted") || q.star || q.mentions(r, "is_deleted",
		"valid_from", "change_type", "valid_to", "version_no") || !q.mentions(r, "is_current") {
		return
	}
	s.addCheck(Check{Kind: Versions, SQL: "SELECT count(*) FROM " + r.name + " WHERE is_current AND is_deleted " +
		"HAVING " +
		"count(*) > 0", Text: fmt.Sprintf("%s: %%s of the current versions say that the thing is gone: add AND NOT "+
		"is_deleted", strings.TrimPrefix(r.name, "main."))})
}
