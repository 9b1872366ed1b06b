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
	upgrade func(d durable.Disk, path string, was history.Confirmations) (iter.Seq[arrow.Record],
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
		if at := a.Confirmations[BidsRead].Confirmed(r.CampaignID); at != 0 && r.IsCurrent {
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
	return versioned{
		table: t.Table,
		confirm: func(files *filing, account string, a *manifest.Account) ([]string, error) {
			return confirmVersions[R, P](files, t, account, a, amend)
		},
		upgrade: func(d durable.Disk, path string, was history.Confirmations) (iter.Seq[arrow.Record],
			history.Confirmations, error) {
			rows, err := parquet.Rows(d, path, t)
			if err != nil {
				return nil, was, err
			}
			h, err := withNewColumns[R, P](d, path, t, history.Versions[R]{Rows: rows, Confirmations: was})
			return parquet.Record(t, h.Rows), h.Confirmations, err
		},
		check: func(d durable.Disk, dir, path string, a *manifest.Account, info *manifest.File) error {
			rows, err := parquet.Rows(d, filepath.Join(dir, path), t)
			if err := manifest.CountRows(path, info, int64(len(rows)), err); err != nil {
				return err
			}
			h := history.Versions[R]{Rows: rows, Confirmations: a.Confirmations[t.Name]}
			if err := history.Check[R, P](t, h); err != nil {
				return durable.Damaged(path, durable.RepairBackup, "%v", err)
			}
			return nil
		},
	}
}

func confirmVersions[R any, P history.Versioned[R]](files *filing, t schema.TableOf[R], account string,
	a *manifest.Account, amend func(*R, *manifest.Account)) ([]string, error) {
	path := manifest.PartPath(t.Table, account, 0)
	if a.Files[path] == nil {
		return nil, nil
	}
	keyText, confirmations := history.KeyTextOf(t), a.Confirmations[t.Name]
	confirm := func(r *R) {
		if frame := P(r).FramePtr(); frame.IsCurrent {
			frame.LastConfirmedAt = cmp.Or(confirmations.Confirmed(keyText(r)), frame.LastConfirmedAt)
		}
		if amend != nil {
			amend(r, a)
		}
	}
	dir, name := files.whereIs(path)
	stored := manifest.Batches(files.store.opts.disk, dir, name, a.Files[path], t)
	var unread error
	confirmed := func(yield func(R) bool) {
		for r := range linesOf([]iter.Seq2[[]R, error]{stored}, &unread) {
			if confirm(&r); !yield(r) {
				return
			}
		}
	}
	private := "ops/" + t.Name + "/" + account
	_, err := files.area.putPrivate(private, t.Table, parquet.RecordsOf(t, confirmed))
	return []string{files.area.path(private)}, cmp.Or(err, unread)
}

// withNewColumns is the history after its table has gained the columns that its file lacks.
func withNewColumns[R any, P history.Versioned[R]](d durable.Disk, path string, t schema.TableOf[R],
	h history.Versions[R]) (history.Versions[R], error) {
	added, err := parquet.Added(d, path, t.Table)
	for _, column := range added {
		if err == nil {
			h, err = history.AddColumn[R, P](t, h, column)
		}
	}
	return h, err
}
