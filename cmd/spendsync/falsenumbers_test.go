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
	// beside returns what an answer has beside its rows.
	beside func(q url.Values) string
	// total returns the number of rows that an answer states; nil: that of its rows.
	total func(q url.Values, rows int) int
	// edit changes the parts of an answer.
	edit func(q url.Values, parts map[string]any)
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
		total := len(all)
		if r.total != nil {
			total = r.total(q, total)
		}
		parts["pagination"] = map[string]int{"page": page, "page_size": size, "total_rows": total,
			"total_pages": (total + size - 1) / size}
		if r.edit != nil {
			r.edit(q, parts)
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
	days := map[string]int{"first load": 1, "known days": 2}
	if schematest.All() {
		days["known days"] = 40
	}
	for name, days := range days {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, smallAccount)
			if name == "known days" {
				w.synced()
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
	w := newWorld(t, smallAccount)
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

// TestFalse_AnAccountThatRestsIsNotAlarmed: days without rows are proven beside rows of other days, and later by days
// that were proven to be empty.
func TestFalse_AnAccountThatRestsIsNotAlarmed(t *testing.T) {
	w := newWorld(t, smallAccount).synced()
	w.service.Advance(24 * time.Hour)
	w.answers(&theReport{rows: emptyFrom(w.today()), average: "0"})
	days := schematest.Times(1, 7, 7)
	for range 2 * days {
		w.must("sync")
		w.service.Advance(12 * time.Hour)
	}
	w.must("verify")
	if got := w.ask(falseZeros); got != fmt.Sprint(days+1) {
		t.Errorf("%s days are known to be empty, want %d", got, days+1)
	}
	fresh := w.empty(t) // nothing was ever spent: a person says that the account rests
	fresh.answers(&theReport{rows: emptyFrom(0), average: "0"})
	if code, _, last := fresh.run("sync"); code != exit.Partial || !strings.Contains(last,
		"repair accept report.empty") {
		t.Errorf("exit %d: %s", code, last)
	}
	fresh.must("repair", "accept", "report.empty")
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
			w := newWorld(t, func(c *adsim.Config) { c.RowsPerDay = 55 })
			w.env["PAGE_SIZE"] = size
			w.answers(&theReport{rows: func(n int, q url.Values, all reportRows) reportRows {
				if !isDay(q) || q.Get("creative_id") != "" {
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

// TestFalse_RowsBesideAnErrorAreNotAll: a 200 states an error beside half of a day's rows, and a number of rows that
// is theirs; the service gives no sum of its own. Each form has a day of its own. A reply that states that nothing
// failed is accepted.
func TestFalse_RowsBesideAnErrorAreNotAll(t *testing.T) {
	errs := []string{`"error":"shard 3 of 5 failed"`, `"errors":[{"message":"shard 3 of 5 failed"}]`,
		`"incomplete_results":true`, `"truncated":true`, `"partial":true`, `"has_more":true`}
	none := []string{`"error":null`, `"errors":[]`, `"success":true`, `"error":""`, `"error":false`,
		`"truncated":false`, `"has_more":false`}
	said := regexp.MustCompile(`the reply says "|the reply states (in|tr|pa)|states that more follows`)
	w := newWorld(t, small)
	w.env["RETRY_BUDGET"] = "50ms"
	forms := slices.Concat(errs, none)
	dayOf := func(i int) schema.Date { return w.today() - 5 - schema.Date(i) }
	formOf := func(q url.Values) int {
		for i := range forms {
			if isOf(dayOf(i), q) {
				return i
			}
		}
		return -1
	}
	w.answers(&theReport{
		refuse: noSums,
		rows: func(_ int, q url.Values, all reportRows) reportRows {
			if i := formOf(q); i >= 0 && i < len(errs) {
				return all[:len(all)/2]
			}
			return all
		},
		beside: func(q url.Values) string {
			if i := formOf(q); i >= 0 {
				return forms[i]
			}
			return ""
		},
	})
	if code, _, last := w.run("sync"); code != exit.Partial {
		t.Errorf("exit %d: %s", code, last)
	}
	for i, form := range forms {
		step := w.ask(fmt.Sprintf("SELECT outcome, message FROM ops.step WHERE unit = '%s'", dayOf(i)))
		isError := i < len(errs)
		if isError != said.MatchString(step) || isError == strings.HasPrefix(step, "stored") {
			t.Errorf("%s: %s", form, step)
		}
	}
	w.mends()
	if got := w.ask("SELECT count(*) FROM spend_change"); got != "0" {
		t.Errorf("%s false restatements", got)
	}
}

// TestFalse_TheAccountsOwnAverageContradictsEmptyDays: a service without sums has rows of today, and none of the days
// before it, or of those of a week, while the account's average daily spend says otherwise.
func TestFalse_TheAccountsOwnAverageContradictsEmptyDays(t *testing.T) {
	for _, from := range []int{32, 8}[:schematest.Times(1, 2, 2)] {
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

// TestFalse_RowsBehindTheStatedOnes: the stated number of rows leaves some out, and those before them fill a page.
// The service gives no sum of its own, and the page behind is there, fails once, or fails in every read, each on a day
// of its own.
func TestFalse_RowsBehindTheStatedOnes(t *testing.T) {
	w := newWorldInLine(t)
	w.env["PAGE_SIZE"] = "5"
	times := []int64{0, 1, 1000} // that the page behind fails
	asked := make([]atomic.Int64, len(times))
	dayOf := func(i int) schema.Date { return w.today() - 5 - schema.Date(i) }
	w.answers(&theReport{
		refuse: func(n int, q url.Values) (int, http.Header, string) {
			for i := range times {
				if isOf(dayOf(i), q) && q.Get("page") == "2" && asked[i].Add(1) <= times[i] {
					return http.StatusInternalServerError, nil, `{"error":"Internal server error"}`
				}
			}
			return noSums(n, q)
		},
		rows: func(_ int, _ url.Values, all reportRows) reportRows { return all },
		total: func(q url.Values, rows int) int {
			for i := range times {
				if isOf(dayOf(i), q) {
					return 5
				}
			}
			return rows
		},
	})
	if code, _, last := w.run("sync"); code == exit.OK {
		t.Errorf("exit %d: %s", code, last)
	}
	for i := range times {
		got := w.ask(fmt.Sprintf("SELECT count(*) FROM spend_daily WHERE report_date = DATE '%s'", dayOf(i)))
		if asked[i].Load() == 0 || got == "5" {
			t.Errorf("failing %d times: %d requests for the page behind the last; the day is stored with %s rows",
				times[i], asked[i].Load(), got)
		}
	}
	w.mends()
}
