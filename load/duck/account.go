package duck

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"spendsync/schema"
)

// AccountError is a question about an account that the warehouse does not have.
type AccountError struct {
	Account string
	Has     []string
}

func (e *AccountError) Error() string {
	if len(e.Has) == 0 {
		return fmt.Sprintf("there is no account %q: the warehouse has no day of any account yet", e.Account)
	}
	return fmt.Sprintf("there is no account %q; the warehouse has %s", e.Account, strings.Join(e.Has, ", "))
}

// Accounts returns the accounts that the file has days of: one, if it is given.
func (s *Session) Accounts(ctx context.Context, only string) (names []string, err error) {
	known, err := s.Query(ctx, "SELECT DISTINCT account_id FROM ops.day_coverage ORDER BY account_id")
	for _, r := range known.Rows {
		names = append(names, r[0].V)
	}
	if err != nil || only == "" {
		return names, err
	}
	if !slices.Contains(names, only) {
		return nil, &AccountError{only, names}
	}
	return []string{only}, nil
}

// chooseOf is choose of an account that the file must have. A file of a single account stays as it is.
func (s *Session) chooseOf(ctx context.Context, account string) error {
	all, err := s.Accounts(ctx, "")
	switch {
	case err != nil:
		return err
	case !slices.Contains(all, account):
		return &AccountError{account, all}
	case len(all) == 1:
		return nil
	}
	return s.choose(ctx, account)
}

// choose hides the rows of other accounts from all later queries, until it is called for another one: they find a copy
// of the file in the engine's own memory, with all views and macros, in which each table is a view of the account's
// rows.
func (s *Session) choose(ctx context.Context, account string) error {
	tables, err := s.Query(ctx, "SELECT format('\"{}\".\"{}\"', c.schema_name, c.table_name), "+
		"bool_or(c.column_name = 'account_id') FROM duckdb_columns() AS c JOIN duckdb_tables() AS t "+
		"USING (database_name, schema_name, table_name) WHERE c.database_name = 'w' GROUP BY ALL")
	if err != nil {
		return err
	}
	// The copy has the views as they were parsed: the SQL that DuckDB spells of a view is not always SQL.
	statements := []string{"USE w", "DETACH DATABASE IF EXISTS one", "ATTACH ':memory:' AS one",
		"COPY FROM DATABASE w TO one (SCHEMA)"}
	for _, r := range tables.Rows {
		view := fmt.Sprintf("CREATE VIEW one.%[1]s AS FROM w.%[1]s", r[0].V)
		if r[1].V == "true" {
			view += " WHERE account_id = " + schema.QuoteText(account)
		}
		statements = append(statements, "DROP TABLE one."+r[0].V, view)
	}
	return execAll(ctx, s.conn, append(statements, "USE one"))
}

// Kept is a view of schema mart to compute once. It stands after the views that it uses.
type Kept struct {
	View  string
	Where string // the rows that later queries need; empty: all
}

// Keep hides the rows of other accounts, and computes views of schema mart once: their rows stay in memory for all
// later queries, until Keep is called for another account.
func (s *Session) Keep(ctx context.Context, account string, views []Kept) error {
	if err := s.choose(ctx, account); err != nil {
		return err
	}
	statements := []string{"CREATE SCHEMA one.kept"}
	for _, v := range views {
		name := schema.Quote(v.View)
		statements = append(statements, "CREATE TABLE one.kept."+name+" AS FROM one.mart."+name+
			" WHERE "+cmp.Or(v.Where, "true"),
			"CREATE OR REPLACE VIEW one.mart."+name+" AS FROM one.kept."+name)
	}
	return execAll(ctx, s.conn, statements)
}
