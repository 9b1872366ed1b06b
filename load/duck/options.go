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
	Views       []View       // of the file
	Disk        durable.Disk // of a file that is built; reading needs none
	Dir         string       // all that DuckDB may reach while it builds or checks
	TempDir     string       // the folder for data that exceeds memory; empty: next to the file

	keepOrder bool   // answers keep the order they were asked in
	attach    string // a file to open read-only before the engine is locked
	unlocked  bool   // the engine may get more memory or threads later
}

// View is one view to be made in the DuckDB file, or a table macro if it has
// parameters.
type View struct {
	Schema, Name, SQL string
	Doc               string            // the comment on a view
	Columns           map[string]string // comments on columns; a view need not have all of them
	Parameters        string            // of a macro, comma-joined
	Stored            bool              // its rows are in a table of its name, which [Warehouse.Store] fills
	ByDay             bool              // of a stored one: the rows of a day follow from that day's in main.spend_daily
	// Key is of a stored one: the rows of a key of these columns follow from those of main.spend_daily
	// that have it, and from which days are known whole.
	Key       []string
	WholeDays bool // days that are not known whole have no part in its rows
}

// HasView reports whether the options contain a view of schema mart.
func (o Options) HasView(name string) bool {
	return slices.ContainsFunc(o.Views, func(v View) bool { return v.Schema == "mart" && v.Name == name })
}

// OfWholeDays reports whether a view of schema mart ignores days that are not complete.
func (o Options) OfWholeDays(name string) bool {
	return slices.ContainsFunc(o.Views, func(v View) bool { return v.WholeDays && v.Schema+"."+v.Name == "mart."+name })
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
