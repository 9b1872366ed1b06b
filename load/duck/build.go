package duck

import (
	"context"
	"slices"
	"sync"
)

// Build applies the loads to the tables of the DuckDB file at path. If empty is true, Build creates the file first. The
// file stays open for the models and further loads: [Warehouse.Finish] closes the file, and [Warehouse.Stop] ends the
// engine in any case.
func Build(ctx context.Context, path string, empty bool, loads []ReplacePartition, o Options) (w *Warehouse,
	err error) {
	if empty {
		if err = makeBlank(ctx, path, o); err != nil {
			return nil, err
		}
	}
	if w, err = Open(ctx, path, o); err != nil {
		return nil, err
	}
	w.empty = empty
	// Rows that are computed from other rows are inserted in a second transaction: reading uncommitted rows takes more
	// memory.
	for _, follow := range []bool{false, true} {
		if err == nil {
			err = w.Load(ctx, slices.DeleteFunc(slices.Clone(loads), func(l ReplacePartition) bool {
				return (l.Query != "") != follow
			}))
		}
	}
	if err != nil {
		return nil, w.Stop(err)
	}
	w.empty = false
	return w, nil
}

// blank caches the bytes of the file from [makeBlank]. Creating such a file takes longer than filling it with the rows
// of a small account, and the tests need a thousand such files.
var blank sync.Map // "" -> []byte

// makeBlank creates a DuckDB file with all tables and no rows.
func makeBlank(ctx context.Context, path string, o Options) error {
	if made, ok := blank.Load(""); ok {
		_, _, err := o.Disk.WriteFile(path, made.([]byte))
		return err
	}
	w, err := create(ctx, path, o)
	if err != nil {
		return err
	}
	if err := w.Stop(w.Exec(ctx, "CHECKPOINT w", "USE memory", "DETACH w")); err != nil {
		return err
	}
	made, err := o.Disk.ReadFile(path, maxBlank)
	if err == nil {
		blank.Store("", made)
	}
	return err
}

// maxBlank bounds the size of a file without rows, which is below 1 MB.
const maxBlank = 64 << 20

// Load replaces partitions in one transaction.
func (w *Warehouse) Load(ctx context.Context, loads []ReplacePartition) error {
	var statements []string
	for _, l := range loads {
		statements = append(statements, l.Statements(w.empty)...)
	}
	return w.WithMemory(ctx, func() error { return execTogether(ctx, w.conn, statements) })
}
