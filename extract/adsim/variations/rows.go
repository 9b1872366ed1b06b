package variations

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/report"
	"spendsync/extract/adsim/wire"
)

// withTail puts something behind what a text says; raw is as it stands in JSON.
func withTail(raw string) func(v *jsontext.Node) *jsontext.Node {
	return func(v *jsontext.Node) *jsontext.Node {
		if v.Raw == "" || v.Raw[0] != '"' {
			return v
		}
		return jsontext.Leaf(v.Raw[:len(v.Raw)-1] + raw + `"`)
	}
}

// naming changes the name of every campaign, in the report and in the settings.
func naming(change func(v *jsontext.Node) *jsontext.Node) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	return func(x *exchange, body *jsontext.Node) *jsontext.Node {
		body = ofRows(ofDays, editing([]string{"campaign_name"}, change))(x, body)
		return ofEntities(ofCampaigns, func(e *jsontext.Node) { e.Edit("name", change) })(x, body)
	}
}

// nameQuirks are about texts: they are no reason to refuse a number.
var nameQuirks = []quirk{
	{Quirk: Quirk{Name: "name-surrogate",
		Doc: "names of campaigns end in half an emoji, as JavaScript cuts them"},
		change: naming(withTail(` \ud83d`))},
	{Quirk: Quirk{Name: "name-nul",
		Doc: "names of campaigns contain NUL"},
		change: naming(withTail(`\u0000x`))},
	{Quirk: Quirk{Name: "name-control",
		Doc: "names of campaigns contain line breaks, tabs and escape sequences"},
		change: naming(withTail(`\r\n\t\u001b[31m`))},
	{Quirk: Quirk{Name: "name-long",
		Doc: "names of campaigns have 20 KB"},
		change: naming(withTail(strings.Repeat(" and more", 20<<10/9)))},
	{Quirk: Quirk{Name: "title-surrogate",
		Doc: "titles and messages of creatives end in half an emoji"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node {
			body = ofRows([]place{atTexts}, editing([]string{"creative_title", "creative_message"},
				withTail(`\ud83d`)))(x, body)
			return ofEntities(ofCreatives, func(e *jsontext.Node) {
				e.Edit("title", withTail(`\ud83d`))
				e.Edit("message", withTail(`\ud83d`))
			})(x, body)
		}},
	{Quirk: Quirk{Name: "title-nul",
		Doc: "titles of creatives contain NUL"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node {
			body = ofRows([]place{atTexts}, editing([]string{"creative_title"}, withTail(`\u0000`)))(x, body)
			return ofEntities(ofCreatives, func(e *jsontext.Node) { e.Edit("title", withTail(`\u0000`)) })(x, body)
		}},
	{Quirk: Quirk{Name: "name-number",
		Doc: "a campaign's name that consists of digits comes as a number"},
		change: naming(func(*jsontext.Node) *jsontext.Node { return jsontext.Leaf("2026") })},
}

// editOdd changes a column of every other row.
func editOdd(
	column string,
	change func(v *jsontext.Node) *jsontext.Node,
) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	return ofRows(ofDays, func(_ *exchange, i int, row *jsontext.Node) {
		if i%2 == 1 {
			row.Edit(column, change)
		}
	})
}

// rowQuirks are about what a row says besides its numbers.
var rowQuirks = []quirk{
	{Quirk: Quirk{Name: "names-two",
		Doc: "one campaign has two names on one day, the old one and the new one"},
		change: editOdd("campaign_name", withTail(" (renamed)"))},
	{Quirk: Quirk{Name: "name-null",
		Doc: "campaign_name of the report is null"},
		change: ofRows(
			ofDays,
			func(_ *exchange, _ int, row *jsontext.Node) { row.Set("campaign_name", jsontext.Leaf("null")) },
		)},
	{Quirk: Quirk{Name: "name-missing",
		Doc: "the report has no column campaign_name"},
		change: dropColumn(ofDays, "campaign_name")},
	{Quirk: Quirk{Name: "row-without-campaign",
		Doc: "one row a page has no campaign: campaign_id and campaign_name are null"},
		change: onePaid(func(row *jsontext.Node) {
			row.Set("campaign_id", jsontext.Leaf("null"))
			row.Set("campaign_name", jsontext.Leaf("null"))
		})},
	{Quirk: Quirk{Name: "row-without-creative",
		Doc: "the first row with spend of a day has no creative: creative_id is null"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node {
			if x.number("page", 1) > 1 {
				return body
			}
			return onePaid(func(row *jsontext.Node) { row.Set("creative_id", jsontext.Leaf("null")) })(x, body)
		}},
	{Quirk: Quirk{Name: "source-missing",
		Doc: "a creative without delivery has no key source_id"},
		change: ofRows(ofDays, func(_ *exchange, _ int, row *jsontext.Node) {
			if v := row.Get("source_id"); v != nil && v.Raw == "null" {
				row.Drop("source_id")
			}
		})},
	{Quirk: Quirk{Name: "source-empty",
		Doc: "a creative without delivery has the source_id \"\""},
		change: ofRows(ofDays, func(_ *exchange, _ int, row *jsontext.Node) {
			if v := row.Get("source_id"); v != nil && v.Raw == "null" {
				row.Set("source_id", jsontext.Leaf(`""`))
			}
		})},
	{Quirk: Quirk{Name: "source-date-missing",
		Doc: "a creative without delivery has neither a key source_id nor a key date"},
		change: ofRows(ofDays, func(_ *exchange, _ int, row *jsontext.Node) {
			if v := row.Get("source_id"); v != nil && v.Raw == "null" {
				row.Drop("source_id", "date")
			}
		})},
	{Quirk: Quirk{Name: "source-number",
		Doc: "source_id of the report is a number: 4711"},
		change: ofRows(ofDays, editing([]string{"source_id"}, jsontext.LessPrefix))},
	{Quirk: Quirk{Name: "ids-lowercase",
		Doc: "the report writes IDs of campaigns and creatives in lower case"},
		change: ofRows(
			[]place{atDays, atTexts},
			editing([]string{"campaign_id", "creative_id"}, func(v *jsontext.Node) *jsontext.Node {
				return jsontext.TextNode(strings.ToLower(v.Text()))
			}),
		)},
	{Quirk: Quirk{Name: "rows-unsorted",
		Doc: "the rows of a page come in another order"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node {
			if data := body.Get("data"); data != nil && x.place.onReport() {
				slices.Reverse(data.Values)
			}
			return body
		}},
	{Quirk: Quirk{Name: "other-account",
		Doc: "the report is that of another account than the API key's"},
		change: ofRows([]place{atDays, atTexts}, editing([]string{"campaign_id", "creative_id"},
			jsontext.FromText(2, func(s string) *jsontext.Node {
				return jsontext.TextNode("C88" + s[2:])
			})))},
}

// columnQuirks are about the list of columns and the form of the rows.
var columnQuirks = []quirk{
	{Quirk: Quirk{Name: "columns-none",
		Doc: "the report's reply has no columns"},
		change: onReportBody(func(body *jsontext.Node) { body.Drop("columns") })},
	{Quirk: Quirk{Name: "columns-null",
		Doc: "columns of the report is null"},
		change: onReportBody(func(body *jsontext.Node) { body.Set("columns", jsontext.Leaf("null")) })},
	{Quirk: Quirk{Name: "columns-more",
		Doc: "the report has a column more than was asked for"},
		change: onReportBody(func(body *jsontext.Node) {
			body.Edit("columns", func(v *jsontext.Node) *jsontext.Node {
				return jsontext.ListNode(append(v.Values, jsontext.TextNode("currency"))...)
			})
			for _, row := range rowsOf(body) {
				row.Set("currency", jsontext.TextNode("USD"))
			}
		})},
	{Quirk: Quirk{Name: "columns-order",
		Doc: "columns of the report and keys of its rows come in another order"},
		change: onReportBody(func(body *jsontext.Node) {
			body.Edit("columns", func(v *jsontext.Node) *jsontext.Node { slices.Reverse(v.Values); return v })
			for _, row := range rowsOf(body) {
				slices.Reverse(row.Keys)
				slices.Reverse(row.Values)
			}
		})},
	{Quirk: Quirk{Name: "columns-objects",
		Doc: `columns of the report are objects: {"name":"date","type":"string"}`},
		change: onReportBody(func(body *jsontext.Node) {
			body.Edit("columns", func(v *jsontext.Node) *jsontext.Node {
				for i, c := range v.Values {
					v.Values[i] = jsontext.ObjectNode().With("name", c).With("type", jsontext.TextNode("string"))
				}
				return v
			})
		})},
	{Quirk: Quirk{Name: "columns-lack-clicks",
		Doc: "the report leaves out the column clicks though it was asked for"},
		change: dropColumn(ofReport, "clicks")},
	{Quirk: Quirk{Name: "columns-lack-conversions",
		Doc: "the report leaves out the column conversions though it was asked for"},
		change: dropColumn(ofReport, "conversions")},
	{Quirk: Quirk{Name: "rows-arrays",
		Doc: "the rows of the report are arrays in the order of the columns"},
		change: onReportBody(func(body *jsontext.Node) {
			for _, row := range rowsOf(body) {
				row.Kind, row.Keys = '[', nil
			}
		})},
	{Quirk: Quirk{Name: "report-camel",
		Doc: "columns and keys of the report are in camel case: totalSpend"},
		change: onReportBody(func(body *jsontext.Node) {
			body.Edit("columns", func(v *jsontext.Node) *jsontext.Node {
				for i, c := range v.Values {
					v.Values[i] = jsontext.TextNode(camel(c.Text()))
				}
				return v
			})
			for _, row := range rowsOf(body) {
				for i, key := range row.Keys {
					row.Keys[i] = camel(key)
				}
			}
		})},
}

func onReportBody(change func(body *jsontext.Node)) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	return func(x *exchange, body *jsontext.Node) *jsontext.Node {
		if x.place.onReport() {
			change(body)
		}
		return body
	}
}

func rowsOf(body *jsontext.Node) []*jsontext.Node {
	if data := body.Get("data"); data != nil {
		return data.Values
	}
	return nil
}

// camel is a key in camel case.
func camel(key string) string {
	words := strings.Split(key, "_")
	for i, w := range words[1:] {
		if w != "" {
			words[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}

// dayQuirks are about days: how they are written, and which there are.
var dayQuirks = []quirk{
	{Quirk: Quirk{Name: "date-datetime",
		Doc: "dates of the report are instants in UTC: 2026-11-20T00:00:00Z"},
		change: ofRows(ofReport, editing([]string{"date"}, withTail("T00:00:00Z")))},
	{Quirk: Quirk{Name: "date-midnight",
		Doc: "dates of the report have a time without a zone: 2026-11-20 00:00:00"},
		change: ofRows(ofReport, editing([]string{"date"}, withTail(" 00:00:00")))},
	{Quirk: Quirk{Name: "date-midnight-chicago",
		Doc: "dates of the report have a midnight in Chicago's winter: 2026-11-20T00:00:00-06:00"},
		change: ofRows(ofReport, editing([]string{"date"}, withTail("T00:00:00-06:00")))},
	{Quirk: Quirk{Name: "date-slashes",
		Doc: "dates of the report have slashes: 2026/11/20"},
		change: ofRows(ofReport, editing([]string{"date"}, jsontext.FromText(10, func(s string) *jsontext.Node {
			return jsontext.TextNode(strings.ReplaceAll(s, "-", "/"))
		})))},
	{Quirk: Quirk{Name: "date-us",
		Doc: "dates of the report are written month first: 11/20/2026"},
		change: ofRows(ofReport, editing([]string{"date"}, jsontext.FromText(10, func(s string) *jsontext.Node {
			return jsontext.TextNode(s[5:7] + "/" + s[8:] + "/" + s[:4])
		})))},
	{Quirk: Quirk{Name: "day-empty",
		Doc: "the report has no rows for the fifth day before today, and no sum of it"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node { return emptyDay(x, body, true) }},
	{Quirk: Quirk{Name: "day-rows-missing",
		Doc: "the report has no rows for the fifth day before today, but a sum of it"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node { return emptyDay(x, body, false) }},
	{Quirk: Quirk{Name: "day-empty-204",
		Doc: "the report answers the fifth day before today with 204, and has no sum of it"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node { return emptyDay(x, body, true) },
		wire: func(x *exchange, rep *wire.Reply) {
			if d, ok := x.oneDay(); ok && d == x.today-5 && x.place.onReport() {
				rep.Status, rep.Body = http.StatusNoContent, nil
			}
		}},
	{Quirk: Quirk{Name: "day-empty-404",
		Doc: "the report answers the fifth day before today with 404, and has no sum of it"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node { return emptyDay(x, body, true) },
		override: func(x *exchange) (wire.Reply, bool) {
			d, ok := x.oneDay()
			if !ok || d != x.today-5 || !x.place.onReport() {
				return wire.Reply{}, false
			}
			return report.ReportError(http.StatusNotFound, "No data for the given range"), true
		}},
	{Quirk: Quirk{Name: "reach-31",
		Doc: "the report refuses the day 32 days before today (400)"},
		override: reachOf(31)},
	{Quirk: Quirk{Name: "reach-30",
		Doc: "the report refuses the days 31 and 32 days before today (400)"},
		override: reachOf(30)},
	{Quirk: Quirk{Name: "today-none",
		Doc: "the report has no rows for today"},
		change: func(x *exchange, body *jsontext.Node) *jsontext.Node {
			if d, ok := x.oneDay(); ok && d == x.today && x.place.onReport() {
				emptyAnswer(body)
			}
			return body
		}},
	{Quirk: Quirk{Name: "range-one-day",
		Doc: "the report refuses a range of more than one day (400)"},
		override: func(x *exchange) (wire.Reply, bool) {
			if _, one := x.oneDay(); one || !x.place.onReport() {
				return wire.Reply{}, false
			}
			return report.ReportError(http.StatusBadRequest, "The range must not exceed 1 day"), true
		}},
}

// reachOf refuses what begins more than so many days before today.
func reachOf(days int) func(x *exchange) (wire.Reply, bool) {
	return func(x *exchange) (wire.Reply, bool) {
		d, ok := clock.ParseDay(x.param("start_date"))
		if !ok || !x.place.onReport() || d >= x.today-clock.Day(days) {
			return wire.Reply{}, false
		}
		return report.ReportError(
				http.StatusBadRequest,
				strings.Replace(report.TextTooFar, "32", strconv.Itoa(days), 1),
			),
			true
	}
}

// emptyDay takes the rows of the fifth day before today away, and its sum too.
func emptyDay(x *exchange, body *jsontext.Node, sums bool) *jsontext.Node {
	empty := x.today - 5
	d, one := x.oneDay()
	if one && d == empty && (x.place == atDays || sums && x.place == atTotals) {
		emptyAnswer(body)
	}
	if data := body.Get("data"); data != nil && x.place == atTotals && sums && !one {
		was := len(data.Values)
		data.Values = slices.DeleteFunc(data.Values, func(row *jsontext.Node) bool {
			return row.Get("date").Text() == empty.String()
		})
		if g := body.Get("pagination"); g != nil {
			g.Set("total_rows", jsontext.IntNode(g.Get("total_rows").Number()-was+len(data.Values)))
		}
	}
	return body
}

// pageQuirks are about pages of the report.
var pageQuirks = []quirk{
	{Quirk: Quirk{Name: "pagination-none",
		Doc: "the report has no pagination"},
		change: onReportBody(func(body *jsontext.Node) { body.Drop("pagination") })},
	{Quirk: Quirk{Name: "pagination-null",
		Doc: "pagination of the report is null"},
		change: onReportBody(func(body *jsontext.Node) { body.Set("pagination", jsontext.Leaf("null")) })},
	{Quirk: Quirk{Name: "pagination-text",
		Doc: "numbers in pagination are texts"},
		change: ofPagination(func(_ *exchange, g, _ *jsontext.Node) {
			for i, v := range g.Values {
				g.Values[i] = jsontext.Quoted(v)
			}
		})},
	{Quirk: Quirk{Name: "pagination-no-pages",
		Doc: "pagination lacks total_pages"},
		change: ofPagination(func(_ *exchange, g, _ *jsontext.Node) { g.Drop("total_pages") })},
	{Quirk: Quirk{Name: "pagination-more",
		Doc: "pagination has has_next and links, too"},
		change: ofPagination(func(_ *exchange, g, _ *jsontext.Node) {
			g.Set("has_next", jsontext.Leaf(strconv.FormatBool(g.Get("page").Number() < g.Get("total_pages").Number())))
			g.Set("links", jsontext.ObjectNode().With("self", jsontext.TextNode("/ads/spend-report?page=1")))
		})},
	{Quirk: Quirk{Name: "pagination-camel",
		Doc: "pagination is in camel case: pageSize, totalRows"},
		change: ofPagination(func(_ *exchange, g, _ *jsontext.Node) {
			for i, key := range g.Keys {
				g.Keys[i] = camel(key)
			}
		})},
	{Quirk: Quirk{Name: "pagination-from-zero",
		Doc: "pagination counts pages from 0 though the request counts from 1"},
		change: ofPagination(
			func(_ *exchange, g, _ *jsontext.Node) { g.Set("page", jsontext.IntNode(g.Get("page").Number()-1)) },
		)},
	{Quirk: Quirk{Name: "pagination-size-shown",
		Doc: "page_size is how many rows the page has"},
		change: ofPagination(
			func(_ *exchange, g, data *jsontext.Node) { g.Set("page_size", jsontext.IntNode(len(data.Values))) },
		)},
	{Quirk: Quirk{Name: "pagination-rows-shown",
		Doc: "total_rows is how many rows the page has"},
		change: ofPagination(
			func(_ *exchange, g, data *jsontext.Node) { g.Set("total_rows", jsontext.IntNode(len(data.Values))) },
		)},
	{Quirk: Quirk{Name: "pagination-one-page",
		Doc: "total_pages is 1 where there are no rows"},
		change: ofPagination(func(_ *exchange, g, _ *jsontext.Node) {
			g.Set("total_pages", jsontext.IntNode(max(1, g.Get("total_pages").Number())))
		})},
	{Quirk: Quirk{Name: "page-cap",
		Doc: "a page of the report has at most 20 rows, whatever was asked for, and says so"},
		ask: func(x *exchange) {
			if x.place.onReport() && x.number("page_size", report.DefaultPageSize) > 20 {
				x.edit(func(q url.Values) { q.Set("page_size", "20") })
			}
		}},
	{Quirk: Quirk{Name: "page-size-5000",
		Doc: "the report refuses a page_size above 5000 (400)"},
		override: func(x *exchange) (wire.Reply, bool) {
			if !x.place.onReport() || x.number("page_size", report.DefaultPageSize) <= 5000 {
				return wire.Reply{}, false
			}
			return report.ReportError(http.StatusBadRequest, "page_size cannot exceed 5000"), true
		}},
}

// ofPagination makes a change of the pagination of a reply of the report.
func ofPagination(
	change func(x *exchange, g, data *jsontext.Node),
) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	return func(x *exchange, body *jsontext.Node) *jsontext.Node {
		g, data := body.Get("pagination"), body.Get("data")
		if g != nil && g.Kind == '{' && data != nil && x.place.onReport() {
			change(x, g, data)
		}
		return body
	}
}
