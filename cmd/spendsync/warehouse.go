package main

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// warehouseErr explains why the DuckDB file of a folder cannot be opened: the folder is a file, or a published store
// has lost its DuckDB file. Other errors are returned unchanged.
func warehouseErr(err error, dir string) error {
	if err == nil {
		return nil
	}
	if unknown := (*duck.AccountError)(nil); errors.As(err, &unknown) {
		return exit.Usagef("--account: %s", cli.Visible(unknown.Error()))
	}
	if info, statErr := os.Stat(dir); statErr == nil && !info.IsDir() {
		return durable.Storage(&fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR})
	}
	if !errors.Is(err, durable.ErrEmpty) {
		return err
	}
	switch _, rootErr := manifest.ReadRoot(durable.OS, dir, nil); {
	case rootErr == nil:
		return durable.Damaged(duck.FileName, durable.RepairRebuild, "it is missing from a published store")
	case errors.Is(rootErr, durable.ErrEmpty):
		return err
	default:
		return rootErr
	}
}
