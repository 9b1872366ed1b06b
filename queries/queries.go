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

//go:embed asks/*.sql views/*/*.sql macros/*.sql parts/*.sql examples.sql thresholds.csv columns.csv
var files embed.FS

// Query is one question in SQL.
type Query struct {
	Schema     string // of a view; "main" for macros
	Name       string // the file's name
	Question   string
	Trap       string            // how the answer is easily misread
	Parameters string            // of a macro, comma-joined
	Params     []Param           // of a ready question
	Stored     bool              // of a view: its rows are kept in the DuckDB file
	ByDay      bool              // of a stored view: the rows of a day follow from that day's alone
	Key        []string          // of a stored view: the rows of a key follow from those that have the same
	WholeDays  bool              // of a view: days that are not known whole have no part in its answer
	Shown      []string          // of a ready question: the columns that a terminal shows first, in that order
	Alone      string            // of a ready question that begins with a total: what it means if no row follows
	Days       string            // of a ready question: a condition over main.spend and main.today, which its days meet
	Hidden     bool              // of a ready question: it is listed nowhere, and answers by its name
	Calls      string            // ready question that makes the service's own calls of this one's answer, if any
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

// Asks are the ready questions, by name, without those that are listed nowhere.
func Asks() []Query {
	return slices.DeleteFunc(read("asks", ""), func(q Query) bool { return q.Hidden })
}

// merged are questions of earlier releases: the one that answers each now, and the defaults of its parameters.
var merged = map[string]struct {
	name     string
	defaults map[string]string
}{
	"restated":       {"spend_by_day", map[string]string{"days": "33"}},
	"tracker_days":   {"tracker", map[string]string{"by": "day", "days": "60", "rows": "60"}},
	"tracker_gap":    {"tracker", nil},
	"tracker_profit": {"tracker", nil},
}

// Views are the views and table macros that every warehouse has, each after
// those that it asks. The values replace those of [Thresholds]; a name that is
// not among them, or a value that is not a number, is an error.
func Views(values map[string]string) ([]Query, error) {
	t, err := thresholdView(values)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(ordered())
	all[slices.IndexFunc(all, func(q Query) bool { return q.Schema == t.Schema && q.Name == t.Name })] = t
	return all, nil
}

// ordered returns all views and macros, with the default thresholds: their values do not affect the
// order.
var ordered = sync.OnceValue(func() []Query {
	t, err := thresholdView(nil)
	if err != nil {
		panic(err) // it has no value to refuse
	}
	return append(inOrder(append(written(), t)), exampleView())
})

// written are the views and macros that have a file, as it has them.
func written() []Query {
	return slices.Concat(read("views/main", "main"), read("views/mart", "mart"), read("macros", "main"))
}

// Find is the ready question of that name, which may be one of an earlier release.
func Find(name string) (Query, error) {
	now, isMerged := merged[name]
	for _, a := range read("asks", "") {
		if a.Name == name || isMerged && a.Name == now.name {
			for i, p := range a.Params {
				a.Params[i].Default = cmp.Or(now.defaults[p.Name], p.Default)
			}
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

// thresholdView is the view mart.threshold.
func thresholdView(values map[string]string) (Query, error) {
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
		if !known[name] && !slices.Contains(withdrawn, name) {
			return Query{}, fmt.Errorf("there is no threshold %q; there are %s", name,
				strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	return Query{
		Schema: "mart", Name: "threshold",
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

// exampleView is the view mart.example: the ready questions, with their parameters' defaults, and those of
// examples.sql. It comes last, as its texts name views that it does not read.
func exampleView() Query {
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
		Schema: "mart", Name: "example",
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

// withdrawn are thresholds that are constants of their SQL now, or that no answer depends on any more. A value for one
// is not an error: a sync that stops for it would lose days.
var withdrawn = []string{
	"balance_warning", "bid_elasticity", "bid_min_change", "bids_stale_hours", "block_loss_of_campaign",
	"block_min_worths", "block_probability_of_campaign", "block_spend_in_targets", "block_times_campaign",
	"block_z", "break_days", "change_min_z", "concentration_share", "control_drift", "ctr_min_z", "curve_gap_hours",
	"curve_min_days", "exhausted_decline", "fatigue_days", "fatigue_min_impressions", "fatigue_min_z",
	"impact_days", "limited_days", "limited_share", "pacing_limited", "pacing_min_elapsed", "pacing_under",
	"report_reach_days", "restated_share_max", "review_hours", "scale_max_share", "scale_min_conversions",
	"settled_share", "silent_worths", "stop_gap_hours", "stopped_grace_hours", "turn_min_z"}

var number = regexp.MustCompile(`^-?[0-9]{1,12}(\.[0-9]{1,6})?$`)

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// reference matches the name of one of our views in a file. It starts with letters, because a
// search for letters is far faster than one for a word boundary.
var reference = regexp.MustCompile(`ma(?:in|rt)\.[a-z_0-9]+`)

// inOrder sorts views by schema and name, but each view after the views that it reads.
func inOrder(all []Query) []Query {
	byName := map[string]*Query{}
	for i, q := range all {
		if q.Parameters == "" {
			byName[q.Schema+"."+q.Name] = &all[i]
		}
	}
	var ordered []Query
	done := map[*Query]bool{}
	var visit func(q *Query)
	visit = func(q *Query) {
		if done[q] {
			return
		}
		done[q] = true
		for _, m := range reference.FindAllString(q.SQL, -1) {
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
		glossary[r[0]] = r[1]
	}
	var all []Query
	for _, e := range entries {
		b, err := fs.ReadFile(files, path.Join(dir, e.Name()))
		if err != nil {
			panic(err)
		}
		q := parse(withPast(withParts(string(b))))
		q.Schema, q.Name = schema, strings.TrimSuffix(e.Name(), ".sql")
		for name, doc := range glossary {
			if q.Columns[name] == "" {
				q.Columns[name] = doc
			}
		}
		all = append(all, q)
	}
	return all
}

// partLine matches the line by which a file includes one of parts, by its name.
var partLine = regexp.MustCompile(`(?m)^-- Part: ([a-z_]+)\n`)

// withParts puts the parts into a file that names them. A part ends in a comma, as a step follows it, or the answer.
func withParts(text string) string {
	return strings.ReplaceAll(partLine.ReplaceAllStringFunc(text, func(line string) string {
		b, err := files.ReadFile("parts/" + partLine.FindStringSubmatch(line)[1] + ".sql")
		if err != nil {
			panic(err)
		}
		return string(b)
	}), "),\nSELECT", ")\nSELECT")
}

// pastLine matches the line by which a question includes views as they answered at past instants.
var pastLine = regexp.MustCompile(`(?m)^-- Past: ([a-z_, ]+)\n`)

// withPast puts views, and those that they ask, as steps named past_VIEW into a file that names them. They read the
// steps past_TABLE before them, with the rows that were known then, in the place of every table: the text of the
// views is the same for the past as for today.
func withPast(text string) string {
	return pastLine.ReplaceAllStringFunc(text, func(line string) string {
		wanted := map[string]bool{}
		for name := range strings.SplitSeq(pastLine.FindStringSubmatch(line)[1], ", ") {
			wanted["mart."+name] = true
		}
		var steps []string
		views := inOrder(written())
		for _, v := range slices.Backward(views) {
			if !wanted[v.Schema+"."+v.Name] {
				continue
			}
			sql := storedName.ReplaceAllStringFunc(v.SQL, func(name string) string {
				if name == "mart.threshold" {
					return name
				}
				wanted[name] = true
				_, table, _ := strings.Cut(name, ".")
				return "past_" + table
			})
			steps = append(steps, "past_"+v.Name+" AS MATERIALIZED (\n"+sql+"\n),\n")
		}
		slices.Reverse(steps)
		return strings.Join(steps, "")
	})
}

// storedName matches the name of a table or a view in SQL.
var storedName = regexp.MustCompile(`\b(?:main|mart|ops)\.[a-z_0-9]+`)

// readCSV reads an embedded table without its heading.
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
	storedLine = regexp.MustCompile(`^Stored(?: by ([a-z_, ]+))?\.$`)
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
		} else if name, ok := strings.CutPrefix(line, "Calls: "); ok {
			q.Calls = name
		} else if meaning, ok := strings.CutPrefix(line, "Alone: "); ok {
			q.Alone = meaning
		} else if days, ok := strings.CutPrefix(line, "Days: "); ok {
			q.Days = days
		} else if names, ok := strings.CutPrefix(line, "Shown: "); ok {
			q.Shown = strings.Split(names, ", ")
		} else if m := storedLine.FindStringSubmatch(line); m != nil {
			q.Stored, q.WholeDays, q.ByDay = true, true, m[1] == "day"
			if m[1] != "" && !q.ByDay {
				q.Key = strings.Split(m[1], ", ")
			}
		} else if line == "Hidden." {
			q.Hidden = true
		} else if line == "Of whole days." {
			q.WholeDays = true
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
