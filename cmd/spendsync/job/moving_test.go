package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// reportReply is a reply of the report that a test edits.
type reportReply struct {
	Columns    []string                     `json:"columns"`
	Data       []map[string]json.RawMessage `json:"data"`
	Pagination map[string]int64             `json:"pagination,omitempty"`
}

// editedReport is the simulated service with replies of the report's days that a test edits. n is how often the
// question was asked before.
type editedReport struct {
	http.RoundTripper
	edit func(day schema.Date, q url.Values, reply *reportReply, n int) (status int)

	mu    sync.Mutex
	asked map[string]int
}

func (e *editedReport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := e.RoundTripper.RoundTrip(req)
	q := req.URL.Query()
	if err != nil || q.Get("start_date") == "" || q.Get("start_date") != q.Get("end_date") {
		return resp, err
	}
	if !strings.Contains(q.Get("columns"), "source_id") { // the service's own sum
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var reply reportReply
	if err := json.Unmarshal(body, &reply); err != nil {
		return nil, err
	}
	day, err := schema.ParseDate(q.Get("start_date"))
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.asked == nil {
		e.asked = map[string]int{}
	}
	question := q.Encode()
	resp.StatusCode = max(e.edit(day, q, &reply, e.asked[question]), resp.StatusCode)
	e.asked[question]++
	if resp.StatusCode == http.StatusOK {
		body, err = json.Marshal(reply)
	} else {
		body = []byte(`{"error":"page out of range"}`)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, err
}

// setRow sets a number of a row.
func setRow(row map[string]json.RawMessage, column string, value int) {
	row[column] = json.RawMessage(strconv.Itoa(value))
}

// TestOpenDay_ThatMovesIsStored: an open day moves while it is paged, and no total and no sum of the service's
// say how far a read came. What its best read has is stored, marked as open, and the run ends with 0.
func TestOpenDay_ThatMovesIsStored(t *testing.T) {
	schematest.Long(t)
	var mu sync.Mutex // the cases run beside each other
	growing := 0
	grow := func(reply *reportReply) {
		growing++
		setRow(reply.Data[0], "impressions", 1_000_000+growing)
	}
	// arrive puts a new row before the others, so that those of a page border come twice.
	arrive := func(reply *reportReply, q url.Values) {
		grow(reply)
		if q.Get("page") != "1" {
			return
		}
		row := map[string]json.RawMessage{}
		for key, value := range reply.Data[0] {
			row[key] = value
		}
		row["source_id"] = json.RawMessage(fmt.Sprintf(`"S9%05d"`, growing))
		reply.Data = append([]map[string]json.RawMessage{row}, reply.Data[:len(reply.Data)-1]...)
	}
	for name, c := range map[string]struct {
		page int
		edit func(q url.Values, reply *reportReply)
	}{
		"no pagination": {1000, func(_ url.Values, reply *reportReply) { grow(reply); reply.Pagination = nil }},
		"no pagination, full page": {25, func(_ url.Values, reply *reportReply) {
			grow(reply)
			reply.Pagination = nil
		}},
		"no pagination, rows arrive": {20, func(q url.Values, reply *reportReply) {
			arrive(reply, q)
			reply.Pagination = nil
		}},
		"a total of the page": {20, func(_ url.Values, reply *reportReply) {
			grow(reply)
			reply.Pagination["total_rows"] = int64(len(reply.Data))
		}},
		"a total below": {20, func(_ url.Values, reply *reportReply) {
			grow(reply)
			reply.Pagination["total_rows"] -= 4
		}},
		"a total that moves": {20, func(q url.Values, reply *reportReply) {
			grow(reply)
			reply.Pagination["total_rows"] += int64(growing)
		}},
		"rows arrive": {20, func(q url.Values, reply *reportReply) { arrive(reply, q) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.job.Plan.PageSize = c.page
			w.transport = &editedReport{RoundTripper: w.service.Transport(), edit: func(day schema.Date, q url.Values,
				reply *reportReply, _ int) int {
				mu.Lock()
				defer mu.Unlock()
				if day == w.today() && len(reply.Data) > 0 {
					c.edit(q, reply)
				}
				return 0
			}}
			for range 2 {
				res := w.sync(exit.OK)
				last := res.Coverage[len(res.Coverage)-1]
				if last.ReportDate != w.today() || last.State != schema.StateOpen || last.Rows == 0 {
					t.Errorf("today: %+v", last)
				}
			}
			w.wantVerified()
		})
	}
}

// noSums refuses questions for the service's own sums.
type noSums struct{ http.RoundTripper }

func (s noSums) RoundTrip(req *http.Request) (*http.Response, error) {
	if strings.HasSuffix(req.URL.Path, "spend-report") && req.URL.Query().Get("include_creatives") == "" {
		return answered(req, http.StatusBadRequest, []byte(`{"error":"not grouped"}`)), nil
	}
	return s.RoundTripper.RoundTrip(req)
}

// TestFinishedDay_ThatKeepsChanging: without a total and a sum, only a second read that is alike proves a finished day.
// One that changes while it is read is read three times: if the third is as the one before, it is stored, and else the
// run says so and stores nothing of it.
func TestFinishedDay_ThatKeepsChanging(t *testing.T) {
	for name, c := range map[string]struct {
		changes, attempts int
		stored            bool
	}{
		"the second is alike": {0, 2, true},
		"the third":           {1, 3, true},
		"none":                {9, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			day := w.today() - 4
			w.transport = &editedReport{RoundTripper: noSums{w.service.Transport()}, edit: func(asked schema.Date,
				_ url.Values, reply *reportReply, n int) int {
				reply.Pagination = nil
				if asked == day && len(reply.Data) > 0 {
					setRow(reply.Data[0], "impressions", 1_000_000+min(n, c.changes))
				}
				return 0
			}}
			code := exit.Partial
			if c.stored {
				code = exit.OK
			}
			w.sync(code)
			got := w.ask("SELECT max(attempts) || ' ' || count(*) FILTER (outcome = 'stored') FROM ops.step "+
				"WHERE unit = '%s'", day)
			want := fmt.Sprintf("%d %d", c.attempts, map[bool]int{true: 1}[c.stored])
			rows := w.ask("SELECT count(*) > 0 FROM spend_daily WHERE report_date = '%s'", day)
			if got != want || rows != strconv.FormatBool(c.stored) {
				t.Errorf("attempts and stored: %s, want %s; it has rows: %s", got, want, rows)
			}
		})
	}
}

// TestFinishedDay_OfAWrongTotal: a stated number of rows below those that came, which the stored day did not have, is
// asked for again. One that was wrong once is forgotten, one that comes twice is reported, and the rows stand.
func TestFinishedDay_OfAWrongTotal(t *testing.T) {
	for name, c := range map[string]struct {
		wrong int
		code  int
	}{"once": {1, exit.OK}, "always": {99, exit.Partial}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.sync(exit.OK)
			day := w.today() - 4
			w.rereadAll()
			w.transport = &editedReport{RoundTripper: noSums{w.service.Transport()}, edit: func(asked schema.Date,
				_ url.Values, reply *reportReply, n int) int {
				if asked == day && n < c.wrong {
					reply.Pagination["total_rows"] -= 3
				}
				return 0
			}}
			res := w.sync(c.code)
			for _, d := range res.Coverage {
				isWrong := d.ReportDate == day && c.code != exit.OK
				if differs := d.RowsTotalState.V == schema.RowsDiffer; differs != isWrong {
					t.Errorf("%s: %s", d.ReportDate, d.RowsTotalState.V)
				}
			}
			w.wantVerified()
		})
	}
}

// TestFinishedDay_OfATotalThatLeavesRowsOut: a service that counts rows with spend only, and gives no sum of its own,
// takes a row of a stored day back. Two reads without it are the day.
func TestFinishedDay_OfATotalThatLeavesRowsOut(t *testing.T) {
	w := newWorld(t)
	day, takesBack := w.today()-4, false
	w.transport = &editedReport{RoundTripper: noSums{w.service.Transport()}, edit: func(asked schema.Date,
		_ url.Values, reply *reportReply, _ int) int {
		if takesBack && asked == day {
			reply.Data = reply.Data[1:]
		}
		reply.Pagination["total_rows"] = 0
		for _, row := range reply.Data {
			if string(row["total_spend"]) != "0" {
				reply.Pagination["total_rows"]++
			}
		}
		return 0
	}}
	w.sync(exit.OK, "33 days of 33 planned proven")
	count := func() (rows int) {
		rows, err := strconv.Atoi(w.ask("SELECT count(*) FROM spend_daily WHERE report_date = '%s'", day))
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	before := count()
	w.rereadAll()
	takesBack = true
	w.sync(exit.OK, "33 days of 33 planned proven")
	if got := count(); got != before-1 {
		t.Errorf("%d rows, want one less than %d", got, before)
	}
	w.wantVerified()
}

// countsNoZeros is a report that counts rows with spend only, and has the others behind them.
type countsNoZeros struct {
	http.RoundTripper

	mu    sync.Mutex
	zeros map[string]int // by day
	lies  bool           // once for each day, the page behind those that the total counts is empty
	lied  map[string]bool
}

func (c *countsNoZeros) RoundTrip(req *http.Request) (*http.Response, error) {
	q := req.URL.Query()
	if q.Get("include_creatives") == "" || q.Get("start_date") != q.Get("end_date") {
		if strings.HasSuffix(req.URL.Path, "spend-report") && q.Get("include_creatives") == "" { // no sum of its own
			return answered(req, http.StatusBadRequest, []byte(`{"error":"not grouped"}`)), nil
		}
		return c.RoundTripper.RoundTrip(req)
	}
	page, _ := strconv.Atoi(q.Get("page"))
	size, _ := strconv.Atoi(q.Get("page_size"))
	q.Set("page", "1")
	q.Set("page_size", "10000")
	all := req.Clone(req.Context())
	all.URL.RawQuery = q.Encode()
	resp, err := c.RoundTripper.RoundTrip(all)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	var reply reportReply
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return nil, err
	}
	isZero := func(row map[string]json.RawMessage) int {
		if string(row["total_spend"]) == "0" {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(reply.Data, func(a, b map[string]json.RawMessage) int { return isZero(a) - isZero(b) })
	total := 0
	for total < len(reply.Data) && isZero(reply.Data[total]) == 0 {
		total++
	}
	// So many rows with spend that they fill their last page, whatever the size.
	total -= total % size
	reply.Data = slices.Concat(reply.Data[:total], slices.DeleteFunc(slices.Clone(reply.Data[total:]),
		func(row map[string]json.RawMessage) bool { return isZero(row) == 0 }))
	c.mu.Lock()
	c.zeros[q.Get("start_date")] = len(reply.Data) - total
	c.mu.Unlock()
	from := min((page-1)*size, len(reply.Data))
	if c.lies && from == total {
		c.mu.Lock()
		if day := q.Get("start_date"); !c.lied[day] {
			c.lied[day], from = true, len(reply.Data)
		}
		c.mu.Unlock()
	}
	reply.Data = reply.Data[from:min(from+size, len(reply.Data))]
	reply.Pagination = map[string]int64{"page": int64(page), "page_size": int64(size), "total_rows": int64(total),
		"total_pages": int64((total + size - 1) / size)}
	body, err := json.Marshal(reply)
	return answered(req, http.StatusOK, body), err
}

func answered(req *http.Request, status int, body []byte) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body))}
}

// TestSpend_RowsThatTheTotalLeavesOutAreAskedFor: a total that leaves out rows without spend ends a day at a full page,
// and the rows behind it are asked for all the same.
func TestSpend_RowsThatTheTotalLeavesOutAreAskedFor(t *testing.T) {
	w := newWorld(t)
	w.rereadAll()
	w.job.Plan.PageSize = 5
	report := &countsNoZeros{RoundTripper: w.service.Transport(), zeros: map[string]int{}, lied: map[string]bool{}}
	w.transport = report
	w.sync(exit.OK, "33 days of 33 planned proven")
	want := 0
	for _, n := range report.zeros {
		want += n
	}
	wantZeros := func() {
		t.Helper()
		if got := w.ask("SELECT count(*) FROM spend_daily WHERE spend = 0"); want == 0 || got != strconv.Itoa(want) {
			t.Errorf("%s rows without spend, want %d", got, want)
		}
	}
	wantZeros()
	report.lies = true // as many rows as the service counts, and then an empty page: the stored day has more
	w.sync(exit.OK, "33 days of 33 planned proven")
	if len(report.lied) == 0 {
		t.Error("no page behind the counted ones was asked for")
	}
	wantZeros()
	w.wantVerified()
}

// movingCreatives repeats a row of the first page of the report's creatives on the second one, some times.
type movingCreatives struct {
	http.RoundTripper
	times int

	mu    sync.Mutex
	first json.RawMessage
	asked int // for the second page
}

func (m *movingCreatives) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := m.RoundTripper.RoundTrip(req)
	q := req.URL.Query()
	if err != nil || !strings.Contains(q.Get("columns"), "creative_title") || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	var reply map[string]json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return nil, err
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(reply["data"], &rows); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch q.Get("page") {
	case "1":
		m.first = rows[0]
	case "2":
		if m.asked++; m.asked <= m.times {
			rows[0] = m.first
		}
	}
	if reply["data"], err = json.Marshal(rows); err != nil {
		return nil, err
	}
	body, err := json.Marshal(reply)
	return answered(req, http.StatusOK, body), err
}

// TestReportCreatives_ThatMoveAreReadAgain: a row that comes twice because the list moved between two pages costs a
// second read, and not the run.
func TestReportCreatives_ThatMoveAreReadAgain(t *testing.T) {
	for times, code := range map[int]int{0: exit.OK, 1: exit.OK, 2: exit.OK, 9: exit.Partial} {
		t.Run(strconv.Itoa(times), func(t *testing.T) {
			w := newWorld(t)
			w.job.Plan.PageSize = 5
			m := &movingCreatives{RoundTripper: w.service.Transport(), times: times}
			w.transport = m
			w.sync(code)
			if want := min(times+1, maxReads); m.asked != want {
				t.Errorf("read %d times, want %d", m.asked, want)
			}
		})
	}
}
