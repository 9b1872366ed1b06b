package payouts

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"spendsync/load/duck"
	"spendsync/schema"
)

// Options are what is read, and what is known of the account whose files they are.
type Options struct {
	Paths   []string          // files, or patterns of them
	Columns map[string]string // of an export, by our names; nil: its headings are known
	Format  Format
	Today   schema.Date // in Chicago

	Campaigns map[string]bool // of the account; nil: they are not known, and no campaign is compared
	Account   string          // in the warehouse
	Warehouse string          // DuckDB file with the account's days; empty: there is none, and no source is compared
	TempDir   string          // where the engine may write; empty: the system's
	Memory    string          // the engine's limit; empty: [DefaultMemory]
}

// Format is how numbers and days are written where a file leaves two readings.
type Format struct {
	Decimal  string // "." or ","; empty: the numbers of the file decide
	DayOrder string // dayFirst or monthFirst; empty: the days of the file decide
}

const (
	dayFirst   = "DD/MM/YYYY"
	monthFirst = "MM/DD/YYYY"
)

// FormatVariable is the variable that [ParseFormat] reads.
const FormatVariable = "SPENDSYNC_TRACKER_FORMAT"

// ParseFormat reads the value of SPENDSYNC_TRACKER_FORMAT: decimal=, and day=DD/MM/YYYY, with a space between them.
func ParseFormat(text string) (f Format, err error) {
	for _, part := range strings.Fields(text) {
		name, value, _ := strings.Cut(part, "=")
		switch {
		case name == "decimal" && (value == "." || value == ","):
			f.Decimal = value
		case name == "day" && (value == dayFirst || value == monthFirst):
			f.DayOrder = value
		default:
			return f, fmt.Errorf("%s=%q: %q is none of decimal=. decimal=, day=%s day=%s", FormatVariable, text, part,
				dayFirst, monthFirst)
		}
	}
	return f, nil
}

// DefaultMemory is the engine's limit.
const DefaultMemory = "64MiB"

const (
	maxRefused = 50      // lines that were set aside are kept of one reading
	maxPayouts = 100_000 // lines
	maxShown   = 5       // wrong cells and lines of a file are named
)

// Own are the operator's own numbers. It must be closed.
type Own struct {
	Payouts []schema.Payout // nil: there is no file of payouts, or it cannot be used
	Rows    int64           // of exports that are used
	From    schema.Date     // first and last day of these rows
	To      schema.Date
	Hash    string // of the bytes of the exports

	Failures []string            // what could not be used: it ends a run with exit 4
	Notes    map[string]string   // differences whose data is used, by the names of notes
	Said     []string            // what else a reader of the result should know
	Refused  []schema.RefusedRow // the lines that were set aside, without account and run

	r *reader
}

// reader is one reading of the files.
type reader struct {
	Options
	db       *duck.Scratch
	own      *Own
	files    map[int]*file  // that are read, by ID
	aside    map[string]int // lines that were set aside and are no error, by why
	failed   map[string]int // wrong cells and lines, by file
	isBroken bool           // a file that may be one of payouts could not be read
}

//go:embed read.sql
var readSQL string

// Read reads the files. Its error means that nothing could be read; everything else that is wrong is in the result.
func Read(ctx context.Context, o Options) (own *Own, err error) {
	own = &Own{Notes: map[string]string{}}
	r := &reader{Options: o, own: own, files: map[int]*file{}, aside: map[string]int{}, failed: map[string]int{}}
	own.r = r
	paths := r.expand()
	if r.db, err = duck.OpenScratch(ctx, duck.Options{Memory: cmp.Or(o.Memory, DefaultMemory), Threads: 1,
		TempDir: o.TempDir}, o.Warehouse); err != nil {
		return nil, err
	}
	err = r.db.Exec(ctx, readSQL)
	if err == nil {
		err = r.know(ctx)
	}
	for i, path := range paths {
		if err == nil {
			err = r.readOne(ctx, i, path)
		}
	}
	if err == nil {
		err = r.sumUp(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return own, nil
}

// Close removes what the reading has written.
func (o *Own) Close() error { return o.r.db.Close() }

// know adds the campaigns and sources of the account, and what the service counted on finished days of the last weeks.
func (r *reader) know(ctx context.Context) error {
	var statements, ids []string
	for _, id := range slices.Sorted(maps.Keys(r.Campaigns)) {
		ids = append(ids, "('campaign', "+schema.QuoteText(id)+")")
	}
	if len(ids) > 0 {
		statements = append(statements, "INSERT INTO known VALUES "+strings.Join(ids, ", "))
	}
	if r.Warehouse != "" {
		of := " FROM w.main.spend_daily WHERE account_id = " + schema.QuoteText(r.Account)
		statements = append(statements, "INSERT INTO known SELECT DISTINCT 'source', source_id"+of+
			" AND source_id <> ''", fmt.Sprintf("INSERT INTO service SELECT campaign_id, report_date, sum(clicks), "+
			"sum(conversions)%s AND report_date BETWEEN DATE '%s' AND DATE '%s' GROUP BY ALL", of,
			r.Today-schema.ReachDays, r.Today-2))
	}
	return r.db.Exec(ctx, statements...)
}

// expand returns the files that the paths and patterns name.
func (r *reader) expand() (paths []string) {
	for _, p := range r.Paths {
		found := []string{p}
		if _, err := os.Lstat(p); err != nil && strings.ContainsAny(p, "*?[") {
			if found, err = filepath.Glob(p); err != nil || len(found) == 0 {
				r.own.fail("%s: no file has a name like this", p)
			}
		}
		for _, f := range found {
			if abs, err := filepath.Abs(f); err == nil {
				f = abs
			}
			if !slices.Contains(paths, f) {
				paths = append(paths, f)
			}
		}
	}
	return paths
}

// readOne reads a file. What is wrong with the file is in the result.
func (r *reader) readOne(ctx context.Context, id int, path string) error {
	f := &file{path: path, id: id, first: 2, unit: "line"}
	err := r.readFile(ctx, f)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	// The folder has another name at each reading, and a finding that differs makes a generation.
	r.own.fail("%s: %s", path, strings.ReplaceAll(err.Error(), r.db.Dir+string(filepath.Separator), ""))
	r.isBroken = r.isBroken || !f.isExport // it may be a file of payouts
	delete(r.files, id)
	return r.db.Exec(ctx, fmt.Sprintf("DELETE FROM export WHERE file = %d", id))
}

// readFile reads a file, and decides by its heading what it is.
func (r *reader) readFile(ctx context.Context, f *file) (err error) {
	if err := r.open(ctx, f); err != nil {
		return err
	}
	for i, name := range f.names {
		if slices.ContainsFunc(f.names[:i], func(n string) bool { return strings.EqualFold(n, name) }) {
			return fmt.Errorf("the column %q is there twice", name)
		}
	}
	if err := r.db.Exec(ctx, fmt.Sprintf(`CREATE TEMP TABLE raw%d AS SELECT row_number() OVER () AS "#", *
		FROM (%s)`, f.id, f.from)); err != nil {
		return errors.New(firstLine(err.Error()))
	}
	columns, unread := payoutColumns, []string(nil)
	if f.isExport = isExport(f.names, r.Columns); f.isExport {
		columns = exportColumns
		if f.at, unread, err = placesOf(f.names, r.Columns); err != nil {
			return r.withHint(ctx, f, "campaign", err)
		}
	} else if f.at, err = payoutPlaces(f.names); err != nil {
		return err
	}
	r.files[f.id] = f
	for _, step := range []func(context.Context, *file, []column) error{r.stage, r.decideNumbers, r.decideDays} {
		if err := step(ctx, f, columns); err != nil {
			return err
		}
	}
	if !f.isExport {
		return r.readPayouts(ctx, f)
	}
	if err := r.readRejects(ctx, f, func(n int, line, why string) {
		r.refuse(f, refusal{line: n, why: why, raw: line, then: "it is set aside"})
	}); err != nil {
		return err
	}
	r.sayHeld(f, unread)
	return r.readExport(ctx, f)
}

// sayHeld says whether the revenue that is read includes conversions on hold, as Keitaro's does.
func (r *reader) sayHeld(f *file, unread []string) {
	has := func(name string) bool {
		return slices.ContainsFunc(f.names, func(n string) bool { return plain(n) == name })
	}
	i, ok := f.at["revenue"]
	switch {
	case !ok:
	case slices.ContainsFunc(unread, func(n string) bool { return plain(n) == "revenue" }):
		r.own.say("%s: the column revenue is not read, for it includes conversions on hold; %s is", f.path, f.names[i])
	case plain(f.names[i]) == "revenue" && has("leads") && has("sales"):
		r.own.say("%s: the column %s includes conversions on hold (leads); sale_revenue is that of the approved ones",
			f.path, f.names[i])
	}
}

// sumUp completes the result when every file is read.
func (r *reader) sumUp(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(r.files)) {
		if f := r.files[id]; f.isExport {
			r.own.Hash += f.hash
		}
	}
	for row, err := range r.db.Rows(ctx, "SELECT count(*), min(day) - DATE '1970-01-01', max(day) - DATE '1970-01-01' "+
		"FROM export") {
		if err != nil {
			return err
		}
		from, _ := strconv.Atoi(row[1])
		to, _ := strconv.Atoi(row[2])
		r.own.Rows, _ = strconv.ParseInt(row[0], 10, 64)
		r.own.From, r.own.To = schema.Date(from), schema.Date(to)
	}
	if r.own.To > r.Today+1 { // a tracker's day may begin before Chicago's
		r.own.Notes["tracker.days-to-come"] = fmt.Sprintf("the exports have rows of days to come, such as %s: are day "+
			"and month read in the right order (%s)?", r.own.To, FormatVariable)
	}
	for _, path := range slices.Sorted(maps.Keys(r.failed)) {
		if n := r.failed[path]; n > maxShown {
			r.own.fail("%s: and %d more, see ops.refused_row", path, n-maxShown)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(r.aside)) {
		r.own.say("set aside: %s (%d)", why, r.aside[why])
	}
	return errors.Join(r.takePayouts(ctx), r.compareCounts(ctx))
}

// refusal is a line or cell that is not used.
type refusal struct {
	line       int    // 0: it is not known
	day        string // of the line, in days since 1970; empty: it has none
	field, raw string
	why        string
	then       string // what follows; empty: it is no error, and counted
}

// refuse keeps a line or cell that is not used, and names it, the first of many.
func (r *reader) refuse(f *file, no refusal) {
	if len(r.own.Refused) < maxRefused {
		date, _ := strconv.Atoi(no.day)
		r.own.Refused = append(r.own.Refused, schema.RefusedRow{Stream: "tracker", ReportDate: cmp.Or(
			schema.Date(date), r.Today), Page: int64(f.id + 1), RowNumber: int64(no.line), Reason: no.why,
			Field: no.field, Raw: strings.Clone(no.raw)})
	}
	if no.then == "" {
		r.aside[no.why]++
		return
	}
	if r.failed[f.path]++; r.failed[f.path] > maxShown {
		return
	}
	place := ""
	if no.line > 0 {
		place = fmt.Sprintf("%s %d: ", f.unit, no.line)
	}
	if no.field != "" {
		place += fmt.Sprintf("column %s: ", f.names[f.at[no.field]])
	} else if no.raw != "" {
		no.then += fmt.Sprintf(": %.80q", no.raw)
	}
	r.own.fail("%s: %s%s; %s", f.path, place, no.why, no.then)
}

func (o *Own) fail(format string, args ...any) {
	o.Failures = append(o.Failures, fmt.Errorf(format, args...).Error())
}

func (o *Own) say(format string, args ...any) { o.Said = append(o.Said, fmt.Sprintf(format, args...)) }

// list names problems, the first of many.
func list(problems []string) string {
	const shown = 20
	if len(problems) > shown {
		problems = append(problems[:shown:shown], fmt.Sprintf("and %d more", len(problems)-shown))
	}
	return strings.Join(problems, "; ")
}
