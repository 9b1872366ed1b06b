package duck

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"spendsync/load/durable"
	"spendsync/schema"
)

// Warehouse is a DuckDB file that is being written or checked. It is attached as w.
type Warehouse struct {
	path string
	conn *sql.Conn
	end  func() error
	disk durable.Disk
	// fullMemory is the memory limit that DuckDB has yet to receive; empty: it has it.
	fullMemory string
	// mayLackDisk means that the disk may have no room to spill to: then an error of the
	// disk is tried again with more memory.
	mayLackDisk bool
	empty       bool // it held no row when it was opened
}

// WithMemory calls do, and calls it again with the full memory limit if DuckDB ran out of memory. A failed call must
// have no effect.
func (w *Warehouse) WithMemory(ctx context.Context, do func() error) error {
	err := do()
	if w.fullMemory == "" || !IsOutOfMemory(err) && !(w.mayLackDisk && errors.Is(err, durable.ErrStorage)) {
		return err
	}
	if err := w.useFullMemory(ctx); err != nil {
		return err
	}
	return do()
}

// useFullMemory raises DuckDB's memory limit to the full one.
func (w *Warehouse) useFullMemory(ctx context.Context) error {
	if w.fullMemory == "" {
		return nil
	}
	q := "SET memory_limit = " + schema.QuoteText(w.fullMemory)
	w.fullMemory = ""
	return execAll(ctx, w.conn, []string{q})
}

// CheckDir refuses a folder in which DuckDB cannot write a file: it takes what follows a
// question mark for options, and looks for its log in another folder.
func CheckDir(dir string) error {
	if strings.Contains(dir, "?") {
		return fmt.Errorf("%s: DuckDB cannot write in a folder with a question mark in its path; choose another "+
			"SPENDSYNC_DATA_DIR: %w", dir, durable.ErrStorage)
	}
	return nil
}

// blockSize is the block size of new files. With DuckDB's default of 256 KiB many blocks are nearly empty:
// a file is a quarter larger, and a generation with few changes writes twice as much. With 32 KiB the
// dictionaries of texts no longer pay off, and a file is three times as large.
const blockSize = 64 << 10

// withoutLog attaches a file without a write-ahead log. The file is built aside: if the process dies, nobody reads it.
const withoutLog = "RECOVERY_MODE no_wal_writes"

// create makes the file at path, with every table. Before version 1.2 of DuckDB's storage, the
// statistics of a column took 3 KB, which each opening read and each publication copied: a
// fifth of a file of 300,000 rows.
func create(ctx context.Context, path string, o Options) (*Warehouse, error) {
	w, err := start(ctx, path, o)
	if err != nil {
		return nil, err
	}
	attach := fmt.Sprintf("ATTACH %s AS w (BLOCK_SIZE %d, STORAGE_VERSION 'v1.2.0', %s)",
		schema.QuoteText(path), blockSize, withoutLog)
	err = w.Exec(ctx, attach, "USE w")
	if err == nil {
		err = w.makeTables(ctx)
	}
	if err != nil {
		return nil, w.Stop(err)
	}
	return w, nil
}

// Open opens the file at path. The engine reaches the files below the directory of the
// options.
func Open(ctx context.Context, path string, o Options) (*Warehouse, error) {
	w, err := start(ctx, path, o)
	if err != nil {
		return nil, err
	}
	attach := fmt.Sprintf("ATTACH %s AS w (%s)", schema.QuoteText(path), withoutLog)
	if err := w.Exec(ctx, attach, "USE w"); err != nil {
		return nil, w.Stop(err)
	}
	return w, nil
}

// OpenPublished opens a finished file read-only. If its content does not fit into memory, the disk may have no room
// for it either: more memory is tried first.
func OpenPublished(ctx context.Context, path string, o Options) (*Warehouse, error) {
	w, err := start(ctx, path, o)
	if err != nil {
		return nil, err
	}
	w.mayLackDisk = true
	if err := w.WithMemory(ctx, func() error { return w.Attach(ctx) }); err != nil {
		return nil, w.Stop(err)
	}
	return w, nil
}

// start starts the engine for the file at path, and leaves it to be attached.
func start(ctx context.Context, path string, o Options) (*Warehouse, error) {
	full := o.Memory
	if full == "" || o.FirstMemory == "" { // a limit that DuckDB chose cannot be restored
		full, o.FirstMemory = "", full
	}
	o.Memory, o.unlocked, o.writes = o.FirstMemory, o.unlocked || full != "", true
	conn, end, err := openEngine(ctx, o, o.Dir, cmp.Or(o.TempDir, path+".tmp"))
	if err != nil {
		return nil, err
	}
	return &Warehouse{path: path, conn: conn, end: end, disk: o.Disk, fullMemory: full}, nil
}

// Attach opens the finished file read-only, in an engine with empty caches.
func (w *Warehouse) Attach(ctx context.Context) error {
	if err := execAll(ctx, w.conn, attachToRead(w.path)); err != nil {
		return unread(err, "it does not open")
	}
	return nil
}

// Exec runs statements in order and stops at the first error.
func (w *Warehouse) Exec(ctx context.Context, statements ...string) error {
	return execAll(ctx, w.conn, statements)
}

// Stop ends the engine, whatever the outcome was.
func (w *Warehouse) Stop(outcome error) error { return errors.Join(outcome, w.end()) }

// Finish closes the file: all of it is durable, with nothing left in a log. It is no longer
// attached.
func (w *Warehouse) Finish(ctx context.Context) error {
	// A checkpoint that fails cannot be done a second time.
	if err := w.useFullMemory(ctx); err != nil {
		return err
	}
	if err := execAll(ctx, w.conn, []string{"CHECKPOINT w", "USE memory", "DETACH w"}); err != nil {
		return err
	}
	// Closing proves nothing, an absent log does.
	left, err := w.disk.Exists(w.path + ".wal")
	if err != nil {
		return err
	}
	if left {
		return fmt.Errorf("duckdb left a write-ahead log beside %s: %w", filepath.Base(w.path), durable.ErrStorage)
	}
	return w.disk.SyncFile(w.path)
}
