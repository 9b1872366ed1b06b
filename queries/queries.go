package queries

import (
	"cmp"
	"embed"
	"encoding/csv"
	"fmt"
	"io/fs"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed asks/*.sql main/*.sql int/*.sql mart/*.sql macros/*.sql functions.sql examples.sql thresholds.csv columns.csv
var files embed.FS

// Query is a model, a macro or a ready question.
type Query struct {
	Schema   string // schema of a model or macro, always "main" for macros; empty for ready questions
	Name     string // file name without .sql
	Question string
	Trap     string            // how the answer is easily misread
	Shown    []string          // columns that a terminal shows first, in that order
	Columns  map[string]string // descriptions of columns, from the file or columns.csv
	SQL      string

	// For models only.
	IsTable bool // whether each publication makes it a table; if not, it is a view
	ByMonth bool // whether the rows of a month depend only on the days of that month

	// For macros only.
	Parameters string // separated by commas
	IsValue    bool   // whether it returns a single value instead of a table

	// For ready questions only.
	Params []Param
	None   string // the meaning of an answer without rows; shown instead of the answer
	Alone  string // the meaning of an answer whose only row is a total
	Days   string // selects the days of the answer: an SQL condition on main.spend AS s and main.today AS t
}

// Param is a parameter of a ready question. In the SQL, its name follows a dollar sign.
type Param struct {
	Name, Default, Doc string
	Over               bool // whether it is an SQL condition, which is inserted as text instead of bound as a value
}

// WithConditions returns the SQL with all conditions inserted. A condition that is not given has its default. The
// conditions are not checked, so the caller must limit what the statement can read.
func (q Query) WithConditions(given map[string]string) string {
	sql := q.SQL
	for _, p := range q.Params {
		text, ok := given[p.Name]
		if !ok {
			text = p.Default
		}
		if p.Over {
			// Where the parameter's name is in quotes, insert the condition as a string; elsewhere, insert the
			// condition itself.
			sql = strings.ReplaceAll(sql, "'$"+p.Name+"'", quote(strings.Join(strings.Fields(text), " ")))
			sql = strings.ReplaceAll(sql, "$"+p.Name, "(\n"+text+"\n)")
		}
	}
	return sql
}

// Threshold is a constant that answers depend on and that users can set.
type Threshold struct {
	Name, Value   string
	Low, High     string // the smallest and the largest value with which the models work
	IsWhole       bool   // whether the value must be a whole number
	Unit, Meaning string
}

// Asks returns the ready questions, sorted by name.
func Asks() []Query { return read("asks", "") }

// Views returns the models and macros of a warehouse. Each one comes after the models and macros that it reads. The
// given values, which [ParseThresholds] has checked, replace the defaults of [Thresholds].
func Views(values map[string]string) []Query {
	t := thresholds(values)
	all := slices.Clone(ordered())
	all[slices.IndexFunc(all, func(q Query) bool { return q.Schema == t.Schema && q.Name == t.Name })] = t
	return all
}

// ordered returns all models and macros in the order of Views, with the default thresholds.
var ordered = sync.OnceValue(func() []Query {
	all := inOrder(append(written(), thresholds(nil)))
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

// moves matches SQL whose result may change although the stored data does not change: now(), and tables in which each
// run records its own reads. A model with such SQL is a view, and so is a model that reads such a view. All other
// models are tables.
var moves = regexp.MustCompile(`\bnow\(\)|\bops\.(entity_read|note|refused_row|unknown_field|file)\b`)

// byMonth lists the tables for which [Query.ByMonth] is true. A publication rebuilds only their changed months.
var byMonth = []string{"mart.revenue", "int.creative_spend"}

// written returns the models and macros that have a file of their own, unlike scalar macros, thresholds and examples.
func written() []Query {
	return slices.Concat(read("main", "main"), read("int", "int"), read("mart", "mart"), read("macros", "main"))
}

// Reads returns the tables and models that the SQL names.
func (q Query) Reads() []string {
	names := reference.FindAllString(q.SQL, -1)
	slices.Sort(names)
	return slices.Compact(names)
}

// function matches a macro of functions.sql with the comment line above it.
var function = regexp.MustCompile(`(?m)^-- (.+)\nCREATE MACRO ([a-z_]+)\(([a-z, ]+)\) AS ([^;]+);$`)

// Functions returns the scalar macros. Each macro returns NULL outside its domain. DuckDB's own functions would make
// the query fail there.
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

// Find returns the ready question with the given name, or an error if there is none.
func Find(name string) (Query, error) {
	for _, a := range Asks() {
		if a.Name == name {
			return a, nil
		}
	}
	return Query{}, fmt.Errorf("there is no question %q", name)
}

// Thresholds returns the thresholds with their default values.
func Thresholds() []Threshold {
	var all []Threshold
	for _, r := range readCSV("thresholds.csv") {
		all = append(all, Threshold{Name: r[0], Value: r[1], Low: r[2], High: r[3], IsWhole: r[4] == "yes",
			Unit: r[5], Meaning: r[6]})
	}
	return all
}

// ParseThresholds parses other values of thresholds, NAME=NUMBER with commas between. The error names the threshold and
// the values that it may have.
func ParseThresholds(text string) (map[string]string, error) {
	values, all := map[string]string{}, Thresholds()
	for item := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(item, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		at := slices.IndexFunc(all, func(t Threshold) bool { return t.Name == name })
		switch {
		case text == "":
			return nil, nil
		case !ok:
			return nil, fmt.Errorf("%q is not of the form NAME=NUMBER", item)
		case at < 0:
			var names []string
			for _, t := range all {
				names = append(names, t.Name)
			}
			return nil, fmt.Errorf("there is no threshold %q; there are %s", name, strings.Join(names, ", "))
		case values[name] != "":
			return nil, fmt.Errorf("%s is set twice", name)
		case !all[at].allows(value):
			return nil, fmt.Errorf("%s=%q: must be a %snumber from %s to %s, for example %s", name, value,
				map[bool]string{true: "whole "}[all[at].IsWhole], all[at].Low, all[at].High, all[at].Value)
		}
		values[name] = value
	}
	return values, nil
}

func (t Threshold) allows(value string) bool {
	low, _ := strconv.ParseFloat(t.Low, 64)
	high, _ := strconv.ParseFloat(t.High, 64)
	v, _ := strconv.ParseFloat(value, 64)
	return number.MatchString(value) && low <= v && v <= high && (!t.IsWhole || v == math.Trunc(v))
}

// thresholds returns the model int.threshold. The given values replace the defaults.
func thresholds(values map[string]string) Query {
	var rows []string
	for _, t := range Thresholds() {
		value := cmp.Or(values[t.Name], t.Value)
		rows = append(rows, fmt.Sprintf("(%s, %s, %s, %s)", quote(t.Name), value, quote(t.Unit), quote(t.Meaning)))
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
	}
}

// examples returns the model int.example: the ready questions with the defaults of their parameters, and the questions
// of examples.sql. This model must be last in the order of models: its texts contain names of models, but it does not
// read these models.
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

// With returns the SQL of a ready question with its parameters replaced by the given values. A parameter whose value is
// missing or empty is replaced by its default.
func (q Query) With(given map[string]string) string {
	values := map[string]string{}
	for _, p := range q.Params {
		values[p.Name] = cmp.Or(given[p.Name], p.Default)
	}
	return withValues(q.WithConditions(nil), values)
}

// parameter matches the name of a parameter in SQL, as in $days.
var parameter = regexp.MustCompile(`\$[a-z_0-9]+`)

// withValues replaces parameters by their values as SQL strings.
func withValues(sql string, values map[string]string) string {
	return parameter.ReplaceAllStringFunc(sql, func(name string) string {
		if value, ok := values[name[1:]]; ok {
			return quote(value)
		}
		return name
	})
}

// DaysOf returns q.Days with its parameters replaced by values.
func (q Query) DaysOf(values map[string]string) string { return withValues(q.Days, values) }

// Example is a question, the SQL that answers it, and a description of the answer's columns.
type Example struct{ Question, SQL, Answer string }

// Examples returns the questions of examples.sql.
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

// inOrder returns the queries in the given order, except that each query comes after the queries that it reads.
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

// read parses the files of a folder. It panics on errors. These cannot occur at run time, because the files are
// embedded and tested.
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

// Units maps the names of columns to their units: money (US dollars), price (US dollars per click), percent (a share or
// a change) or rate (clicks per impression, conversions per click). Other columns have no unit.
var Units = sync.OnceValue(func() map[string]string {
	units := map[string]string{}
	for _, r := range readCSV("columns.csv") {
		units[r[0]] = r[1]
	}
	return units
})

// readCSV returns the rows of an embedded file without its header.
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

// Patterns of two kinds of comment lines at the top of a file: see the package comment.
var (
	columnLine = regexp.MustCompile(`^Column ([a-z_0-9]+): (.+)$`)
	paramLine  = regexp.MustCompile(`^Parameter ([a-z_0-9]+): ("[^"]*"|[^,]*), (.+)$`)
)

// parse splits a file into its SQL and the comment lines at its top, which the package comment describes.
func parse(text string) Query {
	q := Query{Columns: map[string]string{}}
	for strings.HasPrefix(text, "--") {
		line, rest, _ := strings.Cut(text, "\n")
		line, text = strings.TrimSpace(strings.TrimPrefix(line, "--")), rest
		if trap, ok := strings.CutPrefix(line, "Trap: "); ok {
			q.Trap = trap
		} else if meaning, ok := strings.CutPrefix(line, "Alone: "); ok {
			q.Alone = meaning
		} else if meaning, ok := strings.CutPrefix(line, "None: "); ok {
			q.None = meaning
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
