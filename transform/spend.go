package transform

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/schema"
)

// SpendContext has the columns of the report's rows that the report does not send.
type SpendContext struct {
	Account, RunID string
	Day            schema.Date // the day asked for
	SeenAt         schema.Instant
	Service        *service.Service // what replies are assumed to be like; nil: the embedded assumptions
}

// SpendPage is what became of one page of a day's report.
type SpendPage struct {
	Rounded int          // amounts with more than six decimals, rounded half to even
	Refused []RefusedRow // rows that were left out, in their order
	// Unread are rows that are stored without some of their measures, in their order. Each
	// names the columns, separated by commas.
	Unread []RefusedRow
	// UnreadForms are those measures, each with the form of its value ("clicks.string"), and [Fractional] if a row
	// has a fraction of a conversion; sorted.
	UnreadForms  []string
	UnreadClicks bool          // clicks are among those measures
	Texts        []ChangedText // names that are stored otherwise than they were sent, each once for the Interner
	OddIDs       []OddID       // the first of each odd form, each once for the Interner
}

// RefusedRow is a row of the report with a value that cannot be stored: a number or an ID
// would have to be guessed.
type RefusedRow struct {
	RowError
	JSON string // the row as received
}

// AppendSpend appends to dst the rows of one page of a day's report that can be stored, and returns the others. It is
// pure, apart from the state of intern; the rows share no memory with the page.
//
// The stored values, by column:
//
//	date           absent, null, blank, or the day asked for, with midnight behind it or without
//	campaign_id, creative_id, source_id
//	               an ID without the blanks around it, of any form. Absent, null and blank are ''
//	               in a row without spend, as creatives that were not delivered have no source. A
//	               row with spend has an owner: without one it is refused, unless no row of the page can have
//	               this ID, because its columns lack it. A source's ID may be a whole number, its digits.
//	campaign_name  any text, see [Interner]; a value that is not a text is '': it never stops a row
//	total_spend    a number, or a text that is one; negative for a credit. Absent, null and an empty text are 0
//	               in a row that has no source and counts nothing: a creative that was not delivered. In another
//	               currency than the one that is stored it refuses the row
//	clicks, impressions, conversions
//	               a whole number, or a text that is one. Null and an empty text are NULL. Absent is NULL, too,
//	               if nothing was spent. Below zero only if the spend is not above it: a credit
//	               takes back what was counted. All are NULL if the page lacks the column. Any other value
//	               costs itself, and not its row: it is NULL, and the row is among the unread ones
//	conversions_fractional
//	               conversions that are a number with a fraction, rounded to six decimals; conversions is NULL then
//
// Anything else refuses the row, and no other.
func AppendSpend(dst *schema.SpendRows, p extract.Page[extract.SpendLine], c SpendContext, intern *Interner) SpendPage {
	dst.Grow(len(p.Items))
	r := spendReader{c: c, day: c.Day.String(), intern: intern, usualSources: usualSources(c.Service), lacks: p.Lacks}
	intern.forms.service = c.Service
	var out SpendPage
	var row schema.Spend
	aside := func(to *[]RefusedRow, i int, e *RowError) {
		e.Table, e.Page, e.Row = schema.SpendDaily.Name, p.Number, i+1
		*to = append(*to, RefusedRow{RowError: *e})
	}
	for i := range p.Items {
		if _, odd := slices.BinarySearch(p.NotObjects, i+1); odd {
			aside(&out.Refused, i, &RowError{Err: ErrNotObject})
			continue
		}
		rounded := r.rounded
		if e := r.row(&row, &p.Items[i]); e != nil {
			r.rounded = rounded
			aside(&out.Refused, i, e)
			continue
		}
		if e := r.measures(&row, &p.Items[i], p.Lacks); e != nil {
			out.UnreadClicks = out.UnreadClicks || strings.HasPrefix(e.Column, "clicks")
			aside(&out.Unread, i, e)
		}
		dst.Append(&row)
	}
	addJSON(c.Service, out.Refused, p.Raw)
	addJSON(c.Service, out.Unread, p.Raw)
	out.UnreadForms = slices.Sorted(maps.Keys(r.unreadForms))
	out.Rounded, out.Texts, out.OddIDs = r.rounded, intern.takeChanged("campaign_name"), intern.forms.take()
	return out
}

// addJSON gives refused rows their JSON.
func addJSON(s *service.Service, refused []RefusedRow, raw []byte) {
	if len(refused) == 0 {
		return
	}
	numbers := make([]int, len(refused))
	for i := range refused {
		numbers[i] = refused[i].Row
	}
	rows := extract.RowsJSON(s, raw, numbers)
	for i := range refused {
		refused[i].JSON = rows[refused[i].Row]
	}
}

type spendReader struct {
	c       SpendContext
	day     string
	intern  *Interner
	rounded int
	// unreadForms are the measures that could not be read, each with the form of its value.
	unreadForms map[string]bool
	// usualSources reports that IDs of sources have the form of the description, which plainID knows.
	usualSources bool
	lacks        []string // columns that the page does not have
	// In most rows these columns equal those of the row before.
	date, campaign, creative, name lastValue
}

// lastValue is the text that was received last, and its decoded value.
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

// row fills a row but for its measures, or returns the value that refuses it. The source may
// share the memory of the page.
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
	if to.Spend, err = r.money(l.TotalSpend); err != nil && !(errors.Is(err, ErrMissing) && r.isZero(to, l)) {
		return refused("total_spend", l.TotalSpend, err)
	}
	if len(l.Currency) > 0 && extract.OtherCurrency(r.c.Service, l.Currency) != "" {
		return refused("currency", l.Currency, ErrCurrency)
	}
	if to.Spend != 0 {
		return r.ownerless(to, l)
	}
	return nil
}

// isZero reports whether a row without a spend is one of a creative that was not delivered: it names the creative, has
// no source, and counts nothing.
func (r *spendReader) isZero(row *schema.Spend, l *extract.SpendLine) bool {
	for _, v := range [...]extract.Value{l.Clicks, l.Impressions, l.Conversions} {
		if n, err := count(v, true); err != nil || n.V != 0 {
			return false
		}
	}
	return row.CampaignID != "" && row.CreativeID != "" && row.SourceID == "" && !slices.Contains(r.lacks, "source_id")
}

// ownerless returns the first ID that a row lacks although its page has the column; nil: it has all.
func (r *spendReader) ownerless(row *schema.Spend, l *extract.SpendLine) *RowError {
	switch {
	case row.CampaignID == "":
		return refused("campaign_id", l.CampaignID, ErrNoOwner)
	case row.CreativeID == "" && !slices.Contains(r.lacks, "creative_id"):
		return refused("creative_id", l.CreativeID, ErrNoOwner)
	case row.SourceID == "" && !slices.Contains(r.lacks, "source_id"):
		return refused("source_id", l.SourceID, ErrNoOwner)
	}
	return nil
}

// measures fills the counts of a row. It returns which of them cannot be read and are NULL;
// nil: none.
func (r *spendReader) measures(to *schema.Spend, l *extract.SpendLine, lacks []string) (unread *RowError) {
	for _, m := range [...]struct {
		column string
		from   extract.Value
		to     *schema.Null[int64]
	}{
		{"clicks", l.Clicks, &to.Clicks}, {"impressions", l.Impressions, &to.Impressions},
		{"conversions", l.Conversions, &to.Conversions},
	} {
		if len(m.from) == 0 && slices.Contains(lacks, m.column) { // the whole report has none
			*m.to = schema.Null[int64]{}
			continue
		}
		n, err := spendCount(m.from, to.Spend)
		*m.to = n
		if m.column == "conversions" && errors.Is(err, schema.ErrFraction) {
			if to.ConversionsFractional, err = fractional(m.from, to.Spend); err == nil {
				r.addUnreadForm(m.column, m.from, schema.ErrFraction)
				continue
			}
		}
		if err != nil {
			r.addUnreadForm(m.column, m.from, err)
		}
		switch {
		case err == nil:
		case unread == nil:
			unread = refused(m.column, m.from, err)
		default:
			unread.Column += ", " + m.column
			unread.Err = fmt.Errorf("%w; %s %s: %w", unread.Err, m.column, shown(m.from), plain(err))
		}
	}
	return unread
}

// Fractional is the form of conversions that are stored in conversions_fractional.
const Fractional = "conversions.fraction"

// fractional is a number of conversions that is not whole.
func fractional(v extract.Value, spend schema.Money) (schema.Null[schema.Money], error) {
	digits, _ := v.Number()
	n, _, err := schema.ParseMoney(digits)
	switch {
	case err != nil:
		return schema.Null[schema.Money]{}, err
	case n < 0 && spend > 0:
		return schema.Null[schema.Money]{}, ErrNegative
	case n%schema.Dollar == 0: // six decimals do not show the fraction
		return schema.Null[schema.Money]{}, schema.ErrFraction
	}
	return schema.Some(n), nil
}

// addUnreadForm records why a measure cannot be read, by the form of its value.
func (r *spendReader) addUnreadForm(column string, v extract.Value, err error) {
	form := v.Type()
	switch {
	case errors.Is(err, ErrMissing):
		form = "absent"
	case errors.Is(err, ErrNegative):
		form = "negative"
	case errors.Is(err, schema.ErrRange):
		form = "huge"
	case errors.Is(err, schema.ErrFraction):
		form = "fraction"
	}
	if r.unreadForms == nil {
		r.unreadForms = map[string]bool{}
	}
	r.unreadForms[column+"."+form] = true
}

// keyOf fills the key of a row.
func (r *spendReader) keyOf(to *schema.Spend, l *extract.SpendLine) *RowError {
	if day, err := r.date.get(r.intern.id, l.Date); err != nil {
		return refused("date", l.Date, err)
	} else if day != r.day && day != "" {
		if other, ok := extract.DayOf(r.c.Service, day); !ok {
			return refused("date", l.Date, ErrNotDay)
		} else if other != r.c.Day {
			return refused("date", l.Date, ErrOtherDay)
		}
	}
	var err error
	if to.CampaignID, err = r.campaign.get(r.intern.campaignID, l.CampaignID); err != nil {
		return refused("campaign_id", l.CampaignID, err)
	}
	if to.CreativeID, err = r.creative.get(r.intern.creativeID, l.CreativeID); err != nil {
		return refused("creative_id", l.CreativeID, err)
	}
	id, plain := plainID(l.SourceID)
	if !plain || !r.usualSources {
		if id, err = r.intern.sourceID(l.SourceID); err != nil {
			return refused("source_id", l.SourceID, err)
		}
	}
	to.SourceID = id
	return nil
}

func refused(column string, v extract.Value, err error) *RowError {
	return &RowError{Column: column, Value: shown(v), Err: plain(err)}
}

func (r *spendReader) money(v extract.Value) (schema.Money, error) {
	if v.Null() || string(v) == `""` {
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

// maxCount is far more than any source counts in a day, and so far below the largest int64 that
// a damaged value costs itself: the sum of its day does not overflow.
const maxCount = 100_000_000_000_000_000

// spendCount is a count of a row of the report; NULL with an error. The spend decides whether it may be absent or
// negative, see [AppendSpend].
func spendCount(v extract.Value, spend schema.Money) (schema.Null[int64], error) {
	n, err := count(v, spend == 0)
	switch {
	case err != nil:
		return schema.Null[int64]{}, err
	case n.V < 0 && spend > 0:
		return schema.Null[int64]{}, ErrNegative
	case n.V > maxCount || n.V < -maxCount:
		return schema.Null[int64]{}, schema.ErrRange
	}
	return n, nil
}

// count is a whole number of either sign. NULL means absent, if it may be.
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
