package load

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime/debug"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/schema"
)

// warehouse checks the DuckDB file: its bytes, its counts and sums, and that it
// holds the same rows as the Parquet files.
func (v *verifier) warehouse(ctx context.Context) error {
	w := v.manifest.Warehouse
	path := filepath.Join(v.dir, duck.FileName)
	sha, size, err := v.opts.disk.HashFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return v.found(durable.Damaged(duck.FileName, durable.MendRebuild, "it is missing"))
	case err != nil:
		return err
	case size != w.Bytes || sha != w.SHA256:
		newer, err := v.manifest.NewerDuckDB(ctx, v.dir, v.opts.DuckDB)
		if err != nil {
			return err
		}
		v.foundNewer(newer)
		return v.found(durable.Damaged(duck.FileName, durable.MendRebuild, "its bytes are not those that "+
			"were published"))
	}
	v.whole = true
	if wal, err := v.opts.disk.Exists(path + ".wal"); wal || err != nil {
		if err != nil {
			return err
		}
		err := v.found(durable.Damaged(duck.FileName+".wal", "the next sync moves it aside",
			"somebody opened warehouse.duckdb for writing; readers now see what he wrote"))
		if err != nil {
			return err
		}
	}
	if len(v.report.Damages) > 0 {
		// The comparison would only say the same again.
		return nil
	}
	// A pod's limit counts what reading the files took, too.
	debug.FreeOSMemory()
	return v.found(v.content(ctx, path))
}

// content checks what the DuckDB file holds. It begins with little memory: of more, DuckDB
// would make room for every block that it has once read.
func (v *verifier) content(ctx context.Context, path string) (err error) {
	w, err := duck.OpenPublished(ctx, path, v.opts.DuckDB)
	if err != nil {
		return err
	}
	defer func() { err = w.Stop(err) }()
	err = w.WithMemory(ctx, func() error {
		return checkContent(ctx, w, warehouseCheck{manifest: v.manifest, keys: true})
	})
	if err != nil {
		return err
	}
	return v.compareRows(ctx, w)
}

// compareRows compares a hash over all rows of each table with the same over its
// Parquet files, or of what it is summed from. The hash is DuckDB's, added up, so no order
// is needed.
func (v *verifier) compareRows(ctx context.Context, w *duck.Warehouse) error {
	for _, t := range schema.TablesAsOf(v.manifest.SchemaVersion) {
		files := v.parquetFiles(t)
		columns := t.SQLColumns(schema.Names(t.ColumnsThatAre(schema.Volatile))...)
		if len(files) == 0 {
			continue // its rows were counted
		}
		otherwise := durable.Damaged(duck.FileName, durable.MendRebuild, "%s holds other rows than its Parquet files",
			t.FullName())
		if err := sameRows(ctx, w, columns, "w."+t.SQLName(), duck.FilesSQL(t, files), otherwise); err != nil {
			return err
		}
	}
	if v.manifest.SchemaVersion >= schema.CampaignSpends.Since {
		t := schema.CampaignSpends.Table
		otherwise := durable.Damaged(duck.FileName, durable.MendRebuild, "%s holds other rows than spend_daily "+
			"adds up to", t.FullName())
		if err := sameRows(ctx, w, t.SQLColumns(), "w."+t.SQLName(), "("+schema.CampaignSpendSQL("true")+")",
			otherwise); err != nil {
			return err
		}
	}
	for _, m := range schema.Marts {
		files := v.parquetFiles(m.Table)
		if len(files) == 0 {
			continue
		}
		otherwise := durable.Damaged("parquet/"+m.Name, durable.MendRebuild, "its files hold other rows than the "+
			"view mart.%s", m.View)
		view := "(SELECT " + duck.MartColumns(m) + " FROM w.mart." + schema.Quote(m.View) + ")"
		if err := sameRows(ctx, w, m.SQLColumns(), view, duck.FilesSQL(m.Table, files), otherwise); err != nil {
			return err
		}
	}
	return nil
}

// parquetFiles are the files of a table or mart, of all accounts.
func (v *verifier) parquetFiles(t *schema.Table) (files []string) {
	for _, a := range v.manifest.Accounts {
		for p, f := range a.Files {
			if f.Kind == KindParquet && f.Table == t.Name {
				files = append(files, filepath.Join(v.dir, p))
			}
		}
	}
	return files
}

// sameRows compares the rows of two tables, views, questions or lists of files, and
// returns the damage otherwise where they differ.
func sameRows(ctx context.Context, w *duck.Warehouse, columns, one, other string, otherwise *Damage) error {
	hash, err := w.RowsHash(ctx, columns, one)
	if err != nil {
		return err
	}
	if same, err := w.RowsHash(ctx, columns, other); err != nil || same != hash {
		return cmp.Or(err, error(otherwise))
	}
	return nil
}
