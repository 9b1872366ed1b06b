package lake

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"golang.org/x/sync/errgroup"

	"spendsync/load/durable"
)

// uploads is how many files are on their way at a time. Each takes up to 5 MiB of memory.
const uploads = 4

// stage plans the commit of every table, and uploads the files that it lacks: no table names them yet.
func (f *follower) stage(ctx context.Context, w *wanted, tables map[string]*lakeTable, reach map[string]scope) (
	changes []*change, err error) {
	for _, s := range f.lake.dataSpecs() {
		t := tables[s.name]
		wanted, err := w.files(s, reach[s.name])
		if err != nil {
			return nil, err
		}
		c, err := t.plan(ctx, reach[s.name], wanted)
		if err != nil {
			return nil, err
		}
		var add []file
		for _, key := range slices.Sorted(maps.Keys(wanted)) {
			add = append(add, wanted[key])
		}
		if !f.opts.AllowShrink {
			if err := checkShrink(t, w.accounts, c.live, add); err != nil {
				return nil, err
			}
		}
		if c.added, err = f.upload(ctx, t, add); err != nil {
			return nil, err
		}
		f.done.Added += len(c.added)
		f.done.Removed += len(c.live.removed)
		changes = append(changes, c)
	}
	return changes, nil
}

// scopes are those of all tables; touched reports whether one is not as the last commit left it.
func (f *follower) scopes(tables map[string]*lakeTable, w *wanted, had *markers) (all map[string]scope, touched bool,
	err error) {
	all = map[string]scope{}
	for name, t := range tables {
		if all[name], err = f.scope(t, w, had); err != nil {
			return nil, false, err
		}
		touched = touched || !all[name].isEmpty()
	}
	return all, touched, nil
}

// scope returns the partitions of a table that may differ: those that changed since the last commit. If lake_generation
// does not know an account, or somebody else has written to the table since, the scope is the entire account.
func (f *follower) scope(of *lakeTable, w *wanted, had *markers) (scope, error) {
	s := scope{accounts: map[string]bool{}, partitions: map[partition]bool{}}
	ours := map[int64]bool{}
	for account := range w.accounts {
		row, known := had.states[account]
		since := row.snapshots[of.name]
		if _, asked := ours[since]; !asked {
			ours[since] = since == 0 || of.byUs(since)
		}
		id, has := row.uuids[of.name]
		same := id == of.uuid().String()
		switch {
		case has && !same && of.tbl.CurrentSnapshot() != nil:
			return s, fmt.Errorf("%w: table %s is another one (%s) than that of the last commit (%s); to fill all "+
				"tables again, drop %s", ErrForeign, of.name, of.uuid(), id, MarkerTable)
		case known && same && ours[since]:
			for _, month := range w.differing(account, of.name, row) {
				s.partitions[partition{account, month}] = true
			}
			continue
		case !ours[since] && !slices.Contains(f.done.Changed, of.name):
			f.done.Changed = append(f.done.Changed, of.name)
		}
		s.accounts[account] = true
	}
	return s, nil
}

// differing are the months of an account in a table that are not as in the last commit.
func (w *wanted) differing(account, table string, had state) (months []int) {
	parts, before := w.parts[account][table], had.hashes[table]
	for month, p := range parts {
		if partitionStateOf(before[monthName(month)]).hash != p.state.hash {
			months = append(months, month)
		}
	}
	for name := range before {
		if parts[monthNamed(name)] == nil {
			months = append(months, monthNamed(name))
		}
	}
	return months
}

// upload brings files into the lake, a few at a time; those of a try before are there.
func (f *follower) upload(ctx context.Context, to *lakeTable, files []file) ([]iceberg.DataFile, error) {
	sent := make([]iceberg.DataFile, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	for i, one := range files {
		id := to.name + "/" + one.key()
		f.mu.Lock()
		before := f.sent[id]
		f.mu.Unlock()
		f.done.Rows += one.info.Rows
		f.done.Bytes += one.info.Bytes
		if before != nil {
			sent[i] = before
			continue
		}
		g.Go(func() error {
			if err := f.lake.step("upload"); err != nil {
				return err
			}
			if one.days != nil { // a group of its rows is held in memory
				f.merging.Lock()
				defer f.merging.Unlock()
			}
			d, err := to.upload(ctx, f.opts.Dir, one, f.token)
			if err != nil {
				return err
			}
			if d.Count() != one.info.Rows || partitionOfFile(d) != one.in {
				return fmt.Errorf("%s: %w: it holds %d rows of %v, the manifest says %d of %v", one.path,
					durable.ErrDamaged, d.Count(), partitionOfFile(d), one.info.Rows, one.in)
			}
			sent[i] = d
			f.mu.Lock()
			f.sent[id] = d
			f.mu.Unlock()
			return nil
		})
	}
	return sent, g.Wait()
}
