package answer

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/dictionary"
	"spendsync/load/duck"
	"spendsync/queries"
	"spendsync/schema"
)

// Question is a query with its texts for a person.
type Question struct {
	duck.Query
	Asks, Trap string
	Written    bool     // whether the user wrote the SQL, or a condition in it
	None       string   // shown instead of an answer that has no rows
	Alone      string   // shown below an answer whose only row is the total
	Shown      []string // columns that a terminal shows first
}

// FromSQL returns a question for user-written SQL; "-" reads it from stdin.
func FromSQL(sql string, params []string, stdin io.Reader) (q Question, err error) {
	if len(params) > 0 {
		return q, exit.Usagef("--param %s: SQL given with -c has no parameters; write the value into it", params[0])
	}
	q.Written = true
	q.SQL, err = readSQL(sql, stdin)
	return q, err
}

// Find returns a question by its name, with parameters given as name=value.
func Find(name string, params []string) (q Question, err error) {
	found, err := find(name)
	if err != nil {
		return q, err
	}
	q.Asks, q.Trap, q.None, q.Alone = found.Question, found.Trap, found.None, found.Alone
	q.Shown, q.Ready = found.Shown, true
	needed := found.Params
	for param := range strings.SplitSeq(found.Parameters, ",") {
		if param = strings.TrimSpace(param); param != "" {
			needed = append(needed, queries.Param{Name: param, Default: dictionary.MacroValues[param]})
		}
	}
	values, given, err := paramValues(name, needed, params)
	if err != nil {
		return q, err
	}
	switch {
	case found.Parameters != "": // the SQL of a macro call contains its arguments as text
		var list []string
		for _, p := range needed {
			if !given[p.Name] {
				return q, exit.Usagef("%s needs --param %s=...", name, p.Name)
			}
			list = append(list, schema.QuoteText(values[p.Name]))
		}
		q.SQL = fmt.Sprintf("FROM %s.%s(%s) ORDER BY ALL", schema.Quote(found.Schema), schema.Quote(found.Name),
			strings.Join(list, ", "))
	case found.Schema != "":
		// Sort the rows of a view, so that two answers can be compared.
		q.SQL = fmt.Sprintf("FROM %s.%s ORDER BY ALL", schema.Quote(found.Schema), schema.Quote(found.Name))
	default:
		q.SQL = found.WithConditions(values)
		for _, p := range found.Params {
			if p.Name == "rows" {
				q.RowsParam = p.Name
			}
			if p.Over {
				q.Written = q.Written || given[p.Name]
				delete(values, p.Name)
			}
		}
		q.Params, q.Days = values, found.DaysOf(values)
	}
	return q, nil
}

// maxSQL is larger than any query that a person writes. The limit keeps a wrong pipe from filling the memory.
const maxSQL = 4 << 20

// readSQL returns the SQL of -c, or reads it from stdin.
func readSQL(given string, stdin io.Reader) (string, error) {
	if given == "-" {
		b, err := io.ReadAll(io.LimitReader(stdin, maxSQL+1))
		if err != nil || len(b) > maxSQL {
			return "", exit.Usagef("-c -: stdin cannot be read, or holds more than 4 MiB: %v", err)
		}
		given = strings.TrimPrefix(string(b), "\ufeff")
	}
	if strings.TrimSpace(given) == "" {
		return "", exit.Usagef("-c: there is no SQL")
	}
	return given, nil
}

// paramValues returns the values of the parameters, including defaults, and reports which values the caller gave.
func paramValues(question string, params []queries.Param, list []string) (values map[string]string,
	given map[string]bool, err error) {
	values, given = map[string]string{}, map[string]bool{}
	var names []string
	for _, p := range params {
		names, values[p.Name] = append(names, p.Name), p.Default
	}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		i := slices.Index(names, name)
		switch {
		case !ok || name == "":
			err = exit.Usagef("--param %q is not name=value", text)
		case given[name]:
			err = exit.Usagef("--param %s is given twice", name)
		case len(names) == 0:
			err = exit.Usagef("--param %s: %s has no parameters", name, question)
		case i < 0:
			err = exit.Usagef("--param %s: %s has no such parameter; it has %s", name, question,
				strings.Join(names, ", "))
		case !paramKind(params[i].Default).fits(value):
			err = exit.Usagef("--param %s=%s: not %s such as %s%s", name, value, paramKind(params[i].Default).name,
				params[i].Default, strings.TrimSuffix("; "+params[i].Doc, "; "))
		}
		if err != nil {
			return nil, nil, err
		}
		values[name], given[name] = value, true
	}
	return values, given, nil
}

// valueKind is a type that parameters can have, for example a day or a number.
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

// paramKind returns the type of a parameter's default. Values that the caller gives must have the same type.
func paramKind(value string) valueKind {
	return valueKinds[slices.IndexFunc(valueKinds, func(k valueKind) bool { return k.fits(value) })]
}
