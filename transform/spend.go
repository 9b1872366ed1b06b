package transform

import (
	"errors"
	"fmt"
	"slices"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/schema"
)

// SpendContext holds the values of a stored row that no reply contains, and the names of the keys in a reply.
type SpendContext struct {
	Account, RunID string
	Day            schema.Date // the day asked for
	SeenAt         schema.Instant
	Service        *service.Service // the names of the keys in a reply; nil: those of the embedded service.yaml
}

// SpendPage describes the rows of one page that could not be stored unchanged.
type SpendPage struct {
	Rounded int          // amounts with more than six decimals, rounded half to even
	Refused []RefusedRow // rows that were left out, in page order
	// Unread are the rows that are stored without some of their counts, because a count cannot be read, or because it
	// is absent from a row with spend. They are in page order. A row's error names the columns, separated by commas.
	Unread []RefusedRow
	// UnreadForms has the number of unreadable values for each count column and form, for example "clicks.string". The
	// form is a JSON type, "huge" or "fraction".
	UnreadForms map[string]int64
	// Stray is the first row that is of another day, or whose currency is not the stored one; nil: there is no such
	// row. It makes the caller refuse the entire read.
	Stray *RowError
}

// RefusedRow is a row of the report with a value that cannot be stored, because a number or an ID would have to be
// guessed.
type RefusedRow struct {
	RowError
	JSON string // the row as received
}

// AppendSpend appends the rows of one page of a day's report to dst, and returns the rows that cannot be stored
// unchanged. It is pure, apart from the state of the interner. The rows share no memory with the page.
//
// The stored values, by column:
//
//	date        the requested day, also if the reply has none, as for a creative without spend. If the reply has
//	            another day, the entire read is refused
//	campaign_id, creative_id, source_id
//	            an ID of any form, without surrounding blanks; a whole number is its digits. Absent, null and blank
//	            are '' in a row without spend: creatives that were not delivered have no source. A row with spend and
//	            without an ID is refused
//	total_spend a number, or a text that is one; negative for a credit. Absent and null are 0 in a row of a creative
//	            that was not delivered, which has no source and no counts; otherwise the row is refused
//	clicks, impressions, conversions
//	            a whole number, or a text that is one; negative for a credit. Absent and null are NULL or, in a row of
//	            a creative that was not delivered, 0. All are NULL if the column is not requested. Any other value, a
//	            fraction included, is NULL and unread; the row is stored
//
// A row with any other value is refused, and no other row. campaign_name stays empty: it is a label, see
// [schema.SpendRows.Name].
func AppendSpend(dst *schema.SpendRows, p extract.Page[extract.SpendLine], c SpendContext, intern *Interner) SpendPage {
	dst.Grow(len(p.Items))
	r := spendReader{c: c, day: c.Day.String(), intern: intern, asked: c.Service.ReportColumns()}
	var out SpendPage
	var row schema.Spend
	place := func(e *RowError, i int) RefusedRow {
		e.Table, e.Page, e.Row = schema.SpendDaily.Name, p.Number, i+1
		return RefusedRow{RowError: *e, JSON: string(p.Items[i].JSON)}
	}
	for i := range p.Items {
		if _, isOther := slices.BinarySearch(p.NotObjects, i+1); isOther {
			out.Refused = append(out.Refused, place(&RowError{Err: ErrNotObject}, i))
			continue
		}
		l := &p.Items[i]
		if e := r.stray(l); e != nil && out.Stray == nil {
			stray := place(e, i)
			out.Stray = &stray.RowError
		}
		rounded := r.rounded
		if e := r.row(&row, l); e != nil {
			r.rounded = rounded
			out.Refused = append(out.Refused, place(e, i))
			continue
		}
		if e := r.measures(&row, l); e != nil {
			out.Unread = append(out.Unread, place(e, i))
		}
		dst.Append(&row)
	}
	out.UnreadForms, out.Rounded = r.unreadForms, r.rounded
	return out
}

type spendReader struct {
	c           SpendContext
	day         string
	intern      *Interner
	asked       []string // requested columns
	rounded     int
	unreadForms map[string]int64 // see [SpendPage.UnreadForms]
}

// stray returns the reason if the entire read must be refused because of this row; nil: there is none.
func (r *spendReader) stray(l *extract.SpendLine) *RowError {
	if len(l.Currency) > 0 && extract.OtherCurrency(r.c.Service, l.Currency) != "" {
		return refused("currency", l.Currency, ErrCurrency)
	}
	text, err := r.intern.id(l.Date)
	if err != nil || text == r.day || text == "" {
		return nil
	}
	if other, ok := extract.DayOf(r.c.Service, text); ok && other != r.c.Day {
		return refused("date", l.Date, ErrOtherDay)
	}
	return nil
}

// row fills the key and the spend of a row, or returns the value for which the row is refused.
func (r *spendReader) row(to *schema.Spend, l *extract.SpendLine) *RowError {
	*to = schema.Spend{
		AccountID: r.c.Account, ReportDate: r.c.Day,
		FirstSeenAt: r.c.SeenAt, ChangedAt: r.c.SeenAt, RunID: r.c.RunID,
	}
	if e := r.keyOf(to, l); e != nil {
		return e
	}
	var err error
	if to.Spend, err = r.money(l.TotalSpend); err != nil && !(errors.Is(err, ErrMissing) && r.isUndelivered(to, l)) {
		return refused("total_spend", l.TotalSpend, err)
	}
	if to.Spend == 0 {
		return nil
	}
	switch {
	case to.CampaignID == "":
		return refused("campaign_id", l.CampaignID, ErrNoOwner)
	case to.CreativeID == "":
		return refused("creative_id", l.CreativeID, ErrNoOwner)
	case to.SourceID == "":
		return refused("source_id", l.SourceID, ErrNoOwner)
	}
	return nil
}

// isUndelivered reports whether a row is of a creative that was not delivered: it names a creative but no source, and
// its counts are 0 or missing.
func (r *spendReader) isUndelivered(row *schema.Spend, l *extract.SpendLine) bool {
	for _, v := range [...]extract.Value{l.Clicks, l.Impressions, l.Conversions} {
		if n, err := count(v); err != nil || n.V != 0 {
			return false
		}
	}
	return row.CampaignID != "" && row.CreativeID != "" && row.SourceID == ""
}

// measures fills the counts of a row. A count that cannot be read becomes NULL. The returned error names all such
// counts; nil: there are none.
func (r *spendReader) measures(to *schema.Spend, l *extract.SpendLine) (unread *RowError) {
	for _, m := range [...]struct {
		column string
		from   extract.Value
		to     *schema.Null[int64]
	}{
		{"clicks", l.Clicks, &to.Clicks}, {"impressions", l.Impressions, &to.Impressions},
		{"conversions", l.Conversions, &to.Conversions},
	} {
		n, err := count(m.from)
		switch {
		case !slices.Contains(r.asked, m.column):
			n, err = schema.Null[int64]{}, nil
		case len(m.from) == 0 && to.Spend != 0:
			err = ErrMissing
		case m.from.Null() && to.Spend == 0 && to.SourceID == "" && r.isUndelivered(to, l):
			n = schema.Some[int64](0)
		}
		*m.to = n
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrMissing) {
			r.addUnreadForm(m.column, m.from, err)
		}
		if unread == nil {
			unread = refused(m.column, m.from, err)
			continue
		}
		unread.Column += ", " + m.column
		unread.Err = fmt.Errorf("%w; %s %s: %w", unread.Err, m.column, shown(m.from), reasonOf(m.from, err))
	}
	return unread
}

// addUnreadForm counts an unreadable value in SpendPage.UnreadForms.
func (r *spendReader) addUnreadForm(column string, v extract.Value, err error) {
	form := v.Type()
	switch {
	case errors.Is(err, schema.ErrRange):
		form = "huge"
	case errors.Is(err, schema.ErrFraction):
		form = "fraction"
	}
	if r.unreadForms == nil {
		r.unreadForms = map[string]int64{}
	}
	r.unreadForms[column+"."+form]++
}

// keyOf fills the IDs of a row, and checks that its date is a day. It returns the first refused value; nil: there is
// none.
func (r *spendReader) keyOf(to *schema.Spend, l *extract.SpendLine) *RowError {
	if day, err := r.intern.id(l.Date); err != nil {
		return refused("date", l.Date, err)
	} else if day != r.day && day != "" {
		if _, ok := extract.DayOf(r.c.Service, day); !ok {
			return refused("date", l.Date, ErrNotDay)
		}
	}
	var err error
	if to.CampaignID, err = r.intern.id(l.CampaignID); err != nil {
		return refused("campaign_id", l.CampaignID, err)
	}
	if to.CreativeID, err = r.intern.id(l.CreativeID); err != nil {
		return refused("creative_id", l.CreativeID, err)
	}
	if to.SourceID, err = r.intern.id(l.SourceID); err != nil {
		return refused("source_id", l.SourceID, err)
	}
	return nil
}

func refused(column string, v extract.Value, err error) *RowError {
	return &RowError{Column: column, Value: shown(v), Err: reasonOf(v, err)}
}

func (r *spendReader) money(v extract.Value) (schema.Money, error) {
	if v.Null() {
		return 0, ErrMissing
	}
	digits, ok := v.Number()
	if !ok {
		return 0, schema.ErrNotNumber
	}
	m, rounded, err := schema.ParseMoney(digits)
	if rounded {
		r.rounded++
	}
	return m, err
}

// maxCount is far above any real count of a day, and far enough below the largest int64 that a damaged value cannot
// make the sum of a day overflow.
const maxCount = 100_000_000_000_000_000

// count parses a whole number of either sign. Absent and null are NULL.
func count(v extract.Value) (schema.Null[int64], error) {
	if v.Null() {
		return schema.Null[int64]{}, nil
	}
	digits, ok := v.Number()
	if !ok {
		return schema.Null[int64]{}, schema.ErrNotNumber
	}
	n, err := schema.ParseCount(digits)
	if err == nil && (n > maxCount || n < -maxCount) {
		err = schema.ErrRange
	}
	if err != nil {
		return schema.Null[int64]{}, err
	}
	return schema.Some(n), nil
}
