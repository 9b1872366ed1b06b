package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"spendsync/load/durable"
	"spendsync/schema"
)

// AccountError is the error of a query for an account that the warehouse does not have.
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

// Accounts returns the names of the accounts in the file. If a name is given, Accounts returns just that name, or an
// [*AccountError] if the file has no such account.
func (s *Session) Accounts(ctx context.Context, only string) (names []string, err error) {
	result, err := s.Query(ctx, "SELECT DISTINCT account_id FROM ops.day_coverage ORDER BY account_id")
	for _, r := range result.Rows {
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

// AccountFile returns the path, below the data directory, of the DuckDB file with the rows of only one account. A store
// with several accounts has such a file for each account, and a query for one account reads only that file. Views on
// the common file would not hide the other accounts' rows reliably.
func AccountFile(account string) string { return "warehouse/account=" + account + "/" + FileName }

// openAccount opens the file for queries about one account: the account's own file, or the common file if the store has
// no other account.
func openAccount(ctx context.Context, dir, account string, o Options) (*Session, error) {
	if schema.AccountName.MatchString(account) && durable.Exists(filepath.Join(dir, AccountFile(account))) {
		return openSession(ctx, dir, AccountFile(account), o)
	}
	s, err := OpenSession(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	all, err := s.Accounts(ctx, account)
	if err == nil && len(all) == 1 {
		if all, err = s.Accounts(ctx, ""); err == nil && len(all) > 1 {
			err = durable.Damaged(AccountFile(account), durable.RepairRebuild, "it is missing")
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// WriteAccount writes a DuckDB file at path with all tables, views and macros of this file, but only the rows of one
// account. It then checks the number of rows of each table.
func (w *Warehouse) WriteAccount(ctx context.Context, path, account string) error {
	tables, err := accountTables(ctx, w.conn)
	if err != nil {
		return err
	}
	// Rows of int.made without an account belong to all accounts.
	condition := " WHERE account_id IN ('', " + schema.QuoteText(account) + ")"
	attach := fmt.Sprintf("ATTACH %s AS one", schema.QuoteText(path))
	write := []string{fmt.Sprintf("%s (BLOCK_SIZE %d, STORAGE_VERSION 'v1.2.0')", attach, blockSize),
		"COPY FROM DATABASE w TO one (SCHEMA)"}
	var comparisons []string
	for _, t := range tables {
		where := ""
		if t.byAccount {
			where = condition
		}
		write = append(write, fmt.Sprintf("INSERT INTO one.%[1]s FROM w.%[1]s%s", t.name, where))
		comparisons = append(comparisons, fmt.Sprintf("(SELECT count(*) FROM one.%[1]s) = (SELECT count(*) FROM "+
			"w.%[1]s%[2]s) AND (SELECT count(*) FROM one.%[1]s) = (SELECT count(*) FROM one.%[1]s%[2]s)",
			t.name, where))
	}
	// Attach the file again, so that counting uses no cached block.
	write = append(write, "CHECKPOINT one", "DETACH one", attach+" (READ_ONLY)")
	return w.WithMemory(ctx, func() error {
		if err := w.Exec(ctx, "DETACH DATABASE IF EXISTS one"); err != nil {
			return err
		}
		if err := errors.Join(w.disk.RemoveIfThere(path), w.disk.RemoveIfThere(path+".wal")); err != nil {
			return err
		}
		if err := w.Exec(ctx, write...); err != nil {
			return err
		}
		var matches bool
		q := "SELECT " + strings.Join(comparisons, " AND ")
		if err := w.conn.QueryRowContext(ctx, q).Scan(&matches); err != nil {
			return duckErr(q, err)
		}
		if !matches {
			return durable.Damaged(AccountFile(account), durable.RepairRebuild, "it holds other rows than the "+
				"account's in %s", FileName)
		}
		return w.Exec(ctx, "DETACH one")
	})
}

// accountTable is a table of the warehouse. If byAccount is set, the table has a column account_id.
type accountTable struct {
	name      string // with its schema, quoted
	byAccount bool
}

func accountTables(ctx context.Context, conn *sql.Conn) (all []accountTable, err error) {
	q := "SELECT format('\"{}\".\"{}\"', c.schema_name, c.table_name), bool_or(c.column_name = 'account_id') " +
		"FROM duckdb_columns() AS c JOIN duckdb_tables() AS t USING (database_name, schema_name, table_name) " +
		"WHERE c.database_name = 'w' GROUP BY ALL ORDER BY ALL"
	var t accountTable
	if err := scanRows(ctx, conn, q, func() error {
		all = append(all, t)
		return nil
	}, &t.name, &t.byAccount); err != nil {
		return nil, duckErr(q, err)
	}
	return all, nil
}

// Choose limits later queries to the rows of one account, until Choose is called for another account. It creates an
// in-memory database with the same views and macros, in which each table is a view of the account's rows. Only our own
// queries may rely on Choose; a hostile query could get around it.
func (s *Session) Choose(ctx context.Context, account string) error {
	tables, err := accountTables(ctx, s.conn)
	if err != nil {
		return err
	}
	// COPY FROM DATABASE copies the parsed views. It does not use the SQL text that DuckDB prints for a view, which is
	// not always valid.
	statements := []string{"USE w", "DETACH DATABASE IF EXISTS one", "ATTACH ':memory:' AS one",
		"COPY FROM DATABASE w TO one (SCHEMA)"}
	for _, t := range tables {
		view := fmt.Sprintf("CREATE VIEW one.%[1]s AS FROM w.%[1]s", t.name)
		if t.byAccount {
			view += " WHERE account_id = " + schema.QuoteText(account)
		}
		statements = append(statements, "DROP TABLE one."+t.name, view)
	}
	return execAll(ctx, s.conn, append(statements, "USE one"))
}
