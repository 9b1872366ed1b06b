package load

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/gofrs/flock"
)

// fileSystem is every call by which the store touches a file. All of them pass
// through one, so that a test can fail each, or forget what was not synced.
// DuckDB opens its file by itself: that one is ours again with [disk.syncFile].
type fileSystem interface {
	OpenFile(path string, flag int, perm fs.FileMode) (file, error)
	Mkdir(path string) error
	Rename(from, to string) error
	Remove(path string) error // a file or an empty folder
	ReadDir(path string) ([]fs.DirEntry, error)
	Lstat(path string) (fs.FileInfo, error)
	Chmod(path string, mode fs.FileMode) error
	// Lock takes the lock of a lock file, or returns nil if somebody else has it.
	Lock(path string) (io.Closer, error)
}

// file is an open file or folder.
type file interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	Sync() error
	Stat() (fs.FileInfo, error)
}

// realFiles is the operating system's.
type realFiles struct{}

func (realFiles) OpenFile(path string, flag int, perm fs.FileMode) (file, error) {
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (realFiles) Mkdir(path string) error                    { return os.Mkdir(path, 0o755) }
func (realFiles) Rename(from, to string) error               { return os.Rename(from, to) }
func (realFiles) Remove(path string) error                   { return os.Remove(path) }
func (realFiles) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }
func (realFiles) Lstat(path string) (fs.FileInfo, error)     { return os.Lstat(path) }
func (realFiles) Chmod(path string, mode fs.FileMode) error  { return os.Chmod(path, mode) }

func (realFiles) Lock(path string) (io.Closer, error) {
	l := flock.New(path)
	locked, err := l.TryLock()
	if err != nil || !locked {
		return nil, err
	}
	return l, nil
}

// disk is a file system with what the store does on it.
type disk struct{ fileSystem }

// theDisk is for those who only read what is published.
var theDisk = disk{realFiles{}}

func (d disk) open(path string) (file, error) { return d.OpenFile(path, os.O_RDONLY, 0) }

func (d disk) readFile(path string) ([]byte, error) {
	f, err := d.open(path)
	if err != nil {
		return nil, storage(err)
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, storage(err)
	}
	return b, nil
}

// exists says whether a name is there. That it could not be looked up is not
// that it is not there.
func (d disk) exists(path string) (bool, error) {
	_, err := d.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, storage(err)
}

// removeIfThere removes a file; one that is already gone is as good.
func (d disk) removeIfThere(path string) error {
	if err := d.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storage(err)
	}
	return nil
}

// removeTree removes a folder with what is in it, or a file. It follows no link.
func (d disk) removeTree(path string) error {
	info, err := d.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return storage(err)
	}
	if info.IsDir() {
		entries, err := d.ReadDir(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return storage(err)
		}
		for _, e := range entries {
			if err := d.removeTree(path + "/" + e.Name()); err != nil {
				return err
			}
		}
	}
	return d.removeIfThere(path)
}

// device tells apart the file systems that paths lie on.
func (d disk) device(path string) (uint64, error) {
	info, err := d.Lstat(path)
	if err != nil {
		return 0, storage(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), nil
	}
	return 0, nil
}
