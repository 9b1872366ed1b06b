package extract

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// scripted returns a service that answers page n with the nth body. It has no rows after the last body.
func scripted(bodies ...string) *report {
	return &report{rows: lines(50), twist: func(page, _ int, _ string) string {
		if page > len(bodies) {
			return pageOf(nil, "")
		}
		return bodies[page-1]
	}}
}

func TestSpend_RefusesRepliesOutsideTheContract(t *testing.T) {
	row := func(old, new string) string {
		return pageOf([]string{line(1), strings.Replace(line(2), old, new, 1)}, placed(1, 3, 2, 1))
	}
	paged := func(pagination string) string { return pageOf(lines(1), `"pagination":`+pagination) }
	stating := func(key string) string { return pageOf(lines(1), placed(1, 3, 1, 1)+","+key) }
	for name, tc := range map[string]struct{ body, want string }{
		"object/empty":   {`{}`, "the reply has no columns"},
		"object/array":   {`["ok"]`, "of type array, not an object"},
		"rows/unnamed":   {`[["2026-03-08","C1000001"]]`, "of type array, not an object"},
		"rows/two-lists": {`{"columns":["date"],"rows":[],"data":[]}`, `"data" are rows, and there were some before`},
		"wrapped/twice": {`{"data":{"columns":[],"data":[],"pagination":null},"pagination":null}`,
			"data is of type object"},
		"object/text": {`"ok"`, "of type string, not an object"},
		"columns/absent": {`{"fields":["date"],"data":[]}`, `the reply has no columns; its keys are "data", ` +
			`"fields"; another name is a line report_reply.columns of SPENDSYNC_SERVICE_FILE`},
		"columns/objects": {`{"columns":[{"name":"date"}],"data":[[]]}`, "column 1 is of type object, not a text"},
		"columns/null":    {`{"columns":null,"data":[]}`, "the reply has no columns"},
		"columns/text":    {`{"columns":"date","data":[]}`, "columns is of type string"},
		"columns/numbers": {`{"columns":["date",1],"data":[]}`, "column 2 is of type number"},
		"columns/twice":   {`{"columns":["date","date"],"data":[]}`, `column "date" is there twice`},
		"columns/lacking": {strings.Replace(pageOf(nil, placed(1, 3, 0, 0)), `"campaign_id",`, ``, 1),
			"the columns lack campaign_id"},
		"data/absent": {`{"columns":` + columnsJSON + `,"hits":[]}`, `the reply has no data; its keys are "columns", ` +
			`"hits"; another name is a line report_reply.rows of`},
		"data/null":  {`{"columns":` + columnsJSON + `,"data":null}`, "data is of type null, not an array"},
		"page/other": {pageOf(lines(1), placed(2, 3, 1, 1)), "pagination.page is 2, not 1"},
		"page/none":  {paged(`{"page_size":3,"total_rows":1,"total_pages":1}`), "pagination.page is missing, not 1"},
		"total/none": {paged(`{"page":1,"page_size":3,"total_pages":1}`),
			"pagination lacks a page_size, total_rows or"},
		"columns/name": {strings.Replace(pageOf(lines(1), placed(1, 3, 1, 1)), `"clicks",`, ``, 1),
			"report.columns of SPENDSYNC_SERVICE_FILE"},
		"data/object":       {`{"columns":` + columnsJSON + `,"data":{}}`, "data is of type object, not an array"},
		"row/two-words":     {row(`1.25`, `not known`), "the reply is not JSON"},
		"row/open-text":     {row(`"S2"`, `S2"`), "the reply is not JSON"},
		"top/duplicate-key": {`{"columns":[],"data":[],"data":[]}`, `the key "data" is there twice`},
		"top/unknown-twice": {`{"a":1,"columns":[],"a":1,"data":[]}`, `the key "a" is there twice`},
		"states/error":      {stating(`"error":"shard 3"`), `the reply says "shard 3"`},
		"states/errors":     {stating(`"errors":[{"message":"shard 3"}]`), "the reply is an error"},
		"states/error, in a long reply": {stating(`"x":"` + strings.Repeat("x", 5000) + `","error":"shard 3"`),
			`the reply states error "shard 3"`},
		"states/truncated": {stating(`"truncated":true`), "the reply states truncated true"},
		"states/partial":   {stating(`"partial":true`), "the reply states partial true"},
		"end/second-object": {pageOf(lines(1), placed(1, 3, 1, 1)) + `{}`, `2 bytes after the end of the ` +
			`reply: "{}"`},
		"end/garbage": {pageOf(lines(1), placed(1, 3, 1, 1)) + "\n x", "1 byte after the end of the reply"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := walk(t, dayOf(t.Context(), newTestClient(t, scripted(tc.body)), testDay, 3))
				wantError(t, err, ErrContract, "spend 2026-03-08 page 1: ", tc.want)
				check(t, "pages", len(got), 0)
				if _, ok := errors.AsType[*UnprovenError](err); ok {
					t.Error("is also unproven")
				}
			})
		})
	}
}

// TestSpend_AValueCostsItself: if a key has two values, or a value is a bare word, only this value is lost.
func TestSpend_AValueCostsItself(t *testing.T) {
	paged := func(row string) string { return pageOf([]string{line(1), row}, placed(1, 3, 2, 1)) }
	row := func(old, new string) string { return paged(strings.Replace(line(2), old, new, 1)) }
	for name, c := range map[string]struct {
		replies []string
		clicks  string
	}{
		"two values":           {[]string{row(`"clicks":5`, `"clicks":5,"clicks":6`)}, `twice: 5, 6`},
		"escaped":              {[]string{row(`"clicks":5`, `"clicks":5,"c\u006cicks":6`)}, `twice: 5, 6`},
		"three values":         {[]string{row(`"clicks":5`, `"clicks":5,"clicks":[6],"clicks":7`)}, `twice: 5, [6], 7`},
		"the same value twice": {[]string{row(`"clicks":5`, `"clicks":5,"clicks":5`)}, `5`},
		"NaN":                  {[]string{row(`"clicks":5`, `"clicks":NaN`)}, `["NaN"]`},
		"infinity":             {[]string{row(`"clicks":5`, `"clicks":-Infinity`)}, `["-Infinity"]`},
		"leading zero":         {[]string{row(`"clicks":5`, `"clicks":05`)}, `["05"]`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, clicks := 0, ""
				service := &report{twist: func(int, int, string) string {
					asked++
					return c.replies[min(asked, len(c.replies))-1]
				}}
				for page, err := range dayOf(t.Context(), newTestClient(t, service), testDay, 3) {
					if err != nil {
						t.Fatal(err)
					}
					for _, l := range page.Items {
						clicks += string(l.Clicks) + " "
					}
				}
				check(t, "clicks", clicks, "5 "+c.clicks+" ")
				again, err := DecodeSpend(nil, []byte(c.replies[len(c.replies)-1]))
				if err != nil || len(again.Items) != 2 || string(again.Items[1].Clicks) != c.clicks {
					t.Errorf("decoded again: %q, %v", again.Items, err)
				}
			})
		})
	}
}

func TestSpend_RefusesMoreRowsThanAPageMayHave(t *testing.T) {
	body := pageOf([]string{strings.Repeat(`{},`, maxPageRows) + `{}`}, placed(1, 3, 1, 1))
	_, err := walk(t, dayOf(t.Context(), newTestClient(t, scripted(body)), testDay, 3))
	wantError(t, err, ErrContract, "more than 100000 rows in one reply")
}

func TestSpend_BoundsUnknownKeys(t *testing.T) {
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, `"k%d%s":0,`, i, strings.Repeat("é", 200))
	}
	body := pageOf([]string{"{" + b.String() + line(1)[1:]}, placed(1, 3, 1, 1))
	got, err := walk(t, dayOf(t.Context(), newTestClient(t, scripted(body)), testDay, 3))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "unknown", len(got[0].Unknown), maxUnknown)
	check(t, "short", len(got[0].Unknown[0].Path) < 120, true)
}

// TestSpend_WalksThePagesThatAreStated: the walk sends one request for each stated page, and collects the evidence.
func TestSpend_WalksThePagesThatAreStated(t *testing.T) {
	s := &report{rows: lines(7)}
	var seen Evidence
	got, err := walk(t, newTestClient(t, s).Spend(t.Context(), SpendQuestion{Day: testDay, PageSize: 3,
		Campaign: "C1", Creative: "C1-2"}, &seen))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "sources", sources(got), "S1 S2 S3 S4 S5 S6 S7")
	check(t, "evidence", seen, Evidence{Rows: 7, Total: 7})
	check(t, "requests", len(s.asked), 3)
	check(t, "query", s.asked[1].URL.Query().Encode(), "campaign_id=C1&columns=date%2Ccampaign_id%2Ccreative_id%2C"+
		"source_id%2Ctotal_spend%2Cclicks%2Cimpressions%2Cconversions&creative_id=C1-2&end_date=2026-03-08&"+
		"include_creatives=true&page=2&page_size=3&start_date=2026-03-08")
}

// TestSpend_SaysWhatDoesNotAddUp: a contradiction between the pages does not end the walk. It is recorded for the
// caller.
func TestSpend_SaysWhatDoesNotAddUp(t *testing.T) {
	for name, c := range map[string]struct {
		bodies  []string
		against string
		full    bool
		total   int64
	}{
		"whole":          {bodies: []string{pageOf(lines(2), placed(1, 3, 2, 1))}, total: 2},
		"nothing":        {bodies: []string{pageOf(nil, placed(1, 3, 0, 0))}},
		"nothing on one": {bodies: []string{pageOf(nil, placed(1, 3, 0, 1))}},
		"another total":  {bodies: []string{pageOf(lines(2), placed(1, 3, 3, 1))}, total: 3},
		"pages do not fit": {bodies: []string{pageOf(lines(2), placed(1, 3, 2, 0))}, total: 2,
			against: "page 1: total_rows is 2, which with a page_size of 3 are 1 pages, and total_pages is 0"},
		"a total that changes": {bodies: []string{pageOf(lines(3), placed(1, 3, 5, 2)), pageOf(lines(2), placed(2, 3,
			6, 2))},
			total: 6, against: "page 2: total changed from 5 to 6"},
		"an empty page": {bodies: []string{pageOf(lines(3), placed(1, 3, 7, 3)), pageOf(nil, placed(2, 3, 7, 3))},
			total:   7,
			against: "page 2: 0 rows, and total_pages is 3"},
		"more than a page": {bodies: []string{pageOf(lines(3), placed(1, 2, 3, 2)), pageOf(lines(1), placed(2, 2, 3,
			2))},
			total: 3, against: "page 1: 3 rows, and its page_size is 2"},
		"a row behind the last": {bodies: []string{pageOf(lines(3), placed(1, 3, 3, 1)), pageOf([]string{line(9)},
			placed(2, 3, 3, 1))}, total: 3, against: "page 2: 1 row, and total_pages is 1"},
		"more follows": {bodies: []string{pageOf(lines(2), placed(1, 3, 2, 1)+`,"has_more":true`)}, total: 2,
			against: "page 1 is the last, and states that more follows"},
		"more follows, in the pagination": {bodies: []string{pageOf(lines(2), strings.TrimSuffix(placed(1, 3, 2, 1),
			"}")+`,"has_more":true}`)}, total: 2, against: "page 1 is the last, and states that more follows"},
		"before April":         {bodies: []string{pageOf(lines(2), "")}, total: -1},
		"before April, a full": {bodies: []string{pageOf(lines(3), "")}, total: -1, full: true},
	} {
		var seen Evidence
		pages, err := walk(t, newTestClient(t, scripted(c.bodies...)).Spend(t.Context(), SpendQuestion{Day: testDay,
			PageSize: 3}, &seen))
		if err != nil || len(pages) != len(c.bodies) || seen.Against != c.against || seen.Full != c.full ||
			seen.Total != c.total {
			t.Errorf("%s: %d pages, %+v, %v", name, len(pages), seen, err)
		}
		var kept Evidence
		_, err = walk(t, ProveSpend(nil, SpendQuestion{Day: testDay, PageSize: 3}, func(yield func([]byte,
			error) bool) {
			for _, body := range c.bodies {
				if !yield([]byte(body), nil) {
					return
				}
			}
		}, &kept))
		if err != nil || kept != seen {
			t.Errorf("%s, kept: %+v, %v", name, kept, err)
		}
	}
}

// TestSpend_ARefusalNamesItsCure: the error names the line report.columns, or the variable for the page size.
func TestSpend_ARefusalNamesItsCure(t *testing.T) {
	for text, want := range map[string]string{
		"unknown column: impressions":  "report.columns of SPENDSYNC_SERVICE_FILE",
		"page_size cannot exceed 5000": "SPENDSYNC_PAGE_SIZE",
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newTestClient(t, roundTrip(status(400, `{"error":"`+text+`"}`)))
			_, err := walk(t, c.Spend(t.Context(), SpendQuestion{Day: testDay}, new(Evidence)))
			wantError(t, err, ErrContract, text, want)
		})
	}
}
