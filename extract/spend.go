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

// maxPageSize is the largest page that the report allows.
const maxPageSize = 10_000

// SpendLine is one row of the report, with unmodified values. It is valid as long as its page.
type SpendLine struct {
	Date, CampaignID, CampaignName, CreativeID, SourceID Value
	TotalSpend, Clicks, Impressions, Conversions         Value
	Currency                                             Value // currency of the spend; nil: the row names none
	JSON                                                 Value // the entire row
}

// spendForm maps the columns of the report to the fields of a SpendLine.
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

// SpendQuestion selects a day's report, or a part of it.
type SpendQuestion struct {
	Day      schema.Date
	PageSize int // rows per page; 0: [maxPageSize]
	// Campaign and Creative limit the answer to one campaign or creative; empty: no limit.
	Campaign, Creative string
}

// Spend walks the report of one Chicago day, or the part of one campaign or creative, up to the last page that the
// pages state. Each range over the sequence sends new requests. After a walk, *seen holds what the pages state about
// their completeness, which the caller must check. A reply without one of its parts, or without a requested column, is
// [ErrContract]. Nothing follows an error. A page is valid until the next page is requested, see [Page].
func (c *Client) Spend(ctx context.Context, q SpendQuestion, seen *Evidence) iter.Seq2[Page[SpendLine], error] {
	return pages(ctx, c, spendPages(c.service, q), seen)
}

// ProveSpend walks stored replies of the report, in the order of their pages, as [Client.Spend] does.
func ProveSpend(s *service.Service, q SpendQuestion, bodies iter.Seq2[[]byte, error],
	seen *Evidence) iter.Seq2[Page[SpendLine], error] {
	return prove(spendPages(s, q), bodies, seen)
}

// spendPages returns the question for a day.
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

// DayOf parses a day of the report: 2026-03-08, or another form that the line times.days of the service file declares.
func DayOf(s *service.Service, text string) (day schema.Date, ok bool) {
	if day, err := schema.ParseDate(text); err == nil {
		return day, true
	}
	for _, form := range s.Names("times.days") {
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

// noDay returns an error text for a value that is not a day. The text suggests the line of the service file that
// declares another form.
func noDay(v Value) string {
	return fmt.Sprintf("date %s is not a day; its form, in Go's layout, is a line times.days of "+
		`SPENDSYNC_SERVICE_FILE, for example times.days: "01/02/2006"`, printable(v, 60))
}

// DecodeSpend decodes one stored reply of the report as [Client.Spend] does, without checking that rows are complete.
// The error for an unreadable reply is [ErrContract], with the place. The page is valid as long as the body.
func DecodeSpend(s *service.Service, body []byte) (Page[SpendLine], error) {
	a, err := decodeSpend(s, body, nil)
	if err != nil {
		return Page[SpendLine]{}, err
	}
	p := asPage(1, &a, body)
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

// lacks returns an error if requested columns are missing.
func (a *pageReply[T]) lacks(wanted []string) error {
	came := func(name string) bool { return slices.Contains(a.columns, name) }
	lacking := slices.DeleteFunc(slices.Clone(wanted), came)
	if len(lacking) == 0 {
		return nil
	}
	return contractf("the columns lack %s; a column that the service does not have is left out by the line "+
		"report.columns of SPENDSYNC_SERVICE_FILE, and one that it calls otherwise has a line report.%s",
		strings.Join(lacking, ", "), lacking[0])
}

// reportQuery returns the parameters of a request to the report.
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

// totalColumns are the columns that are requested for the service's own sums. If the service groups by the requested
// columns, it returns one row per date. The service's description does not promise this grouping.
var totalColumns = []string{"date", "total_spend", "clicks"}

// totalPageSize has room for one row per day of the entire reach. A service may send fewer rows per page.
const totalPageSize = 1000
