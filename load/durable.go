package load

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
	"syscall"
)

// A file on its way into the store. Its name ends in .staged, so that no reader
// who globs for *.parquet ever meets a file that is not whole.
const stagedSuffix = ".staged"

// stagedFile hashes and counts what passes through to the disk.
type stagedFile struct {
	disk disk
	path string
	f    file
	hash hash.Hash
	size int64
}

// createStaged creates the file, in a folder that is there.
func (d disk) createStaged(path string) (*stagedFile, error) {
	f, err := d.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, storage(err)
	}
	return &stagedFile{disk: d, path: path, f: f, hash: sha256.New()}, nil
}

func (s *stagedFile) Write(p []byte) (int, error) {
	n, err := s.f.Write(p)
	s.hash.Write(p[:n])
	s.size += int64(n)
	return n, storage(err)
}

// Finish makes the content durable and closes the file. Only its name may still
// be lost: that takes a sync of its folder, which the commit does. What could not
// be synced is given up: a second sync would report success and prove nothing.
func (s *stagedFile) Finish() (sha string, size int64, err error) {
	if err := s.f.Sync(); err != nil {
		s.Abort()
		return "", 0, storage(err)
	}
	if err := s.f.Close(); err != nil {
		return "", 0, storage(err)
	}
	return hex.EncodeToString(s.hash.Sum(nil)), s.size, nil
}

// Abort closes and removes the file. What does not go is removed with the staging
// area.
func (s *stagedFile) Abort() {
	s.f.Close()
	_ = s.disk.Remove(s.path)
}

// writeStaged writes a whole file durably.
func (d disk) writeStaged(path string, content []byte) (sha string, size int64, err error) {
	f, err := d.createStaged(path)
	if err != nil {
		return "", 0, err
	}
	if _, err := f.Write(content); err != nil {
		f.Abort()
		return "", 0, err
	}
	return f.Finish()
}

// hashFile reads a whole file.
func (d disk) hashFile(path string) (sha string, size int64, err error) {
	f, err := d.open(path)
	if err != nil {
		return "", 0, storage(err)
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, 1<<18))
	if err != nil {
		return "", 0, storage(err)
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}

// copyStaged copies a file and returns the hash of what it read, so that the
// caller learns in the same pass whether the source was what it should be. It
// does not sync: the copy is a draft that will be written to.
func (d disk) copyStaged(ctx context.Context, from, to string) (sha string, size int64, err error) {
	src, err := d.open(from)
	if err != nil {
		return "", 0, storage(err)
	}
	defer src.Close()
	dst, err := d.createStaged(to)
	if err != nil {
		return "", 0, err
	}
	if _, err := io.CopyBuffer(struct{ io.Writer }{dst}, stoppable{ctx, src}, make([]byte, 1<<20)); err != nil {
		dst.Abort()
		return "", 0, storage(err)
	}
	if err := dst.f.Close(); err != nil {
		return "", 0, storage(err)
	}
	return hex.EncodeToString(dst.hash.Sum(nil)), dst.size, nil
}

// stoppable is a file that cannot be read any more once the context has ended.
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

// syncFile makes a file's content durable after somebody else wrote it.
func (d disk) syncFile(path string) error {
	f, err := d.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return storage(err)
	}
	return storage(errors.Join(f.Sync(), f.Close()))
}

// syncDir makes the names in a folder durable: without it a crash can undo a
// rename.
func (d disk) syncDir(dir string) error {
	f, err := d.open(dir)
	if err != nil {
		return storage(err)
	}
	return storage(errors.Join(f.Sync(), f.Close()))
}

// syncAbove makes a folder's own name durable, and those of the folders above it:
// who made them may have died before he could. What we may not sync is not ours,
// and was there before us.
func (d disk) syncAbove(dir string) error {
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		err := d.syncDir(parent)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) && !errors.Is(err, syscall.EINVAL) {
			return err
		}
	}
	return nil
}

// makeDirs makes a folder with those above it. Their names are not durable yet:
// that takes [disk.syncNames], also for a folder that was there, for whoever made
// it may have died before he could sync.
func (d disk) makeDirs(dir string) error {
	if there, err := d.exists(dir); there || err != nil {
		return err
	}
	if err := d.makeDirs(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := d.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return storage(err)
	}
	return nil
}

// syncNames makes the names in the folders durable, and those of the folders
// themselves up to root.
func (d disk) syncNames(root string, dirs map[string]bool) error {
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
		if err := d.syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// exists is for those who only want to know whether there is something to read.
func exists(path string) bool {
	there, err := theDisk.exists(path)
	return there || err != nil
}
