package main

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// pageFault is a fault of one page of a day, with what becomes of the run.
type pageFault struct {
	id, name string
	fault    adsim.Fault
	code     int    // when the fault stays
	says     string // a part of the last line then
	passes   bool   // asking again repairs it, so once it costs nothing
	from     int    // the first page that it strikes; 0: page 1
}

// paid marks a fault that strikes a row with spend.
const paid = 1000

// pageFaults are the rows of the catalogue that strike the pages of the report.
var pageFaults = []pageFault{
	{"A1", "cut/length", adsim.Fault{Kind: adsim.Cut}, exit.Unreachable, "the reply was cut off", true, 0},
	{"A1", "cut/chunked", adsim.Fault{Kind: adsim.Cut, Chunked: true, After: 100}, exit.Unreachable,
		"the reply was cut off", true, 0},
	{"A2", "second object", adsim.Fault{Kind: adsim.Trailing}, exit.Contract, "after the end of the reply", false, 0},
	{"A2", "a byte more", adsim.Fault{Kind: adsim.Trailing, Value: "]"}, exit.Contract,
		"1 byte after the end of the reply", false, 0},
	{"A3", "html", adsim.Fault{Kind: adsim.HTML}, exit.Unreachable, "Be right back", true, 0},
	{"A3", "html/502", adsim.Fault{Kind: adsim.HTML, Status: 502}, exit.Unreachable, "status 502", true, 0},
	{"A4", "null", adsim.Fault{Kind: adsim.Null}, exit.Contract, "the reply is null", true, 0},
	{"A4", "empty", adsim.Fault{Kind: adsim.Empty}, exit.Unreachable, "the reply is empty", true, 0},
	{"A4", "empty object", adsim.Fault{Kind: adsim.Body, Value: "{}"}, exit.Contract, "no columns", false, 0},
	{"A4", "array", adsim.Fault{Kind: adsim.Body, Value: "[1]"}, exit.Contract, "type array, not an object", false, 0},
	{"A4", "empty array", adsim.Fault{Kind: adsim.Body, Value: "[]"}, exit.Contract, "spend 2026-03-08", false, 0},
	{"A4", "no data", adsim.Fault{Kind: adsim.Top, Column: "data", Value: "null"}, exit.Contract, "data is null",
		false, 0},
	{"A5", "a row came before", adsim.Fault{Kind: adsim.Shift, Rows: 1}, exit.Contract, "spend 2026-03-08", true, 2},
	{"A5", "a row went before", adsim.Fault{Kind: adsim.Shift, Rows: -1}, exit.Contract, "spend 2026-03-08", true, 2},
	{"A6", "total/more", adsim.Fault{Kind: adsim.Total, Delta: 20}, exit.OK, "", true, 0},
	{"A6", "total/less", adsim.Fault{Kind: adsim.Total, Delta: -20}, exit.OK, "", true, 0},
	{"A7", "a row left out", adsim.Fault{Kind: adsim.Drop, Row: 3}, exit.Contract,
		"50 rows came, and the stated total is 51", true, 0},
	{"A7", "one out, one twice", adsim.Fault{Kind: adsim.Duplicate, Row: 3, InPlace: true}, exit.Contract,
		"is there twice", true, 0},
	{"A8", "the same row twice", adsim.Fault{Kind: adsim.Duplicate, Row: 3}, exit.OK, "", true, 0},
	{"A9", "one key, two measures", adsim.Fault{Kind: adsim.Duplicate, Row: 3, InPlace: true, Other: true},
		exit.Contract, "is there twice", true, 0},
	{"A10", "no pagination", adsim.Fault{Kind: adsim.NoPagination}, exit.OK, "", false, 0},
	{"A11", "the same page for ever", adsim.Fault{Kind: adsim.Top, Column: "page", Value: "1"}, exit.OK, "", true, 2},
	{"A11", "pages without end", adsim.Fault{Kind: adsim.Top, Column: "total_pages", Value: "999999999"}, exit.OK, "",
		true, 0},
	{"A12", "no rows", adsim.Fault{Kind: adsim.Top, Column: "data", Value: "[]"}, exit.Contract,
		": 0 rows", true, 0},
	{"A14", "rows as arrays", adsim.Fault{Kind: adsim.Top, Column: "data", Value: `[["2026-03-08"]]`}, exit.Contract,
		"cannot be stored; the first: ", true, 0},
	{"A14", "a column missing", adsim.Fault{Kind: adsim.Top, Column: "columns", Value: `["date","campaign_id"]`},
		exit.Contract, "the columns lack total_spend", false, 0},
	{"A14", "a column twice", adsim.Fault{Kind: adsim.Top, Column: "columns", Value: `["date","date"]`}, exit.Contract,
		`column "date" is there twice`, false, 0},
	{"A15", "a key twice", adsim.Fault{Kind: adsim.RepeatKey, Row: paid, Column: "total_spend", Value: "1"},
		exit.Contract, ",1]: not a number", false, 0},
	{"A15", "another case", adsim.Fault{Kind: adsim.Body, Value: `{"Columns":[],"Data":[],"Pagination":{}}`},
		exit.Contract, "no columns", false, 0},
	{"A16", "spend null", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "total_spend", Value: "null"},
		exit.Contract, "total_spend null: missing", false, 0},
	{"A16", "spend absent", adsim.Fault{Kind: adsim.MissingKey, Row: paid, Column: "total_spend"}, exit.Contract,
		"total_spend: missing", false, 0},
	{"A16", "campaign not a text", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "campaign_id", Value: "7"},
		exit.Contract, "campaign_id 7: not a text", false, 0},
	{"A17", "spend negative", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "total_spend", Value: "-1.5"},
		exit.Contract, "the service's own sum is", true, 0},
	{"A18", "1e400", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "total_spend", Value: "1e400"},
		exit.Contract, "total_spend 1e400", false, 0},
	{"A18", "19 digits", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "total_spend",
		Value: "1234567890123456789.5"}, exit.Contract, "total_spend 1234567890123456789.5", false, 0},
	{"A19", "NaN text", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "total_spend", Value: `"NaN"`},
		exit.Contract, `total_spend "NaN": not a number`, false, 0},
	{"A19", "Infinity", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "total_spend", Value: "Infinity"},
		exit.Contract, `total_spend ["Infinity"]: not a number`, true, 0},
	{"A20", "a text for a number", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "total_spend",
		Value: `"12,50"`}, exit.Contract, `total_spend "12,50": not a number`, false, 0},
	{"A20", "a number for a text", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "source_id", Value: "7.5"},
		exit.Contract, "source_id 7.5: not a text", false, 0},
	{"A22", "an id not in UTF-8", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "source_id", Value: "\"\xff\""},
		exit.Contract, "a part is lost", false, 0},
	{"A22", "a lone surrogate in an id", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "source_id",
		Value: `"\ud800"`}, exit.Contract, "a part is lost", false, 0},
	{"A22", "NUL in an id", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "source_id", Value: `"a\u0000b"`},
		exit.Contract, "control character", false, 0},
	{"A22", "an id of a megabyte", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "source_id", Value: `"` +
		strings.Repeat("x", 1<<20) + `"`}, exit.Contract, "too long", false, 0},
	{"A25", "401", adsim.Fault{Kind: adsim.Status, Status: 401}, exit.Auth, "Incorrect username or password", false, 0},
	{"A26", "403", adsim.Fault{Kind: adsim.Status, Status: 403}, exit.Auth, "status 403", false, 0},
	{"A27", "429", adsim.Fault{Kind: adsim.Status, Status: 429}, exit.Unreachable, "status 429", true, 0},
	{"A27", "429/seconds", adsim.Fault{Kind: adsim.Status, Status: 429, RetryAfter: "40"}, exit.Unreachable,
		"status 429", true, 0},
	{"A27", "429/date", adsim.Fault{Kind: adsim.Status, Status: 429, RetryAfter: "+40s"}, exit.Unreachable,
		"status 429", true, 0},
	{"A27", "429/for ever", adsim.Fault{Kind: adsim.Status, Status: 429, RetryAfter: "99999999999999999999"},
		exit.Unreachable, "asks to wait 24h0m0s", false, 0},
	{"A28", "500", adsim.Fault{Kind: adsim.Status, Status: 500}, exit.Unreachable, "request ID: req_", true, 0},
	{"A28", "503", adsim.Fault{Kind: adsim.Status, Status: 503, RetryAfter: "3"}, exit.Unreachable, "status 503",
		true, 0},
	{"A30", "headers never come", adsim.Fault{Kind: adsim.Hang}, exit.Unreachable, "no complete reply within 100ms",
		true, 0},
	{"A30", "the body stalls", adsim.Fault{Kind: adsim.Stall, After: 64}, exit.Unreachable,
		"no complete reply within 100ms", true, 0},
	{"A30", "a byte a second", adsim.Fault{Kind: adsim.Slow, For: time.Second}, exit.Unreachable,
		"no complete reply within 100ms", true, 0},
	{"A31", "redirect", adsim.Fault{Kind: adsim.Status, Status: 302, Location: "https://evil.test/"}, exit.Contract,
		`leads to host "evil.test"`, false, 0},
	{"A31", "redirect/plain", adsim.Fault{Kind: adsim.Status, Status: 307, Location: "http://report.test/"},
		exit.Contract, `over "http"`, false, 0},
	{"A36", "another day", adsim.Fault{Kind: adsim.OtherDay, Row: paid}, exit.Contract, "not the day asked for",
		true, 0},
	{"A40", "reset", adsim.Fault{Kind: adsim.Reset}, exit.Unreachable, "connection reset", true, 0},
	{"A40", "reset/mid-body", adsim.Fault{Kind: adsim.Reset, After: 300}, exit.Unreachable, "connection reset",
		true, 0},
	{"A41", "an id with a line break", adsim.Fault{Kind: adsim.WrongType, Row: paid, Column: "source_id",
		Value: `"a\nb"`}, exit.Contract, "control character", false, 0},
	{"A44", "an error without form", adsim.Fault{Kind: adsim.Body, Status: 500, Value: "\x00\x1b[31m\xff{]"},
		exit.Unreachable, "status 500", true, 0},
	{"A44", "a long error", adsim.Fault{Kind: adsim.Body, Status: 418, Value: strings.Repeat("teapot ", 1<<18)},
		exit.Contract, "status 418", false, 0},
}

// provenAt are the places at which two witnesses prove the stored day though the fault stays, and how the run ends
// then: pages by the fault's name. What speaks for the day are the sum of its spend, the rows that are stored, and
// the end of the pages; what is stored stays the truth.
var provenAt = map[string]map[int]int{
	"a row came before":      {3: exit.OK}, // the last page brings a row of the page before once more
	"total/more":             {1: exit.OK, 2: exit.OK, 3: exit.Partial},
	"total/less":             {1: exit.OK, 2: exit.OK, 3: exit.OK},
	"the same row twice":     {1: exit.OK, 2: exit.OK, 3: exit.OK},
	"no pagination":          {1: exit.OK, 2: exit.OK, 3: exit.OK},
	"the same page for ever": {2: exit.OK, 3: exit.OK}, // only the number of the page is wrong
	"pages without end":      {1: exit.OK, 2: exit.OK, 3: exit.OK},
}

// otherwiseAt are the places at which a fault means something else: pages by the fault's name. Credentials that were
// accepted for a page before are refused for a time only, and a first page without rows is a report that is silent.
var otherwiseAt = map[string]map[int]pageFault{
	"401":     {2: {code: exit.Unreachable, says: "status 401"}, 3: {code: exit.Unreachable, says: "status 401"}},
	"403":     {2: {code: exit.Unreachable, says: "status 403"}, 3: {code: exit.Unreachable, says: "status 403"}},
	"no rows": {1: {code: exit.Partial, says: "the report is silent"}},
}

// stands are the places where a fault of a page strikes, and when.
var stands = []struct {
	page int
	when string // "ever", or "later": from the second request on
}{{1, "ever"}, {2, "ever"}, {3, "ever"}, {2, "later"}}

// TestFault_OnAPageOfTheReport lets every fault stay on the middle page of a stored day, and on the first and the last
// if all is tried or the day is proven all the same: the run ends with its code, says what is wrong in its
// last line, and not a byte of what is published changes. Where two witnesses prove the day all the same, its rows
// stay the truth.
func TestFault_OnAPageOfTheReport(t *testing.T) {
	schematest.Long(t)
	from := syncedStore(t)
	for part := range 2 {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			w := inProcess(t, from)
			day := date("2026-03-08")
			sum, err := w.service.TruthSum(day.String())
			if err != nil || sum.Rows <= 50 || sum.Rows > 60 {
				t.Fatalf("%d rows do not make three pages, %v", sum.Rows, err)
			}
			was := w.published()
			for i, row := range pageFaults {
				if i%2 == part {
					w.strike(row, day, was)
				}
			}
			w.service.ClearFaults()
			w.must("sync")
			w.checkTruth()
		})
	}
}

// strike lets a fault stay at each of its places.
func (w *world) strike(row pageFault, day schema.Date, was map[string]string) {
	w.t.Helper()
	for _, at := range stands {
		once := at.when == "later" && row.passes // asking again is what its runs do anyway
		sample := w.shaped && schematest.Times(0, 0, 1) == 0 || !schematest.All()
		_, isProven := provenAt[row.name][at.page]
		if at.page < row.from || once || sample && at != stands[1] && (w.shaped || !isProven) {
			continue
		}
		name := fmt.Sprintf("%s %s, page %d, %s", row.id, row.name, at.page, at.when)
		f := row.fault
		f.Day, f.Page, f.Query = day.String(), at.page, "include_creatives=true"
		if f.Row == paid {
			f.Row = w.paidRow(day, at.page, 20)
		}
		w.env["HTTP_TIMEOUT"], w.env["RETRY_BUDGET"] = "5s", "20ms"
		if row.id == "A30" {
			w.env["HTTP_TIMEOUT"] = "100ms"
		}
		w.service.ClearFaults()
		if at.when == "later" {
			w.env["RETRY_BUDGET"] = "400ms"
			w.service.Fail(adsim.Fault{Kind: adsim.HTML, Day: f.Day, Page: f.Page, Query: f.Query, Times: 1})
		}
		w.service.Fail(f)
		code, _, last := w.runLogged("backfill", "--from", day.String(), "--to", day.String())
		want, says := row.code, row.says
		if other, ok := otherwiseAt[row.name][at.page]; ok {
			want, says = other.code, other.says
		}
		proven, isProven := provenAt[row.name][at.page]
		isNewForm := w.shaped && code == exit.Partial && strings.Contains(last, "IDs of a new form") // said once
		switch {
		case isProven && !isNewForm && (!w.shaped || code == exit.Partial):
			if code != proven || !strings.Contains(last, "1 day of 1 planned proven, 0 changed") ||
				code == exit.Partial && !strings.Contains(last, "own number of rows (total_rows) differs") {
				w.t.Errorf("%s: exit %d, want %d of a proven day: %.300s", name, code, proven, last)
			}
			w.checkDays(day)
			clear(was)
			maps.Copy(was, w.published())
			continue
		case w.shaped && code == exit.OK, isProven && isNewForm: // the form undoes the fault
			w.checkDays(day)
			clear(was)
			maps.Copy(was, w.published())
			continue
		case w.shaped: // a fault of the bytes looks otherwise in gzip
			says = ""
			if code == exit.Unreachable {
				want = code
			}
		}
		if code != want {
			w.t.Errorf("%s: exit %d, want %d: %.300s", name, code, want, last)
		}
		for _, part := range []string{says, "spend 2026-03-08", "nothing published", " do: "} {
			if !strings.Contains(last, part) {
				w.t.Errorf("%s: the last line lacks %q: %.300s", name, part, last)
			}
		}
		if len(last) > 3000 || strings.ContainsAny(last, "\x00\x1b") {
			w.t.Errorf("%s: the last line is no line for people: %q", name, last)
		}
	}
	w.wantUnchanged(row.id+" "+row.name, was, w.published())
}
