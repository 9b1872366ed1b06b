package payouts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"spendsync/schema"
)

// maxDayRows is how many rows a day of an export may have: one day is in memory at a time.
const maxDayRows = 500_000

// totalRow is SQL for a row that is of no day.
const totalRow = "is_total_row(c.day, c.campaign, c.source)"

// readExport reads the rows of an export that are of a day. Of an export that is another's nothing is used.
func (r *reader) readExport(ctx context.Context, f *file) error {
	_, hasState := f.at["state"]
	_, hasRevenue := f.at["revenue"]
	read := map[string]string{}
	for _, c := range exportColumns {
		read[c.name] = f.readCell(c)
	}
	if _, ok := f.at["conversions"]; !ok { // those of each state may be given
		sum := read["approved"] + " + " + read["refused"]
		if _, ok := f.at["held"]; ok {
			sum += " + " + read["held"]
		}
		read["conversions"] = sum
	}
	if hasState { // a row has the conversions of one state: of the other states it has none
		for _, s := range []string{"approved", "held", "refused"} {
			read[s] = fmt.Sprintf("CASE WHEN state_of(c.state) = '%s' THEN %s WHEN state_of(c.state) <> '%[1]s' "+
				"THEN 0 END", s, read["conversions"])
		}
		if hasRevenue { // revenue of conversions that are not approved is not earned, and a chargeback takes it back
			read["revenue"] = "CASE WHEN state_of(c.state) <> 'approved' THEN least(coalesce(" + read["revenue"] +
				", 0), 0) ELSE " + read["revenue"] + " END"
		}
	}
	var selected []string
	for _, c := range exportColumns {
		selected = append(selected, read[c.name]+" AS "+schema.Quote(c.name))
	}
	from, err := r.readCells(ctx, f, exportColumns)
	if err != nil {
		return err
	}
	if err := r.db.Exec(ctx, fmt.Sprintf("INSERT INTO export SELECT %d, c.n, %s FROM %s WHERE day_of.day IS NOT NULL "+
		"AND NOT "+totalRow, f.id, strings.Join(selected, ", "), from)); err != nil {
		return err
	}
	rows, err := r.compare(ctx, f)
	if err != nil {
		return err
	}
	if err := r.findRows(ctx, f, from); err != nil {
		return err
	}
	if err := r.findCells(ctx, f, from); err != nil {
		return err
	}
	if rows == 0 {
		r.own.fail("%s: the export has a heading and no row of a day; the stored days stand", f.path)
	}
	return nil
}

// findRows sets rows aside that are of no day: totals, which are known without them, and rows without a readable day,
// which are an error. Empty lines are nothing.
func (r *reader) findRows(ctx context.Context, f *file, from string) error {
	day := exportColumns[0]
	for row, err := range r.db.Rows(ctx, fmt.Sprintf(`
		SELECT c.n, coalesce(day_of.day - DATE '1970-01-01', 0), `+totalRow+`,
			CASE WHEN c.day = '' THEN 'there is no day' ELSE %s END,
			regexp_replace(to_json(c)::VARCHAR, '(\d)e0"', '\1"', 'g')
		FROM %s WHERE (day_of.day IS NULL OR `+totalRow+`) AND NOT (c.day || c.campaign || c.source = ''
			AND is_nothing(c.clicks) AND is_nothing(c.conversions) AND is_nothing(c.approved) AND is_nothing(c.held)
			AND is_nothing(c.refused) AND is_nothing(c.revenue)) ORDER BY c.n`, f.wrong(day), from)) {
		if err != nil {
			return err
		}
		no := refusal{line: f.lineOf(row[0]), why: row[3], field: "day", raw: row[4], then: "the row is set aside"}
		if row[2] == "true" {
			no = refusal{line: no.line, day: row[1], why: "a row of totals", raw: no.raw}
		}
		r.refuse(f, no)
	}
	return nil
}

// findCells finds cells that cannot be read, and words for nothing: both are unknown.
func (r *reader) findCells(ctx context.Context, f *file, from string) error {
	var cells []string
	for _, c := range exportColumns[3:] {
		if _, ok := f.at[c.name]; ok {
			cells = append(cells, fmt.Sprintf("{'name': '%[1]s', 'cell': c.%[1]s, 'why': %[2]s}", c.name, f.wrong(c)))
		}
	}
	for row, err := range r.db.Rows(ctx, fmt.Sprintf(`
		SELECT n, name, shown(cell), why, is_nothing(cell) AND name <> 'state', day - DATE '1970-01-01'
		FROM (SELECT c.n, day_of.day, unnest([%s], max_depth := 2) FROM %s
			WHERE day_of.day IS NOT NULL AND NOT `+totalRow+`) WHERE why IS NOT NULL ORDER BY n, name`,
		strings.Join(cells, ", "), from)) {
		if err != nil {
			return err
		}
		no := refusal{line: f.lineOf(row[0]), day: row[5], field: row[1], why: row[3], then: "it is unknown",
			raw: fmt.Sprintf("{%q:%q}", row[1], row[2])}
		if row[4] == "true" {
			no.why, no.then = fmt.Sprintf("%q as %s is unknown", row[2], row[1]), ""
		}
		r.refuse(f, no)
	}
	return nil
}

// Day is one day of the exports.
type Day struct {
	Day   schema.Date
	Rows  []schema.TrackerDay // in key order
	Files string              // names of the files that have them, without their folders
}

// Days streams the days of the exports in order, each complete. Days of which the files contradict each other are left
// out, and named in the result.
func (o *Own) Days(ctx context.Context) iter.Seq2[Day, error] {
	return func(yield func(Day, error) bool) {
		var days []schema.Date
		var sources []string
		for row, err := range o.r.db.Rows(ctx, "SELECT day - DATE '1970-01-01', string_agg(DISTINCT file) FROM export "+
			"GROUP BY day ORDER BY 1") {
			if err != nil {
				yield(Day{}, err)
				return
			}
			n, _ := strconv.Atoi(row[0])
			var names []string
			for id := range strings.SplitSeq(row[1], ",") {
				i, _ := strconv.Atoi(id)
				names = append(names, filepath.Base(o.r.files[i].path))
			}
			slices.Sort(names)
			days, sources = append(days, schema.Date(n)), append(sources, strings.Join(names, ", "))
		}
		for i, day := range days {
			rows, unclear, err := o.r.day(ctx, day)
			if err == nil && unclear != nil {
				o.fail("%w", unclear)
				continue
			}
			if !yield(Day{day, rows, sources[i]}, err) || err != nil {
				return
			}
		}
	}
}

// day returns the rows of a day in key order, or why the day is not taken.
func (r *reader) day(ctx context.Context, day schema.Date) (rows []schema.TrackerDay, unclear, err error) {
	texts := map[string]string{}
	text := func(s string) string { // keeps no row in memory
		if _, ok := texts[s]; !ok {
			texts[strings.Clone(s)] = strings.Clone(s)
		}
		return texts[s]
	}
	count := func(s string) schema.Null[int64] {
		n, err := strconv.ParseInt(s, 10, 64)
		return schema.Null[int64]{V: n, Valid: err == nil} // a count that is unknown is an empty text
	}
	for row, err := range r.db.Rows(ctx, fmt.Sprintf("SELECT * EXCLUDE (day) FROM tracker_row WHERE day = DATE '%s' "+
		"ORDER BY campaign, source", day)) {
		if err != nil {
			return nil, nil, err
		}
		if row[8] == "true" {
			return nil, r.unclear(ctx, day, row[0], row[1]), nil
		}
		if len(rows) == maxDayRows {
			return nil, fmt.Errorf("%s has more than %d rows, and is not taken", day, maxDayRows), nil
		}
		t := schema.TrackerDay{ReportDate: day, CampaignID: text(row[0]), SourceID: text(row[1]),
			Clicks: count(row[2]), Conversions: count(row[3]), Approved: count(row[4]), Held: count(row[5]),
			Refused: count(row[6])}
		if row[7] != "" {
			m, _, wrong := schema.ParseMoney([]byte(row[7]))
			if wrong != nil {
				return nil, nil, wrong
			}
			t.Revenue = schema.Some(m)
		}
		rows = append(rows, t)
	}
	return rows, nil, err
}

// unclear says which rows of a key contradict each other.
func (r *reader) unclear(ctx context.Context, day schema.Date, campaign, source string) error {
	type line struct{ file, place, state, clicks, text string }
	var last []line
	key := fmt.Sprintf("%s, campaign %q, source %q", day, campaign, source)
	for row, err := range r.db.Rows(ctx, fmt.Sprintf(`SELECT file, n, state, clicks, hash(COLUMNS(* EXCLUDE (file, n)))
		FROM (SELECT * FROM export WHERE day = DATE '%s' AND campaign = %s AND source = %s) ORDER BY file, n`, day,
		schema.QuoteText(campaign), schema.QuoteText(source))) {
		if err != nil {
			return err
		}
		id, _ := strconv.Atoi(row[0])
		f := r.files[id]
		row = slices.Clone(row)
		is := line{f.path, f.placeOf(row[1]), row[2], row[3], strings.Join(row[4:], " ")}
		for _, was := range last {
			switch {
			case was.state == is.state && was.file == is.file:
				return fmt.Errorf("%s: %s and %s are both of %s: which counts, or are they parts? Export one row a "+
					"day, campaign and source; the stored day stands", is.file, was.place, is.place, key)
			case was.state == is.state && was.text != is.text:
				return fmt.Errorf("%s has other numbers in %s, %s, than in %s, %s: which counts? The stored day stands",
					key, was.file, was.place, is.file, is.place)
			case was.clicks != "" && is.clicks != "" && was.clicks != is.clicks:
				return fmt.Errorf("%s: %s: %s: clicks %s differ from the %s in the row of another state: are they the "+
					"clicks of one state, or of all? The stored day stands", is.file, is.place, key, is.clicks,
					was.clicks)
			}
		}
		last = append(last, is)
	}
	return errors.New(key + ": its rows contradict each other")
}
