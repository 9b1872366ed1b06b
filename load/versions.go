package load

import (
	"cmp"
	"iter"
	"path/filepath"

	"github.com/apache/arrow/go/v17/arrow"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// versioned is a table of versions, whatever its rows are.
type versioned struct {
	table *schema.Table
	// confirm writes the account's versions as a private file for DuckDB, with the
	// newest confirmations, which the published file does not follow: so it stays
	// the same for as long as nothing changes.
	confirm func(files *filing, account string, a *manifest.Account) ([]string, error)
	// upgrade returns the account's versions and confirmations as of this version of the tables.
	upgrade func(d durable.Disk, path string, was history.Confirmations) (iter.Seq2[arrow.Record, error],
		history.Confirmations, error)
	// check reads the published versions and holds them together.
	check func(d durable.Disk, dir, path string, a *manifest.Account, info *manifest.File) error
}

var versionedTables = []versioned{
	versionedOf(schema.CampaignHistory, nil),
	versionedOf(schema.DeliveryHistory, nil),
	versionedOf(schema.CreativeHistory, nil),
	versionedOf(schema.SourceRuleHistory, nil),
	versionedOf(schema.PayoutHistory, nil),
	versionedOf(schema.SourceModeHistory, func(r *schema.SourceMode, a *manifest.Account) {
		if at := a.Confirmations[bidsRead].Confirmed(r.CampaignID); at != 0 && r.IsCurrent {
			r.BidsLastReadAt = schema.Some(at)
		}
	}),
}

func versionedTable(name string) *versioned {
	for i := range versionedTables {
		if versionedTables[i].table.Name == name {
			return &versionedTables[i]
		}
	}
	return nil
}

func versionedOf[R any, P history.Versioned[R]](t schema.TableOf[R], amend func(*R, *manifest.Account)) versioned {
	f := versioned{table: t.Table}
	f.confirm = func(files *filing, account string, a *manifest.Account) ([]string, error) {
		path := manifest.PartPath(t.Table, account, 0)
		info := a.Files[path]
		if info == nil {
			return nil, nil
		}
		full := filepath.Join(files.g.store.dir, path)
		if files.isStaged(path) {
			full = files.g.staged(path)
		} else if err := manifest.CheckBytes(files.g.store.opts.disk, files.g.store.dir, path, info); err != nil {
			return nil, err
		}
		keyText, confirmations := history.KeyTextOf(t), a.Confirmations[t.Name]
		var unread error
		confirmed := func(yield func([]R, error) bool) {
			for rows, err := range parquet.Batches(files.g.store.opts.disk, full, t) {
				for i := range rows {
					if frame := P(&rows[i]).FramePtr(); frame.IsCurrent {
						if at := confirmations.Confirmed(keyText(&rows[i])); at != 0 {
							frame.LastConfirmedAt = at
						}
					}
					if amend != nil {
						amend(&rows[i], a)
					}
				}
				if !yield(rows, err) {
					return
				}
			}
		}
		private := "ops/" + t.Name + "/" + account
		_, err := files.g.putPrivate(private, t.Table, parquet.UntilError(parquet.RecordBatches(t, confirmed), &unread))
		if err = cmp.Or(err, unread); err != nil {
			return nil, err
		}
		return []string{files.g.staged(private)}, nil
	}
	f.upgrade = func(d durable.Disk, path string, was history.Confirmations) (iter.Seq2[arrow.Record, error],
		history.Confirmations, error) {
		added, err := parquet.Added(d, path, t.Table)
		if err != nil || len(added) == 0 {
			return parquet.Records(d, path, t.Table), was, err
		}
		rows, err := parquet.Rows(d, path, t)
		h := history.Versions[R]{Rows: rows, Confirmations: was}
		for _, column := range added {
			if err == nil {
				h, err = history.AddColumn[R, P](t, h, column)
			}
		}
		is := func(yield func([]R, error) bool) { yield(h.Rows, nil) }
		return parquet.RecordBatches(t, parquet.SameBatches(is)), h.Confirmations, err
	}
	f.check = func(d durable.Disk, dir, path string, a *manifest.Account, info *manifest.File) error {
		rows, err := parquet.Rows(d, filepath.Join(dir, path), t)
		if err := manifest.CountRows(path, info, int64(len(rows)), err); err != nil {
			return err
		}
		versions := history.Versions[R]{Rows: rows, Confirmations: a.Confirmations[t.Name]}
		if err := history.Check[R, P](t, versions); err != nil {
			return durable.Damaged(path, durable.RepairBackup, "%v", err)
		}
		return nil
	}
	return f
}
