package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/schema"
)

// warehouseCheck is what a finished DuckDB file must show.
type warehouseCheck struct {
	manifest *Manifest
	// changed are the days to sum, by account; nil: every day.
	changed map[string]map[schema.Date]bool
	// keys says to look for a key that occurs twice on a day, too. A publication need
	// not: the files that it loads were proven to have none, and no row is there that
	// is not counted.
	keys bool
}

// checkFile opens the file at path again, read-only, and checks it with an engine that has
// nothing of it: none of its blocks outlives a DETACH.
func checkFile(ctx context.Context, conn *sql.Conn, path string, c warehouseCheck) error {
	if err := attachPublished(ctx, conn, path); err != nil {
		return err
	}
	if err := checkContent(ctx, conn, c); err != nil {
		return err
	}
	return execAll(ctx, conn, []string{"USE memory", "DETACH w"})
}

// attachPublished opens a published DuckDB file under the name w.
func attachPublished(ctx context.Context, conn *sql.Conn, path string) error {
	if err := execAll(ctx, conn, attachToRead(path)); err != nil {
		return unread(err, "it does not open")
	}
	return nil
}

// checkContent compares the file with the manifest: every day by its count and by the sums
// of its campaigns, the changed ones by the exact sums of their rows, the other tables by
// their counts.
func checkContent(ctx context.Context, conn *sql.Conn, c warehouseCheck) error {
	days, err := checkCounts(ctx, conn, c)
	if err != nil {
		return err
	}
	if err := checkDays(ctx, conn, c, days); err != nil {
		return err
	}
	return checkCampaigns(ctx, conn, c.manifest)
}

type dayKey struct {
	account string
	day     schema.Date
}

// countTable counts a table's rows by account, and those of spend_daily by day, too. Where
// there should be one account, all rows are taken for its own: whether they are shows in
// the count of those that have its name, and both together are far cheaper than to group
// by names.
func countTable(ctx context.Context, conn *sql.Conn, t *schema.Table, accounts []string) (map[dayKey]int64, error) {
	uncounted := func(err error) error { return unread(err, "%s cannot be counted", t.FullName()) }
	account, day, its := "account_id", "0", ""
	if t == schema.SpendDaily.Table {
		day = "(report_date - DATE '1970-01-01')::BIGINT"
	}
	if len(accounts) == 1 {
		account = schema.QuoteText(accounts[0])
		its = " WHERE account_id = " + account
	}
	counts := map[dayKey]int64{}
	rows, err := conn.QueryContext(ctx, fmt.Sprintf("SELECT %s, %s, count(*) FROM %s GROUP BY ALL", account, day, t.SQLName()))
	if err != nil {
		return nil, uncounted(err)
	}
	counted := int64(0)
	for rows.Next() {
		var k dayKey
		var n int64
		if err := rows.Scan(&k.account, &k.day, &n); err != nil {
			return nil, errors.Join(uncounted(err), rows.Close())
		}
		counts[k] = n
		counted += n
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, uncounted(err)
	}
	if its == "" {
		return counts, nil
	}
	var named int64
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM "+t.SQLName()+its).Scan(&named); err != nil {
		return nil, uncounted(err)
	}
	if named != counted {
		return countTable(ctx, conn, t, nil)
	}
	return counts, nil
}

// checkCounts compares the rows of every table and account with the files that
// the manifest names. History that got shorter shows here. The counts of spend_daily
// by day come back: its rows, by far the most, are counted once.
func checkCounts(ctx context.Context, conn *sql.Conn, c warehouseCheck) (days map[dayKey]int64, err error) {
	want := map[[2]string]int64{}
	for name, a := range c.manifest.Accounts {
		for _, f := range a.Files {
			if f.Kind == KindParquet && f.Rows > 0 && !isMart(f.Table) {
				want[[2]string{f.Table, name}] += f.Rows
			}
		}
	}
	accounts := c.manifest.AccountNames()
	for _, t := range schema.TablesAsOf(c.manifest.SchemaVersion) {
		if !t.HasFiles() {
			continue
		}
		counts, err := countTable(ctx, conn, t, accounts)
		if err != nil {
			return nil, err
		}
		if t.Name == schema.SpendDaily.Name {
			days = counts
		}
		have := map[string]int64{}
		for k, n := range counts {
			have[k.account] += n
		}
		for account, n := range have {
			key := [2]string{t.Name, account}
			if want[key] != n {
				return nil, durable.Damaged(warehouseName, durable.MendRebuild, "%s of account %s has %d rows, its Parquet files have %d", t.FullName(), account, n, want[key])
			}
			delete(want, key)
		}
	}
	for key, n := range want {
		return nil, durable.Damaged(warehouseName, durable.MendRebuild, "%s of account %s has no rows, its Parquet files have %d", key[0], key[1], n)
	}
	return days, nil
}

// checkDays compares every day's count, and the exact sums of the changed ones.
func checkDays(ctx context.Context, conn *sql.Conn, c warehouseCheck, seen map[dayKey]int64) error {
	for account, a := range c.manifest.Accounts {
		for d, k := range a.Days {
			key := dayKey{account, d}
			if seen[key] != k.Sums.Rows {
				return durable.Damaged(warehouseName, durable.MendRebuild, "spend %s of account %s has %d rows, its Parquet file has %d", d, account, seen[key], k.Sums.Rows)
			}
			delete(seen, key)
		}
	}
	for k, n := range seen {
		return durable.Damaged(warehouseName, durable.MendRebuild, "spend %s of account %s has %d rows, and no Parquet file", k.day, k.account, n)
	}
	for account, a := range c.manifest.Accounts {
		days := map[schema.Date]bool{}
		for _, d := range a.DayList() {
			// The count has shown it where there are none.
			if a.Days[d].Sums.Rows > 0 && (c.changed == nil || c.changed[account][d]) {
				days[d] = true
			}
		}
		if err := checkSums(ctx, conn, account, a, days); err != nil {
			return err
		}
		if !c.keys {
			continue
		}
		for d := range days {
			if err := checkKeys(ctx, conn, account, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSums compares the exact sums of an account's days.
func checkSums(ctx context.Context, conn *sql.Conn, account string, a *Account, days map[schema.Date]bool) error {
	if len(days) == 0 {
		return nil
	}
	got, err := sumDays(ctx, conn, schema.SpendDaily.Table, schema.QuoteText(account), "count(*)", daysSQL(account, "report_date", days))
	if err != nil {
		return err
	}
	for d := range days {
		if sums, want := got[dayKey{account, d}], a.Days[d].Sums; sums != want {
			return durable.Damaged(warehouseName, durable.MendRebuild, "spend %s of account %s adds up to %+v, its Parquet file to %+v", d, account, sums, want)
		}
	}
	return nil
}

// checkCampaigns compares the sums of campaigns with those of the days, of every day.
func checkCampaigns(ctx context.Context, conn *sql.Conn, m *Manifest) error {
	if m.SchemaVersion < schema.CampaignSpends.Since {
		return nil
	}
	t := schema.CampaignSpends.Table
	got, err := sumDays(ctx, conn, t, "account_id", `sum("rows")::BIGINT`, "true")
	if err != nil {
		return err
	}
	for account, a := range m.Accounts {
		for d, k := range a.Days {
			if k.Sums.Rows == 0 {
				continue
			}
			key := dayKey{account, d}
			if got[key] != k.Sums {
				return durable.Damaged(warehouseName, durable.MendRebuild, "%s adds up to %+v on %s of account %s, its Parquet file to %+v", t.FullName(), got[key], d, account, k.Sums)
			}
			delete(got, key)
		}
	}
	for k := range got {
		return durable.Damaged(warehouseName, durable.MendRebuild, "%s has rows on %s of account %s, and there is no Parquet file", t.FullName(), k.day, k.account)
	}
	return nil
}

// sumDays adds up the measures of a table by day, of the rows of a condition. account and
// rows are what to take for the account and for the number of rows.
func sumDays(ctx context.Context, conn *sql.Conn, t *schema.Table, account, rows, where string) (map[dayKey]history.Sums, error) {
	// The sum of money travels as text: exact.
	q := fmt.Sprintf(`SELECT %s, (report_date - DATE '1970-01-01')::BIGINT, %s, sum(spend)::VARCHAR, sum(clicks)::BIGINT, sum(impressions)::BIGINT, sum(conversions)::BIGINT
		FROM %s WHERE %s GROUP BY ALL`, account, rows, t.SQLName(), where)
	unsummed := func(err error) error { return unread(err, "%s cannot be summed", t.FullName()) }
	found, err := conn.QueryContext(ctx, q)
	if err != nil {
		return nil, unsummed(err)
	}
	defer found.Close()
	sums := map[dayKey]history.Sums{}
	for found.Next() {
		var k dayKey
		var got history.Sums
		var spend string
		var clicks, impressions, conversions sql.Null[int64]
		if err := found.Scan(&k.account, &k.day, &got.Rows, &spend, &clicks, &impressions, &conversions); err != nil {
			return nil, unsummed(err)
		}
		if err := got.Spend.UnmarshalText([]byte(spend)); err != nil {
			return nil, unsummed(err)
		}
		got.Clicks, got.Impressions, got.Conversions = schema.Null[int64](clicks), schema.Null[int64](impressions), schema.Null[int64](conversions)
		sums[k] = got
	}
	if err := found.Err(); err != nil {
		return nil, unsummed(err)
	}
	return sums, nil
}

// checkKeys looks for a key that occurs twice. It asks for one day at a time, so
// that it needs memory for a day.
func checkKeys(ctx context.Context, conn *sql.Conn, account string, d schema.Date) error {
	q := fmt.Sprintf(`SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM %s WHERE account_id = %s AND report_date = DATE '%s'
		GROUP BY campaign_id, creative_id, source_id)`, schema.SpendDaily.SQLName(), schema.QuoteText(account), d)
	var most int64
	if err := conn.QueryRowContext(ctx, q).Scan(&most); err != nil {
		return unread(err, "the keys of %s of account %s cannot be counted", d, account)
	}
	if most > 1 {
		return durable.Damaged(warehouseName, durable.MendRebuild, "spend %s of account %s: a key occurs %d times", d, account, most)
	}
	return nil
}
