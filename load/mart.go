package load

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// derived are the files that follow from the rows of the DuckDB file: the marts, and the copies for other readers.
type derived struct{ *warehouse }

// addMarts writes the marts that can have changed, for all accounts: the day of publishing decides which rows are
// final. The viewErrors name marts whose view failed: their files stay
// unchanged.
func (n *derived) addMarts(ctx context.Context) (viewErrors []error, err error) {
	for _, account := range n.accounts() {
		for _, m := range schema.Marts {
			if !n.store.opts.DuckDB.HasView(m.View) {
				continue
			}
			first, err := n.firstAffected(ctx, m, account)
			if err != nil {
				return nil, err
			}
			if !first.Valid {
				continue
			}
			err = n.addMartOf(ctx, m, account, first.V)
			if ctx.Err() != nil || errors.Is(err, durable.ErrStorage) {
				return nil, err
			}
			if err != nil {
				viewErrors = append(viewErrors, fmt.Errorf("%s of account %s is as it was before: %w", m.FullName(),
					account, err))
			}
		}
	}
	return viewErrors, nil
}

// monthsAtOnce is the number of months of a mart in one query. For each query the view scans the whole history for the
// start of each campaign.
const monthsAtOnce = 3

// addMartOf writes the parts of an account's mart with days from the first affected one on.
func (n *derived) addMartOf(ctx context.Context, m schema.Mart, account string, first schema.Date) error {
	for parts := range slices.Chunk(n.martParts(m, account, first), monthsAtOnce) {
		var files []duck.MartFile
		for _, part := range parts {
			files = append(files, duck.MartFile{Path: n.area.path(manifest.PartPath(m.Table, account, part)),
				Where: duck.MartSQL(m, account, part, part)})
		}
		where := duck.MartSQL(m, account, parts[0], parts[len(parts)-1])
		if err := n.w.WriteMart(ctx, m, where, files); err != nil {
			return err
		}
		for i, part := range parts {
			if err := n.addMart(m, account, part, files[i].Rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// martParts returns the months from a day on, or the one file of a mart that is not cut.
func (n *derived) martParts(m schema.Mart, account string, first schema.Date) (months []schema.Date) {
	if m.Partition == schema.ByAccount {
		return []schema.Date{0}
	}
	last := n.next.Accounts[account].LastDay(m.Name, schema.DateOf(n.store.opts.Now()))
	for month := first.Month(); month <= last; month = (month + 31).Month() {
		months = append(months, month)
	}
	return months
}

// addMart adds one part that DuckDB has written.
func (n *derived) addMart(m schema.Mart, account string, part schema.Date, rows int64) error {
	disk, staged := n.store.opts.disk, n.area.path(manifest.PartPath(m.Table, account, part))
	sha, size, err := disk.HashFile(staged)
	if err != nil {
		return err
	}
	info := &manifest.File{Kind: manifest.KindParquet, Table: m.Name, Day: part, Rows: rows, Bytes: size, SHA256: sha,
		RunID: n.area.runID}
	if taken, err := n.takePart(m.Table, account, info, n.repair || n.newViews); err != nil || !taken {
		return err
	}
	return disk.SyncFile(staged)
}

// takePart adds one staged part. The published file stays if its content is the same, unless all parts must be
// rewritten: its file may be damaged.
func (n *derived) takePart(t *schema.Table, account string, info *manifest.File, all bool) (taken bool,
	err error) {
	path, acc := manifest.PartPath(t, account, info.Day), n.next.Accounts[account]
	old := acc.Files[path]
	if info.Rows == 0 && old == nil || old != nil && old.SHA256 == info.SHA256 && !all {
		return false, n.store.opts.disk.RemoveIfThere(n.area.path(path))
	}
	n.files.enter(acc.Files, path, info, true)
	return true, nil
}
