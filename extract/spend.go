package extract

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
	"time"

	"spendsync/extract/service"
	"spendsync/schema"
)

// maxPageSize is the largest page that the report gives.
const maxPageSize = 10_000

// SpendLine is one row of the report, with unmodified values. It lives as long as its page.
type SpendLine struct {
	Date, CampaignID, CampaignName, CreativeID, SourceID Value
	TotalSpend, Clicks, Impressions, Conversions         Value
	Currency                                             Value // of the spend, if the row names one
	JSON                                                 Value // all of the row
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
	case rowJSON:
		return &l.JSON
	}
	return nil
}

// SpendQuestion is what is asked for of a day's report.
type SpendQuestion struct {
	Day      schema.Date
	PageSize int // rows a page; 0: [maxPageSize]
	// Campaign and Creative limit the answer to one of them; empty: they do not.
	Campaign, Creative string
}

// Spend walks the report of one Chicago day, or of one campaign or creative of it, to the last page that it states.
// Range over it once: another range asks the service again. What the pages state of their completeness is in seen after
// a walk; the caller weighs it. A reply that lacks one of its parts, or a column that was asked for, is [ErrContract].
// Nothing follows an error. A page is valid until the next one is requested, see [Page].
func (c *Client) Spend(ctx context.Context, q SpendQuestion, seen *Evidence) iter.Seq2[Page[SpendLine], error] {
	return pages(ctx, c, spendPages(c.service, q), seen)
}

// ProveSpend walks replies of the report that were kept, in the order of their pages, as [Client.Spend] does.
func ProveSpend(s *service.Service, q SpendQuestion, bodies iter.Seq2[[]byte, error],
	seen *Evidence) iter.Seq2[Page[SpendLine], error] {
	return prove(spendPages(s, q), bodies, seen)
}

// spendPages is the question for a day.
func spendPages(s *service.Service, q SpendQuestion) paged[SpendLine] {
	what, query := "spend "+q.Day.String(), reportQuery(s, q.Day, q.Day, s.ReportColumns(), true)
	for name, id := range map[string]string{"campaign_id": q.Campaign, "creative_id": q.Creative} {
		if id != "" {
			what += " of " + id
			query.Set(s.Text("report_query."+name), id)
		}
	}
	return paged[SpendLine]{what: what, path: s.Path("report", ""), query: query, service: s,
		size:   cmp.Or(max(0, q.PageSize), maxPageSize),
		decode: func(body []byte, room []SpendLine) (pageReply[SpendLine], error) { return decodeSpend(s, body, room) },
	}
}

// DayOf returns the day in a text of the report: 2026-03-08, or a form of the line times.days.
func DayOf(s *service.Service, text string) (day schema.Date, ok bool) {
	if day, err := schema.ParseDate(text); err == nil {
		return day, true
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

// DecodeSpend reads one stored reply of the report as [Client.Spend] does; nothing is proven. An unreadable reply is
// refused with [ErrContract] and its place. The page belongs to the caller as long as the body does.
func DecodeSpend(s *service.Service, body []byte) (Page[SpendLine], error) {
	a, err := decodeSpend(s, body, nil)
	if err != nil {
		return Page[SpendLine]{}, err
	}
	p := asPage(1, &a, s, body)
	if a.pagination != nil {
		p.Number = int(max(0, a.pagination.page))
	}
	return p, nil
}

func decodeSpend(s *service.Service, body []byte, room []SpendLine) (pageReply[SpendLine], error) {
	a, err := decodeAnswer(body, room, spendForm(s))
	if err != nil {
		return a, err
	}
	return a, a.lacks(s.ReportColumns())
}

// lacks is an error where columns are not there that were asked for.
func (a *pageReply[T]) lacks(wanted []string) error {
	lacking := without(wanted, a.columns)
	if len(lacking) == 0 {
		return nil
	}
	return contractf("the columns lack %s; a column that the service does not have is left out by the line "+
		"report.columns of SPENDSYNC_SERVICE_FILE, and one that it calls otherwise has a line report.%s",
		strings.Join(lacking, ", "), lacking[0])
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
