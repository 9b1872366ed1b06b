package answer

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/load/duck"
	"spendsync/queries"
	"spendsync/schema"
)

// Question is what to ask, and how it is introduced to a person.
type Question struct {
	duck.Query
	Asks, Trap string
	Written    bool     // the SQL, or a condition in it, is of somebody's own
	Alone      string   // what it means if the total, which is the first row, is the only one
	Shown      []string // columns that a terminal shows first
}

// FromSQL returns the question for an SQL text; the text - is read from stdin.
func FromSQL(sql string, params []string, stdin io.Reader) (q Question, err error) {
	given, err := splitParams(params)
	if err != nil {
		return q, err
	}
	if len(given) > 0 {
		return q, exit.Usagef("--param %s: SQL given with -c has no parameters; write the value into it", params[0])
	}
	q.Written = true
	q.SQL, err = readSQL(sql, stdin)
	return q, err
}

// Find is the question of a name, with values for its parameters as name=value.
func Find(name string, params []string) (q Question, err error) {
	given, err := splitParams(params)
	if err != nil {
		return q, err
	}
	found, err := find(name)
	if err != nil {
		return q, err
	}
	q.Asks, q.Trap, q.Alone = found.Question, found.Trap, found.Alone
	q.Shown, q.Ready = found.Shown, true
	needed := found.Params
	for param := range strings.SplitSeq(found.Parameters, ",") {
		if param = strings.TrimSpace(param); param != "" {
			needed = append(needed, queries.Param{Name: param, Default: macroValues[param]})
		}
	}
	values, err := paramValues(name, needed, given, found.Parameters != "")
	if err != nil {
		return q, err
	}
	switch {
	case found.Parameters != "": // a macro takes texts where they stand
		var list []string
		for _, p := range needed {
			list = append(list, schema.QuoteText(values[p.Name]))
		}
		q.SQL = fmt.Sprintf("FROM %s.%s(%s) ORDER BY ALL", schema.Quote(found.Schema), schema.Quote(found.Name),
			strings.Join(list, ", "))
	case found.Schema != "":
		// A view has no order; an answer that has one can be compared with the next.
		q.SQL = fmt.Sprintf("FROM %s.%s ORDER BY ALL", schema.Quote(found.Schema), schema.Quote(found.Name))
	default:
		q.SQL = found.WithConditions(values)
		for _, p := range found.Params {
			if p.Name == "rows" {
				q.RowsParam = p.Name
			}
			if p.Over {
				_, written := given[p.Name]
				q.Written = q.Written || written
				delete(values, p.Name)
			}
		}
		q.Params, q.Days = values, found.DaysOf(values)
	}
	return q, nil
}

// macroValues holds an example of each parameter of a macro; it has no default.
var macroValues = map[string]string{"instant": "2026-03-08 12:00:00+00", "day": "2026-03-08",
	"from_date": "2026-03-01", "to_date": "2026-03-08"}

// maxSQL is larger than any written query: a wrong pipe must not fill the memory.
const maxSQL = 4 << 20

// readSQL is the SQL of -c, or of stdin.
func readSQL(given string, stdin io.Reader) (string, error) {
	if given != "-" {
		if strings.TrimSpace(given) == "" {
			return "", exit.Usagef("-c: there is no SQL")
		}
		return given, nil
	}
	b, err := io.ReadAll(io.LimitReader(stdin, maxSQL+1))
	if err != nil {
		return "", exit.Usagef("-c -: stdin: %v", err)
	}
	text := strings.TrimPrefix(string(b), "\ufeff")
	if len(text) > maxSQL || strings.TrimSpace(text) == "" {
		return "", exit.Usagef("-c -: stdin holds %s", cmp.Or(map[bool]string{true: "no SQL"}[len(text) <= maxSQL],
			"more than 4 MiB, which is more than a question"))
	}
	return text, nil
}

func splitParams(given []string) (map[string]string, error) {
	values := map[string]string{}
	for _, p := range given {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, exit.Usagef("--param %q is not name=value", p)
		}
		if _, twice := values[name]; twice {
			return nil, exit.Usagef("--param %s is given twice", name)
		}
		values[name] = value
	}
	return values, nil
}

// paramValues are the parameters' values: those given, else the defaults.
func paramValues(question string, params []queries.Param, given map[string]string, required bool) (map[string]string,
	error) {
	values, names := map[string]string{}, []string{}
	for _, p := range params {
		names = append(names, p.Name)
		value, ok := given[p.Name]
		if !ok && required {
			return nil, exit.Usagef("%s needs --param %s=...", question, p.Name)
		}
		if !ok {
			value = p.Default
		}
		if kind := paramKind(p.Default); !kind.fits(value) {
			about := ""
			if p.Doc != "" {
				about = "; " + p.Doc
			}
			return nil, exit.Usagef("--param %s=%s: not %s such as %s%s", p.Name, value, kind.name, p.Default, about)
		}
		values[p.Name] = value
	}
	for name := range given {
		if _, ok := values[name]; !ok {
			if len(names) == 0 {
				return nil, exit.Usagef("--param %s: %s has no parameters", name, question)
			}
			return nil, exit.Usagef("--param %s: %s has no such parameter; it has %s", name, question,
				strings.Join(names, ", "))
		}
	}
	return values, nil
}

// valueKind is what a parameter may hold.
type valueKind struct {
	name string
	fits func(string) bool
}

var valueKinds = []valueKind{
	{"a whole number from 0", func(s string) bool { _, err := strconv.ParseUint(s, 10, 31); return err == nil }},
	{"a number", func(s string) bool { _, err := strconv.ParseFloat(s, 64); return err == nil }},
	{"a day", func(s string) bool { _, err := schema.ParseDate(s); return err == nil }},
	{"an instant", func(s string) bool {
		return slices.ContainsFunc([]string{"2006-01-02 15:04:05Z07", "2006-01-02 15:04:05Z07:00", time.RFC3339,
			"2006-01-02 15:04:05", time.DateOnly}, func(form string) bool {
			_, err := time.Parse(form, s)
			return err == nil
		})
	}},
	{"a text", func(string) bool { return true }},
}

// paramKind is the kind of the default: whoever sets the parameter must give the same.
func paramKind(value string) valueKind {
	return valueKinds[slices.IndexFunc(valueKinds, func(k valueKind) bool { return k.fits(value) })]
}
