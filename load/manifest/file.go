package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"

	"spendsync/load/durable"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// Batches checks the bytes of a published file, and then reads the file with [parquet.Batches].
func Batches[R any](disk durable.Disk, dir, path string, info *File, t schema.TableOf[R],
	columns ...string) iter.Seq2[[]R, error] {
	return func(yield func([]R, error) bool) {
		if err := CheckBytes(disk, dir, path, info); err != nil {
			yield(nil, err)
			return
		}
		parquet.Batches(disk, filepath.Join(dir, path), t, columns...)(yield)
	}
}

// Rows reads a published Parquet file after checking the bytes of the file.
func Rows[R any](disk durable.Disk, dir, path string, info *File, t schema.TableOf[R]) ([]R, error) {
	if err := CheckBytes(disk, dir, path, info); err != nil {
		return nil, err
	}
	return parquet.Rows(disk, filepath.Join(dir, path), t)
}

// CheckBytes compares the size and the hash of a file with the published size and hash.
func CheckBytes(d durable.Disk, dir, path string, info *File) error {
	repair := info.Repair()
	sha, size, err := d.HashSized(filepath.Join(dir, path), info.Bytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return durable.Damaged(path, repair, "it is missing")
	case errors.Is(err, durable.ErrDamaged):
		return durable.Damaged(path, repair, "it is not a regular file")
	case err != nil:
		return err
	case size != info.Bytes:
		return durable.Damaged(path, repair, "it has %d bytes, and had %d when it was published", size, info.Bytes)
	case sha != info.SHA256:
		return durable.Damaged(path, repair, "its bytes are not those that were published")
	}
	return nil
}

// CountRows compares the number of rows that were read from a file with the published number. The argument err is the
// error of reading the rows. An error that does not come from the disk is damage.
func CountRows(path string, info *File, rows int64, err error) error {
	if errors.Is(err, durable.ErrStorage) {
		return err // the disk failed, which proves nothing about the file
	}
	if err != nil {
		return durable.Damaged(path, info.Repair(), "%v", err)
	}
	if rows != info.Rows {
		return durable.Damaged(path, info.Repair(), "it has %d rows, and had %d when it was published", rows, info.Rows)
	}
	return nil
}

// ReadDay reads the Parquet file of a day. It returns an error if a row belongs to another account or day.
func ReadDay(d durable.Disk, path, account string, day schema.Date) (*schema.SpendRows, error) {
	rows := &schema.SpendRows{}
	for batch, err := range parquet.Batches(d, path, schema.SpendDaily) {
		if err != nil {
			return rows, err
		}
		for i := range batch {
			if r := &batch[i]; r.AccountID != account || r.ReportDate != day {
				return rows, fmt.Errorf("row %d is of account %q, day %s", rows.Len()+1, r.AccountID, r.ReportDate)
			}
			rows.Append(&batch[i])
		}
	}
	return rows, nil
}
