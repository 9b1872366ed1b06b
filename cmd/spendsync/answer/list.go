package answer

import (
	"fmt"
	"strings"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/dictionary"
	"spendsync/queries"
	"spendsync/schema"
)

// Names returns all names that query accepts, ready questions first.
func Names() []string {
	var names []string
	for _, q := range queries.Asks() {
		names = append(names, q.Name)
	}
	for _, v := range dictionary.Views() {
		names = append(names, v.Schema+"."+v.Name)
	}
	return names
}

// find returns a ready question by its name, or a view, macro or table by its name with or without the schema.
func find(name string) (queries.Query, error) {
	if q, err := queries.Find(name); err == nil {
		return q, nil
	}
	for _, v := range dictionary.Views() {
		if name == v.Name || name == v.Schema+"."+v.Name {
			return v, nil
		}
	}
	for _, t := range schema.Tables {
		if name == t.FullName() || name == t.Schema+"."+t.Name {
			return queries.Query{Schema: t.Schema, Name: t.Name, Question: t.Doc}, nil
		}
	}
	meant := cli.DidYouMean(name, Names())
	return queries.Query{}, exit.Advise(exit.Usagef("there is no question %q%s", name, meant),
		"ask one of those that 'spendsync query' lists; --all lists the rest")
}

// Listed describes one question, view or macro in a [Listing], which 'query --json' prints.
type Listed struct {
	Name       string  `json:"name"`
	Question   string  `json:"question"`
	Trap       string  `json:"trap"`
	Parameters []Param `json:"parameters,omitempty"`
}

// Param is a parameter of a question.
type Param struct {
	Name    string  `json:"name"`
	Default *string `json:"default"` // null: the parameter has no default and must be given
	Meaning string  `json:"meaning,omitempty"`
}

// Listing is everything that 'spendsync query' lists by name.
type Listing struct {
	Asks   []Listed `json:"asks"`
	Views  []Listed `json:"views"`
	Tables []Listed `json:"tables"` // views whose rows each sync stores
	Macros []Listed `json:"macros"`
}

// ParamsOf returns the parameters of the question or macro with the given name, or nil if there is no such name.
func ParamsOf(name string) (params []Param) {
	q, err := find(name)
	if err != nil {
		return nil
	}
	for _, p := range q.Params {
		params = append(params, Param{p.Name, &p.Default, p.Doc})
	}
	for p := range strings.SplitSeq(q.Parameters, ",") {
		if p = strings.TrimSpace(p); p != "" {
			params = append(params, Param{Name: p})
		}
	}
	return params
}

// List returns all named questions.
func List() Listing {
	var all Listing
	for _, q := range queries.Asks() {
		all.Asks = append(all.Asks, Listed{Name: q.Name, Question: q.Question, Trap: q.Trap,
			Parameters: ParamsOf(q.Name)})
	}
	for _, v := range dictionary.Views() {
		if v.Schema == "int" { // working tables are not listed, but query accepts their names
			continue
		}
		l := Listed{Name: v.Schema + "." + v.Name, Question: v.Question, Trap: v.Trap}
		switch {
		case v.IsTable:
			all.Tables = append(all.Tables, l)
		case v.Parameters == "":
			all.Views = append(all.Views, l)
		default:
			l.Parameters = ParamsOf(l.Name)
			all.Macros = append(all.Macros, l)
		}
	}
	return all
}

// meaningColumn is the column of the terminal where the descriptions of questions start.
const meaningColumn = 21

// Text formats the list for a person. If everything == true, the list contains all names and their parameters,
// otherwise only the ready questions.
func (all Listing) Text(width int, everything bool) string {
	groups := []struct {
		title string
		list  []Listed
	}{{"Ready questions", all.Asks}, {"Views", all.Views}, {"Views that each sync stores", all.Tables},
		{"Macros, which need their parameters", all.Macros}}
	more := ""
	if !everything {
		groups, more = groups[:1], " --all lists their parameters, views and macros, too."
	}
	var b strings.Builder
	for _, group := range groups {
		fmt.Fprintf(&b, "%s:\n\n", group.title)
		for _, q := range group.list {
			b.WriteString(cli.Entry(q.Name, q.Question, meaningColumn, width))
			for _, p := range q.Parameters {
				if !everything {
					break
				}
				line := "--param " + p.Name + "=..."
				if p.Default != nil {
					line = "--param " + p.Name + "=" + *p.Default + "  " + p.Meaning
				}
				b.WriteString(cli.Entry("", line, meaningColumn, width))
			}
		}
		b.WriteByte('\n')
	}
	return b.String() + cli.WrapLine("Ask one: 'spendsync query NAME'."+more+" Or ask in SQL: 'spendsync query -c "+
		"SQL'; 'spendsync tables' lists the tables.", width, "") + "\n"
}
