package pagedata

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"spendsync/cmd/spendsync/page"
	"spendsync/load/duck"
	"spendsync/schema"
)

// reader asks the published warehouse, and after the first error nothing more.
type reader struct {
	ctx     context.Context
	session *duck.Session
	err     error
}

// row is one row of an answer, by column.
type row map[string]schema.Null[string]

func (q *reader) rows(sql string, args ...any) []row {
	if q.err != nil {
		return nil
	}
	a, err := q.session.Query(q.ctx, fmt.Sprintf(sql, args...))
	if err != nil {
		q.err = err
		return nil
	}
	var all []row
	for _, r := range a.Rows {
		byColumn := row{}
		for i, c := range a.Columns {
			byColumn[c] = r[i]
		}
		all = append(all, byColumn)
	}
	return all
}

// row is the only row of an answer, or an empty one.
func (q *reader) row(sql string, args ...any) row {
	if rows := q.rows(sql, args...); len(rows) > 0 {
		return rows[0]
	}
	return row{}
}

func (r row) text(column string) string        { return r[column].V }
func (r row) number(column string) page.Number { return page.ParseNumber(r[column]) }
func (r row) bool(column string) bool          { return r[column].V == "true" }

func (r row) int(column string) int {
	n, _ := strconv.Atoi(r[column].V)
	return n
}

// instant reads microseconds since 1970, as epoch_us gives them.
func (r row) instant(column string) time.Time {
	us, err := strconv.ParseInt(r[column].V, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

func (r row) date(column string) schema.Date {
	d, _ := schema.ParseDate(r[column].V)
	return d
}

func (r row) nullDate(column string) schema.Null[schema.Date] {
	d, err := schema.ParseDate(r[column].V)
	return schema.Null[schema.Date]{V: d, Valid: err == nil}
}

func (r row) named(id, name string) page.Named {
	return page.Named{ID: r[id].V, Name: r[name].V}
}
