package payouts

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"spendsync/schema"
)

// readFile reads and judges a file, and takes the rows that fit. wrong is why none is taken.
func (r *reader) readFile(ctx context.Context, f *File, id int) (wrong, err error) {
	t, wrong := r.open(ctx, f)
	if t != nil {
		f.IsExport, f.Columns = t.isExport && len(t.missing) == 0, t.names
		undeclared := []string(nil)
		if f.Declared, undeclared = t.declared(); wrong == nil && len(undeclared) > 0 {
			r.find(Finding{Form: Remark, Message: f.Path + ": not declared, and so not read: " +
				strings.Join(undeclared, ", ")})
		}
		if f.Variable, f.Remark = r.suggest(ctx, t, wrong); f.Variable != "" {
			wrong = fmt.Errorf("%w; declare %s", wrong, f.Variable)
		}
	}
	if wrong != nil {
		return wrong, nil
	}
	if wrong, err = r.stage(ctx, t); wrong != nil || err != nil {
		return wrong, err
	}
	if wrong, err = r.judge(ctx, t, f); wrong != nil || err != nil {
		return wrong, err
	}
	if err = r.findAll(ctx, f.Path+": ", "FROM file_finding WHERE getvariable('is_export')"); err != nil {
		return nil, err
	}
	return nil, r.db.Exec(ctx, fmt.Sprintf(`INSERT INTO file VALUES (%d, %s, '%s');
		INSERT INTO line SELECT %[1]d, %[4]t, * EXCLUDE (raw, class) FROM judged WHERE class IN ('fit', 'unknown');
		INSERT INTO set_aside SELECT %[1]d, n, day, why, raw FROM judged WHERE class = 'unread' ORDER BY n LIMIT 50`,
		id, schema.QuoteText(f.Path), t.unit, t.isExport))
}

// targets are the columns of the view cells: what combines several expressions, and the value without any.
var targets = []struct{ name, join, none string }{{"day", "", "''"}, {"day_at", "", "''"}, {"until", "", "''"},
	{"until_at", "", "''"}, {"campaign", "", "''"}, {"creative", "", "''"}, {"source", "", "''"},
	{"state", "", "NULL::VARCHAR"}, {"state_at", "", "''"}, {"currency", ",", "NULL"}, {"cut", ",", "NULL"},
	{"wrong", ",", "NULL"},
	{"clicks", "+", "NULL::BIGINT"}, {"conversions", "+", "NULL::BIGINT"}, {"approved", "+", "NULL::BIGINT"},
	{"held", "+", "NULL::BIGINT"}, {"refused", "+", "NULL::BIGINT"}, {"amount", "+", "NULL::DECIMAL(18, 6)"}}

// view returns the SELECT of the view cells over the columns c0, c1, ... of raw. at[i] is the position of c<i> in the
// file.
func (h *heading) view() (query string, at []int) {
	var raw []string
	var steps [4][]string       // columns of numbers that each need those before
	of := map[string][]string{} // expressions for each target
	for _, c := range h.columns {
		for _, i := range h.at[c.name] {
			k, cell := len(at), fmt.Sprintf("c%d", len(at))
			title := schema.QuoteText(`"` + strings.Join(strings.Fields(h.names[i]), " ") + `"`)
			switch at, raw = append(at, i), append(raw, cell); c.kind {
			case "count", "money":
				for level, columns := range []string{"plain_%[2]s(c%[1]d) AS q%[1]d",
					"CASE WHEN q%[1]d IS NULL THEN bare(c%[1]d) END AS b%[1]d",
					"point(b%[1]d) AS r%[1]d, comma(b%[1]d) AS s%[1]d",
					"as_%[2]s(r%[1]d) AS p%[1]d, as_%[2]s(s%[1]d) AS d%[1]d"} {
					steps[level] = append(steps[level], fmt.Sprintf(columns, k, c.kind))
				}
				of["wrong"] = append(of["wrong"], fmt.Sprintf("wrong_number(%s, c%[2]d, q%[2]d, p%[2]d, d%[2]d, "+
					"'%[3]s')", title, k, c.kind))
				cell = fmt.Sprintf("coalesce(q%[1]d, number(p%[1]d, d%[1]d))", k)
			case "currency", "flag":
				cell = fmt.Sprintf("wrong_%s(%s, %s)", c.kind, title, cell)
			}
			of[c.target] = append(of[c.target], cell)
			of[c.target+"_at"] = []string{"'column ' || " + title + " || ': '"}
		}
	}
	if of["conversions"] == nil && of["approved"] != nil && of["refused"] != nil { // those of each state are given
		of["conversions"] = slices.Concat(of["approved"], of["held"], of["refused"])
	}
	query = "SELECT n, nullif(bad, '') AS bad, concat_ws(',', " + strings.Join(raw, ", ") + ") AS raw"
	for _, t := range targets {
		expression := strings.Join(of[t.name], " "+t.join+" ")
		if t.join == "," {
			expression = "coalesce(NULL, " + cmp.Or(expression, t.none) + ")"
		}
		query += ", " + cmp.Or(expression, t.none) + " AS " + t.name
	}
	from := "raw"
	for _, columns := range steps {
		from = "(SELECT " + strings.Join(append([]string{"*"}, columns...), ", ") + " FROM " + from + ")"
	}
	return query + " FROM " + from, at
}

// stage gives the engine the declared cells of a table as texts, which it converts and judges.
func (r *reader) stage(ctx context.Context, t *table) (wrong, err error) {
	query, at := t.view()
	path, types := filepath.Join(r.db.Dir, "cells"), "n: 'BIGINT', bad: 'VARCHAR'"
	if wrong = t.write(path, at); wrong != nil {
		return wrong, nil
	}
	for k := range at {
		types += fmt.Sprintf(", c%d: 'VARCHAR'", k)
	}
	return nil, r.db.Exec(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE raw AS FROM read_csv(%s, auto_detect=false,
		header=false, delim=',', quote='"', escape='"', nullstr='\x01', parallel=false, buffer_size=4194304,
		max_line_size=4194304, columns={%s})`, schema.QuoteText(path), types), "CREATE OR REPLACE TEMP VIEW cells AS "+
		query, fmt.Sprintf("SET VARIABLE is_export = %t; SET VARIABLE unit = '%s'; SET VARIABLE declared = ['%s']",
		t.isExport, t.unit, strings.Join(slices.Collect(maps.Keys(t.at)), "', '")), judgeSQL)
}

// write writes the declared cells of the records behind the heading, each with its line.
func (t *table) write(path string, at []int) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	buffered := bufio.NewWriterSize(out, 1<<16)
	w, last := csv.NewWriter(buffered), slices.Max(at)
	cells := make([]string, 2+len(at))
	for rec, err := range t.records {
		if err != nil {
			return err
		}
		if rec.line <= t.line || slices.Equal(rec.cells, t.names) {
			continue
		}
		cells[0], cells[1] = strconv.Itoa(rec.line-t.above), t.isBroken(rec.cells, last)
		for k, i := range at {
			if cells[2+k] = ""; i < len(rec.cells) {
				cells[2+k] = strings.Trim(rec.cells[i], " \t\r\n\u00a0")
			}
		}
		if err = w.Write(cells); err != nil {
			return err
		}
	}
	w.Flush()
	return errors.Join(w.Error(), buffered.Flush())
}

// judge decides whether a file is taken. wrong is why it is not, with the likely cause first.
func (r *reader) judge(ctx context.Context, t *table, f *File) (wrong, err error) {
	is := map[string]int{}
	for row, err := range r.db.Rows(ctx, "FROM tally") {
		if err != nil {
			return nil, err
		}
		is[strings.Clone(row[0])] = atoi(row[1])
	}
	causes, err := r.texts(ctx, "FROM cause")
	if err != nil {
		return nil, err
	}
	if f.First, err = r.texts(ctx, "FROM first_line"); err != nil {
		return nil, err
	}
	f.Fit, f.Others, f.Totals = is["fit"], is["other"], is["total"]
	f.Misfits = is["unknown"] + is["unread"] + is["unsourced"]
	f.Rows = f.Fit + f.Misfits + f.Others + f.Totals + is["refused"]
	switch mine := is["fit"] + is["unknown"] + is["unread"]; {
	case is["refused"] > 0:
		return errors.New(causes[0]), nil
	case !t.isExport && is["unread"] > 0:
		return errors.New(strings.Join(causes, "; ")), nil
	case !t.isExport && mine == 0:
		return errors.New("there is a heading and no line; a file without payouts ends none: to end one, give it a " +
			"last day (to), or remove its line"), nil
	case !t.isExport:
	case len(r.Campaigns) == 0:
		return errors.New("the account has no campaign yet with which its rows could be compared"), nil
	case mine+is["unsourced"] == 0 && is["other"] > 0:
		return fmt.Errorf("%s; none of its %d rows is of a campaign of this account", r.seems(ctx, t, "campaign"),
			is["other"]), nil
	case mine+is["unsourced"] == 0:
		return errors.New("it has a heading and no row of a day"), nil
	case mine == 0:
		return fmt.Errorf("column %s is empty in every row of this account", t.list(t.at["source"])), nil
	case is["misfit"] > 0:
		n, what := is["unread"], "do not fit"
		if is["unknown"] > n {
			n, what = is["unknown"], "have a source that it does not know"
		}
		if len(causes) == 0 {
			causes = []string{r.seems(ctx, t, "source")}
		}
		return fmt.Errorf("%s; %d of %d rows of this account (%d %%) %s", causes[0], n, mine, (100*n+mine-1)/mine,
			what), nil
	}
	return nil, nil
}

// texts returns the texts that a query gives.
func (r *reader) texts(ctx context.Context, query string) (texts []string, err error) {
	for row, err := range r.db.Rows(ctx, query) {
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.Clone(row[0]))
	}
	return texts, nil
}
