package job

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
	"spendsync/transform"
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
	d.dayReader = &dayReader{s: s, totals: &controlTotals{run: s}, bar: &d.bar,
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
	work := &lease{inFlight: d.inFlight}
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
	if err := d.s.staged.Drop(d.day); err != nil {
		t.Fatal(err)
	}
}

func (d *dayTest) served() servedPages { return servedPages{d.s, d.totals} }

// proven reads the day and returns one line: the stored rows, the number of reads, the totals that the service
// states, and the kept replies.
func (d *dayTest) proven(t *testing.T) (line string, read *dayRead, err error) {
	t.Helper()
	var step schema.Step
	work := &lease{inFlight: d.inFlight}
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
	if _, err := d.s.staged.Withhold(quarantine.Day{Date: d.day, ReadAt: schema.InstantOf(worldNow)}); err != nil {
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
		"two names of a row": {reads: "a1 a2' =2", want: "1 rows 3.00, matched/none added after 2: a1 a2' =2"},
		"rows without sources": {reads: "a1 a2 =2 -source_id", sums: "3 2",
			want: "1 rows 3.00, matched/matched added after 1: a1 a2 =2 -source_id"},
		"rows without sources, and no sum": {reads: "a1 a2 -source_id", err: "a row is there twice",
			want: "no after 3: a1 a2 -source_id / -"},
		"it moves, and the last is of two": {open: true, reads: "a1 =2 ; a2 b1 =3 ; b1 =4",
			want: "2 rows 3.00, differs/open newest after 3: a2 b1 =3 / - / b1 =4 / -"},
		"it moves, then breaks off": {open: true, reads: "a1 =2 ; a2 b1 =3 ; b1<",
			want: "2 rows 3.00, differs/open after 3: a2 b1 =3 / -"},
		"it moves, and is renamed": {open: true, reads: "a1 b1 =3 ; a2 =3 ; a3 a4' =4",
			want: "1 rows 7.00, differs/open added after 3: a3 a4' =4 / -"},
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

// TestReadDay_NotesWhatCame: a read counts what it stores and what it cannot, page by page.
func TestReadDay_NotesWhatCame(t *testing.T) {
	day := schema.DateOf(worldNow) - 5
	report := &scriptedReport{day: day, reads: []string{
		"a1? b2! c3~ +other / d4! e5* f6~ -impressions -campaign_name -date / g7? -impressions"}}
	d, end := newDayTest(t, emptyStore(t), report)
	defer end()
	work := &lease{inFlight: d.inFlight}
	read, err := d.readDay(t.Context(), d.served(), day, work, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	bytes := 0
	for body := range report.served {
		bytes += len(body)
	}
	var aside []string
	for _, row := range read.aside {
		aside = append(aside, fmt.Sprintf("%d/%d %s %s", row.Page, row.RowNumber, row.Field, row.Reason))
		if row.RunID != "run1" || row.SeenAt != read.at || row.ReportDate != day ||
			!strings.Contains(row.Raw, `"S0000`) {
			t.Errorf("%+v", row)
		}
	}
	got := fmt.Sprint(read.rows.Len(), read.Refused, read.Unread, read.Rounded, read.pages, read.lacks,
		read.UnreadForms,
		read.noClick, read.unknown, work.oddIDs, read.AskedBeyond, d.bar.rows, read.bytes == int64(bytes),
		read.at.Time().Equal(worldNow))
	want := "5 2 2 2 3 [impressions] [clicks.string] true [{data[].other number}] " +
		"[{source_id other characters \"x;1\"}] {false true} 5 true true"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := strings.Join(aside, ", "); got != "1/2 total_spend missing, 1/1 clicks not a number, "+
		"2/1 total_spend missing, 3/1 clicks not a number" {
		t.Errorf("aside: %s", got)
	}
	if read.first == nil || !strings.Contains(read.first.Error(), "page 1 row 2") {
		t.Errorf("first: %v", read.first)
	}

	// Clicks are unknown if those of a row or of a page are, and known otherwise.
	for script, unknown := range map[string]bool{"a1 b2 c3 / d4": false, "a1? b2 c3 / d4": true, "a1 b2 c3 / d4?": true,
		"a1 b2 c3 / d4 -clicks": true, "a1 b2 c3 -clicks / d4": true} {
		report.reads, report.began = []string{script}, 0
		read, err := d.readDay(t.Context(), d.served(), day, work, 0, 2)
		if err != nil || read.noClick != unknown || read.clicks().Valid == unknown && read.rows.Len() == 0 {
			t.Errorf("%s: %v, %v", script, read.noClick, err)
		}
		read.sums.Clicks = schema.Some[int64](4)
		if got := read.clicks(); got.Valid == unknown {
			t.Errorf("%s: %v clicks", script, got)
		}
	}

	// A second read has rows of its own, for the first may prove the day with it, and its replies come after the
	// first's.
	report.reads, report.began = []string{"a1 b2", "c3"}, 0
	first, err := d.readDay(t.Context(), d.served(), day, work, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.readDay(t.Context(), d.served(), day, work, first.pages, 2)
	if err != nil || first.rows.Len() != 2 || second.rows.Len() != 1 {
		t.Fatalf("%d and %d rows, %v", first.rows.Len(), second.rows.Len(), err)
	}
	if again, err := d.readDay(t.Context(), d.served(), day, work, 0, 2); err != nil || again.rows.Len() != 1 ||
		again.rows != first.rows {
		t.Errorf("a third read has %d rows, %v", again.rows.Len(), err)
	}

	// Of each day no more than so many rows are kept aside.
	rows := make([]transform.RefusedRow, 3)
	for i := range rows {
		rows[i].Err, rows[i].JSON = errors.New("x"), strings.Repeat("x", longestRaw+1)
	}
	many := &dayRead{aside: make([]schema.RefusedRow, mostAside-2)}
	many.putAside(rows, transform.SpendContext{})
	many.putAside(rows, transform.SpendContext{})
	if len(many.aside) != mostAside || len(many.aside[mostAside-1].Raw) != longestRaw {
		t.Errorf("%d rows", len(many.aside))
	}
}

// TestReadDay_KnownReplies: replies that are the stored ones are known as such, unless more is to be learnt of them.
func TestReadDay_KnownReplies(t *testing.T) {
	d, end := newDayTest(t, emptyStore(t), &scriptedReport{day: schema.DateOf(worldNow) - 5})
	defer end()
	good := manifest.Day{Sums: history.Sums{Rows: 7, Spend: 9}, ContentHash: "h", Facts: manifest.Facts{
		RowsTotal: schema.Some[int64](8), RowsTotalState: schema.RowsDiffer, Meaning: manifest.Meaning{
			AskedBeyond: schema.Some(false), Rounded: 3, Combined: history.Added, Without: []string{"source_id"}}}}
	for name, c := range map[string]struct {
		attempt int64
		edit    func(*manifest.Day)
		all     bool
		want    bool
	}{
		"as it is":                  {1, func(*manifest.Day) {}, false, true},
		"a second read":             {2, func(*manifest.Day) {}, false, false},
		"what was refused is tried": {1, func(*manifest.Day) {}, true, false},
		"rows were refused":         {1, func(k *manifest.Day) { k.Refused = 1 }, false, false},
		"unread, by an old version": {1, func(k *manifest.Day) { k.Unread = 1 }, false, false},
		"unread": {1, func(k *manifest.Day) { k.Unread, k.UnreadForms = 1, []string{"clicks.string"} }, false,
			true},
		"the end was not shown": {1, func(k *manifest.Day) { k.AskedBeyond.V = true }, false, false},
		"by an old version":     {1, func(k *manifest.Day) { k.AskedBeyond.Valid = false }, false, false},
	} {
		k := good
		c.edit(&k)
		d.s.triesAll = c.all
		d.s.store.Account().Days = map[schema.Date]*manifest.Day{d.day: &k}
		if got := d.served().known(d.day, c.attempt); (got != nil) != c.want {
			t.Errorf("%s: %v", name, got)
		}
		d.bar.rows = 0
		read := d.readSame(&dayRead{}, d.day, 4)
		if read.sums != k.Sums || read.hash != "h" || read.Rounded != 3 || read.pages != 4 ||
			read.RowsTotal != k.RowsTotal || read.RowsTotalState != k.RowsTotalState || read.Combined != k.Combined ||
			len(read.lacks) != 1 ||
			read.AskedBeyond != k.AskedBeyond || read.Unread != k.Unread ||
			len(read.UnreadForms) != len(k.UnreadForms) ||
			read.noClick != (k.Unread > 0) || d.bar.rows != 7 {
			t.Errorf("%s: %+v", name, read)
		}
	}
	if d.served().known(d.day+1, 1) != nil {
		t.Error("replies of a day that is not stored are known")
	}
}

// TestWeigh_ByTheServicesClock: a read is as old as the service's clock says, and one that began in the first moments
// of a day counts to the day before. A clock that is wrong by an hour decides nothing.
func TestWeigh_ByTheServicesClock(t *testing.T) {
	dir := emptyStore(t)
	for off, want := range map[time.Duration]string{0: "2026-03-13T17:00:00Z", -2 * time.Hour: "error",
		-10 * time.Minute: "2026-03-13T16:50:00Z"} {
		report := &scriptedReport{day: schema.DateOf(worldNow) - 5, reads: []string{"a1 =1"}, sums: []string{"1 1"},
			date: worldNow.Add(off)}
		d, end := newDayTest(t, dir, report)
		_, read, err := d.proven(t)
		got := "error"
		if err == nil {
			got = read.at.Time().UTC().Truncate(time.Second).Format(time.RFC3339)
		} else if !errors.Is(err, exit.ErrUsage) {
			t.Errorf("%v: %v", off, err)
		}
		if got != want {
			t.Errorf("%v: read at %s, %v", off, got, err)
		}
		end()
	}
}

// TestCopyDay: a day that is proven is staged with all that its read says of it; one that is not leaves its replies.
func TestCopyDay(t *testing.T) {
	dir := emptyStore(t)
	for name, c := range map[string]struct {
		known string
		edit  func(*manifest.Day)
		age   schema.Date
		reads string
		sums  string
		want  string // outcome, rows, pages, rounded, whether its replies are kept, campaigns and spenders
		says  string // its message
	}{
		"proven":        {reads: "a1~ b2", sums: "3 2", want: "stored 2 2 1 false [C1000001] [C1000001 C1000001-001]"},
		"without spend": {reads: "a0 b0", sums: "0 2", want: "stored 2 2 0 false [C1000001] []"},
		"as it was":     {known: "a1 b2", reads: "a1 b2", sums: "3 2", want: "unchanged 2 2 0 false [] []"},
		"in part": {reads: "a1 b2! =2", want: "stored 1 1 0 false [C1000001] [C1000001 C1000001-001]",
			says: "see ops.refused_row"},
		"not proven":            {reads: "a1 =3", want: "failed 0 0 0 true [] []", says: "the stated total is 3"},
		"it fails":              {reads: "503 out of order", want: "failed 0 0 0 false [] []", says: "out of order"},
		"too old":               {age: schema.ReachDays, reads: tooFar, want: "unreachable 0 0 0 false [] []"},
		"at the shortest reach": {age: shortestReach, reads: tooFar, want: "unreachable 0 0 0 false [] []"},
		"too young for that": {age: shortestReach - 1, reads: tooFar, want: "failed 0 0 0 false [] []",
			says: "32 days"},
		"it loses its sources": {known: "a1 b2", reads: "a1 b2 -source_id", sums: "3 2",
			want: "failed 0 0 0 true [] []", says: "which has it, stands"},
		"it had no sources": {known: "a1 -source_id", reads: "a1 -source_id", sums: "1 1",
			want: "unchanged 1 2 0 false [] []"},
	} {
		day := schema.DateOf(worldNow) - max(c.age, 5)
		if c.sums == "" {
			c.sums = "400 no such column"
		}
		d, end := newDayTest(t, dir, &scriptedReport{day: day, reads: []string{c.reads}, sums: []string{c.sums}})
		if c.known != "" {
			d.know(t, c.known, c.edit)
		}
		steps := &stepsBar{}
		d.dayReader.bar = steps
		k := d.copyDay(t.Context(), plannedDay{Day: day, Reason: "r"})
		if got := fmt.Sprint(k.step.Outcome, " ", k.step.Rows, k.step.Pages, k.step.Rounded, k.isKept, k.campaigns,
			k.spent); got != c.want {
			t.Errorf("%s: %q, %v", name, got, k.err)
		}
		if isKnown := k.step.Message.Valid && !k.isUnreachable(); isKnown != (c.says != "") ||
			!strings.Contains(k.step.Message.V, c.says) ||
			k.isStaged != (k.step.Outcome == "stored" || k.step.Outcome == "unchanged") ||
			k.isUnreachable() != (k.step.Outcome == "unreachable") || k.step.Bytes == 0 && k.isStaged ||
			k.step.FinishedAt == 0 || steps.n != 1 {
			t.Errorf("%s: %+v, %v", name, k.step, k.err)
		}
		if k.read != nil && (k.read.rows != nil || k.read.day != nil) {
			t.Errorf("%s: its rows stay in memory", name)
		}
		said := strings.Contains(d.log.String(), "what was published of it stands")
		if said != (k.step.Outcome == "failed") ||
			strings.Contains(d.log.String(), "has left the reach") != k.isUnreachable() {
			t.Errorf("%s: %s", name, d.log.String())
		}
		if free := d.inFlight.TryAcquire(maxRowsInFlight); !free {
			t.Errorf("%s: its place is not given back", name)
		}
		end()
	}
}

type stepsBar struct {
	noBar
	n int
}

func (b *stepsBar) Step() { b.n++ }

// TestDayReader_Quarantine: what the service answered is kept if it does not prove the day, for a later version to
// read; what it did not answer is not.
func TestDayReader_Quarantine(t *testing.T) {
	dir := emptyStore(t)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		reads   string
		sums    string
		known   bool // another day is stored
		noRaw   bool
		stopped bool
		want    string // whether it is said that replies are kept; then those that are, and the sum
	}{
		"not proven":                      {reads: "a1 =3", want: "true 2 pages 0 "},
		"not proven, and a sum":           {reads: "a1 =3", sums: "7 9", want: "true 2 pages 0 7.00/9"},
		"no replies are kept":             {reads: "a1 =3", noRaw: true, want: "false"},
		"stopped":                         {reads: "a1 =3", stopped: true, want: "false"},
		"out of order":                    {reads: "503 out of order", want: "false"},
		"refused":                         {reads: "400 odd words", known: true, want: "true 0 pages 400 "},
		"refused on a later page":         {reads: "a1 b2 c3 =9 / 410 gone", known: true, want: "true 1 pages 0 "},
		"not there":                       {reads: "404 odd words", known: true, want: "false"},
		"not there, and no day is stored": {reads: "404 odd words", want: "false"},
		"too far back":                    {reads: tooFar, known: true, want: "false"},
	} {
		if c.sums == "" {
			c.sums = "400 no such column"
		}
		d, end := newDayTest(t, dir, &scriptedReport{day: schema.DateOf(worldNow) - 5, reads: []string{c.reads},
			sums: []string{c.sums}})
		if c.known {
			d.s.store.Account().Days = map[schema.Date]*manifest.Day{d.day - 1: {}}
		}
		if c.noRaw {
			end()
			d, end = newDayTest(t, dir, d.report, func(j *Job) { j.Store.KeepRaw = false })
		}
		ctx := t.Context()
		if c.stopped {
			ctx = stopped
		}
		k := d.copyDay(ctx, plannedDay{Day: d.day})
		got := fmt.Sprint(k.isKept)
		days, err := d.s.store.Quarantine().Days()
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range days {
			status := 0
			if q.Refusal != nil {
				status = q.Refusal.Status
			}
			got += fmt.Sprintf(" %d pages %d ", len(q.Pages), status)
			if q.ControlTotal.Spend.Valid {
				got += fmt.Sprintf("%s/%d", q.ControlTotal.Spend.V, q.ControlTotal.Clicks.V)
			}
			if q.Reason == "" || q.PageSize != 3 || q.ReadAt.Time().Truncate(time.Second) != worldNow || q.Withheld {
				t.Errorf("%s: %+v", name, q)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, %v", name, got, k.err)
		}
		// It stays until the day is published.
		r := &run{s: d.s}
		r.stored = []schema.Date{d.day}
		if left := r.tidyQuarantine(false); left != len(days) {
			t.Errorf("%s: %d days are left", name, left)
		}
		if left := r.tidyQuarantine(true); left != 0 {
			t.Errorf("%s: %d days are left of a day that is published", name, left)
		}
		end()
	}
}
