package caveat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// Kind is the kind of a finding.
type Kind string

// The kinds.
const (
	FanOut     Kind = "fan-out"     // a join repeats values that are added up
	Versions   Kind = "versions"    // versions are counted as things
	Mean       Kind = "mean"        // a mean or sum of what cannot be added up
	Now        Kind = "now"         // current settings next to the money of past days
	Clock      Kind = "clock"       // the reader's clock or time zone
	Difference Kind = "differences" // new values of changes are added up
	Unread     Kind = "unread"      // settings that could not be confirmed
	Open       Kind = "open"        // a day that was not over
	Young      Kind = "young"       // conversions are still to come
	Missing    Kind = "missing"     // a day was not read
	Lost       Kind = "lost"        // a day can no longer be read
	NoDay      Kind = "no day"      // the conditions leave no stored day
	Before     Kind = "before"      // the conditions include days before the first stored one
	Null       Kind = "null"        // a sum leaves unknown numbers out
)

// Finding is a caveat in one line, with its cure.
type Finding struct {
	Kind Kind
	Text string
}

// Check is a question to the store that decides whether there is a finding. Its answer is empty, or has one value,
// which
// takes the place of %s in the text.
type Check struct {
	Kind Kind
	SQL  string
	Text string
	// SinceDay makes the SQL depend on the first day that the statement uses: it is put in the place of $day.
	SinceDay bool
}

// Statement is the result for one statement.
type Statement struct {
	Findings []Finding
	Checks   []Check
	Days     []Days
}

func (s *Statement) add(k Kind, format string, args ...any) {
	f := Finding{k, fmt.Sprintf(format, args...)}
	if !slices.Contains(s.Findings, f) {
		s.Findings = append(s.Findings, f)
	}
}

func (s *Statement) addCheck(c Check) {
	if !slices.Contains(s.Checks, c) {
		s.Checks = append(s.Checks, c)
	}
}

// Read reads a parse tree of json_serialize_sql.
func Read(tree []byte) (*Statement, error) {
	d := json.NewDecoder(bytes.NewReader(tree))
	d.UseNumber() // the places in the text are beyond a float's precision
	var parsed object
	if err := d.Decode(&parsed); err != nil {
		return nil, err
	}
	s := &Statement{}
	statements := list(parsed["statements"])
	if len(statements) != 1 {
		return s, nil
	}
	root := obj(obj(statements[0])["node"])
	r := &reader{}
	q := r.read(root, nil)
	for _, q := range r.queries {
		q.findFanOut(s)
		q.findVersions(s)
		q.findMeans(s)
		q.findDifferences(s)
		q.findSettingsOfNow(s)
		q.findUnread(s)
		q.findInstants(s)
	}
	findClock(s, root, r.queries)
	if q != nil {
		r.findDays(s, q)
	}
	return s, nil
}
