package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"spendsync/load/catalog"
)

// errMoved says that a file of the store is not what the manifest said: a newer generation
// has replaced it since. Then everything begins again with the newest manifest.
var errMoved = errors.New("the store has moved on")

// upload puts a file of the store into the lake and describes it. It is hashed while it is
// read, against the manifest; an object whose hash differs is named by nothing.
func (t *lakeTable) upload(ctx context.Context, dir string, f file, token string) (iceberg.DataFile, error) {
	local, err := os.Open(filepath.Join(dir, f.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", f.path, errMoved)
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", catalog.ErrStorage, err)
	}
	defer local.Close()
	object := t.tbl.Location() + "/" + f.object(token)
	hash := sha256.New()
	if err := put(ctx, t.fs, object, io.TeeReader(local, hash)); err != nil {
		return nil, remote(f.path, err)
	}
	if hex.EncodeToString(hash.Sum(nil)) != f.info.SHA256 {
		return nil, fmt.Errorf("%s: %w", f.path, errMoved)
	}
	info, err := local.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", catalog.ErrStorage, err)
	}
	return t.describe(ctx, object, local, info.Size())
}

// put writes an object. What is read and not finished must not become one.
func put(ctx context.Context, to iceio.WriteFileIO, object string, from io.Reader) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w, err := to.Create(object)
	if err != nil {
		return err
	}
	_, err = w.ReadFrom(from)
	return errors.Join(err, w.Close())
}

// describe reads the footer of a file as that of an object with the same bytes: counts,
// bounds, partition.
func (t *lakeTable) describe(ctx context.Context, object string, at io.ReaderAt, size int64) (iceberg.DataFile, error) {
	d, err := table.FileToDataFile(ctx, oneFile{object, at, size}, object, t.schema, t.tbl.Spec(),
		t.tbl.SortOrder().OrderID(), t.tbl.Properties())
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", object, catalog.ErrDamaged, err)
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
