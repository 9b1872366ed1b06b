package duck

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"spendsync/load/durable"
)

// Options say what DuckDB may use, and what it is to find.
type Options struct {
	Memory string // the most that DuckDB may take, such as "512MiB"; empty: DuckDB's own choice
	// FirstMemory is what building and checking try with before they take Memory; empty:
	// they take it at once.
	FirstMemory string
	Threads     int          // 0: one per processor
	Views       []View       // of the file
	Blanks      *Blanks      // of a process that builds many files; nil: none
	Disk        durable.Disk // of a file that is built; reading needs none
	Dir         string       // all that DuckDB may reach while it builds or checks
	TempDir     string       // where it puts what memory has no room for; empty: beside the file

	keepOrder bool   // answers keep the order they were asked in
	blockSize int    // of a file that is made; 0: [blockSize]
	attach    string // a file to open read-only before the engine is locked
	unlocked  bool   // the engine may be given more memory or threads than it begins with
}

// Blanks remembers DuckDB files that have every table, view and comment and no
// row. Making one takes longer than filling a small warehouse, since DuckDB copies
// a whole view for each comment on a column of it. A process that makes many small
// warehouses from nothing keeps one Blanks for all of them; the zero value is ready.
type Blanks struct {
	Dir string // where the files are kept for other processes, too; empty: in memory

	mu    sync.Mutex
	files map[string][]byte // by what defines the views
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

// HasView says whether the file is to have a view of schema mart.
func (o Options) HasView(name string) bool {
	return slices.ContainsFunc(o.Views, func(v View) bool { return v.Schema == "mart" && v.Name == name })
}

// OfWholeDays says whether days that are not known whole have no part in a view of schema mart.
func (o Options) OfWholeDays(name string) bool {
	return slices.ContainsFunc(o.Views, func(v View) bool { return v.WholeDays && v.Schema+"."+v.Name == "mart."+name })
}

// namedBy is how a view names what it asks.
var namedBy = regexp.MustCompile(`\b(?:main|mart|ops)\.[a-z_0-9]+`)

// TablesBehind are the names of the tables that a view asks, by way of other views
// too.
func (o Options) TablesBehind(view string) map[string]bool {
	tables, seen := map[string]bool{}, map[string]bool{}
	var follow func(name string)
	follow = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		_, table, _ := strings.Cut(name, ".")
		tables[table] = true // a view's name among them does no harm
		for _, v := range o.Views {
			if v.Schema+"."+v.Name == name {
				for _, next := range namedBy.FindAllString(v.SQL, -1) {
					follow(next)
				}
			}
		}
	}
	follow(view)
	return tables
}

// ViewsDefinition is a hash that differs between the views of two releases, or of two sets
// of thresholds: they give other rows.
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
