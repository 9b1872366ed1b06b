package payouts

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
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
	if wrong, err = r.stage(ctx, t, id); wrong != nil || err != nil {
		return wrong, err
	}
	wrong, err = r.judge(ctx, t, f)
	if err == nil && wrong == nil {
		err = r.findAll(ctx, f.Path+": ", "FROM file_finding WHERE getvariable('is_export')")
	}
	return wrong, errors.Join(err, r.db.Exec(ctx, fmt.Sprintf(`INSERT INTO file VALUES (%d, %s, '%s');
		INSERT INTO set_aside SELECT file, n, day, why, raw FROM judged WHERE %t AND class = 'unread' ORDER BY n
			LIMIT 50;
		DELETE FROM line WHERE file = %[1]d AND NOT (%[4]t AND class IN ('fit', 'unknown')); DROP TABLE raw`,
		id, schema.QuoteText(f.Path), t.unit, wrong == nil)))
}

// layout returns the columns of the table raw that hold the declared cells, their positions in the file, and the
// statements that define the view cells, which reads their numbers. A column of texts is named like its target.
func (h *heading) layout() (columns []string, at []int, define string) {
	of := map[string][]string{} // expressions, by the column of cells
	var values, titles []string
	for _, c := range h.columns {
		for _, i := range h.at[c.name] {
			title, cell := schema.QuoteText("column "+h.list([]int{i})+": "), c.target
			if c.kind != "text" {
				cell = fmt.Sprintf("c%d", len(at))
			}
			columns, at = append(columns, cell), append(at, i)
			switch value := "value_" + cell; c.kind {
			case "count", "money":
				values = append(values, fmt.Sprintf("%s_of(%s) AS %s", c.kind, cell, value))
				of["wrong"] = append(of["wrong"], fmt.Sprintf("wrong_%s(%s, %s, %s)", c.kind, title, cell, value))
				cell = value
			case "currency", "flag":
				cell = fmt.Sprintf("wrong_%s(%s, %s)", c.kind, title, cell)
			}
			of[c.target] = append(of[c.target], cell)
		}
		if at := h.at[c.name]; at != nil {
			titles = append(titles, fmt.Sprintf("'%s': %s", c.target, schema.QuoteText("column "+h.list(at)+": ")))
		}
	}
	if of["conversions"] == nil && of["approved"] != nil && of["refused"] != nil { // those of each state are given
		of["conversions"] = slices.Concat(of["approved"], of["held"], of["refused"])
	}
	cells := "n, nullif(bad, '') AS bad, day, until, campaign, creative, source, state, concat_ws(',', " +
		strings.Join(columns, ", ") + ") AS raw"
	for _, target := range []string{"clicks", "conversions", "approved", "held", "refused", "amount"} {
		cells += ", " + cmp.Or(strings.Join(of[target], " + "), "NULL") + " AS " + target
	}
	for _, target := range []string{"currency", "cut", "wrong"} {
		cells += ", coalesce(NULL, " + strings.Join(append(of[target], "NULL"), ", ") + ") AS " + target
	}
	return columns, at, fmt.Sprintf("SET VARIABLE title = MAP {%s}; CREATE OR REPLACE TEMP VIEW cells AS SELECT %s "+
		"FROM (SELECT r.*%s FROM raw AS r LEFT JOIN id_cell AS i ON i.kind = 'campaign' AND i.cell = r.campaign "+
		"WHERE NOT %t OR i.cell IS NOT NULL OR bad <> '')", strings.Join(titles, ", "), cells,
		strings.Join(append([]string{""}, values...), ", "), h.isExport)
}

// stage gives the engine the declared cells of a table as texts, which it converts and judges.
func (r *reader) stage(ctx context.Context, t *table, id int) (wrong, err error) {
	columns, at, define := t.layout()
	path, types, cells := filepath.Join(r.db.Dir, "cells"), "", ""
	for k, column := range columns {
		types += fmt.Sprintf(", %s: 'VARCHAR'", column)
		cells += fmt.Sprintf(", of_parquet(%s) AS %s", schema.Quote(t.names[at[k]]), column)
	}
	from := fmt.Sprintf(`read_csv(%s, auto_detect=false, header=false, delim=',', quote='"', escape='"',
		nullstr='\x01', parallel=false, buffer_size=4194304, max_line_size=4194304,
		columns={n: 'BIGINT', bad: 'VARCHAR'%s})`, schema.QuoteText(path), types)
	if t.parquet != "" {
		from = fmt.Sprintf("(SELECT file_row_number + 1 AS n, '' AS bad%s FROM read_parquet(%s, "+
			"file_row_number = true, hive_partitioning = false))", cells, schema.QuoteText(t.parquet))
	} else if wrong = t.write(path, at); wrong != nil {
		return wrong, nil
	}
	none := ""
	for _, text := range []string{"day", "until", "campaign", "creative", "source", "state"} {
		if !slices.Contains(columns, text) {
			none += ", '' AS " + text
		}
	}
	return nil, r.db.Exec(ctx, fmt.Sprintf("CREATE TEMP TABLE raw AS SELECT *%s FROM %s", none, from), define,
		fmt.Sprintf("SET VARIABLE file = %d; SET VARIABLE is_export = %t; SET VARIABLE unit = '%s'", id, t.isExport,
			t.unit), judgeSQL, verdictSQL)
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
		cells[0], cells[1] = strconv.Itoa(rec.line), t.isBroken(rec.cells, last)
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
	why := ""
	for row, err := range r.db.Rows(ctx, "SELECT rows, fit, misfits, others, totals, why FROM tally, verdict") {
		if err != nil {
			return nil, err
		}
		f.Rows, f.Fit, f.Misfits, f.Others, f.Totals = atoi(row[0]), atoi(row[1]), atoi(row[2]), atoi(row[3]),
			atoi(row[4])
		why = strings.Clone(row[5])
	}
	if f.First, err = r.texts(ctx, "FROM first_line"); err != nil || why == "" {
		return nil, err
	}
	for _, kind := range []string{"campaign", "source"} {
		if rest, is := strings.CutPrefix(why, "{"+kind+"}"); is {
			why = r.seems(ctx, t, kind) + rest
		}
	}
	return errors.New(why), nil
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
