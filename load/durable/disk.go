package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// FS is the set of file system calls that the store makes. A test can replace it by one that makes a call fail, or that
// forgets unsynced data. DuckDB does not open its file through an FS; [Disk.SyncFile] makes DuckDB's writes durable.
type FS interface {
	OpenFile(path string, flag int, perm fs.FileMode) (File, error)
	Mkdir(path string) error
	Rename(from, to string) error
	Remove(path string) error // a file or an empty folder
	ReadDir(path string) ([]fs.DirEntry, error)
	Lstat(path string) (fs.FileInfo, error)
	Chmod(path string, mode fs.FileMode) error
	// Clone creates a copy that shares blocks with the original until the copy or the original is written to. It fails
	// if the file system cannot share blocks.
	Clone(from, to string) error
	// Lock takes the lock of a lock file, or returns nil if another process holds the lock.
	Lock(path string) (io.Closer, error)
}

// File is an open file or folder.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	Sync() error
	Stat() (fs.FileInfo, error)
}

// System is the [FS] of the operating system.
type System struct{}

// OpenFile is [FS.OpenFile].
func (System) OpenFile(path string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Mkdir is [FS.Mkdir].
func (System) Mkdir(path string) error { return os.Mkdir(path, 0o755) }

// Rename is [FS.Rename].
func (System) Rename(from, to string) error { return os.Rename(from, to) }

// Remove is [FS.Remove].
func (System) Remove(path string) error { return os.Remove(path) }

// ReadDir is [FS.ReadDir].
func (System) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// Lstat is [FS.Lstat].
func (System) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// Chmod is [FS.Chmod].
func (System) Chmod(path string, mode fs.FileMode) error { return os.Chmod(path, mode) }

// Disk adds the store's own file operations to an [FS].
type Disk struct{ FS }

// OS is the disk of the operating system.
var OS = Disk{System{}}

// ReadDir is [FS.ReadDir], and marks its errors as [ErrStorage].
func (d Disk) ReadDir(path string) ([]fs.DirEntry, error) {
	entries, err := d.FS.ReadDir(path)
	return entries, Storage(err)
}

// Open opens a file or a folder for reading. It does not block on a pipe.
func (d Disk) Open(path string) (File, error) {
	return d.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// MaxText exceeds the size of every text file in a store: the manifest, the commit record, a month of a ledger.
const MaxText = 512 << 20

// ReadFile reads a regular file of at most limit bytes. A larger file, a pipe or a device is damage, because spendsync
// did not write it.
func (d Disk) ReadFile(path string, limit int64) ([]byte, error) {
	f, err := d.Open(path)
	if err != nil {
		return nil, Storage(err)
	}
	b, err := readAll(f, path, limit)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, Storage(err)
	}
	return b, nil
}

func readAll(f File, path string, limit int64) ([]byte, error) {
	size, err := RegularSize(f, path)
	if err != nil {
		return nil, err
	}
	var b []byte
	if size <= limit { // do not read a file that is too large
		if b, err = io.ReadAll(io.LimitReader(f, limit+1)); err != nil {
			return b, err
		}
	}
	if size = max(size, int64(len(b))); size > limit { // the file may have grown meanwhile
		return nil, Damaged(path, RepairBackup, "it has %d bytes, and may have at most %d", size, limit)
	}
	return b, nil
}

// RegularSize returns the size of a regular file. It refuses anything else, for example a device, which may have no
// end.
func RegularSize(f File, path string) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, Damaged(path, RepairBackup, "it is not a regular file")
	}
	return info.Size(), nil
}

// Exists reports whether a path exists. It returns an error if it cannot find out.
func (d Disk) Exists(path string) (bool, error) {
	_, err := d.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, Storage(err)
}

// RemoveIfThere removes a file. A missing file is not an error.
func (d Disk) RemoveIfThere(path string) error {
	if err := d.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Storage(err)
	}
	return nil
}

// RemoveTree removes a file, or a folder with its contents. It follows no link.
func (d Disk) RemoveTree(path string) error {
	info, err := d.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return Storage(err)
	}
	if info.IsDir() {
		entries, err := d.ReadDir(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Storage(err)
		}
		for _, e := range entries {
			if err := d.RemoveTree(path + "/" + e.Name()); err != nil {
				return err
			}
		}
	}
	return d.RemoveIfThere(path)
}
