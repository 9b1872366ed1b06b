package duck

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"spendsync/load/durable"
)

// Options limit what DuckDB may use and name the views of the file.
type Options struct {
	Memory string // DuckDB's memory limit (example: "512MiB"); empty: DuckDB's own choice
	// FirstMemory is the limit with which building and checking start. They take Memory if it
	// is too little, or at once if FirstMemory is empty.
	FirstMemory string
	Threads     int          // 0: one per processor
	Views       []View       // the models and macros of the file, each after those that it reads
	Disk        durable.Disk // of a file that is built; reading needs none
	Dir         string       // all that DuckDB may reach while it builds or checks
	TempDir     string       // the folder for data that exceeds memory; empty: next to the file

	keepOrder bool   // answers keep the order they were asked in
	attach    string // a file to open read-only before the engine is locked
	maxSpill  string // bounds what exceeds memory, as Memory; empty: the disk does
	unlocked  bool   // the engine may get more memory or threads later
	writes    bool   // the engine writes a file or checks one
}

// View is one model to be made in the DuckDB file, a table or a view, or a macro if it has parameters.
type View struct {
	Schema, Name, SQL string
	Doc               string            // the comment on a view
	Columns           map[string]string // comments on columns; a view need not have all of them
	Parameters        string            // of a macro, comma-joined
	IsValue           bool              // of a macro: a function with one value, not a table
	IsTable           bool              // its rows are made at publication; else it is a view or a macro
	ByMonth           bool              // of a table: the rows of a month follow from the days of that month
	Reads             []string          // the tables and models that the SQL names
}

// ViewsDefinition returns a hash of the definitions of all views. It differs between
// releases and between sets of thresholds, whose views return different rows.
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
		add("") // no view is without a statement, nor a statement empty
	}
	return hex.EncodeToString(h.Sum(nil))
}
