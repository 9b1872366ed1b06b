package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// The cases of this file know variables, replies, exit codes and tables. Each is a service that could make a run
// publish a number that is not so, or call a right store wrong.

// smallAccount has a few rows a day, so that a run costs little.
func smallAccount(c *adsim.Config) {
	c.Campaigns, c.CreativesPerCampaign, c.Sources, c.RowsPerDay = 3, 2, 8, 12
}

// reportRows are the rows of one answer of the report.
type reportRows []json.RawMessage

// theReport is the report as a test makes it of the simulated one.
type theReport struct {
	// refuse returns the reply of an error; 0: there is none. n counts the requests, from 1.
	refuse func(n int, q url.Values) (status int, header http.Header, body string)
	// rows returns what a request shows of all rows of its answer.
	rows func(n int, q url.Values, all reportRows) reportRows
	// total is the stated number of rows; nil: that of all.
	total func(q url.Values, rows int) int
	// hasNoPlace leaves out which page it is, of how many rows in all.
	hasNoPlace bool
	// beside returns what an answer has beside its rows.
	beside func(q url.Values) string
	// average is the account's average daily spend in place of the simulated one; empty: it stays.
	average string

	asked atomic.Int64
}

// noSums refuses the requests for sums: those for rows ask for creatives.
func noSums(_ int, q url.Values) (status int, header http.Header, body string) {
	if q.Get("include_creatives") == "true" {
		return 0, nil, ""
	}
	return http.StatusBadRequest, nil, `{"error":"no sums"}`
}

// isDay reports whether a request asks for the rows of one day.
func isDay(q url.Values) bool { return strings.Contains(q.Get("columns"), "source_id") }

// isOf reports whether a request asks for the rows of a day.
func isOf(day fmt.Stringer, q url.Values) bool {
	return isDay(q) && q.Get("start_date") == day.String()
}

// answers puts the report of a test in the place of the service's.
func (w *world) answers(r *theReport) *theReport {
	w.transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		if strings.HasSuffix(req.URL.Path, "/v1/balance") && r.average != "" {
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			body = averageSpend.ReplaceAll(body, []byte(`"average_daily_spend":`+r.average))
			return reply(req, resp.StatusCode, resp.Header, string(body)), err
		}
		if !strings.HasSuffix(req.URL.Path, "/ads/spend-report") {
			return http.DefaultTransport.RoundTrip(req)
		}
		n, q := int(r.asked.Add(1)), req.URL.Query()
		if r.refuse != nil {
			if status, header, body := r.refuse(n, q); status != 0 {
				return reply(req, status, header, body), nil
			}
		}
		if r.rows == nil {
			return http.DefaultTransport.RoundTrip(req)
		}
		whole := req.Clone(req.Context())
		asked := req.URL.Query()
		asked.Set("page", "1")
		asked.Set("page_size", "10000")
		whole.URL.RawQuery = asked.Encode()
		resp, err := http.DefaultTransport.RoundTrip(whole)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		var answer struct {
			Columns []string   `json:"columns"`
			Data    reportRows `json:"data"`
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			return reply(req, resp.StatusCode, resp.Header, string(body)), err
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			return nil, err
		}
		all := r.rows(n, q, answer.Data)
		page, _ := strconv.Atoi(q.Get("page"))
		size, _ := strconv.Atoi(q.Get("page_size"))
		shown := all[min((page-1)*size, len(all)):min(page*size, len(all))]
		parts := map[string]any{"columns": answer.Columns, "data": append(reportRows{}, shown...)}
		if total := len(all); !r.hasNoPlace {
			if r.total != nil {
				total = r.total(q, total)
			}
			parts["pagination"] = map[string]int{"page": page, "page_size": size, "total_rows": total,
				"total_pages": (total + size - 1) / size}
		}
		out, err := json.Marshal(parts)
		if r.beside != nil && r.beside(q) != "" {
			out = fmt.Appendf(nil, "{%s,%s", r.beside(q), out[1:])
		}
		return reply(req, http.StatusOK, http.Header{"Date": resp.Header["Date"]}, string(out)), err
	})
	return r
}

var averageSpend = regexp.MustCompile(`"average_daily_spend": ?[0-9.]+`)

func reply(req *http.Request, status int, header http.Header, body string) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	header.Del("Content-Length")
	header.Del("Content-Encoding")
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)), Request: req}
}

// empty is the same account with an empty store.
func (w *world) empty(t *testing.T) *world {
	c := *w
	c.t, c.dir, c.env, c.session, c.asked = t, filepath.Join(t.TempDir(), "data"), maps.Clone(w.env), nil, nil
	c.env["DATA_DIR"] = c.dir
	return &c
}

// shuffled returns the rows in another order at each request, as a database does that was told none.
func shuffled(n int, rows reportRows) reportRows {
	rows = slices.Clone(rows)
	rand.New(rand.NewPCG(1, uint64(n))).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// TestFalse_ADayOfSeveralReadsStaysIntact: a day that needed several reads, and then a clean read of the same rows, is
// no damage: what the replies mean is stored with the replies.
func TestFalse_ADayOfSeveralReadsStaysIntact(t *testing.T) {
	w := newWorld(t, smallAccount).withoutMarts()
	w.env["PAGE_SIZE"], w.env["REREAD_AFTER"] = "7", "0s"
	day, loose := w.today()-5, 1
	w.answers(&theReport{rows: func(_ int, q url.Values, all reportRows) reportRows {
		if loose > 0 && isOf(day, q) && q.Get("page") == "2" { // a row of the first page in place of its own
			all = slices.Clone(all)
			i := 6 + loose
			all[0], all[i] = all[i], all[0]
			loose++
		}
		return all
	}})
	w.must("sync")
	if loose == 2 {
		t.Error("the day needed one read: the case shows nothing")
	}
	w.checkTruth()
	loose = 0
	w.must("sync") // a clean read
	w.checkTruth() // and verify
	w.must("replay")
	w.checkTruth()
}

// TestFalse_ARefusalThatNamesNoColumnCostsNoMeasure: it is a failure of its request, which is asked again. What lasts
// leaves days unproven, and takes nothing known away; what is asked again is no restatement.
func TestFalse_ARefusalThatNamesNoColumnCostsNoMeasure(t *testing.T) {
	const badRequest, html = `{"error":"Bad request"}`, "<html><body>400: clicks of all kinds, up to date</body></html>"
	type refusal struct {
		text  string
		at    int
		lasts bool
	}
	cases := []refusal{{badRequest, 1, false}, {html, 9, true}}
	if schematest.All() {
		cases = nil
		for _, text := range []string{badRequest, html, `{"error":{"message":"(#17) User request limit reached"}}`,
			`{"error":"Query timed out"}`} {
			for _, at := range []int{1, 4, 5, 6, 7, 9, 20} {
				cases = append(cases, refusal{text, at, false}, refusal{text, at, true})
			}
		}
	}
	const known = "SELECT count(*) - count(clicks) || ' ' || count(*) - count(impressions) || ' ' || count(*) - " +
		"count(conversions) FROM spend_daily"
	base := newWorld(t, smallAccount).withoutMarts()
	base.env["REREAD_AFTER"] = "0s"
	for _, c := range cases {
		w := base.empty(t)
		for _, run := range []string{"the first load", "the hour after"} {
			if run != "the first load" {
				w.service.Advance(time.Hour)
			}
			r := w.answers(&theReport{refuse: func(n int, q url.Values) (int, http.Header, string) {
				if n == c.at || c.lasts && n > c.at {
					return 400, nil, c.text
				}
				return 0, nil, ""
			}})
			code, _, last := w.run("sync")
			what := fmt.Sprintf("%s, request %d of %s, lasting %t: exit %d: %s", c.text, c.at, run, c.lasts, code, last)
			namesTheLine := strings.Contains(last, "report_query.without") || c.text != badRequest && c.text != html
			if !c.lasts && code != exit.OK || c.lasts && (code == exit.OK || r.asked.Load() > int64(c.at) &&
				!namesTheLine) {
				t.Error(what)
			}
			w.transport = nil
			if c.lasts && c.at == 1 && run == "the first load" {
				continue // nothing is published
			}
			if got := w.ask(known); got != "0 0 0" {
				t.Errorf("%s: rows without clicks, impressions, conversions: %s", what, got)
			}
		}
		w.must("sync")
		w.checkTruth()
		// A conversion that came meanwhile is a true one.
		if got := w.ask(`SELECT * FROM spend_change WHERE op <> 'update' OR coalesce(old_conversions >= new_conversions,
			true) OR (old_spend, old_clicks, old_impressions) IS DISTINCT FROM (new_spend, new_clicks, new_impressions)
			`); got != "" {
			t.Errorf("%s at %d, lasting %t: false restatements: %s", c.text, c.at, c.lasts, got)
		}
	}
}

// emptyFrom leaves the rows of a day and of the days after it out of every answer.
func emptyFrom(day schema.Date) func(int, url.Values, reportRows) reportRows {
	return func(_ int, _ url.Values, all reportRows) (rows reportRows) {
		for _, row := range all {
			var is struct {
				Date string `json:"date"`
			}
			if json.Unmarshal(row, &is) == nil && is.Date < day.String() {
				rows = append(rows, row)
			}
		}
		return rows
	}
}

// falseZeros counts the days that count as known, and have no row.
const falseZeros = "SELECT count(*) FROM ops.day_coverage WHERE state IN ('complete', 'final', 'open') AND rows = 0"

// TestFalse_AnEmptyReportProvesNoDay: neither in a first load beside campaigns that deliver, nor later beside known
// days that come empty, however long. The right report restates nothing then.
func TestFalse_AnEmptyReportProvesNoDay(t *testing.T) {
	days := map[string]int{"first load": 1, "known days": 4}
	if schematest.All() {
		days["known days"] = 40
	}
	for name, days := range days {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, smallAccount).withoutMarts()
			if name == "known days" {
				w.must("sync")
			}
			w.answers(&theReport{rows: func(int, url.Values, reportRows) reportRows { return nil }})
			for n := range days {
				if name == "known days" {
					w.service.Advance(24 * time.Hour)
				}
				code, _, last := w.run("sync")
				if code != exit.Partial && (n < 28 || code != exit.DayAtRisk) ||
					!strings.Contains(last, "the report is silent") {
					t.Errorf("day %d of an empty report: exit %d: %s", n, code, last)
				}
				if got := w.ask(falseZeros); got != "0" {
					t.Fatalf("day %d of an empty report: %s days are known to be empty", n, got)
				}
				w.must("query", "-c", "SELECT 1 AS one")
			}
			w.transport = nil
			if days > 33 { // those that left the reach in silence are lost, which one run says
				if code, _, last := w.run("sync"); code != exit.DayAtRisk ||
					!strings.Contains(last, "lost for good: ") {
					t.Errorf("the first right report: exit %d: %s", code, last)
				}
			}
			if code, _, last := w.run("sync"); code != exit.OK {
				t.Errorf("the right report: exit %d: %s", code, last)
			}
			if got := w.ask(falseZeros); got != "0" {
				t.Errorf("after the right report: %s days are known to be empty", got)
			}
			w.must("verify")
			if name == "first load" {
				w.checkTruth()
			}
			if got := w.ask("SELECT count(*) FROM spend_change WHERE op = 'insert'"); got != "0" {
				t.Errorf("%s false restatements", got)
			}
		})
	}
}

// TestFalse_OneEmptyAnswerProvesNoDay: the first answer of one day is empty and states no row, beside whole answers of
// the other days, and the service gives no sum of its own. An empty day takes two answers.
func TestFalse_OneEmptyAnswerProvesNoDay(t *testing.T) {
	w := newWorld(t, smallAccount).withoutMarts()
	day := w.today() - 5
	var wasAsked atomic.Bool
	w.answers(&theReport{
		refuse: noSums,
		rows: func(_ int, q url.Values, all reportRows) reportRows {
			if isOf(day, q) && !wasAsked.Swap(true) {
				return nil
			}
			return all
		},
	})
	w.must("sync")
	if got := w.ask(falseZeros); got != "0" {
		t.Errorf("%s days are known to be empty", got)
	}
	w.checkTruth()
}

// TestFalse_ARowThatMovesIsNoPart: rows of today move between two pages while it is read, so that one comes twice and
// another one not at all, as many as stated; and a renamed campaign has a row of each name. A row that came again
// counts once, and rows of different names add up.
func TestFalse_ARowThatMovesIsNoPart(t *testing.T) {
	w := newWorld(t, smallAccount).withoutMarts()
	w.env["PAGE_SIZE"] = "5"
	reads, truth := 0, map[string]string{}
	var mu sync.Mutex
	w.answers(&theReport{rows: func(_ int, q url.Values, all reportRows) reportRows {
		if !isOf(w.today(), q) {
			return all
		}
		mu.Lock()
		defer mu.Unlock()
		var rows reportRows
		for _, text := range all {
			var row map[string]any
			if err := json.Unmarshal(text, &row); err != nil {
				t.Error(err)
			}
			spend := row["total_spend"].(float64)
			if rows = append(rows, text); len(rows) == 1 {
				row["total_spend"], row["campaign_name"] = 1, "Another name"
				other, _ := json.Marshal(row)
				rows, spend = append(rows, other), spend+1
			}
			truth[fmt.Sprint(row["creative_id"], " ", row["source_id"])] = fmt.Sprintf("%.6f", spend)
		}
		if q.Get("page") == "1" {
			reads++
		}
		rows = slices.Concat(rows[:2], rows[2+reads:], rows[2:2+reads]) // of each read others
		if q.Get("page") == "2" {
			rows[5] = rows[4]
		}
		return rows
	}})
	w.must("sync")
	found := 0
	rows := w.ask("SELECT string_agg(creative_id || ' ' || source_id || '=' || spend, chr(10)) FROM spend_daily " +
		"WHERE report_date = DATE '" + w.today().String() + "' AND spend > 0")
	for line := range strings.Lines(rows) {
		key, spend, _ := strings.Cut(strings.TrimSpace(line), "=")
		if found++; truth[key] != spend {
			t.Errorf("%s is stored as %s, and is %s", key, spend, truth[key])
		}
	}
	if reads < 3 || found < len(truth)/2 {
		t.Errorf("%d reads, %d rows of %d", reads, found, len(truth))
	}
}

// TestFalse_AnAccountThatRestsIsNotAlarmed: days without rows are proven beside rows of other days, and later by days
// that were proven to be empty.
func TestFalse_AnAccountThatRestsIsNotAlarmed(t *testing.T) {
	w := newWorld(t, smallAccount).withoutMarts().synced()
	w.service.Advance(24 * time.Hour)
	w.answers(&theReport{rows: emptyFrom(w.today()), average: "0"})
	for range 7 {
		for range 2 {
			w.must("sync")
			w.service.Advance(12 * time.Hour)
		}
	}
	w.must("verify")
	if got := w.ask(falseZeros); got != "8" {
		t.Errorf("%s days are known to be empty, want 8", got)
	}
	fresh := w.empty(t) // nothing was ever spent
	fresh.answers(&theReport{rows: emptyFrom(0), average: "0"})
	fresh.must("sync")
}

// TestFalse_PagesWithoutAnOrder: each request has the rows in another order, so that pages repeat some rows and lack
// others. The distinct rows of several passes, as many as stated, prove each day.
func TestFalse_PagesWithoutAnOrder(t *testing.T) {
	sizes := []string{"20"}
	if schematest.All() {
		sizes = []string{"20", "12", "6"} // three pages a day, five and ten
	}
	for _, size := range sizes {
		t.Run(size, func(t *testing.T) {
			w := newWorld(t, func(c *adsim.Config) { c.RowsPerDay = 55 }).withoutMarts()
			w.env["PAGE_SIZE"] = size
			w.answers(&theReport{rows: func(n int, q url.Values, all reportRows) reportRows {
				if !isDay(q) {
					return all
				}
				return shuffled(n, all)
			}})
			for range 2 {
				if code, _, last := w.run("sync"); code != exit.OK {
					t.Errorf("exit %d: %s", code, last)
				}
				w.service.Advance(time.Hour)
			}
			w.transport = nil
			w.must("sync")
			w.checkTruth()
			if got := w.ask("SELECT count(*) FROM spend_change"); got != "0" {
				t.Errorf("%s false restatements", got)
			}
		})
	}
}

// TestFalse_RowsBesideAnErrorAreNotAll: a 200 states an error beside half of a day's rows, or beside none, and a number
// of rows that is theirs; the service gives no sum of its own. A reply that states that nothing failed is accepted.
func TestFalse_RowsBesideAnErrorAreNotAll(t *testing.T) {
	errs := []string{`"error":"shard 3 of 5 failed"`, `"errors":[{"message":"shard 3 of 5 failed"}]`, `"success":false`,
		`"status":"error"`, `"truncated":true`, `"isPartial":true`, `"complete":false`}
	none := []string{`"error":null`, `"errors":[]`, `"success":true`, `"error":""`, `"error":false`,
		`"truncated":false`, `"complete":true`}
	if !schematest.All() {
		errs, none = errs[1:2], none[1:2]
	}
	for _, says := range append(errs, none...) {
		w := newWorldInLine(t)
		w.env["RETRY_BUDGET"] = "50ms"
		day := w.today() - 5
		isError := slices.Contains(errs, says)
		w.answers(&theReport{
			refuse: noSums,
			rows: func(_ int, q url.Values, all reportRows) reportRows {
				if isError && isOf(day, q) {
					return all[:len(all)/2]
				}
				return all
			},
			beside: func(q url.Values) string {
				if isOf(day, q) {
					return says
				}
				return ""
			},
		})
		code, _, last := w.run("sync")
		if isError != (code != exit.OK) || isError != strings.Contains(last, "the reply states") {
			t.Errorf("%s: exit %d: %s", says, code, last)
		}
		w.transport = nil
		w.must("sync")
		w.checkTruth()
		if got := w.ask("SELECT count(*) FROM spend_change"); got != "0" {
			t.Errorf("%s: %s false restatements", says, got)
		}
	}
}

// TestFalse_AShortPageThatStatesMoreIsNoEnd: the first page of a day has half of the rows and states that more follows,
// which the second page has. Nothing else shows how many there are.
func TestFalse_AShortPageThatStatesMoreIsNoEnd(t *testing.T) {
	w := newWorldInLine(t)
	day := w.today() - 5
	w.answers(&theReport{
		hasNoPlace: true,
		refuse:     noSums,
		rows: func(_ int, q url.Values, all reportRows) reportRows {
			switch half := len(all) / 2; {
			case !isOf(day, q):
				return all
			case q.Get("page") == "1":
				return all[:half]
			case q.Get("page") == "2":
				size, _ := strconv.Atoi(q.Get("page_size"))
				return append(make(reportRows, size), all[half:]...) // page 1 took this many places
			}
			return nil
		},
		beside: func(q url.Values) string {
			return fmt.Sprintf(`"hasMore":%t`, isOf(day, q) && q.Get("page") == "1")
		},
	})
	w.must("sync")
	w.checkTruth()
}

// TestFalse_ANameIsARowOfItsOwn: a renamed campaign has a row of each name on the only page of each day, and the
// service states neither a number of rows nor a sum. The names show that they are parts.
func TestFalse_ANameIsARowOfItsOwn(t *testing.T) {
	w := newWorld(t, smallAccount).withoutMarts()
	w.env["REREAD_AFTER"] = "0s"
	split := 0
	var mu sync.Mutex
	w.answers(&theReport{
		hasNoPlace: true,
		refuse:     noSums,
		rows: func(_ int, q url.Values, all reportRows) (rows reportRows) {
			for _, text := range all {
				var row map[string]any
				d := json.NewDecoder(strings.NewReader(string(text)))
				d.UseNumber()
				if err := d.Decode(&row); err != nil {
					t.Error(err)
				}
				spend, whole := schema.Money(0), fmt.Sprint(row["total_spend"])
				if isDay(q) {
					spend, _, _ = schema.ParseMoney([]byte(whole))
				}
				if spend > schema.Dollar {
					part := maps.Clone(row)
					part["campaign_name"], part["total_spend"] = "Its name before", 1
					part["clicks"], part["impressions"], part["conversions"] = 0, 0, 0
					row["total_spend"] = json.Number((spend - schema.Dollar).String())
					other, _ := json.Marshal(part)
					text, _ = json.Marshal(row)
					rows = append(rows, other)
					mu.Lock()
					split++
					mu.Unlock()
				}
				rows = append(rows, text)
			}
			return rows
		},
	})
	for range 3 {
		w.must("sync")
		w.checkTruth()
		w.service.Advance(time.Hour)
	}
	if split == 0 {
		t.Error("no row has two names: the case shows nothing")
	}
	if got := w.ask("SELECT count(*) FROM spend_change WHERE op <> 'update'"); got != "0" {
		t.Errorf("%s false restatements", got)
	}
}

// TestFalse_TheAccountsOwnAverageContradictsEmptyDays: a service without sums has rows of today, and none of the days
// before it, or of those of a week, while the account's average daily spend says otherwise.
func TestFalse_TheAccountsOwnAverageContradictsEmptyDays(t *testing.T) {
	for _, from := range []int{32, 8} {
		w := newWorldInLine(t)
		w.answers(&theReport{
			refuse: noSums,
			rows: func(_ int, q url.Values, all reportRows) reportRows {
				day := q.Get("start_date")
				if isDay(q) && day >= (w.today()-schema.Date(from)).String() && day < w.today().String() {
					return nil
				}
				return all
			},
		})
		for range 2 {
			code, _, last := w.run("sync")
			if code == exit.OK || !strings.Contains(last, "the report is silent") {
				t.Errorf("the %d days before today: exit %d: %s", from, code, last)
			}
			if got := w.ask(falseZeros); got != "0" {
				t.Errorf("the %d days before today: %s days are known to be empty", from, got)
			}
			w.service.Advance(time.Hour)
		}
		w.transport = nil
		w.must("sync")
		w.checkTruth()
	}
}

// TestFalse_ARefusedPageIsNoEnd: a service without totals and sums refuses the second page of each day behind a full
// one, for it cuts its answers there.
func TestFalse_ARefusedPageIsNoEnd(t *testing.T) {
	w := newWorldInLine(t)
	w.env["PAGE_SIZE"] = "5"
	w.answers(&theReport{
		hasNoPlace: true,
		refuse: func(_ int, q url.Values) (int, http.Header, string) {
			if q.Get("include_creatives") == "true" && q.Get("page") == "1" {
				return 0, nil, ""
			}
			return http.StatusUnprocessableEntity, nil, `{"error":"no further"}`
		},
		rows: func(_ int, _ url.Values, all reportRows) reportRows { return all },
	})
	code, _, last := w.run("sync")
	if code == exit.OK || !strings.Contains(last, "no page is short or empty") {
		t.Errorf("exit %d: %s", code, last)
	}
	w.transport = nil
	w.must("sync")
	w.checkTruth()
}

// TestFalse_AnOutageBehindTheStatedRowsIsNoEnd: the stated number of rows leaves some out, those before fill a page,
// and the request for the page behind it fails, once or in every read. The service gives no sum of its own.
func TestFalse_AnOutageBehindTheStatedRowsIsNoEnd(t *testing.T) {
	t.Run("once", func(t *testing.T) { testOutageBehind(t, 1) })
	t.Run("always", func(t *testing.T) { testOutageBehind(t, 1000) })
}

func testOutageBehind(t *testing.T, times int64) {
	w := newWorldInLine(t)
	w.env["PAGE_SIZE"] = "5"
	day := w.today() - 5
	var failed atomic.Int64
	w.answers(&theReport{
		refuse: func(n int, q url.Values) (int, http.Header, string) {
			if isOf(day, q) && q.Get("page") == "2" && failed.Add(1) <= times {
				return http.StatusInternalServerError, nil, `{"error":"Internal server error"}`
			}
			return noSums(n, q)
		},
		rows: func(_ int, _ url.Values, all reportRows) reportRows { return all },
		total: func(q url.Values, rows int) int {
			if isOf(day, q) {
				return 5
			}
			return rows
		},
	})
	w.run("sync")
	if failed.Load() == 0 {
		t.Error("no page failed: the case shows nothing")
	}
	if got := w.ask("SELECT count(*) FROM spend_daily WHERE report_date = DATE '" + day.String() + "'"); got == "5" {
		t.Error("the day is stored without the rows behind the stated ones")
	}
	w.transport = nil
	w.must("sync")
	w.checkTruth()
}
