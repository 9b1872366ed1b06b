package load

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"strings"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// warehouseCheck checks a finished DuckDB file against the manifest. It need not look for keys that occur twice: the
// loaded files have unique keys, and the number of rows is compared.
type warehouseCheck struct {
	manifest *manifest.Manifest
	// changed has the days whose rows are summed, by account. If it is nil, the rows of all days are summed.
	changed map[string]map[schema.Date]bool
}

// file opens the finished file again, read-only, and checks it. It uses no cached block, because DETACH has dropped all
// cached blocks.
func (c warehouseCheck) file(ctx context.Context, w *duck.Warehouse) error {
	if err := w.Attach(ctx); err != nil {
		return err
	}
	return c.content(ctx, w)
}

// content compares the file with the manifest: the number of rows of each table and day, the sums of the changed days,
// and the sums by campaign of all days.
func (c warehouseCheck) content(ctx context.Context, w *duck.Warehouse) error {
	days, err := c.counts(ctx, w)
	if err != nil {
		return err
	}
	if err := c.days(ctx, w, days); err != nil {
		return err
	}
	return checkCampaigns(ctx, w, c.manifest)
}

// counts compares the number of rows of every table and account with the manifest. It returns the counts of spend_daily
// by day, so that the rows of this table, the largest by far, are counted only once.
func (c warehouseCheck) counts(ctx context.Context, w *duck.Warehouse) (days map[duck.AccountDay]int64, err error) {
	want := map[[2]string]int64{}
	accounts := c.manifest.AccountNames()
	for _, name := range accounts {
		for table, rows := range c.manifest.RowsOf(name) {
			if f := (&manifest.File{Table: table}); !f.IsMart() {
				want[[2]string{table, name}] = rows
			}
		}
	}
	for _, t := range schema.Tables {
		if !t.HasFiles() {
			continue
		}
		counts, err := w.Counts(ctx, t, accounts)
		if err != nil {
			return nil, err
		}
		if t.Name == schema.SpendDaily.Name {
			days = counts
		}
		byAccount := map[string]int64{}
		for k, n := range counts {
			byAccount[k.Account] += n
		}
		for account, n := range byAccount {
			key := [2]string{t.Name, account}
			if want[key] != n {
				return nil, durable.Damaged(duck.FileName, durable.RepairRebuild, "%s of account %s has %d rows, its "+
					"Parquet files have %d", t.FullName(), account, n, want[key])
			}
			delete(want, key)
		}
	}
	for key, n := range want {
		return nil, durable.Damaged(duck.FileName, durable.RepairRebuild, "%s of account %s has no rows, its Parquet "+
			"files have %d", key[0], key[1], n)
	}
	return days, nil
}

// days compares the number of rows of every day with the manifest, and the exact sums of the changed days. The given
// map has the number of rows in the DuckDB file for each day.
func (c warehouseCheck) days(ctx context.Context, w *duck.Warehouse, seen map[duck.AccountDay]int64) error {
	for account, a := range c.manifest.Accounts {
		for d, k := range a.Days {
			key := duck.AccountDay{Account: account, Day: d}
			if seen[key] != k.Sums.Rows {
				return durable.Damaged(duck.FileName, durable.RepairRebuild, "spend %s of account %s has %d rows, its "+
					"Parquet file has %d", d, account, seen[key], k.Sums.Rows)
			}
			delete(seen, key)
		}
	}
	for k, n := range seen {
		if c.manifest.Accounts[k.Account] == nil && c.manifest.AccountFiles[k.Account] != nil {
			continue // this account is not loaded, and counts() has compared its rows
		}
		return durable.Damaged(duck.FileName, durable.RepairRebuild, "spend %s of account %s has %d rows, and the "+
			"day is not proven", k.Day, k.Account, n)
	}
	for account, a := range c.manifest.Accounts {
		days := map[schema.Date]bool{}
		for _, d := range a.DayList() {
			if a.Days[d].Sums.Rows > 0 && (c.changed == nil || c.changed[account][d]) {
				days[d] = true
			}
		}
		if err := checkSums(ctx, w, account, a, days); err != nil {
			return err
		}
	}
	return nil
}

// checkSums compares the exact sums of an account's days with the manifest.
func checkSums(ctx context.Context, w *duck.Warehouse, account string, a *manifest.Account,
	days map[schema.Date]bool) error {
	if len(days) == 0 {
		return nil
	}
	got, err := w.Sums(ctx, schema.SpendDaily.Table, schema.QuoteText(account), "count(*)",
		duck.DaysSQL(account, "report_date", days))
	if err != nil {
		return err
	}
	for d := range days {
		if sums, want := got[duck.AccountDay{Account: account, Day: d}], a.Days[d].Sums; sums != want {
			return durable.Damaged(duck.FileName, durable.RepairRebuild, "spend %s of account %s adds up to %+v, its "+
				"Parquet file to %+v", d, account, sums, want)
		}
	}
	return nil
}

// checkCampaigns compares, for every day, the sums by campaign with the sums in the manifest.
func checkCampaigns(ctx context.Context, w *duck.Warehouse, m *manifest.Manifest) error {
	t := schema.CampaignSpends.Table
	got, err := w.Sums(ctx, t, "account_id", `sum("rows")::BIGINT`, "true")
	if err != nil {
		return err
	}
	for account, a := range m.Accounts {
		for d, k := range a.Days {
			if k.Sums.Rows == 0 {
				continue
			}
			key := duck.AccountDay{Account: account, Day: d}
			if got[key] != k.Sums {
				return durable.Damaged(duck.FileName, durable.RepairRebuild, "%s adds up to %+v on %s of account %s, "+
					"its Parquet file to %+v", t.FullName(), got[key], d, account, k.Sums)
			}
			delete(got, key)
		}
	}
	for k := range got {
		if m.Accounts[k.Account] == nil && m.AccountFiles[k.Account] != nil {
			continue
		}
		return durable.Damaged(duck.FileName, durable.RepairRebuild, "%s has rows on %s of account %s, and there is "+
			"no Parquet file", t.FullName(), k.Day, k.Account)
	}
	return nil
}

// compareRows compares the rows of every table with the table's Parquet files. Where the rows are computed from other
// rows, it computes them again. It compares sums of DuckDB's hashes of all rows, which do not depend on the order of
// the rows.
func compareRows(ctx context.Context, m *manifest.Manifest, dir string, w *duck.Warehouse, views []duck.View) error {
	var excluded []string
	if m.SchemaVersion < schema.Readings.Since { // in older stores Parquet and DuckDB may differ in these columns
		excluded = []string{"last_confirmed_at", "bids_last_read_at"}
	}
	compareFiles := func(t *schema.Table, columns, from string, damage *durable.Damage) error {
		stored := "(FROM " + from + " LIMIT 0)"
		if files := parquetFiles(m, dir, t); len(files) > 0 {
			stored = duck.FilesSQL(files)
		} else if t.View != "" || !t.HasFiles() {
			return nil
		}
		return sameRows(ctx, w, columns, from, stored, damage)
	}
	for _, t := range schema.TablesAsOf(m.SchemaVersion) {
		if err := compareFiles(t, t.SQLColumns(excluded...), "w."+t.SQLName(), durable.Damaged(duck.FileName,
			durable.RepairRebuild, "%s holds other rows than its Parquet files", t.FullName())); err != nil {
			return err
		}
	}
	if m.SchemaVersion < schema.CampaignSpends.Since {
		return nil
	}
	sums := schema.CampaignSpends.Table
	if err := sameRows(ctx, w, sums.SQLColumns(), "w."+sums.SQLName(), "("+schema.CampaignSpendSQL("true")+")",
		durable.Damaged(duck.FileName, durable.RepairRebuild, "%s holds other rows than spend_daily adds up to",
			sums.FullName())); err != nil {
		return err
	}
	if err := compareModels(ctx, w, views); err != nil {
		return err
	}
	for _, mart := range schema.Marts {
		view := "(SELECT " + duck.MartColumns(mart) + " FROM w.mart." + schema.Quote(mart.View) + ")"
		if err := compareFiles(mart, mart.SQLColumns(), view, durable.Damaged("parquet/"+mart.Name,
			durable.RepairRebuild, "its files hold other rows than the view mart.%s", mart.View)); err != nil {
			return err
		}
	}
	for _, c := range schema.Copies {
		from := "w." + schema.Named(c.View).SQLName()
		if err := compareFiles(c, c.AsOf(m.SchemaVersion).SQLColumns(), from, durable.Damaged("parquet/"+c.Name,
			durable.RepairRebuild, "its files hold other rows than %s", c.View)); err != nil {
			return err
		}
	}
	return nil
}

// compareModels compares the rows of each computed table with the hash that int.made has for them. It does not run the
// models: a model that fails is not damage.
func compareModels(ctx context.Context, w *duck.Warehouse, views []duck.View) error {
	made, err := w.Models().Made(ctx)
	if err != nil {
		return err
	}
	recorded := map[string]map[string]string{}
	for p, m := range made {
		if m.Content != "" {
			if recorded[p.Model] == nil {
				recorded[p.Model] = map[string]string{}
			}
			recorded[p.Model][strings.TrimSuffix(p.Account+"/"+p.Month, "/")] = m.Content
		}
	}
	for _, v := range views {
		if !v.IsTable || recorded[v.Full()] == nil {
			continue
		}
		key := "account_id"
		if len(v.Reads) == 0 {
			key = "''"
		} else if v.ByMonth {
			key += " || '/' || strftime(report_date, '%Y-%m-01')"
		}
		contents, err := w.Contents(ctx, "w."+v.Full(), "t", key, "true")
		if err != nil {
			return err
		}
		if !maps.Equal(contents, recorded[v.Full()]) {
			return durable.Damaged(duck.FileName, durable.RepairRebuild, "%s holds other rows than were made", v.Full())
		}
	}
	return nil
}

// parquetFiles returns the paths of a table's Parquet files, of all accounts. The table may be a mart.
func parquetFiles(m *manifest.Manifest, dir string, t *schema.Table) (files []string) {
	for _, a := range m.Accounts {
		for p, f := range a.Files {
			if f.Kind == manifest.KindParquet && f.Table == t.Name {
				files = append(files, filepath.Join(dir, p))
			}
		}
	}
	return files
}

// sameRows compares the rows of two FROM clauses, and returns the given damage if they differ.
func sameRows(ctx context.Context, w *duck.Warehouse, columns, left, right string, damage *durable.Damage) error {
	leftHash, err := w.RowsHash(ctx, columns, left)
	if err != nil {
		return err
	}
	if rightHash, err := w.RowsHash(ctx, columns, right); err != nil || rightHash != leftHash {
		return cmp.Or(err, error(damage))
	}
	return nil
}

// newerDuckDB returns the DuckDB file if its generation is later than the manifest's. The result has no path if the
// file is not newer or cannot be read.
func newerDuckDB(ctx context.Context, m *manifest.Manifest, dir string, o duck.Options) (manifest.NewerPart, error) {
	newest, err := duck.NewestRun(ctx, filepath.Join(dir, duck.FileName), o)
	switch {
	case ctx.Err() != nil:
		return manifest.NewerPart{}, cmp.Or(err, ctx.Err())
	case err != nil || newest.Generation <= m.Generation:
		return manifest.NewerPart{}, nil
	}
	return manifest.NewerPart{Path: duck.FileName, Generation: newest.Generation, RunID: newest.RunID,
		At: newest.FinishedAt}, nil
}
