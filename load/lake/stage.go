package lake

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"golang.org/x/sync/errgroup"

	"spendsync/load/durable"
)

// uploads is how many files are on their way at a time. Each takes up to 5 MiB of memory.
const uploads = 4

// Staged is what a commit will do: every file that is wanted lies in the lake, and no table names the new ones yet.
type Staged struct {
	wanted  *Wanted
	changes []*change // of all tables but lake_generation
}

// tables loads every table beside lake_generation, and makes those that are not there. If lake_generation has just been
// made, none is thought to be: to make one that is loads it.
func (t *Try) tables(ctx context.Context, marks *Markers) (map[string]*lakeTable, error) {
	get := t.lake.loadOrCreate
	if marks.made {
		get = t.lake.create
	}
	tables, err := t.lake.each(ctx, t.lake.dataSpecs(), get)
	if err != nil {
		return nil, err
	}
	tables[MarkerTable] = marks.table
	t.Done.Looked, t.Done.Foreign = true, t.lake.foreignColumns(tables)
	return tables, nil
}

// Stage uploads the wanted files that the lake lacks.
func (t *Try) Stage(ctx context.Context, w *Wanted) (*Staged, error) {
	tables, err := t.tables(ctx, w.marks)
	if err != nil {
		return nil, err
	}
	return t.stage(ctx, w, tables)
}

// stage plans every table and uploads the files that it lacks. The wanted files are read once more for tables that
// another program has written to: more than the partitions that differ from the marker must be compared.
func (t *Try) stage(ctx context.Context, w *Wanted, tables map[string]*lakeTable) (*Staged, error) {
	reach, whole := map[string]scope{}, false
	for _, s := range t.lake.dataSpecs() {
		r, err := t.scope(tables[s.name], w)
		if err != nil {
			return nil, err
		}
		reach[s.name] = r
		for account := range r.accounts {
			_, known := w.marks.rows[account]
			whole = whole || known
		}
	}
	files := w.files
	if whole {
		again, err := w.again(t.lake.specs, func(table string, c partition, _ string) bool {
			return reach[table].holds(c)
		})
		if err != nil {
			return nil, err
		}
		files = again.files
	}
	staged := &Staged{wanted: w}
	for _, s := range t.lake.dataSpecs() {
		of := tables[s.name]
		c, add, err := of.plan(ctx, reach[s.name], files[s.name])
		if err != nil {
			return nil, err
		}
		if !t.opts.AllowShrink {
			if err := checkShrink(s, w.accounts, c.live, add); err != nil {
				return nil, err
			}
		}
		if c.added, err = t.upload(ctx, of, add); err != nil {
			return nil, err
		}
		t.Done.Added += len(c.added)
		t.Done.Removed += len(c.live.removed)
		staged.changes = append(staged.changes, c)
	}
	return staged, nil
}

// scope returns the partitions of a table that may differ: those that changed since the marker was
// written. If the marker does not know an account, or somebody else has written to the table since,
// the scope is the entire account.
func (t *Try) scope(of *lakeTable, w *Wanted) (scope, error) {
	s := scope{accounts: map[string]bool{}, partitions: map[partition]bool{}}
	ours := map[int64]bool{}
	for account := range w.accounts {
		if _, known := w.marks.rows[account]; !known {
			s.accounts[account] = true
			continue
		}
		row := w.marks.decoded(account)
		if row.err != nil {
			return s, row.err
		}
		since := row.snapshots[of.name]
		if _, asked := ours[since]; !asked {
			ours[since] = since == 0 || of.byUs(since)
		}
		if id, ok := row.uuids[of.name]; ok && id != of.uuid().String() && of.tbl.CurrentSnapshot() != nil {
			return s, fmt.Errorf("%w: table %s is another one (%s) than that of the last commit (%s); to fill all "+
				"tables again, drop %s", ErrForeign, of.name, of.uuid(), id, MarkerTable)
		} else if !ok || id != of.uuid().String() || !ours[since] {
			if !ours[since] && !slices.Contains(t.Done.Changed, of.name) {
				t.Done.Changed = append(t.Done.Changed, of.name)
			}
			s.accounts[account] = true
			continue
		}
		had, has := row.hashes[of.name], w.slices(account)[of.name]
		for _, names := range []map[string]string{had, has} {
			for month := range names {
				if had[month] != has[month] {
					s.partitions[partitionNamed(account, month)] = true
				}
			}
		}
	}
	return s, nil
}

// partitionNamed is the partition that lake_generation names so.
func partitionNamed(account, month string) partition {
	c := partition{account, noMonth}
	if year, number, ok := strings.Cut(month, "-"); ok {
		y, _ := strconv.Atoi(year)
		m, _ := strconv.Atoi(number)
		c.month = (y-1970)*12 + m - 1
	}
	return c
}

// upload brings files into the lake, a few at a time; those of a try before are there.
func (t *Try) upload(ctx context.Context, to *lakeTable, files []file) ([]iceberg.DataFile, error) {
	sent := make([]iceberg.DataFile, len(files))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(uploads)
	for i, one := range files {
		id := to.name + "/" + one.key()
		t.mu.Lock()
		before := t.sent[id]
		t.mu.Unlock()
		t.Done.Rows += one.info.Rows
		t.Done.Bytes += one.info.Bytes
		if before != nil {
			sent[i] = before
			continue
		}
		g.Go(func() error {
			if err := t.lake.step("upload"); err != nil {
				return err
			}
			if one.days != nil { // a group of its rows is held in memory
				t.merging.Lock()
				defer t.merging.Unlock()
			}
			d, err := to.upload(ctx, t.opts.Dir, one, t.token)
			if err != nil {
				return err
			}
			if d.Count() != one.info.Rows || partitionOfFile(d) != to.spec.partitionOf(one) {
				return fmt.Errorf("%s: %w: it holds %d rows of %v, the manifest says %d of %v", one.path,
					durable.ErrDamaged, d.Count(), partitionOfFile(d), one.info.Rows, to.spec.partitionOf(one))
			}
			sent[i] = d
			t.mu.Lock()
			t.sent[id] = d
			t.mu.Unlock()
			return nil
		})
	}
	return sent, g.Wait()
}
