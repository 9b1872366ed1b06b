package payouts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
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

	"spendsync/cmd/internal/cli"
	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// Options are the files to read, and facts about the account to which the files belong.
type Options struct {
	Paths   []string    // files, or patterns for files
	Columns string      // value of SPENDSYNC_TRACKER_COLUMNS
	Today   schema.Date // in Chicago

	Campaigns map[string]bool // of the account
	Account   string          // in the warehouse
	Warehouse string          // DuckDB file with the account's days; empty: sources are not compared
	TempDir   string          // where DuckDB may write; empty: the system's folder
	Last      string          // inputs of the last reading
}

const engineMemory = "64MiB"

// Own contains the operator's own numbers. The caller must close it.
type Own struct {
	Inputs   string          // hash of everything that the result depends on
	Payouts  []schema.Payout // nil if there is no file of payouts, or the file cannot be used
	Days     []Day           // of the exports, in order
	Files    []*File
	Findings []manifest.OwnFinding // while they are neither corrected nor accepted, a run ends with exit 4
	Refused  []schema.RefusedRow   // the rows that were set aside

	db *duck.Scratch // has the rows of the files
}

// Remark is the form (the kind) of a finding that does not end a run with exit 4.
const Remark = "remark"

// File is one file, with the result of reading it.
type File struct {
	Path     string
	IsExport bool
	// Columns has the columns of the heading, and the declared columns in the syntax of the variable. It is empty if
	// the file was not read.
	Columns string
	Rows    string // the first rows as they are stored, and the number of rows that fit
	// Variable is the value of the variable that would declare a known tracker's heading. It is empty if no tracker is
	// recognized, or its columns are declared.
	Variable string

	modified time.Time
	size     int64
}

// reader holds the options, the declared columns and the result while the files are read once.
type reader struct {
	Options
	declaration
	*Own
}

// files has the SQL statements and two tables. columns.csv lists our columns and, for each, the headings that are
// recognized even if SPENDSYNC_TRACKER_COLUMNS does not declare them; headings are in lower case, with _ between words.
// The values in a column of the kind currency or flag can cause the file to be refused. trackers.csv has a line for
// each tracker's export format; headings that make up one column together are joined by +.
//
//go:embed *.sql *.csv
var files embed.FS

// embedded returns the text of an embedded file.
func embedded(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Read reads the files, the oldest first. It returns nil if nothing has changed since the last reading. An error means
// that nothing could be read. All other problems are in the result.
func Read(ctx context.Context, o Options) (own *Own, err error) {
	r := &reader{Options: o, Own: &Own{Files: o.expand()}}
	if r.declaration, err = parseDeclaration(o.Columns); err != nil {
		return nil, err
	}
	if r.Inputs = o.inputs(r.Files); r.Inputs == o.Last {
		return nil, nil
	}
	if r.db, err = duck.OpenScratch(ctx, duck.Options{Memory: engineMemory, Threads: 1, TempDir: o.TempDir},
		o.Warehouse); err != nil {
		return nil, err
	}
	if err = r.take(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r.Own, nil
}

// Close removes the temporary files.
func (o *Own) Close() error { return o.db.Close() }

// take reads and judges the files, and then combines their rows.
func (r *reader) take(ctx context.Context) error {
	if err := r.tell(ctx); err != nil {
		return err
	}
	isBroken := false // whether a file that may contain payouts cannot be used
	for id, f := range r.Files {
		err, wrong := r.readFile(ctx, f, id), fault{}
		if errors.As(err, &wrong) {
			isBroken = isBroken || !f.IsExport
			r.find("", 0, f.Path+": "+wrong.Error())
		} else if err != nil {
			return err
		}
	}
	if err := r.db.Exec(ctx, embedded("take.sql")); err != nil {
		return err
	}
	days, err := r.db.Texts(ctx, "SELECT day - DATE '1970-01-01', files, lost FROM given")
	for _, d := range days {
		r.Days = append(r.Days, Day{Day: schema.Date(atoi(d[0])), Files: d[1], Lost: atoi(d[2])})
	}
	if !isBroken && err == nil {
		r.Payouts, err = rows(ctx, r.Own, schema.PayoutHistory, "FROM payout_row")
	}
	var failed error
	r.Refused, failed = rows(ctx, r.Own, schema.RefusedRows, "FROM refused_row")
	return errors.Join(err, failed, r.findAll(ctx, "", "FROM finding"))
}

// Rows returns all rows of a day of the exports, in key order.
func (o *Own) Rows(ctx context.Context, day schema.Date) ([]schema.TrackerDay, error) {
	return rows(ctx, o, schema.TrackerDaily, fmt.Sprintf("FROM export_row WHERE report_date = DATE '%s' ORDER BY ALL",
		day))
}

// rows returns the rows of a query as rows of a table. Columns that the query lacks stay empty.
func rows[R any](ctx context.Context, o *Own, t schema.TableOf[R], query string) ([]R, error) {
	var none []string
	for _, c := range t.Columns {
		none = append(none, "NULL AS "+schema.Quote(c.Name))
	}
	path := filepath.Join(o.db.Dir, "rows")
	if err := o.db.Exec(ctx, fmt.Sprintf("COPY (SELECT %s WHERE false UNION ALL BY NAME (%s)) TO %s (FORMAT parquet)",
		strings.Join(none, ", "), query, schema.QuoteText(path))); err != nil {
		return nil, err
	}
	return parquet.ReadRows(path, t)
}

func (r *reader) find(form string, size int, message string) {
	message = cli.OneLine(strings.ReplaceAll(message, r.db.Dir+string(filepath.Separator), ""))
	r.Findings = append(r.Findings, manifest.OwnFinding{Note: form, Size: int64(size), Message: message})
}

// findAll adds the findings that a query returns.
func (r *reader) findAll(ctx context.Context, of, query string) error {
	all, err := r.db.Texts(ctx, query)
	for _, f := range all {
		r.find(f[0], atoi(f[1]), of+f[2])
	}
	return err
}

// tell writes the declaration and the facts about the account into the scratch database.
func (r *reader) tell(ctx context.Context) error {
	declared, _ := json.Marshal(r.declaration)
	campaigns, _ := json.Marshal(slices.Collect(maps.Keys(r.Campaigns)))
	var statements []string
	for name, value := range map[string]string{"declared": string(declared), "decimal": r.setting("decimal"),
		"dates": r.setting("dates"), "today": r.Today.String(), "account": r.Account, "campaigns": string(campaigns),
		"other_currency": foreignCurrency, "in_currency": inCurrency, "currency_words": currencyWords,
		"dir": r.db.Dir} {
		statements = append(statements, "SET VARIABLE "+name+" = "+schema.QuoteText(value))
	}
	statements = append(statements, embedded("cells.sql"), embedded("tables.sql"),
		"CREATE TEMP TABLE raw (n BIGINT, bad VARCHAR, "+strings.Join(targets, " VARCHAR, ")+" VARCHAR)")
	if r.Warehouse != "" {
		statements = append(statements, embedded("account.sql"))
	}
	return errors.Join(os.CopyFS(r.db.Dir, files), r.db.Exec(ctx, statements...))
}

// expand returns the files that the paths and patterns name, the oldest first.
func (o Options) expand() (all []*File) {
	for _, path := range o.Paths {
		found, _ := filepath.Glob(path)
		if len(found) == 0 {
			found = []string{path}
		}
		for _, path := range found {
			f := &File{Path: path}
			if info, err := os.Stat(path); err == nil {
				f.modified, f.size = info.ModTime(), info.Size()
			}
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *File) int {
		return cmp.Or(a.modified.Compare(b.modified), cmp.Compare(a.Path, b.Path))
	})
	return slices.CompactFunc(all, func(a, b *File) bool { return a.Path == b.Path })
}

// inputs returns a hash of the columns, the campaigns, and the files' sizes and times of modification.
func (o Options) inputs(all []*File) string {
	text := fmt.Sprintln(o.Columns, slices.Sorted(maps.Keys(o.Campaigns)))
	for _, f := range all {
		text += fmt.Sprintln(f.Path, f.size, f.modified.UnixNano())
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

// Day is one day of the exports.
type Day struct {
	Day   schema.Date
	Files string // names of the files that have rows of the day, without their folders
	Lost  int    // number of rows that an older file has and the newest file lacks
}

// atoi returns the value of a whole number from DuckDB; NULL is 0.
func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
