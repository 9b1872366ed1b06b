package durable

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// Writer is a file that is being written. It computes the size and the SHA-256 of the content.
type Writer struct {
	disk Disk
	path string
	f    File
	hash hash.Hash
	size int64
}

// Create creates a file in an existing folder, or truncates it.
func (d Disk) Create(path string) (*Writer, error) {
	f, err := d.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, Storage(err)
	}
	return &Writer{disk: d, path: path, f: f, hash: sha256.New()}, nil
}

// Write writes to the file.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	w.hash.Write(p[:n])
	w.size += int64(n)
	return n, Storage(err)
}

// Finish makes the content durable and closes the file. The name is not durable until the caller has synced the folder.
// If the sync of the content fails, the file is removed: a second sync would report success and prove nothing.
func (w *Writer) Finish() (sha string, size int64, err error) {
	if err := w.f.Sync(); err != nil {
		w.Abort()
		return "", 0, Storage(err)
	}
	if err := w.f.Close(); err != nil {
		return "", 0, Storage(err)
	}
	return hex.EncodeToString(w.hash.Sum(nil)), w.size, nil
}

// Close closes the file without making it durable, for files that are not needed after a crash.
func (w *Writer) Close() error { return Storage(w.f.Close()) }

// Abort closes and removes the file. It ignores errors.
func (w *Writer) Abort() {
	w.f.Close()
	_ = w.disk.Remove(w.path)
}

// WriteFile writes a complete file and makes its content durable, as [Writer.Finish] does.
func (d Disk) WriteFile(path string, content []byte) (sha string, size int64, err error) {
	f, err := d.Create(path)
	if err != nil {
		return "", 0, err
	}
	if _, err := f.Write(content); err != nil {
		f.Abort()
		return "", 0, err
	}
	return f.Finish()
}

// HashBytes returns the SHA-256 of a text in hex.
func HashBytes(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// hashBuffers are reused because most hashed files are much smaller than a buffer.
var hashBuffers = sync.Pool{New: func() any { return new([1 << 18]byte) }}

// HashFile reads an entire file and returns its SHA-256 and its size.
func (d Disk) HashFile(path string) (sha string, size int64, err error) {
	return d.hashFile(context.Background(), path, -1)
}

// HashSized is [Disk.HashFile] for a file that should have a given size. If the file has another size, HashSized does
// not read the file, and returns an empty hash.
func (d Disk) HashSized(path string, size int64) (sha string, actual int64, err error) {
	return d.hashFile(context.Background(), path, size)
}

func (d Disk) hashFile(ctx context.Context, path string, want int64) (sha string, size int64, err error) {
	f, err := d.Open(path)
	if err != nil {
		return "", 0, Storage(err)
	}
	defer f.Close()
	if size, err = RegularSize(f, path); err != nil || want >= 0 && size != want {
		return "", size, Storage(err)
	}
	buffer := hashBuffers.Get().(*[1 << 18]byte)
	defer hashBuffers.Put(buffer)
	h := sha256.New()
	n, err := io.CopyBuffer(h, stoppable{ctx, f}, buffer[:])
	if err != nil {
		return "", 0, Storage(err)
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}

// CopyFile copies a file, or clones it if the file system supports that. It returns the hash of the copy, so the caller
// can verify the source without another pass. The copy is not synced: the caller changes or syncs it before it is
// published.
func (d Disk) CopyFile(ctx context.Context, from, to string) (sha string, size int64, err error) {
	if err := d.Clone(from, to); err == nil {
		return d.hashFile(ctx, to, -1)
	}
	src, err := d.Open(from)
	if err != nil {
		return "", 0, Storage(err)
	}
	defer src.Close()
	dst, err := d.Create(to)
	if err != nil {
		return "", 0, err
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{dst}, stoppable{ctx, src}, make([]byte, 1<<20)); err != nil {
		dst.Abort()
		return "", 0, Storage(err)
	}
	if err := dst.f.Close(); err != nil {
		return "", 0, Storage(err)
	}
	return hex.EncodeToString(dst.hash.Sum(nil)), dst.size, nil
}

// copySuffix ends the name of an unfinished copy, so that a glob for *.parquet does not match it.
const copySuffix = ".copy"

// CopyInto atomically replaces the file at the second path by a durable copy of the file at the first path. It is for
// moves across file systems, where a rename fails. CopyInto may be interrupted and repeated at any point. The name is
// not durable until the caller has synced the folder.
func (d Disk) CopyInto(from, to string) error {
	info, err := d.Lstat(from)
	if err != nil {
		return Storage(err)
	}
	if _, _, err := d.CopyFile(context.Background(), from, to+copySuffix); err != nil {
		return err
	}
	if err := d.SyncFile(to + copySuffix); err != nil {
		return err
	}
	if err := d.Chmod(to+copySuffix, info.Mode().Perm()); err != nil {
		return Storage(err)
	}
	return Storage(d.Rename(to+copySuffix, to))
}

// stoppable is a reader that fails once the context has ended.
type stoppable struct {
	ctx  context.Context
	file io.Reader
}

func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.file.Read(p)
}

// SyncFile makes the content of a file durable. It is for files that DuckDB or an earlier process has written.
func (d Disk) SyncFile(path string) error {
	f, err := d.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return Storage(err)
	}
	return Storage(errors.Join(f.Sync(), f.Close()))
}

// SyncDir makes the names in a folder durable. Without this call, a crash can undo a rename.
func (d Disk) SyncDir(dir string) error {
	f, err := d.Open(dir)
	if err != nil {
		return Storage(err)
	}
	return Storage(errors.Join(f.Sync(), f.Close()))
}

// SyncAbove makes the name of a folder durable, and the names of the folders above it. The process that created these
// folders may have died before it synced their names. A folder that we have no permission to sync is skipped, because
// we cannot have created it.
func (d Disk) SyncAbove(dir string) error {
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		err := d.SyncDir(parent)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) &&
			!errors.Is(err, syscall.EINVAL) {
			return err
		}
	}
	return nil
}

// MakeDirs creates a folder with its parents. The names are not durable until the caller uses [Disk.SyncNames]. The
// names of existing folders may not be durable either, because the process that created them may have died before it
// synced them.
func (d Disk) MakeDirs(dir string) error {
	if there, err := d.Exists(dir); there || err != nil {
		return err
	}
	if err := d.MakeDirs(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := d.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return Storage(err)
	}
	return nil
}

// SyncNames makes the names in the given folders durable. It also makes the names of these folders, and of the folders
// between them and root, durable.
func (d Disk) SyncNames(root string, dirs map[string]bool) error {
	all := map[string]bool{}
	for dir := range dirs {
		for ; !all[dir]; dir = filepath.Dir(dir) {
			all[dir] = true
			if dir == root {
				break
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		if err := d.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// Exists reports whether a path exists. If it cannot find out, it returns true, so that the caller tries to read the
// file and gets the error.
func Exists(path string) bool {
	there, err := OS.Exists(path)
	return there || err != nil
}
