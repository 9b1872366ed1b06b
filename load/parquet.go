package load

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"spendsync/schema"
)

// rowsPerGroup cuts files into row groups: a reader's unit of parallel work, and
// the bound on what the writer holds in memory.
const rowsPerGroup = 128 << 10

// valuesPerBatch is how many values pass between Arrow and Parquet at a time.
const valuesPerBatch = 4096

// writeParquet writes records of a table as one Parquet file: zstd, dictionaries,
// statistics on all columns, the key declared as the sort order. The bytes
// depend on the rows alone, so equal content gives an equal file.
func writeParquet(out io.Writer, t *schema.Table, recs iter.Seq[arrow.Record]) (rows int64, err error) {
	var sorting []parquet.SortingColumn
	for _, k := range t.KeyNames() {
		sorting = append(sorting, parquet.Ascending(k))
	}
	w := parquet.NewWriter(out, t.Parquet,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault}),
		parquet.CreatedBy("spendsync", "1", ""),
		parquet.KeyValueMetadata("spendsync.table", t.FullName()),
		parquet.KeyValueMetadata("spendsync.schema_version", fmt.Sprint(schema.Version)),
		parquet.DataPageStatistics(true),
		parquet.SortingWriterConfig(parquet.SortingColumns(sorting...)),
		parquet.DictionaryMaxBytes(1<<20),
	)
	values := make([]parquet.Value, 0, valuesPerBatch)
	inGroup := int64(0)
	for rec := range recs {
		if inGroup > 0 && inGroup+rec.NumRows() > rowsPerGroup {
			if err := w.Flush(); err != nil {
				return 0, storage(err)
			}
			inGroup = 0
		}
		for i, cw := range w.ColumnWriters() {
			if err := writeColumn(cw, rec.Column(i), i, t.Columns[i].Nullable, values); err != nil {
				return 0, fmt.Errorf("%s column %s: %w", t.FullName(), t.Columns[i].Name, storage(err))
			}
		}
		inGroup += rec.NumRows()
		rows += rec.NumRows()
	}
	return rows, storage(w.Close())
}

// recordRows is how many rows at a time the days of the report are written by:
// package transform cuts them so.
const recordRows = 16_384

// batchesOf cuts a record as a day's rows are cut when they are written, so that
// the same rows give the same row groups.
func batchesOf(rec arrow.Record) iter.Seq[arrow.Record] {
	return func(yield func(arrow.Record) bool) {
		for from := int64(0); from == 0 || from < rec.NumRows(); from += recordRows {
			part := rec.NewSlice(from, min(from+recordRows, rec.NumRows()))
			more := yield(part)
			part.Release()
			if !more {
				return
			}
		}
	}
}

// writeColumn copies an Arrow column into a Parquet column, by batches.
func writeColumn(w *parquet.ColumnWriter, a arrow.Array, index int, nullable bool, values []parquet.Value) error {
	fill, err := parquetValues(a)
	if err != nil {
		return err
	}
	for from := 0; from < a.Len(); from += valuesPerBatch {
		values = values[:min(valuesPerBatch, a.Len()-from)]
		fill(values, from)
		if nullable {
			// Only a column that may be empty is asked how deep its values lie.
			for i := range values {
				if a.IsNull(from + i) {
					values[i] = parquet.NullValue().Level(0, 0, index)
				} else {
					values[i] = values[i].Level(0, 1, index)
				}
			}
		}
		if _, err := w.WriteRowValues(values); err != nil {
			return err
		}
	}
	return nil
}

// parquetValues is the one switch from Arrow to Parquet: what it gives fills
// values with those of the array from an index on, whatever stands at the NULLs.
func parquetValues(a arrow.Array) (func(values []parquet.Value, from int), error) {
	switch a := a.(type) {
	case *array.String:
		return func(values []parquet.Value, from int) {
			for i := range values {
				// The writer copies the bytes; it does not keep or change them.
				s := a.Value(from + i)
				values[i] = parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s)))
			}
		}, nil
	case *array.Int64:
		return fillFrom(a.Int64Values(), parquet.Int64Value), nil
	case *array.Decimal128:
		return func(values []parquet.Value, from int) {
			for i := range values {
				values[i] = parquet.Int64Value(int64(a.Value(from + i).LowBits()))
			}
		}, nil
	case *array.Date32:
		return fillFrom(a.Date32Values(), func(d arrow.Date32) parquet.Value { return parquet.Int32Value(int32(d)) }), nil
	case *array.Timestamp:
		return fillFrom(a.TimestampValues(), func(t arrow.Timestamp) parquet.Value { return parquet.Int64Value(int64(t)) }), nil
	case *array.Boolean:
		return func(values []parquet.Value, from int) {
			for i := range values {
				values[i] = parquet.BooleanValue(a.Value(from + i))
			}
		}, nil
	}
	return nil, fmt.Errorf("no Parquet column from %s", a.DataType())
}

func fillFrom[T any](all []T, value func(T) parquet.Value) func([]parquet.Value, int) {
	return func(values []parquet.Value, from int) {
		for i, v := range all[from : from+len(values)] {
			values[i] = value(v)
		}
	}
}

// ReadRows reads all rows of a table's Parquet file.
func ReadRows[R any](path string, t schema.TableOf[R]) ([]R, error) {
	return readRows(theDisk, path, t)
}

func readRows[R any](d disk, path string, t schema.TableOf[R]) ([]R, error) {
	rec, err := d.readRecord(path, t.Table)
	if err != nil {
		return nil, err
	}
	// The record lives in garbage-collected memory: the rows may keep its texts.
	defer rec.Release()
	return t.Rows(rec)
}

// readRecord reads a Parquet file of ours back into one Arrow record.
func (d disk) readRecord(path string, t *schema.Table) (arrow.Record, error) {
	opened, err := d.open(path)
	if err != nil {
		return nil, storage(err)
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return nil, storage(err)
	}
	f := &watchedFile{file: opened}
	rec, err := parseRecord(f, path, info.Size(), t)
	if err != nil && f.err != nil {
		return nil, storage(f.err)
	}
	return rec, err
}

// watchedFile keeps the disk's own error: what could not be read is not damaged.
type watchedFile struct {
	file
	err error
}

func (f *watchedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.file.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

func parseRecord(f io.ReaderAt, path string, size int64, t *schema.Table) (arrow.Record, error) {
	p, err := parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("%s is no Parquet file: %v: %w", path, err, ErrDamaged)
	}
	var names []string
	for _, c := range p.Schema().Columns() {
		names = append(names, c[len(c)-1])
	}
	if !slices.Equal(names, t.ColumnNames()) {
		return nil, fmt.Errorf("%s has the columns %v, not those of %s: %w", path, names, t.FullName(), ErrDamaged)
	}
	columns := make([]arrow.Array, len(t.Columns))
	values := make([]parquet.Value, min(valuesPerBatch, max(1, p.NumRows())))
	for i := range t.Columns {
		b := array.NewBuilder(memory.DefaultAllocator, t.Arrow.Field(i).Type)
		b.Reserve(int(p.NumRows()))
		for _, g := range p.RowGroups() {
			if err := readColumn(b, g.ColumnChunks()[i], values); err != nil {
				return nil, fmt.Errorf("%s column %s: %v: %w", path, t.Columns[i].Name, err, ErrDamaged)
			}
		}
		columns[i] = b.NewArray()
		b.Release()
		if columns[i].Len() != int(p.NumRows()) {
			return nil, fmt.Errorf("%s column %s: %d values for %d rows: %w", path, t.Columns[i].Name, columns[i].Len(), p.NumRows(), ErrDamaged)
		}
	}
	return array.NewRecord(t.Arrow, columns, p.NumRows()), nil
}

// readColumn appends the values of a Parquet column chunk to an Arrow builder, by
// way of values.
func readColumn(b array.Builder, chunk parquet.ColumnChunk, values []parquet.Value) error {
	add, err := arrowAppender(b)
	if err != nil {
		return err
	}
	pages := chunk.Pages()
	defer pages.Close()
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for r := page.Values(); ; {
			n, err := r.ReadValues(values)
			for _, v := range values[:n] {
				if v.IsNull() {
					b.AppendNull()
				} else {
					add(v)
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
		}
		parquet.Release(page)
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
