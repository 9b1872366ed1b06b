package duck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
)

// errNotOne is the error for text that is not a single reading statement.
var errNotOne = &QueryError{Message: "not one statement that reads (SELECT, FROM, WITH, VALUES, DESCRIBE, " +
	"SUMMARIZE): the warehouse is read-only and takes one at a time"}

// parsed is the JSON that DuckDB's json_serialize_sql returns: the syntax trees of the statements, or an error.
type parsed struct {
	Error      bool   `json:"error"`
	Kind       string `json:"error_type"`
	Message    string `json:"error_message"`
	Statements []any  `json:"statements"`
}

// parse makes the engine parse a query. An error in the SQL is part of the result.
func (r *Result) parse(ctx context.Context, query string) (p parsed, err error) {
	var tree string
	if err := r.s.conn.QueryRowContext(ctx, "SELECT json_serialize_sql($1::VARCHAR)::VARCHAR", query).
		Scan(&tree); err != nil {
		return p, stopped(ctx, fmt.Errorf("duckdb: parse the query: %w", err))
	}
	if err := json.Unmarshal([]byte(tree), &p); err != nil {
		return p, fmt.Errorf("duckdb: the query as parsed: %w", err)
	}
	return p, nil
}

// mayBeOne reports whether the SQL may be a single SELECT. It returns true for syntax errors as well, because
// [Result.prepare] describes these errors better.
func (p parsed) mayBeOne() bool {
	return p.Kind != "not implemented" && (p.Error || len(p.Statements) == 1)
}

// check returns an error unless the query is a single SELECT and calls no function that could reach beyond the
// warehouse.
func (r *Result) check(ctx context.Context, q Query) error {
	parsed, err := r.parse(ctx, q.SQL)
	if err != nil {
		return err
	}
	if !parsed.mayBeOne() {
		return errNotOne
	}
	f := outside(parsed.Statements, nil)
	if f != "" {
		macros, err := r.macros(ctx)
		if err != nil {
			return err
		}
		f = outside(parsed.Statements, macros)
	}
	if f != "" {
		return &QueryError{Message: fmt.Sprintf("the function %s cannot be called in a query: it "+
			"may reach more than the warehouse", f)}
	}
	return r.prepare(q)
}

// tableFunctions matches the engine's table functions that a query may call. These functions compute, or read the
// catalog of the warehouse. All other table functions are refused, including any that a later engine adds: most read
// files, some change the engine, some run SQL given as text, and some end the process. The engine's own settings refuse
// most of them, but not all.
var tableFunctions = regexp.MustCompile(`^(range|generate_series|unnest|repeat|repeat_row|json_each|json_tree|` +
	`query_table|summary|histogram|histogram_values|regexp_split_to_table|icu_calendar_names|pg_timezone_names|` +
	`pragma_(collations|database_size|metadata_info|platform|show|storage_info|table_info|user_agent|version)|` +
	`duckdb_(columns|constraints|coordinate_systems|databases|dependencies|extensions|functions|indexes|keywords|` +
	`memory|optimizers|schemas|sequences|settings|tables|types|views))$`)

// outsiders matches the scalar functions that a query must not call.
var outsiders = regexp.MustCompile(`^(write_log|parse_duckdb_log_message)$`)

// outside returns the first function in a parsed statement that queries must not call, or "" if there is none. The
// argument macros has the names of the warehouse's own table macros, which are allowed.
func outside(node any, macros map[string]bool) string {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			if f := outside(child, macros); f != "" {
				return f
			}
		}
	case map[string]any:
		if called, ok := n["function"].(map[string]any); ok && n["type"] == "TABLE_FUNCTION" {
			f, _ := called["function_name"].(string)
			if name := strings.ToLower(f); !tableFunctions.MatchString(name) && !macros[name] {
				return f
			}
		}
		if f, ok := n["function_name"].(string); ok && outsiders.MatchString(strings.ToLower(f)) {
			return f
		}
		for _, child := range n {
			if f := outside(child, macros); f != "" {
				return f
			}
		}
	}
	return ""
}

// macros returns the names of the warehouse's own table macros.
func (r *Result) macros(ctx context.Context) (map[string]bool, error) {
	names, name := map[string]bool{}, ""
	if err := scanRows(ctx, r.s.conn, "SELECT DISTINCT lower(f.function_name) FROM duckdb_functions() AS f "+
		"WHERE f.database_name = 'w' AND f.function_type = 'table_macro'", func() error {
		names[name] = true
		return nil
	}, &name); err != nil {
		return nil, stopped(ctx, duckErr("list the macros", err))
	}
	return names, nil
}

// prepare makes the engine check the unmodified query without running it.
func (r *Result) prepare(q Query) error {
	return r.s.conn.Raw(func(c any) error {
		// PrepareContext would run all but the last of several statements. Prepare refuses several statements.
		s, err := c.(*duckdb.Conn).Prepare(q.SQL)
		if err != nil {
			return queryErr(err, true)
		}
		defer s.Close()
		if n := s.NumInput(); n > 0 && len(q.Params) == 0 {
			name, err := s.(*duckdb.Stmt).ParamName(1)
			return errors.Join(err, &QueryError{Message: fmt.Sprintf("the parameter $%s has no value", name)})
		}
		return nil
	})
}
