package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// addMarts writes the marts that can have changed, of all accounts: what is
// final, and whether, follows the day of publishing. w is the new warehouse,
// with its views. The viewErrors are of marts whose view could not answer: their
// files stay as they are. Those of a run that publishes once more wait for that.
func (n *generation) addMarts(ctx context.Context, w *duck.Warehouse) (viewErrors []error, err error) {
	all, own := n.repair || n.newViews, n.g.store.account
	for _, account := range n.accounts() {
		acc := n.next.Accounts[account]
		if n.martsLater && account == own {
			if acc.MartsFrom, err = n.firstAltered(ctx, w, account, all); err != nil {
				return nil, err
			}
			continue
		}
		for _, m := range schema.Marts {
			if !n.g.store.opts.DuckDB.HasView(m.View) || !all && n.martStands(m, account) {
				continue
			}
			err := n.addMartOf(ctx, w, m, account, all)
			if ctx.Err() != nil || errors.Is(err, durable.ErrStorage) {
				return nil, err
			}
			if err != nil {
				viewErrors = append(viewErrors, fmt.Errorf("%s of account %s is as it was before: %w", m.FullName(),
					account, err))
			}
		}
		acc.MartsFrom = 0
	}
	return viewErrors, nil
}

// martStands says that nothing has changed of what an account's mart is made of:
// its days, the settings that its view asks, and how well each day is known; or its
// whole days, where others have no part in it.
func (n *generation) martStands(m schema.Mart, account string) bool {
	if n.base == nil || n.base.Accounts[account] == nil || n.base.Accounts[account].MartsFrom != 0 {
		return false
	}
	changed, ofWhole := map[schema.Date]bool(nil), n.g.store.opts.DuckDB.OfWholeDays(m.View)
	if account == n.g.store.account {
		if changed = n.changed; len(changed) > 0 && !ofWhole {
			return false
		}
		behind := n.g.store.opts.DuckDB.TablesBehind("mart." + m.View)
		for name, t := range n.g.tables {
			if t.info != nil && behind[name] {
				return false
			}
		}
	}
	if ofWhole {
		return len(n.wholeSpans(account, changed)) == 0
	}
	states := func(m *manifest.Manifest, at time.Time) (all []string) {
		for _, c := range m.Accounts[account].Coverage(account, at) {
			all = append(all, c.ReportDate.String()+c.State)
		}
		return all
	}
	return slices.Equal(states(n.base, n.base.PublishedAt.Time()), states(n.next, n.g.store.opts.Now()))
}

// monthsAtOnce is how many months of a mart are asked for by one question: its view
// looks through all history each time for when each campaign began.
const monthsAtOnce = 3

// addMartOf writes the parts of an account's mart that can have changed, or all of them.
func (n *generation) addMartOf(ctx context.Context, w *duck.Warehouse, m schema.Mart, account string,
	all bool) error {
	parts, err := n.martParts(ctx, w, m, account, all)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(parts, monthsAtOnce) {
		if err := n.addMartParts(ctx, w, m, account, some, all); err != nil {
			return err
		}
	}
	return nil
}

// addMartParts asks once for parts that follow each other, and writes each.
func (n *generation) addMartParts(ctx context.Context, w *duck.Warehouse, m schema.Mart, account string,
	parts []schema.Date, all bool) error {
	var files []duck.MartFile
	for _, part := range parts {
		files = append(files, duck.MartFile{Path: n.g.staged(manifest.PartPath(m.Table, account, part)),
			Where: duck.MartSQL(m, account, part, part)})
	}
	if err := w.WriteMart(ctx, m, duck.MartSQL(m, account, parts[0], parts[len(parts)-1]), files); err != nil {
		return err
	}
	for i, part := range parts {
		if err := n.addMart(m, account, part, files[i].Rows, all); err != nil {
			return err
		}
	}
	return nil
}

// martParts are the parts of a mart to write: the months from the first day that
// can differ, or the one file of a mart that is not cut.
func (n *generation) martParts(ctx context.Context, w *duck.Warehouse, m schema.Mart, account string,
	all bool) ([]schema.Date, error) {
	if m.Partition == schema.ByAccount {
		return []schema.Date{0}, nil
	}
	from, err := n.firstAltered(ctx, w, account, all)
	if err != nil {
		return nil, err
	}
	var months []schema.Date
	last := n.next.Accounts[account].LastDay(m.Name, schema.DateOf(n.g.store.opts.Now()))
	for month := from.Month(); month <= last; month = (month + 31).Month() {
		months = append(months, month)
	}
	return months, nil
}

// firstAltered is the first day of an account whose rows in a mart may differ
// from those that were published: one that was read or whose state has moved on,
// or a day of a campaign whose past became known.
func (n *generation) firstAltered(ctx context.Context, w *duck.Warehouse, account string,
	all bool) (schema.Date, error) {
	a := n.next.Accounts[account]
	first := a.Since
	for d := range a.Days {
		first = min(first, d)
	}
	if all || n.base == nil || n.base.Accounts[account] == nil {
		return first, nil
	}
	// Either instant may be the earlier one: a clock can be set back.
	from := schema.DateOf(min(n.base.PublishedAt, n.next.PublishedAt).Time()) - schema.ReachDays - 1
	if later := n.base.Accounts[account].MartsFrom; later != 0 {
		from = min(from, later)
	}
	if account == n.g.store.account {
		for d := range n.changed {
			from = min(from, d)
		}
		var ids []string
		for id, seen := range n.g.learned {
			from = min(from, seen)
			ids = append(ids, id)
		}
		if len(ids) > 0 {
			spent, err := w.FirstSpend(ctx, account, ids)
			if err != nil {
				return 0, err
			}
			if spent.Valid {
				from = min(from, spent.V)
			}
		}
	}
	return max(from, first), nil
}

// addMart takes in one part that DuckDB has written.
func (n *generation) addMart(m schema.Mart, account string, part schema.Date, rows int64, all bool) error {
	disk, staged := n.g.store.opts.disk, n.g.staged(manifest.PartPath(m.Table, account, part))
	sha, size, err := disk.HashFile(staged)
	if err != nil {
		return err
	}
	info := &manifest.File{Kind: manifest.KindParquet, Table: m.Name, Day: part, Rows: rows, Bytes: size, SHA256: sha,
		RunID: n.g.runID}
	if taken, err := n.takePart(m.Table, account, info, all); err != nil || !taken {
		return err
	}
	return disk.SyncFile(staged)
}

// takePart takes in one staged part. One with the same content as the published one stays,
// unless all are to be written: its file may be damaged.
func (n *generation) takePart(t *schema.Table, account string, info *manifest.File, all bool) (taken bool, err error) {
	path, acc := manifest.PartPath(t, account, info.Day), n.next.Accounts[account]
	old := acc.Files[path]
	if info.Rows == 0 && old == nil || old != nil && old.SHA256 == info.SHA256 && !all {
		return false, n.g.store.opts.disk.RemoveIfThere(n.g.staged(path))
	}
	n.files.enter(acc.Files, path, info, true)
	return true, nil
}
