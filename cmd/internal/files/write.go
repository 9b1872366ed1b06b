package files

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

// CheckFile refuses a path that no file could be written to, or that is not
// [CheckReplaceable]. The name is that of the flag that holds it, for the message.
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

// CheckReplaceable refuses a path whose file must stay: everything within the store's folder, a
// link, a device, a pipe, a folder. The name is that of the variable or flag, for the message.
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

// CheckMetrics refuses a file of metrics that is not [CheckReplaceable], or that holds something else than metrics: a
// key would be replaced by them.
func CheckMetrics(name, path, dataDir string) error {
	if strings.ContainsRune(path, 0) {
		return exit.Usagef("%s holds a NUL", name)
	}
	if err := CheckReplaceable(name, path, dataDir); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil // what nobody may read holds nothing of ours, and is replaced or not by its folder's permissions
	}
	defer f.Close()
	begins := make([]byte, len("# HELP"))
	if n, _ := io.ReadFull(f, begins); n > 0 && string(begins[:n]) != "# HELP" {
		return exit.Usagef("%s %s holds something else than metrics, and would be replaced; name another file", name,
			path)
	}
	return nil
}

// isWithin compares the paths as they are written, for a folder that does not exist
// yet, and with their links followed.
func isWithin(dir, path string) bool {
	parent := filepath.Dir(path)
	for _, follow := range []func(string) (string, error){filepath.Abs, resolve} {
		d, errDir := follow(dir)
		p, errParent := follow(parent)
		if errDir != nil || errParent != nil {
			continue
		}
		if below, err := filepath.Rel(d, p); err == nil && filepath.IsLocal(below) {
			return true
		}
	}
	return false
}

// resolve is a path from the root on, without links.
func resolve(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// CheckTempDir refuses a TMPDIR that is not a folder. One that does not exist, or that
// cannot be written to, matters only to an answer that is larger than the memory limit.
func CheckTempDir() error {
	dir := os.TempDir()
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return exit.Usagef("TMPDIR=%s is not a folder: what an answer needs beyond the memory limit is put there; "+
			"set TMPDIR to a folder that can be written to, or unset it", dir)
	}
	return nil
}

// draftOf is where a file is written before it is renamed.
func draftOf(path string) string {
	return filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.tmp", filepath.Base(path), os.Getpid()))
}

// WriteFile writes a file aside and renames it into place: it is there whole or
// as it was before.
func WriteFile(path string, write func(io.Writer) error) error {
	aside := draftOf(path)
	// What lies there may be left of a process that died; a link there must not be followed.
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unwritable(path, err)
	}
	f, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return unwritable(path, err)
	}
	defer os.Remove(aside)
	if err := write(f); err != nil {
		f.Close()
		return durable.Storage(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return durable.Storage(err)
	}
	return unwritable(path, os.Rename(aside, path))
}

// unwritable is an error of the folder of a file that somebody named.
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

// WriteNew writes a file that only its owner can read. It replaces no file.
func WriteNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
