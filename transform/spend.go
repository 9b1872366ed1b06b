package transform

import (
	"spendsync/extract"
	"spendsync/schema"
)

// SpendContext is what rows of the report hold that the report does not say.
type SpendContext struct {
	Account, RunID string
	Day            schema.Date // the day asked for
	SeenAt         schema.Instant
}

// AppendSpend appends to dst the rows of one page of a day's report, and says how
// many amounts had more than six decimals and were rounded. It is pure, apart from
// what intern remembers; the rows share nothing with the page. With an error dst
// is as it was.
//
// A creative without spend comes without a date, without a source, and with
// only some of its counts: there the day is known, the source is empty, and an
// absent count is NULL. On any other row an absent count is refused, for nobody
// could tell it from 0. A null is the service's own NULL and stays one.
// Spend itself is never absent. It may be negative, as credits are.
func AppendSpend(dst *schema.SpendRows, p extract.Page[extract.SpendLine], c SpendContext, intern *Interner) (rounded int, err error) {
	before := dst.Len()
	dst.Grow(len(p.Items))
	r := spendReader{c: c, day: c.Day.String(), intern: intern}
	var row schema.Spend
	for i := range p.Items {
		if e := r.row(&row, &p.Items[i]); e != nil {
			dst.Cut(before)
			e.Table, e.Page, e.Row = schema.SpendDaily.Name, p.Number, i+1
			return 0, e
		}
		dst.Append(&row)
	}
	return r.rounded, nil
}

type spendReader struct {
	c       SpendContext
	day     string
	intern  *Interner
	rounded int
	// Most rows say in these columns what the row before says.
	date, campaign, creative, name again
}

// again is a text as it was received last, and what it says.
type again struct {
	raw  extract.Value
	text string
}

// or is the text if it comes as it did last, else what read makes of it.
func (a *again) or(read func(extract.Value) (string, error), v extract.Value) (string, error) {
	if a.raw != nil && string(a.raw) == string(v) {
		return a.text, nil
	}
	s, err := read(v)
	if err == nil {
		a.raw, a.text = v, s
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
	var err error
	if day, err := r.date.or(r.intern.id, l.Date); err != nil {
		return refused("date", l.Date, err)
	} else if !l.Date.Null() && day != r.day {
		return refused("date", l.Date, ErrOtherDay)
	}
	if to.CampaignID, err = r.campaign.or(r.intern.id, l.CampaignID); err != nil {
		return refused("campaign_id", l.CampaignID, err)
	}
	if to.CampaignID == "" {
		return refused("campaign_id", l.CampaignID, ErrMissing)
	}
	if to.CreativeID, err = r.creative.or(r.intern.id, l.CreativeID); err != nil {
		return refused("creative_id", l.CreativeID, err)
	}
	var plain bool
	if to.SourceID, plain = plainID(l.SourceID); !plain {
		if to.SourceID, err = r.intern.id(l.SourceID); err != nil {
			return refused("source_id", l.SourceID, err)
		}
	}
	if to.CampaignName, err = r.name.or(r.intern.text, l.CampaignName); err != nil {
		return refused("campaign_name", l.CampaignName, err)
	}
	if to.Spend, err = r.money(l.TotalSpend); err != nil {
		return refused("total_spend", l.TotalSpend, err)
	}
	idle := to.Spend == 0
	if to.Clicks, err = count(l.Clicks, idle); err != nil {
		return refused("clicks", l.Clicks, err)
	}
	if to.Impressions, err = count(l.Impressions, idle); err != nil {
		return refused("impressions", l.Impressions, err)
	}
	if to.Conversions, err = count(l.Conversions, idle); err != nil {
		return refused("conversions", l.Conversions, err)
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
	if !number(v) {
		return 0, schema.ErrNotNumber
	}
	m, rounded, err := schema.ParseMoney(v)
	if rounded {
		r.rounded++
	}
	return m, err
}

// count is a whole number from 0. Where it may be absent, that is NULL.
func count(v extract.Value, mayBeAbsent bool) (schema.Null[int64], error) {
	switch {
	case len(v) == 0 && !mayBeAbsent:
		return schema.Null[int64]{}, ErrMissing
	case v.Null():
		return schema.Null[int64]{}, nil
	case !number(v):
		return schema.Null[int64]{}, schema.ErrNotNumber
	}
	n, err := schema.ParseCount(v)
	switch {
	case err != nil:
		return schema.Null[int64]{}, err
	case n < 0:
		return schema.Null[int64]{}, ErrNegative
	}
	return schema.Some(n), nil
}

// number tells numbers from other JSON values by their first byte, so that a
// long text is refused as a text and not as a long number.
func number(v extract.Value) bool { return v[0] == '-' || v[0] >= '0' && v[0] <= '9' }
