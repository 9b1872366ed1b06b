package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"spendsync/cmd/internal/exit"
	"spendsync/load/durable"
)

// MaxSecret is the maximum size in bytes of a file that holds a secret. Every key, password, token and bundle of
// certificates is smaller.
const MaxSecret = 1 << 20

// OpenFile opens a regular file of at most limit bytes for reading. It follows links, because Kubernetes mounts secrets
// as links.
func OpenFile(path string, limit int64) (*os.File, error) {
	// Without O_NONBLOCK, opening a pipe waits for its writer.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file: a device, a pipe or a folder is not read", path)
	case info.Size() > limit:
		err = fmt.Errorf("%s has %d bytes; this file may have at most %d", path, info.Size(), limit)
	default:
		return f, nil
	}
	f.Close()
	return nil, err
}

// ReadFile reads a regular file of at most limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := OpenFile(path, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit)) // a limit, because the file may have grown since it was opened
}

// CheckFile refuses a path for writing if its folder does not exist, or if [CheckReplaceable] refuses it. The first
// parameter is the flag that gave the path, for messages.
func CheckFile(name, path, dataDir string) error {
	if path == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return exit.Usagef("%s %s: %v", name, path, err)
	}
	if err := CheckReplaceable(name, path, dataDir); err != nil {
		return exit.Usagef("%v; choose another file, or write to stdout", err)
	}
	return nil
}

// CheckReplaceable refuses a path that must not be replaced: anything within the store's folder, a link, a device, a
// pipe, a folder. The first parameter is the variable or flag that gave the path, for messages.
func CheckReplaceable(name, path, dataDir string) error {
	if isWithin(dataDir, path) {
		return exit.Usagef("%s %s: that is within %s, where only spendsync's own files are", name, path, dataDir)
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return exit.Usagef("%s %s is a link, which would be replaced; name the file itself", name, path)
	case err == nil && !info.Mode().IsRegular():
		return exit.Usagef("%s %s is not a regular file, and nothing else is replaced", name, path)
	}
	return nil
}

// CheckMetrics refuses a metrics file if [CheckReplaceable] refuses its path, or if the file contains something other
// than metrics, for example a key.
func CheckMetrics(name, path, dataDir string) error {
	if strings.ContainsRune(path, 0) {
		return exit.Usagef("%s holds a NUL", name)
	}
	if err := CheckReplaceable(name, path, dataDir); err != nil {
		return err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return exit.Usagef("%s %s cannot be read, and would be replaced; name another file: %v", name, path, err)
	}
	defer f.Close()
	begins := make([]byte, len("# HELP"))
	if n, _ := io.ReadFull(f, begins); n > 0 && string(begins[:n]) != "# HELP" {
		return exit.Usagef("%s %s holds something else than metrics, and would be replaced; name another file", name,
			path)
	}
	return nil
}

// isWithin reports whether a path is below a folder. It resolves links in the folder and in the path's own folder, if
// these exist.
func isWithin(dir, path string) bool {
	resolve := func(path string) string {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		full, _ := filepath.Abs(path)
		return full
	}
	below, err := filepath.Rel(resolve(dir), resolve(filepath.Dir(path)))
	return err == nil && filepath.IsLocal(below)
}

// draftOf returns the name that a file has while it is written.
func draftOf(path string) string {
	return filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.tmp", filepath.Base(path), os.Getpid()))
}

// WriteFile writes a temporary file and renames it into place, so that the file is complete or unchanged.
func WriteFile(path string, write func(io.Writer) error) error { return writeFile(path, 0o666, write) }

// WriteSecret writes a text as [WriteFile] does, readable by its owner only.
func WriteSecret(path, text string) error {
	return writeFile(path, 0o600, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}

func writeFile(path string, perm fs.FileMode, write func(io.Writer) error) error {
	aside := draftOf(path)
	// A process that died may have left this file. Remove it, because O_EXCL below refuses an existing file or link.
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritable(path, err)
	}
	f, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return unwritable(path, err)
	}
	defer os.Remove(aside)
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return durable.Storage(err)
	}
	return unwritable(path, os.Rename(aside, path))
}

// unwritable describes why a file that the user named could not be written, and adds advice if another folder would
// help.
func unwritable(path string, err error) error {
	if err == nil {
		return nil
	}
	named := durable.Storage(fmt.Errorf("%s cannot be written: %w", path, err))
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR) {
		return exit.Advise(named, "name a file in a folder that can be written to")
	}
	return named
}

// LimitUmask denies the group and others write access to the new files of this process, DuckDB's included, whatever
// umask the process inherited.
func LimitUmask() { syscall.Umask(syscall.Umask(0o777) | 0o022) }
