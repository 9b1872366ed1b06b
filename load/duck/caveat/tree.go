package caveat

import (
	"encoding/json"
	"slices"
	"strings"
)

// object is an object of a parse tree, as json_serialize_sql writes it.
type object = map[string]any

func obj(v any) object { o, _ := v.(object); return o }

func list(v any) []any { l, _ := v.([]any); return l }

// lower returns a name of the tree: SQL does not distinguish the case.
func lower(v any) string { s, _ := v.(string); return strings.ToLower(s) }

// clone returns a copy that shares nothing with the tree.
func clone(v any) any {
	switch v := v.(type) {
	case object:
		c := make(object, len(v))
		for k, child := range v {
			c[k] = clone(child)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, child := range v {
			c[i] = clone(child)
		}
		return c
	}
	return v
}

// walk calls visit with every object at or below v, except below those for which visit returns false.
func walk(v any, visit func(object) bool) {
	switch v := v.(type) {
	case object:
		if !visit(v) {
			return
		}
		for _, child := range v {
			walk(child, visit)
		}
	case []any:
		for _, child := range v {
			walk(child, visit)
		}
	}
}

// within calls visit like walk, and does not enter subqueries.
func within(v any, visit func(object) bool) {
	walk(v, func(o object) bool { return o["class"] != "SUBQUERY" && visit(o) })
}

func isColumn(e object) bool { return e["class"] == "COLUMN_REF" }

// columnName returns the relation, if it is named, and the column of a reference.
func columnName(e object) (relation, column string) {
	names := list(e["column_names"])
	if len(names) == 0 {
		return "", ""
	}
	if len(names) > 1 {
		relation = lower(names[len(names)-2])
	}
	return relation, lower(names[len(names)-1])
}

// functionName returns the name of a function with one value, or "".
func functionName(e object) string {
	if e["class"] == "FUNCTION" || e["class"] == "WINDOW" {
		return lower(e["function_name"])
	}
	return ""
}

// conjuncts splits a condition at its ANDs.
func conjuncts(condition any) []object {
	c := obj(condition)
	if c == nil {
		return nil
	}
	if c["type"] != "CONJUNCTION_AND" {
		return []object{c}
	}
	var all []object
	for _, child := range list(c["children"]) {
		all = append(all, conjuncts(child)...)
	}
	return all
}

// bare removes casts, rounding and replacements of NULL from around an expression.
func bare(e object) object {
	for {
		switch name := functionName(e); {
		case e["class"] == "CAST":
			e = obj(e["child"])
		case e["type"] == "OPERATOR_COALESCE", name == "round", name == "ifnull", name == "coalesce", name == "abs":
			children := list(e["children"])
			if len(children) == 0 {
				return e
			}
			e = obj(children[0])
		default:
			return e
		}
	}
}

// constant returns the text of a constant, and whether the expression is one, also within a cast.
func constant(e object) (string, bool) {
	for e["class"] == "CAST" {
		e = obj(e["child"])
	}
	if e["class"] != "CONSTANT" {
		return "", false
	}
	switch v := obj(e["value"])["value"].(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", true
}

// aggregates are the functions that make one value of many rows.
var aggregates = []string{"sum", "count", "count_star", "avg", "mean", "median", "mode", "quantile", "quantile_cont",
	"quantile_disc", "approx_quantile", "min", "max", "any_value", "arg_max", "arg_min", "max_by", "min_by",
	"first", "last",
	"stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop", "string_agg", "group_concat", "listagg",
	"list", "array_agg", "bool_or", "bool_and", "product", "fsum", "kahan_sum", "favg", "approx_count_distinct",
	"count_if",
	"countif", "histogram", "corr", "regr_slope", "entropy", "geomean", "geometric_mean", "sumkahan"}

// counting are the aggregates whose value grows or shifts if a row is there twice.
var counting = []string{"sum", "count", "count_star", "avg", "mean", "fsum", "kahan_sum", "favg", "count_if", "countif",
	"product", "median"}

// means are the aggregates that weigh each row the same.
var means = []string{"avg", "mean", "favg", "median", "geomean", "geometric_mean", "quantile", "quantile_cont",
	"quantile_disc", "approx_quantile"}

func isAggregate(e object) bool {
	return e["class"] == "FUNCTION" && slices.Contains(aggregates, functionName(e))
}

// hasAggregate reports whether an expression aggregates, outside of windows.
func hasAggregate(e any) (found bool) {
	within(e, func(o object) bool {
		if o["class"] == "WINDOW" {
			return false
		}
		found = found || isAggregate(o)
		return !found
	})
	return found
}
