package extract

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

func TestSpend_WalksAllPages(t *testing.T) {
	s := &report{rows: lines(7)}
	c := newTestClient(t, s, func(o *Options) { o.BaseURL = "https://report.test/api/" })
	got, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "sources", sources(got), "S1 S2 S3 S4 S5 S6 S7")
	check(t, "pages", len(got), 3)
	for i, p := range got {
		check(t, "number", p.Number, i+1)
		check(t, "pages", p.Pages, 3)
		check(t, "total", p.Total, 7)
		check(t, "requests", p.Requests, 1)
		check(t, "raw is the reply", strings.HasPrefix(string(p.Raw), `{"columns":`), true)
	}
	check(t, "spend as received", string(got[0].Items[0].TotalSpend), "1.25")
	check(t, "requests", c.Stats().Requests, 3)

	r := s.asked[1]
	check(t, "path", r.URL.Path, "/api/ads/spend-report")
	q := r.URL.Query()
	for name, want := range map[string]string{
		"start_date": "2026-03-08", "end_date": "2026-03-08", "include_creatives": "true",
		"columns": "date,campaign_id,campaign_name,creative_id,source_id,total_spend,clicks,impressions,conversions",
		"page":    "2", "page_size": "3",
	} {
		check(t, name, q.Get(name), want)
	}
	check(t, "parameters", len(q), 6)
}

// A page that comes without rows once hides nothing: with a total that leaves rows out, only the page behind a full
// one shows that there are more.
func TestSpend_AnEmptyPageComesTwice(t *testing.T) {
	for total := range 6 {
		s := &report{rows: lines(5), twist: func(page, try int, _ string) string {
			if page == 2 && try == 1 {
				return pageOf(nil, placed(2, 3, total, 1))
			}
			return pageOf(lines(5)[3*(page-1):min(5, 3*page)], placed(page, 3, total, 1))
		}}
		got, err := walk(t, newTestClient(t, s).Spend(t.Context(), testDay, 3, nil, new(Evidence)))
		if err != nil {
			t.Fatalf("total %d: %v", total, err)
		}
		check(t, fmt.Sprintf("total %d: sources", total), sources(got), "S1 S2 S3 S4 S5")
	}
}

// scripted is a service that answers page n with the nth body, and has no rows behind the last.
func scripted(bodies ...string) *report {
	return &report{rows: lines(50), twist: func(page, _ int, _ string) string {
		if page > len(bodies) {
			return pageOf(nil, "")
		}
		return bodies[page-1]
	}}
}

func TestSpend_AcceptsWhatIsWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		service *report
		want    string
	}{
		"empty/no-pages":   {scripted(pageOf(nil, placed(1, 3, 0, 0))), ""},
		"empty/one-page":   {scripted(pageOf(nil, placed(1, 3, 0, 1))), ""},
		"empty/old":        {scripted(pageOf(nil, "")), ""},
		"empty/size-0":     {scripted(pageOf(nil, placed(1, 0, 0, 0))), ""},
		"empty/no-columns": {scripted(`{"data":[],` + placed(1, 3, 0, 0) + `}`), ""},
		"page/from-zero": {scripted(pageOf(lines(3), placed(0, 3, 5, 2)),
			pageOf(lines(5)[3:], placed(1, 3, 5, 2))), "S1 S2 S3 S4 S5"},
		"size/of-the-page": {scripted(pageOf(lines(3), placed(1, 3, 5, 2)),
			pageOf(lines(5)[3:], placed(2, 2, 5, 2))), "S1 S2 S3 S4 S5"},
		"total/of-the-page": {scripted(pageOf(lines(3), placed(1, 3, 3, 2)),
			pageOf(lines(5)[3:], placed(2, 3, 2, 2))), "S1 S2 S3 S4 S5"},
		"pages/paging": {scripted(pageOf(lines(3), `"paging":{"page":1,"page_size":3,"total_rows":4}`),
			pageOf(lines(4)[3:], `"paging":{"page":2,"page_size":3,"total_rows":4}`)), "S1 S2 S3 S4"},
		"pages/not-told": {scripted(pageOf(lines(3), `"pagination":{"page":1,"page_size":3,"total_rows":4}`),
			pageOf(lines(4)[3:], `"pagination":{"page":2,"page_size":3,"total_rows":4}`)), "S1 S2 S3 S4"},
		"pagination/camel": {scripted(pageOf(lines(1),
			`"pagination":{"page":1,"pageSize":3,"totalRows":1,"TotalPages":1}`)), "S1"},
		"old/fewer":    {scripted(pageOf(lines(2), "")), "S1 S2"},
		"old/full":     {scripted(pageOf(lines(3), "")), "S1 S2 S3"},
		"old/overfull": {scripted(pageOf(lines(4), "")), "S1 S2 S3 S4"},
		"old/pages":    {scripted(pageOf(lines(3), ""), pageOf(lines(5)[3:], "")), "S1 S2 S3 S4 S5"},
		"old/not-paged": {&report{rows: lines(2), twist: func(int, int, string) string {
			return pageOf(lines(2), "")
		}}, "S1 S2"},
		"pagination/null":     {scripted(pageOf(lines(3), `"pagination":null`)), "S1 S2 S3"},
		"pagination/array":    {scripted(pageOf(lines(3), `"pagination":[1,3,1,1]`)), "S1 S2 S3"},
		"pagination/no-total": {scripted(pageOf(lines(1), `"pagination":{"page":1,"page_size":3}`)), "S1"},
		"pagination/text": {scripted(pageOf(lines(1),
			`"pagination":{"page":"one","page_size":3,"total_rows":1}`)), "S1"},
		"pagination/fraction": {scripted(pageOf(lines(1), `"pagination":{"page":1,"page_size":3,"total_rows":1.5}`)),
			"S1"},
		"pagination/negative": {scripted(pageOf(lines(1), `"pagination":{"page":1,"page_size":3,"total_rows":-1}`)),
			"S1"},
		"pagination/null-part": {scripted(pageOf(lines(1),
			`"pagination":{"page":1,"page_size":3,"total_rows":null}`)), "S1"},
		"pagination/beyond": {scripted(pageOf(lines(1),
			`"pagination":{"page":1,"page_size":3,"total_rows":1e30}`)), "S1"},
		"page/misnumbered": {scripted(pageOf(lines(3), placed(1, 3, 5, 2)), pageOf(lines(5)[3:], placed(1, 3, 5, 2))),
			"S1 S2 S3 S4 S5"},
		"pages/miscounted": {scripted(pageOf(lines(3), placed(1, 3, 5, 9)), pageOf(lines(5)[3:], placed(2, 3, 5, 0))),
			"S1 S2 S3 S4 S5"},
		"size/zero":   {scripted(pageOf(lines(1), placed(1, 0, 1, 1))), "S1"},
		"size/larger": {scripted(pageOf(lines(1), placed(1, 5, 1, 1))), "S1"},
		"size/short-middle": {scripted(pageOf(lines(2), placed(1, 3, 5, 2)), pageOf(lines(5)[2:], placed(2, 3, 5, 2))),
			"S1 S2 S3 S4 S5"},
		"of-the-page/short": {scripted(pageOf(lines(2), placed(1, 3, 2, 2)), pageOf(lines(5)[2:], placed(2, 3, 3, 2))),
			"S1 S2 S3 S4 S5"},
		"size/clamped": {scripted(pageOf(lines(3)[:2], placed(1, 2, 3, 2)),
			pageOf(lines(3)[2:], placed(2, 2, 3, 2))), "S1 S2 S3"},
		"numbers/1.0": {scripted(pageOf(lines(1), `"pagination":{"page":1.0,"page_size":3e0,"total_rows":1,`+
			`"total_pages":1}`)), "S1"},
		"date/absent": {scripted(pageOf([]string{strings.Replace(line(1), `"date":"2026-03-08",`, ``, 1)},
			placed(1, 3, 1, 1))), "S1"},
		"date/null": {scripted(pageOf([]string{strings.Replace(line(1), `"2026-03-08"`, `null`, 1)},
			placed(1, 3, 1, 1))), "S1"},
		"date/escaped": {scripted(pageOf([]string{strings.Replace(line(1), `"2026-03-08"`, `"2026\u002d03-08"`, 1)},
			placed(1, 3, 1, 1))), "S1"},
		"order/data-last": {scripted(`{` + placed(1, 3, 1, 1) + `,"data":[` + line(1) + `],"columns":` + columnsJSON +
			`}`), "S1"},
		"key/no-source-beside-another": {scripted(pageOf([]string{
			line(1), strings.Replace(line(1), `"source_id":"S1",`, ``, 1)}, placed(1, 3, 2, 1))), "S1 "},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := walk(t, newTestClient(t, tc.service).Spend(t.Context(), testDay, 3, nil, nil))
			if err != nil {
				t.Fatal(err)
			}
			check(t, "sources", strings.TrimSpace(sources(got)), strings.TrimSpace(tc.want))
		})
	}
}

func TestSpend_RefusesPagesThatDoNotAddUp(t *testing.T) {
	first := pageOf(lines(3), placed(1, 3, 8, 3))
	second := pageOf(lines(6)[3:], placed(2, 3, 8, 3))
	twice := func(old, new string) []string {
		return []string{pageOf([]string{idle(1), strings.Replace(idle(1), old, new, 1)}, placed(1, 3, 2, 1))}
	}
	for name, tc := range map[string]struct {
		pages []string
		want  string
	}{
		"total/changed": {[]string{first, pageOf(lines(6)[3:], placed(2, 3, 7, 3)), pageOf(lines(7)[6:],
			placed(3, 3, 7, 3))}, "page 2: total changed from 8 to 7"},
		"total/changed-last": {[]string{first, second, pageOf(lines(9)[6:], placed(3, 3, 9, 3))},
			"page 3: total changed from 8 to 9"},
		"total/gone": {[]string{first, pageOf(lines(6)[3:], "")}, "page 2: no total, which was 8"},
		"total/huge": {[]string{pageOf(lines(1), placed(1, 3, 1e15, 333))},
			"1 row came, and the stated total is 1000"},
		"page/other":       {[]string{first, first}, "3 rows came, and the stated total is 8"},
		"page/first-other": {[]string{second}, "3 rows came, and the stated total is 8"},
		"rows/short-middle": {[]string{first, pageOf(lines(5)[3:], placed(2, 3, 8, 3))},
			"5 rows came, and the stated total is 8"},
		"rows/short-last": {[]string{first, second, pageOf(lines(7)[6:], placed(3, 3, 8, 3))},
			"7 rows came, and the stated total is 8"},
		"rows/empty-last": {[]string{first, second, pageOf(nil, placed(3, 3, 8, 3))},
			"6 rows came, and the stated total is 8"},
		"rows/null-last": {[]string{first, second, `{"columns":` + columnsJSON + `,"data":null,` + placed(3, 3, 8,
			3) + `}`},
			"6 rows came, and the stated total is 8"},
		"rows/long-last": {[]string{first, second, pageOf(lines(9)[6:], placed(3, 3, 8, 3))},
			"9 rows came, and the stated total is 8"},
		"rows/empty-first":  {[]string{pageOf(nil, placed(1, 3, 8, 3))}, "0 rows came, and the stated total is 8"},
		"rows/some-of-none": {[]string{pageOf(lines(1), placed(1, 3, 0, 0))}, "1 row came, and the stated total is 0"},
		"key/same-page": {[]string{pageOf([]string{line(1), line(2), line(1)}, placed(1, 3, 3, 1))},
			`page 1: row 3 is there twice: "C1000001" "C1000001-001" "S1"`},
		"key/next-page": {[]string{first, pageOf([]string{line(3), line(4), line(5)}, placed(2, 3, 8, 3)),
			pageOf(lines(7)[5:], placed(3, 3, 8, 3))}, "page 2: row 1 is there twice"},
		"key/other-numbers": {[]string{pageOf([]string{line(1), strings.Replace(line(1), "1.25", "9", 1)},
			placed(1, 3, 2, 1))}, "row 2 is there twice"},
		"key/other-spelling": {twice(`"S1"`, `"\u00531"`), "row 2 is there twice"},
		"key/blanks-around":  {twice(`"S1"`, `"\u00a0S1 "`), "row 2 is there twice"},
		"key/null-and-empty": {[]string{strings.Replace(twice(`"S1"`, `""`)[0], `"S1"`, `null`, 1)},
			"row 2 is there twice"},
		"key/null-and-blank": {[]string{strings.Replace(twice(`"S1"`, `" \t"`)[0], `"S1"`, `null`, 1)},
			"row 2 is there twice"},
		"key/null-and-absent": {[]string{strings.Replace(twice(`"source_id":"S1",`, ``)[0], `"S1"`, `null`, 1)},
			"row 2 is there twice"},
		"of-the-page/all-full": {[]string{pageOf(lines(3), placed(1, 3, 3, 2)), pageOf(lines(3), placed(2, 3, 3, 2))},
			"3 rows came, and no page shows that they are all"},
		"old/the-same-full-page": {[]string{pageOf(lines(3), ""), pageOf(lines(3), "")},
			"3 rows came, and no page shows that they are all"},
		"date/other": {[]string{pageOf([]string{strings.Replace(line(1), "03-08", "03-09", 1)},
			placed(1, 3, 1, 1))}, `row 1: date "2026-03-09", not the day asked for`},
		"date/other-midnight": {[]string{pageOf([]string{strings.Replace(line(1), "03-08", "03-09T00:00:00Z", 1)},
			placed(1, 3, 1, 1))}, "not the day asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := walk(t, newTestClient(t, scripted(tc.pages...)).Spend(t.Context(), testDay, 3, nil, nil))
			unproven, ok := errors.AsType[*UnprovenError](err)
			if !ok {
				t.Fatalf("error %v after %d pages, want an UnprovenError", err, len(got))
			}
			check(t, "what", unproven.What, "spend 2026-03-08")
			if !strings.Contains(unproven.Reason, tc.want) {
				t.Errorf("reason %q, want %q", unproven.Reason, tc.want)
			}
			check(t, "contract", errors.Is(err, ErrContract), false)
		})
	}
}

// A row appears or vanishes at every place while the pages are read. Whatever
// the walk calls proven is the table as it was at some moment.
func TestSpend_ProvesOnlySnapshots(t *testing.T) {
	const size, n = 3, 8
	before := lines(n)
	for at := range n {
		for turn := 2; turn <= 3; turn++ {
			for _, change := range []string{"insert", "delete", "move", "replace"} {
				after := append([]string{}, before...)
				switch change {
				case "insert":
					after = append(append(append([]string{}, before[:at]...), line(99)), before[at:]...)
				case "delete":
					after = append(append([]string{}, before[:at]...), before[at+1:]...)
				case "move": // the same rows in another order: omission = duplication
					after = append(append(append([]string{}, before[:at]...), before[at+1:]...), before[at])
				case "replace":
					after[at] = line(99)
				}
				s := &report{rows: before}
				s.twist = func(page, _ int, body string) string {
					if page == turn-1 {
						s.rows = after
					}
					return body
				}
				got, err := walk(t, newTestClient(t, s).Spend(t.Context(), testDay, size, nil, nil))
				if err != nil {
					if _, ok := errors.AsType[*UnprovenError](err); !ok {
						t.Fatalf("%s row %d before page %d: %v", change, at, turn, err)
					}
					continue
				}
				keys := map[string]bool{}
				for _, id := range strings.Fields(sources(got)) {
					keys[id] = true
				}
				check(t, fmt.Sprintf("%s row %d before page %d: distinct rows", change, at, turn), len(keys), n)
			}
		}
	}
}

func TestSpend_RefusesRepliesOutsideTheContract(t *testing.T) {
	row := func(old, new string) string {
		return pageOf([]string{line(1), strings.Replace(line(2), old, new, 1)}, placed(1, 3, 2, 1))
	}
	paged := func(pagination string) string { return pageOf(lines(1), `"pagination":`+pagination) }
	for name, tc := range map[string]struct{ body, want string }{
		"object/empty":   {`{}`, "the reply has no columns"},
		"object/array":   {`["ok"]`, "of type array, not an object"},
		"rows/unnamed":   {`[["2026-03-08","C1000001"]]`, "of type array, not an object"},
		"rows/two-lists": {`{"columns":["date"],"rows":[],"data":[]}`, `"data" are rows, and there were some before`},
		"wrapped/twice": {`{"data":{"columns":[],"data":[],"pagination":null},"pagination":null}`,
			"data is of type object"},
		"object/text":     {`"ok"`, "of type string, not an object"},
		"columns/absent":  {`{"data":[]}`, "no rows, and neither columns nor a total of 0"},
		"columns/null":    {`{"columns":null,"data":[]}`, "no rows, and neither columns nor a total of 0"},
		"columns/text":    {`{"columns":"date","data":[]}`, "columns is of type string"},
		"columns/numbers": {`{"columns":["date",1],"data":[]}`, "column 2 is of type number"},
		"columns/twice":   {`{"columns":["date","date"],"data":[]}`, `column "date" is there twice`},
		"columns/lacking": {strings.Replace(pageOf(nil, placed(1, 3, 0, 0)), `"campaign_id",`, ``, 1),
			"the columns lack campaign_id"},
		"data/absent": {`{"columns":` + columnsJSON + `}`, "the reply has no data"},
		"data/null":   {`{"columns":` + columnsJSON + `,"data":null}`, "no rows, and neither columns nor a total"},
		"data/null-of-some": {`{"columns":` + columnsJSON + `,"data":null,` + placed(1, 3, 2, 1) + `}`,
			"no rows, and neither columns nor a total"},
		"data/object":       {`{"columns":` + columnsJSON + `,"data":{}}`, "data is of type object, not an array"},
		"row/two-words":     {row(`1.25`, `not known`), "the reply is not JSON"},
		"row/open-text":     {row(`"S2"`, `S2"`), "the reply is not JSON"},
		"top/duplicate-key": {`{"columns":[],"data":[],"data":[]}`, `the key "data" is there twice`},
		"top/unknown-twice": {`{"a":1,"columns":[],"a":1,"data":[]}`, `the key "a" is there twice`},
		"pagination/twice": {paged(`{"page":1,"page_size":3,"pageSize":3,"total_rows":1,"total_pages":1}`),
			"pagination.pageSize is 3"},
		"end/second-object": {pageOf(lines(1), placed(1, 3, 1, 1)) + `{}`, `2 bytes after the end of the ` +
			`reply: "{}"`},
		"end/garbage": {pageOf(lines(1), placed(1, 3, 1, 1)) + "\n x", "1 byte after the end of the reply"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := walk(t, newTestClient(t, scripted(tc.body)).Spend(t.Context(), testDay, 3, nil, nil))
				wantError(t, err, ErrContract, "spend 2026-03-08 page 1: ", tc.want)
				check(t, "pages", len(got), 0)
				if _, ok := errors.AsType[*UnprovenError](err); ok {
					t.Error("is also unproven")
				}
			})
		})
	}
}

// TestSpend_AValueCostsItself: a key with two values, and a word where JSON has a value, cost this value alone.
func TestSpend_AValueCostsItself(t *testing.T) {
	paged := func(row string) string { return pageOf([]string{line(1), row}, placed(1, 3, 2, 1)) }
	row := func(old, new string) string { return paged(strings.Replace(line(2), old, new, 1)) }
	for name, c := range map[string]struct {
		replies []string
		clicks  string
	}{
		"two values":           {[]string{row(`"clicks":5`, `"clicks":5,"clicks":6`)}, `[5,6]`},
		"two spellings":        {[]string{row(`"clicks":5`, `"clicks":5,"Clicks":6`)}, `[5,6]`},
		"escaped":              {[]string{row(`"clicks":5`, `"clicks":5,"c\u006cicks":6`)}, `[5,6]`},
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
				for page, err := range newTestClient(t, service).Spend(t.Context(), testDay, 3, nil, nil) {
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
	_, err := walk(t, newTestClient(t, scripted(body)).Spend(t.Context(), testDay, 3, nil, nil))
	wantError(t, err, ErrContract, "more than 100000 rows in one reply")
}

func TestSpend_BoundsUnknownKeys(t *testing.T) {
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, `"k%d%s":0,`, i, strings.Repeat("é", 200))
	}
	body := pageOf([]string{"{" + b.String() + line(1)[1:]}, placed(1, 3, 1, 1))
	got, err := walk(t, newTestClient(t, scripted(body)).Spend(t.Context(), testDay, 3, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "unknown", len(got[0].Unknown), maxUnknown)
	check(t, "short", len(got[0].Unknown[0].Path) < 120, true)
}

// TestSpend_KnownReplies: replies that are all the known ones give one page that
// says so; with any other, the walk is as if nothing had been known.
func TestSpend_KnownReplies(t *testing.T) {
	s := &report{rows: lines(8)}
	c := newTestClient(t, s)
	first, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	known := func() *Known {
		k := &Known{Body: func(page int) ([]byte, error) { return first[page-1].Raw, nil }}
		for _, p := range first {
			k.Fingerprints = append(k.Fingerprints, p.Fingerprint)
		}
		return k
	}
	var bytes int64
	for _, p := range first {
		bytes += p.Bytes
	}
	pages, err := walk(t, c.Spend(t.Context(), testDay, 3, known(), nil))
	if err != nil || len(pages) != 1 || !pages[0].Unchanged || pages[0].Number != 3 || pages[0].Pages != 3 ||
		pages[0].Items != nil || pages[0].Bytes != bytes {
		t.Errorf("all are known: %+v, %v", pages, err)
	}
	for name, tc := range map[string]struct {
		edit    func(k *Known)
		restate int // row that changes, from 1
		rows    []string
		fails   string
	}{
		"the first differs":      {restate: 1},
		"one within differs":     {restate: 5},
		"the last differs":       {restate: 8},
		"rows went":              {rows: lines(5)},
		"rows came":              {rows: lines(11)},
		"none was known":         {edit: func(k *Known) { k.Fingerprints = nil }},
		"decoded by other rules": {edit: func(k *Known) { k.Fingerprints[1] = "0" + k.Fingerprints[1][1:] }},
		"a kept one is gone": {restate: 5, edit: func(k *Known) {
			k.Body = func(int) ([]byte, error) {
				return nil, errors.New("no such file")
			}
		}, fails: "page 1: it is the known reply, which cannot be read any more: no such file"},
		"a kept one is no answer": {restate: 5, edit: func(k *Known) {
			k.Body = func(int) ([]byte, error) {
				return []byte("{"), nil
			}
		}, fails: "page 1: it is the known reply, which cannot be read any more"},
		"kept ones do not fit": {restate: 8, edit: func(k *Known) {
			k.Body = func(int) ([]byte, error) {
				return first[0].Raw, nil
			}
		}, fails: "5 rows came, and the stated total is 8"},
	} {
		t.Run(name, func(t *testing.T) {
			rows := slices.Clone(s.rows)
			if tc.rows != nil {
				rows = tc.rows
			}
			if tc.restate > 0 {
				rows[tc.restate-1] = strings.Replace(rows[tc.restate-1], "1.25", "1.5", 1)
			}
			now := newTestClient(t, &report{rows: rows})
			want, err := walk(t, now.Spend(t.Context(), testDay, 3, nil, nil))
			if err != nil {
				t.Fatal(err)
			}
			k := known()
			if tc.edit != nil {
				tc.edit(k)
			}
			got, err := walk(t, now.Spend(t.Context(), testDay, 3, k, nil))
			if tc.fails != "" {
				if unproven, ok := errors.AsType[*UnprovenError](err); !ok || !strings.Contains(unproven.Error(),
					tc.fails) {
					t.Errorf("error %v, want %s", err, tc.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text := func(pages []Page[SpendLine]) (all []string) {
				for _, p := range pages {
					all = append(all, fmt.Sprintf("%d of %d, %d in all, %v, %s", p.Number, p.Pages, p.Total,
						p.Unchanged, p.Items), string(p.Raw))
				}
				return all
			}
			if !slices.Equal(text(got), text(want)) {
				t.Errorf("pages\n%s\nwant\n%s", text(got), text(want))
			}
		})
	}
}

// A service that knows no pages answers each request with all rows, or with as many as its own limit allows.
func TestSpend_AnswersThatIgnoreThePageSize(t *testing.T) {
	for _, c := range []struct {
		rows, size int
		whole      bool
	}{{3, 4, true}, {7, 4, false}, {4, 4, false}, {50, 4, false}, {1000, 100, false}} {
		all := pageOf(lines(c.rows), "")
		s := &report{twist: func(int, int, string) string { return all }}
		got, err := walk(t, newTestClient(t, s).Spend(t.Context(), testDay, c.size, nil, nil))
		name := fmt.Sprintf("%d rows in a page of %d", c.rows, c.size)
		check(t, name+": whole", err == nil, c.whole)
		check(t, name+": rows", len(strings.Fields(sources(got))), c.rows)
	}
}
