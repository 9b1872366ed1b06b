package payouts

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"spendsync/schema"
)

// column is a column that is read, by our name.
type column struct {
	name string
	kind string // of its cells: day, id, state, count or money
}

var payoutColumns = []column{{"from", "day"}, {"to", "day"}, {"campaign", "id"}, {"creative", "id"}, {"source", "id"},
	{"payout", "money"}}

// exportColumns are those of a tracker's export.
var exportColumns = []column{{"day", "day"}, {"campaign", "id"}, {"source", "id"}, {"state", "state"},
	{"clicks", "count"}, {"conversions", "count"}, {"approved", "count"}, {"held", "count"}, {"refused", "count"},
	{"revenue", "money"}}

// stage makes the file's rows a table, and its cells of our columns a view: c.
func (r *reader) stage(ctx context.Context, f *file, columns []column) error {
	selected := []string{`"#" AS n`}
	for _, c := range columns {
		text := "''"
		if i, ok := f.at[c.name]; ok {
			text = "coalesce(trim(" + schema.Quote(f.names[i]) + ", ' \t\r\n\u00a0'), '')"
		}
		switch c.kind {
		case "id": // kept as a number with a fraction
			text = "regexp_replace(" + text + `, '\.0e0$', '')`
		case "state":
			text = `regexp_replace(lower(` + text + `), '\s+', '_', 'g')`
		}
		selected = append(selected, text+" AS "+schema.Quote(c.name))
	}
	return r.db.Exec(ctx, fmt.Sprintf("CREATE TEMP VIEW cell%d AS SELECT %s FROM raw%[1]d", f.id,
		strings.Join(selected, ", ")))
}

// decideNumbers decides the decimal mark of a file: by the numbers that are read, and if they leave two readings, by
// its other columns.
func (r *reader) decideNumbers(ctx context.Context, f *file, columns []column) (err error) {
	if f.decimal = r.Format.Decimal; f.decimal != "" {
		return nil
	}
	kinds := map[int]string{} // by place in the file
	for _, c := range columns {
		if i, ok := f.at[c.name]; ok {
			kinds[i] = c.kind
		}
	}
	cells := map[bool][]string{} // by whether they are read
	for i, name := range f.names {
		if kind := kinds[i]; kind == "" || kind == "count" || kind == "money" {
			cells[kind != ""] = append(cells[kind != ""], fmt.Sprintf("{'name': %s, 'cell': %s, 'is_count': %t}",
				schema.QuoteText(name), schema.Quote(name), kind == "count"))
		}
	}
	var ambiguous error
	if f.decimal, ambiguous, err = r.mark(ctx, f, cells[true]); err != nil || f.decimal != "" || ambiguous == nil {
		return err
	}
	if f.decimal, _, err = r.mark(ctx, f, cells[false]); err != nil || f.decimal == "" {
		return fmt.Errorf("%w, and no other number of the file decides; set %s=decimal=. or decimal=,", ambiguous,
			FormatVariable)
	}
	return nil
}

// mark returns the decimal mark that some cells have, and a cell that has two readings, as an error.
func (r *reader) mark(ctx context.Context, f *file, cells []string) (mark string, ambiguous, err error) {
	if cells == nil {
		return "", nil, nil
	}
	seen := map[string]string{} // where a mark is
	for row, err := range r.db.Rows(ctx, fmt.Sprintf(`SELECT mark, n, first.name, first.cell, digits(first.point),
			digits(first.comma)
		FROM (SELECT mark, min(n) AS n,
				arg_min({'name': name, 'cell': cell, 'point': point, 'comma': comma}, n) AS first
			FROM (SELECT *, mark_of(point, comma) AS mark
				FROM (SELECT * REPLACE (of_kind(point, is_count) AS point, of_kind(comma, is_count) AS comma)
					FROM (SELECT *, plain(bare) AS point, plain(pointed(bare, ',')) AS comma
						FROM (SELECT *, bare(cell) AS bare FROM (SELECT "#" AS n, unnest([%s], max_depth := 2)
							FROM raw%d) WHERE regexp_matches(cell, '[.,]') AND NOT regexp_matches(cell, '[eE]')))))
			WHERE mark IS NOT NULL GROUP BY mark)`, strings.Join(cells, ", "), f.id)) {
		if err != nil {
			return "", nil, err
		}
		seen[row[0]] = fmt.Sprintf("%s, column %s: %q", f.placeOf(row[1]), row[2], row[3])
		if row[0] == "both" {
			ambiguous = fmt.Errorf("%s may be %s or %s", seen["both"], row[4], row[5])
		}
	}
	switch point, comma := seen["."], seen[","]; {
	case point != "" && comma != "":
		err = fmt.Errorf("its numbers have two forms: %s has a decimal point, %s a decimal comma; set %s=decimal=. or "+
			"decimal=,", point, comma, FormatVariable)
	case point != "":
		mark = "."
	case comma != "":
		mark = ","
	}
	return mark, ambiguous, err
}

// decideDays reads the days of a file. The days decide the order of day and month unless it is given.
func (r *reader) decideDays(ctx context.Context, f *file, columns []column) error {
	var cells []string
	for _, c := range columns {
		if c.kind == "day" {
			cells = append(cells, fmt.Sprintf("SELECT n, %s AS cell FROM cell%d", schema.Quote(c.name), f.id))
		}
	}
	if err := r.db.Exec(ctx, fmt.Sprintf(`INSERT INTO day_of SELECT %d, cell, min(n), plain_day(cell), day_first(cell),
		month_first(cell), is_hour(cell), NULL FROM (%s) WHERE cell <> '' GROUP BY cell`, f.id,
		strings.Join(cells, " UNION ALL "))); err != nil {
		return err
	}
	f.order = r.Format.DayOrder
	for row, err := range r.db.Rows(ctx, fmt.Sprintf(`
		SELECT arg_min(cell, n) FILTER (day_first <> month_first), min(n) FILTER (day_first <> month_first),
			arg_min(day_first, n) FILTER (day_first <> month_first),
			arg_min(month_first, n) FILTER (day_first <> month_first),
			count(*) FILTER (month_first IS NULL AND day_first IS NOT NULL) > 0,
			count(*) FILTER (day_first IS NULL AND month_first IS NOT NULL) > 0
		FROM day_of WHERE file = %d`, f.id)) {
		switch {
		case err != nil:
			return err
		case f.order != "" || row[0] == "":
		case row[4] == row[5]:
			return fmt.Errorf("%s: the day %q may be %s or %s; set %s=day=%s or day=%s", f.placeOf(row[1]), row[0],
				row[2], row[3], FormatVariable, dayFirst, monthFirst)
		case row[4] == "true":
			f.order = dayFirst
		default:
			f.order = monthFirst
		}
	}
	read := map[string]string{"": "coalesce(plain, day_first, month_first)", dayFirst: "coalesce(plain, day_first)",
		monthFirst: "coalesce(plain, month_first)"}[f.order]
	return r.db.Exec(ctx, fmt.Sprintf("UPDATE day_of SET day = %s WHERE file = %d AND NOT is_hour", read, f.id))
}

// readCell is SQL for the value of a cell; NULL: it cannot be read.
func (f *file) readCell(c column) string {
	switch c.kind {
	case "day":
		return schema.Quote(c.name+"_of") + ".day"
	case "count", "money":
		return "c." + schema.Quote("read_"+c.name)
	}
	return "c." + schema.Quote(c.name)
}

// wrong is SQL for what is wrong with a cell; NULL: nothing is.
func (f *file) wrong(c column) string {
	cell := "c." + schema.Quote(c.name)
	switch c.kind {
	case "day":
		day := schema.Quote(c.name + "_of")
		return "CASE WHEN " + day + ".day IS NULL THEN day_wrong(" + cell + ", coalesce(" + day + ".is_hour, false), " +
			schema.QuoteText(f.order) + ") END"
	case "state":
		return "state_wrong(" + cell + ")"
	case "count", "money":
		return c.kind + "_wrong(" + cell + ", " + f.readCell(c) + ")"
	}
	return "NULL"
}

// readCells makes a view of the file's cells with their values, and returns it, as c, with its days.
func (r *reader) readCells(ctx context.Context, f *file, columns []column) (from string, err error) {
	steps := make([][]string, 3)
	value := fmt.Sprintf("SELECT * FROM cell%d", f.id)
	from = fmt.Sprintf("value%d AS c", f.id)
	for _, c := range columns {
		switch name := schema.Quote("read_" + c.name); c.kind {
		case "day":
			from += fmt.Sprintf(" LEFT JOIN day_of AS %s ON %[1]s.file = %[2]d AND %[1]s.cell = c.%[3]s",
				schema.Quote(c.name+"_of"), f.id, schema.Quote(c.name))
		case "count", "money":
			value = fmt.Sprintf("SELECT *, bare(%s) AS %s FROM (%s)", schema.Quote(c.name), name, value)
			for i, step := range []string{"pointed(%s, '" + f.decimal + "')", "plain(%s)", "as_" + c.kind + "(%s)"} {
				steps[i] = append(steps[i], fmt.Sprintf(step+" AS %[1]s", name))
			}
		}
	}
	for _, s := range steps {
		value = "SELECT * REPLACE (" + strings.Join(s, ", ") + ") FROM (" + value + ")"
	}
	return from, r.db.Exec(ctx, fmt.Sprintf("CREATE TEMP VIEW value%d AS %s", f.id, value))
}

// readRejects walks the lines that the engine could not split.
func (r *reader) readRejects(ctx context.Context, f *file, reject func(n int, line, why string)) error {
	if f.rejects == "" {
		return nil
	}
	if f.isCut {
		reject(0, "", "a quote does not end: a line is cut, perhaps the last one")
	}
	for row, err := range r.db.Rows(ctx, "SELECT line, any_value(csv_line), any_value(error_type), "+
		"any_value(error_message) FROM "+f.rejects+" GROUP BY line ORDER BY line") {
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(row[0])
		if err != nil {
			return err
		}
		f.rejected = append(f.rejected, n)
		why := map[string]string{"INVALID ENCODING": "it is not UTF-8 text",
			"MISSING COLUMNS":  fmt.Sprintf("it has fewer values than the %d columns of the heading", len(f.names)),
			"TOO MANY COLUMNS": fmt.Sprintf("it has more values than the %d columns of the heading", len(f.names)),
			"UNQUOTED VALUE":   "a quote in it does not end"}[row[2]]
		if why == "" {
			why = strings.ToLower(firstLine(row[3]))
		}
		reject(n, strings.TrimSpace(strings.ToValidUTF8(row[1], "�")), why)
	}
	return nil
}
