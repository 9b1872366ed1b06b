package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"spendsync/load/durable"
)

// folder stores objects as files in a folder, for example on a disk or a mounted share.
type folder struct{ dir, address string }

// disk is a variable so that tests can make its calls fail.
var disk = durable.OS

func (f *folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// failed classifies an error of the file system.
func (f *folder) failed(ctx context.Context, name string, err error) error {
	if err == nil || errors.Is(err, durable.ErrDamaged) || isNamed(err) {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", name, context.Cause(ctx))
	}
	kind := durable.ErrStorage
	if errors.Is(err, fs.ErrNotExist) {
		kind = errNotFound
	}
	cause := err
	if path, ok := errors.AsType[*os.PathError](err); ok {
		cause = path
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		cause = link
	}
	return &Error{Address: f.address, Object: name, Reason: cause.Error(), Cause: durable.Storage(cause), kind: kind}
}

// isNamed reports whether an error is already an [Error], which names the object.
func isNamed(err error) bool {
	_, ok := errors.AsType[*Error](err)
	return ok
}

// open opens an object. It does not block on a pipe.
func (f *folder) open(ctx context.Context, name string) (io.ReadCloser, object, error) {
	file, err := disk.Open(f.path(name))
	if err != nil {
		return nil, object{}, f.failed(ctx, name, err)
	}
	size, err := durable.RegularSize(file, f.address+"/"+name)
	if err == nil {
		var info fs.FileInfo
		if info, err = file.Stat(); err == nil {
			return file, object{name: name, bytes: size, at: info.ModTime()}, nil
		}
	}
	return nil, object{}, errors.Join(f.failed(ctx, name, err), file.Close())
}

// write writes an object to a staged file, and renames the file when it is complete and durable. An interrupted push
// must not leave partial or temporary files where readers glob for Parquet files.
func (f *folder) write(ctx context.Context, name string, c content) error {
	from, err := c.open()
	if err != nil {
		return err
	}
	defer from.Close()
	return f.writeFrom(ctx, name, from)
}

func (f *folder) writeFrom(ctx context.Context, name string, from io.Reader) error {
	staged := f.path(stagingFolder + name)
	err := disk.MakeDirs(filepath.Dir(staged))
	if err == nil {
		err = disk.RemoveIfThere(staged)
	}
	if err != nil {
		return f.failed(ctx, name, err)
	}
	w, err := disk.Create(staged)
	if err != nil {
		return f.failed(ctx, name, err)
	}
	source := &source{ctx: ctx, from: from}
	if _, err := io.Copy(w, source); err != nil {
		w.Abort()
		if source.err != nil && ctx.Err() == nil {
			return source.err
		}
		return f.failed(ctx, name, err)
	}
	if _, _, err = w.Finish(); err == nil {
		err = disk.MakeDirs(filepath.Dir(f.path(name)))
	}
	if err == nil {
		err = disk.Rename(staged, f.path(name))
	}
	return f.failed(ctx, name, err)
}

// source is a reader that fails when its context ends. It records its error, so that the error can be distinguished
// from an error of the destination.
type source struct {
	ctx  context.Context
	from io.Reader
	err  error
}

func (s *source) Read(p []byte) (n int, err error) {
	if err = s.ctx.Err(); err == nil {
		n, err = s.from.Read(p)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// replace ignores the tag, because the push holds the lock of the folder.
func (f *folder) replace(ctx context.Context, name, _ string, c content) error {
	return f.write(ctx, name, c)
}

func (f *folder) copy(ctx context.Context, to, from string) error {
	r, _, err := f.open(ctx, from)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := f.writeFrom(ctx, to, r); err != nil {
		return err
	}
	return f.sync([]string{to})
}

// list yields the regular files below a prefix.
func (f *folder) list(ctx context.Context, prefix string) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		root := f.path(prefix)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			rel, err := filepath.Rel(f.dir, path)
			name := filepath.ToSlash(rel)
			switch {
			case err != nil:
				return err
			case d.IsDir() && name+"/" == stagingFolder:
				return fs.SkipDir
			case !d.Type().IsRegular() || name == lockName:
				return nil
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && !yield(object{name: name, bytes: info.Size(), at: info.ModTime()}, nil) {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			yield(object{}, f.failed(ctx, prefix, err))
		}
	}
}

func (f *folder) remove(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := disk.RemoveIfThere(f.path(name)); err != nil {
			return f.failed(ctx, name, err)
		}
		// Remove folders that are now empty, except f.dir itself.
		dir := filepath.Dir(f.path(name))
		for strings.HasPrefix(dir, f.dir+string(os.PathSeparator)) && disk.Remove(dir) == nil {
			dir = filepath.Dir(dir)
		}
	}
	return nil
}

func (f *folder) sync(names []string) error {
	dirs := map[string]bool{}
	for _, name := range names {
		path := f.path(name)
		if err := disk.SyncFile(path); err != nil {
			return f.failed(context.Background(), name, err)
		}
		dirs[filepath.Dir(path)] = true
	}
	return disk.SyncNames(f.dir, dirs)
}

// lock excludes other pushes to the folder.
func (f *folder) lock(ctx context.Context, wait time.Duration) (unlock func() error, err error) {
	if err := disk.MakeDirs(f.dir); err != nil {
		return nil, f.failed(ctx, "", err)
	}
	path := filepath.Join(f.dir, lockName)
	l, err := disk.WaitForLock(ctx, path, wait)
	if errors.Is(err, durable.ErrLocked) {
		err = fmt.Errorf("another push to %s is active: %w", f.address, err)
	}
	if err != nil {
		return nil, err
	}
	// Staged files are from a push that died.
	if err := disk.RemoveTree(filepath.Join(f.dir, stagingFolder)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l.Close, nil
}
