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
	// fullMemory is the memory limit to use after DuckDB runs out of memory. It is empty if that limit is in use
	// already.
	fullMemory string
	// mayLackDisk means that the disk may lack space for temporary files, so a disk error also leads to another attempt
	// with more memory.
	mayLackDisk bool
	empty       bool // whether the tables have no rows yet
}

// WithMemory calls a function, and calls it again with the full memory limit if DuckDB ran out of memory, or if the
// disk failed and mayLackDisk is set. A failed call of the function must have no effect.
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

// CheckDir refuses a folder with a question mark in its path. DuckDB takes the rest of such a path for options and
// looks for its log in another folder.
func CheckDir(dir string) error {
	if strings.Contains(dir, "?") {
		return fmt.Errorf("%s: DuckDB cannot write in a folder with a question mark in its path; choose another "+
			"SPENDSYNC_DATA_DIR: %w", dir, durable.ErrStorage)
	}
	return nil
}

// blockSize is the block size of new files. With DuckDB's default of 256 KiB many blocks are nearly empty: a file is a
// quarter larger, and a generation with few changes writes twice as much. With 32 KiB the dictionaries of texts do not
// pay off, and a file is three times as large.
const blockSize = 64 << 10

// withoutLog attaches a file without a write-ahead log. That is safe because the file is staged: if the process dies,
// the file is discarded.
const withoutLog = "RECOVERY_MODE no_wal_writes"

// create creates the file at path with all tables. It sets the storage version, because in older versions the
// statistics of each column take 3 KB. In a file of 300,000 rows that is a fifth, which every opening reads and every
// publication copies.
func create(ctx context.Context, path string, o Options) (*Warehouse, error) {
	w, err := open(ctx, path, o, fmt.Sprintf("BLOCK_SIZE %d, STORAGE_VERSION 'v1.2.0', %s", blockSize, withoutLog))
	if err != nil {
		return nil, err
	}
	if err := w.makeTables(ctx); err != nil {
		return nil, w.Stop(err)
	}
	return w, nil
}

// Open opens the file at path for writing. The engine can reach the files below the options' directory.
func Open(ctx context.Context, path string, o Options) (*Warehouse, error) {
	return open(ctx, path, o, withoutLog)
}

func open(ctx context.Context, path string, o Options, attachOptions string) (*Warehouse, error) {
	w, err := start(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if err := w.Exec(ctx, "ATTACH "+schema.QuoteText(path)+" AS w ("+attachOptions+")", "USE w"); err != nil {
		return nil, w.Stop(err)
	}
	return w, nil
}

// OpenPublished opens a finished file read-only. The disk may be too full for temporary files, so
// [Warehouse.WithMemory] will also retry after errors of the disk.
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

// start starts the engine for the file at path. It does not attach the file.
func start(ctx context.Context, path string, o Options) (*Warehouse, error) {
	full := o.Memory
	// Start with the final limit, because a limit cannot be raised to DuckDB's own choice later.
	if full == "" || o.FirstMemory == "" {
		full, o.FirstMemory = "", full
	}
	o.Memory, o.unlocked, o.writes = o.FirstMemory, o.unlocked || full != "", true
	conn, end, err := openEngine(ctx, o, o.Dir, cmp.Or(o.TempDir, path+".tmp"))
	if err != nil {
		return nil, err
	}
	return &Warehouse{path: path, conn: conn, end: end, disk: o.Disk, fullMemory: full}, nil
}

// Attach attaches the finished file read-only.
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

// Stop ends the engine. If that fails, it joins the error to the given one.
func (w *Warehouse) Stop(outcome error) error { return errors.Join(outcome, w.end()) }

// Finish makes a checkpoint, detaches the file and makes the file durable. Nothing is left in a write-ahead log.
func (w *Warehouse) Finish(ctx context.Context) error {
	// A checkpoint that ran out of memory cannot be repeated.
	if err := w.useFullMemory(ctx); err != nil {
		return err
	}
	if err := execAll(ctx, w.conn, []string{"CHECKPOINT w", "USE memory", "DETACH w"}); err != nil {
		return err
	}
	// A successful DETACH proves nothing. The absence of the log proves that the file is complete.
	left, err := w.disk.Exists(w.path + ".wal")
	if err != nil {
		return err
	}
	if left {
		return fmt.Errorf("duckdb left a write-ahead log beside %s: %w", filepath.Base(w.path), durable.ErrStorage)
	}
	return w.disk.SyncFile(w.path)
}
