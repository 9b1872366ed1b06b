package load

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A file on its way into the store. Its name ends in .staged, so that no reader
// who globs for *.parquet ever meets a file that is not whole.
const stagedSuffix = ".staged"

// stagedFile hashes and counts what passes through to the disk.
type stagedFile struct {
	f    *os.File
	hash hash.Hash
	size int64
}

// createStaged creates the file with its folders. It must not exist yet.
func createStaged(path string) (*stagedFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, storage(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, storage(err)
	}
	return &stagedFile{f: f, hash: sha256.New()}, nil
}

func (s *stagedFile) Write(p []byte) (int, error) {
	n, err := s.f.Write(p)
	s.hash.Write(p[:n])
	s.size += int64(n)
	return n, storage(err)
}

// Finish makes the content durable and closes the file. Only its name may still
// be lost: that takes a sync of its folder, which the commit does.
func (s *stagedFile) Finish() (sha string, size int64, err error) {
	if err := s.f.Sync(); err != nil {
		s.f.Close()
		return "", 0, storage(err)
	}
	if err := s.f.Close(); err != nil {
		return "", 0, storage(err)
	}
	return hex.EncodeToString(s.hash.Sum(nil)), s.size, nil
}

// Abort closes and removes the file.
func (s *stagedFile) Abort() {
	s.f.Close()
	os.Remove(s.f.Name())
}

// writeStaged writes a whole file durably.
func writeStaged(path string, content []byte) (sha string, size int64, err error) {
	f, err := createStaged(path)
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
func hashFile(path string) (sha string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, storage(err)
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return "", 0, storage(err)
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}

// copyStaged copies a file and returns the hash of what it read, so that the
// caller learns in the same pass whether the source was what it should be. It
// does not sync: the copy is a draft that will be written to.
func copyStaged(ctx context.Context, from, to string) (sha string, size int64, err error) {
	src, err := os.Open(from)
	if err != nil {
		return "", 0, storage(err)
	}
	defer src.Close()
	dst, err := createStaged(to)
	if err != nil {
		return "", 0, err
	}
	if _, err := io.CopyBuffer(dst, stoppable{ctx, src}, make([]byte, 1<<20)); err != nil {
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
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return storage(err)
	}
	return storage(errors.Join(f.Sync(), f.Close()))
}

// syncDir makes the names in a folder durable: without it a crash can undo a
// rename.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return storage(err)
	}
	return storage(errors.Join(d.Sync(), d.Close()))
}

// makeDirs makes a folder below root durably: every new name is synced in the
// folder that holds it.
func makeDirs(root, dir string) error {
	if dir == root {
		return nil
	}
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := makeDirs(root, parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return storage(err)
	}
	return syncDir(parent)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// removeIfThere removes a file; one that is already gone is as good.
func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return storage(err)
	}
	return nil
}
