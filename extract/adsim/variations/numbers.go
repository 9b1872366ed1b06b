package variations

import (
	"fmt"
	"math"
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
var totalQuirks = []quirk{
	{Quirk: Quirk{Name: "totals-cents",
		Doc: "sums of the report are rounded to cents"},
		change: ofRows(ofTotals, func(_ *exchange, _ int, row *jsontext.Node) { row.Edit("total_spend", fixed(2)) })},
	{Quirk: Quirk{Name: "totals-dollars",
		Doc: "sums of the report are rounded to whole dollars"},
		change: ofRows(ofTotals, func(_ *exchange, _ int, row *jsontext.Node) { row.Edit("total_spend", fixed(0)) })},
	{Quirk: Quirk{Name: "totals-float",
		Doc: "sums of the report have the noise of floats behind the sixth digit"},
		change: ofRows(ofTotals, func(_ *exchange, _ int, row *jsontext.Node) { row.Edit("total_spend", noisy) })},
	{Quirk: Quirk{Name: "totals-lack-source",
		Doc: "sums of the report leave out one source"},
		change: ofRows(ofTotals, lackSource)},
	{Quirk: Quirk{Name: "totals-lack-clicks",
		Doc: "sums of the report leave out some clicks that the rows have"},
		change: ofRows(ofTotals, func(_ *exchange, _ int, row *jsontext.Node) {
			row.Edit("clicks", func(v *jsontext.Node) *jsontext.Node { return jsontext.IntNode(max(0, v.Number()-1)) })
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
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node {
			if x.place == atTotals {
				emptyAnswer(body)
			}
			return body
		}},
	{Quirk: Quirk{Name: "totals-no-date",
		Doc: "sums of the report do not say of which day they are"},
		change: ofRows(ofTotals, func(_ *exchange, _ int, row *jsontext.Node) { row.Drop("date") })},
	{Quirk: Quirk{Name: "totals-no-clicks",
		Doc: "sums of the report have no clicks"},
		change: dropColumn(ofTotals, "clicks")},
	{Quirk: Quirk{Name: "totals-fail",
		Doc: "the report without include_creatives is 500"},
		override: refuseAt(atTotals, 500, report.TextInternal)},
}

// lackSource takes the spend and the clicks of the day's first source out of a sum.
func lackSource(x *exchange, _ int, row *jsontext.Node) {
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
	row.Edit("total_spend", func(v *jsontext.Node) *jsontext.Node { return plusMillionths(v, -lacks.Spend) })
	row.Edit(
		"clicks",
		func(v *jsontext.Node) *jsontext.Node { return jsontext.IntNode(v.Number() - int(lacks.Clicks)) },
	)
}

// plusMillionths adds to an amount that the simulator wrote exactly.
func plusMillionths(v *jsontext.Node, add int64) *jsontext.Node {
	f, _ := strconv.ParseFloat(v.Raw, 64)
	return jsontext.Leaf(string(jsontext.AppendMillionths(nil, int64(math.Round(f*1e6))+add)))
}

// refuseAt answers questions of one kind with an error of the report.
func refuseAt(at place, status int, text string) func(x *exchange) (wire.Reply, bool) {
	return func(x *exchange) (wire.Reply, bool) {
		if x.place != at {
			return wire.Reply{}, false
		}
		if status == 500 {
			text := text + " (request ID: " + x.accounts[0].World.RequestID() + ")"
			return report.ReportError(status, text), true
		}
		return report.ReportError(status, text), true
	}
}

// emptyAnswer takes all rows out of a reply of the report.
func emptyAnswer(body *jsontext.Node) {
	body.Set("data", jsontext.ListNode())
	if g := body.Get("pagination"); g != nil {
		g.Set("total_rows", jsontext.IntNode(0))
		g.Set("total_pages", jsontext.IntNode(0))
	}
}

// dropColumn leaves a column out of the rows and out of the list of columns.
func dropColumn(places []place, name string) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	return func(x *exchange, body *jsontext.Node) *jsontext.Node {
		columns, data := body.Get("columns"), body.Get("data")
		if !slices.Contains(places, x.place) || columns == nil || data == nil {
			return body
		}
		columns.Values = slices.DeleteFunc(columns.Values, func(c *jsontext.Node) bool { return c.Text() == name })
		for _, row := range data.Values {
			row.Drop(name)
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
func editing(
	columns []string,
	change func(v *jsontext.Node) *jsontext.Node,
) func(x *exchange, i int, row *jsontext.Node) {
	return func(_ *exchange, _ int, row *jsontext.Node) {
		for _, name := range columns {
			row.Edit(name, change)
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
		change: ofRows(ofReport, editing(amounts, func(v *jsontext.Node) *jsontext.Node {
			f, _ := strconv.ParseFloat(v.Raw, 64)
			return jsontext.Leaf(strconv.FormatFloat(f, 'e', -1, 64))
		}))},
	{Quirk: Quirk{Name: "numbers-text",
		Doc: `all numbers of the report are exact texts: "12.34", "17"`},
		change: ofRows(ofReport, editing(numbers, jsontext.Quoted))},
	{Quirk: Quirk{Name: "spend-text",
		Doc: `amounts of the report are exact texts: "12.34"`},
		change: ofRows(ofReport, editing(amounts, jsontext.Quoted))},
	{Quirk: Quirk{Name: "spend-dollar",
		Doc: `amounts of the report are texts for people: "$1,234.50"`},
		change: ofRows(
			ofReport,
			editing(amounts, func(v *jsontext.Node) *jsontext.Node { return jsontext.Leaf(`"$` + v.Raw + `"`) }),
		)},
	{Quirk: Quirk{Name: "counts-float",
		Doc: "counts of the report are written as floats: 17.0"},
		change: ofRows(
			ofReport,
			editing(counts, func(v *jsontext.Node) *jsontext.Node { return jsontext.Leaf(v.Raw + ".0") }),
		)},
	{Quirk: Quirk{Name: "conversions-fractional",
		Doc: "conversions are shared between clicks: 0.5"},
		change: ofRows(ofReport, editing([]string{"conversions"}, func(v *jsontext.Node) *jsontext.Node {
			return jsontext.Leaf(string(jsontext.AppendMillionths(nil, int64(v.Number())*500_000)))
		}))},
	{Quirk: Quirk{Name: "credit-negative-clicks",
		Doc: "a row of each day is a credit: its spend and its clicks are negative"},
		change: credits},
	{Quirk: Quirk{Name: "counts-empty",
		Doc: "impressions and conversions that are 0 are empty texts"},
		change: ofRows(ofDays, func(_ *exchange, _ int, row *jsontext.Node) {
			for _, key := range []string{"impressions", "conversions"} {
				if v := row.Get(key); v != nil && v.Raw == "0" {
					row.Set(key, jsontext.Leaf(`""`))
				}
			}
		})},
	{Quirk: Quirk{Name: "counts-null",
		Doc: "impressions and conversions are null"},
		change: ofRows(ofDays, func(_ *exchange, _ int, row *jsontext.Node) {
			row.Set("impressions", jsontext.Leaf("null"))
			row.Set("conversions", jsontext.Leaf("null"))
		})},
	{Quirk: Quirk{Name: "row-spend-null",
		Doc: "the spend of one row a page is null"},
		change: onePaid(func(row *jsontext.Node) { row.Set("total_spend", jsontext.Leaf("null")) })},
	{Quirk: Quirk{Name: "row-spend-object",
		Doc: `the spend of one row a page is {"amount":..,"currency":"USD"}`},
		change: onePaid(func(row *jsontext.Node) {
			row.Edit("total_spend", func(v *jsontext.Node) *jsontext.Node {
				return jsontext.ObjectNode().With("amount", v).With("currency",
					jsontext.TextNode("USD"))
			})
		})},
}

// fixed rounds an amount to so many digits behind the point.
func fixed(digits int) func(v *jsontext.Node) *jsontext.Node {
	return func(v *jsontext.Node) *jsontext.Node {
		f, _ := strconv.ParseFloat(v.Raw, 64)
		return jsontext.Leaf(strconv.FormatFloat(f, 'f', digits, 64))
	}
}

// twoDigits fills an amount up to two digits behind the point.
func twoDigits(v *jsontext.Node) *jsontext.Node {
	_, fraction, _ := strings.Cut(v.Raw, ".")
	if len(fraction) >= 2 {
		return v
	}
	return fixed(2)(v)
}

// noisy is an amount as a sum of floats has it.
func noisy(v *jsontext.Node) *jsontext.Node {
	f, _ := strconv.ParseFloat(v.Raw, 64)
	if f == 0 {
		return v
	}
	return jsontext.Leaf(strconv.FormatFloat(f*(1+0x1p-52), 'g', 17, 64))
}

// onePaid makes a change of the first row with spend on each page of a day's rows.
func onePaid(change func(row *jsontext.Node)) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	return func(x *exchange, body *jsontext.Node) *jsontext.Node {
		data := body.Get("data")
		if data == nil || x.place != atDays {
			return body
		}
		if i := firstPaid(data.Values); i >= 0 {
			change(data.Values[i])
		}
		return body
	}
}

// credits turns the first row of a day that has clicks into a credit, in the rows and
// in the sums.
func credits(x *exchange, body *jsontext.Node) *jsontext.Node {
	data := body.Get("data")
	if data == nil || x.place == atTexts {
		return body
	}
	at := x.owner()
	for _, row := range data.Values {
		d, ok := clock.ParseDay(row.Get("date").Text())
		if !ok {
			continue
		}
		for r := range at.Rows(d, ledger.Scope{}) {
			if r.Clicks == 0 || r.Spend == 0 {
				continue
			}
			l := at.Line(d, r)
			switch {
			case x.place == atTotals:
				row.Edit("total_spend", func(v *jsontext.Node) *jsontext.Node { return plusMillionths(v, -2*l.Spend) })
				row.Edit(
					"clicks",
					func(v *jsontext.Node) *jsontext.Node { return jsontext.IntNode(v.Number() - 2*int(l.Clicks)) },
				)
			case row.Get("campaign_id").Text() == l.CampaignID && row.Get("creative_id").Text() == l.CreativeID &&
				row.Get("source_id").Text() == l.SourceID:
				row.Edit("total_spend", func(v *jsontext.Node) *jsontext.Node { return jsontext.Leaf("-" + v.Raw) })
				row.Edit(
					"clicks",
					func(v *jsontext.Node) *jsontext.Node { return jsontext.Leaf(fmt.Sprint(-v.Number())) },
				)
			}
			break
		}
	}
	return body
}
