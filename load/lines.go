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

// lines are new lines of a table whose files only grow, in key order, in a private file: of a report that is restated
// whole, they would not fit into memory. When they are published, they join the lines of their file; a line with the
// key of a stored one takes its place.
type lines struct {
	table *schema.Table
	day   schema.Date // of the file that they join
	file  string      // the private one
	rows  int64
}

// putLines stages lines for the file of a day. about is the report day that they speak of.
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

// addLines adds the staged lines to their files.
func (n *generation) addLines() error {
	files := n.next.Accounts[n.store.account].Files
	for _, g := range growing {
		byDay := map[schema.Date][]lines{}
		for _, l := range n.lines {
			if l.table == g.table {
				byDay[l.day] = append(byDay[l.day], l)
			}
		}
		for day, is := range byDay {
			info, err := g.join(n, day, is)
			if err != nil {
				return fmt.Errorf("%s %s: %w", g.table.FullName(), day, err)
			}
			info.Day = day
			n.files.enter(files, manifest.PartPath(g.table, n.store.account, day), info)
		}
	}
	return nil
}

// joinOf returns a function that writes the file of a day with its lines and the new ones. Each line is in memory only
// while it is passed on.
func joinOf[R any](t schema.TableOf[R], compare func(a, b R) int) func(*generation, schema.Date, []lines) (
	*manifest.File, error) {
	return func(n *generation, day schema.Date, is []lines) (*manifest.File, error) {
		path, disk := manifest.PartPath(t.Table, n.store.account, day), n.store.opts.disk
		var stored, news []iter.Seq2[[]R, error]
		var want int64
		if old := n.next.Accounts[n.store.account].Files[path]; old != nil {
			stored, want = append(stored, manifest.Batches(disk, n.store.dir, path, old, t)), old.Rows
		}
		slices.SortFunc(is, func(a, b lines) int { return cmp.Compare(a.file, b.file) }) // by report day
		for _, l := range is {
			news, want = append(news, parquet.Batches(disk, l.file, t)), want+l.rows
		}
		sum := want
		var unread error
		merged := mergeLines(linesOf(stored, &unread), linesOf(news, &unread), compare, &want)
		info, err := n.area.putPart(path, t.Table, parquet.RecordsOf(t, merged))
		if err := errors.Join(unread, err); err != nil {
			return nil, err
		}
		n.replaced[path] = want < sum
		if info.Rows != want {
			return nil, fmt.Errorf("%d lines were written of %d: %w", info.Rows, want, durable.ErrDamaged)
		}
		return info, nil
	}
}

// mergeLines makes one sorted sequence of two. A new line takes the place of a stored one of its key, and then there is
// one less.
func mergeLines[R any](stored, news iter.Seq[R], compare func(a, b R) int, count *int64) iter.Seq[R] {
	return func(yield func(R) bool) {
		next, stop := iter.Pull(news)
		defer stop()
		is, ok := next()
		for was := range stored {
			order := 1
			for ok {
				if order = compare(is, was); order > 0 {
					break
				}
				if !yield(is) {
					return
				}
				if is, ok = next(); order == 0 {
					break
				}
			}
			if order == 0 {
				*count--
			} else if !yield(was) {
				return
			}
		}
		for ; ok; is, ok = next() {
			if !yield(is) {
				return
			}
		}
	}
}

// linesOf returns the lines of files, one file after the other, up to the first error.
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
