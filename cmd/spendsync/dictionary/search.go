package dictionary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"spendsync/cmd/internal/wrap"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/schema"
)

// Found is a table, view or column that a search found.
type Found struct {
	Table  string `json:"table"`
	Column string `json:"column,omitempty"` // empty: the table itself
	Type   string `json:"type,omitempty"`
	Doc    string `json:"doc"`
}

// Search finds a word, in any case, in the names and descriptions of tables, views and columns. Names come
// before descriptions.
func Search(word string, docs []schema.TableDoc) (hits []Found) {
	word = strings.ToLower(word)
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), word) }
	for _, t := range docs {
		if has(t.Name) || has(t.Doc) {
			hits = append(hits, Found{Table: t.Name, Doc: t.Doc})
		}
		for _, c := range t.Columns {
			if has(c.Name) || has(c.Doc) {
				hits = append(hits, Found{t.Name, c.Name, c.Type, c.Doc})
			}
		}
	}
	rank := func(f Found) int {
		switch {
		case f.Column == "" && has(f.Table):
			return 0
		case f.Column != "" && has(f.Column):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(hits, func(a, b Found) int { return cmp.Compare(rank(a), rank(b)) })
	return hits
}

// SearchText lists for a person what a search found.
func SearchText(word string, hits []Found, width int) string {
	var b strings.Builder
	for _, f := range hits {
		name := f.Table
		if f.Column != "" {
			name += "." + f.Column
		}
		fmt.Fprintf(&b, "%s\n%s\n", name, wrap.Line("    "+f.Doc, width, "    "))
	}
	fmt.Fprintf(&b, "\n%s with %q.\n", phrase.Count(len(hits), "place"), phrase.Visible(word))
	return b.String()
}
