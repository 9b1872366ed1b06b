package loadtest

import (
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"

	"spendsync/load/durable"
)

// Faults is a [durable.FS] over real files. In it one call fails. If Always is set, every later call fails too. It
// syncs nothing.
type Faults struct {
	At     int // number of the call that fails, from 1; if 0, no call fails
	After  bool
	Always bool
	Errno  syscall.Errno
	Before func(call string) error // called before each call, which fails if Before returns an error; may be nil
	Made   func(call string)       // may be nil; it is called after each call that succeeded

	mu     sync.Mutex
	calls  []string
	struck string
	open   map[io.Closer]string
}

// Calls returns the calls made so far, each with its path.
func (d *Faults) Calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.calls)
}

// Struck returns the first call that failed. It is empty if no call failed.
func (d *Faults) Struck() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.struck
}

// strike counts a call. It returns an error if the call is to fail.
func (d *Faults) strike(what, path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, what+" "+path)
	if d.Before != nil {
		if err := d.Before(what + " " + path); err != nil {
			return err
		}
	}
	n := len(d.calls)
	if d.At == 0 || n < d.At || n > d.At && !d.Always {
		return nil
	}
	if d.struck == "" {
		d.struck = what + " " + path
	}
	return &fs.PathError{Op: what, Path: path, Err: d.Errno}
}

// call makes a call of the file system. If the field After is set, the call has its effect even if it then returns an
// error.
func (d *Faults) call(what, path string, do func() error) error {
	fault := d.strike(what, path)
	if fault != nil {
		if d.After {
			_ = do()
		}
		return fault
	}
	err := do()
	if err == nil && d.Made != nil {
		d.Made(what + " " + path)
	}
	return err
}

func (d *Faults) keep(c io.Closer, path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == nil {
		d.open = map[io.Closer]string{}
	}
	d.open[c] = path
}

func (d *Faults) drop(c io.Closer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, c)
}

// Die closes all open files and locks, as the end of a process does, and returns their paths.
func (d *Faults) Die() (left []string) {
	for c, path := range d.open {
		left = append(left, path)
		c.Close()
	}
	d.open = nil
	return left
}

// OpenFile is [durable.FS.OpenFile].
func (d *Faults) OpenFile(path string, flag int, perm fs.FileMode) (durable.File, error) {
	var f durable.File
	err := d.call("open", path, func() (err error) {
		f, err = durable.System{}.OpenFile(path, flag, perm)
		return err
	})
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	d.keep(f, path)
	return &faultFile{d, f, path}, nil
}

// Mkdir is [durable.FS.Mkdir].
func (d *Faults) Mkdir(path string) error {
	return d.call("mkdir", path, func() error { return durable.System{}.Mkdir(path) })
}

// Rename is [durable.FS.Rename].
func (d *Faults) Rename(from, to string) error {
	return d.call("rename", to, func() error { return durable.System{}.Rename(from, to) })
}

// Remove is [durable.FS.Remove].
func (d *Faults) Remove(path string) error {
	return d.call("remove", path, func() error { return durable.System{}.Remove(path) })
}

// Chmod does not change the mode, because tests share files between stores by links.
func (d *Faults) Chmod(path string, _ fs.FileMode) error {
	return d.call("chmod", path, func() error { return nil })
}

// Clone copies, because the file system of a test may not support clones.
func (d *Faults) Clone(from, to string) error {
	return d.call("clone", to, func() error {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(to, content, 0o644)
	})
}

// ReadDir is [durable.FS.ReadDir].
func (d *Faults) ReadDir(path string) (entries []fs.DirEntry, err error) {
	err = d.call("readdir", path, func() (err error) {
		entries, err = durable.System{}.ReadDir(path)
		return err
	})
	return entries, err
}

// Lstat is [durable.FS.Lstat].
func (d *Faults) Lstat(path string) (info fs.FileInfo, err error) {
	err = d.call("stat", path, func() (err error) {
		info, err = durable.System{}.Lstat(path)
		return err
	})
	return info, err
}

// Lock is [durable.FS.Lock].
func (d *Faults) Lock(path string) (io.Closer, error) {
	if err := d.strike("lock", path); err != nil {
		return nil, err
	}
	l, err := durable.System{}.Lock(path)
	if l == nil || err != nil {
		return nil, err
	}
	d.keep(l, path)
	return &faultLock{d, l, path}, nil
}

type faultLock struct {
	disk *Faults
	l    io.Closer
	path string
}

func (l *faultLock) Close() error {
	return l.disk.call("unlock", l.path, func() error {
		l.disk.drop(l.l)
		return l.l.Close()
	})
}

type faultFile struct {
	disk *Faults
	f    durable.File
	path string
}

func (f *faultFile) Read(p []byte) (n int, err error) {
	err = f.disk.call("read", f.path, func() (err error) {
		n, err = f.f.Read(p)
		return err
	})
	return n, err
}

func (f *faultFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.disk.call("readat", f.path, func() (err error) {
		n, err = f.f.ReadAt(p, off)
		return err
	})
	return n, err
}

// Write writes only half of its data if the call is to fail and the field After is set, as on a full disk.
func (f *faultFile) Write(p []byte) (n int, err error) {
	fault := f.disk.strike("write", f.path)
	switch {
	case fault == nil:
		return f.f.Write(p)
	case f.disk.After:
		n, _ = f.f.Write(p[:len(p)/2])
	}
	return n, fault
}

func (f *faultFile) Sync() error {
	return f.disk.call("sync", f.path, func() error { return nil })
}

func (f *faultFile) Stat() (info fs.FileInfo, err error) {
	err = f.disk.call("fstat", f.path, func() (err error) {
		info, err = f.f.Stat()
		return err
	})
	return info, err
}

// Close closes the file even if the call is to fail, as the operating system does.
func (f *faultFile) Close() error {
	f.disk.drop(f.f)
	err := f.f.Close()
	if fault := f.disk.strike("close", f.path); fault != nil {
		return fault
	}
	return err
}
