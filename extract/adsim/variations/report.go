package variations

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/report"
	"spendsync/extract/adsim/wire"
)

// totalQuirks are about the report's own sums, which the description promises nowhere.
var totalQuirks = behaviors{
	"totals-lack-source": {change: each(ofTotals, lackSource)},
	"totals-lack-clicks": {
		change: in(ofTotals, "clicks", value(func(v *node) *node { return num(max(0, v.Number()-1)) }))},
	"totals-per-campaign": {ask: func(x *exchange) {
		if x.place == atTotals {
			x.edit(func(q url.Values) { q.Set("columns", "campaign_id,"+q.Get("columns")) })
		}
	}},
	"totals-none":      {override: refuse(ofTotals, 400, "include_creatives must be true", always)},
	"totals-empty":     {change: body(ofTotals, noRows)},
	"totals-no-clicks": {change: dropColumn(ofTotals, "clicks")},
	"totals-fail": {override: func(x *exchange) (wire.Reply, bool) {
		if x.place != atTotals {
			return wire.Reply{}, false
		}
		id := x.accounts[0].World.RequestID()
		return report.Error(500, report.TextInternal+" (request ID: "+id+")"), true
	}},
}

// numberQuirks are about how the report writes numbers.
var numberQuirks = behaviors{
	"spend-exponent": {change: in(ofReport, "total_spend", value(func(v *node) *node {
		return leaf(strconv.FormatFloat(float(v), 'e', -1, 64))
	}))},
	"conversions-fractional": {change: in(ofReport, "conversions", value(func(v *node) *node {
		return leaf(string(jsontext.AppendMillionths(nil, int64(v.Number())*500_000)))
	}))},
	"credit-negative-clicks": {change: each([]place{atDays, atTotals}, credits)},
	"counts-empty": {change: in(ofDays, "impressions conversions", raw(func(s string) string {
		if s == "0" {
			return `""`
		}
		return s
	}))},
}

// naming applies a form to the name of every campaign, in the report and in the settings.
func naming(f form) change { return all(in(ofDays, "campaign_name", f), in(ofCampaigns, "name", f)) }

// nameQuirks change texts only: a client must not refuse the numbers because of them.
var nameQuirks = behaviors{
	"name-long": {change: naming(tail(strings.Repeat(" and more", 20<<10/9)))},
}

// rowQuirks are about the rest of a row, besides its numbers.
var rowQuirks = behaviors{
	"names-two": {change: each(ofDays, func(_ *exchange, i int, row *node) {
		if i%2 == 1 {
			tail(" (renamed)")(row, "campaign_name")
		}
	})},
	"name-missing": {change: dropColumn(ofDays, "campaign_name")},
	"row-without-creative": {change: func(x *exchange, body *node) *node {
		if x.number("page", 1) > 1 {
			return body
		}
		return onePaid("creative_id", put("null"))(x, body)
	}},
	"source-date-missing": {
		change: in(ofDays, "source_id", ifNull(func(row *node, _ string) { row.Drop("source_id", "date") }))},
	"rows-unsorted": {change: body(ofReport, func(body *node) { slices.Reverse(rowsOf(body)) })},
	"other-account": {change: in(ofRows, "campaign_id creative_id", value(jsontext.FromText(2, func(s string) *node {
		return text("C88" + s[2:])
	})))},
}

// columnQuirks are about the list of columns and the form of the rows.
var columnQuirks = behaviors{
	"columns-more": {change: body(ofReport, func(body *node) {
		body.Edit("columns", func(v *node) *node { return list(append(v.Values, text("currency"))...) })
		for _, row := range rowsOf(body) {
			row.Set("currency", text("USD"))
		}
	})},
	"columns-order": {change: body(ofReport, func(body *node) {
		slices.Reverse(body.Get("columns").Elements())
		for _, row := range rowsOf(body) {
			slices.Reverse(row.Keys)
			slices.Reverse(row.Values)
		}
	})},
	"columns-objects": {
		change: columns(func(c *node) *node { return with("name", c, "type", text("string")) })},
	"columns-lack-clicks":      {change: dropColumn(ofReport, "clicks")},
	"columns-lack-conversions": {change: dropColumn(ofReport, "conversions")},
	"rows-arrays":              {change: edit(ofReport, func(row *node) { row.Kind, row.Keys = '[', nil })},
	"report-camel": {
		change: all(columns(func(c *node) *node { return text(camel(c.Text())) }), edit(ofReport, camelKeys))},
}

// columns replaces the elements of the list of columns.
func columns(to func(c *node) *node) change {
	return body(ofReport, func(body *node) {
		body.Edit("columns", func(v *node) *node { return replaceAll(v, to) })
	})
}

func camelKeys(of *node) {
	for i, key := range of.Keys {
		of.Keys[i] = camel(key)
	}
}

// fifth reports whether the request is for the day on which some quirks have no rows: the fifth
// before today.
func fifth(x *exchange) bool { d, one := x.oneDay(); return one && d == x.today-5 }

// dayQuirks are about days: how they are written, and which there are.
var dayQuirks = behaviors{
	"date-slashes": {
		change: in(ofReport, "date", words(func(s string) string { return strings.ReplaceAll(s, "-", "/") }))},
	"date-us": {change: in(ofReport, "date", value(jsontext.FromText(10, func(s string) *node {
		return text(s[5:7] + "/" + s[8:] + "/" + s[:4])
	})))},
	"day-empty":        {change: emptyDay(true)},
	"day-rows-missing": {change: emptyDay(false)},
	"day-empty-204": {
		change: emptyDay(true),
		wire: func(x *exchange, rep *wire.Reply) {
			if x.place.onReport() && fifth(x) {
				rep.Status, rep.Body = http.StatusNoContent, nil
			}
		}},
	"day-empty-404": {
		change:   emptyDay(true),
		override: refuse(ofReport, 404, "No data for the given range", fifth)},
	"reach-31": {override: reachOf(31)},
	"reach-30": {override: reachOf(30)},
	"today-none": {change: inPlaces(ofReport, func(x *exchange, body *node) *node {
		if d, ok := x.oneDay(); ok && d == x.today {
			noRows(body)
		}
		return body
	})},
	"range-one-day": {override: refuse(ofReport, 400, "The range must not exceed 1 day", func(x *exchange) bool {
		_, one := x.oneDay()
		return !one
	})},
}

// pageQuirks are about pages of the report.
var pageQuirks = behaviors{
	"pagination-text": {change: pagination(func(g, _ *node) { replaceAll(g, quoted) })},
	"pagination-more": {change: pagination(func(g, _ *node) {
		g.Set("has_next", leaf(strconv.FormatBool(g.Get("page").Number() < g.Get("total_pages").Number())))
		g.Set("links", with("self", text("/ads/spend-report?page=1")))
	})},
	"pagination-camel":      {change: pagination(func(g, _ *node) { camelKeys(g) })},
	"pagination-from-zero":  {change: pagination(func(g, _ *node) { g.Set("page", num(g.Get("page").Number()-1)) })},
	"pagination-size-shown": {change: pagination(func(g, data *node) { g.Set("page_size", num(len(data.Values))) })},
	"pagination-rows-shown": {change: pagination(func(g, data *node) { g.Set("total_rows", num(len(data.Values))) })},
	"pagination-one-page": {
		change: pagination(func(g, _ *node) { g.Set("total_pages", num(max(1, g.Get("total_pages").Number()))) })},
	"page-cap": {ask: func(x *exchange) {
		if x.place.onReport() && x.number("page_size", report.DefaultPageSize) > 20 {
			x.edit(func(q url.Values) { q.Set("page_size", "20") })
		}
	}},
	"page-size-5000": {override: refuse(ofReport, 400, "page_size cannot exceed 5000", func(x *exchange) bool {
		return x.number("page_size", report.DefaultPageSize) > 5000
	})},
}

// reportBodyQuirks are about what a body of the report is wrapped in.
var reportBodyQuirks = behaviors{
	"report-bare": {change: inPlaces(ofReport, func(_ *exchange, body *node) *node { return list(rowsOf(body)...) })},
	"report-data-null": {change: body(ofReport, func(body *node) {
		if data := body.Get("data"); data != nil && len(data.Values) == 0 {
			body.Set("data", leaf("null"))
		}
	})},
}

// always is a condition of refuse.
func always(*exchange) bool { return true }

// refuse answers requests in some places with an error of the report, if they meet a condition.
func refuse(places []place, status int, message string,
	when func(x *exchange) bool) func(x *exchange) (wire.Reply, bool) {
	return func(x *exchange) (wire.Reply, bool) {
		if !slices.Contains(places, x.place) || !when(x) {
			return wire.Reply{}, false
		}
		return report.Error(status, message), true
	}
}

// reachOf refuses requests that start more than days days before today.
func reachOf(days int) func(x *exchange) (wire.Reply, bool) {
	return refuse(ofReport, 400, strings.Replace(report.TextTooFar, "32", strconv.Itoa(days), 1),
		func(x *exchange) bool {
			d, ok := clock.ParseDay(x.param("start_date"))
			return ok && d < x.today-clock.Day(days)
		})
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
		if fifth(x) && (x.place == atDays || sums && x.place == atTotals) {
			noRows(body)
		}
		if data := body.Get("data"); data != nil && x.place == atTotals && sums && !one {
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
func dropColumn(places []place, name string) change {
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

// fixed rounds an amount to a number of decimals.
func fixed(digits int) form {
	return value(func(v *node) *node { return leaf(strconv.FormatFloat(float(v), 'f', digits, 64)) })
}

// twoDigits pads an amount to two decimals.
func twoDigits(s string) string {
	if _, fraction, _ := strings.Cut(s, "."); len(fraction) >= 2 {
		return s
	}
	f, _ := strconv.ParseFloat(s, 64)
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// noisy writes an amount as a sum of floats.
var noisy = value(func(v *node) *node {
	f := float(v)
	if f == 0 {
		return v
	}
	return leaf(strconv.FormatFloat(f*(1+0x1p-52), 'g', 17, 64))
})

func rounded(f float64) int64 { return int64(math.Round(f)) }

// lackSource takes the spend and the clicks of the day's first source out of a sum.
func lackSource(x *exchange, _ int, row *node) {
	d, ok := clock.ParseDay(row.Get("date").Text())
	if !ok {
		return
	}
	at := x.owner()
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
	at := x.owner()
	for r := range at.Rows(d, ledger.Scope{}) {
		if r.Clicks == 0 || r.Spend == 0 {
			continue
		}
		l := at.Line(d, r)
		switch {
		case x.place == atTotals:
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
