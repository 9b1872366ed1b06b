package duck

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/schema"
)

// Load is what happens to one table of the file: a [Replace], [Patch], [Renew], [Derive] or
// [Amend].
type Load interface {
	// Statements do it. A file that was empty has no row that could go.
	Statements(empty bool) []string
}

// Replace takes rows out of a table, and puts those of Parquet files in.
type Replace struct {
	Table *schema.Table
	Where string   // condition on the rows that go; empty: none
	Files []string // absolute paths
	Only  string   // condition on the rows that come; empty: all of the files
}

// Statements are the SQL of the replacement.
func (r Replace) Statements(empty bool) []string {
	return append(deleteWhere(r.Table, r.Where, empty), insertFiles(r.Table, r.Files, r.Only)...)
}

// Patch takes the rows of some keys out of a table, and puts rows of Parquet files in.
type Patch struct {
	Table *schema.Table
	Stale []string // files with the keys of the rows that go
	Files []string // absolute paths
	Only  string   // condition on the rows that come; empty: all of the files
}

// Statements are the SQL of the patch.
func (p Patch) Statements(empty bool) (statements []string) {
	if len(p.Stale) > 0 && !empty {
		// Nothing but the keys: with any other condition DuckDB takes the table for
		// the smaller side and builds its hash table from it.
		var same []string
		for _, name := range p.Table.KeyNames() {
			same = append(same, fmt.Sprintf("t.%[1]s = stale.%[1]s", schema.Quote(name)))
		}
		statements = append(statements, fmt.Sprintf("DELETE FROM %s AS t USING %s AS stale WHERE %s",
			p.Table.SQLName(), FilesSQL(p.Table, p.Stale), strings.Join(same, " AND ")))
	}
	return append(statements, insertFiles(p.Table, p.Files, p.Only)...)
}

// Renew brings a day of an account in a table to the rows of a Parquet file, most of whose keys it
// has. Of rows that stay only the columns that differ are written: to delete all and insert them
// again writes every column, and those of the rows that lie beside them.
type Renew struct {
	Table      *schema.Table
	Account    string
	Day        schema.Date
	File       string // absolute path
	Only       string // condition on the rows of the file that are others than before
	Set        []bool // columns in which rows that stay have other values
	Came, Went bool   // whether there are keys that were not there before, or are no longer
}

// Statements are the SQL of the renewal.
func (r Renew) Statements(empty bool) (statements []string) {
	if empty {
		return insertFiles(r.Table, []string{r.File}, "")
	}
	table, file := r.Table.SQLName()+" AS t", FilesSQL(r.Table, []string{r.File})
	its := fmt.Sprintf("t.account_id = %s AND t.report_date = DATE '%s'", schema.QuoteText(r.Account), r.Day)
	for _, name := range r.Table.KeyNames() {
		its += fmt.Sprintf(" AND t.%[1]s = f.%[1]s", schema.Quote(name))
	}
	var set []string
	for i, c := range r.Table.Columns {
		if r.Set[i] {
			set = append(set, fmt.Sprintf("%[1]s = f.%[1]s", schema.Quote(c.Name)))
		}
	}
	if r.Went {
		where := PartSQL(r.Table, r.Account, r.Day)
		statements = append(statements, fmt.Sprintf("DELETE FROM %s WHERE %s AND NOT EXISTS (FROM %s AS f WHERE %s)",
			table, where, file, its))
	}
	others := fmt.Sprintf("(FROM %s WHERE %s) AS f", file, r.Only)
	if len(set) > 0 {
		statements = append(statements, fmt.Sprintf("UPDATE %s SET %s FROM %s WHERE %s", table, strings.Join(set, ", "),
			others, its))
	}
	if r.Came {
		statements = append(statements, fmt.Sprintf("INSERT INTO %s SELECT %s FROM %s WHERE NOT EXISTS (FROM %s WHERE "+
			"%s)", r.Table.SQLName(), r.Table.SQLColumns(), others, table, its))
	}
	return statements
}

// Derive takes rows out of a table, and puts in what a query gives of tables that have
// got their rows.
type Derive struct {
	Table *schema.Table
	Where string // condition on the rows that go
	Query string
}

// Statements are the SQL of the derivation.
func (d Derive) Statements(empty bool) []string {
	insert := fmt.Sprintf("INSERT INTO %s (%s) %s", d.Table.SQLName(), d.Table.SQLColumns(), d.Query)
	return append(deleteWhere(d.Table, d.Where, empty), insert)
}

// CampaignSums derive the sums of campaigns, of the rows of a condition.
func CampaignSums(where string) Derive {
	return Derive{Table: schema.CampaignSpends.Table, Where: where, Query: schema.CampaignSpendSQL(where)}
}

// Amend sets values in rows that stay.
type Amend struct {
	Table *schema.Table
	Set   string
	Where string
	Rows  int64 // how many rows meet the condition
}

// Statements are none: whether as many rows changed as must is seen when it is done.
func (Amend) Statements(bool) []string { return nil }

// ErrOtherRows says that a DuckDB file which has the bytes that were published has not
// the rows that it must have.
var ErrOtherRows = errors.New("it has other rows than it must have")

func (a Amend) do(ctx context.Context, conn *sql.Conn) error {
	q := "UPDATE " + a.Table.SQLName() + " SET " + a.Set + " WHERE " + a.Where
	result, err := conn.ExecContext(ctx, q)
	if err != nil {
		return duckErr(q, err)
	}
	if changed, err := result.RowsAffected(); err != nil || changed != a.Rows {
		return errors.Join(fmt.Errorf("%s: %d rows would change of %d: %w", a.Table.FullName(), changed, a.Rows,
			ErrOtherRows), err)
	}
	return nil
}

func deleteWhere(t *schema.Table, where string, empty bool) []string {
	if where == "" || empty {
		return nil
	}
	return []string{"DELETE FROM " + t.SQLName() + " WHERE " + where}
}

func insertFiles(t *schema.Table, files []string, only string) []string {
	if len(files) == 0 {
		return nil
	}
	if only != "" {
		only = " WHERE " + only
	}
	return []string{fmt.Sprintf("INSERT INTO %s SELECT %s FROM %s%s", t.SQLName(), t.SQLColumns(),
		FilesSQL(t, files), only)}
}

// FilesSQL reads Parquet files of a table. It names them outright: the values are in the
// files, never in their paths.
func FilesSQL(t *schema.Table, files []string) string {
	quoted := make([]string, len(files))
	for i, f := range files {
		quoted[i] = schema.QuoteText(f)
	}
	options := ", hive_partitioning = false"
	if fields := t.FieldsSQL(); fields != "" {
		options += ", schema = " + fields
	}
	return "read_parquet([" + strings.Join(quoted, ", ") + "]" + options + ")"
}

// DaysSQL is the condition for some days of an account. Days that follow each other are
// a span: of a list DuckDB makes a join.
func DaysSQL(account, column string, days map[schema.Date]bool) string {
	sorted := slices.Sorted(maps.Keys(days))
	var which string
	if first, last := sorted[0], sorted[len(sorted)-1]; int(last-first) == len(sorted)-1 {
		which = fmt.Sprintf("BETWEEN DATE '%s' AND DATE '%s'", first, last)
	} else {
		list := make([]string, len(sorted))
		for i, d := range sorted {
			list[i] = "DATE '" + d.String() + "'"
		}
		which = "IN (" + strings.Join(list, ", ") + ")"
	}
	return fmt.Sprintf("account_id = %s AND %s %s", schema.QuoteText(account), schema.Quote(column), which)
}

// PartSQL is the condition for the rows that one file of a table holds.
func PartSQL(t *schema.Table, account string, day schema.Date) string {
	c := "account_id = " + schema.QuoteText(account)
	switch t.Partition {
	case schema.ByDay:
		c += fmt.Sprintf(" AND report_date = DATE '%s'", day)
	case schema.BySeen:
		c += " AND " + seenCondition(day)
	}
	return c
}

// seenCondition selects what was seen on a Chicago day.
func seenCondition(day schema.Date) string {
	return fmt.Sprintf("seen_at >= make_timestamptz(%d) AND seen_at < make_timestamptz(%d)",
		schema.InstantOf(day.Start()), schema.InstantOf(day.End()))
}
