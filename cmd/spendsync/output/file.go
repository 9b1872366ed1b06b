package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"spendsync/cmd/spendsync/exit"
)

// CheckFile refuses to write over what must stay: the store, a device.
func CheckFile(out, dataDir string) error {
	if out == "" {
		return nil
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(out))
	if err == nil {
		parent, err = filepath.Abs(parent)
	}
	if err != nil {
		return exit.Usagef("--out %s: %v", out, err)
	}
	if dir, err := filepath.EvalSymlinks(dataDir); err == nil {
		if below, err := filepath.Rel(dir, parent); err == nil && filepath.IsLocal(below) {
			return exit.Usagef("--out %s: that is within %s, where only spendsync's own files are", out, dataDir)
		}
	}
	info, err := os.Stat(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return exit.Usagef("--out %s: %v", out, err)
	case !info.Mode().IsRegular():
		return exit.Usagef("--out %s is no file that could be replaced; write to stdout", out)
	}
	return nil
}

// WriteFile writes a file aside and renames it into place: it is there whole or
// as it was before.
func WriteFile(path string, write func(io.Writer) error) error {
	aside := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.tmp", filepath.Base(path), os.Getpid()))
	f, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	defer os.Remove(aside)
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(aside, path)
}
