package payouts

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// trackersCSV has a line for each form of a tracker's export, with its headings. Headings of one column have + between
// them; a campaign and a source are custom variables of the operator's.
//
//go:embed trackers.csv
var trackersCSV string

// trackerColumns are ours, in the order of [trackersCSV].
var trackerColumns = []string{"day", "clicks", "conversions", "approved", "held", "refused", "revenue"}

// suggest returns the variable that declares the heading of a known tracker, and what to know of that tracker; empty:
// none is known, or nothing is wrong.
func (r *reader) suggest(ctx context.Context, t *table, wrong error) (variable, remark string) {
	if wrong == nil || !t.isExport {
		return "", ""
	}
	best := 0
	for _, line := range linesOf(trackersCSV) {
		var items []string
		fits := true
		for i, headings := range line[1 : len(line)-1] {
			for want := range strings.SplitSeq(headings, "+") {
				at := slices.IndexFunc(t.names, func(name string) bool { return squash(name) == squash(want) })
				if fits = fits && (want == "" || at >= 0); fits && want != "" {
					items = append(items, item(trackerColumns[i], t.names[at]))
				}
			}
		}
		if fits && len(items) > best {
			best, remark = len(items), strings.TrimSuffix(line[0]+": "+line[len(line)-1], ": ")
			items = slices.Insert(items, 1,
				item("campaign", cmp.Or(r.column(ctx, t, "campaign"), "CAMPAIGN ID'S COLUMN")),
				item("source", cmp.Or(r.column(ctx, t, "source"), "SOURCE ID'S COLUMN")))
			variable = Variable + "=" + strings.Join(items, ",")
		}
	}
	return variable, remark
}

// column returns the column that has most IDs of the account of a kind in the first rows; empty: none has.
func (r *reader) column(ctx context.Context, t *table, kind string) (name string) {
	n, best := make([]int, len(t.names)), 0
	known, _ := r.texts(ctx, "SELECT id FROM known WHERE kind = '"+kind+"' ORDER BY id")
	for is, err := range t.records {
		if err != nil || is.line > t.line+sampled {
			break
		}
		for i := range min(len(n), len(is.cells)) {
			if _, isKnown := slices.BinarySearch(known, strings.TrimSpace(is.cells[i])); isKnown {
				n[i]++
			}
			if n[i] > best {
				best, name = n[i], t.names[i]
			}
		}
	}
	return name
}

// seems returns why a column has no ID of the account, and the column that has.
func (r *reader) seems(ctx context.Context, t *table, kind string) string {
	is := t.list(t.at[kind])
	if best := r.column(ctx, t, kind); best != "" && best != t.names[t.at[kind][0]] {
		return fmt.Sprintf("column %q has %ss of this account, and %s has not: declare %s in %s", best, kind, is,
			item(kind, best), Variable)
	}
	return fmt.Sprintf("%s seems to be the tracker's own: pass the service's %s ID to the tracker as a custom "+
		"variable, and declare its column in %s", is, kind, Variable)
}
