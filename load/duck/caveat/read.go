package caveat

import "slices"

// reader reads one statement.
type reader struct {
	queries []*query // every SELECT, once
}

// read returns what the package understands of a node; nil: nothing.
func (r *reader) read(node object, outer *env) *query {
	e := outer.with(node)
	switch node["type"] {
	case "SELECT_NODE":
		q := r.readSelect(node, e)
		r.readInner(q)
		return q
	case "SET_OPERATION_NODE":
		q := &query{node: node, env: e}
		sides := list(node["children"])
		if sides == nil {
			sides = []any{node["left"], node["right"]}
		}
		for i, side := range sides {
			if part := r.read(obj(side), e); part != nil {
				part.absent = i > 0 && node["setop_type"] == "EXCEPT"
				q.parts = append(q.parts, part)
			}
		}
		if len(q.parts) == 0 {
			return nil
		}
		return q
	}
	return nil
}

func (r *reader) readSelect(node object, e *env) *query {
	q := &query{node: node, env: e}
	r.readFrom(q, obj(node["from_table"]))
	q.conditions = append(q.conditions, conjuncts(node["where_clause"])...)
	for _, m := range list(node["modifiers"]) {
		if t := obj(m)["type"]; t == "DISTINCT_MODIFIER" {
			q.distinct = true
		}
	}
	for _, item := range list(node["select_list"]) {
		o := obj(item)
		if o["class"] == "STAR" {
			q.star = true
			for _, replaced := range list(o["replace_list"]) {
				q.outputs = append(q.outputs, output{lower(obj(replaced)["key"]), obj(obj(replaced)["value"])})
			}
			continue
		}
		name := lower(o["alias"])
		if name == "" && isColumn(o) {
			_, name = columnName(o)
		}
		q.outputs = append(q.outputs, output{name, o})
		q.aggregated = q.aggregated || hasAggregate(o)
	}
	q.aggregated = q.aggregated || hasAggregate(node["having"])
	q.readGroups()
	q.findKey()
	r.queries = append(r.queries, q)
	return q
}

// readGroups finds what a SELECT groups by: expressions, positions, names of outputs, or all that does not aggregate.
func (q *query) readGroups() {
	if q.node["aggregate_handling"] == "FORCE_AGGREGATES" {
		q.aggregated = true
		for _, o := range q.outputs {
			if !hasAggregate(o.expr) {
				q.groups = append(q.groups, o.expr)
			}
		}
		return
	}
	for _, g := range list(q.node["group_expressions"]) {
		e := obj(g)
		q.aggregated = true
		if text, ok := constant(e); ok {
			for i, o := range list(q.node["select_list"]) {
				if position(text) == i+1 {
					e = obj(o)
				}
			}
		}
		if isColumn(e) {
			alias, column := columnName(e)
			if r, _ := q.resolve(e); alias == "" && r == nil {
				if i := slices.IndexFunc(q.outputs, func(o output) bool { return o.name == column }); i >= 0 {
					e = q.outputs[i].expr
				}
			}
		}
		q.groups = append(q.groups, e)
	}
}

func position(text string) (n int) {
	for _, c := range text {
		if c < '0' || c > '9' || n > 1000 {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// findKey finds the columns that identify a row of the answer.
func (q *query) findKey() {
	limit := ""
	for _, m := range list(q.node["modifiers"]) {
		if o := obj(m); o["type"] == "LIMIT_MODIFIER" {
			limit, _ = constant(obj(o["limit"]))
		}
	}
	switch {
	case limit == "1":
		q.keyKnown = true
	case q.aggregated:
		for _, g := range q.groups {
			i := slices.IndexFunc(q.outputs, func(o output) bool { return same(o.expr, g) })
			if i < 0 {
				q.key = nil
				return
			}
			q.key = append(q.key, q.outputs[i].name)
		}
		q.keyKnown = true
	case len(q.relations) == 1 && q.node["qualify"] == nil && !q.distinct && !q.picksByRank():
		r := q.relations[0]
		key, known := r.key()
		for _, column := range key {
			if q.binds(r, column) {
				continue
			}
			name := ""
			for _, o := range q.outputs {
				if from, c := q.resolve(o.expr); isColumn(o.expr) && from == r && c == column {
					name = o.name
				}
			}
			if name == "" && !q.star && column == "account_id" && len(key) > 1 {
				continue // an ID is of one account
			}
			if name == "" { // even if it is no output: then nothing can bind it
				name = column
			}
			q.key = append(q.key, name)
		}
		q.keyKnown = known
	}
}

// picksByRank reports whether a condition is on a window's value: it picks one row of several.
func (q *query) picksByRank() (found bool) {
	for _, c := range q.conditions {
		within(c, func(o object) bool {
			if isColumn(o) {
				r, column := q.resolve(o)
				d, _ := definition(r, column)
				found = found || d["class"] == "WINDOW"
			}
			return true
		})
	}
	return found
}

// same reports whether two expressions are one, or name the same column.
func same(a, b object) bool {
	if isColumn(a) && isColumn(b) {
		aliasA, a := columnName(a)
		aliasB, b := columnName(b)
		return a == b && (aliasA == aliasB || aliasA == "" || aliasB == "")
	}
	return a["query_location"] == b["query_location"] && a["class"] == b["class"]
}

// readFrom adds the relations of a FROM clause.
func (r *reader) readFrom(q *query, ref object) {
	switch ref["type"] {
	case nil, "EMPTY":
	case "JOIN":
		r.readFrom(q, obj(ref["left"]))
		before := len(q.relations)
		r.readFrom(q, obj(ref["right"]))
		for _, added := range q.relations[before:] {
			added.asof = added.asof || ref["ref_type"] == "ASOF"
			added.semi = added.semi || ref["join_type"] == "SEMI" || ref["join_type"] == "ANTI"
		}
		q.natural = q.natural || ref["ref_type"] == "NATURAL" || ref["ref_type"] == "POSITIONAL"
		q.conditions = append(q.conditions, conjuncts(ref["condition"])...)
		var using []string
		for _, column := range list(ref["using_columns"]) {
			using = append(using, lower(column))
		}
		if using != nil {
			q.usings = append(q.usings, using)
		}
	default:
		q.relations = append(q.relations, r.readRelation(q, ref))
	}
}

func (r *reader) readRelation(q *query, ref object) *relation {
	rel := &relation{alias: lower(ref["alias"]), ref: ref}
	switch ref["type"] {
	case "BASE_TABLE":
		schemaName, name := lower(ref["schema_name"]), lower(ref["table_name"])
		if rel.alias == "" {
			rel.alias = name
		}
		if c := q.env.find(name); c != nil && schemaName == "" {
			if c.read == nil && c.node != nil {
				node := c.node
				c.node = nil // a recursive one reads itself
				c.read = r.read(node, c.env)
			}
			rel.sub = c.read
			return rel
		}
		rel.name, rel.table, _ = lookUp(schemaName, name)
	case "SUBQUERY":
		rel.sub = r.read(obj(obj(ref["subquery"])["node"]), q.env)
	case "TABLE_FUNCTION":
		f := obj(ref["function"])
		if rel.alias == "" {
			rel.alias = lower(f["function_name"])
		}
		if name := lower(f["function_name"]); name == "campaign_at" || name == "campaigns_asof" {
			rel.name, rel.table.key = "main."+name, []string{"account_id", "campaign_id"}
		}
	default:
		// A pivot or the like: what it reads is read for its own sake.
		for _, part := range []any{ref["source"], ref["child"]} {
			if o := obj(part); o != nil {
				inner := &query{node: object{}, env: q.env}
				r.readFrom(inner, o)
				r.queries = append(r.queries, inner)
			}
		}
	}
	return rel
}

// readInner reads the subqueries within the expressions of a SELECT.
func (r *reader) readInner(q *query) {
	for _, e := range q.expressions() {
		r.readSubqueries(q, e, false)
	}
}

// readSubqueries reads the subqueries within an expression; denied: it is the operand of NOT.
func (r *reader) readSubqueries(q *query, e any, denied bool) {
	walk(e, func(o object) bool {
		switch {
		case o["type"] == "OPERATOR_NOT" && !denied:
			r.readSubqueries(q, o["children"], true)
			return false
		case o["class"] != "SUBQUERY":
			return true
		}
		if inner := r.read(obj(obj(o["subquery"])["node"]), q.env); inner != nil {
			inner.absent = denied || o["subquery_type"] == "NOT_EXISTS"
		}
		r.readInner(&query{node: object{"select_list": o["child"]}, env: q.env})
		return false
	})
}
