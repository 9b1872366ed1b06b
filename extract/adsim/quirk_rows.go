package adsim

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// withTail puts something behind what a text says; raw is as it stands in JSON.
func withTail(raw string) func(v *node) *node {
	return func(v *node) *node {
		if v.raw == "" || v.raw[0] != '"' {
			return v
		}
		return leaf(v.raw[:len(v.raw)-1] + raw + `"`)
	}
}

// naming changes the name of every campaign, in the report and in the settings.
func naming(change func(v *node) *node) func(x *exchange, body *node) *node {
	return func(x *exchange, body *node) *node {
		body = ofRows(ofDays, editing([]string{"campaign_name"}, change))(x, body)
		return ofEntities(ofCampaigns, func(e *node) { e.edit("name", change) })(x, body)
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
		change: func(x *exchange, body *node) *node {
			body = ofRows([]place{atTexts}, editing([]string{"creative_title", "creative_message"},
				withTail(`\ud83d`)))(x, body)
			return ofEntities(ofCreatives, func(e *node) {
				e.edit("title", withTail(`\ud83d`))
				e.edit("message", withTail(`\ud83d`))
			})(x, body)
		}},
	{Quirk: Quirk{Name: "title-nul",
		Doc: "titles of creatives contain NUL"},
		change: func(x *exchange, body *node) *node {
			body = ofRows([]place{atTexts}, editing([]string{"creative_title"}, withTail(`\u0000`)))(x, body)
			return ofEntities(ofCreatives, func(e *node) { e.edit("title", withTail(`\u0000`)) })(x, body)
		}},
	{Quirk: Quirk{Name: "name-number",
		Doc: "a campaign's name that consists of digits comes as a number"},
		change: naming(func(*node) *node { return leaf("2026") })},
}

// editOdd changes a column of every other row.
func editOdd(column string, change func(v *node) *node) func(x *exchange, body *node) *node {
	return ofRows(ofDays, func(_ *exchange, i int, row *node) {
		if i%2 == 1 {
			row.edit(column, change)
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
		change: ofRows(ofDays, func(_ *exchange, _ int, row *node) { row.set("campaign_name", leaf("null")) })},
	{Quirk: Quirk{Name: "name-missing",
		Doc: "the report has no column campaign_name"},
		change: dropColumn(ofDays, "campaign_name")},
	{Quirk: Quirk{Name: "row-without-campaign",
		Doc: "one row a page has no campaign: campaign_id and campaign_name are null"},
		change: onePaid(func(row *node) {
			row.set("campaign_id", leaf("null"))
			row.set("campaign_name", leaf("null"))
		})},
	{Quirk: Quirk{Name: "row-without-creative",
		Doc: "the first row with spend of a day has no creative: creative_id is null"},
		change: func(x *exchange, body *node) *node {
			if x.number("page", 1) > 1 {
				return body
			}
			return onePaid(func(row *node) { row.set("creative_id", leaf("null")) })(x, body)
		}},
	{Quirk: Quirk{Name: "source-missing",
		Doc: "a creative without delivery has no key source_id"},
		change: ofRows(ofDays, func(_ *exchange, _ int, row *node) {
			if v := row.get("source_id"); v != nil && v.raw == "null" {
				row.drop("source_id")
			}
		})},
	{Quirk: Quirk{Name: "source-empty",
		Doc: "a creative without delivery has the source_id \"\""},
		change: ofRows(ofDays, func(_ *exchange, _ int, row *node) {
			if v := row.get("source_id"); v != nil && v.raw == "null" {
				row.set("source_id", leaf(`""`))
			}
		})},
	{Quirk: Quirk{Name: "source-date-missing",
		Doc: "a creative without delivery has neither a key source_id nor a key date"},
		change: ofRows(ofDays, func(_ *exchange, _ int, row *node) {
			if v := row.get("source_id"); v != nil && v.raw == "null" {
				row.drop("source_id", "date")
			}
		})},
	{Quirk: Quirk{Name: "source-number",
		Doc: "source_id of the report is a number: 4711"},
		change: ofRows(ofDays, editing([]string{"source_id"}, lessPrefix))},
	{Quirk: Quirk{Name: "ids-lowercase",
		Doc: "the report writes IDs of campaigns and creatives in lower case"},
		change: ofRows([]place{atDays, atTexts}, editing([]string{"campaign_id", "creative_id"}, func(v *node) *node {
			return textNode(strings.ToLower(v.text()))
		}))},
	{Quirk: Quirk{Name: "rows-unsorted",
		Doc: "the rows of a page come in another order"},
		change: func(x *exchange, body *node) *node {
			if data := body.get("data"); data != nil && x.place.onReport() {
				slices.Reverse(data.values)
			}
			return body
		}},
	{Quirk: Quirk{Name: "other-account",
		Doc: "the report is that of another account than the API key's"},
		change: ofRows([]place{atDays, atTexts}, editing([]string{"campaign_id", "creative_id"},
			fromText(2, func(s string) *node {
				return textNode("C88" + s[2:])
			})))},
}

// columnQuirks are about the list of columns and the form of the rows.
var columnQuirks = []quirk{
	{Quirk: Quirk{Name: "columns-none",
		Doc: "the report's reply has no columns"},
		change: onReportBody(func(body *node) { body.drop("columns") })},
	{Quirk: Quirk{Name: "columns-null",
		Doc: "columns of the report is null"},
		change: onReportBody(func(body *node) { body.set("columns", leaf("null")) })},
	{Quirk: Quirk{Name: "columns-more",
		Doc: "the report has a column more than was asked for"},
		change: onReportBody(func(body *node) {
			body.edit("columns", func(v *node) *node { return listNode(append(v.values, textNode("currency"))...) })
			for _, row := range rowsOf(body) {
				row.set("currency", textNode("USD"))
			}
		})},
	{Quirk: Quirk{Name: "columns-order",
		Doc: "columns of the report and keys of its rows come in another order"},
		change: onReportBody(func(body *node) {
			body.edit("columns", func(v *node) *node { slices.Reverse(v.values); return v })
			for _, row := range rowsOf(body) {
				slices.Reverse(row.keys)
				slices.Reverse(row.values)
			}
		})},
	{Quirk: Quirk{Name: "columns-objects",
		Doc: `columns of the report are objects: {"name":"date","type":"string"}`},
		change: onReportBody(func(body *node) {
			body.edit("columns", func(v *node) *node {
				for i, c := range v.values {
					v.values[i] = objectNode().with("name", c).with("type", textNode("string"))
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
		change: onReportBody(func(body *node) {
			for _, row := range rowsOf(body) {
				row.kind, row.keys = '[', nil
			}
		})},
	{Quirk: Quirk{Name: "report-camel",
		Doc: "columns and keys of the report are in camel case: totalSpend"},
		change: onReportBody(func(body *node) {
			body.edit("columns", func(v *node) *node {
				for i, c := range v.values {
					v.values[i] = textNode(camel(c.text()))
				}
				return v
			})
			for _, row := range rowsOf(body) {
				for i, key := range row.keys {
					row.keys[i] = camel(key)
				}
			}
		})},
}

func onReportBody(change func(body *node)) func(x *exchange, body *node) *node {
	return func(x *exchange, body *node) *node {
		if x.place.onReport() {
			change(body)
		}
		return body
	}
}

func rowsOf(body *node) []*node {
	if data := body.get("data"); data != nil {
		return data.values
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
		change: ofRows(ofReport, editing([]string{"date"}, fromText(10, func(s string) *node {
			return textNode(strings.ReplaceAll(s, "-", "/"))
		})))},
	{Quirk: Quirk{Name: "date-us",
		Doc: "dates of the report are written month first: 11/20/2026"},
		change: ofRows(ofReport, editing([]string{"date"}, fromText(10, func(s string) *node {
			return textNode(s[5:7] + "/" + s[8:] + "/" + s[:4])
		})))},
	{Quirk: Quirk{Name: "day-empty",
		Doc: "the report has no rows for the fifth day before today, and no sum of it"},
		change: func(x *exchange, body *node) *node { return emptyDay(x, body, true) }},
	{Quirk: Quirk{Name: "day-rows-missing",
		Doc: "the report has no rows for the fifth day before today, but a sum of it"},
		change: func(x *exchange, body *node) *node { return emptyDay(x, body, false) }},
	{Quirk: Quirk{Name: "day-empty-204",
		Doc: "the report answers the fifth day before today with 204, and has no sum of it"},
		change: func(x *exchange, body *node) *node { return emptyDay(x, body, true) },
		wire: func(x *exchange, rep *reply) {
			if d, ok := x.oneDay(); ok && d == x.today-5 && x.place.onReport() {
				rep.status, rep.body = http.StatusNoContent, nil
			}
		}},
	{Quirk: Quirk{Name: "day-empty-404",
		Doc: "the report answers the fifth day before today with 404, and has no sum of it"},
		change: func(x *exchange, body *node) *node { return emptyDay(x, body, true) },
		override: func(x *exchange) (reply, bool) {
			d, ok := x.oneDay()
			if !ok || d != x.today-5 || !x.place.onReport() {
				return reply{}, false
			}
			return reportError(http.StatusNotFound, "No data for the given range"), true
		}},
	{Quirk: Quirk{Name: "reach-31",
		Doc: "the report refuses the day 32 days before today (400)"},
		override: reachOf(31)},
	{Quirk: Quirk{Name: "reach-30",
		Doc: "the report refuses the days 31 and 32 days before today (400)"},
		override: reachOf(30)},
	{Quirk: Quirk{Name: "today-none",
		Doc: "the report has no rows for today"},
		change: func(x *exchange, body *node) *node {
			if d, ok := x.oneDay(); ok && d == x.today && x.place.onReport() {
				emptyAnswer(body)
			}
			return body
		}},
	{Quirk: Quirk{Name: "range-one-day",
		Doc: "the report refuses a range of more than one day (400)"},
		override: func(x *exchange) (reply, bool) {
			if _, one := x.oneDay(); one || !x.place.onReport() {
				return reply{}, false
			}
			return reportError(http.StatusBadRequest, "The range must not exceed 1 day"), true
		}},
}

// reachOf refuses what begins more than so many days before today.
func reachOf(days int) func(x *exchange) (reply, bool) {
	return func(x *exchange) (reply, bool) {
		d, ok := parseDay(x.param("start_date"))
		if !ok || !x.place.onReport() || d >= x.today-day(days) {
			return reply{}, false
		}
		return reportError(http.StatusBadRequest, strings.Replace(textTooFar, "32", strconv.Itoa(days), 1)),
			true
	}
}

// emptyDay takes the rows of the fifth day before today away, and its sum too.
func emptyDay(x *exchange, body *node, sums bool) *node {
	empty := x.today - 5
	d, one := x.oneDay()
	if one && d == empty && (x.place == atDays || sums && x.place == atTotals) {
		emptyAnswer(body)
	}
	if data := body.get("data"); data != nil && x.place == atTotals && sums && !one {
		was := len(data.values)
		data.values = slices.DeleteFunc(data.values, func(row *node) bool {
			return row.get("date").text() == empty.String()
		})
		if g := body.get("pagination"); g != nil {
			g.set("total_rows", intNode(g.get("total_rows").number()-was+len(data.values)))
		}
	}
	return body
}

// pageQuirks are about pages of the report.
var pageQuirks = []quirk{
	{Quirk: Quirk{Name: "pagination-none",
		Doc: "the report has no pagination"},
		change: onReportBody(func(body *node) { body.drop("pagination") })},
	{Quirk: Quirk{Name: "pagination-null",
		Doc: "pagination of the report is null"},
		change: onReportBody(func(body *node) { body.set("pagination", leaf("null")) })},
	{Quirk: Quirk{Name: "pagination-text",
		Doc: "numbers in pagination are texts"},
		change: ofPagination(func(_ *exchange, g, _ *node) {
			for i, v := range g.values {
				g.values[i] = quoted(v)
			}
		})},
	{Quirk: Quirk{Name: "pagination-no-pages",
		Doc: "pagination lacks total_pages"},
		change: ofPagination(func(_ *exchange, g, _ *node) { g.drop("total_pages") })},
	{Quirk: Quirk{Name: "pagination-more",
		Doc: "pagination has has_next and links, too"},
		change: ofPagination(func(_ *exchange, g, _ *node) {
			g.set("has_next", leaf(strconv.FormatBool(g.get("page").number() < g.get("total_pages").number())))
			g.set("links", objectNode().with("self", textNode("/ads/spend-report?page=1")))
		})},
	{Quirk: Quirk{Name: "pagination-camel",
		Doc: "pagination is in camel case: pageSize, totalRows"},
		change: ofPagination(func(_ *exchange, g, _ *node) {
			for i, key := range g.keys {
				g.keys[i] = camel(key)
			}
		})},
	{Quirk: Quirk{Name: "pagination-from-zero",
		Doc: "pagination counts pages from 0 though the request counts from 1"},
		change: ofPagination(func(_ *exchange, g, _ *node) { g.set("page", intNode(g.get("page").number()-1)) })},
	{Quirk: Quirk{Name: "pagination-size-shown",
		Doc: "page_size is how many rows the page has"},
		change: ofPagination(func(_ *exchange, g, data *node) { g.set("page_size", intNode(len(data.values))) })},
	{Quirk: Quirk{Name: "pagination-rows-shown",
		Doc: "total_rows is how many rows the page has"},
		change: ofPagination(func(_ *exchange, g, data *node) { g.set("total_rows", intNode(len(data.values))) })},
	{Quirk: Quirk{Name: "pagination-one-page",
		Doc: "total_pages is 1 where there are no rows"},
		change: ofPagination(func(_ *exchange, g, _ *node) {
			g.set("total_pages", intNode(max(1, g.get("total_pages").number())))
		})},
	{Quirk: Quirk{Name: "page-cap",
		Doc: "a page of the report has at most 20 rows, whatever was asked for, and says so"},
		ask: func(x *exchange) {
			if x.place.onReport() && x.number("page_size", defaultPageSize) > 20 {
				x.edit(func(q url.Values) { q.Set("page_size", "20") })
			}
		}},
	{Quirk: Quirk{Name: "page-size-5000",
		Doc: "the report refuses a page_size above 5000 (400)"},
		override: func(x *exchange) (reply, bool) {
			if !x.place.onReport() || x.number("page_size", defaultPageSize) <= 5000 {
				return reply{}, false
			}
			return reportError(http.StatusBadRequest, "page_size cannot exceed 5000"), true
		}},
}

// ofPagination makes a change of the pagination of a reply of the report.
func ofPagination(change func(x *exchange, g, data *node)) func(x *exchange, body *node) *node {
	return func(x *exchange, body *node) *node {
		g, data := body.get("pagination"), body.get("data")
		if g != nil && g.kind == '{' && data != nil && x.place.onReport() {
			change(x, g, data)
		}
		return body
	}
}
