package variations

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/report"
	"spendsync/extract/adsim/wire"
)

// reportQuirks are variations of the report alone.
var reportQuirks = []Quirk{
	// Sums of the report's own, which the description promises nowhere.
	{Name: "totals-lack-source", Doc: "sums of the report leave out one source",
		change: each(ofTotals, lackSource)},
	{Name: "totals-none", Doc: "the report refuses questions without include_creatives (400)",
		override: refuse(ofTotals, 400, "include_creatives must be true", always)},
	{Name: "totals-fail", Doc: "the report without include_creatives is 500",
		override: refuse(ofTotals, 500, report.TextInternal, always)},

	// How the report writes numbers.
	{Name: "spend-cents", Doc: "the spend of a row is rounded to cents, sums are exact",
		change: in(ofDays, "total_spend", value(func(v *node) *node { return leaf(fmt.Sprintf("%.2f", float(v))) }))},
	{Name: "spend-float", Doc: "amounts have the noise of floats behind the sixth digit: 12.300000000000002",
		change: in(ofReport, "total_spend", noisy)},
	{Name: "spend-exponent", Doc: "amounts are written with an exponent: 1.23e+01",
		change: in(ofReport, "total_spend", value(func(v *node) *node {
			return leaf(strconv.FormatFloat(float(v), 'e', -1, 64))
		}))},
	{Name: "numbers-text", Doc: `all numbers of the report are exact texts: "12.34", "17"`,
		change: in(ofReport, "total_spend clicks impressions conversions ctr cpc cpa", asText)},
	{Name: "conversions-fractional", Doc: "conversions are shared between clicks: 0.5",
		change: in(ofReport, "conversions", value(func(v *node) *node {
			return leaf(money.Amount(v.Number() * 500_000).String())
		}))},
	{Name: "credit-negative-clicks", Doc: "a row of each day is a credit: its spend and its clicks are negative",
		change: each("days totals", credits)},
	{Name: "row-spend-null", Doc: "the spend of one row a page is null", change: onePaid("total_spend", put("null"))},

	// The rest of a row, besides its numbers.
	{Name: "row-without-creative", Doc: "the first row with spend of a day has no creative: creative_id is null",
		change: func(x *exchange, body *node) *node {
			if x.number("page", 1) > 1 {
				return body
			}
			return onePaid("creative_id", put("null"))(x, body)
		}},
	{Name: "source-missing", Doc: "a creative without delivery has no key source_id",
		change: in(ofDays, "source_id", ifNull(drop))},
	{Name: "source-empty", Doc: `a creative without delivery has the source_id ""`,
		change: in(ofDays, "source_id", ifNull(put(`""`)))},
	{Name: "source-date-missing", Doc: "a creative without delivery has neither a key source_id nor a key date",
		change: in(ofDays, "source_id", ifNull(func(row *node, _ string) { row.Drop("source_id", "date") }))},
	{Name: "source-number", Doc: "source_id of the report is a number: 4711", change: in(ofDays, "source_id", asID)},
	{Name: "other-account", Doc: "the report is that of another account than the API key's",
		change: in("days texts", "campaign_id creative_id", words(func(s string) string {
			return "C88" + s[min(2, len(s)):]
		}))},

	// The list of columns and the form of the rows.
	{Name: "columns-lack-clicks", Doc: "the report leaves out the column clicks though it was asked for",
		change: dropColumn(ofReport, "clicks")},
	{Name: "rows-arrays", Doc: "the rows of the report are arrays in the order of the columns",
		change: edit(ofReport, func(row *node) { row.Kind, row.Keys = '[', nil })},
	{Name: "report-camel", Doc: "columns and keys of the report are in camel case: totalSpend",
		change: body(ofReport, func(body *node) {
			for _, c := range body.Get("columns").Elements() {
				*c = *text(camel(c.Text()))
			}
			for _, row := range rowsOf(body) {
				camelKeys(row)
			}
		})},

	// Days: how they are written, and which there are.
	{Name: "date-datetime", Doc: "dates of the report are instants in UTC: 2026-11-20T00:00:00Z",
		change: in(ofReport, "date", tail("T00:00:00Z"))},
	{Name: "day-empty", Doc: "the report has no rows for the fifth day before today, and no sum of it",
		change: emptyDay(true)},
	{Name: "day-rows-missing", Doc: "the report has no rows for the fifth day before today, but a sum of it",
		change: emptyDay(false)},
	{Name: "reach-31", Doc: "the report refuses the day 32 days before today (400)",
		override: refuse(ofReport, 400, "start_date cannot be more than 31 days before today", func(x *exchange) bool {
			d, ok := clock.ParseDay(x.param("start_date"))
			return ok && d < x.today-31
		})},
	{Name: "today-none", Doc: "the report has no rows for today",
		change: inPlaces(ofReport, func(x *exchange, body *node) *node {
			if d, ok := x.oneDay(); ok && d == x.today {
				noRows(body)
			}
			return body
		})},
	{Name: "pagination-none", Doc: "the report has no pagination",
		change: body(ofReport, func(body *node) { body.Drop("pagination") })},
	{Name: "pagination-from-zero", Doc: "pagination counts pages from 0 though the request counts from 1",
		change: pagination(func(g, _ *node) { g.Set("page", num(g.Get("page").Number()-1)) })},
	{Name: "pagination-size-shown", Doc: "page_size is how many rows the page has",
		change: pagination(func(g, data *node) { g.Set("page_size", num(len(data.Values))) })},
	{Name: "pagination-rows-shown", Doc: "total_rows is how many rows the page has",
		change: pagination(func(g, data *node) { g.Set("total_rows", num(len(data.Values))) })},
	{Name: "page-cap", Doc: "a page of the report has at most 20 rows, whatever was asked for, and says so",
		ask: func(x *exchange) {
			if x.place.is(ofReport) && x.number("page_size", report.DefaultPageSize) > 20 {
				x.edit(func(q url.Values) { q.Set("page_size", "20") })
			}
		}},

	// What a body of the report is wrapped in.
	{Name: "report-error-200", Doc: `the report is an error with status 200: {"error":".."}`,
		change: whole(ofReport, `{"error":"The report is being prepared. Try again later."}`)},

	// What proves nothing.
	{Name: "report-empty", Doc: "the report has no rows for any day, and no sums",
		change: body(ofReport, noRows)},
	{Name: "pages-unordered", Doc: "the rows of a day come in another order at each request",
		change: shuffled},
}

// fifth reports whether the request is for the day on which some quirks have no rows: the fifth
// before today.
func fifth(x *exchange) bool { d, one := x.oneDay(); return one && d == x.today-5 }

// always is a condition of refuse.
func always(*exchange) bool { return true }

// refuse answers requests in some places with an error, if they meet a condition.
func refuse(places string, status int, message string,
	when func(x *exchange) bool) func(x *exchange) (wire.Reply, bool) {
	return func(x *exchange) (wire.Reply, bool) {
		if !x.place.is(places) || !when(x) {
			return wire.Reply{}, false
		}
		if x.place.is(ofAPI) {
			return x.accounts[0].APIError(status, advertiser.CodeOf(status), message, nil), true
		}
		return report.Error(status, message), true
	}
}

// noRows takes all rows out of a reply of the report.
func noRows(body *node) {
	body.Set("data", list())
	if g := body.Get("pagination"); g != nil {
		g.With("total_rows", num(0)).Set("total_pages", num(0))
	}
}

// emptyDay removes the rows of the fifth day before today, and with sums the sum too.
func emptyDay(sums bool) change {
	return func(x *exchange, body *node) *node {
		_, one := x.oneDay()
		if fifth(x) && (x.place == "days" || sums && x.place == "totals") {
			noRows(body)
		}
		if data := body.Get("data"); data != nil && x.place == "totals" && sums && !one {
			was := len(data.Values)
			data.Values = slices.DeleteFunc(data.Values, func(row *node) bool {
				return row.Get("date").Text() == (x.today - 5).String()
			})
			if g := body.Get("pagination"); g != nil {
				g.Set("total_rows", num(g.Get("total_rows").Number()-was+len(data.Values)))
			}
		}
		return body
	}
}

// dropColumn removes a column from the rows and from the list of columns.
func dropColumn(places string, name string) change {
	return body(places, func(body *node) {
		columns, data := body.Get("columns"), body.Get("data")
		if columns == nil || data == nil {
			return
		}
		columns.Values = slices.DeleteFunc(columns.Values, func(c *node) bool { return c.Text() == name })
		for _, row := range data.Values {
			row.Drop(name)
		}
	})
}

// pagination changes the pagination of a reply of the report.
func pagination(do func(g, data *node)) change {
	return body(ofReport, func(body *node) {
		if g, data := body.Get("pagination"), body.Get("data"); g != nil && g.Kind == '{' && data != nil {
			do(g, data)
		}
	})
}

// onePaid applies a form to the first row with spend on each page of a day's rows.
func onePaid(keys string, f form) change {
	return body(ofDays, func(body *node) {
		for _, row := range rowsOf(body) {
			if spend := row.Get("total_spend"); spend != nil && spend.Raw != "0" {
				for _, key := range strings.Fields(keys) {
					f(row, key)
				}
				return
			}
		}
	})
}

// noisy writes an amount as a sum of floats.
var noisy = value(func(v *node) *node {
	f := float(v)
	if f == 0 {
		return v
	}
	return leaf(strconv.FormatFloat(f*(1+0x1p-52), 'g', 17, 64))
})

// lackSource takes the spend and the clicks of the day's first source out of a sum.
func lackSource(x *exchange, _ int, row *node) {
	d, ok := clock.ParseDay(row.Get("date").Text())
	if !ok {
		return
	}
	at := x.accounts[0].World.StateAt(x.now)
	var lacks ledger.Measures
	source := ledger.NoSource
	for r := range at.Rows(d, ledger.Scope{}) {
		if source == ledger.NoSource && r.Spend > 0 {
			source = r.Source
		}
		if r.Source == source && source != ledger.NoSource {
			lacks.Add(r.Measures)
		}
	}
	row.Edit("total_spend", func(v *node) *node { return plusMillionths(v, -lacks.Spend) })
	row.Edit("clicks", func(v *node) *node { return num(v.Number() - int(lacks.Clicks)) })
}

// credits turns the first row of a day that has clicks into a credit, in the rows and in the sums.
func credits(x *exchange, _ int, row *node) {
	d, ok := clock.ParseDay(row.Get("date").Text())
	if !ok {
		return
	}
	at := x.accounts[0].World.StateAt(x.now)
	for r := range at.Rows(d, ledger.Scope{}) {
		if r.Clicks == 0 || r.Spend == 0 {
			continue
		}
		l := at.Line(d, r)
		switch {
		case x.place == "totals":
			row.Edit("total_spend", func(v *node) *node { return plusMillionths(v, -2*l.Spend) })
			row.Edit("clicks", func(v *node) *node { return num(v.Number() - 2*int(l.Clicks)) })
		case row.Get("campaign_id").Text() == l.CampaignID && row.Get("creative_id").Text() == l.CreativeID &&
			row.Get("source_id").Text() == l.SourceID:
			row.Edit("total_spend", func(v *node) *node { return leaf("-" + v.Raw) })
			row.Edit("clicks", func(v *node) *node { return leaf(fmt.Sprint(-v.Number())) })
		}
		return
	}
}
