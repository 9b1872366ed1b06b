package parquet

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/parquet-go/parquet-go"

	"spendsync/load/durable"
	"spendsync/schema"
)

// ReadRows reads all rows of a file on the disk of the operating system, see [Rows].
func ReadRows[R any](path string, t schema.TableOf[R]) ([]R, error) {
	return Rows(durable.OS, path, t)
}

func Rows[R any](d durable.Disk, path string, t schema.TableOf[R]) (rows []R, err error) {
	f, err := open(d, path, t.Table)
	if err != nil {
		return nil, err
	}
	defer f.close()
	rows = slices.Grow(rows, int(min(f.rows, 1<<20))) // the number may be wrong in a damaged file
	for _, err := range batchesOf(f, t, func(n int64) []R {
		rows = append(rows, make([]R, n)...)
		return rows[int64(len(rows))-n:]
	}) {
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// rowsPerBatch is so small that the rows of a batch stay in the processor's cache while one column after the other is
// filled.
const rowsPerBatch = 1024

// Batches reads the rows of a file in batches of up to rowsPerBatch. If columns are given, Batches reads only these
// columns. The slice is valid only until the next iteration, but texts in it stay valid. The iteration ends after an
// error.
func Batches[R any](d durable.Disk, path string, t schema.TableOf[R], columns ...string) iter.Seq2[[]R, error] {
	return func(yield func([]R, error) bool) {
		f, err := open(d, path, t.Table)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.close()
		for i, c := range t.Columns {
			if len(columns) > 0 && !slices.Contains(columns, c.Name) {
				f.columns[i].index = -1
			}
		}
		rows := make([]R, min(rowsPerBatch, f.rows))
		batchesOf(f, t, func(n int64) []R {
			clear(rows)
			return rows[:n]
		})(yield)
	}
}

// batchesOf reads each batch of rows into a buffer. The given function returns a buffer for n rows, which must be
// zeroed, because a NULL leaves the field in the buffer unchanged.
func batchesOf[R any](f *file, t schema.TableOf[R], room func(n int64) []R) iter.Seq2[[]R, error] {
	return func(yield func([]R, error) bool) {
		for left := f.rows; left > 0; {
			n := min(left, rowsPerBatch)
			left -= n
			rows := room(n)
			if err := fill(f, t, rows, left == 0); err != nil {
				yield(nil, err)
				return
			}
			if !yield(rows, nil) {
				return
			}
		}
	}
}

// fill reads the next rows, column by column. If last is true, these are the last rows, and further values in the file
// are an error.
func fill[R any](f *file, t schema.TableOf[R], rows []R, last bool) error {
	for i := range f.columns {
		c := &f.columns[i]
		if c.index < 0 {
			continue // the file lacks the column, so its values are NULL
		}
		at := 0
		err := c.read(len(rows), f.values, func(values []parquet.Value) {
			t.PutValues(rows[at:], i, values)
			at += len(values)
		})
		if err == nil && last {
			err = c.end(f.values[:1])
		}
		if err != nil {
			return f.damaged(i, err)
		}
	}
	return nil
}

// Records reads a Parquet file into Arrow records of up to valuesPerBatch rows. A record is valid only until the next
// iteration. The iteration ends after an error.
func Records(d durable.Disk, path string, t *schema.Table) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		f, err := open(d, path, t)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.close()
		for left := f.rows; left > 0; {
			rows := min(left, valuesPerBatch)
			left -= rows
			rec, err := f.record(rows, left == 0)
			if err != nil {
				yield(nil, err)
				return
			}
			more := yield(rec, nil)
			rec.Release()
			if !more {
				return
			}
		}
	}
}

// Version returns the version of the tables in the metadata of a Parquet file.
func Version(d durable.Disk, path string) (version int, err error) {
	opened, err := d.Open(path)
	if err != nil {
		return 0, durable.Storage(err)
	}
	f := &file{disk: &watchedFile{File: opened}}
	defer f.close()
	size, err := durable.RegularSize(opened, path)
	if err != nil {
		return 0, durable.Storage(err)
	}
	p, err := parquet.OpenFile(f.disk, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err == nil {
		text, _ := p.Lookup(versionKey)
		version, err = strconv.Atoi(text)
	}
	if err != nil {
		return 0, f.unread(fmt.Errorf("%s names no version of its table: %v: %w", path, err, durable.ErrDamaged))
	}
	return version, nil
}

// Added returns the tracked columns that were added to the table after a file was written. No row of the file has a
// value in these columns.
func Added(d durable.Disk, path string, t *schema.Table) (names []string, err error) {
	version, err := Version(d, path)
	for _, c := range t.Tracked() {
		if err == nil && c.Since > max(version, schema.Oldest) {
			names = append(names, c.Name)
		}
	}
	return names, err
}

// watchedFile records errors of the disk, so that such an error is not mistaken for damage.
type watchedFile struct {
	durable.File
	err error
}

func (f *watchedFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("it is too short") // the file has no room for a footer
	}
	n, err := f.File.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// file is an open Parquet file of a table.
type file struct {
	disk    *watchedFile
	parquet *parquet.File
	path    string
	table   *schema.Table
	rows    int64
	columns []columnReader
	values  []parquet.Value // buffer
}

// open opens a file of a table. Columns that the file lacks, because they are newer than the file, are read as NULL.
func open(d durable.Disk, path string, t *schema.Table) (*file, error) {
	opened, err := d.Open(path)
	if err != nil {
		return nil, durable.Storage(err)
	}
	f := &file{disk: &watchedFile{File: opened}, path: path, table: t}
	size, err := durable.RegularSize(opened, path)
	if err == nil {
		err = f.parse(size)
	}
	if err != nil {
		f.close()
		return nil, durable.Storage(err)
	}
	return f, nil
}

func (f *file) parse(size int64) error {
	p, err := parquet.OpenFile(f.disk, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return f.unread(fmt.Errorf("%s is no Parquet file: %v: %w", f.path, err, durable.ErrDamaged))
	}
	var names []string
	for _, c := range p.Schema().Columns() {
		names = append(names, c[len(c)-1])
	}
	version := schema.Version
	if text, ok := p.Lookup(versionKey); ok {
		if parsed, err := strconv.Atoi(text); err == nil {
			version = max(parsed, schema.Oldest)
		}
	}
	if !f.table.HasColumnsOf(version, names) {
		return fmt.Errorf("%s has the columns %v, not those of %s: %w", f.path, names, f.table.FullName(),
			durable.ErrDamaged)
	}
	f.parquet, f.rows = p, p.NumRows()
	f.columns = make([]columnReader, len(f.table.Columns))
	for i, c := range f.table.Columns {
		f.columns[i].groups, f.columns[i].index = p.RowGroups(), slices.Index(names, c.Name)
	}
	f.values = make([]parquet.Value, min(valuesPerBatch, max(1, f.rows)))
	return nil
}

func (f *file) close() {
	for i := range f.columns {
		f.columns[i].close()
	}
	f.disk.Close()
}

// damaged returns a [durable.ErrDamaged] that names the column, or the error of the disk if there was one.
func (f *file) damaged(column int, err error) error {
	return f.unread(fmt.Errorf("%s column %s: %v: %w", f.path, f.table.Columns[column].Name, err, durable.ErrDamaged))
}

func (f *file) unread(err error) error {
	if f.disk.err != nil {
		return durable.Storage(f.disk.err)
	}
	return err
}

// record reads the next rows of all columns. If last is true, these are the last rows, and further values in the file
// are an error.
func (f *file) record(rows int64, last bool) (arrow.Record, error) {
	arrays := make([]arrow.Array, len(f.columns))
	defer func() {
		for _, a := range arrays {
			if a != nil {
				a.Release()
			}
		}
	}()
	for i := range f.columns {
		dataType := f.table.Arrow.Field(i).Type
		if f.columns[i].index < 0 {
			arrays[i] = array.MakeArrayOfNull(memory.DefaultAllocator, dataType, int(rows))
			continue
		}
		b := array.NewBuilder(memory.DefaultAllocator, dataType)
		b.Reserve(int(rows))
		add, err := arrowAppender(b)
		if err == nil {
			err = f.columns[i].read(int(rows), f.values, func(values []parquet.Value) {
				for _, v := range values {
					if v.IsNull() {
						b.AppendNull()
					} else {
						add(v)
					}
				}
			})
		}
		if err == nil && last {
			err = f.columns[i].end(f.values[:1])
		}
		arrays[i] = b.NewArray()
		b.Release()
		if err != nil {
			return nil, f.damaged(i, err)
		}
	}
	return array.NewRecord(f.table.Arrow, arrays, rows), nil
}

// columnReader reads the values of a column through all row groups.
type columnReader struct {
	groups []parquet.RowGroup // the row groups still to come
	index  int                // index of the column in the file; -1 if the file lacks it
	pages  parquet.Pages      // the pages of the current row group; nil if there is no such group
	page   parquet.Page
	values parquet.ValueReader // those of the current page
}

// read passes the next n values of the column to a function, in one or more parts. The slice is a buffer for a part.
func (c *columnReader) read(n int, values []parquet.Value, give func([]parquet.Value)) error {
	for n > 0 {
		got, err := c.some(values[:min(n, len(values))])
		if err != nil {
			return err
		}
		if got == 0 {
			return fmt.Errorf("%d values short of its rows", n)
		}
		give(values[:got])
		n -= got
	}
	return nil
}

// end returns an error if the column has more values than were read.
func (c *columnReader) end(values []parquet.Value) error {
	got, err := c.some(values)
	if err == nil && got > 0 {
		err = errors.New("more values than rows")
	}
	return err
}

// some fills the buffer with the next values of the column. It returns the number of values: at least one, or 0 at the
// end of the column.
func (c *columnReader) some(values []parquet.Value) (int, error) {
	for {
		if c.values != nil {
			n, err := c.values.ReadValues(values)
			if err != nil && !errors.Is(err, io.EOF) {
				return 0, err
			}
			if n > 0 {
				return n, nil
			}
			if err == nil {
				return 0, io.ErrNoProgress
			}
			parquet.Release(c.page)
			c.page, c.values = nil, nil
		}
		if c.pages == nil {
			if len(c.groups) == 0 {
				return 0, nil
			}
			c.pages, c.groups = c.groups[0].ColumnChunks()[c.index].Pages(), c.groups[1:]
		}
		page, err := c.pages.ReadPage()
		switch {
		case errors.Is(err, io.EOF):
			if err := c.pages.Close(); err != nil {
				return 0, err
			}
			c.pages = nil
		case err != nil:
			return 0, err
		default:
			c.page, c.values = page, page.Values()
		}
	}
}

func (c *columnReader) close() {
	if c.page != nil {
		parquet.Release(c.page)
	}
	if c.pages != nil {
		c.pages.Close()
	}
}

// arrowAppender returns a function that appends a Parquet value to an Arrow builder.
func arrowAppender(b array.Builder) (func(parquet.Value), error) {
	switch b := b.(type) {
	case *array.StringBuilder:
		return func(v parquet.Value) { b.BinaryBuilder.Append(v.ByteArray()) }, nil
	case *array.Int64Builder:
		return func(v parquet.Value) { b.Append(v.Int64()) }, nil
	case *array.Decimal128Builder:
		return func(v parquet.Value) { b.Append(decimal128.FromI64(v.Int64())) }, nil
	case *array.Date32Builder:
		return func(v parquet.Value) { b.Append(arrow.Date32(v.Int32())) }, nil
	case *array.TimestampBuilder:
		return func(v parquet.Value) { b.Append(arrow.Timestamp(v.Int64())) }, nil
	case *array.BooleanBuilder:
		return func(v parquet.Value) { b.Append(v.Boolean()) }, nil
	}
	return nil, fmt.Errorf("no Arrow builder for %s", b.Type())
}
