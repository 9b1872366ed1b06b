package caveat

import (
	"encoding/json"
	"slices"
)

// The tables that [Days] ask. The caller makes them, with the columns [DayColumns].
const (
	DayTable    = "caveat_day"    // one row per account and Chicago day of the calendar
	StoredTable = "caveat_stored" // those that are stored
	OverTable   = "caveat_over"   // those that are stored and over
)

// DayColumns are the columns by which a statement may choose days.
var DayColumns = []string{"account_id", "report_date", "date_day", "is_open", "is_complete", "is_final"}

// Days are the days whose money a statement uses at one place.
type Days struct {
	// Tree is a statement for json_deserialize_sql: account_id and report_date of the days.
	Tree        []byte
	GoesOn      bool     // the open day is among them, if the conditions allow it
	Conditional bool     // the statement has conditions on the day
	Conversions bool     // it uses conversions as told so far
	Measures    []string // columns that it adds up and that may be NULL
}

// pushed is a condition of an outer query, in terms of an inner one's relation.
type pushed struct {
	condition object
	extra     []*relation // other relations that it names
}

// chain is what the queries around a relation do with it.
type chain struct {
	pushed   []pushed
	measures []string // measures that they use, by the inner column's name
	scopes   []*env
}

// findDays finds every use of the days' money.
func (r *reader) findDays(s *Statement, top *query) {
	expected := false
	for _, q := range r.queries {
		for _, e := range q.expressions() {
			walk(e, func(o object) bool {
				if isColumn(o) {
					_, c := columnName(o)
					expected = expected || c == "conversions_expected" || c == "conversions_share"
				}
				return true
			})
		}
	}
	inner := map[*query]bool{} // read as part of another one
	for _, q := range r.queries {
		for _, rel := range q.relations {
			if rel.sub != nil {
				inner[rel.sub] = true
				for _, p := range rel.sub.parts {
					inner[p] = true
				}
			}
		}
	}
	left := 64 // a statement of many more is beyond what a person writes
	for _, q := range r.queries {
		if !inner[q] {
			q.days(s, chain{}, expected, &left)
		}
	}
}

func (q *query) days(s *Statement, c chain, expected bool, left *int) {
	if *left--; *left < 0 {
		return
	}
	for _, p := range q.parts {
		p.days(s, c, expected, left)
	}
	if q.star && !q.aggregated && len(q.relations) == 1 && q.relations[0].sub == nil && len(c.measures) == 0 {
		return // unchanged rows
	}
	for _, r := range q.relations {
		switch {
		case r.sub != nil:
			for _, part := range append(slices.Clone(r.sub.parts), r.sub) {
				if len(part.parts) == 0 {
					part.days(s, q.push(c, r, part), expected, left)
				}
			}
		case r.table.dated != "":
			q.leaf(s, c, r, expected)
		}
	}
}

// used returns the measures of a relation that a SELECT uses outside of its conditions.
func (q *query) used(r *relation) (names []string) {
	for _, e := range q.expressions()[:5] {
		within(e, func(o object) bool {
			if name := functionName(o); name == "count_star" || name == "count" && len(list(o["children"])) == 0 {
				names = append(names, "*")
			}
			if isColumn(o) {
				if from, column := q.resolve(o); from == r && slices.Contains(measures, column) {
					names = append(names, column)
				}
			}
			return true
		})
	}
	return names
}

// push returns the chain of a part of a derived relation: the conditions that are about its columns.
func (q *query) push(c chain, r *relation, part *query) chain {
	next := chain{scopes: append(slices.Clone(c.scopes), q.env)}
	next.measures = q.used(r)
	if len(c.measures) > 0 && q.star {
		next.measures = append(next.measures, c.measures...)
	}
	inner := map[string]object{}
	for i, name := range r.sub.names() {
		if i < len(part.outputs) && !part.star && isColumn(part.outputs[i].expr) {
			inner[name] = part.outputs[i].expr
		}
		if part.star {
			inner[name] = object{"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "column_names": []any{name}}
			for _, o := range part.outputs {
				if o.name == name {
					inner[name] = o.expr
				}
			}
		}
	}
	translate := func(p pushed) {
		extra := slices.Clone(p.extra)
		ok, about := true, false
		var rewrite func(v any) any
		rewrite = func(v any) any {
			switch v := v.(type) {
			case object:
				if isColumn(v) {
					from, column := q.resolve(v)
					switch {
					case from == r:
						about = true
						e, known := inner[column]
						if ok = ok && known && isColumn(e); ok {
							return clone(e)
						}
					case slices.Contains(extra, from) && from != nil:
					case from != nil && from.isSmall():
						extra = append(extra, from)
					case from == nil && len(p.extra) > 0:
					default:
						ok = false
					}
					return v
				}
				if v["class"] == "SUBQUERY" {
					return v
				}
				for k, child := range v {
					v[k] = rewrite(child)
				}
			case []any:
				for i, child := range v {
					v[i] = rewrite(child)
				}
			}
			return v
		}
		if e := rewrite(clone(p.condition)); ok && about {
			next.pushed = append(next.pushed, pushed{obj(e), extra})
		}
	}
	for _, condition := range q.conditions {
		translate(pushed{condition: condition})
	}
	for _, p := range c.pushed {
		translate(p)
	}
	return next
}

// isSmall reports whether reading a relation costs little, compared with the days.
func (r *relation) isSmall() bool {
	return r.sub != nil || slices.Contains([]string{"main.today", "main.calendar", "ops.day_coverage"}, r.name)
}

// leaf adds the days of a stored table.
func (q *query) leaf(s *Statement, c chain, r *relation, expected bool) {
	names := append(q.used(r), c.measures...)
	if q.absent && len(names) == 0 {
		names = []string{"*"} // a row that is not there counts
	}
	if len(names) == 0 {
		return
	}
	d := Days{GoesOn: r.table.goesOn}
	for _, name := range names {
		if d.Conversions = d.Conversions || name == "conversions" && !expected; name != "spend" && name != "*" &&
			!slices.Contains(d.Measures, name) && slices.Contains([]string{"clicks", "impressions",
			"conversions"}, name) {
			d.Measures = append(d.Measures, name)
		}
	}
	var conditions []any
	var extra []*relation
	keep := func(p pushed, all bool) {
		ok, about := true, false
		refs := p.extra
		within(p.condition, func(o object) bool {
			if !isColumn(o) {
				return true
			}
			from, column := q.resolve(o)
			switch {
			case from == r:
				about = true
				ok = ok && slices.Contains(DayColumns, column)
			case from != nil && from.isSmall():
				refs = append(refs, from)
			case from == nil && clockOf(o, append(clockDays, clockMoments...)) != "":
			case from == nil && len(p.extra) > 0:
			default:
				ok = false
			}
			return true
		})
		if !ok || !about && !all {
			return
		}
		if !about && slices.ContainsFunc(refs, func(x *relation) bool { return !slices.Contains(extra, x) }) {
			return
		}
		conditions = append(conditions, clone(p.condition))
		for _, x := range refs {
			if !slices.Contains(extra, x) {
				extra = append(extra, x)
			}
		}
	}
	for pass := range 2 { // the second one: conditions on the relations that the first found
		if pass == 1 && len(extra) == 0 {
			break
		}
		had := len(conditions)
		for _, condition := range q.conditions {
			if !slices.ContainsFunc(conditions[:had], func(v any) bool {
				return obj(v)["query_location"] == condition["query_location"] && obj(v)["type"] == condition["type"]
			}) {
				keep(pushed{condition: condition}, pass == 1)
			}
		}
		if pass == 0 {
			for _, p := range c.pushed {
				keep(p, false)
			}
		}
	}
	conditions = append(conditions, q.usingEqualities(r, extra)...)
	d.Conditional = slices.ContainsFunc(conditions, func(v any) bool { return has(v, namesDay) })
	d.Tree = daysTree(q, c, r, extra, conditions)
	s.Days = append(s.Days, d)
}

// usingEqualities writes USING as equalities between the days and the other relations.
func (q *query) usingEqualities(r *relation, extra []*relation) (all []any) {
	for _, using := range q.usings {
		for _, column := range using {
			for _, x := range extra {
				if slices.Contains(DayColumns, column) && slices.Contains(x.columns(), column) {
					all = append(all, object{"class": "COMPARISON", "type": "COMPARE_EQUAL", "alias": "",
						"left": reference(r.alias, column), "right": reference(x.alias, column)})
				}
			}
		}
	}
	return all
}

func reference(alias, column string) object {
	return object{"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "column_names": []any{alias, column}}
}

func dayTable(name, alias string) object {
	return object{"type": "BASE_TABLE", "alias": alias, "sample": nil, "schema_name": "main", "table_name": name,
		"column_name_alias": []any{}, "catalog_name": "temp", "at_clause": nil}
}

// daysTree builds the statement for the days.
func daysTree(q *query, c chain, r *relation, extra []*relation, conditions []any) []byte {
	newest := q.newest(r, c)
	table := DayTable
	if newest != nil { // of the days that are there
		table = storedTable(r.table)
	}
	from := dayTable(table, r.alias)
	for _, x := range extra {
		from = object{"type": "JOIN", "alias": "", "sample": nil, "left": from, "right": clone(x.ref), "condition": nil,
			"join_type": "INNER", "ref_type": "CROSS", "using_columns": []any{}, "delim_flipped": false,
			"duplicate_eliminated_columns": []any{}}
	}
	var where any
	switch len(conditions) {
	case 0:
	case 1:
		where = conditions[0]
	default:
		where = object{"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "alias": "", "children": conditions}
	}
	modifiers := append([]any{object{"type": "DISTINCT_MODIFIER", "distinct_on_targets": []any{}}}, newest...)
	var ctes []any
	for _, scope := range append(slices.Clone(c.scopes), q.env) {
		if scope == nil {
			continue
		}
		for _, m := range scope.maps {
			if !slices.ContainsFunc(ctes, func(v any) bool { return obj(v)["key"] == obj(m)["key"] }) {
				ctes = append(ctes, clone(m))
			}
		}
	}
	if len(extra) == 0 && !hasSubquery(conditions) {
		ctes = nil
	}
	node := object{"type": "SELECT_NODE", "modifiers": modifiers, "cte_map": object{"map": append([]any{}, ctes...)},
		"select_list": []any{reference(r.alias, "account_id"), reference(r.alias, "report_date")}, "from_table": from,
		"where_clause": where, "group_expressions": []any{}, "group_sets": []any{},
		"aggregate_handling": "STANDARD_HANDLING", "having": nil, "sample": nil, "qualify": nil}
	ofDays(node)
	tree, err := json.Marshal(object{"error": false, "statements": []any{object{"node": node,
		"named_param_map": []any{}}}})
	if err != nil {
		return nil // the values come from JSON
	}
	return tree
}

func hasSubquery(v any) (found bool) {
	walk(v, func(o object) bool {
		found = found || o["class"] == "SUBQUERY"
		return !found
	})
	return found
}

// storedTable names the table of the days that a table has.
func storedTable(t table) string {
	if t.goesOn {
		return StoredTable
	}
	return OverTable
}

// ofDays lets queries for the days of the large tables ask the table of days.
func ofDays(node any) {
	walk(node, func(o object) bool {
		from := obj(o["from_table"])
		name, _, known := lookUp(lower(from["schema_name"]), lower(from["table_name"]))
		if o["type"] != "SELECT_NODE" || from["type"] != "BASE_TABLE" || from["catalog_name"] == "temp" || !known ||
			!tables[name].fact {
			return true
		}
		onlyDays := true
		for k, v := range o {
			if k == "from_table" {
				continue
			}
			walk(v, func(e object) bool {
				_, column := columnName(e)
				onlyDays = onlyDays && e["class"] != "STAR" && (!isColumn(e) || slices.Contains(DayColumns[:2],
					column)) &&
					e["class"] != "SUBQUERY"
				return onlyDays
			})
		}
		if onlyDays {
			alias := lower(from["alias"])
			if alias == "" {
				alias = lower(from["table_name"])
			}
			o["from_table"] = dayTable(storedTable(tables[name]), alias)
		}
		return true
	})
}

// newest returns the order and the limit of a SELECT with a row per day: they choose days.
func (q *query) newest(r *relation, c chain) []any {
	if len(q.groups) != 1 || len(c.pushed) > 0 || len(q.relations) != 1 {
		return nil
	}
	isDay := func(e object) bool {
		if text, ok := constant(e); ok {
			if i := position(text) - 1; i >= 0 && i < len(q.outputs) {
				e = q.outputs[i].expr
			}
		}
		from, column := q.resolve(e)
		return isColumn(e) && from == r && column == r.table.dated
	}
	if !isDay(q.groups[0]) {
		return nil
	}
	var order, limit object
	for _, m := range list(q.node["modifiers"]) {
		switch o := obj(m); o["type"] {
		case "ORDER_MODIFIER":
			if orders := list(o["orders"]); len(orders) > 0 && isDay(obj(obj(orders[0])["expression"])) {
				by := obj(clone(orders[0]))
				by["expression"] = reference(r.alias, "report_date")
				order = object{"type": "ORDER_MODIFIER", "orders": []any{by}}
			}
		case "LIMIT_MODIFIER":
			limit = obj(clone(m))
		}
	}
	if order == nil || limit == nil {
		return nil
	}
	return []any{order, limit}
}
