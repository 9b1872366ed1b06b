package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/nearest"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/queries"
	"spendsync/schema"
)

// allViews are the views and macros that the next sync publishes; those of the
// warehouse differ only if another version made it.
func allViews() []queries.Query {
	views, err := queries.Views(nil)
	if err != nil {
		panic(err) // the defaults are ours
	}
	slices.SortStableFunc(views, func(x, y queries.Query) int {
		return cmp.Or(-cmp.Compare(x.Schema, y.Schema), cmp.Compare(x.Name, y.Name))
	})
	return views
}

// Names are what query takes as a name, asks first.
func Names() []string {
	var names []string
	for _, q := range queries.Asks() {
		names = append(names, q.Name)
	}
	for _, v := range allViews() {
		names = append(names, v.Schema+"."+v.Name)
	}
	return names
}

// find takes an ask by its name, and a view or macro by its name with or
// without the schema.
func find(name string) (queries.Query, error) {
	if q, err := queries.Find(name); err == nil {
		return q, nil
	}
	for _, v := range allViews() {
		if name == v.Name || name == v.Schema+"."+v.Name {
			return v, nil
		}
	}
	if slices.ContainsFunc(schema.Tables, func(t *schema.Table) bool { return t.FullName() == name }) {
		return queries.Query{}, exit.Usagef("%s is a table, not a question; ask -c \"FROM %s\"", name, name)
	}
	if hint := nearest.DidYouMean(name, Names()); hint != "" {
		return queries.Query{}, exit.Usagef("there is no question %q%s 'spendsync query' lists them", name, hint)
	}
	return queries.Query{}, exit.Usagef("there is no question %q; there are %s", name, strings.Join(Names(), ", "))
}

// Listed is a question as programs read it.
type Listed struct {
	Name       string  `json:"name"`
	Question   string  `json:"question"`
	Trap       string  `json:"trap"`
	Parameters []Param `json:"parameters,omitempty"`
}

// Param is a parameter of a question.
type Param struct {
	Name    string  `json:"name"`
	Default *string `json:"default"` // null: it must be given
	Meaning string  `json:"meaning,omitempty"`
}

// Listing is all that can be asked by name.
type Listing struct {
	Asks   []Listed `json:"asks"`
	Views  []Listed `json:"views"`
	Macros []Listed `json:"macros"`
}

// List returns all named questions.
func List() Listing {
	var all Listing
	for _, q := range queries.Asks() {
		l := Listed{Name: q.Name, Question: q.Question, Trap: q.Trap}
		for _, p := range q.Params {
			l.Parameters = append(l.Parameters, Param{p.Name, &p.Default, p.Doc})
		}
		all.Asks = append(all.Asks, l)
	}
	for _, v := range allViews() {
		l := Listed{Name: v.Schema + "." + v.Name, Question: v.Question, Trap: v.Trap}
		if v.Parameters == "" {
			all.Views = append(all.Views, l)
			continue
		}
		for name := range strings.SplitSeq(v.Parameters, ",") {
			l.Parameters = append(l.Parameters, Param{Name: strings.TrimSpace(name)})
		}
		all.Macros = append(all.Macros, l)
	}
	return all
}

// Text is the list for a person: the ready questions, and on request the views and macros.
func (all Listing) Text(everything bool) string {
	var b strings.Builder
	for i, group := range []struct {
		title string
		list  []Listed
	}{{"Ready questions", all.Asks}, {"Views", all.Views}, {"Macros, which need their parameters", all.Macros}} {
		if i > 0 && !everything {
			fmt.Fprintf(&b, "\nand %s and %s: --all\n", phrase.Count(len(all.Views), "view"),
				phrase.Count(len(all.Macros), "macro"))
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:\n", group.title)
		for _, q := range group.list {
			fmt.Fprintf(&b, "  %-32s %s\n", q.Name, q.Question)
			for _, p := range q.Parameters {
				if p.Default == nil {
					fmt.Fprintf(&b, "  %-32s   --param %s=...\n", "", p.Name)
				} else {
					fmt.Fprintf(&b, "  %-32s   --param %s=%s  %s\n", "", p.Name, *p.Default, p.Meaning)
				}
			}
		}
	}
	b.WriteString("\nAsk one with 'spendsync query NAME', or anything with 'spendsync query -c SQL'; 'spendsync " +
		"tables' has the columns.\n")
	return b.String()
}
