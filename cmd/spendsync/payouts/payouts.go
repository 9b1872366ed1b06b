package payouts

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/cmd/internal/cli"
	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// Options are what is read, and what is known of the account whose files they are.
type Options struct {
	Paths   []string    // files, or patterns of them
	Columns string      // value of SPENDSYNC_TRACKER_COLUMNS
	Today   schema.Date // in Chicago

	Campaigns map[string]bool // of the account
	Account   string          // in the warehouse
	Warehouse string          // DuckDB file with the account's days; empty: there is none, and no source is compared
	TempDir   string          // where the engine may write; empty: the system's
	Last      string          // inputs of the last reading
}

const engineMemory = "64MiB"

// Own are the operator's own numbers. It must be closed.
type Own struct {
	Inputs   string          // hash of the files' content, of the columns and the campaigns
	Payouts  []schema.Payout // nil: there is no file of payouts, or it cannot be used
	Days     []Day           // of the exports, in order
	Files    []*File
	Findings []manifest.OwnFinding // a run ends with exit 4 until they are mended or accepted
	Refused  []schema.RefusedRow   // the rows that were set aside, without account and run

	folder *durable.Scratch // has a file for each day
}

// Remark is the form of a finding that ends no run with exit 4.
const Remark = "remark"

// File is one file, and what became of it.
type File struct {
	Path     string
	Modified time.Time
	IsExport bool
	Columns  string // of its heading, and the declared ones as the variable has them; empty: it is not read
	Rows     string // the first ones as they are stored, and how many fit
	Variable string // declares a known tracker's heading; empty: none is known, or it is declared
	Remark   string // on that tracker
	Wrong    error  // why nothing of it is taken; nil: it is
}

// reader is one reading of the files.
type reader struct {
	Options
	declaration
	*Own
	db *duck.Scratch
}

var (
	//go:embed tables.sql
	tablesSQL string
	//go:embed heading.sql
	headingSQL string
	//go:embed cells.sql
	cellsSQL string
	//go:embed judge.sql
	judgeSQL string
	//go:embed verdict.sql
	verdictSQL string
	//go:embed take.sql
	takeSQL string
)

// Read reads the files, the oldest first. It returns nil if nothing differs from the last reading. Its error means that
// nothing could be read; everything else that is wrong is in the result.
func Read(ctx context.Context, o Options) (own *Own, err error) {
	r := &reader{Options: o, Own: &Own{Files: o.expand()}}
	if r.declaration, err = parseDeclaration(o.Columns); err != nil {
		return nil, err
	}
	if r.Inputs = o.inputs(r.Files); r.Inputs == o.Last {
		return nil, nil
	}
	if r.folder, err = durable.MakeScratch(o.TempDir); err != nil {
		return nil, err
	}
	if r.db, err = duck.OpenScratch(ctx, duck.Options{Memory: engineMemory, Threads: 1, TempDir: r.folder.Dir},
		o.Warehouse); err == nil {
		err = errors.Join(r.take(ctx), r.db.Close())
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r.Own, nil
}

// Close removes what the reading has written.
func (o *Own) Close() error { return o.folder.Remove() }

// take reads and judges the files, and then takes what they give together.
func (r *reader) take(ctx context.Context) error {
	if err := r.know(ctx); err != nil {
		return err
	}
	isBroken := false // a file that may be one of payouts cannot be used
	for id, f := range r.Files {
		var err error
		if f.Wrong, err = r.readFile(ctx, f, id); err != nil {
			return err
		}
		if f.Wrong != nil {
			isBroken = isBroken || !f.IsExport
			r.find("", 0, f.Path+": "+f.Wrong.Error())
		}
	}
	if err := r.db.Exec(ctx, takeSQL); err != nil {
		return err
	}
	for row, err := range r.db.Rows(ctx, "SELECT day - DATE '1970-01-01', files, lost FROM given") {
		if err != nil {
			return err
		}
		r.Days = append(r.Days, Day{Day: schema.Date(atoi(row[0])), Files: strings.Clone(row[1]), Lost: atoi(row[2])})
	}
	for i, d := range r.Days {
		var err error
		if r.Days[i].path, err = r.save(ctx, schema.TrackerDaily.Table, d.Day.String(), fmt.Sprintf(`SELECT
			day AS report_date, campaign AS campaign_id, source AS source_id, clicks, conversions, approved, held,
			refused, amount AS revenue FROM line WHERE is_export AND day = DATE '%s'
			ORDER BY ALL`, d.Day)); err != nil {
			return err
		}
	}
	var err, failed error
	if !isBroken {
		r.Payouts, err = rows(ctx, r, schema.PayoutHistory, `SELECT day AS from_date, until AS to_date,
			campaign AS campaign_id, creative AS creative_id, source AS source_id, amount AS payout FROM payout_line
			WHERE NOT EXISTS (FROM payout_wrong) ORDER BY day, file, n`)
	}
	r.Refused, failed = rows(ctx, r, schema.RefusedRows, `SELECT 'tracker' AS stream, file + 1 AS page,
		n AS row_number, coalesce(day, getvariable('today')) AS report_date, why AS reason, raw FROM set_aside`)
	return errors.Join(err, failed, r.findAll(ctx, "", "FROM finding"))
}

// save writes the rows of a query to a Parquet file of a table, whose other columns stay empty.
func (r *reader) save(ctx context.Context, t *schema.Table, name, query string) (path string, err error) {
	var none []string
	for _, c := range t.Columns {
		none = append(none, "NULL AS "+schema.Quote(c.Name))
	}
	written, path := filepath.Join(r.db.Dir, name), filepath.Join(r.folder.Dir, name)
	if err = r.db.Exec(ctx, fmt.Sprintf("COPY (SELECT %s WHERE false UNION ALL BY NAME (%s)) TO %s (FORMAT parquet)",
		strings.Join(none, ", "), query, schema.QuoteText(written))); err != nil {
		return "", err
	}
	return path, os.Rename(written, path)
}

// rows returns the rows of a query as those of a table.
func rows[R any](ctx context.Context, r *reader, t schema.TableOf[R], query string) ([]R, error) {
	path, err := r.save(ctx, t.Table, "rows", query)
	if err != nil {
		return nil, err
	}
	return parquet.ReadRows(path, t)
}

func (r *reader) find(form string, size int, message string) {
	message = cli.OneLine(strings.ReplaceAll(message, r.db.Dir+string(filepath.Separator), ""))
	r.Findings = append(r.Findings, manifest.OwnFinding{Note: form, Size: int64(size), Message: message})
}

// findAll adds the findings that a query gives.
func (r *reader) findAll(ctx context.Context, of, query string) error {
	for row, err := range r.db.Rows(ctx, query) {
		if err != nil {
			return err
		}
		r.find(strings.Clone(row[0]), atoi(row[1]), of+row[2])
	}
	return nil
}

// know gives the engine the account's IDs, and what the service counted on finished days of the last weeks.
func (r *reader) know(ctx context.Context) error {
	var declared []string
	for name, values := range r.declaration {
		declared = append(declared, fmt.Sprintf("'%s': %s", name, listOf(values)))
	}
	statements := []string{fmt.Sprintf("SET VARIABLE decimal = '%s'; SET VARIABLE dates = '%s'; SET VARIABLE today = "+
		"DATE '%s'; SET VARIABLE other_currency = %s; SET VARIABLE in_currency = %s; SET VARIABLE dir = %s; "+
		"SET VARIABLE declared = MAP {%s}::MAP(VARCHAR, VARCHAR[])", r.setting("decimal"), r.setting("dates"), r.Today,
		schema.QuoteText(foreignCurrency), schema.QuoteText(inCurrency), schema.QuoteText(r.db.Dir),
		strings.Join(declared, ", ")), cellsSQL, tablesSQL,
		"INSERT INTO known SELECT 'campaign', unnest(" + listOf(slices.Collect(maps.Keys(r.Campaigns))) + ")"}
	if r.Warehouse != "" {
		of := " FROM w.main.spend_daily WHERE account_id = " + schema.QuoteText(r.Account)
		statements = append(statements, "INSERT INTO known SELECT DISTINCT 'source', source_id"+of+
			" AND source_id <> ''", fmt.Sprintf("INSERT INTO service SELECT campaign_id, report_date, sum(clicks), "+
			"sum(conversions)%s AND report_date BETWEEN DATE '%s' AND DATE '%s' GROUP BY ALL", of,
			r.Today-schema.ReachDays, r.Today-2))
	}
	return errors.Join(copyTo(filepath.Join(r.db.Dir, "columns.csv"), strings.NewReader(columnsCSV)),
		copyTo(filepath.Join(r.db.Dir, "trackers.csv"), strings.NewReader(trackersCSV)), r.db.Exec(ctx, statements...))
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
				f.Modified = info.ModTime()
			}
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *File) int {
		return cmp.Or(a.Modified.Compare(b.Modified), cmp.Compare(a.Path, b.Path))
	})
	return slices.CompactFunc(all, func(a, b *File) bool { return a.Path == b.Path })
}

// inputs returns the hash of the files' content in their order, of the columns and the campaigns.
func (o Options) inputs(all []*File) string {
	h := sha256.New()
	fmt.Fprintln(h, o.Columns, slices.Sorted(maps.Keys(o.Campaigns)))
	for _, f := range all {
		in, err := cli.OpenFile(f.Path, MaxSize)
		if err == nil {
			_, err = io.Copy(h, in)
			err = errors.Join(err, in.Close())
		}
		fmt.Fprintln(h, f.Path, err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Day is one day of the exports.
type Day struct {
	Day   schema.Date
	Files string // names of the files that give it, without their folders
	Lost  int    // rows that an older file has and the newest one lacks

	path string // of its rows
}

// Rows returns all rows of the day in key order.
func (d Day) Rows() ([]schema.TrackerDay, error) {
	return parquet.ReadRows(d.path, schema.TrackerDaily)
}

// atoi returns a whole number of the engine's; NULL is 0.
func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
