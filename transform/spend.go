package transform

import (
	"errors"
	"slices"

	"spendsync/extract"
	"spendsync/schema"
)

// SpendContext is what rows of the report hold that the report does not say.
type SpendContext struct {
	Account, RunID string
	Day            schema.Date // the day asked for
	SeenAt         schema.Instant
}

// SpendPage is what became of one page of a day's report.
type SpendPage struct {
	Rounded int           // amounts with more than six decimals, rounded half to even
	Refused []RefusedRow  // rows that were left out, in their order
	Unread  []RefusedRow  // rows that were taken in without their conversions, which are no whole number
	Texts   []ChangedText // names that are stored otherwise than they were sent, each once for the Interner
}

// RefusedRow is a row of the report that cannot be taken in: a number or an id in it would
// have to be guessed.
type RefusedRow struct {
	RowError
	JSON string // the row as received
}

// AppendSpend appends to dst the rows of one page of a day's report that can be taken in,
// and says what became of the others. It is pure, apart from what intern remembers; the
// rows share nothing with the page.
//
// What is taken, by column:
//
//	date           absent, null, or the day asked for, with midnight behind it or without
//	campaign_id    an id; absent, null and empty are '', as for a credit to the account
//	creative_id    an id; absent, null and empty are ''
//	source_id      the same, as for creatives without spend; or a whole number, its digits
//	campaign_name  any text, see [Interner]; a value that is no text is '': it never stops a row
//	total_spend    a number, or a text that is one; negative for a credit; never absent
//	clicks, impressions, conversions
//	               a whole number, or a text that is one. Null and an empty text are NULL. Absent is NULL where
//	               nothing was spent; else it is refused, for it could not be told from 0.
//	               Below zero only where the spend is not above it: a credit takes back
//	               what was counted. A fraction is refused: the column holds whole numbers,
//	               and to round it would be to guess. Of conversions it costs no more than
//	               itself, and neither does what is no number: they are NULL and the row stands,
//	               for what was spent is known.
//
// Anything else refuses the row, and no other.
func AppendSpend(dst *schema.SpendRows, p extract.Page[extract.SpendLine], c SpendContext, intern *Interner) SpendPage {
	dst.Grow(len(p.Items))
	r := spendReader{c: c, day: c.Day.String(), intern: intern}
	var out SpendPage
	var row schema.Spend
	refuse := func(i int, e *RowError) {
		e.Table, e.Page, e.Row = schema.SpendDaily.Name, p.Number, i+1
		out.Refused = append(out.Refused, RefusedRow{RowError: *e})
	}
	for i := range p.Items {
		if _, odd := slices.BinarySearch(p.NotObjects, i+1); odd {
			refuse(i, &RowError{Err: ErrNotObject})
			continue
		}
		rounded := r.rounded
		e := r.row(&row, &p.Items[i])
		if e != nil && e.Column == "conversions" &&
			(errors.Is(e.Err, schema.ErrFraction) || errors.Is(e.Err, schema.ErrNotNumber)) {
			e.Table, e.Page, e.Row = schema.SpendDaily.Name, p.Number, i+1
			out.Unread, e = append(out.Unread, RefusedRow{RowError: *e}), nil // row reads them last
		}
		if e != nil {
			r.rounded = rounded
			refuse(i, e)
			continue
		}
		dst.Append(&row)
	}
	addJSON(out.Refused, p.Raw)
	addJSON(out.Unread, p.Raw)
	out.Rounded, out.Texts = r.rounded, intern.takeChanged("campaign_name")
	return out
}

// addJSON gives refused rows their JSON.
func addJSON(refused []RefusedRow, raw []byte) {
	if len(refused) == 0 {
		return
	}
	numbers := make([]int, len(refused))
	for i := range refused {
		numbers[i] = refused[i].Row
	}
	rows := extract.RowsJSON(raw, numbers)
	for i := range refused {
		refused[i].JSON = rows[refused[i].Row]
	}
}

type spendReader struct {
	c       SpendContext
	day     string
	intern  *Interner
	rounded int
	// Most rows say in these columns what the row before says.
	date, campaign, creative, name lastValue
}

// lastValue is a text as it was received last, and what it says.
type lastValue struct {
	raw  extract.Value
	text string
}

// get is the cached text if v is unchanged, else what read makes of it.
func (l *lastValue) get(read func(extract.Value) (string, error), v extract.Value) (string, error) {
	if l.raw != nil && string(l.raw) == string(v) {
		return l.text, nil
	}
	s, err := read(v)
	if err == nil {
		l.raw, l.text = v, s
	}
	return s, err
}

// row fills a row, or says which value it cannot take. The source may share the memory of
// the page.
func (r *spendReader) row(to *schema.Spend, l *extract.SpendLine) *RowError {
	*to = schema.Spend{
		AccountID: r.c.Account, ReportDate: r.c.Day,
		FirstSeenAt: r.c.SeenAt, ChangedAt: r.c.SeenAt, RunID: r.c.RunID,
	}
	if e := r.keyOf(to, l); e != nil {
		return e
	}
	to.CampaignName, _ = r.name.get(r.intern.anyText, l.CampaignName)
	var err error
	if to.Spend, err = r.money(l.TotalSpend); err != nil {
		return refused("total_spend", l.TotalSpend, err)
	}
	if to.Clicks, err = spendCount(l.Clicks, to.Spend); err != nil {
		return refused("clicks", l.Clicks, err)
	}
	if to.Impressions, err = spendCount(l.Impressions, to.Spend); err != nil {
		return refused("impressions", l.Impressions, err)
	}
	if to.Conversions, err = spendCount(l.Conversions, to.Spend); err != nil {
		return refused("conversions", l.Conversions, err)
	}
	return nil
}

// keyOf fills the key of a row.
func (r *spendReader) keyOf(to *schema.Spend, l *extract.SpendLine) *RowError {
	if day, err := r.date.get(r.intern.id, l.Date); err != nil {
		return refused("date", l.Date, err)
	} else if day != r.day && !l.Date.Null() {
		if other, ok := extract.DayOf(day); !ok {
			return refused("date", l.Date, ErrNotDay)
		} else if other != r.c.Day {
			return refused("date", l.Date, ErrOtherDay)
		}
	}
	var err error
	if to.CampaignID, err = r.campaign.get(r.intern.id, l.CampaignID); err != nil {
		return refused("campaign_id", l.CampaignID, err)
	}
	if to.CreativeID, err = r.creative.get(r.intern.id, l.CreativeID); err != nil {
		return refused("creative_id", l.CreativeID, err)
	}
	var plain bool
	if to.SourceID, plain = plainID(l.SourceID); !plain {
		if to.SourceID, err = r.intern.id(l.SourceID.SourceID()); err != nil {
			return refused("source_id", l.SourceID, err)
		}
	}
	return nil
}

func refused(column string, v extract.Value, err error) *RowError {
	return &RowError{Column: column, Value: shown(v), Err: plain(err)}
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

// spendCount is a count of a row of the report. What may be absent or negative follows
// from what was spent, see [AppendSpend].
func spendCount(v extract.Value, spend schema.Money) (schema.Null[int64], error) {
	n, err := count(v, spend == 0)
	if err == nil && n.V < 0 && spend > 0 {
		return schema.Null[int64]{}, ErrNegative
	}
	return n, err
}

// count is a whole number of either sign. Where it may be absent, that is NULL.
func count(v extract.Value, mayBeAbsent bool) (schema.Null[int64], error) {
	switch {
	case len(v) == 0 && !mayBeAbsent:
		return schema.Null[int64]{}, ErrMissing
	case v.Null():
		return schema.Null[int64]{}, nil
	}
	digits, ok := v.Number()
	switch {
	case string(v) == `""`: // as null
		return schema.Null[int64]{}, nil
	case !ok:
		return schema.Null[int64]{}, schema.ErrNotNumber
	}
	n, err := schema.ParseCount(digits)
	if err != nil {
		return schema.Null[int64]{}, err
	}
	return schema.Some(n), nil
}
