package duck

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Condition is a condition that a reader wrote. It takes the place of $Name in the SQL of a query, once it is
// known to compute from the columns and to do nothing else.
type Condition struct {
	Name, Text string
	Columns    []string // numbers, all of them DOUBLE where the SQL has $Name
}

// conditionFunctions are the functions that a condition may call: none fails, whatever the numbers.
var conditionFunctions = []string{"abs", "ceil", "floor", "greatest", "least", "nullif", "round"}

// conditionOperators are the operators that the parser takes for functions.
var conditionOperators = []string{"+", "-", "*", "/"}

// conditions puts the conditions into the SQL.
func (r *Result) conditions(ctx context.Context, q Query) (Query, error) {
	for _, c := range q.Conditions {
		text, err := r.condition(ctx, c)
		if err != nil {
			return q, err
		}
		q.SQL = strings.ReplaceAll(q.SQL, "$"+c.Name, "("+text+")")
	}
	return q, nil
}

// condition returns the condition as the engine itself spells its parse tree: without comments, and with every
// bracket closed.
func (r *Result) condition(ctx context.Context, c Condition) (string, error) {
	refused := func(format string, args ...any) error {
		return &QueryError{Message: c.Name + ": " + fmt.Sprintf(format, args...)}
	}
	parsed, err := r.parse(ctx, "condition", "SELECT "+c.Text)
	if err != nil {
		return "", err
	}
	if !parsed.mayBeOne() {
		return "", refused("it must be one condition, and nothing after it")
	}
	if parsed.Error {
		return "", refused("%s", parsed.Message)
	}
	statement, _ := parsed.Statements[0].(map[string]any)
	node, _ := statement["node"].(map[string]any)
	list, _ := node["select_list"].([]any)
	from, _ := node["from_table"].(map[string]any)
	if len(list) != 1 || from["type"] != "EMPTY" || !plainSelect(node) {
		return "", refused("it must be one condition, and nothing after it")
	}
	if problem := notInCondition(list[0], c.Columns); problem != "" {
		return "", refused("%s", problem)
	}
	var text string
	if err := r.conn.QueryRowContext(ctx, "SELECT json_deserialize_sql($1::JSON)", parsed.tree).
		Scan(&text); err != nil {
		return "", stopped(ctx, fmt.Errorf("duckdb: spell the condition: %w", err))
	}
	text = strings.TrimPrefix(text, "SELECT ")
	var columns []string
	for _, name := range c.Columns {
		columns = append(columns, "NULL::DOUBLE AS "+name)
	}
	var kind string
	if err := r.conn.QueryRowContext(ctx, "SELECT typeof("+text+") FROM (SELECT "+strings.Join(columns, ", ")+")").
		Scan(&kind); err != nil {
		return "", stopped(ctx, queryErr(err, false))
	}
	if kind != "BOOLEAN" {
		return "", refused("it must be true or false, and it is a %s", kind)
	}
	return text, nil
}

// plainSelect reports whether a parsed SELECT has none of the clauses that may follow its list.
func plainSelect(node map[string]any) bool {
	ctes, _ := node["cte_map"].(map[string]any)
	for _, list := range []any{node["modifiers"], ctes["map"], node["group_expressions"], node["group_sets"]} {
		if l, ok := list.([]any); !ok || len(l) > 0 {
			return false
		}
	}
	for _, clause := range []string{"where_clause", "having", "sample", "qualify"} {
		if node[clause] != nil {
			return false
		}
	}
	return node["type"] == "SELECT_NODE" && node["aggregate_handling"] == "STANDARD_HANDLING"
}

// notInCondition returns what a condition must not contain; "": nothing.
func notInCondition(expression any, columns []string) string {
	e, _ := expression.(map[string]any)
	class, _ := e["class"].(string)
	kind, _ := e["type"].(string)
	var parts []any
	add := func(names ...string) {
		for _, n := range names {
			parts = append(parts, e[n])
		}
	}
	children, _ := e["children"].([]any)
	switch class {
	case "COLUMN_REF":
		names, _ := e["column_names"].([]any)
		name := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(names), "[]")), ".")
		if len(names) != 1 || !slices.Contains(columns, strings.ToLower(name)) {
			return fmt.Sprintf("there is no column %s; there are %s", name, strings.Join(columns, ", "))
		}
		return ""
	case "CONSTANT":
		return notNumber(e)
	case "COMPARISON":
		add("left", "right")
	case "CONJUNCTION":
		parts = children
	case "BETWEEN":
		add("input", "lower", "upper")
	case "OPERATOR":
		known := []string{"OPERATOR_NOT", "OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL", "OPERATOR_COALESCE", "COMPARE_IN",
			"COMPARE_NOT_IN"}
		if !slices.Contains(known, kind) {
			return "an operator other than arithmetic, comparison, AND, OR, NOT, IN and IS NULL is not allowed"
		}
		parts = children
	case "CASE":
		checks, _ := e["case_checks"].([]any)
		for _, check := range checks {
			c, _ := check.(map[string]any)
			parts = append(parts, c["when_expr"], c["then_expr"])
		}
		add("else_expr")
	case "CAST": // true and false
		to, _ := e["cast_type"].(map[string]any)
		child, _ := e["child"].(map[string]any)
		value, _ := child["value"].(map[string]any)
		if to["id"] != "BOOLEAN" || child["class"] != "CONSTANT" || (value["value"] != "t" && value["value"] != "f") {
			return "a cast is not allowed"
		}
		return ""
	case "FUNCTION":
		name, _ := e["function_name"].(string)
		order, _ := e["order_bys"].(map[string]any)
		orders, _ := order["orders"].([]any)
		switch {
		case e["is_operator"] == true && slices.Contains(conditionOperators, name):
		case !slices.Contains(conditionFunctions, strings.ToLower(name)):
			return fmt.Sprintf("%s is not allowed; the functions are %s and coalesce", name,
				strings.Join(conditionFunctions, ", "))
		case e["schema"] != "" || e["catalog"] != "" || e["distinct"] == true || e["filter"] != nil || len(orders) > 0:
			return "a function with a schema, DISTINCT, FILTER or ORDER BY is not allowed"
		}
		parts = children
	case "SUBQUERY":
		return "a subquery is not allowed"
	case "WINDOW":
		return "a window function is not allowed"
	default:
		return strings.ToLower(strings.ReplaceAll(class, "_", " ")) + " is not allowed"
	}
	for _, p := range parts {
		if problem := notInCondition(p, columns); problem != "" {
			return problem
		}
	}
	return ""
}

// notNumber refuses constants other than numbers and NULL.
func notNumber(constant map[string]any) string {
	value, _ := constant["value"].(map[string]any)
	kind, _ := value["type"].(map[string]any)
	numbers := []string{"INTEGER", "BIGINT", "HUGEINT", "UHUGEINT", "DECIMAL", "DOUBLE"}
	if id, _ := kind["id"].(string); value["is_null"] != true && !slices.Contains(numbers, id) {
		return fmt.Sprintf("the constant %v is not a number", value["value"])
	}
	return ""
}
