package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// errMoved reports that a file of the store differs from the manifest: a newer generation has
// replaced it since. Then the follower starts over with the newest manifest.
var errMoved = errors.New("the store has moved on")

// upload puts a file of the store into the lake and describes it. It is hashed while it is
// read, against the manifest; an object whose hash differs is named by nothing.
func (t *lakeTable) upload(ctx context.Context, dir string, f file, token string) (iceberg.DataFile, error) {
	if f.days != nil {
		return t.uploadMonth(ctx, dir, f, token)
	}
	local, err := openStored(dir, f.path)
	if err != nil {
		return nil, err
	}
	defer local.Close()
	object := t.tbl.Location() + "/" + f.object(token)
	if err := t.putHashed(ctx, object, local, f.path, f.info.SHA256); err != nil {
		return nil, err
	}
	info, err := local.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	return t.describe(ctx, object, local, info.Size())
}

// uploadMonth makes the file of a closed month from those of its days, each hashed while it is
// copied, and puts it into the lake. The first digits of its hash are part of its name.
func (t *lakeTable) uploadMonth(ctx context.Context, dir string, f file, token string) (iceberg.DataFile, error) {
	folder, err := os.MkdirTemp("", "spendsync-lake-")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	defer os.RemoveAll(folder)
	month, err := os.Create(filepath.Join(folder, "month.parquet"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	defer month.Close()
	hash := sha256.New()
	days := f.copies(dir, filepath.Join(folder, "day.parquet"))
	if err := manifest.Merge(io.MultiWriter(month, hash), t.spec.table, days); err != nil {
		return nil, err
	}
	size, err := month.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	object := t.tbl.Location() + "/" + f.object(hex.EncodeToString(hash.Sum(nil)[:6])+token)
	if err := put(ctx, t.fs, object, io.NewSectionReader(month, 0, size)); err != nil {
		return nil, remote(f.path, err)
	}
	return t.describe(ctx, object, month, size)
}

// copies yields the files of a month's days, each copied first: the bytes read are the bytes
// hashed, even if a newer generation replaces the original meanwhile.
func (f file) copies(dir, copied string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, d := range f.days {
			if !yield(copied, copyHashed(dir, d, copied)) {
				return
			}
		}
	}
}

// copyHashed copies a file of the store; one whose hash is another has been replaced: errMoved.
func copyHashed(dir string, f file, to string) error {
	from, err := openStored(dir, f.path)
	if err != nil {
		return err
	}
	defer from.Close()
	out, err := os.Create(to)
	if err != nil {
		return fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, hash), from)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	if hex.EncodeToString(hash.Sum(nil)) != f.info.SHA256 {
		return fmt.Errorf("%s: %w", f.path, errMoved)
	}
	return nil
}

// openStored opens a file of the store; one that is not there has been replaced: errMoved.
func openStored(dir, path string) (*os.File, error) {
	f, err := os.Open(filepath.Join(dir, path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, errMoved)
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", durable.ErrStorage, err)
	}
	return f, nil
}

// putHashed writes an object from a file of the store and hashes it while it is read. If the hash differs it returns
// errMoved, and the object exists nevertheless.
func (t *lakeTable) putHashed(ctx context.Context, object string, from io.Reader, path, sha string) error {
	hash := sha256.New()
	if err := put(ctx, t.fs, object, io.TeeReader(from, hash)); err != nil {
		return remote(path, err)
	}
	if hex.EncodeToString(hash.Sum(nil)) != sha {
		return fmt.Errorf("%s: %w", path, errMoved)
	}
	return nil
}

// describe reads the footer of a file as that of an object with the same bytes: counts,
// bounds, partition.
func (t *lakeTable) describe(ctx context.Context, object string, at io.ReaderAt, size int64) (iceberg.DataFile, error) {
	d, err := table.FileToDataFile(ctx, oneFile{object, at, size}, object, t.schema, t.tbl.Spec(),
		t.tbl.SortOrder().OrderID(), t.tbl.Properties())
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", object, durable.ErrDamaged, err)
	}
	return d, nil
}

// oneFile is a file system of one file, which lies elsewhere.
type oneFile struct {
	name string
	at   io.ReaderAt
	size int64
}

func (o oneFile) Open(name string) (iceio.File, error) {
	if name != o.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return section{io.NewSectionReader(o.at, 0, o.size), o}, nil
}

func (o oneFile) Remove(name string) error {
	return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrPermission}
}

// section reads a file that somebody else closes.
type section struct {
	*io.SectionReader
	of oneFile
}

func (s section) Stat() (fs.FileInfo, error) { return s, nil }
func (s section) Close() error               { return nil }
func (s section) Name() string               { return s.of.name }
func (s section) Mode() fs.FileMode          { return 0 }
func (s section) ModTime() time.Time         { return time.Time{} }
func (s section) IsDir() bool                { return false }
func (s section) Sys() any                   { return nil }
