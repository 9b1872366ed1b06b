package payouts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/load/duck"
	"spendsync/schema"
)

// Options are what is read, and what is known of the account whose files they are.
type Options struct {
	Paths   []string          // files, or patterns of them
	Columns map[string]string // of an export, by our names; nil: its headings are known
	Format  Format
	Today   schema.Date // in Chicago

	Campaigns map[string]bool        // of the account; nil: they are not known, and no campaign is compared
	Sources   map[string]bool        // with spend; nil: they are not known
	Counts    map[CampaignDay]Counts // what the service counts; a number of 0 is not compared
	TempDir   string                 // where the engine may write; empty: the system's
	Memory    string                 // the engine's limit; empty: [DefaultMemory]
}

// DefaultMemory is the engine's limit: with it a million lines take some 190 MB of memory.
const DefaultMemory = "64MiB"

// MaxRefused is how many lines that were set aside are kept of one reading.
const MaxRefused = 50

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
	db      *duck.Scratch
	own     *Own
	files   []*file
	decimal []string // of each file
	refused int
	aside   map[string]int // lines that were set aside, by why
	failed  map[string]int // wrong cells and lines, by file
}

// Read reads the files. Its error means that nothing could be read; everything else that is wrong is in the result,
// which [Own.Days] adds to while it streams the rows of exports.
func Read(ctx context.Context, o Options) (own *Own, err error) {
	own = &Own{Notes: map[string]string{}}
	r := &reader{Options: o, own: own, aside: map[string]int{}, failed: map[string]int{}}
	own.r = r
	paths := r.expand()
	if r.db, err = duck.OpenScratch(ctx, duck.Options{Memory: cmp.Or(o.Memory, DefaultMemory), Threads: 1,
		TempDir: o.TempDir}, paths); err != nil {
		return nil, err
	}
	if err := r.db.Exec(ctx, createExport, "CREATE TEMP TABLE day_of(file INTEGER, text VARCHAR, day "+
		"INTEGER)"); err != nil {
		return nil, errors.Join(err, own.Close())
	}
	var payouts payoutFiles
	for _, path := range paths {
		if err := r.readSteady(ctx, path, &payouts); err != nil {
			if ctx.Err() != nil {
				return nil, errors.Join(ctx.Err(), own.Close())
			}
			own.Failures = append(own.Failures, path+": "+err.Error())
			payouts.broken = payouts.broken || !errors.Is(err, errExport) // it may be a file of payouts
		}
	}
	if own.Payouts, err = payouts.all(r); err != nil {
		own.Failures = append(own.Failures, err.Error())
	}
	if err := r.examine(ctx); err != nil {
		return nil, errors.Join(err, own.Close())
	}
	return own, nil
}

// Close removes what the reading has written.
func (o *Own) Close() error { return o.r.db.Close() }

// expand returns the files that the paths and patterns name.
func (r *reader) expand() (paths []string) {
	for _, p := range r.Paths {
		found := []string{p}
		if _, err := os.Lstat(p); err != nil && strings.ContainsAny(p, "*?[") {
			if found, err = filepath.Glob(p); err != nil || len(found) == 0 {
				r.own.Failures = append(r.own.Failures, p+": no file has a name like this")
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

// attempts is how often a file is read that changes meanwhile.
const attempts = 3

// readSteady reads a file again if it changes while it is read.
func (r *reader) readSteady(ctx context.Context, path string, payouts *payoutFiles) error {
	for attempt := range attempts {
		before, err := os.Stat(path)
		if err != nil {
			return err
		}
		mine, number := *payouts, len(r.files)
		err = r.readFile(ctx, path, number*attempts+attempt, &mine)
		after, statErr := os.Stat(path)
		isSteady := statErr == nil && before.Size() == after.Size() && before.ModTime().Equal(after.ModTime())
		if isSteady && err == nil {
			*payouts = mine
			return nil
		}
		r.files, r.decimal = r.files[:number], r.decimal[:number]
		if err := r.db.Exec(ctx, fmt.Sprintf("DELETE FROM export WHERE file = %d", number),
			fmt.Sprintf("DELETE FROM day_of WHERE file = %d", number)); err != nil {
			return err
		}
		if isSteady {
			return err
		}
		if attempt < attempts-1 {
			time.Sleep(time.Second)
		}
	}
	return fmt.Errorf("it changed while it was read, %d times; write it under another name and rename it", attempts)
}

// readFile reads a file and decides by its heading what it is.
func (r *reader) readFile(ctx context.Context, path string, id int, payouts *payoutFiles) error {
	f, err := r.open(ctx, path, id)
	if err != nil {
		return err
	}
	for i, name := range f.names {
		base, _, numbered := strings.Cut(name, "_")
		if numbered && i > 0 && twice(f.names[:i], name) {
			return fmt.Errorf("the column %q is there twice", base)
		}
	}
	if isExport(f.names, r.Columns) {
		if err := r.readExport(ctx, f); err != nil {
			return exportError{err}
		}
		return nil
	}
	return payouts.read(ctx, r, f)
}

// exportError is an error of a file that is an export, and thus no file of payouts.
type exportError struct{ error }

func (exportError) Is(target error) bool { return target == errExport }

var errExport = errors.New("an export")

// twice reports whether the engine numbered a name because another column has it, too.
func twice(before []string, name string) bool {
	i := strings.LastIndexByte(name, '_')
	if _, err := strconv.Atoi(name[i+1:]); err != nil {
		return false
	}
	return slices.ContainsFunc(before, func(n string) bool { return strings.EqualFold(n, name[:i]) })
}

// setAside keeps a line that is not used, or not used in full.
func (r *reader) setAside(stream string, day schema.Date, file, line int, reason, field, raw string) {
	if r.refused++; r.refused > MaxRefused {
		return
	}
	r.own.Refused = append(r.own.Refused, schema.RefusedRow{Stream: stream, ReportDate: cmp.Or(day, r.Today),
		Page: int64(file + 1), RowNumber: int64(line), Reason: reason, Field: field, Raw: raw})
}

// fail names a wrong cell or line of a file, the first of many.
func (r *reader) fail(f *file, problem string) {
	const shown = 5
	if r.failed[f.path]++; r.failed[f.path] <= shown {
		r.own.Failures = append(r.own.Failures, f.path+": "+problem)
	}
}

// sumUp adds how many wrong lines were not named, and what was set aside.
func (r *reader) sumUp() {
	const shown = 5
	for _, path := range slices.Sorted(maps.Keys(r.failed)) {
		if n := r.failed[path]; n > shown {
			r.own.Failures = append(r.own.Failures, fmt.Sprintf("%s: and %d more, see ops.refused_row", path, n-shown))
		}
	}
	for _, why := range slices.Sorted(maps.Keys(r.aside)) {
		r.own.Said = append(r.own.Said, fmt.Sprintf("set aside: %s (%d)", why, r.aside[why]))
	}
	clear(r.failed)
	clear(r.aside)
}

// some names IDs, the first of many.
func some(ids map[string]bool) string {
	const shown = 3
	names := slices.Sorted(maps.Keys(ids))
	if len(names) > shown {
		names = append(names[:shown:shown], fmt.Sprintf("and %d more", len(names)-shown))
	}
	return strings.Join(names, ", ")
}

// rawOf is a line as it is kept.
func rawOf(names, cells []string) string {
	line := map[string]string{}
	for i, name := range names {
		line[name] = shown(cells[i])
	}
	b, err := json.Marshal(line)
	if err != nil {
		return strings.Join(cells, ",")
	}
	return string(b)
}
