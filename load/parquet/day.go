package parquet

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/parquet-go/parquet-go"

	"spendsync/load/durable"
	"spendsync/schema"
)

// WriteDay writes the rows of a day in the bytes in which [Write] writes their records. The file
// at a path has the same rows but for the values in the columns that differ: of the others it takes
// over the compressed pages as they are. Where it is not known which differ, or the file is from
// before the table gained columns or cut otherwise, all is written.
func WriteDay(d durable.Disk, out io.Writer, rows *schema.SpendRows, path string, differ []bool) (int64, error) {
	t := schema.SpendDaily.Table
	if !slices.Contains(differ, true) {
		return write(out, t, rows.Len(), SpendRecords(rows))
	}
	stored, err := open(d, path, t)
	if err != nil {
		return 0, err
	}
	defer stored.close()
	names := t.ColumnNames()
	some := t.Only(func(c schema.Column) bool { return differ[slices.Index(names, c.Name)] })
	var other bytes.Buffer // a file of the columns that differ
	n, err := write(&other, some, rows.Len(), spendRecords(memory.DefaultAllocator, rows, some))
	if err != nil {
		return 0, err
	}
	f, err := parquet.OpenFile(bytes.NewReader(other.Bytes()), int64(other.Len()))
	if err != nil {
		return 0, fmt.Errorf("the columns of %s that differ: %w", path, err)
	}
	groups := stored.columns[0].groups
	if stored.lacksColumns() || !slices.EqualFunc(groups, f.RowGroups(), func(a, b parquet.RowGroup) bool {
		return a.NumRows() == b.NumRows()
	}) {
		return write(out, t, rows.Len(), SpendRecords(rows))
	}
	w := parquet.NewWriter(out, writerOptions(t, rows.Len())...)
	for i, group := range groups {
		chunks := group.ColumnChunks() // the group's own: it has what is put there
		for k, chunk := range f.RowGroups()[i].ColumnChunks() {
			chunks[slices.Index(names, some.Columns[k].Name)] = chunk
		}
		if _, err := w.WriteRowGroup(group); err != nil {
			return 0, stored.unread(durable.Storage(err))
		}
	}
	return n, durable.Storage(w.Close())
}

// lacksColumns says that the file is from before the table gained columns.
func (f *file) lacksColumns() bool {
	return slices.ContainsFunc(f.columns, func(c columnReader) bool { return c.index < 0 })
}
