package queries

import (
	"cmp"
	"embed"
	"encoding/csv"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed asks/*.sql main/*.sql int/*.sql mart/*.sql macros/*.sql functions.sql examples.sql thresholds.csv columns.csv
var files embed.FS

// Query is one question in SQL.
type Query struct {
	Schema     string // of a model; "main" for macros
	Name       string // the file's name
	Question   string
	Trap       string            // how the answer is easily misread
	Parameters string            // of a macro, comma-joined
	IsValue    bool              // of a macro: it is a function with one value, not a table
	IsTable    bool              // of a model: its rows are made at publication
	ByMonth    bool              // of a table: the rows of a month follow from the days of that month
	Params     []Param           // of a ready question
	Shown      []string          // the columns that a terminal shows first, in that order
	Alone      string            // of a ready question that begins with a total: what it means if no row follows
	Days       string            // of a ready question: a condition over main.spend and main.today, which its days meet
	Columns    map[string]string // the meaning of columns, if the file or the glossary has it
	SQL        string
}

// Param is a parameter of a ready question; the SQL names it with a dollar sign.
type Param struct {
	Name, Default, Doc string
	Over               bool // it is a condition: its text takes the place of its name in the SQL
}

// WithConditions returns the SQL with conditions in the places of their names: those given, else the
// defaults. What they may reach is checked with the statement as a whole.
func (q Query) WithConditions(given map[string]string) string {
	sql := q.SQL
	for _, p := range q.Params {
		text, ok := given[p.Name]
		if !ok {
			text = p.Default
		}
		if p.Over {
			sql = strings.ReplaceAll(sql, "$"+p.Name, "(\n"+text+"\n)")
		}
	}
	return sql
}

// Threshold is a number that answers depend on.
type Threshold struct {
	Name, Value   string
	Unit, Meaning string
}

// Asks are the ready questions, by name.
func Asks() []Query { return read("asks", "") }

// Views are the models and macros that every warehouse has, each after those that it reads. The values replace those
// of [Thresholds]; a name that is not among them, or a value that is not a number, is an error.
func Views(values map[string]string) ([]Query, error) {
	t, err := thresholds(values)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(ordered())
	all[slices.IndexFunc(all, func(q Query) bool { return q.Schema == t.Schema && q.Name == t.Name })] = t
	return all, nil
}

// ordered returns all models and macros, with the default thresholds: their values do not affect the order.
var ordered = sync.OnceValue(func() []Query {
	t, err := thresholds(nil)
	if err != nil {
		panic(err) // it has no value to refuse
	}
	all := inOrder(append(written(), t))
	moving := map[string]bool{}
	for i, q := range all {
		name := q.Schema + "." + q.Name
		if moves.MatchString(q.SQL) || slices.ContainsFunc(q.Reads(), func(n string) bool { return moving[n] }) {
			moving[name] = true
		}
		all[i].IsTable = q.Schema != "main" && !moving[name]
		all[i].ByMonth = slices.Contains(byMonth, name)
	}
	return slices.Concat(Functions(), all, []Query{examples()})
})

// moves matches what makes a model move by itself: the clock, and what the publishing run says of its own reading.
// Such a model, and one that reads it, is a view; the others are tables.
var moves = regexp.MustCompile(`\bnow\(\)|\bops\.(entity_read|note|refused_row|unknown_field|file)\b`)

// byMonth are the tables over all of history that are made month by month.
var byMonth = []string{"mart.revenue", "int.creative_spend"}

// written are the models and macros that have a file, as it has them.
func written() []Query {
	return slices.Concat(read("main", "main"), read("int", "int"), read("mart", "mart"), read("macros", "main"))
}

// Reads returns the tables and models that the SQL names.
func (q Query) Reads() []string {
	names := reference.FindAllString(q.SQL, -1)
	slices.Sort(names)
	return slices.Compact(names)
}

// function matches a macro of functions.sql, below its meaning.
var function = regexp.MustCompile(`(?m)^-- (.+)\nCREATE MACRO ([a-z_]+)\(([a-z, ]+)\) AS ([^;]+);$`)

// Functions are the macros with one value that models and questions call: each is NULL outside its domain, where
// DuckDB's own function would end the whole query.
func Functions() (all []Query) {
	b, err := files.ReadFile("functions.sql")
	if err != nil {
		panic(err)
	}
	for _, m := range function.FindAllStringSubmatch(string(b), -1) {
		all = append(all, Query{Schema: "main", Name: m[2], Question: m[1], Parameters: m[3], SQL: m[4], IsValue: true})
	}
	return all
}

// Find is the ready question of that name.
func Find(name string) (Query, error) {
	for _, a := range Asks() {
		if a.Name == name {
			return a, nil
		}
	}
	return Query{}, fmt.Errorf("there is no question %q", name)
}

// Thresholds are the numbers that answers depend on, with their default values.
func Thresholds() []Threshold {
	var all []Threshold
	for _, r := range readCSV("thresholds.csv") {
		all = append(all, Threshold{Name: r[0], Value: r[1], Unit: r[2], Meaning: r[3]})
	}
	return all
}

// thresholds is the model int.threshold.
func thresholds(values map[string]string) (Query, error) {
	known := map[string]bool{}
	var rows []string
	for _, t := range Thresholds() {
		known[t.Name] = true
		v := t.Value
		if set, ok := values[t.Name]; ok {
			if !number.MatchString(set) {
				return Query{}, fmt.Errorf("threshold %s=%q is not a number such as %s", t.Name, set, t.Value)
			}
			v = set
		}
		rows = append(rows, fmt.Sprintf("(%s, %s, %s, %s)", quote(t.Name), v, quote(t.Unit), quote(t.Meaning)))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !known[name] {
			return Query{}, fmt.Errorf("there is no threshold %q; there are %s", name,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return Query{
		Schema: "int", Name: "threshold",
		Question: "Which thresholds do the answers in mart depend on?",
		Trap:     "they are those of the publishing run; another run may be configured differently.",
		Columns: map[string]string{
			"name": "Name of the threshold, as in SPENDSYNC_THRESHOLDS.", "value": "The number in force.",
			"unit": "What the number counts.", "meaning": "What depends on it.",
		},
		SQL: "SELECT t.name, t.value::DOUBLE AS value, t.unit, t.meaning\nFROM (VALUES\n  " +
			strings.Join(rows, ",\n  ") + "\n) AS t(name, value, unit, meaning)",
	}, nil
}

// examples is the model int.example: the ready questions, with their parameters' defaults, and those of examples.sql.
// It comes last, as its texts name models that it does not read.
func examples() Query {
	var rows []string
	add := func(texts ...string) {
		for i, text := range texts {
			texts[i] = "NULL"
			if text != "" {
				texts[i] = quote(text)
			}
		}
		rows = append(rows, "("+strings.Join(texts, ", ")+")")
	}
	for _, a := range Asks() {
		add(a.Question, a.Name, a.With(nil), "columns "+strings.Join(a.Shown, ", "), a.Trap)
	}
	for _, e := range Examples() {
		add(e.Question, "", e.SQL, e.Answer, "")
	}
	return Query{
		Schema: "int", Name: "example",
		Question: "Which SQL answers which question?",
		Trap:     "days and parameters are those of the text; change them.",
		Columns: map[string]string{
			"question": "The question.",
			"name":     "Name of the ready question, as in spendsync query NAME. NULL: it has none.",
			"sql":      "SQL that answers it.", "answer": "The shape of the answer.",
			"trap": "How the answer is misread. NULL: nothing is known.",
		},
		SQL: "SELECT e.question, e.name, e.sql, e.answer, e.trap\nFROM (VALUES\n  " + strings.Join(rows, ",\n  ") +
			"\n) AS e(question, name, sql, answer, trap)",
	}
}

// With returns the SQL of a ready question with values in the places of its parameters: those given, else the
// defaults. An empty value is the default.
func (q Query) With(given map[string]string) string {
	values := map[string]string{}
	for _, p := range q.Params {
		values[p.Name] = cmp.Or(given[p.Name], p.Default)
	}
	return withValues(q.WithConditions(nil), values)
}

// parameter matches the name of a parameter in SQL, as in $days.
var parameter = regexp.MustCompile(`\$[a-z_0-9]+`)

// withValues puts values as texts in the places of the parameters.
func withValues(sql string, values map[string]string) string {
	return parameter.ReplaceAllStringFunc(sql, func(name string) string {
		if value, ok := values[name[1:]]; ok {
			return quote(value)
		}
		return name
	})
}

// DaysOf returns the condition that the days of a ready question meet, for values of its parameters.
func (q Query) DaysOf(values map[string]string) string { return withValues(q.Days, values) }

// Example is a question with SQL that answers it.
type Example struct{ Question, SQL, Answer string }

// Examples are the questions of examples.sql.
func Examples() []Example {
	b, err := files.ReadFile("examples.sql")
	if err != nil {
		panic(err)
	}
	var all []Example
	for text := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(string(b)), ";"), ";\n\n") {
		lines := strings.SplitN(text, "\n", 3)
		all = append(all, Example{Question: strings.TrimPrefix(lines[0], "-- "), SQL: lines[2],
			Answer: strings.TrimPrefix(lines[1], "-- Answer: ")})
	}
	return all
}

var number = regexp.MustCompile(`^-?[0-9]{1,12}(\.[0-9]{1,6})?$`)

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// reference matches the name of a table or model in SQL.
var reference = regexp.MustCompile(`\b(?:main|int|mart|ops)\.[a-z_0-9]+`)

// inOrder sorts views by schema and name, but each view after the views that it reads.
func inOrder(all []Query) []Query {
	byName := map[string]*Query{}
	for i, q := range all {
		byName[q.Schema+"."+q.Name] = &all[i]
	}
	var ordered []Query
	done := map[*Query]bool{}
	var visit func(q *Query)
	visit = func(q *Query) {
		if done[q] {
			return
		}
		done[q] = true
		for _, m := range q.Reads() {
			if other := byName[m]; other != nil {
				visit(other)
			}
		}
		ordered = append(ordered, *q)
	}
	for i := range all {
		visit(&all[i])
	}
	return ordered
}

// read reads the files of a folder. They are embedded, so an error is a
// programmer's mistake that the first test shows.
func read(dir, schema string) []Query {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		panic(err)
	}
	glossary := map[string]string{}
	for _, r := range readCSV("columns.csv") {
		glossary[r[0]] = r[2]
	}
	var all []Query
	for _, e := range entries {
		b, err := fs.ReadFile(files, path.Join(dir, e.Name()))
		if err != nil {
			panic(err)
		}
		q := parse(string(b))
		q.Schema, q.Name = schema, strings.TrimSuffix(e.Name(), ".sql")
		for name, doc := range glossary {
			if q.Columns[name] == "" && doc != "" {
				q.Columns[name] = doc
			}
		}
		all = append(all, q)
	}
	return all
}

// readCSV reads an embedded table without its heading.
// Units returns what the numbers of columns count, by the columns' names: money (US dollars), price (US dollars a
// click), percent (a share or a change) or rate (clicks per impression, conversions per click). Other names have none.
var Units = sync.OnceValue(func() map[string]string {
	units := map[string]string{}
	for _, r := range readCSV("columns.csv") {
		units[r[0]] = r[1]
	}
	return units
})

func readCSV(name string) [][]string {
	b, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
	if err != nil {
		panic(err)
	}
	return rows[1:]
}

// The comment lines at the top of a file that are neither question nor trap.
var (
	columnLine = regexp.MustCompile(`^Column ([a-z_0-9]+): (.+)$`)
	paramLine  = regexp.MustCompile(`^Parameter ([a-z_0-9]+): ("[^"]*"|[^,]*), (.+)$`)
)

// parse takes the comment lines at the top of a file: the question, its trap, a
// macro's parameters, the parameters of a ready question and what columns mean.
func parse(text string) Query {
	q := Query{Columns: map[string]string{}}
	for strings.HasPrefix(text, "--") {
		line, rest, _ := strings.Cut(text, "\n")
		line, text = strings.TrimSpace(strings.TrimPrefix(line, "--")), rest
		if trap, ok := strings.CutPrefix(line, "Trap: "); ok {
			q.Trap = trap
		} else if meaning, ok := strings.CutPrefix(line, "Alone: "); ok {
			q.Alone = meaning
		} else if days, ok := strings.CutPrefix(line, "Days: "); ok {
			q.Days = days
		} else if names, ok := strings.CutPrefix(line, "Shown: "); ok {
			q.Shown = strings.Split(names, ", ")
		} else if names, ok := strings.CutPrefix(line, "Parameters: "); ok {
			q.Parameters = names
		} else if m := columnLine.FindStringSubmatch(line); m != nil {
			q.Columns[m[1]] = m[2]
		} else if m := paramLine.FindStringSubmatch(line); m != nil {
			value := m[2]
			if unquoted, err := strconv.Unquote(value); err == nil {
				value = unquoted
			}
			q.Params = append(q.Params, Param{Name: m[1], Default: value, Doc: m[3]})
		} else if strings.HasPrefix(line, "Condition over: ") {
			q.Params[len(q.Params)-1].Over = true
		} else {
			q.Question += line
		}
	}
	q.SQL = strings.TrimSuffix(strings.TrimSpace(text), ";")
	return q
}
