package variations

import (
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/report"
	"spendsync/extract/adsim/wire"
)

// reportQuirks are variations of the report alone.
var reportQuirks = []Quirk{
	// Quirks of the report's sums by day. The description does not mention such sums.
	{Name: "totals-lack-source", Doc: "sums of the report are a tenth too low",
		ask: edited(ofTotals, func(_ *exchange, r *ledger.Row) {
			r.Spend -= r.Spend / 10
			r.Clicks -= r.Clicks / 10
		})},
	{Name: "totals-none", Doc: "the report refuses questions without include_creatives (400)",
		override: refused(ofTotals, 400, "include_creatives must be true", always)},

	// How the report writes numbers and IDs.
	{Name: "spend-float", Doc: "amounts have the rounding errors of floats: 12.300000000000002",
		change: in(ofReport, "total_spend", value(func(v *node) *node {
			f, _ := strconv.ParseFloat(v.Raw, 64)
			if f == 0 {
				return v
			}
			return leaf(strconv.FormatFloat(f*(1+0x1p-52), 'g', 17, 64))
		}))},
	{Name: "numbers-text", Doc: `all numbers of the report are exact texts: "12.34", "17"`,
		change: in(ofReport, "total_spend clicks impressions conversions ctr cpc cpa",
			value(func(v *node) *node { return text(v.Raw) }))},
	{Name: "credit-negative-clicks", Doc: "a row of each day is a credit: its spend and its clicks are negative",
		ask: edited(ofDays+" "+ofTotals, credits)},
	{Name: "source-empty", Doc: `a creative without delivery has the source_id ""`,
		change: in(ofDays, "source_id", ifNull(put(`""`)))},
	{Name: "source-date-missing", Doc: "a creative without delivery has neither a key source_id nor a key date",
		change: in(ofDays, "source_id", ifNull(func(row *node, _ string) { row.Drop("source_id", "date") }))},
	{Name: "other-account", Doc: "the report is that of another account than the API key's",
		change: in(ofDays+" "+ofTexts, "campaign_id creative_id", words(func(s string) string {
			return "C88" + s[min(2, len(s)):]
		}))},

	// The parts of a reply.
	{Name: "columns-lack-clicks", Doc: "the report leaves out the column clicks though it was asked for",
		change: body(ofReport, func(body *node) {
			if columns := body.Get("columns"); columns != nil {
				columns.Values = slices.DeleteFunc(columns.Values, func(c *node) bool { return c.Text() == "clicks" })
			}
			for _, row := range body.Get("data").Elements() {
				row.Drop("clicks")
			}
		})},
	{Name: "pagination-none", Doc: "the report has no pagination",
		change: body(ofReport, func(body *node) { body.Drop("pagination") })},
	{Name: "page-cap", Doc: "a page of the report has at most 20 rows, whatever was asked for, and states that " +
		"page_size",
		ask: func(x *exchange) {
			if x.endpoint.is(ofReport) && x.number("page_size", report.DefaultPageSize) > 20 {
				x.edit(func(q url.Values) { q.Set("page_size", "20") })
			}
		}},
	{Name: "report-error-200", Doc: `the report is an error with status 200: {"error":".."}`,
		change: replaceBody(ofReport, `{"error":"The report is being prepared. Try again later."}`)},

	// Missing days.
	{Name: "day-empty", Doc: "the report has neither rows nor a sum for the fifth day before today",
		ask: withoutDay(ofDays + " " + ofTotals)},
	{Name: "day-rows-missing", Doc: "the report has a sum but no rows for the fifth day before today",
		ask: withoutDay(ofDays)},
	{Name: "reach-31", Doc: "the report refuses the day 32 days before today (400)",
		override: refused(ofReport, 400, "start_date cannot be more than 31 days before today", func(x *exchange) bool {
			d, ok := clock.ParseDay(x.param("start_date"))
			return ok && d < x.today-31
		})},

	// Pages that do not prove that a day is complete.
	{Name: "pages-unordered", Doc: "each request gets the rows of a day in another order",
		ask: view(ofDays, func(x *exchange) report.View {
			order := rand.New(rand.NewPCG(1, uint64(x.times("shuffle"))))
			return func(rows []ledger.Row) ([]ledger.Row, int) {
				rows = slices.Clone(rows)
				order.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
				return rows, len(rows)
			}
		})},
	{Name: "today-restated", Doc: "between two pages of today a row is deleted or inserted",
		ask: func(x *exchange) {
			if d, one := x.oneDay(); one && x.endpoint == ofDays && d == x.today && x.number("page", 1) > 1 {
				kind := []string{"delete", "insert"}[x.times("restate")%2]
				// An error means that today has no row yet. Then there is nothing to restate.
				_ = x.accounts[0].World.Restate(d.String(), ledger.Restatement{Kind: kind})
			}
		}},
	{Name: "total-with-spend", Doc: "total_rows and total_pages count the rows with spend alone",
		ask: view(ofDays, func(*exchange) report.View {
			return func(rows []ledger.Row) ([]ledger.Row, int) {
				paid := 0
				for i := range rows {
					if rows[i].Spend != 0 {
						paid++
					}
				}
				return rows, paid
			}
		})},
}

// view adds a [report.View] to the requests of some endpoints.
func view(endpoints string, makeView func(x *exchange) report.View) func(x *exchange) {
	return func(x *exchange) {
		if x.endpoint.is(endpoints) {
			x.views = append(x.views, makeView(x))
		}
	}
}

// always is a condition for [refused] that is true for every request.
func always(*exchange) bool { return true }

// refused returns an override that answers requests to the given endpoints with an error. The condition when(x) decides
// whether a request gets the error.
func refused(endpoints string, status int, message string,
	when func(x *exchange) bool) func(x *exchange) (wire.Reply, bool) {
	return func(x *exchange) (wire.Reply, bool) {
		if !x.endpoint.is(endpoints) || !when(x) {
			return wire.Reply{}, false
		}
		if x.endpoint.is(ofAPI) {
			return x.accounts[0].APIError(status, message), true
		}
		return report.Error(status, message), true
	}
}

// withoutDay leaves out the rows of the fifth day before today.
func withoutDay(endpoints string) func(x *exchange) {
	return view(endpoints, func(x *exchange) report.View {
		return func(rows []ledger.Row) ([]ledger.Row, int) {
			rows = slices.DeleteFunc(slices.Clone(rows), func(r ledger.Row) bool { return r.Day == x.today-5 })
			return rows, len(rows)
		}
	})
}

// edited returns a function that calls edit(x, r) for each row r of the replies of the given endpoints.
func edited(endpoints string, edit func(x *exchange, r *ledger.Row)) func(x *exchange) {
	return view(endpoints, func(x *exchange) report.View {
		return func(rows []ledger.Row) ([]ledger.Row, int) {
			rows = slices.Clone(rows)
			for i := range rows {
				edit(x, &rows[i])
			}
			return rows, len(rows)
		}
	})
}

// credits edits a row of the reply as if the day's first row with spend and clicks were a credit, with negative spend
// and clicks. It changes that first row itself, or a sum of the day, which includes the first row. All other rows stay
// as they are.
func credits(x *exchange, row *ledger.Row) {
	at := x.accounts[0].World.StateAt(x.now)
	for r := range at.Rows(row.Day, ledger.Scope{}) {
		if r.Clicks == 0 || r.Spend == 0 {
			continue
		}
		if x.endpoint == ofTotals || r.Creative == row.Creative && r.Source == row.Source {
			row.Spend, row.Clicks = row.Spend-2*r.Spend, row.Clicks-2*r.Clicks
		}
		return
	}
}
