package caveat

import (
	"slices"
)

// cte is a common table expression and the names that it sees.
type cte struct {
	node object
	env  *env
	read *query // once it was read
}

// env are the common table expressions that a query sees.
type env struct {
	up   *env
	ctes map[string]*cte
	maps []any // their definitions, outermost first, as the tree has them
}

func (e *env) find(name string) *cte {
	for ; e != nil; e = e.up {
		if c := e.ctes[name]; c != nil {
			return c
		}
	}
	return nil
}

// with returns the environment with a node's own common table expressions.
func (e *env) with(node object) *env {
	entries := list(obj(node["cte_map"])["map"])
	if len(entries) == 0 {
		return e
	}
	inner := &env{up: e, ctes: map[string]*cte{}}
	if e != nil {
		inner.maps = slices.Clone(e.maps)
	}
	for _, entry := range entries {
		o := obj(entry)
		inner.ctes[lower(o["key"])] = &cte{node: obj(obj(obj(o["value"])["query"])["node"]), env: inner}
		inner.maps = append(inner.maps, entry)
	}
	return inner
}

// relation is something in a FROM clause.
type relation struct {
	alias string
	name  string // of a stored table or view, with its schema; "" if it is derived
	table table
	sub   *query // of a derived one; nil: not understood
	ref   object // as the tree has it
	asof  bool
	semi  bool // it only filters
}

// columns returns the names of the relation's columns; nil: not known.
func (r *relation) columns() []string {
	if r.sub == nil {
		return r.table.columns
	}
	return r.sub.names()
}

// key returns the columns that identify a row, and whether they are known.
func (r *relation) key() ([]string, bool) {
	if r.sub != nil {
		return r.sub.key, r.sub.keyKnown
	}
	return r.table.key, r.table.key != nil
}

// output is a column of a query.
type output struct {
	name string
	expr object
}

// query is one SELECT.
type query struct {
	node       object
	env        *env
	relations  []*relation
	conditions []object   // of WHERE and ON, split at AND
	usings     [][]string // columns of USING
	natural    bool
	outputs    []output
	star       bool // all columns of its relations are among the outputs
	groups     []object
	aggregated bool
	distinct   bool
	key        []string
	keyKnown   bool
	absent     bool     // rows that it does not have count: it is denied by NOT or EXCEPT
	parts      []*query // of a set operation; then the rest is empty
}

func (q *query) names() []string {
	if len(q.parts) > 0 {
		return q.parts[0].names()
	}
	var names []string
	for _, o := range q.outputs {
		names = append(names, o.name)
	}
	if q.star {
		for _, r := range q.relations {
			columns := r.columns()
			if columns == nil {
				return nil
			}
			names = append(names, columns...)
		}
	}
	return names
}

// resolve returns the relation and the column that a reference means; nil: not known.
func (q *query) resolve(e object) (*relation, string) {
	alias, column := columnName(e)
	if alias != "" {
		for _, r := range q.relations {
			if r.alias == alias {
				return r, column
			}
		}
		return nil, column
	}
	var found *relation
	for _, r := range q.relations {
		if slices.Contains(r.columns(), column) {
			if found == nil {
				found = r
			}
			continue
		}
	}
	if found == nil && len(q.relations) == 1 && q.relations[0].columns() == nil {
		found = q.relations[0]
	}
	return found, column
}

// origin follows a column of a relation to the stored table or view that it is of, if it is passed on unchanged.
func origin(r *relation, column string) (*relation, string) {
	for r != nil && r.sub != nil {
		sub := r.sub
		if len(sub.parts) > 0 {
			sub = sub.parts[0]
		}
		i := slices.IndexFunc(sub.outputs, func(o output) bool { return o.name == column })
		switch {
		case i >= 0 && isColumn(sub.outputs[i].expr):
			r, column = sub.resolve(sub.outputs[i].expr)
		case i >= 0, !sub.star:
			return nil, ""
		default:
			r, column = sub.resolve(object{"class": "COLUMN_REF", "column_names": []any{column}})
		}
	}
	return r, column
}

// definition returns the expression of a derived column, and the query that it stands in; nil: there is none.
func definition(r *relation, column string) (object, *query) {
	for r != nil && r.sub != nil {
		sub := r.sub
		if len(sub.parts) > 0 {
			sub = sub.parts[0]
		}
		i := slices.IndexFunc(sub.outputs, func(o output) bool { return o.name == column })
		if i < 0 {
			if !sub.star {
				return nil, nil
			}
			r, column = sub.resolve(object{"class": "COLUMN_REF", "column_names": []any{column}})
			continue
		}
		e := sub.outputs[i].expr
		if !isColumn(e) {
			return e, sub
		}
		r, column = sub.resolve(e)
	}
	return nil, nil
}

// expressions are all expressions of a SELECT outside of its FROM, with the conditions of its joins.
func (q *query) expressions() []any {
	all := []any{q.node["select_list"], q.node["group_expressions"], q.node["having"], q.node["qualify"],
		q.node["modifiers"]}
	for _, c := range q.conditions {
		all = append(all, c)
	}
	return all
}

// mentions reports whether the SELECT names one of the columns of a relation.
func (q *query) mentions(r *relation, columns ...string) (found bool) {
	for _, e := range q.expressions() {
		walk(e, func(o object) bool {
			if isColumn(o) {
				alias, column := columnName(o)
				found = found || slices.Contains(columns, column) && (alias == "" || alias == r.alias)
			}
			return !found
		})
	}
	return found
}

// references returns the relations that an expression names outside of its subqueries.
func (q *query) references(e any) (all []*relation) {
	within(e, func(o object) bool {
		if isColumn(o) {
			if r, _ := q.resolve(o); r != nil && !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
		return true
	})
	return all
}
