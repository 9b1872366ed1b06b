package load

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// lines are new rows, in key order, of a table whose files only grow, for example spend_change. The rows are in a
// private file, because they do not fit into memory if a service restates its whole report. At publication the rows are
// merged into the file of their day. A new row replaces a stored row with the same key.
type lines struct {
	table *schema.Table
	day   schema.Date // day of the file into which the rows are merged
	file  string      // the private file
	rows  int64
}

// putLines stages new rows for the file of a day. The second date is the report day of the rows.
func putLines[R any](a *Area, to *StagedChange, t schema.TableOf[R], day, about schema.Date, all iter.Seq[R]) error {
	path := fmt.Sprintf("lines/%s/%s", t.Name, about)
	rows, err := a.putPrivate(path, t.Table, parquet.RecordsOf(t, all))
	if err != nil {
		return fmt.Errorf("%s of %s: %w", t.FullName(), about, err)
	}
	if rows > 0 {
		to.lines = append(to.lines, lines{t.Table, day, a.path(path), rows})
	}
	return nil
}

// growing are the tables whose files only grow.
var growing = []struct {
	table *schema.Table
	join  func(n *generation, day schema.Date, is []lines) (*manifest.File, error)
}{
	{schema.SpendChanges.Table, joinOf(schema.SpendChanges, history.CompareChanges)},
	{schema.SpendIntraday.Table, joinOf(schema.SpendIntraday, func(a, b schema.Intraday) int {
		return cmp.Or(cmp.Compare(a.SeenAt, b.SeenAt), cmp.Compare(a.RunID, b.RunID),
			cmp.Compare(a.CampaignID, b.CampaignID))
	})},
	{schema.TrackerChanges.Table, joinOf(schema.TrackerChanges, func(a, b schema.TrackerChange) int {
		return cmp.Or(cmp.Compare(a.ReportDate, b.ReportDate), cmp.Compare(a.CampaignID, b.CampaignID),
			cmp.Compare(a.SourceID, b.SourceID), cmp.Compare(a.SeenAt, b.SeenAt))
	})},
}

// isGrowing reports whether the files of a table only grow.
func isGrowing(t *schema.Table) bool {
	for _, g := range growing {
		if g.table == t {
			return true
		}
	}
	return false
}

// addLines merges the staged rows into the files of their days.
func (n *generation) addLines() error {
	files := n.next.Accounts[n.store.account].Files
	for _, g := range growing {
		byDay := map[schema.Date][]lines{}
		for _, l := range n.lines {
			if l.table == g.table {
				byDay[l.day] = append(byDay[l.day], l)
			}
		}
		for day, staged := range byDay {
			info, err := g.join(n, day, staged)
			if err != nil {
				return fmt.Errorf("%s %s: %w", g.table.FullName(), day, err)
			}
			info.Day = day
			n.files.enter(files, manifest.TablePath(g.table, n.store.account, day), info)
		}
	}
	return nil
}

// joinOf returns a function that stages the new file of a day, which has the stored rows and the new rows. The function
// holds one batch of each file in memory.
func joinOf[R any](t schema.TableOf[R], compare func(a, b R) int) func(*generation, schema.Date, []lines) (
	*manifest.File, error) {
	return func(n *generation, day schema.Date, staged []lines) (*manifest.File, error) {
		path, disk := manifest.TablePath(t.Table, n.store.account, day), n.store.opts.disk
		var stored, added []iter.Seq2[[]R, error]
		var want int64
		if old := n.next.Accounts[n.store.account].Files[path]; old != nil {
			stored, want = append(stored, manifest.Batches(disk, n.store.dir, path, old, t)), old.Rows
		}
		// The file names end with the report day, so this sorts by report day.
		slices.SortFunc(staged, func(a, b lines) int { return cmp.Compare(a.file, b.file) })
		for _, l := range staged {
			added, want = append(added, parquet.Batches(disk, l.file, t)), want+l.rows
		}
		var unread error
		merged := mergeLines(linesOf(stored, &unread), linesOf(added, &unread), compare, &want)
		info, err := n.area.putRecords(path, t.Table, parquet.RecordsOf(t, merged))
		if err := errors.Join(unread, err); err != nil {
			return nil, err
		}
		if info.Rows != want {
			return nil, fmt.Errorf("%d lines were written of %d: %w", info.Rows, want, durable.ErrDamaged)
		}
		return info, nil
	}
}

// mergeLines merges two sorted sequences of rows. An added row replaces a stored row with the same key. Each
// replacement reduces count, the expected number of rows, by one.
func mergeLines[R any](stored, added iter.Seq[R], compare func(a, b R) int, count *int64) iter.Seq[R] {
	return func(yield func(R) bool) {
		next, stop := iter.Pull(added)
		defer stop()
		line, ok := next()
		for old := range stored {
			order := 1
			for ok {
				if order = compare(line, old); order > 0 {
					break
				}
				if !yield(line) {
					return
				}
				if line, ok = next(); order == 0 {
					break
				}
			}
			if order == 0 {
				*count--
			} else if !yield(old) {
				return
			}
		}
		for ; ok; line, ok = next() {
			if !yield(line) {
				return
			}
		}
	}
}

// linesOf yields the rows of several files, one file after the other. At the first error it stops and stores the error
// in *unread.
func linesOf[R any](files []iter.Seq2[[]R, error], unread *error) iter.Seq[R] {
	return func(yield func(R) bool) {
		for _, file := range files {
			for batch, err := range file {
				if err != nil {
					*unread = err
					return
				}
				for _, l := range batch {
					if !yield(l) {
						return
					}
				}
			}
		}
	}
}
