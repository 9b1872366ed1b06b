package payouts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"spendsync/schema"
)

// createExport makes the table of the rows of all exports. The columns are ours, as texts.
const createExport = `CREATE TEMP TABLE export(file INTEGER, n BIGINT, day VARCHAR, campaign VARCHAR, source VARCHAR,
	state VARCHAR, clicks VARCHAR, conversions VARCHAR, approved VARCHAR,
	held VARCHAR, refused VARCHAR, revenue VARCHAR)`

// maxDayRows is how many rows a day of an export may have: one day is in memory at a time.
const maxDayRows = 500_000

// totals are words for a row that adds others up.
var totals = map[string]bool{"total": true, "totals": true, "grand total": true, "subtotal": true, "sum": true,
	"summary": true, "overall": true, "gesamt": true, "summe": true, "итого": true, "всего": true}

// readExport copies the columns that are ours into the table of all exports, and decides how its numbers and days read.
func (r *reader) readExport(ctx context.Context, f *file) error {
	at, unread, err := placesOf(f.names, r.Columns)
	if err != nil {
		return withHint(err, r.suggest(ctx, f, "campaign", r.Campaigns))
	}
	f.at = at
	number := len(r.files)
	selected := []string{strconv.Itoa(number), "row_number() OVER ()"}
	for _, c := range exportColumns {
		text := "''"
		if i, ok := at[c]; ok {
			text = "trim(" + schema.Quote(f.names[i]) + ", ' \t\r\n\u00a0')"
			if c == "campaign" || c == "source" {
				text = "regexp_replace(" + text + `, '\.0` + exactMark + `$', '')` // kept as a number with a fraction
			}
		}
		selected = append(selected, "coalesce("+text+", '')")
	}
	if err := r.db.Exec(ctx, "INSERT INTO export SELECT "+strings.Join(selected,
		", ")+" FROM ("+f.from+")"); err != nil {
		return errors.New(firstLine(err.Error()))
	}
	if err := r.readRejects(ctx, f, func(n int, line, why string) {
		if n > 0 {
			f.rejected = append(f.rejected, n)
		}
		r.setAside("tracker", 0, number, n, why, "", line)
		if n == 0 {
			r.fail(f, why)
			return
		}
		r.fail(f, fmt.Sprintf("line %d: %s; it is set aside: %.80q", n, why, line))
	}); err != nil {
		return err
	}
	decimal, err := r.decimalOf(ctx, f, number, at)
	if err != nil {
		return err
	}
	if err := r.daysOf(ctx, f, number); err != nil {
		return err
	}
	if i := slices.IndexFunc(unread, func(n string) bool { return plain(n) == "revenue" }); i >= 0 {
		r.own.Said = append(r.own.Said, fmt.Sprintf("%s: the column %s is not read, for it includes conversions "+
			"on hold; %s is",
			f.path, unread[i], f.names[at["revenue"]]))
	}
	if i, ok := at["revenue"]; ok && slices.ContainsFunc(f.names, func(n string) bool { return plain(n) == "leads" }) &&
		slices.ContainsFunc(f.names, func(n string) bool { return plain(n) == "sales" }) &&
		plain(f.names[i]) == "revenue" {
		r.own.Said = append(r.own.Said, fmt.Sprintf("%s: the column %s includes conversions on hold (leads); "+
			"sale_revenue is "+
			"that of the approved ones", f.path, f.names[i]))
	}
	r.files, r.decimal = append(r.files, f), append(r.decimal, decimal)
	return nil
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

// decimalOf decides the decimal mark of an export: by the numbers that are read, and if they leave two readings, by its
// other columns.
func (r *reader) decimalOf(ctx context.Context, f *file, number int, at map[string]int) (string, error) {
	if r.Format.Decimal != "" {
		return r.Format.Decimal, nil
	}
	numbers := marks{}
	look := func(column, name, from string, into *marks) error {
		for row, err := range r.db.Rows(ctx, "SELECT n, c FROM (SELECT "+from+") WHERE regexp_matches(c, '[.,]')") {
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(row[0])
			if err != nil {
				return err
			}
			into.add(row[1], fmt.Sprintf("%s, column %s: %q", f.place(n), name, row[1]), column != "revenue" &&
				column != "")
		}
		return nil
	}
	for _, c := range numberColumns {
		if i, ok := at[c]; ok {
			if err := look(c, f.names[i], fmt.Sprintf("n, %s AS c FROM export WHERE file = %d", c, number),
				&numbers); err != nil {
				return "", err
			}
		}
	}
	if mark, err := numbers.decide(); mark != "" || err != nil || numbers.ambiguous == "" {
		return cmp.Or(mark, "."), err
	}
	others := marks{}
	for i, name := range f.names {
		if !slices.Contains(slices.Collect(maps.Values(at)), i) {
			from := "row_number() OVER () AS n, " + schema.Quote(name) + " AS c FROM (" + r.again(f) + ")"
			if err := look("", name, from, &others); err != nil {
				return "", err
			}
		}
	}
	if mark, err := others.decide(); err == nil && mark != "" {
		return mark, nil
	}
	return r.decide(&numbers)
}

// again is SQL that reads a file once more, without keeping what is rejected.
func (r *reader) again(f *file) string {
	before, _, found := strings.Cut(f.from, ", store_rejects=true")
	if found {
		return before + ", ignore_errors=true)"
	}
	return f.from
}

// daysOf reads the days of an export. Cells that are none stay without a day.
func (r *reader) daysOf(ctx context.Context, f *file, number int) error {
	cells := map[string]string{}
	for row, err := range r.db.Rows(ctx, fmt.Sprintf("SELECT day, min(n) FROM export WHERE file = %d AND day <> '' "+
		"GROUP BY day", number)) {
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(row[1])
		if err != nil {
			return err
		}
		cells[strings.Clone(row[0])] = f.place(n)
	}
	read, err := readDays(cells, r.Format.DayOrder)
	if err != nil {
		return err
	}
	f.days = read
	var values []string
	for cell, day := range read.of {
		values = append(values, fmt.Sprintf("(%d, %s, %d)", number, schema.QuoteText(cell), day))
	}
	if len(values) == 0 {
		return nil
	}
	return r.db.Exec(ctx, "INSERT INTO day_of VALUES "+strings.Join(values, ", "))
}

// examine compares the campaigns and sources of the exports with those of the account. Of an export that is another's
// nothing is used.
func (r *reader) examine(ctx context.Context) error {
	for number, f := range r.files {
		rows, none, err := r.compare(ctx, f, number)
		if err == nil && none != nil {
			r.own.Failures = append(r.own.Failures, f.path+": "+none.Error())
			if err := r.db.Exec(ctx, fmt.Sprintf("DELETE FROM export WHERE file = %d", number)); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if rows == 0 {
			r.own.Failures = append(r.own.Failures, f.path+": the export has a heading and no row of a day; the "+
				"stored days stand")
			continue
		}
		r.own.Hash += f.hash
	}
	for row, err := range r.db.Rows(ctx, "SELECT count(*), min(d.day), max(d.day) FROM export AS e JOIN day_of AS d "+
		"ON d.file = e.file AND d.text = e.day") {
		if err != nil {
			return err
		}
		n, _ := strconv.ParseInt(row[0], 10, 64)
		from, _ := strconv.Atoi(row[1])
		to, _ := strconv.Atoi(row[2])
		r.own.Rows, r.own.From, r.own.To = n, schema.Date(from), schema.Date(to)
	}
	return nil
}

// compare counts the rows and campaigns of an export that are the account's; none is why the export is not used.
func (r *reader) compare(ctx context.Context, f *file, number int) (rows int64, none, err error) {
	for _, of := range []struct {
		column string
		known  map[string]bool
	}{{"campaign", r.Campaigns}, {"source", r.Sources}} {
		var all, ours, ids, matching int64
		example := ""
		for row, err := range r.db.Rows(ctx, fmt.Sprintf("SELECT e.%s, count(*) FROM export AS e JOIN day_of AS d ON "+
			"d.file = e.file AND d.text = e.day WHERE e.file = %d GROUP BY ALL", of.column, number)) {
			if err != nil {
				return 0, nil, err
			}
			n, _ := strconv.ParseInt(row[1], 10, 64)
			if all += n; row[0] == "" || isTotal(row[0]) {
				continue
			}
			ids++
			if of.known[row[0]] {
				ours, matching = ours+n, matching+1
			} else if example == "" {
				example = strings.Clone(row[0])
			}
		}
		if rows = max(rows, all); ids == 0 || len(of.known) == 0 {
			continue
		}
		found := fmt.Sprintf("%d of %d rows are of %ss of this account, %d of %d %ss match", ours, all, of.column,
			matching,
			ids, of.column)
		if matching == 0 {
			return rows, withHint(fmt.Errorf("%s: %q is none; column %s seems to be the tracker's own, and "+
					"nothing of the "+
					"export is stored", found, example, r.nameOf(f, of.column)), r.suggest(ctx, f, of.column,
					of.known)),
				nil
		}
		r.own.Said = append(r.own.Said, f.path+": "+found)
	}
	return rows, nil, nil
}

func withHint(err, hint error) error {
	if hint == nil {
		return err
	}
	return fmt.Errorf("%w; %w", err, hint)
}

// nameOf returns the heading of one of our columns.
func (r *reader) nameOf(f *file, column string) string {
	if i, ok := f.at[column]; ok {
		return f.names[i]
	}
	return column
}

// suggest names the column of a file that holds IDs of the account; nil: none is known.
func (r *reader) suggest(ctx context.Context, f *file, column string, known map[string]bool) error {
	if len(known) == 0 {
		return nil
	}
	var texts, counts []string
	for id := range known {
		texts = append(texts, schema.QuoteText(id))
	}
	slices.Sort(texts)
	for _, name := range f.names {
		counts = append(counts, "count(*) FILTER (list_contains(known, "+schema.Quote(name)+"))")
	}
	best, most := "", 0
	for row, err := range r.db.Rows(ctx, "SELECT "+strings.Join(counts,
		", ")+" FROM ("+r.again(f)+" LIMIT 10000), (SELECT ["+
		strings.Join(texts, ", ")+"] AS known)") {
		if err != nil {
			return nil //nolint:nilerr // the suggestion is left out, the error before it stands
		}
		for i, cell := range row {
			if n, _ := strconv.Atoi(cell); n > most {
				best, most = f.names[i], n
			}
		}
	}
	if best == "" {
		return fmt.Errorf("no column of the file holds %ss of this account: pass the service's %s ID to the "+
			"tracker as a "+
			"custom variable, and name its column (SPENDSYNC_TRACKER_COLUMNS, %s=)", column, column, column)
	}
	return fmt.Errorf("column %s fits: SPENDSYNC_TRACKER_COLUMNS with %s=%s", best, column, best)
}

func isTotal(cell string) bool { return totals[strings.ToLower(strings.Trim(cell, " :"))] }

// Day is one day of the exports.
type Day struct {
	Day  schema.Date
	Rows []schema.TrackerDay // in key order
}

// cells is one row of the table of all exports.
type cells struct {
	file, n int
	day     schema.Null[schema.Date]
	of      [10]string // in the order of exportColumns
}

// get returns the cell of one of our columns.
func (c *cells) get(column string) string { return c.of[slices.Index(exportColumns, column)] }

// Days streams the days of the exports in order, each complete. What is set aside meanwhile is in the result.
func (o *Own) Days(ctx context.Context) iter.Seq2[Day, error] {
	return func(yield func(Day, error) bool) {
		r := o.r
		defer r.sumUp()
		d := dayReader{reader: r, counted: &countings{}}
		for row, err := range r.db.Rows(ctx, "SELECT e.file, e.n, d.day, e.day, e."+strings.Join(exportColumns[1:],
			", e.")+
			" FROM export AS e LEFT JOIN day_of AS d ON d.file = e.file AND d.text = e.day"+
			" ORDER BY d.day NULLS FIRST, e.campaign NULLS FIRST, e.source NULLS FIRST, e.state NULLS FIRST, "+
			"e.file, e.n") {
			if err != nil {
				yield(Day{}, err)
				return
			}
			c := cells{of: [10]string(row[3:])}
			c.file, _ = strconv.Atoi(row[0])
			c.n, _ = strconv.Atoi(row[1])
			if row[2] != "" {
				day, _ := strconv.Atoi(row[2])
				c.day = schema.Some(schema.Date(day))
			}
			if d.isAside(&c) {
				continue
			}
			if d.day != c.day.V {
				if !d.give(yield) {
					return
				}
				d.begin(c.day.V)
			}
			d.add(&c)
		}
		if d.give(yield) {
			d.counted.say(o)
		}
	}
}

// dayReader collects the rows of a day.
type dayReader struct {
	*reader
	day     schema.Date
	rows    []schema.TrackerDay
	last    cells  // the row that was read last
	refused string // why the day is not taken
	texts   map[string]string
	counted *countings
}

func (d *dayReader) begin(day schema.Date) {
	*d = dayReader{reader: d.reader, day: day, texts: map[string]string{}, counted: d.counted}
}

// give passes the day on, in key order.
func (d *dayReader) give(yield func(Day, error) bool) bool {
	if d.refused != "" {
		d.own.Failures = append(d.own.Failures, d.refused)
		return true
	}
	if len(d.rows) == 0 {
		return true
	}
	slices.SortFunc(d.rows, func(a, b schema.TrackerDay) int {
		return cmp.Or(cmp.Compare(a.CampaignID, b.CampaignID), cmp.Compare(a.SourceID, b.SourceID))
	})
	if d.day > d.Today+1 { // a tracker's day may begin before Chicago's
		d.own.Notes["tracker.days-to-come"] = fmt.Sprintf("the exports have rows of days to come, such as %s: are "+
			"day and "+
			"month read in the right order (%s)?", d.day, FormatVariable)
	}
	d.counted.add(&d.Options, d.day, d.rows)
	return yield(Day{d.day, d.rows}, nil)
}

// isAside sets a row aside that is of no day: totals, which are known without it, and rows without a readable day,
// which
// are an error.
func (d *dayReader) isAside(c *cells) bool {
	f := d.files[c.file]
	place, cell := f.place(c.n), c.get("day")
	line, _ := strconv.Atoi(place[strings.LastIndexByte(place, ' ')+1:])
	raw := func() string {
		return rawOf(exportColumns, c.of[:])
	}
	empty := cell == "" && c.get("campaign") == "" && c.get("source") == ""
	switch {
	case empty && !slices.ContainsFunc(numberColumns, func(n string) bool { return !isNothing(c.get(n)) }):
		return true // an empty line
	case empty || isTotal(cell) || isTotal(c.get("campaign")) || isTotal(c.get("source")):
		d.aside["a row of totals"]++
		d.setAside("tracker", c.day.V, c.file, line, "a row of totals", "", raw())
		return true
	case c.day.Valid:
		return false
	}
	err := f.days.wrong[cell]
	if err == nil {
		err = errors.New("there is no day")
	}
	d.setAside("tracker", 0, c.file, line, err.Error(), "day", raw())
	d.fail(f, fmt.Sprintf("%s: column %s: %v; the row is set aside", place, d.nameOf(f, "day"), err))
	return true
}

// add adds a row to the day. A cell that cannot be read is unknown, and named.
func (d *dayReader) add(c *cells) {
	row := schema.TrackerDay{ReportDate: d.day, CampaignID: d.text(c.get("campaign")),
		SourceID: d.text(c.get("source"))}
	for _, to := range []struct {
		name string
		to   *schema.Null[int64]
	}{{"clicks", &row.Clicks}, {"conversions", &row.Conversions}, {"approved", &row.Approved}, {"held", &row.Held},
		{"refused", &row.Refused}} {
		if cell := c.get(to.name); !d.isNothing(c, to.name) {
			n, err := count(to.name, cell, d.decimal[c.file])
			if *to.to = (schema.Null[int64]{V: n, Valid: err == nil}); err != nil { // n is 0
				d.unreadable(c, to.name, err)
			}
		}
	}
	if cell := c.get("revenue"); !d.isNothing(c, "revenue") {
		m, err := money("revenue", cell, d.decimal[c.file])
		if row.Revenue = (schema.Null[schema.Money]{V: m, Valid: err == nil}); err != nil {
			d.unreadable(c, "revenue", err)
		}
	}
	if d.has(c, "state") {
		d.inState(c, &row)
	} else if !d.has(c, "conversions") && row.Approved.Valid && row.Refused.Valid {
		row.Conversions = schema.Some(row.Approved.V + row.Held.V + row.Refused.V)
	}
	d.join(c, row)
}

// isNothing reports whether a cell has no value. A word for that is kept, an empty cell is not worth it.
func (d *dayReader) isNothing(c *cells, column string) bool {
	cell := c.get(column)
	if cell == "" || !isNothing(cell) {
		return cell == ""
	}
	d.aside[fmt.Sprintf("%q as %s is unknown", cell, column)]++
	f := d.files[c.file]
	d.setAside("tracker", d.day, c.file, c.n-1+f.line, "a word for nothing", column, rawOf([]string{column},
		[]string{cell}))
	return true
}

func (d *dayReader) unreadable(c *cells, column string, err error) {
	f := d.files[c.file]
	d.setAside("tracker", d.day, c.file, c.n-1+f.line, err.Error(), column, rawOf([]string{column},
		[]string{c.get(column)}))
	d.fail(f, fmt.Sprintf("%s: column %s: %v; it is unknown", f.place(c.n), d.nameOf(f, column), err))
}

// text returns a text that keeps no row in memory.
func (d *dayReader) text(s string) string {
	known, ok := d.texts[s]
	if !ok {
		known = strings.Clone(s)
		d.texts[known] = known
	}
	return known
}

// inState makes a row of the conversions of one state: of the other states it has none. Revenue of conversions that are
// not approved is not earned, and a chargeback takes it back.
func (d *dayReader) inState(c *cells, row *schema.TrackerDay) {
	word := plain(c.get("state"))
	counted := row.Conversions
	row.Approved, row.Held, row.Refused = schema.Some[int64](0), schema.Some[int64](0), schema.Some[int64](0)
	switch states[word] {
	case "approved":
		row.Approved = counted
	case "held":
		row.Held = counted
	case "refused":
		row.Refused = counted
	default:
		d.unreadable(c, "state", fmt.Errorf("state %q is none of %s", c.get("state"),
			strings.Join(slices.Sorted(maps.Keys(states)), ", ")))
		row.Approved, row.Held, row.Refused = schema.Null[int64]{}, schema.Null[int64]{}, schema.Null[int64]{}
		return
	}
	if states[word] != "approved" && (!row.Revenue.Valid || row.Revenue.V > 0) && d.has(c, "revenue") {
		row.Revenue = schema.Some[schema.Money](0)
	}
}

func (d *dayReader) has(c *cells, column string) bool {
	_, ok := d.files[c.file].at[column]
	return ok
}

// join adds a row to the rows of its key: it is one of another state, or of a second file that says the same. Any other
// second row of a key has two readings, and its day is not taken.
func (d *dayReader) join(c *cells, row schema.TrackerDay) {
	before := d.last
	d.last = *c
	last := len(d.rows) - 1
	if last < 0 || d.rows[last].CampaignID != row.CampaignID || d.rows[last].SourceID != row.SourceID {
		if len(d.rows) == maxDayRows {
			d.refused = fmt.Sprintf("%s: %s has more than %d rows, and is not taken", d.files[c.file].path, d.day,
				maxDayRows)
			return
		}
		d.rows = append(d.rows, row)
		return
	}
	to := &d.rows[last]
	key := fmt.Sprintf("%s, campaign %q, source %q", d.day, row.CampaignID, row.SourceID)
	a, b := d.files[before.file], d.files[c.file]
	sameState := plain(before.get("state")) == plain(c.get("state"))
	switch {
	case sameState && before.file != c.file && before.of == c.of:
		return
	case sameState && before.file != c.file:
		d.refuse("%s has other numbers in %s, %s, than in %s, %s: which counts? The stored day stands", key, a.path,
			a.place(before.n), b.path, b.place(c.n))
	case sameState:
		d.refuse("%s: %s and %s are both of %s: which counts, or are they parts? Export one row a day, campaign and "+
			"source; the stored day stands", a.path, a.place(before.n), b.place(c.n), key)
	case to.Clicks.Valid && row.Clicks.Valid && row.Clicks != to.Clicks:
		d.refuse("%s: %s: %s: clicks %d differ from the %d in the row of another state: are they the clicks of "+
			"one state, "+
			"or of all? The stored day stands", b.path, b.place(c.n), key, row.Clicks.V, to.Clicks.V)
	}
	if !to.Clicks.Valid {
		to.Clicks = row.Clicks
	}
	for _, sum := range [][2]*schema.Null[int64]{{&to.Conversions, &row.Conversions}, {&to.Approved, &row.Approved},
		{&to.Held, &row.Held}, {&to.Refused, &row.Refused}} {
		*sum[0] = added(*sum[0], *sum[1])
	}
	to.Revenue = added(to.Revenue, row.Revenue)
}

// added is a sum that is unknown if a part is.
func added[T int64 | schema.Money](a, b schema.Null[T]) schema.Null[T] {
	if !a.Valid || !b.Valid {
		return schema.Null[T]{}
	}
	return schema.Some(a.V + b.V)
}

func (d *dayReader) refuse(format string, args ...any) {
	if d.refused == "" {
		d.refused = fmt.Sprintf(format, args...)
	}
}
