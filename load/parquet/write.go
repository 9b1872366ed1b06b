package parquet

import (
	"fmt"
	"io"
	"iter"
	"math"
	"sync"
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	parquetzstd "github.com/parquet-go/parquet-go/compress/zstd"

	"spendsync/load/durable"
	"spendsync/schema"
)

// rowsPerGroup is the maximum number of rows in a row group. A row group is the unit of parallel reading, and is held
// in memory while it is written.
const rowsPerGroup = 128 << 10

// pageBytes is the size of a page before compression in large tables, such as the report. Delta encoding and zstd work
// within a page. Other tables need no limit, because they fill only a page or two.
const pageBytes = 1 << 20

// valuesPerBatch is the number of values that are converted between Arrow and Parquet at a time.
const valuesPerBatch = 4096

// versionKey is the metadata key for the schema version that last changed the columns of the file's table.
const versionKey = "spendsync.schema_version"

// Metadata returns the keys and values of a file's metadata that identify its table.
func Metadata(t *schema.Table) [][2]string {
	return [][2]string{{"spendsync.table", t.FullName()}, {versionKey, fmt.Sprint(t.FilesVersion())}}
}

// Write writes records of a table as one Parquet file, with zstd, dictionaries, statistics on all columns, and the key
// declared as the sort order. The bytes depend only on the rows.
func Write(out io.Writer, t *schema.Table, recs iter.Seq[arrow.Record]) (rows int64, err error) {
	return write(out, t, math.MaxInt, recs)
}

// write is [Write] for at most the given number of rows, which limits the size of the buffers.
func write(out io.Writer, t *schema.Table, most int, recs iter.Seq[arrow.Record]) (rows int64, err error) {
	w := parquet.NewWriter(out, writerOptions(t, most)...)
	values := make([]parquet.Value, 0, valuesPerBatch)
	inGroup := int64(0)
	for rec := range recs {
		if inGroup > 0 && inGroup+rec.NumRows() > rowsPerGroup {
			if err := w.Flush(); err != nil {
				return 0, durable.Storage(err)
			}
			inGroup = 0
		}
		for i, cw := range w.ColumnWriters() {
			if err := writeColumn(cw, rec.Column(i), i, t.Columns[i].Nullable, values); err != nil {
				return 0, fmt.Errorf("%s column %s: %w", t.FullName(), t.Columns[i].Name, durable.Storage(err))
			}
		}
		inGroup += rec.NumRows()
		rows += rec.NumRows()
	}
	return rows, durable.Storage(w.Close())
}

func writerOptions(t *schema.Table, rows int) []parquet.WriterOption {
	var sorting []parquet.SortingColumn
	for _, k := range t.KeyNames() {
		sorting = append(sorting, parquet.Ascending(k))
	}
	// Every column allocates the buffer for a page at once. The rows of a single batch fit into one page of any size,
	// so a small buffer saves memory, and the bytes of the file are the same.
	room := pageBytes
	if rows <= valuesPerBatch {
		room = 32 * max(rows, 1)
	}
	options := []parquet.WriterOption{
		t.Parquet,
		parquet.Compression(&pageCodec{}),
		parquet.CreatedBy("spendsync", "1", ""),
		parquet.SortingWriterConfig(parquet.SortingColumns(sorting...)),
		parquet.DictionaryMaxBytes(1 << 20),
	}
	for _, kv := range Metadata(t) {
		options = append(options, parquet.KeyValueMetadata(kv[0], kv[1]))
	}
	if t.Large {
		// The file's index already has the statistics of all pages.
		options = append(options, parquet.PageBufferSize(room), parquet.DataPageStatistics(false))
	} else {
		options = append(options, parquet.DataPageStatistics(true))
	}
	return options
}

// pageCodec is parquet-go's zstd with a single encoder for all files and a window of one page. parquet-go's own codec
// needs 16 MB for each open file.
type pageCodec struct{ parquetzstd.Codec }

// Encode compresses a page.
func (*pageCodec) Encode(dst, src []byte) ([]byte, error) {
	e, err := pageEncoder()
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(src, dst[:0]), nil
}

var pageEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(pageBytes),
		zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false)) // a page has a checksum of its own
})

// RecordRows is the maximum number of rows in an Arrow record.
const RecordRows = 4_096

// writeColumn writes an Arrow column to a Parquet column, in batches.
func writeColumn(w *parquet.ColumnWriter, a arrow.Array, index int, nullable bool, values []parquet.Value) error {
	for from := 0; from < a.Len(); from += valuesPerBatch {
		values = values[:min(valuesPerBatch, a.Len()-from)]
		if err := parquetValues(values, a, from); err != nil {
			return err
		}
		if nullable {
			// Only a nullable column has definition levels.
			for i := range values {
				values[i] = values[i].Level(0, 1, index)
			}
			if a.NullN() > 0 {
				for i := range values {
					if a.IsNull(from + i) {
						values[i] = parquet.NullValue().Level(0, 0, index)
					}
				}
			}
		}
		if _, err := w.WriteRowValues(values); err != nil {
			return err
		}
	}
	return nil
}

// parquetValues fills a slice with the values of an Arrow array, beginning at the given index of the array. In place of
// a NULL it may write any value.
func parquetValues(values []parquet.Value, a arrow.Array, from int) error {
	switch a := a.(type) {
	case *array.String:
		for i := range values {
			// Safe, because the writer copies the bytes and does not change them.
			s := a.Value(from + i)
			values[i] = parquet.ByteArrayValue(unsafe.Slice(unsafe.StringData(s), len(s)))
		}
	case *array.Int64:
		for i, n := range a.Int64Values()[from : from+len(values)] {
			values[i] = parquet.Int64Value(n)
		}
	case *array.Decimal128:
		for i, n := range a.Values()[from : from+len(values)] {
			values[i] = parquet.Int64Value(int64(n.LowBits()))
		}
	case *array.Date32:
		for i, d := range a.Date32Values()[from : from+len(values)] {
			values[i] = parquet.Int32Value(int32(d))
		}
	case *array.Timestamp:
		for i, t := range a.TimestampValues()[from : from+len(values)] {
			values[i] = parquet.Int64Value(int64(t))
		}
	case *array.Boolean:
		for i := range values {
			values[i] = parquet.BooleanValue(a.Value(from + i))
		}
	default:
		return fmt.Errorf("no Parquet column from %s", a.DataType())
	}
	return nil
}
