package service

import (
	_ "embed"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"spendsync/schema"
)

//go:embed service.yaml
var embedded []byte

// Service is a set of assumptions about the advertising service. A nil Service stands for the assumptions in
// service.yaml. A Service is immutable, so several goroutines may use it.
type Service struct {
	lines   map[string]line
	columns map[string]string // keys that may occur in the report's replies, with the column that each stands for
	zone    *time.Location    // zone of the times that the service sends without a zone; nil: unknown
}

// line holds the values under one key of the service file.
type line struct {
	written []string // the names or texts
	list    bool     // whether several names are allowed
}

var embeddedService = sync.OnceValue(func() *Service {
	lines, err := parse(embedded)
	s := &Service{lines: map[string]line{}}
	for _, l := range lines {
		s.lines[l.key] = line{written: l.values, list: !isText(l.key)}
	}
	if err == nil {
		err = s.finish()
	}
	if err != nil {
		panic(err) // service.yaml is wrong, which a test would have found
	}
	return s
})

// isText reports whether a line of the service file must have a single text, for example a path. Other lines may list
// several possible names for a key in a reply.
func isText(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	return slices.Contains([]string{"paths", "paging", "report_query"}, section) ||
		key == "currency.code" || key == "times.zone" || key == accountID || key == totalRows
}

// accountID names the line that holds the ID of the account. Operators need the line if the service's replies do not
// name the account of the API key.
const accountID = "account.id"

// reportColumns is the key of the line with the columns to request for the rows of a day. totalRows is the key of the
// line that declares which rows total_rows counts. An operator's value for either line replaces the embedded value.
const reportColumns, totalRows = "report.columns", "report.total_rows"

// The values of totalRows.
const (
	countsRows    = "rows"       // every row
	countsSpend   = "with_spend" // the rows with spend
	countsNothing = "none"       // something else
)

// Default returns the embedded Service.
func Default() *Service { return embeddedService() }

func (s *Service) orDefault() *Service {
	if s == nil {
		return Default()
	}
	return s
}

// With returns a Service with the lines of s and of an operator's file. If both name a key of the replies, the
// operator's names are tried first. If the key of the operator's line ends in ".only", the embedded names are not
// tried. A single text, for example a path, replaces the embedded text. An error is an [*Error].
func (s *Service) With(text []byte) (*Service, error) {
	s = s.orDefault()
	laid, err := parse(text)
	if err != nil {
		return nil, err
	}
	out := &Service{lines: maps.Clone(s.lines)}
	at := map[string]int{}
	for _, l := range laid {
		name, only := strings.CutSuffix(l.key, ".only")
		builtIn, ok := out.lines[name]
		switch {
		case ok && at[name] > 0:
			return nil, &Error{Line: l.number, Key: l.key, Reason: fmt.Sprintf("it is in line %d, too", at[name])}
		case !ok:
			return nil, &Error{Line: l.number, Key: l.key, Reason: "there is no such key", Unknown: true}
		case l.list && !builtIn.list:
			return nil, &Error{Line: l.number, Key: l.key, Reason: "a list, where one text belongs"}
		case slices.Contains(l.values, "") && l.key != "times.zone":
			return nil, &Error{Line: l.number, Key: l.key, Reason: "an empty name"}
		case len(l.values) == 0:
			return nil, &Error{Line: l.number, Key: l.key, Reason: "an empty list; leave the line out to keep the " +
				"names that are built in"}
		}
		at[name] = l.number
		values := l.values
		if builtIn.list && !only && name != reportColumns {
			values = slices.Concat(values, slices.DeleteFunc(slices.Clone(builtIn.written), func(text string) bool {
				return slices.Contains(values, text)
			}))
		}
		out.lines[name] = line{written: values, list: builtIn.list}
	}
	if err := out.finish(); err != nil {
		err.Line = at[err.Key]
		return nil, err
	}
	return out, nil
}

// Keys returns the keys that the lines of a service file may have, sorted.
func (s *Service) Keys() []string { return slices.Sorted(maps.Keys(s.orDefault().lines)) }

// Names returns the names or texts in the line with the given key, in the order in which they are tried. It panics if
// there is no such line.
func (s *Service) Names(key string) []string { return s.orDefault().line(key).written }

// Text returns the first or only text in the line with the given key. It panics if there is no such line.
func (s *Service) Text(key string) string { return s.orDefault().line(key).written[0] }

func (s *Service) line(key string) line {
	l, ok := s.lines[key]
	if !ok {
		panic("service.yaml has no " + key)
	}
	return l
}

// Column returns the report column with the given name in a reply: a key of a row, or a name in the list of columns. ok
// is false if no column has this name.
func (s *Service) Column(name string) (column string, ok bool) {
	column, ok = s.orDefault().columns[name]
	return column, ok
}

// ReportColumns returns the columns to request for the rows of a day, by spendsync's names.
func (s *Service) ReportColumns() []string { return s.Names(reportColumns) }

// CountsRows reports whether the report's total_rows is declared to be the number of all rows.
func (s *Service) CountsRows() bool { return s.Text(totalRows) == countsRows }

// CountsRowsWithSpend reports whether total_rows is declared to be the number of rows with spend.
func (s *Service) CountsRowsWithSpend() bool { return s.Text(totalRows) == countsSpend }

// Zone returns the zone of the times that the service sends without a zone; nil: unknown.
func (s *Service) Zone() *time.Location { return s.orDefault().zone }

// rules are the checks for the texts of a line, by the line's key or section. A check returns what is wrong with a
// text, or "".
var rules = map[string]func(name, text string) string{
	"paths": oddPath, "times.forms": oddLayout, "times.zoneless": oddLayout, "times.days": oddLayout,
	"times.zone": func(_, text string) string {
		_, err := time.LoadLocation(text)
		return unless(err == nil && text != "Local", "%q is not the name of a zone such as America/Chicago", text)
	},
	reportColumns: func(_, text string) string {
		return unless(schema.ReportColumnNamed(text) != nil, "%q is no column of a day's rows: "+
			strings.Join(schema.ReportNames(schema.IsOfRow), ", "), text)
	},
	totalRows: func(_, text string) string {
		return unless(slices.Contains([]string{countsRows, countsSpend, countsNothing}, text), "%q is none of "+
			strings.Join([]string{countsRows, countsSpend, countsNothing}, ", "), text)
	},
}

func oddLayout(_, text string) string {
	_, err := time.Parse(text, time.Date(2026, 11, 24, 14, 5, 6, 0, time.UTC).Format(text))
	return unless(err == nil && strings.Contains(text, "2006"), "%q is not a layout such as "+time.RFC3339, text)
}

func unless(ok bool, format, text string) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, text)
}

// finish checks the lines, and builds the tables for frequent lookups.
func (s *Service) finish() *Error {
	s.columns = map[string]string{}
	for _, name := range s.lines["currency.keys"].written {
		s.columns[name] = "currency"
	}
	keyOf := map[string]string{} // maps a column's name in replies to the key of its line in the service file
	for _, name := range schema.ReportNames(schema.MayNotLack) {
		if !slices.Contains(s.lines[reportColumns].written, name) {
			return &Error{Key: reportColumns, Reason: "it lacks " + name + ", without which no row can be stored"}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.lines)) {
		l := s.lines[key]
		section, name, _ := strings.Cut(key, ".")
		for _, text := range l.written {
			for _, rule := range []string{key, section} {
				if check := rules[rule]; check != nil && check(name, text) != "" {
					return &Error{Key: key, Reason: check(name, text)}
				}
			}
			switch {
			case key == reportColumns || key == totalRows:
			case section == "report" && keyOf[text] != "":
				return &Error{Key: key, Reason: fmt.Sprintf("%s is a name of %s, too", text, keyOf[text])}
			case section == "report":
				keyOf[text], s.columns[text] = key, name
			}
		}
	}
	if zone := s.lines["times.zone"].written[0]; zone != "" {
		s.zone, _ = time.LoadLocation(zone)
	}
	return nil
}

// oddPath returns what is wrong with a path, which is the value of the line "paths.NAME" of the service file; empty:
// nothing.
func oddPath(name, path string) string {
	u, err := url.Parse(path)
	// All other paths lead to one campaign or creative, and so need its ID.
	named := !slices.Contains([]string{"report", "me", "limits", "balance", "campaigns"}, name)
	switch {
	case err != nil || u.Scheme != "" || u.Host != "" || u.RawQuery != "" || u.Fragment != "" ||
		slices.Contains(strings.Split(path, "/"), ".."):
		return fmt.Sprintf("%q is not a path below the base URL", path)
	case strings.Count(path, "{id}") > 1 || strings.Contains(path, "{id}") != named:
		if named {
			return fmt.Sprintf("%q has no {id} for the ID", path)
		}
		return fmt.Sprintf("%q has an {id}, and nothing to put there", path)
	}
	return ""
}

// Path returns the path in the line paths.name, relative to the base URL. It replaces {id} by the escaped ID.
func (s *Service) Path(name, id string) string {
	return strings.Replace(s.Text("paths."+name), "{id}", url.PathEscape(id), 1)
}
