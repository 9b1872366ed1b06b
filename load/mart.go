package load

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/marcboeker/go-duckdb/v2"

	"spendsync/schema"
)

// martNamed is the mart of that table name, nil if there is none.
func martNamed(table string) *schema.Mart {
	for i := range schema.Marts {
		if schema.Marts[i].Name == table {
			return &schema.Marts[i]
		}
	}
	return nil
}

// addMarts writes anew the marts that can have changed, of all accounts: what is
// final, and whether, follows the day of publishing. w is the new warehouse,
// with its views. The troubles are of marts whose view could not answer: their
// files stay as they are.
func (n *generation) addMarts(ctx context.Context, w *warehouse, fresh bool) (troubles []error, err error) {
	fresh = fresh || n.newViews
	for _, m := range schema.Marts {
		if !n.g.store.opts.hasView(m.View) {
			continue
		}
		for _, account := range n.next.AccountNames() {
			if !fresh && n.martStands(m, account) {
				continue
			}
			err := n.addMartOf(ctx, w, m, account, fresh)
			if ctx.Err() != nil || errors.Is(err, ErrStorage) {
				return nil, err
			}
			if err != nil {
				troubles = append(troubles, fmt.Errorf("%s of account %s is as it was before: %w", m.FullName(), account, err))
			}
		}
	}
	return troubles, nil
}

// martStands says that nothing has changed of what an account's mart is made of:
// its days, the settings that its view asks, and how well each day is known.
func (n *generation) martStands(m schema.Mart, account string) bool {
	if n.base == nil || n.base.Accounts[account] == nil {
		return false
	}
	if account == n.g.store.account {
		if len(n.changed) > 0 {
			return false
		}
		behind := n.g.store.opts.tablesBehind("mart." + m.View)
		for name, t := range n.g.tables {
			if t.info != nil && behind[name] {
				return false
			}
		}
	}
	states := func(m *Manifest, at time.Time) (all []string) {
		for _, c := range m.Accounts[account].Coverage(account, at) {
			all = append(all, c.ReportDate.String()+c.State)
		}
		return all
	}
	return slices.Equal(states(n.base, n.base.PublishedAt.Time()), states(n.next, n.g.store.opts.Now()))
}

// monthsAtOnce is how many months of a mart are asked for by one question: its view
// looks through all history each time for when each campaign began, and what it answers
// is all in memory.
const monthsAtOnce = 3

// addMartOf writes the parts of an account's mart that can have changed.
func (n *generation) addMartOf(ctx context.Context, w *warehouse, m schema.Mart, account string, fresh bool) error {
	parts, err := n.martParts(ctx, w.conn, m, account, fresh)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(parts, monthsAtOnce) {
		if err := n.addMartParts(ctx, w, m, account, some, fresh); err != nil {
			return err
		}
	}
	return nil
}

// addMartParts asks for parts that follow each other, and writes each.
func (n *generation) addMartParts(ctx context.Context, w *warehouse, m schema.Mart, account string, parts []schema.Date, fresh bool) error {
	return w.withRoom(ctx, func() error {
		if m.Partition != schema.ByMonth {
			return n.addMart(m, account, parts[0], martRecords(ctx, w.conn, m, martCondition(m, account, parts)), fresh)
		}
		return n.addMonths(ctx, w.conn, m, account, parts, fresh)
	})
}

// addMonths asks for months that follow each other, and writes each.
func (n *generation) addMonths(ctx context.Context, conn *sql.Conn, m schema.Mart, account string, months []schema.Date, fresh bool) error {
	rec, err := wholeRecord(martRecords(ctx, conn, m, martCondition(m, account, months)))
	if err != nil {
		return err
	}
	defer rec.Release()
	days := rec.Column(rec.Schema().FieldIndices("report_date")[0]).(*array.Date32).Date32Values()
	from := 0
	for _, month := range months {
		// The account is one, and then come the days.
		to, _ := slices.BinarySearch(days, arrow.Date32((month + 31).Month()))
		part := rec.NewSlice(int64(from), int64(to))
		err := n.addMart(m, account, month, func(yield func(arrow.Record, error) bool) { yield(part, nil) }, fresh)
		part.Release()
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (o Options) hasView(name string) bool {
	return slices.ContainsFunc(o.Views, func(v View) bool { return v.Schema == "mart" && v.Name == name })
}

// namedBy is how a view names what it asks.
var namedBy = regexp.MustCompile(`\b(?:main|mart|ops)\.[a-z_0-9]+`)

// tablesBehind are the names of the tables that a view asks, by way of other views
// too.
func (o Options) tablesBehind(view string) map[string]bool {
	tables, seen := map[string]bool{}, map[string]bool{}
	var follow func(name string)
	follow = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		_, table, _ := strings.Cut(name, ".")
		tables[table] = true // a view's name among them does no harm
		for _, v := range o.Views {
			if v.Schema+"."+v.Name == name {
				for _, next := range namedBy.FindAllString(v.SQL, -1) {
					follow(next)
				}
			}
		}
	}
	follow(view)
	return tables
}

// viewsDefinition tells apart the views of two releases, or of two sets of
// thresholds: they give other rows.
func (o Options) viewsDefinition() string {
	h := sha256.New()
	add := func(texts ...string) {
		for _, t := range texts {
			fmt.Fprintf(h, "%d %s\n", len(t), t)
		}
	}
	for _, v := range o.Views {
		add(v.createSQL()...)
		add(v.Doc, v.Parameters)
		for _, name := range slices.Sorted(maps.Keys(v.Columns)) {
			add(name, v.Columns[name])
		}
		add("") // no view is without a statement, nor a statement empty
	}
	return hex.EncodeToString(h.Sum(nil))
}

// martParts are the parts of a mart to write: the months from the first day that
// can differ, or the one file of a mart that is not cut.
func (n *generation) martParts(ctx context.Context, conn *sql.Conn, m schema.Mart, account string, fresh bool) ([]schema.Date, error) {
	if m.Partition == schema.ByAccount {
		return []schema.Date{0}, nil
	}
	from, err := n.firstAltered(ctx, conn, account, fresh)
	if err != nil {
		return nil, err
	}
	var months []schema.Date
	last := schema.DateOf(n.g.store.opts.Now())
	for month := from.Month(); month <= last; month = (month + 31).Month() {
		months = append(months, month)
	}
	return months, nil
}

// firstAltered is the first day of an account whose rows in a mart may differ
// from those that were published: one that was read or whose state has moved on,
// or a day of a campaign whose past became known.
func (n *generation) firstAltered(ctx context.Context, conn *sql.Conn, account string, fresh bool) (schema.Date, error) {
	a := n.next.Accounts[account]
	first := a.Since
	for d := range a.Days {
		first = min(first, d)
	}
	if fresh || n.base == nil || n.base.Accounts[account] == nil {
		return first, nil
	}
	from := schema.DateOf(n.base.PublishedAt.Time()) - schema.ReachDays - 1
	if account == n.g.store.account {
		for d := range n.changed {
			from = min(from, d)
		}
		var ids []string
		for id, seen := range n.g.learned {
			from = min(from, seen)
			ids = append(ids, schema.QuoteText(id))
		}
		if len(ids) > 0 {
			q := fmt.Sprintf("SELECT (min(report_date) - DATE '1970-01-01')::BIGINT FROM main.spend_daily WHERE account_id = %s AND campaign_id IN (%s)",
				schema.QuoteText(account), strings.Join(ids, ", "))
			var spent sql.Null[int64]
			if err := conn.QueryRowContext(ctx, q).Scan(&spent); err != nil {
				return 0, duckErr(q, err)
			}
			if spent.Valid {
				from = min(from, schema.Date(spent.V))
			}
		}
	}
	return max(from, first), nil
}

// addMart writes one part. One with the same content as the published one stays.
func (n *generation) addMart(m schema.Mart, account string, part schema.Date, recs iter.Seq2[arrow.Record, error], fresh bool) error {
	path := partPath(m.Table, account, part)
	acc := n.next.Accounts[account]
	old := acc.Files[path]
	var unread error
	info, err := n.g.putPart(path, m.Table, func(yield func(arrow.Record) bool) {
		for rec, err := range recs {
			if unread = err; err != nil || !yield(rec) {
				return
			}
		}
	})
	if err == nil {
		err = unread
	}
	if err != nil {
		return err
	}
	info.Day = part
	if info.Rows == 0 && old == nil || old != nil && old.SHA256 == info.SHA256 && !fresh {
		return n.g.store.opts.disk.removeIfThere(n.g.staged(path))
	}
	acc.Files[path] = info
	n.moveStaged(path)
	return nil
}

// martCondition selects the rows of parts that follow each other.
func martCondition(m schema.Mart, account string, parts []schema.Date) string {
	c := "account_id = " + schema.QuoteText(account)
	if m.Partition == schema.ByMonth {
		c += fmt.Sprintf(" AND report_date >= DATE '%s' AND report_date < DATE '%s'", parts[0], (parts[len(parts)-1] + 31).Month())
	}
	return c
}

// martColumns are the mart's columns as its view gives them, in the types of the
// table: ratios, which a view gives as floats, are rounded to six decimals.
func martColumns(m schema.Mart) string {
	var list []string
	for _, c := range m.Columns {
		list = append(list, fmt.Sprintf("CAST(%[1]s AS %[2]s) AS %[1]s", schema.Quote(c.Name), c.DuckDB()))
	}
	return strings.Join(list, ", ")
}

// martRecords asks the view and gives its rows, in the order of the key.
func martRecords(ctx context.Context, conn *sql.Conn, m schema.Mart, where string) iter.Seq2[arrow.Record, error] {
	return tableRecords(ctx, conn, m.Table, fmt.Sprintf("SELECT %s FROM mart.%s", martColumns(m), schema.Quote(m.View)), where)
}

// tableRecords asks for rows of a table, by a question that gives its columns and a
// condition on them, and gives them in the order of the key. A record is the loop body's
// alone; there is one at least. Nothing follows an error.
func tableRecords(ctx context.Context, conn *sql.Conn, t *schema.Table, question, where string) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		if err := eachRecord(ctx, conn, t, question, where, func(rec arrow.Record) bool { return yield(rec, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func eachRecord(ctx context.Context, conn *sql.Conn, t *schema.Table, question, where string, yield func(arrow.Record) bool) error {
	b := array.NewRecordBuilder(memory.DefaultAllocator, t.Arrow)
	defer b.Release()
	var wanted []string
	puts := make([]func(any), len(t.Columns))
	for i, c := range t.Columns {
		expression, put := martCell(c, b.Field(i))
		wanted, puts[i] = append(wanted, expression+" AS "+schema.Quote(c.Name)), put
	}
	give := func() bool {
		rec := b.NewRecord()
		defer rec.Release()
		return yield(rec)
	}
	q := fmt.Sprintf("CREATE OR REPLACE TEMP TABLE answer AS SELECT %s FROM (%s WHERE %s) AS rows", strings.Join(wanted, ", "), question, where)
	if err := execAll(ctx, conn, []string{q}); err != nil {
		return err
	}
	parts, all, err := answerParts(ctx, conn, t.KeyNames())
	if err != nil {
		return err
	}
	n := 0
	put := func(cells []any) (more bool, err error) {
		for i, v := range cells {
			switch {
			case v != nil:
				puts[i](v)
			case t.Columns[i].Nullable:
				b.Field(i).AppendNull()
			default:
				return false, fmt.Errorf("%s gives a NULL in %s", question[strings.LastIndexByte(question, ' ')+1:], t.Columns[i].Name)
			}
		}
		n++
		return n%recordRows != 0 || give(), nil
	}
	for _, part := range parts {
		q := fmt.Sprintf("FROM temp.answer WHERE %s ORDER BY %s", part, strings.Join(t.KeyNames(), ", "))
		if more, err := eachRow(ctx, conn, q, len(puts), put); err != nil || !more {
			return err
		}
	}
	if n != all {
		return fmt.Errorf("%s: %d rows came of %d", question[strings.LastIndexByte(question, ' ')+1:], n, all)
	}
	if n == 0 || n%recordRows != 0 {
		give()
	}
	return execAll(ctx, conn, []string{"DROP TABLE temp.answer"})
}

// answerRows is how many rows of an answer are fetched at a time. What is fetched the
// driver has in memory, below no limit; the rest is DuckDB's, on disk if need be.
const answerRows = 4 * recordRows

// answerParts are conditions on the key that cut temp.answer into parts, in the order of
// the key, and how many rows it has.
func answerParts(ctx context.Context, conn *sql.Conn, keys []string) (parts []string, all int, err error) {
	q := "SELECT count(*) FROM temp.answer"
	if err := conn.QueryRowContext(ctx, q).Scan(&all); err != nil {
		return nil, 0, duckErr(q, err)
	}
	if all <= answerRows {
		return []string{"true"}, all, nil
	}
	q = fmt.Sprintf("SELECT %[1]s FROM (SELECT %[1]s, row_number() OVER (ORDER BY %[1]s) AS n FROM temp.answer) WHERE n > 1 AND n %% %[2]d = 1 ORDER BY n",
		strings.Join(keys, ", "), answerRows)
	from := "true"
	_, err = eachRow(ctx, conn, q, len(keys), func(first []any) (bool, error) {
		values := make([]string, len(first))
		for i, v := range first {
			switch v := v.(type) {
			case string:
				values[i] = schema.QuoteText(v)
			case int64:
				values[i] = fmt.Sprint(v)
			default:
				return false, fmt.Errorf("%v, a %T, is in a key", v, v)
			}
		}
		parts = append(parts, from+" AND "+beyondKey(keys, values, "<", "<"))
		from = beyondKey(keys, values, ">", ">=")
		return true, nil
	})
	return append(parts, from), all, err
}

// beyondKey is the condition that a key lies to one side of values: by the first operator
// that one of its columns does, by the second that the last does. (DuckDB compares a row
// of columns with one value, and not with two.)
func beyondKey(keys, values []string, is, last string) string {
	if len(keys) == 1 {
		return fmt.Sprintf("%s %s %s", keys[0], last, values[0])
	}
	return fmt.Sprintf("(%[1]s %[2]s %[3]s OR (%[1]s = %[3]s AND %[4]s))", keys[0], is, values[0], beyondKey(keys[1:], values[1:], is, last))
}

// eachRow asks and hands on each row, whose cells are lent, until there are no more or
// none are wanted.
func eachRow(ctx context.Context, conn *sql.Conn, q string, columns int, take func(cells []any) (more bool, err error)) (more bool, err error) {
	rows, err := conn.QueryContext(ctx, q)
	if err != nil {
		return false, duckErr(q, err)
	}
	defer rows.Close()
	cells, into := make([]any, columns), make([]any, columns)
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return false, err
		}
		if more, err := take(cells); err != nil || !more {
			return false, err
		}
	}
	if err := rows.Err(); err != nil {
		return false, duckErr(q, err)
	}
	return true, nil
}

// wholeRecord makes one record of all, which is to be released.
func wholeRecord(recs iter.Seq2[arrow.Record, error]) (whole arrow.Record, err error) {
	var parts []arrow.Record
	defer func() {
		for _, rec := range parts {
			rec.Release()
		}
	}()
	for rec, err := range recs {
		if err != nil {
			return nil, err
		}
		rec.Retain()
		parts = append(parts, rec)
	}
	columns, rows := make([]arrow.Array, len(parts[0].Columns())), int64(0)
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i := range columns {
		var pieces []arrow.Array
		for _, rec := range parts {
			pieces = append(pieces, rec.Column(i))
		}
		if columns[i], err = array.Concatenate(pieces, memory.DefaultAllocator); err != nil {
			return nil, err
		}
		rows = int64(columns[i].Len())
	}
	return array.NewRecord(parts[0].Schema(), columns, rows), nil
}

// martCell says how a column, of the table's type, is asked for, so that its values
// come as texts, whole numbers, decimals and flags only, and how such a value is put
// into its array.
func martCell(c schema.Column, b array.Builder) (expression string, put func(any)) {
	name := schema.Quote(c.Name)
	switch b := b.(type) {
	case *array.StringBuilder:
		return name, func(v any) { b.Append(v.(string)) }
	case *array.Int64Builder:
		return name, func(v any) { b.Append(v.(int64)) }
	case *array.BooleanBuilder:
		return name, func(v any) { b.Append(v.(bool)) }
	case *array.Decimal128Builder:
		return name, func(v any) { b.Append(decimal128.FromI64(v.(duckdb.Decimal).Value.Int64())) }
	case *array.Date32Builder:
		return fmt.Sprintf("CAST(%s - DATE '1970-01-01' AS BIGINT)", name), func(v any) { b.Append(arrow.Date32(v.(int64))) }
	case *array.TimestampBuilder:
		return fmt.Sprintf("epoch_us(%s)", name), func(v any) { b.Append(arrow.Timestamp(v.(int64))) }
	}
	panic(fmt.Sprintf("load: no cell for %s", b.Type()))
}

// learnedCampaigns are the campaigns of which something is known now about a time
// that was published before: one that is new, or whose version was filled. The
// first day that a version tells of stands beside each.
func learnedCampaigns[R any, P Versioned[R]](t schema.TableOf[R], old, now []R) map[string]schema.Date {
	if !slices.Equal(t.KeyNames(), []string{"account_id", "campaign_id", "version_no"}) {
		return nil
	}
	columns := t.ColumnsNamed(append(t.TrackedNames(), "version_no", "is_deleted", "changed_after", "change_type", "read_state")...)
	type version struct {
		campaign string
		no       int64
	}
	id := identityOf(t)
	before := map[version]*R{}
	for i := range old {
		before[version{id.parts(&old[i])[0], P(&old[i]).FramePtr().VersionNo}] = &old[i]
	}
	learned := map[string]schema.Date{}
	for i := range now {
		frame := P(&now[i]).FramePtr()
		campaign := id.parts(&now[i])[0]
		was := before[version{campaign, frame.VersionNo}]
		if was == nil && frame.VersionNo > 1 {
			continue // it begins now
		}
		if was != nil && !slices.ContainsFunc(columns, func(c schema.Column) bool { return !t.ColumnEqual(was, &now[i], c) }) {
			continue
		}
		day := schema.DateOf(frame.ValidFrom.Time())
		if known, ok := learned[campaign]; !ok || day < known {
			learned[campaign] = day
		}
	}
	return learned
}
