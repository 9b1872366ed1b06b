package parquet

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/parquet-go/parquet-go"

	"spendsync/load/durable"
	"spendsync/schema"
)

// cut defines where a new row group begins in the file of a grouped table. A row group with least rows or more ends
// with the present group. A row group with most rows ends at once, even within a group. So a row group depends only on
// its own rows, and equal rows give equal row groups.
type cut struct{ least, most int64 }

// ofGroups is the cut of all files. It bounds the number of row groups, because each takes about 3 KB of the file's
// footer.
var ofGroups = cut{16 << 10, rowsPerGroup}

// cutKey is the metadata key that records cut.least in a file.
const cutKey = "spendsync.row_group_rows"

// WriteRows writes rows as [Write] does. The rows of a [schema.Grouped] table are divided into row groups by [cut].
func WriteRows[R any](out io.Writer, t schema.TableOf[R], rows iter.Seq[R]) (int64, error) {
	if t.Group() == nil {
		return Write(out, t.Table, RecordsOf(t, rows))
	}
	w := newGroupWriter(out, t, ofGroups)
	for row := range rows {
		if err := w.add(&row); err != nil {
			return 0, err
		}
	}
	return w.close()
}

// ReplaceGroups copies the file at path to out and replaces the rows of the named groups. For each named group it calls
// replace with the stored rows of the group, or with no rows if the group is new, and writes the rows that replace
// returns. names must be sorted. Row groups without a named group are copied byte by byte, so the cost grows with the
// named groups, not with the file. An empty path means a file without rows.
func ReplaceGroups[R any](out io.Writer, d durable.Disk, path string, t schema.TableOf[R], names []string,
	replace func(name string, stored []R) ([]R, error)) (rows int64, err error) {
	return replaceGroups(newGroupWriter(out, t, ofGroups), d, path, names, replace)
}

func replaceGroups[R any](w *groupWriter[R], d durable.Disk, path string, names []string,
	replace func(name string, stored []R) ([]R, error)) (rows int64, err error) {
	r := &replacement[R]{groupWriter: w, names: names, replace: replace}
	if path != "" {
		f, err := open(d, path, w.table.Table)
		if err != nil {
			return 0, err
		}
		defer f.close()
		if err := r.file(f); err != nil {
			return 0, err
		}
	}
	if err := r.endGroup(); err != nil {
		return 0, err
	}
	for _, name := range r.names {
		if err := r.give(name, nil); err != nil {
			return 0, err
		}
	}
	return w.close()
}

// groupWriter writes a grouped table.
type groupWriter[R any] struct {
	cut
	table   schema.TableOf[R]
	w       fileWriter
	values  []parquet.Value
	batch   []R    // rows of the row group that are not written yet
	inGroup int64  // rows of the row group so far, including batch
	last    string // group of the last row
	rows    int64  // rows of the file so far
	copied  int    // number of copied row groups
}

func newGroupWriter[R any](out io.Writer, t schema.TableOf[R], c cut) *groupWriter[R] {
	options := append(writerOptions(t.Table, 0), parquet.KeyValueMetadata(cutKey, strconv.FormatInt(c.least, 10)))
	return &groupWriter[R]{cut: c, table: t, w: parquet.NewWriter(out, options...),
		values: make([]parquet.Value, 0, valuesPerBatch)}
}

// isCutBefore reports whether a row of the given group would begin a new row group.
func (w *groupWriter[R]) isCutBefore(group string) bool {
	return w.inGroup == 0 || w.inGroup >= w.most || w.inGroup >= w.least && group != w.last
}

func (w *groupWriter[R]) add(row *R) error {
	group := w.table.Group()(row)
	if w.isCutBefore(group) {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.batch, w.last = append(w.batch, *row), group
	w.inGroup++
	if len(w.batch) < RecordRows {
		return nil
	}
	return w.write()
}

// write writes the batch. The first batch begins at the start of the row group, so the pages of a row group depend only
// on its own rows.
func (w *groupWriter[R]) write() error {
	rec := w.table.Record(memory.DefaultAllocator, w.batch)
	defer rec.Release()
	w.rows += int64(len(w.batch))
	w.batch = w.batch[:0]
	return writeRecord(w.w, w.table.Table, rec, w.values)
}

// flush ends the row group.
func (w *groupWriter[R]) flush() error {
	if len(w.batch) > 0 {
		if err := w.write(); err != nil {
			return err
		}
	}
	w.inGroup = 0
	return durable.Storage(w.w.Flush())
}

// copy copies a row group of another file.
func (w *groupWriter[R]) copy(g parquet.RowGroup) error {
	if err := w.flush(); err != nil {
		return err
	}
	n, err := w.w.WriteRowGroup(g)
	w.rows += n
	w.copied++
	return durable.Storage(err)
}

func (w *groupWriter[R]) close() (rows int64, err error) {
	if err := w.flush(); err != nil {
		return 0, err
	}
	return w.rows, durable.Storage(w.w.Close())
}

// replacement is the state of [ReplaceGroups].
type replacement[R any] struct {
	*groupWriter[R]
	names    []string // the named groups that are still to come, sorted
	replace  func(name string, stored []R) ([]R, error)
	group    string // the group that is being read
	isOther  bool   // group is one of the named groups
	stored   []R    // stored rows of the group, if it is one of the named groups
	hasGroup bool
}

// file adds the rows of the stored file.
func (r *replacement[R]) file(f *file) error {
	groups, err := f.rowGroups(strconv.FormatInt(r.least, 10), r.table.Table)
	if err != nil {
		return err
	}
	for i, g := range groups {
		if g.canCopy {
			if err := r.beginGroup(g.first); err != nil {
				return err
			}
			isNamed := len(r.names) > 0 && (r.names[0] <= g.last || i == len(groups)-1)
			if !r.isOther && !isNamed && r.isCutBefore(g.first) {
				if err := r.copy(g.rows[0]); err != nil {
					return f.unread(err)
				}
				r.group = g.last
				continue
			}
		}
		for rows, err := range rowsOf(f, r.table, g.rows) {
			if err == nil {
				err = r.addAll(rows)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *replacement[R]) addAll(rows []R) error {
	for i := range rows {
		err := r.beginGroup(r.table.Group()(&rows[i]))
		switch {
		case err != nil:
		case r.isOther:
			r.stored = append(r.stored, rows[i])
		default:
			err = r.add(&rows[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// beginGroup is called with the group of every stored row. When a new group begins, it ends the group before and adds
// the named groups that are not stored and sort before the new group.
func (r *replacement[R]) beginGroup(name string) error {
	if r.hasGroup && name == r.group {
		return nil
	}
	if r.hasGroup && name < r.group {
		return fmt.Errorf("%s: rows of %q are stored after those of %q: %w", r.table.FullName(), name, r.group,
			durable.ErrDamaged)
	}
	if err := r.endGroup(); err != nil {
		return err
	}
	for len(r.names) > 0 && r.names[0] < name {
		if err := r.give(r.names[0], nil); err != nil {
			return err
		}
		r.names = r.names[1:]
	}
	r.group, r.hasGroup = name, true
	if r.isOther = len(r.names) > 0 && r.names[0] == name; r.isOther {
		r.names = r.names[1:]
	}
	return nil
}

// endGroup is called after the last stored row of a group. If the group is one of the named groups, it writes the new
// rows of the group.
func (r *replacement[R]) endGroup() error {
	if !r.isOther {
		return nil
	}
	err := r.give(r.group, r.stored)
	r.isOther, r.stored = false, r.stored[:0]
	return err
}

// give writes the rows that replace returns for a group.
func (r *replacement[R]) give(name string, stored []R) error {
	rows, err := r.replace(name, stored)
	for i := range rows {
		if err == nil {
			err = r.add(&rows[i])
		}
	}
	return err
}

// rowGroup is a row group of a stored file. If the file has another cut or version, no row group can be copied, and one
// rowGroup stands for all row groups of the file.
type rowGroup struct {
	rows        []parquet.RowGroup
	canCopy     bool
	first, last string // the groups of the first and the last row
}

// rowGroups returns the row groups of a file of a grouped table.
func (f *file) rowGroups(cut string, t *schema.Table) (all []rowGroup, err error) {
	rows := f.parquet.RowGroups()
	fileCut, _ := f.parquet.Lookup(cutKey)
	version, _ := f.parquet.Lookup(versionKey)
	if fileCut != cut || version != fmt.Sprint(t.FilesVersion()) {
		return []rowGroup{{rows: rows}}, nil
	}
	group := slices.IndexFunc(t.Columns, func(c schema.Column) bool { return c.Key && c.Name != "account_id" })
	for i, g := range rows {
		stats := f.parquet.Metadata().RowGroups[i].Columns[f.columns[group].index].MetaData.Statistics
		all = append(all, rowGroup{rows: []parquet.RowGroup{g}, canCopy: true, first: string(stats.MinValue),
			last: string(stats.MaxValue)})
	}
	return all, nil
}
