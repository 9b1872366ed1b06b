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
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unique"

	"spendsync/cmd/internal/cli"
	"spendsync/load/duck"
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

const engineMemory = "96MiB"

// Own are the operator's own numbers. It must be closed.
type Own struct {
	Inputs   string          // hash of the files' content, of the columns and the campaigns
	Payouts  []schema.Payout // nil: there is no file of payouts, or it cannot be used
	Files    []*File
	Findings []Finding
	Refused  []schema.RefusedRow // the rows that were set aside, without account and run

	db *duck.Scratch
}

// Remark is the form of a finding that ends no run with exit 4.
const Remark = "remark"

// Finding is something that ends a run with exit 4 until it is mended or, if it has a form, until that is accepted with
// its size.
type Finding struct {
	Message, Form string
	Size          int64
}

// File is one file, and what became of it.
type File struct {
	Path     string
	Modified time.Time
	IsExport bool
	Columns  []string // of its heading, or of the line that is nearest to one
	Declared []string // ours with theirs, as the variable has them
	Variable string   // declares a known tracker's heading; empty: none is known, or it is declared
	Remark   string   // on that tracker
	Rows     int      // below the heading, of them:
	Fit      int      // rows of the account that are taken
	Misfits  int      // rows of the account whose source is missing or not known, or that cannot be read
	Others   int      // rows of other campaigns
	Totals   int      // rows that add up others
	First    []string // rows as they are stored
	Wrong    error    // why nothing of it is taken; nil: it is
}

// reader is one reading of the files.
type reader struct {
	Options
	declaration
	*Own
}

var (
	//go:embed cells.sql
	cellsSQL string
	//go:embed judge.sql
	judgeSQL string
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
	if r.db, err = duck.OpenScratch(ctx, duck.Options{Memory: engineMemory, Threads: 1, TempDir: o.TempDir},
		o.Warehouse); err != nil {
		return nil, err
	}
	if err = r.take(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r.Own, nil
}

// Close removes what the reading has written.
func (o *Own) Close() error { return o.db.Close() }

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
			r.find(Finding{Message: f.Path + ": " + f.Wrong.Error()})
		}
	}
	if err := r.db.Exec(ctx, takeSQL); err != nil {
		return err
	}
	for row, err := range r.db.Rows(ctx, `SELECT day - DATE '1970-01-01', until - DATE '1970-01-01', campaign, creative,
		source, amount FROM payout_line WHERE NOT EXISTS (FROM payout_wrong) ORDER BY day, file, n`) {
		if err != nil {
			return err
		}
		to := countOf(row[1])
		if r.Payouts = append(r.Payouts, schema.Payout{FromDate: schema.Date(atoi(row[0])),
			ToDate: schema.Null[schema.Date]{V: schema.Date(to.V), Valid: to.Valid}, CampaignID: strings.Clone(row[2]),
			CreativeID: strings.Clone(row[3]), SourceID: strings.Clone(row[4]), Payout: moneyOf(row[5])}); isBroken {
			r.Payouts = nil
		}
	}
	for row, err := range r.db.Rows(ctx, "SELECT file + 1, n, day - DATE '1970-01-01', why, raw FROM set_aside") {
		if err != nil {
			return err
		}
		r.Refused = append(r.Refused, schema.RefusedRow{Stream: "tracker", Page: int64(atoi(row[0])),
			RowNumber: int64(atoi(row[1])), ReportDate: cmp.Or(schema.Date(atoi(row[2])), r.Today),
			Reason: strings.Clone(row[3]), Raw: strings.Clone(row[4])})
	}
	return r.findAll(ctx, "", "FROM finding")
}

func (r *reader) find(f Finding) {
	f.Message = strings.ReplaceAll(f.Message, r.db.Dir+string(filepath.Separator), "")
	r.Findings = append(r.Findings, f)
}

// findAll adds the findings that a query gives.
func (r *reader) findAll(ctx context.Context, of, query string) error {
	for row, err := range r.db.Rows(ctx, query) {
		if err != nil {
			return err
		}
		r.find(Finding{Form: strings.Clone(row[0]), Size: int64(atoi(row[1])), Message: of + row[2]})
	}
	return nil
}

// know gives the engine the account's IDs, and what the service counted on finished days of the last weeks.
func (r *reader) know(ctx context.Context) error {
	statements := []string{cellsSQL, fmt.Sprintf("SET VARIABLE decimal = '%s'; SET VARIABLE dates = '%s'; "+
		"SET VARIABLE today = DATE '%s'", r.setting("decimal"), r.setting("dates"), r.Today)}
	for id := range r.Campaigns {
		statements = append(statements, "INSERT INTO known VALUES ('campaign', "+schema.QuoteText(id)+")")
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
		in, _, err := cli.OpenFile(f.Path, MaxSize)
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
	Rows  []schema.TrackerDay // in key order
	Files string              // names of the files that give it, without their folders
	Lost  int                 // rows that an older file has and the newest one lacks
}

// Days streams the days of the exports in order, each complete. Nothing follows an error.
func (o *Own) Days(ctx context.Context) iter.Seq2[Day, error] {
	return func(yield func(Day, error) bool) {
		for given, err := range o.db.Rows(ctx, "SELECT day, files, lost FROM given WHERE wrong IS NULL ORDER BY day") {
			d := Day{}
			if err == nil {
				d, err = o.day(ctx, given)
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// day reads the rows of a day: the engine keeps all rows of an answer in memory.
func (o *Own) day(ctx context.Context, given []string) (d Day, err error) {
	d.Files, d.Lost = strings.Clone(given[1]), atoi(given[2])
	if d.Day, err = schema.ParseDate(given[0]); err != nil {
		return d, err
	}
	for row, err := range o.db.Rows(ctx, "SELECT campaign, source, clicks, conversions, approved, held, refused, "+
		"revenue FROM tracker_row WHERE day = DATE '"+given[0]+"' ORDER BY campaign, source") {
		if err != nil {
			return d, err
		}
		d.Rows = append(d.Rows, schema.TrackerDay{ReportDate: d.Day, CampaignID: unique.Make(row[0]).Value(),
			SourceID: unique.Make(row[1]).Value(), Clicks: countOf(row[2]), Conversions: countOf(row[3]),
			Approved: countOf(row[4]), Held: countOf(row[5]), Refused: countOf(row[6]), Revenue: moneyOf(row[7])})
	}
	return d, nil
}

// atoi returns a whole number of the engine's; NULL is 0.
func atoi(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

func countOf(text string) schema.Null[int64] {
	return schema.Null[int64]{V: int64(atoi(text)), Valid: text != ""}
}

func moneyOf(text string) schema.Null[schema.Money] {
	m, _, err := schema.ParseMoney([]byte(text))
	return schema.Null[schema.Money]{V: m, Valid: err == nil}
}
