package job

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
)

// scriptedReport is a report whose every answer about one day the test states. A read is pages of rows, such as
// "a1 b2 c3 / d4": four sources with a spend of 1 to 4 and a click each. A row with ! cannot be stored, one with ? has
// clicks that cannot be read, one with ~ more decimals than are stored, one with < is of another day, one with ' has
// another name of the campaign, one with * a source of another form, and one with _ none. =5 is the stated total of a
// page, -clicks a column that its rows lack, and +other an undescribed one. A page may be a refusal, such as "503
// out of order".
type scriptedReport struct {
	day   schema.Date
	reads []string // the last one for ever
	sums  []string // the service's own sums of the day, in the same way: spend and clicks
	date  time.Time

	mu     sync.Mutex
	began  int // reads
	sum    int // sums that were asked for
	served map[string]string
}

func (f *scriptedReport) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	status, body := 200, ""
	if q := r.URL.Query(); strings.Contains(q.Get("columns"), "source_id") {
		n, _ := strconv.Atoi(q.Get("page"))
		if n == 1 {
			f.began++
		}
		pages := strings.Split(f.reads[min(f.began, len(f.reads))-1], " / ")
		page := ""
		if n <= len(pages) {
			page = pages[n-1]
		}
		if status, body = f.page(n, page); f.served == nil {
			f.served = map[string]string{}
		}
		f.served[body] = page
	} else {
		f.sum++
		status, body = f.total(f.sums[min(f.sum, len(f.sums))-1])
	}
	header := http.Header{}
	if !f.date.IsZero() {
		header.Set("Date", f.date.UTC().Format(http.TimeFormat))
	}
	return &http.Response{StatusCode: status, Header: header, ContentLength: -1, Request: r,
		Body: io.NopCloser(strings.NewReader(body))}, nil
}

// page is one page of a read.
func (f *scriptedReport) page(n int, script string) (status int, body string) {
	if status, why, _ := strings.Cut(script, " "); len(status) == 3 && status >= "400" && status < "600" {
		code, _ := strconv.Atoi(status)
		return code, fmt.Sprintf(`{"error":%q}`, why)
	}
	columns := []string{"date", "campaign_id", "campaign_name", "creative_id", "source_id", "total_spend", "clicks",
		"impressions", "conversions"}
	values := map[string]string{"campaign_name": `"N"`, "impressions": "10", "conversions": "0"}
	var rows []string
	pagination := ""
	words := strings.Fields(script)
	for _, word := range words { // of the whole page
		switch word[0] {
		case '-':
			columns = slices.DeleteFunc(columns, func(c string) bool { return c == word[1:] })
		case '+':
			columns = append(columns, word[1:])
			values[word[1:]] = "1"
		case '=':
			total, _ := strconv.Atoi(word[1:])
			pagination = fmt.Sprintf(`,"pagination":{"page":%d,"page_size":3,"total_rows":%d,"total_pages":%d}`, n,
				total, (total+2)/3)
		}
	}
	for _, word := range words {
		if strings.ContainsAny(word[:1], "-+=") {
			continue
		}
		spend := strings.TrimRight(word[1:], "!?~<'*_")
		row := map[string]string{"date": `"` + f.day.String() + `"`, "campaign_id": `"C1000001"`,
			"creative_id": `"C1000001-001"`, "source_id": fmt.Sprintf(`"S%06d"`, word[0]-'a'), "total_spend": spend,
			"clicks": "1"}
		for _, mark := range word[1+len(spend):] {
			switch mark {
			case '!':
				row["total_spend"] = "null"
			case '?':
				row["clicks"] = `"many"`
			case '~':
				row["total_spend"] = spend + ".0000004"
			case '<':
				row["date"] = `"` + (f.day - 1).String() + `"`
			case '\'':
				row["campaign_name"] = `"M"`
			case '*':
				row["source_id"] = `"x;1"`
			case '_':
				row["source_id"] = "null"
			}
		}
		var fields []string
		for _, column := range columns {
			fields = append(fields, fmt.Sprintf("%q:%s", column, cmp.Or(row[column], values[column])))
		}
		rows = append(rows, "{"+strings.Join(fields, ",")+"}")
	}
	return 200, fmt.Sprintf(`{"columns":["%s"],"data":[%s]%s}`, strings.Join(columns, `","`), strings.Join(rows, ","),
		pagination)
}

// total is the service's own sum of the day.
func (f *scriptedReport) total(script string) (status int, body string) {
	if status, body = f.page(1, script); status != 200 {
		return status, body
	}
	spend, clicks, _ := strings.Cut(script, " ")
	return 200, fmt.Sprintf(`{"columns":["date","total_spend","clicks"],"data":[{"date":%q,"total_spend":%s,`+
		`"clicks":%s}],"pagination":{"page":1,"page_size":1000,"total_rows":1,"total_pages":1}}`, f.day, spend, clicks)
}

// dayTest is a reader of one scripted day, in a store that has nothing of the report.
type dayTest struct {
	*dayReader
	report *scriptedReport
	day    schema.Date
	log    bytes.Buffer
	bar    rowsBar
}

type rowsBar struct {
	noBar
	rows int
}

func (b *rowsBar) Rows(n int) { b.rows += n }

// emptyStore is a published store of an account without a day.
func emptyStore(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	firsts.Copy(t, "no day", dir, func() {
		j := Job{Account: "acme", DataDir: dir, RunID: "run0", Log: newTestLog(t), Now: atWorldNow}
		s, err := j.begin(t.Context(), "sync")
		if err != nil {
			t.Fatal(err)
		}
		defer s.end()
		(&dayTest{dayReader: &dayReader{s: s}}).commit(t)
	})
	return dir
}

// newDayTest begins a run on a store; end ends it.
func newDayTest(t *testing.T, dir string, report *scriptedReport, edit ...func(*Job)) (d *dayTest, end func()) {
	t.Helper()
	d = &dayTest{report: report, day: report.day}
	client, err := extract.NewClient(extract.Options{BaseURL: "https://report.test",
		Authorize: func(*http.Request) {}, RetryBudget: 1, Transport: report})
	if err != nil {
		t.Fatal(err)
	}
	j := Job{Account: "acme", DataDir: dir, RunID: "run1", Report: client,
		Log: logTo(&d.log), Now: atWorldNow, Store: load.Options{KeepRaw: true},
		Plan: PlanOptions{PageSize: 3}}
	for _, e := range edit {
		e(&j)
	}
	s, err := j.begin(t.Context(), "sync")
	if err != nil {
		t.Fatal(err)
	}
	s.plan.Today, s.plan.Read = schema.DateOf(worldNow), []plannedDay{{Day: d.day}}
	d.dayReader = &dayReader{s: s, totals: &controlTotals{s: s}, bar: &d.bar,
		inFlight: semaphore.NewWeighted(maxRowsInFlight)}
	return d, func() { s.end(); client.Close() }
}

// know stores what the day was: what this read has of it, and nothing contradicts. The texts of that run stay out of
// the log.
func (d *dayTest) know(t *testing.T, script string, edit func(*manifest.Day)) {
	t.Helper()
	now := d.report.reads
	defer func() { d.report.reads, d.report.began = now, 0; d.log.Reset(); d.bar.rows = 0 }()
	d.report.reads = []string{script}
	work := &lease{inFlight: d.inFlight, replies: d.s.store.Replies(d.s.area, d.day)}
	defer work.release()
	read, err := d.readDay(t.Context(), d.served(), d.day, work, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	read.day, err = history.NewDay(read.rows)
	if err != nil {
		t.Fatal(err)
	}
	read.sums = read.day.Sums()
	read.countRows()
	known := &manifest.Day{LastReadAt: schema.InstantOf(d.day.End()), Sums: read.day.Sums(),
		ContentHash: read.day.Hash(), Facts: read.Facts}
	known.Control, known.Without = schema.ControlNone, idsIn(read.lacks)
	if edit != nil {
		edit(known)
	}
	d.s.store.Account().Days = map[schema.Date]*manifest.Day{d.day: known}
	if err := work.replies.Drop(); err != nil {
		t.Fatal(err)
	}
}

func (d *dayTest) served() servedPages { return servedPages{d.s, d.totals} }

// proven reads the day and returns one line: the stored rows, the number of reads, the totals that the service
// states, and the kept replies.
func (d *dayTest) proven(t *testing.T) (line string, read *dayRead, err error) {
	t.Helper()
	var step schema.Step
	work := &lease{inFlight: d.inFlight, replies: d.s.store.Replies(d.s.area, d.day)}
	read, err = d.prove(t.Context(), d.served(), d.day, work, &step)
	line = "no"
	if err == nil {
		line = fmt.Sprintf("%d rows %s", read.sums.Rows, read.sums.Spend)
		if read.Refused+read.Unread > 0 {
			line += fmt.Sprintf(" (%d refused, %d unread)", read.Refused, read.Unread)
		}
		line += fmt.Sprintf(", %s/%s", read.RowsTotalState, read.Control)
		if read.Combined != history.Apart {
			line += " " + string(read.Combined)
		}
	}
	line += fmt.Sprintf(" after %d", step.Attempts)
	if _, err := work.replies.Quarantine(quarantine.Day{ReadAt: schema.InstantOf(worldNow)}, nil); err != nil {
		t.Fatal(err)
	}
	kept, failed := d.s.store.Quarantine().Days()
	if failed != nil {
		t.Fatal(failed)
	}
	var pages []string
	for _, q := range kept {
		for body, err := range d.s.store.Quarantine().Replies(q) {
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, cmp.Or(d.report.served[string(body)], "-"))
		}
	}
	if err := d.s.store.Quarantine().Remove(d.day); err != nil {
		t.Fatal(err)
	}
	return line + ": " + strings.Join(pages, " / "), read, err
}

// TestProveDay reads a day until it is proven, as often as it helps. What proves nothing replaces nothing, and the
// replies that stay are those of the rows.
func TestProveDay(t *testing.T) {
	dir := emptyStore(t)
	for name, c := range map[string]struct {
		open  bool   // the day goes on
		known string // the stored day
		edit  func(*manifest.Day)
		reads string // separated by ;
		sums  string
		want  string
		err   string
	}{
		"end and sum": {reads: "a1 b2", sums: "3 2 ; 503 asked again",
			want: "2 rows 3.00, none/matched after 1: a1 b2 / -"},
		"end and count": {reads: "a1 b2 =2", want: "2 rows 3.00, matched/none after 1: a1 b2 =2"},
		"the end alone, twice": {reads: "a1 b2",
			want: "2 rows 3.00, none/none after 2: a1 b2 / -"},
		"never alike": {reads: "a1 ; a2 ; a3",
			err: "too little says that they are all", want: "no after 3: a3 / -"},
		"the third is the first": {reads: "a1 ; a2 ; a1", want: "1 rows 1.00, none/none after 3: a1 / -"},
		"two reads together": {reads: "a1 b2 =3 ; b2 c3 =3",
			want: "3 rows 6.00, matched/none newest after 2: a1 b2 =3 / - / b2 c3 =3 / -"},
		"the count is above": {reads: "a1 b2 =3", err: "2 rows came, and the stated total is 3",
			want: "no after 3: a1 b2 =3 / -"},
		"the count is above, the sum agrees": {reads: "a1 b2 =3", sums: "3 2",
			want: "2 rows 3.00, differs/matched after 3: a1 b2 =3 / -"},
		"as it is stored": {known: "a1 b2", reads: "a1 b2", want: "2 rows 3.00, none/none after 1: a1 b2 / -"},
		"unread, then fewer pages": {reads: "a1 b2 c3? =4 / d4 =4 ; a1 =1",
			want: "1 rows 1.00, matched/none after 2: a1 =1"},
		"a row twice, and too much together": {reads: "a999999999999 a999999999999", sums: "5 5",
			err:  "row 2 is there twice",
			want: "no after 3: a999999999999 a999999999999 / -"},
		"a row that is refused is not counted": {reads: "a1 b2! =1",
			want: "no after 3: a1 b2! =1", err: "the stated total is 1"},
		"as it is stored in part": {known: "a1 b2", edit: func(k *manifest.Day) { k.Refused = 1 }, reads: "a1 b2",
			want: "2 rows 3.00, none/none after 2: a1 b2 / -"},
		"open and never alike": {open: true, reads: "a1 ; b2 ; c3 ; d4",
			want: "3 rows 6.00, differs/open newest after 3: a1 / - / b2 / - / c3 / -"},
		"the same row twice, and one is refused": {reads: "a1 a1 b2! =2",
			want: "1 rows 1.00 (1 refused, 0 unread), matched/unknown newest after 3: a1 a1 b2! =2 / -"},
		"the sum fails, and a day is stored": {known: "a1", reads: "a1 a2 =2", sums: "503 out of order",
			err: "the control total", want: "no after 1: a1 a2 =2"},
		"more than can be stored": {reads: "a9000000000000 b9000000000000", err: "out of range",
			want: "no after 3: a9000000000000 b9000000000000 / -"},
		"three reads together": {reads: "a1 b2 =4 ; b2 c3 =4 ; d4 a1 =4",
			want: "4 rows 10.00, matched/none newest after 3: a1 b2 =4 / - / b2 c3 =4 / - / d4 a1 =4 / -"},
		"two reads together, refused": {reads: "a1 b2! =3 ; a1 c3 =3",
			want: "no after 3: a1 c3 =3 / -", err: "the stated total is 3"},
		"two reads together of a proven day": {known: "a5 c3", err: "the stated total is 3",
			reads: "a5 b2! =3 ; a5 c3 =3", want: "no after 3: a5 c3 =3 / -"},
		"the count was right": {known: "a1 b2 =2", reads: "a1 b2 =1 ; a1 b2 =2", sums: "3 2",
			want: "2 rows 3.00, differs/matched after 1: a1 b2 =1"},
		"the count was right, and is not": {known: "a1 b2 =2", reads: "a1 b2 =1", sums: "3 2",
			want: "2 rows 3.00, differs/matched after 1: a1 b2 =1"},
		"the count was wrong": {known: "a1 b2 =1", reads: "a1 b2 =1", sums: "3 2",
			want: "2 rows 3.00, differs/matched after 1: a1 b2 =1"},
		"fewer rows": {known: "a1 b2 c3", reads: "a1 b2 =2", want: "2 rows 3.00, matched/none after 2: a1 b2 =2"},
		"fewer rows once": {known: "a1 b2 c3", reads: "a1 b2 =2 ; a1 b2 c3 =3",
			want: "3 rows 6.00, matched/none after 2: a1 b2 c3 =3 / -"},
		"far fewer, twice": {known: "a1 b2 c3 / d4", reads: "a1", sums: "1 1",
			want: "1 rows 1.00, none/matched after 3: a1"},
		"far fewer once": {known: "a1 b2 c3 / d4", reads: "a1 =1 ; a1 b2 c3 =4 / d4 =4",
			want: "4 rows 10.00, matched/none after 2: a1 b2 c3 =4 / d4 =4"},
		"far fewer, each time others": {known: "a1 b2 c3 / d4", reads: "a1 =1 ; b1 =1 ; a1 =1",
			want: "no after 3: a1 =1",
			err:  "1 rows and 1.00 US dollars are less than the 4 rows and 10.00 that are stored"},
		"far fewer, others, twice": {known: "a1 b2 c3 / d4", reads: "a1 =1 ; b1 =1 ; b1 =1",
			want: "no after 3: b1 =1", err: "are less than the 4 rows"},
		"a row without spend is lost": {known: "a1 b0 c0", reads: "a1 b0 =1 ; a1 b0 c0 =1", sums: "1 2 ; 1 3",
			want: "3 rows 1.00, matched/matched after 2: a1 b0 c0 =1 / -"},
		"rows with spend are counted, and most of it is gone": {known: "a1 b9 c0", reads: "a1 c0 =1",
			want: "2 rows 1.00, matched/none after 3: a1 c0 =1"},
		"rows with spend are counted": {reads: "a1 b0 =1",
			want: "2 rows 1.00, matched/none after 2: a1 b0 =1"},

		"emptied":     {known: "a1", reads: "=0", sums: "0 0", want: "0 rows 0.00, matched/matched after 3: =0"},
		"unread once": {reads: "a1 b2? =2 ; a1 b2 =2", want: "2 rows 3.00, matched/none after 2: a1 b2 =2"},
		"unread twice": {reads: "a1 b2? =2",
			want: "2 rows 3.00 (0 refused, 1 unread), matched/none after 3: a1 b2? =2"},
		"unread as it was": {known: "a1 b2?", reads: "a1 b2? =2",
			want: "2 rows 3.00 (0 refused, 1 unread), matched/none after 1: a1 b2? =2"},
		"unread, and not proven": {reads: "a1? ; a1? =1",
			want: "1 rows 1.00 (0 refused, 1 unread), matched/none after 3: a1? =1"},
		"unread in the end": {reads: "a1 ; a2 ; a3? =1",
			want: "no after 3: a3? =1", err: "some values cannot be read"},
		"refused": {reads: "a1 b2! =2", want: "1 rows 1.00 (1 refused, 0 unread), matched/unknown after 3: a1 b2! =2"},
		"refused and not proven": {reads: "a1 b2! =3", err: "; 1 row cannot be stored; the first: ",
			want: "no after 3: a1 b2! =3 / -"},
		"refused once": {reads: "a1 b2! =2 ; a1 b2 =2", want: "2 rows 3.00, matched/none after 2: a1 b2 =2"},
		"refused of a day in part": {known: "a3 b1", edit: func(k *manifest.Day) { k.Refused = 1 }, reads: "a3 b1! =2",
			want: "1 rows 3.00 (1 refused, 0 unread), matched/unknown after 1: a3 b1! =2"},
		"all are refused": {reads: "a1! =1", want: "no after 3: a1! =1", err: "total_spend"},
		"refused of a proven day": {known: "a3 b1", reads: "a3 b1! =2", want: "no after 3: a3 b1! =2",
			err: "the day that is proven stands"},
		"refused of an open day": {known: "a3 b1", edit: func(k *manifest.Day) { k.LastReadAt-- }, reads: "a3 b1! =2",
			want: "1 rows 3.00 (1 refused, 0 unread), matched/unknown after 3: a3 b1! =2"},
		"another day's row": {reads: "a1 b2 c3 / d4 e5 f6 / g7< ; a1 =1",
			want: "1 rows 1.00, matched/none after 2: a1 =1"},
		"another day's row after a read": {reads: "a1 ; b2 c3 d4 / e5< ; a1",
			want: "1 rows 1.00, none/none after 3: a1"},
		"another day's rows": {reads: "a1<", want: "no after 3: ", err: "not the day asked for"},
		"it fails on the way": {reads: "a1 b2 c3 / 503 out of order", want: "no after 1: a1 b2 c3",
			err: "out of order"},
		"a row twice, newest": {reads: "a1 a2 =2", sums: "2 1",
			want: "no after 3: a1 a2 =2", err: "sum is 2.00 and 1; page 1: row 2 is there twice"},
		"a row twice, added": {reads: "a1 a2 =2", sums: "3 2",
			want: "1 rows 3.00, matched/matched added after 1: a1 a2 =2"},
		"a row twice, and no sum": {reads: "a1 a2", err: "row 2 is there twice",
			want: "no after 3: a1 a2 / -"},
		"the same row twice": {reads: "a1 a1 =1", want: "1 rows 1.00, matched/none newest after 1: a1 a1 =1"},
		"two names of a row": {reads: "a1 a2' =2", want: "1 rows 3.00, matched/none named after 2: a1 a2' =2"},
		"rows without sources": {reads: "a1 a2 =2 -source_id", sums: "3 2",
			want: "1 rows 3.00, matched/matched added after 1: a1 a2 =2 -source_id"},
		"rows without sources, and no sum": {reads: "a1 a2 -source_id", err: "a row is there twice",
			want: "no after 3: a1 a2 -source_id / -"},
		"it moves, and the last is of two": {open: true, reads: "a1 =2 ; a2 b1 =3 ; b1 =4",
			want: "2 rows 3.00, differs/open newest after 3: a2 b1 =3 / - / b1 =4 / -"},
		"it moves, then breaks off": {open: true, reads: "a1 =2 ; a2 b1 =3 ; b1<",
			want: "2 rows 3.00, differs/open after 3: a2 b1 =3 / -"},
		"it moves, and is renamed": {open: true, reads: "a1 b1 =3 ; a2 =3 ; a3 a4' =4",
			want: "1 rows 7.00, differs/open named after 3: a3 a4' =4 / -"},
		"it moves, far below": {open: true, known: "a1 b2 c3 / d4", reads: "a1 =2 ; a2 =3 ; a3 =4",
			err: "the stated total is 4", want: "no after 3: a3 =4 / -"},
		"it moves, without sources": {open: true, reads: "a1 =2 -source_id ; a2 =3 -source_id ; a3 =4 -source_id",
			err: "the stated total is 4", want: "no after 3: a3 =4 -source_id / -"},
	} {
		day := schema.DateOf(worldNow)
		if !c.open {
			day -= 5
		}
		if c.sums == "" {
			c.sums = "400 no such column"
		}
		d, end := newDayTest(t, dir, &scriptedReport{day: day, reads: strings.Split(c.reads, " ; "),
			sums: strings.Split(c.sums, " ; ")})
		if c.known != "" {
			d.know(t, c.known, c.edit)
		}
		got, _, err := d.proven(t)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		end()
	}
}

// commit publishes what is staged.
func (d *dayTest) commit(t *testing.T) {
	t.Helper()
	parts := []load.Part{{Change: manifest.Change{Since: d.day}}}
	_, err := d.s.store.Publish(t.Context(), load.Publication{Area: d.s.area, Parts: parts,
		Record: func(is load.Preview) load.RunRecord {
			return load.RunRecord{Run: schema.Run{AccountID: "acme", RunID: d.s.RunID, Published: true,
				StartedAt: schema.InstantOf(worldNow), Generation: is.Generation}}
		}})
	if err != nil {
		t.Fatal(err)
	}
}
