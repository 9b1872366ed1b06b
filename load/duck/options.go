package duck

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"spendsync/load/durable"
)

// Options contain limits of what DuckDB may use, and the views of the file.
type Options struct {
	Memory string // DuckDB's memory limit (example: "512MiB"); if empty, DuckDB chooses a limit
	// FirstMemory is the memory limit with which building and checking start. If FirstMemory is empty, or turns out to
	// be too small, Memory applies.
	FirstMemory string
	Threads     int          // if 0, one per processor
	Views       []View       // the models and macros, each after the models that it reads
	Disk        durable.Disk // for building a file; not needed for reading
	Dir         string       // the only folder that DuckDB may reach while it builds or checks
	TempDir     string       // the folder for data that exceeds memory; if empty, next to the file

	keepOrder bool   // whether to preserve the order of rows, which only results need
	attach    string // path of a file to open read-only before the configuration is locked
	maxSpill  string // limit for data in TempDir, written like Memory; if empty, no limit
	unlocked  bool   // whether memory or threads may be raised later, so the configuration is not locked
	writes    bool   // whether the engine is for writing a file, or for checking a written one
}

// View is one model in the DuckDB file: a table or a view, or a macro if it has parameters.
type View struct {
	Schema, Name, SQL string
	Doc               string            // the comment on a view
	Columns           map[string]string // comments on columns, possibly not on all
	Parameters        string            // names of a macro's parameters, comma-joined
	IsValue           bool              // whether the macro returns a single value instead of a table
	IsTable           bool              // whether the model is a table, computed at publication, and not a view
	ByMonth           bool              // whether the rows of a month depend only on the days of that month
	Reads             []string          // tables and models that occur in the SQL
}

// ViewsDefinition returns a hash of the definitions of all views. The hash differs between releases, and between sets
// of thresholds.
func (o Options) ViewsDefinition() string {
	h := sha256.New()
	add := func(texts ...string) {
		for _, t := range texts {
			fmt.Fprintf(h, "%d %s\n", len(t), t)
		}
	}
	for _, v := range o.Views {
		add(v.createSQL()...)
		add(v.Doc, v.Parameters)
		for _, name := range slices.Sorted(maps.Keys(v.Columns)) {
			add(name, v.Columns[name])
		}
		add("") // marks the end of a view: no statement is empty
	}
	return hex.EncodeToString(h.Sum(nil))
}
