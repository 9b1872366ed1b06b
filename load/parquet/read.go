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

// ReadRows reads all rows of a table's Parquet file.
func ReadRows[R any](path string, t schema.TableOf[R]) ([]R, error) {
	return Rows(durable.OS, path, t)
}

func Rows[R any](d durable.Disk, path string, t schema.TableOf[R]) (rows []R, err error) {
	for rec, err := range Records(d, path, t.Table) {
		if err != nil {
			return nil, err
		}
		// Records live in garbage-collected memory: the rows may keep their texts.
		if rows, err = t.AppendRows(rows, rec); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// Batches reads the rows of a file some thousand at a time. The slice is the
// loop body's alone. Nothing follows an error.
func Batches[R any](d durable.Disk, path string, t schema.TableOf[R]) iter.Seq2[[]R, error] {
	return func(yield func([]R, error) bool) {
		var rows []R
		for rec, err := range Records(d, path, t.Table) {
			if err == nil {
				rows, err = t.AppendRows(rows[:0], rec)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(rows, nil) {
				return
			}
		}
	}
}

// records reads a Parquet file of ours back into Arrow records of some thousand rows,
// each the loop body's alone. Nothing follows an error.
func Records(d durable.Disk, path string, t *schema.Table) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		opened, err := d.Open(path)
		if err != nil {
			yield(nil, durable.Storage(err))
			return
		}
		defer opened.Close()
		info, err := opened.Stat()
		if err != nil {
			yield(nil, durable.Storage(err))
			return
		}
		f := &watchedFile{File: opened}
		for rec, err := range parseRecords(f, path, info.Size(), t) {
			if err != nil && f.err != nil {
				err = durable.Storage(f.err)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// Version is the version of the tables that a Parquet file of ours names.
func Version(d durable.Disk, path string) (version int, err error) {
	opened, err := d.Open(path)
	if err != nil {
		return 0, durable.Storage(err)
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return 0, durable.Storage(err)
	}
	p, err := parquet.OpenFile(opened, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err == nil {
		text, _ := p.Lookup(versionKey)
		version, err = strconv.Atoi(text)
	}
	if err != nil {
		return 0, fmt.Errorf("%s names no version of its table: %v: %w", path, err, durable.ErrDamaged)
	}
	return version, nil
}

// watchedFile keeps the disk's own error: what could not be read is not damaged.
type watchedFile struct {
	durable.File
	err error
}

func (f *watchedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

func parseRecords(f io.ReaderAt, path string, size int64, t *schema.Table) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		p, err := parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		if err != nil {
			yield(nil, fmt.Errorf("%s is no Parquet file: %v: %w", path, err, durable.ErrDamaged))
			return
		}
		var names []string
		for _, c := range p.Schema().Columns() {
			names = append(names, c[len(c)-1])
		}
		// A file from before the table gained columns has NULL in them.
		was := t
		if text, ok := p.Lookup(versionKey); ok {
			if version, err := strconv.Atoi(text); err == nil {
				was = t.AsOf(version)
			}
		}
		if was == nil || !slices.Equal(names, was.ColumnNames()) {
			yield(nil, fmt.Errorf("%s has the columns %v, not those of %s: %w", path, names, t.FullName(),
				durable.ErrDamaged))
			return
		}
		columns := make([]columnReader, len(t.Columns))
		for i, c := range t.Columns {
			columns[i].groups, columns[i].index = p.RowGroups(), slices.Index(names, c.Name)
			defer columns[i].close()
		}
		values := make([]parquet.Value, min(valuesPerBatch, max(1, p.NumRows())))
		for left := p.NumRows(); left > 0; {
			rows := min(left, valuesPerBatch)
			left -= rows
			rec, err := nextRecord(columns, t, path, rows, values, left == 0)
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

// nextRecord reads the given number of rows of all columns; after the last there must be
// no value left.
func nextRecord(columns []columnReader, t *schema.Table, path string, rows int64, values []parquet.Value,
	last bool) (arrow.Record, error) {
	arrays := make([]arrow.Array, len(columns))
	defer func() {
		for _, a := range arrays {
			if a != nil {
				a.Release()
			}
		}
	}()
	for i := range columns {
		if columns[i].index < 0 {
			arrays[i] = array.MakeArrayOfNull(memory.DefaultAllocator, t.Arrow.Field(i).Type, int(rows))
			continue
		}
		b := array.NewBuilder(memory.DefaultAllocator, t.Arrow.Field(i).Type)
		b.Reserve(int(rows))
		err := columns[i].read(b, int(rows), values)
		if err == nil && last {
			err = columns[i].end(values[:1])
		}
		arrays[i] = b.NewArray()
		b.Release()
		if err != nil {
			return nil, fmt.Errorf("%s column %s: %v: %w", path, t.Columns[i].Name, err, durable.ErrDamaged)
		}
	}
	return array.NewRecord(t.Arrow, arrays, rows), nil
}

// columnReader reads a column through all row groups.
type columnReader struct {
	groups []parquet.RowGroup // those not begun
	index  int                // of the column in the file; below 0: the file is older than it
	pages  parquet.Pages      // of the group that is being read; nil: none
	page   parquet.Page
	values parquet.ValueReader // of the page
}

// read appends n values to an Arrow builder, by way of values.
func (c *columnReader) read(b array.Builder, n int, values []parquet.Value) error {
	add, err := arrowAppender(b)
	if err != nil {
		return err
	}
	for n > 0 {
		got, err := c.some(values[:min(n, len(values))])
		if err != nil {
			return err
		}
		if got == 0 {
			return fmt.Errorf("%d values short of its rows", n)
		}
		for _, v := range values[:got] {
			if v.IsNull() {
				b.AppendNull()
			} else {
				add(v)
			}
		}
		n -= got
	}
	return nil
}

// end finds nothing left.
func (c *columnReader) end(values []parquet.Value) error {
	got, err := c.some(values)
	if err == nil && got > 0 {
		err = errors.New("more values than rows")
	}
	return err
}

// some reads at least one value, or none at the end.
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

// arrowAppender is the one switch from Parquet to Arrow.
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
