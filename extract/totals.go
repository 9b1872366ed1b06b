package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"spendsync/extract/service"
	"spendsync/schema"
)

// Totals are the service's own sums per day, for comparison with the sums of the rows.
type Totals struct {
	Exists bool
	Why    string // why there are no totals
	// BeyondReach means that there are no totals because the first day is older than the days that the report covers.
	BeyondReach bool
	// Empty means that there are no totals because a valid answer has no rows. For a single day this need not be an
	// error: the day may have no spend.
	Empty bool
	// Decimals is the largest number of decimals of a total, at most six. If the amounts of the rows have more
	// decimals, the service rounds its totals.
	Decimals int
	// ByDay has every requested day; a day that the answer omits has a total of zero. It is nil if there are no totals.
	ByDay map[schema.Date]Total
}

// Total is the service's own sum of one day.
type Total struct {
	Spend   schema.Money
	Rounded bool // whether the service's text of Spend had more than six decimals
	Clicks  schema.Null[int64]
}

// ControlTotals reads the service's own totals per day from one day to another, both included. Totals exist only if the
// answer has one row per date; otherwise Why has the reason. A date outside of the requested range and an invalid
// number are [ErrContract].
func (c *Client) ControlTotals(ctx context.Context, from, to schema.Date) (Totals, error) {
	t := Totals{Exists: true, ByDay: map[schema.Date]Total{}}
	q := paged[SpendLine]{
		what: fmt.Sprintf("control totals %s to %s", from, to), path: c.service.Path("report", ""), size: totalPageSize,
		service: c.service, query: reportQuery(c.service, from, to, totalColumns, false),
		decode: func(body []byte, room []SpendLine) (pageReply[SpendLine], error) {
			a, err := decodeAnswer(body, room, spendForm(c.service))
			if lacks := a.lacks([]string{"date", "total_spend"}); err == nil && lacks != nil {
				t.Why = reason(lacks)
			}
			return a, err
		},
	}
	var seen Evidence
	for page, err := range pages(ctx, c, q, &seen) {
		if err == nil && t.Why == "" {
			if err = t.add(c.service, page, from, to); err != nil {
				err = c.keys.hideIn(&ReadError{What: pageName(q.what, page.Number), Reason: reason(err),
					Status: http.StatusOK, Attempts: 1, Err: ErrContract})
			}
		}
		read, ok := errors.AsType[*ReadError](err)
		switch {
		case ok && read.Status == http.StatusBadRequest && read.Err != ErrUnavailable:
			return Totals{Why: read.Reason, BeyondReach: errors.Is(err, ErrUnreachable)}, nil
		case err != nil:
			return Totals{}, err
		case t.Why != "":
			return Totals{Why: t.Why}, nil
		}
	}
	t.end(c.service, &seen, from, to)
	return t, nil
}

// end completes the totals: days without a row have a total of zero. If the answer is empty or its pages contradict
// each other, there are no totals.
func (t *Totals) end(s *service.Service, seen *Evidence, from, to schema.Date) {
	switch {
	case seen.Against != "":
		*t = Totals{Why: seen.Against}
	case seen.Total >= 0 && seen.Total != seen.Rows && s.CountsRows():
		*t = Totals{Why: fmt.Sprintf("%s came, and total_rows is %d", count(seen.Rows, "row"), seen.Total)}
	case len(t.ByDay) == 0:
		*t = Totals{Why: "the answer is empty", Empty: true}
	default:
		for day := from; day <= to; day++ {
			if _, ok := t.ByDay[day]; !ok {
				t.ByDay[day] = Total{Clicks: schema.Some[int64](0)}
			}
		}
	}
}

// add adds a page of totals. If the answer does not have one row per day, add sets Why.
func (t *Totals) add(s *service.Service, p Page[SpendLine], from, to schema.Date) error {
	for i, l := range p.Items {
		if other := OtherCurrency(s, l.Currency); other != "" {
			return contractf("row %d: currency %s, not %s", i+1, other, s.Text("currency.code"))
		}
		if l.Date.Null() {
			t.Why = fmt.Sprintf("row %d has no date", i+1)
			return nil
		}
		text, _ := l.Date.Text()
		day, ok := DayOf(s, text)
		if !ok {
			return contractf("row %d: %s", i+1, noDay(l.Date))
		}
		if day < from || day > to {
			return contractf("row %d: date %s is outside of what was asked", i+1, day)
		}
		if _, twice := t.ByDay[day]; twice {
			t.Why = fmt.Sprintf("more than one row for %s", day)
			return nil
		}
		if l.TotalSpend.Null() {
			t.Why = fmt.Sprintf("row %d has no total_spend", i+1)
			return nil
		}
		total, err := totalOf(l)
		if err != nil {
			return contractf("row %d: %v", i+1, err)
		}
		t.ByDay[day] = total
		if digits, ok := l.TotalSpend.Number(); ok {
			t.Decimals = max(t.Decimals, decimals(digits))
		}
	}
	return nil
}

func totalOf(l SpendLine) (t Total, err error) {
	digits, ok := l.TotalSpend.Number()
	if !ok {
		return t, fmt.Errorf("total_spend %s: %w", printable(l.TotalSpend, 60), schema.ErrNotNumber)
	}
	if t.Spend, t.Rounded, err = schema.ParseMoney(digits); err != nil {
		return t, fmt.Errorf("total_spend %w", err)
	}
	if l.Clicks.Null() {
		return t, nil
	}
	digits, ok = l.Clicks.Number()
	if !ok {
		return t, fmt.Errorf("clicks %s: %w", printable(l.Clicks, 60), schema.ErrNotNumber)
	}
	n, err := schema.ParseCount(digits)
	if err == nil && n < 0 && t.Spend > 0 {
		err = fmt.Errorf("%d: %w", n, schema.ErrRange)
	}
	if err != nil {
		return t, fmt.Errorf("clicks %w", err)
	}
	t.Clicks = schema.Some(n)
	return t, nil
}

// decimals returns the number of decimals in a number's text, at most [schema.MoneyDecimals]. A number with an exponent
// counts as having [schema.MoneyDecimals] decimals.
func decimals(digits []byte) int {
	if bytes.ContainsAny(digits, "eE") {
		return schema.MoneyDecimals
	}
	_, fraction, _ := bytes.Cut(digits, []byte("."))
	return min(len(fraction), schema.MoneyDecimals)
}

// Agrees reports whether the service's own sum of a day fits the sums of the day's rows. If both have clicks, the
// clicks must be equal. The spend may differ by half a millionth of a dollar for each rounded value. The argument
// rounded is the number of rounded values in the rows; the service's sum counts as one more if it was rounded.
func (t Total) Agrees(spend schema.Money, clicks schema.Null[int64], rounded int) bool {
	if t.Clicks.Valid && clicks.Valid && t.Clicks.V != clicks.V {
		return false
	}
	if t.Rounded {
		rounded++
	}
	off := t.Spend - spend
	return 2*max(off, -off) <= schema.Money(rounded)
}

// AgreesRounded is like [Total.Agrees], for a service that rounds amounts. rowDecimals is the number of decimals to
// which the rows are rounded. Each row, and the total, may be off by half a unit of its last decimal.
func (t Total) AgreesRounded(
	spend schema.Money, clicks schema.Null[int64], rows int64, rowDecimals, totalDecimals int,
) bool {
	if t.Clicks.Valid && clicks.Valid && t.Clicks.V != clicks.V {
		return false
	}
	off := t.Spend - spend
	return 2*max(off, -off) <= schema.Money(rows)*schema.MoneyUnit(rowDecimals)+schema.MoneyUnit(totalDecimals)
}
