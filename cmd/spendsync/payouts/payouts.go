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

// Options has the files to read, and what must be known about the account.
type Options struct {
	Paths   []string    // files, or patterns for files
	Columns string      // value of SPENDSYNC_TRACKER_COLUMNS
	Today   schema.Date // in Chicago

	Campaigns map[string]bool // of the account
	Account   string          // in the warehouse
	Warehouse string          // DuckDB file with the account's days; if empty, sources are not checked
	TempDir   string          // folder for DuckDB's temporary files; if empty, the system's folder is used
	Last      string          // inputs of the last reading
}

// Own has the numbers that were read from the operator's own files. The caller must close it.
type Own struct {
	Inputs   string          // hash of what the result depends on, see Options.inputs
	Payouts  []schema.Payout // nil if there is no usable file of payouts
	Files    []*File
	Findings []manifest.OwnFinding // problems in the files; until corrected or accepted, runs end with exit 4
	Refused  []schema.RefusedRow   // rows that were set aside, because they do not fit

	db *duck.Scratch // scratch database with the rows of all files
}

// Remark is the value of the field Note in findings that do not change the exit code.
const Remark = "remark"

// File is one of the operator's files, and what was understood of it. If the file could not be read, all fields but
// Path may be empty.
type File struct {
	Path     string
	IsExport bool
	// Columns describes all columns, and which of them are used, in the syntax of SPENDSYNC_TRACKER_COLUMNS.
	Columns string
	// Variable is the value of SPENDSYNC_TRACKER_COLUMNS that would declare the columns of a recognized tracker's
	// export. It is empty if no tracker was recognized, or if the columns are declared already.
	Variable string
	Rows     string // the first rows as they would be stored, and how many rows fit

	modified time.Time
	size     int64
}

// reader reads all files once. It has the options and the declared columns, and collects the result.
type reader struct {
	Options
	declaration
	*Own
}

// files has the SQL statements and two tables. columns.csv lists our columns, each with the headings that are
// recognized without SPENDSYNC_TRACKER_COLUMNS, in lower case with _ between words. A value in a column of the kind
// currency or flag can make the file unusable. trackers.csv has a line for the export format of each tracker; headings
// whose columns are added up are joined by +.
//
//go:embed *.sql *.csv
var files embed.FS

// embedded returns the text of an embedded file. It panics if there is no such file.
func embedded(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Read reads the files, from the oldest to the newest. It returns nil if nothing has changed since the last reading. An
// error means that the reading as a whole failed. Problems with single files are in the result.
func Read(ctx context.Context, o Options) (own *Own, err error) {
	r := &reader{Options: o, Own: &Own{Files: o.expand()}}
	if r.declaration, err = parseDeclaration(o.Columns); err != nil {
		return nil, err
	}
	if r.Inputs = o.inputs(r.Files); r.Inputs == o.Last {
		return nil, nil
	}
	if r.db, err = duck.OpenScratch(ctx, duck.Options{Memory: "128MiB", Threads: 1, TempDir: o.TempDir},
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

// take reads each file and decides whether it can be used, and then combines the rows of all usable files.
func (r *reader) take(ctx context.Context) error {
	if err := r.tell(ctx); err != nil {
		return err
	}
	isBroken := false // whether an unusable file may be the file of payouts
	for id, f := range r.Files {
		err, wrong := r.readFile(ctx, f, id), fault{}
		if errors.As(err, &wrong) {
			isBroken = isBroken || !f.IsExport
			r.find("", 0, f.Path+": "+wrong.Error())
		} else if err != nil {
			return err
		}
	}
	statements := []string{embedded("take.sql")}
	if r.Warehouse != "" {
		statements = []string{embedded("stored.sql"), embedded("take.sql")}
	}
	if err := r.db.Exec(ctx, statements...); err != nil {
		return err
	}
	var err, failed error
	if !isBroken {
		r.Payouts, err = rows(ctx, r.Own, schema.PayoutHistory, "FROM payout_row")
	}
	r.Refused, failed = rows(ctx, r.Own, schema.RefusedRows, "FROM refused_row")
	findings, wrong := r.db.Texts(ctx, "FROM finding")
	for _, f := range findings {
		r.find(f[0], atoi(f[1]), f[2])
	}
	return errors.Join(err, failed, wrong)
}

// EachDay calls a function with each day of the exports and all of its rows, in key order.
func (o *Own) EachDay(ctx context.Context, use func(Day, []schema.TrackerDay) error) error {
	days, err := o.db.Texts(ctx, "SELECT day - DATE '1970-01-01', files, loss, percent FROM given")
	for _, d := range days {
		day := Day{schema.Date(atoi(d[0])), d[1], d[2], atoi(d[3])}
		rows, err := rows(ctx, o, schema.TrackerDaily, fmt.Sprintf(
			"FROM export_row WHERE report_date = DATE '%s' ORDER BY ALL", day.Day))
		if err == nil {
			err = use(day, rows)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// rows returns the result of a query as rows of a stored table. Columns that the query lacks are NULL.
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

// tell passes the declared columns and what is known of the account to the scratch database, as SQL variables and
// tables.
func (r *reader) tell(ctx context.Context) error {
	declared, _ := json.Marshal(r.declaration)
	campaigns, _ := json.Marshal(slices.Collect(maps.Keys(r.Campaigns)))
	var statements []string
	for name, value := range map[string]string{"declared": string(declared), "decimal": r.setting("decimal"),
		"dates": r.setting("dates"), "today": r.Today.String(), "account": r.Account, "campaigns": string(campaigns),
		"dir": r.db.Dir} {
		statements = append(statements, "SET VARIABLE "+name+" = "+schema.QuoteText(value))
	}
	statements = append(statements, embedded("cells.sql"), embedded("tables.sql"))
	if r.Warehouse != "" {
		statements = append(statements, embedded("account.sql"))
	}
	return errors.Join(os.CopyFS(r.db.Dir, files), r.db.Exec(ctx, statements...))
}

// expand returns the files that match the configured paths and patterns, the oldest first. A path without a match stays
// in the list, so that reading it fails.
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

// inputs returns a hash of what the result depends on: the declared columns, the campaigns, and each file's path, size
// and time of modification. It does not read the files.
func (o Options) inputs(all []*File) string {
	text := fmt.Sprintln(o.Columns, slices.Sorted(maps.Keys(o.Campaigns)))
	for _, f := range all {
		text += fmt.Sprintln(f.Path, f.size, f.modified.UnixNano())
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

// Day is a day that the exports have rows of. If the newest file lacks rows of the stored day or of an older file, or
// most of the stored revenue, Loss says how many or how much, and Percent is the share of the loss.
type Day struct {
	Day     schema.Date
	Files   string // names, without folders, of the files with rows of the day
	Loss    string
	Percent int
}

// atoi converts a whole number of a DuckDB result. NULL gives 0.
func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
