package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/internal/nearest"
	"spendsync/cmd/internal/wrap"
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
	names := slices.DeleteFunc(Names(), func(n string) bool { // the question of a name stands for its view
		_, short, isView := strings.Cut(n, ".")
		return isView && slices.Contains(Names(), short)
	})
	if hint := nearest.DidYouMean(name, names); hint != "" {
		return queries.Query{}, exit.Usagef("there is no question %q%s 'spendsync query' lists them", name, hint)
	}
	return queries.Query{}, exit.Advise(exit.Usagef("there is no question %q", name),
		"ask one of those that 'spendsync query' lists; --all lists the rest")
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
	Tables []Listed `json:"tables"` // views whose rows each sync stores
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
		if v.Stored {
			all.Tables = append(all.Tables, l)
			continue
		}
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

// mostAsked are the ready questions that are listed first, in the order in which a person needs them.
var mostAsked = []string{"which_campaigns_pay", "yesterday", "last_week", "month", "runway", "broken",
	"sources_to_block", "sources_to_scale", "tired_creatives", "campaigns_at_limit", "settings_changed", "findings",
	"spend_by_day", "coverage_gaps"}

// meaningColumn is where the meaning of a question begins.
const meaningColumn = 21

// Short is the list for a person: the questions most asked, a line each.
func (all Listing) Short(width int) string {
	var b strings.Builder
	for _, name := range mostAsked {
		i := slices.IndexFunc(all.Asks, func(q Listed) bool { return q.Name == name })
		b.WriteString(phrase.Entry(name, all.Asks[i].Question, meaningColumn, width))
	}
	return b.String() + "\n" + wrap.Line(fmt.Sprintf("Ask one: 'spendsync query NAME'. --all lists %d more questions, "+
		"%s and %s, with their parameters. Or ask in SQL: 'spendsync query -c SQL'; 'spendsync tables' lists the "+
		"tables.",
		len(all.Asks)-len(mostAsked), phrase.Count(len(all.Views)+len(all.Tables), "view"),
		phrase.Count(len(all.Macros), "macro")),
		width, "") + "\n"
}

// Text is the whole list for a person: questions, views and macros, with their parameters.
func (all Listing) Text(width int) string {
	var b strings.Builder
	for _, group := range []struct {
		title string
		list  []Listed
	}{{"Ready questions", all.Asks}, {"Views", all.Views}, {"Views that each sync stores", all.Tables},
		{"Macros, which need their parameters", all.Macros}} {
		fmt.Fprintf(&b, "%s:\n\n", group.title)
		for _, q := range group.list {
			b.WriteString(phrase.Entry(q.Name, q.Question, meaningColumn, width))
			for _, p := range q.Parameters {
				line := "--param " + p.Name + "=..."
				if p.Default != nil {
					line = "--param " + p.Name + "=" + *p.Default + "  " + p.Meaning
				}
				b.WriteString(phrase.Entry("", line, meaningColumn, width))
			}
		}
		b.WriteByte('\n')
	}
	return b.String() + wrap.Line("Ask one: 'spendsync query NAME'. Or ask in SQL: 'spendsync query -c SQL'; "+
		"'spendsync tables' lists the tables.", width, "") + "\n"
}
