package adsim

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// totalQuirks are about the report's own sums, which the description promises nowhere.
var totalQuirks = []quirk{
	{Quirk: Quirk{Name: "totals-cents",
		Doc: "sums of the report are rounded to cents"},
		change: ofRows(ofTotals, func(_ *exchange, _ int, row *node) { row.edit("total_spend", fixed(2)) })},
	{Quirk: Quirk{Name: "totals-dollars",
		Doc: "sums of the report are rounded to whole dollars"},
		change: ofRows(ofTotals, func(_ *exchange, _ int, row *node) { row.edit("total_spend", fixed(0)) })},
	{Quirk: Quirk{Name: "totals-float",
		Doc: "sums of the report have the noise of floats behind the sixth digit"},
		change: ofRows(ofTotals, func(_ *exchange, _ int, row *node) { row.edit("total_spend", noisy) })},
	{Quirk: Quirk{Name: "totals-lack-source",
		Doc: "sums of the report leave out one source"},
		change: ofRows(ofTotals, lackSource)},
	{Quirk: Quirk{Name: "totals-lack-clicks",
		Doc: "sums of the report leave out some clicks that the rows have"},
		change: ofRows(ofTotals, func(_ *exchange, _ int, row *node) {
			row.edit("clicks", func(v *node) *node { return intNode(max(0, v.number()-1)) })
		})},
	{Quirk: Quirk{Name: "totals-per-campaign",
		Doc: "sums of the report come per campaign and day"},
		ask: func(x *exchange) {
			if x.place == atTotals {
				x.edit(func(q url.Values) { q.Set("columns", "campaign_id,"+q.Get("columns")) })
			}
		}},
	{Quirk: Quirk{Name: "totals-none",
		Doc: "the report refuses questions without include_creatives (400)"},
		override: refuseAt(atTotals, 400, "include_creatives must be true")},
	{Quirk: Quirk{Name: "totals-empty",
		Doc: "the report without include_creatives has no rows"},
		change: func(x *exchange, body *node) *node {
			if x.place == atTotals {
				emptyAnswer(body)
			}
			return body
		}},
	{Quirk: Quirk{Name: "totals-no-date",
		Doc: "sums of the report do not say of which day they are"},
		change: ofRows(ofTotals, func(_ *exchange, _ int, row *node) { row.drop("date") })},
	{Quirk: Quirk{Name: "totals-no-clicks",
		Doc: "sums of the report have no clicks"},
		change: dropColumn(ofTotals, "clicks")},
	{Quirk: Quirk{Name: "totals-fail",
		Doc: "the report without include_creatives is 500"},
		override: refuseAt(atTotals, 500, textInternal)},
}

// lackSource takes the spend and the clicks of the day's first source out of a sum.
func lackSource(x *exchange, _ int, row *node) {
	d, ok := parseDay(row.get("date").text())
	if !ok {
		return
	}
	at := x.owner()
	var lacks Measures
	source := noSource
	for r := range at.rows(d, scope{}) {
		if source == noSource && r.Spend > 0 {
			source = r.source
		}
		if r.source == source && source != noSource {
			lacks.add(r.Measures)
		}
	}
	row.edit("total_spend", func(v *node) *node { return plusMillionths(v, -lacks.Spend) })
	row.edit("clicks", func(v *node) *node { return intNode(v.number() - int(lacks.Clicks)) })
}

// plusMillionths adds to an amount that the simulator wrote exactly.
func plusMillionths(v *node, add int64) *node {
	f, _ := strconv.ParseFloat(v.raw, 64)
	return leaf(string(appendMillionths(nil, int64(math.Round(f*1e6))+add)))
}

// refuseAt answers questions of one kind with an error of the report.
func refuseAt(at place, status int, text string) func(x *exchange) (reply, bool) {
	return func(x *exchange) (reply, bool) {
		if x.place != at {
			return reply{}, false
		}
		if status == 500 {
			text := text + " (request ID: " + x.accounts[0].world.requestID() + ")"
			return reportError(status, text), true
		}
		return reportError(status, text), true
	}
}

// emptyAnswer takes all rows out of a reply of the report.
func emptyAnswer(body *node) {
	body.set("data", listNode())
	if g := body.get("pagination"); g != nil {
		g.set("total_rows", intNode(0))
		g.set("total_pages", intNode(0))
	}
}

// dropColumn leaves a column out of the rows and out of the list of columns.
func dropColumn(places []place, name string) func(x *exchange, body *node) *node {
	return func(x *exchange, body *node) *node {
		columns, data := body.get("columns"), body.get("data")
		if !slices.Contains(places, x.place) || columns == nil || data == nil {
			return body
		}
		columns.values = slices.DeleteFunc(columns.values, func(c *node) bool { return c.text() == name })
		for _, row := range data.values {
			row.drop(name)
		}
		return body
	}
}

// The columns of numbers.
var (
	amounts = []string{"total_spend"}
	counts  = []string{"clicks", "impressions", "conversions"}
	numbers = slices.Concat(amounts, counts, []string{"ctr", "cpc", "cpa"})
)

// editing changes the values of some columns that are there.
func editing(columns []string, change func(v *node) *node) func(x *exchange, i int, row *node) {
	return func(_ *exchange, _ int, row *node) {
		for _, name := range columns {
			row.edit(name, change)
		}
	}
}

// numberQuirks are about how the report writes numbers.
var numberQuirks = []quirk{
	{Quirk: Quirk{Name: "spend-cents",
		Doc: "the spend of a row is rounded to cents, sums are exact"},
		change: ofRows(ofDays, editing(amounts, fixed(2)))},
	{Quirk: Quirk{Name: "spend-two-digits",
		Doc: "amounts always have at least two digits behind the point: 12.50, 3.00"},
		change: ofRows(ofReport, editing(amounts, twoDigits))},
	{Quirk: Quirk{Name: "spend-float",
		Doc: "amounts have the noise of floats behind the sixth digit: 12.300000000000002"},
		change: ofRows(ofReport, editing(amounts, noisy))},
	{Quirk: Quirk{Name: "spend-exponent",
		Doc: "amounts are written with an exponent: 1.23e+01"},
		change: ofRows(ofReport, editing(amounts, func(v *node) *node {
			f, _ := strconv.ParseFloat(v.raw, 64)
			return leaf(strconv.FormatFloat(f, 'e', -1, 64))
		}))},
	{Quirk: Quirk{Name: "numbers-text",
		Doc: `all numbers of the report are exact texts: "12.34", "17"`},
		change: ofRows(ofReport, editing(numbers, quoted))},
	{Quirk: Quirk{Name: "spend-text",
		Doc: `amounts of the report are exact texts: "12.34"`},
		change: ofRows(ofReport, editing(amounts, quoted))},
	{Quirk: Quirk{Name: "spend-dollar",
		Doc: `amounts of the report are texts for people: "$1,234.50"`},
		change: ofRows(ofReport, editing(amounts, func(v *node) *node { return leaf(`"$` + v.raw + `"`) }))},
	{Quirk: Quirk{Name: "counts-float",
		Doc: "counts of the report are written as floats: 17.0"},
		change: ofRows(ofReport, editing(counts, func(v *node) *node { return leaf(v.raw + ".0") }))},
	{Quirk: Quirk{Name: "conversions-fractional",
		Doc: "conversions are shared between clicks: 0.5"},
		change: ofRows(ofReport, editing([]string{"conversions"}, func(v *node) *node {
			return leaf(string(appendMillionths(nil, int64(v.number())*500_000)))
		}))},
	{Quirk: Quirk{Name: "credit-negative-clicks",
		Doc: "a row of each day is a credit: its spend and its clicks are negative"},
		change: credits},
	{Quirk: Quirk{Name: "counts-empty",
		Doc: "impressions and conversions that are 0 are empty texts"},
		change: ofRows(ofDays, func(_ *exchange, _ int, row *node) {
			for _, key := range []string{"impressions", "conversions"} {
				if v := row.get(key); v != nil && v.raw == "0" {
					row.set(key, leaf(`""`))
				}
			}
		})},
	{Quirk: Quirk{Name: "counts-null",
		Doc: "impressions and conversions are null"},
		change: ofRows(ofDays, func(_ *exchange, _ int, row *node) {
			row.set("impressions", leaf("null"))
			row.set("conversions", leaf("null"))
		})},
	{Quirk: Quirk{Name: "row-spend-null",
		Doc: "the spend of one row a page is null"},
		change: onePaid(func(row *node) { row.set("total_spend", leaf("null")) })},
	{Quirk: Quirk{Name: "row-spend-object",
		Doc: `the spend of one row a page is {"amount":..,"currency":"USD"}`},
		change: onePaid(func(row *node) {
			row.edit("total_spend", func(v *node) *node {
				return objectNode().with("amount", v).with("currency",
					textNode("USD"))
			})
		})},
}

// fixed rounds an amount to so many digits behind the point.
func fixed(digits int) func(v *node) *node {
	return func(v *node) *node {
		f, _ := strconv.ParseFloat(v.raw, 64)
		return leaf(strconv.FormatFloat(f, 'f', digits, 64))
	}
}

// twoDigits fills an amount up to two digits behind the point.
func twoDigits(v *node) *node {
	_, fraction, _ := strings.Cut(v.raw, ".")
	if len(fraction) >= 2 {
		return v
	}
	return fixed(2)(v)
}

// noisy is an amount as a sum of floats has it.
func noisy(v *node) *node {
	f, _ := strconv.ParseFloat(v.raw, 64)
	if f == 0 {
		return v
	}
	return leaf(strconv.FormatFloat(f*(1+0x1p-52), 'g', 17, 64))
}

// onePaid makes a change of the first row with spend on each page of a day's rows.
func onePaid(change func(row *node)) func(x *exchange, body *node) *node {
	return func(x *exchange, body *node) *node {
		data := body.get("data")
		if data == nil || x.place != atDays {
			return body
		}
		if i := firstPaid(data.values); i >= 0 {
			change(data.values[i])
		}
		return body
	}
}

// credits turns the first row of a day that has clicks into a credit, in the rows and
// in the sums.
func credits(x *exchange, body *node) *node {
	data := body.get("data")
	if data == nil || x.place == atTexts {
		return body
	}
	at := x.owner()
	for _, row := range data.values {
		d, ok := parseDay(row.get("date").text())
		if !ok {
			continue
		}
		for r := range at.rows(d, scope{}) {
			if r.Clicks == 0 || r.Spend == 0 {
				continue
			}
			l := at.line(d, r)
			switch {
			case x.place == atTotals:
				row.edit("total_spend", func(v *node) *node { return plusMillionths(v, -2*l.Spend) })
				row.edit("clicks", func(v *node) *node { return intNode(v.number() - 2*int(l.Clicks)) })
			case row.get("campaign_id").text() == l.CampaignID && row.get("creative_id").text() == l.CreativeID &&
				row.get("source_id").text() == l.SourceID:
				row.edit("total_spend", func(v *node) *node { return leaf("-" + v.raw) })
				row.edit("clicks", func(v *node) *node { return leaf(fmt.Sprint(-v.number())) })
			}
			break
		}
	}
	return body
}
