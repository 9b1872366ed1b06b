package duck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/schema"
)

// ReplacePartition replaces rows of one table: the rows of a day, or the rows of an account. All rows in the tables of
// the file come from such replacements.
type ReplacePartition struct {
	Table *schema.Table
	Where string   // condition on the rows to delete; if empty, no row is deleted
	Files []string // Parquet files with the rows to insert, absolute paths
	Query string   // SQL that computes rows to insert from other tables
}

// Statements returns the SQL of the replacement. If empty is true, the table has no rows yet, so nothing is deleted.
func (r ReplacePartition) Statements(empty bool) (statements []string) {
	name := r.Table.SQLName()
	if r.Where != "" && !empty {
		statements = append(statements, "DELETE FROM "+name+" WHERE "+r.Where)
	}
	if len(r.Files) > 0 {
		statements = append(statements, fmt.Sprintf("INSERT INTO %s SELECT %s FROM %s", name, r.Table.SQLColumns(),
			FilesSQL(r.Files)))
	}
	if r.Query != "" {
		statements = append(statements, fmt.Sprintf("INSERT INTO %s (%s) %s", name, r.Table.SQLColumns(), r.Query))
	}
	return statements
}

// CampaignSums returns the load that recomputes the sums by campaign from the rows of spend_daily that meet a
// condition.
func CampaignSums(where string) ReplacePartition {
	return ReplacePartition{Table: schema.CampaignSpends.Table, Where: where, Query: schema.CampaignSpendSQL(where)}
}

// FilesSQL returns the FROM clause that reads Parquet files of one table. Hive partitioning is off because the files
// contain all values themselves.
func FilesSQL(files []string) string {
	return "read_parquet([" + schema.QuoteTexts(files) + "], hive_partitioning = false)"
}

// DaysSQL returns the condition for days of an account. For consecutive days it uses BETWEEN, because DuckDB turns a
// long IN list into a join.
func DaysSQL(account, column string, days map[schema.Date]bool) string {
	sorted := slices.Sorted(maps.Keys(days))
	var condition string
	if first, last := sorted[0], sorted[len(sorted)-1]; int(last-first) == len(sorted)-1 {
		condition = fmt.Sprintf("BETWEEN DATE '%s' AND DATE '%s'", first, last)
	} else {
		list := make([]string, len(sorted))
		for i, d := range sorted {
			list[i] = "DATE '" + d.String() + "'"
		}
		condition = "IN (" + strings.Join(list, ", ") + ")"
	}
	return fmt.Sprintf("account_id = %s AND %s %s", schema.QuoteText(account), schema.Quote(column), condition)
}

// FileSQL returns the condition for the rows of one Parquet file of a table.
func FileSQL(t *schema.Table, account string, day schema.Date) string {
	c := "account_id = " + schema.QuoteText(account)
	switch t.Partition {
	case schema.ByDay:
		c += fmt.Sprintf(" AND report_date = DATE '%s'", day)
	case schema.BySeen:
		c += " AND " + seenCondition(day)
	}
	return c
}

// seenCondition returns the condition for the rows seen on a Chicago day.
func seenCondition(day schema.Date) string {
	return fmt.Sprintf("seen_at >= make_timestamptz(%d) AND seen_at < make_timestamptz(%d)",
		schema.InstantOf(day.Start()), schema.InstantOf(day.End()))
}
