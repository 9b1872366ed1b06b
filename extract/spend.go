package extract

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"spendsync/extract/service"
	"spendsync/schema"
)

// maxPageSize is the largest page that the report gives.
const maxPageSize = 10_000

// spendColumns are asked for by name: clicks never come by default, and the
// texts of the creatives on every row would multiply the bytes.
var spendColumns = []string{
	"date", "campaign_id", "campaign_name", "creative_id", "source_id",
	"total_spend", "clicks", "impressions", "conversions",
}

// SpendLine is one row of the report, with unmodified values. It lives as long as its page.
type SpendLine struct {
	Date, CampaignID, CampaignName, CreativeID, SourceID Value
	TotalSpend, Clicks, Impressions, Conversions         Value
	Currency                                             Value // of the spend, if the row names one
}

// spendForm is the form of rows of the report.
func spendForm(s *service.Service) rowForm[SpendLine] {
	return rowForm[SpendLine]{s, (*SpendLine).place}
}

func (l *SpendLine) place(column string) *Value {
	switch column {
	case "date":
		return &l.Date
	case "campaign_id":
		return &l.CampaignID
	case "campaign_name":
		return &l.CampaignName
	case "creative_id":
		return &l.CreativeID
	case "source_id":
		return &l.SourceID
	case "total_spend":
		return &l.TotalSpend
	case "clicks":
		return &l.Clicks
	case "impressions":
		return &l.Impressions
	case "conversions":
		return &l.Conversions
	case "currency":
		return &l.Currency
	}
	return nil
}

// hasSpend reports whether the spend of the row is a number and not zero.
func (l *SpendLine) hasSpend() bool {
	digits, ok := l.TotalSpend.Number()
	if !ok {
		return false
	}
	spend, _, err := schema.ParseMoney(digits)
	return err != nil || spend != 0
}

// Spend walks the report of one Chicago day, in pages of pageSize rows (0:
// [maxPageSize]), until a page shows that nothing follows. Range over it once: another range asks
// the service again.
//
// What the pages show of their completeness is in seen after a walk without an error; the caller
// weighs it. Without seen the last error is an [*UnprovenError] unless the pages prove to be
// complete. So it is where a row is of another day. Nothing follows an error. A day
// whose replies are all the known ones comes as one page that says so, and leaves seen as it was; known
// may be nil.
//
// A page is valid until the next one is requested, see [Page].
func (c *Client) Spend(ctx context.Context, day schema.Date, pageSize int, known *Known,
	seen *Evidence) iter.Seq2[Page[SpendLine], error] {
	return func(yield func(Page[SpendLine], error) bool) {
		var refused refusals
		for again := true; again; {
			ask, isFirst := c.ask.current(), true
			again = false
			q := spendPages(c.service, day, ask.size(pageSize), ask.columns(c.service))
			for page, err := range pages(ctx, c, q, known, seen) {
				switch {
				case isFirst && err == nil:
					c.ask.answered(ask)
				case isFirst && (c.ask.refused(c.service, err, ask, pageSize) || refused.pass(ctx, c, q.what, err)):
					again = true
				case isFirst:
					err = unnamed(err)
				}
				if isFirst = false; again || !yield(page, err) {
					break
				}
			}
		}
	}
}

// ProveSpend walks replies of the report of one day that were kept, in the order of their
// pages, as [Client.Spend] does.
func ProveSpend(s *service.Service, day schema.Date, pageSize int, bodies iter.Seq2[[]byte, error],
	seen *Evidence) iter.Seq2[Page[SpendLine], error] {
	return prove(spendPages(s, day, Ask{}.size(pageSize), spendColumns), bodies, seen)
}

// spendPages is the question for a day.
func spendPages(s *service.Service, day schema.Date, pageSize int, columns []string) paged[SpendLine] {
	asked := []byte(day.String())
	return paged[SpendLine]{
		what: "spend " + day.String(), path: s.Path("report", ""), query: reportQuery(s, day, day, columns, true),
		size: pageSize, service: s,
		decode: func(body []byte, room []SpendLine) (pageReply[SpendLine], error) { return decodeSpend(s, body, room) },
		key: func(dst []byte, l *SpendLine) ([]byte, error) {
			// Creatives without spend come without a date; in a window of one day
			// theirs is known.
			if !l.Date.Null() && l.Date[0] == '"' {
				if dst = l.Date.appendText(dst); string(dst) != string(asked) {
					if other, ok := DayOf(s, string(dst)); ok && other != day {
						return dst, fmt.Errorf("date %s, not the day asked for", quote(dst, 60))
					}
				}
			}
			if (l.CampaignID.blank() || l.CreativeID.blank() || l.SourceID.blank()) && l.hasSpend() {
				return dst, errNoKey
			}
			return appendKey(dst[:0], l.CampaignID, l.CreativeID, l.SourceID.ID())
		},
	}
}

// appendKey appends a key of IDs, each without the blanks around it, or is [errNoKey]: an ID
// that is not a text has no spelling of its own, and two IDs that contain half a character
// may or may not be the same one.
func appendKey(dst []byte, ids ...Value) ([]byte, error) {
	for _, id := range ids {
		if !id.Null() && id[0] != '"' {
			return dst, errNoKey
		}
		begin := len(dst)
		dst = id.appendText(dst)
		dst = append(append(dst[:begin], bytes.TrimSpace(dst[begin:])...), keyEnd)
	}
	if bytes.Contains(dst, []byte(replacement)) {
		return dst, errNoKey
	}
	return dst, nil
}

// midnight is the time that services append to a day that they store as a time.
var midnight = regexp.MustCompile(`^[T ]00:00(:00(\.0+)?)?( ?(Z|UTC|[+-]00:?00|-0[56]:?00))?$`)

// DayOf returns the day in a text of the report: 2026-03-08, or the same with midnight appended, in no zone, in UTC or
// in Chicago, or a form of the line times.days. The report has no times, so midnight stands for the day.
func DayOf(s *service.Service, text string) (day schema.Date, ok bool) {
	const form = len(time.DateOnly)
	if len(text) == form || len(text) > form && midnight.MatchString(text[form:]) {
		if day, err := schema.ParseDate(text[:form]); err == nil {
			return day, true
		}
	}
	for _, form := range s.Texts("times.days") {
		t, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		if strings.Contains(form, "Z07") || strings.Contains(form, "-07") {
			day = schema.DateOf(t)
			return day, day.Start().Equal(t)
		}
		y, m, d := t.Date()
		return schema.NewDate(y, m, d), t.Hour()+t.Minute()+t.Second()+t.Nanosecond() == 0
	}
	return 0, false
}

// noDay reports a text that is no day of the report, and the line that names its form.
func noDay(v Value) string {
	return fmt.Sprintf("date %s is not a day; its form, in Go's layout, is a line times.days of "+
		`SPENDSYNC_SERVICE_FILE, for example times.days: "01/02/2006"`, printable(v, 60))
}

// RowsJSON is the JSON of rows of a reply of the report, by their numbers from 1, which
// ascend. A number that the reply does not have, and a reply that cannot be decoded, have
// none.
func RowsJSON(s *service.Service, body []byte, numbers []int) map[int]string {
	found := map[int]string{}
	body = bytes.ToValidUTF8(body, []byte(replacement))
	if !jsontext.Value(body).IsValid(lenientTexts, anyNames) {
		body = listWords(body)
	}
	d, row := newRowsDecoder(body), 0
	if d.PeekKind() != '{' {
		return found
	}
	_ = d.object(func(name []byte) error {
		if !slices.Contains(s.Names("report_reply.rows"), string(name)) || d.PeekKind() != '[' {
			return d.SkipValue()
		}
		return d.array("data", func() error {
			v, err := d.ReadValue()
			if row++; err == nil && len(numbers) > 0 && row == numbers[0] {
				numbers, found[row] = numbers[1:], string(v)
			}
			return err
		})
	})
	return found
}

// DecodeSpend reads one stored reply of the report as [Client.Spend] does. The page's place and total are those of the
// reply, or page 1 of 1 if it has none; nothing is proven. An unreadable reply is refused with [ErrContract] and its
// place. The page belongs to the caller as long as the body does.
func DecodeSpend(s *service.Service, body []byte) (Page[SpendLine], error) {
	a, err := decodeSpend(s, body, nil)
	if err != nil {
		return Page[SpendLine]{}, err
	}
	p := Page[SpendLine]{
		Number: 1, Pages: 1, Total: int64(len(a.items)), Items: a.items, Raw: body, Unknown: a.unknown,
		NotObjects: a.notObjects, Lacks: a.lacking,
	}
	if g := a.pagination; g != nil {
		p.Number, p.Pages, p.Total = int(max(0, g.page)), int(max(1, g.totalPages)), max(p.Total, g.totalRows)
	}
	return p, nil
}

func decodeSpend(s *service.Service, body []byte, room []SpendLine) (pageReply[SpendLine], error) {
	a, err := decodeAnswer(body, room, spendForm(s))
	if err != nil {
		return a, err
	}
	if len(a.items) > 0 || len(a.columns) > 0 {
		a.lacking = slices.DeleteFunc(without(spendColumns, a.columns), func(name string) bool {
			return slices.Contains(indispensable, name) || slices.Contains(necessary, name) && hasAny(a.items, name)
		})
	}
	return a, a.lacks(indispensable)
}

// hasAny reports whether a row has a value in a column.
func hasAny(rows []SpendLine, column string) bool {
	return slices.ContainsFunc(rows, func(l SpendLine) bool { return !l.place(column).blank() })
}

// lacks is an error where columns are not there that were asked for. An answer without rows
// may be without columns.
func (a *pageReply[T]) lacks(wanted []string) error {
	lacking := without(wanted, a.columns)
	if len(lacking) == 0 || len(a.columns) == 0 && len(a.items) == 0 {
		return nil
	}
	return contractf("the columns lack %s", strings.Join(lacking, ", "))
}

// without returns the elements that a list lacks.
func without(wanted, list []string) (lacking []string) {
	for _, name := range wanted {
		if !slices.Contains(list, name) {
			lacking = append(lacking, name)
		}
	}
	return lacking
}

// reportQuery are the parameters of a question to the report.
func reportQuery(s *service.Service, from, to schema.Date, columns []string, creatives bool) url.Values {
	asked := make([]string, len(columns))
	for i, column := range columns {
		asked[i] = s.Text("report." + column)
	}
	q := url.Values{
		s.Text("report_query.start_date"): {from.String()}, s.Text("report_query.end_date"): {to.String()},
		s.Text("report_query.columns"): {strings.Join(asked, ",")},
	}
	if creatives {
		q.Set(s.Text("report_query.include_creatives"), "true")
	}
	return q
}

// totalColumns make the service group by the date alone, if it groups by the requested dimensions. Its description
// does not promise this.
var totalColumns = []string{"date", "total_spend", "clicks"}

// totalPageSize has room for a row a day over any range that the report reaches. A service
// may give fewer a page.
const totalPageSize = 1000
