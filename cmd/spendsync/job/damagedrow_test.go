package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
)

// damage is one way of sending one row of a finished day differently.
type damage struct {
	name string
	edit func(row string) string // returns the text that replaces the row in the reply
	// want is the expected result for the row:
	//
	//	truth      the day is stored as the service holds it
	//	unknown X  measure X of the row is NULL, as the service says
	//	unread X   measure X of the row is NULL, and the row is kept aside, because X cannot be read
	//	refused    the row is kept aside, and the day is partial
	//	form       the row is stored with its ID as it came
	//	absent X   measure X of the row is NULL, and the row is kept aside: X did not come, which is a warning
	//	differs    the row is stored as it came, and the service's own total differs
	//	unproven   the read is not stored: the day is missing, or stays as stored
	want string
}

// said reports whether the damage must make the run exit with 4.
func (d damage) said() bool {
	what, _, _ := strings.Cut(d.want, " ")
	return !slices.Contains([]string{"truth", "form", "unknown", "absent"}, what)
}

// valueOf finds the value of a key in a row that adsim wrote: a number, null or a text.
func valueOf(column string) *regexp.Regexp {
	return regexp.MustCompile(`"` + column + `": ?("(?:[^"\\]|\\.)*"|[^,}\]]+)`)
}

// setTo gives a column another value.
func setTo(column, value string) func(string) string {
	return func(row string) string {
		return valueOf(column).ReplaceAllLiteralString(row, `"`+column+`":`+value)
	}
}

// changed gives a column a value that is computed from its old value.
func changed(column string, to func(value string) string) func(string) string {
	return func(row string) string { return setTo(column, to(valueOf(column).FindStringSubmatch(row)[1]))(row) }
}

// lacking removes a column.
func lacking(column string) func(string) string {
	comma := regexp.MustCompile(`,? ?` + valueOf(column).String())
	return func(row string) string {
		return strings.Replace(comma.ReplaceAllLiteralString(row, ""), "{,", "{", 1)
	}
}

// named gives a column another name.
func named(column, name string) func(string) string {
	return func(row string) string { return strings.Replace(row, `"`+column+`"`, `"`+name+`"`, 1) }
}

// withFirst inserts a key and its value before the other keys.
func withFirst(member string) func(string) string {
	return func(row string) string { return strings.Replace(row, "{", "{"+member, 1) }
}

// sameTwice repeats a member of the row at the beginning of the row.
func sameTwice(column string) func(string) string {
	return func(row string) string { return withFirst(valueOf(column).FindString(row) + ",")(row) }
}

// rowDamages have several damages for each expected result. The tests of package transform cover the forms of values.
var rowDamages = []damage{
	{"id/missing", lacking("campaign_id"), "refused"},
	{"id/other name", named("creative_id", "creativeId"), "refused"},
	{"id/twice", withFirst(`"source_id":"X1000001",`), "refused"},
	{"id/bare word", setTo("campaign_id", `X1000001`), "refused"},
	{"id/null", setTo("creative_id", `null`), "refused"},
	{"id/bytes that are not UTF-8", setTo("source_id", "\"S\xff\""), "refused"},
	{"id/long", setTo("source_id", `"`+strings.Repeat("x", 300)+`"`), "refused"},
	{"id/a word for nothing", setTo("source_id", `"n/a"`), "form"},
	{"id/lower case", changed("campaign_id", strings.ToLower), "form"},
	{"id/number", setTo("creative_id", `1000001`), "form"},
	{"id/twice the same", sameTwice("source_id"), "truth"},
	{"id/blanks around it", changed("source_id", func(v string) string { return `" ` + v[1:] }), "truth"},
	{"id/escaped", changed("campaign_id", func(v string) string { return fmt.Sprintf(`"\u%04x%s`, v[1], v[2:]) }),
		"truth"},

	{"clicks/missing, which the total counts", lacking("clicks"), "differs"},
	{"impressions/other name", named("impressions", "views"), "absent impressions"},
	{"conversions/null", setTo("conversions", `null`), "unknown conversions"},
	{"clicks/null, which the total counts", setTo("clicks", `null`), "differs"},
	{"clicks/a credit, which the total lacks", setTo("clicks", `-2`), "differs"},
	{"clicks/word", setTo("clicks", `"n/a"`), "unread clicks"},
	{"impressions/fraction", setTo("impressions", `7.5`), "unread impressions"},
	{"conversions/beyond int64", setTo("conversions", `9223372036854775808`), "unread conversions"},
	{"clicks/bare NaN", setTo("clicks", `NaN`), "unread clicks"},
	{"impressions/list", setTo("impressions", `[7]`), "unread impressions"},
	{"clicks/twice", withFirst(`"clicks":7654321,`), "unread clicks"},
	{"clicks/twice the same", sameTwice("clicks"), "truth"},
	{"clicks/beside another spelling", withFirst(`"CLICKS":7654321,`), "truth"},
	{"impressions/text", changed("impressions", func(v string) string { return `"` + v + `"` }), "truth"},
	{"conversions/exponent", changed("conversions", func(v string) string { return v + "e0" }), "truth"},
	{"conversions/two bare words", setTo("conversions", `six or seven`), "unproven"},

	{"spend/missing", lacking("total_spend"), "refused"},
	{"spend/null", setTo("total_spend", `null`), "refused"},
	{"spend/dollars", setTo("total_spend", `"$1.25"`), "refused"},
	{"spend/bare NaN", setTo("total_spend", `NaN`), "refused"},
	{"spend/twice", withFirst(`"total_spend":9,`), "refused"},
	{"spend/zero", setTo("total_spend", `0`), "differs"},
	{"spend/a credit", setTo("total_spend", `-1.25`), "differs"},
	{"spend/tenfold", changed("total_spend", func(v string) string { return v + "e1" }), "differs"},
	{"spend/text", changed("total_spend", func(v string) string { return `"` + v + `"` }), "truth"},
	{"spend/twice the same", sameTwice("total_spend"), "truth"},

	{"date/missing, of one day", lacking("date"), "truth"},
	{"date/slashes", changed("date", func(v string) string { return strings.ReplaceAll(v, "-", "/") }), "truth"},
	{"date/word", setTo("date", `"yesterday"`), "refused"},
	{"date/a time", changed("date", func(v string) string { return v[:len(v)-1] + `T00:00:00Z"` }), "refused"},
	{"date/another day", setTo("date", `"2026-01-01"`), "unproven"},

	{"row/twice", func(row string) string { return row + "," + row }, "unproven"},
	{"row/missing", func(string) string { return "" }, "unproven"},
	{"row/cut", func(row string) string { return row[:len(row)/2] }, "unproven"},
	{"row/null", func(string) string { return `null` }, "refused"},
	{"row/list", func(string) string { return `[1,2]` }, "refused"},
	{"row/empty object", func(string) string { return `{}` }, "refused"},
	{"row/more keys", withFirst(`"new_key":{"a":[1]},`), "truth"},
}

// damagedReport answers like the service, but damages one row of some days.
type damagedReport struct {
	next http.RoundTripper
	days map[string]damage // by day
	mu   sync.Mutex
	rows map[string]string // the rows before they were damaged, by day
}

func (d *damagedReport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.next.RoundTrip(r)
	q := r.URL.Query()
	ill, is := d.days[q.Get("start_date")]
	if err != nil || !is || q.Get("start_date") != q.Get("end_date") || q.Get("include_creatives") != "true" {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	row := paidRow(body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if row == "" { // the page has no row, because it comes after the last page
		return resp, nil
	}
	d.mu.Lock()
	d.rows[q.Get("start_date")] = row
	d.mu.Unlock()
	edited := ill.edit(row)
	if edited == "" { // remove the comma after the row, too
		row += ","
	}
	body = bytes.Replace(body, []byte(row), []byte(edited), 1)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

// paidRow returns the row with the most clicks on a page.
func paidRow(body []byte) (paid string) {
	var page struct{ Data []json.RawMessage }
	if err := json.Unmarshal(body, &page); err != nil {
		panic(err)
	}
	var most int64
	for _, raw := range page.Data {
		var row struct{ Clicks int64 }
		if err := json.Unmarshal(raw, &row); err != nil {
			panic(err)
		}
		if row.Clicks > most {
			most, paid = row.Clicks, string(raw)
		}
	}
	return paid
}

// TestDamagedRows_AreStoredTrueOrReported: if one row of a finished day is damaged, in any way, the stored day equals
// the service's day, or the run reports the damage with exit 4. Exit 0 hides no damage, neither on the first read of a
// day nor on a later one. One undamaged read heals the day.
func TestDamagedRows_AreStoredTrueOrReported(t *testing.T) {
	const firstDay = 4 // days after the beginning of the reach; an unproven day before that has another exit code
	for _, said := range []bool{false, true} {
		of := slices.DeleteFunc(slices.Clone(rowDamages), func(d damage) bool { return d.said() != said })
		for part := range slices.Chunk(of, schema.ReachDays-firstDay) {
			t.Run(part[0].name, func(t *testing.T) {
				w := newQuirkWorld(t)
				w.job.Plan.PageSize = 1000
				report := &damagedReport{next: w.service.Transport(), rows: map[string]string{}}
				w.transport = report
				report.days = map[string]damage{}
				for i, d := range part {
					report.days[(w.today() - schema.ReachDays + firstDay + schema.Date(i)).String()] = d
				}
				w.checkDamages(report, said, false)
				ill := report.days
				report.days = nil
				if res := w.ran(); res.Run.ExitCode != 0 || days(res) != allMatched {
					t.Errorf("healed: exit %d, %s: %s", res.Run.ExitCode, days(res), res.Run.Message.V)
				}
				report.days = ill
				w.checkDamages(report, said, true)
			})
		}
	}
}

// checkDamages syncs once, and compares each damaged day with the expected result. stored reports whether all days were
// stored undamaged before.
func (w *world) checkDamages(report *damagedReport, said, stored bool) {
	w.t.Helper()
	res := w.ran()
	code := exit.OK
	if said {
		code = exit.Partial
	}
	if res.Run.ExitCode != int64(code) {
		w.t.Errorf("exit %d, want %d: %s", res.Run.ExitCode, code, res.Run.Message.V)
	}
	states := map[string]string{}
	for _, c := range res.Coverage {
		states[c.ReportDate.String()] = c.State + "/" + c.ControlTotalState
	}
	run := res.Run.RunID
	failed := w.ask("SELECT unit || ' ' || outcome FROM ops.step WHERE stream = 'spend_report' AND _run_id = '%s'", run)
	aside := w.ask("SELECT report_date || ' ' || field FROM ops.refused_row WHERE _run_id = '%s'", run)
	for day, d := range report.days {
		got, want := w.damagedDay(day, report.rows[day]), d.want
		says := func(list, line string) {
			if !strings.Contains("\n"+list, "\n"+line) {
				w.t.Errorf("%s, stored %t: the run does not say %q", d.name, stored, line)
			}
		}
		state := "complete/matched"
		switch what, measure, _ := strings.Cut(d.want, " "); what {
		case "unread", "absent":
			want = "unknown " + measure
			says(aside, day+" "+measure)
		case "refused":
			if want, state = "row missing", "partial/unknown"; stored {
				want, state = "truth", "complete/matched" // the damaged reply is in quarantine
				says(failed, day+" failed")
			} else {
				says(aside, day+" ")
			}
		case "form":
			want = "row missing, another there"
		case "differs":
			want, state = got, "complete/differs"
			if w.spendOf(day)*4 < truthOf(w, day)*3 {
				state = "partial/differs"
			}
			if stored {
				want, state = "truth", "complete/matched"
				says(failed, day+" failed")
			}
			if got == "truth" && !stored {
				w.t.Errorf("%s is no damage", d.name)
			}
		case "unproven":
			says(failed, day+" failed")
			if want, state = "not stored", "missing/unread"; stored {
				want, state = "truth", "complete/matched"
			}
		}
		if got != want {
			w.t.Errorf("%s, stored %t: %s, want %s", d.name, stored, got, want)
		}
		if states[day] != state {
			w.t.Errorf("%s, stored %t: the day is %s, want %s", d.name, stored, states[day], state)
		}
	}
}

// damagedDay compares the stored rows of a day with the service's rows. The second parameter is the damaged row as it
// was before the damage.
func (w *world) damagedDay(day, sent string) string {
	w.t.Helper()
	var ill struct {
		Campaign string `json:"campaign_id"`
		Creative string `json:"creative_id"`
		Source   string `json:"source_id"`
	}
	if err := json.Unmarshal([]byte(sent), &ill); err != nil {
		w.t.Fatalf("%s: %v", day, err)
	}
	rows := rowsOf(w, schema.SpendDaily, filepath.Join("account=acme", "day="+day))
	if rows == nil {
		return "not stored"
	}
	stored := map[[3]string]schema.Spend{}
	for _, r := range rows {
		stored[[3]string{r.CampaignID, r.CreativeID, r.SourceID}] = r
	}
	verdict := "truth"
	for l := range w.service.Truth(day) {
		key := [3]string{l.CampaignID, l.CreativeID, l.SourceID}
		isIll := key == [3]string{ill.Campaign, ill.Creative, ill.Source}
		r, there := stored[key]
		delete(stored, key)
		as := verdictOf(r, there, l)
		if isIll {
			verdict = as
		} else if as != "truth" {
			return fmt.Sprintf("%v, which was not damaged, is %s", key, as)
		}
	}
	if len(stored) > 0 {
		verdict += ", another there"
	}
	return verdict
}

// verdictOf compares one stored row with the service's row.
func verdictOf(r schema.Spend, there bool, l adsim.Line) string {
	if !there {
		return "row missing"
	}
	if int64(r.Spend) != l.Spend {
		return "another spend"
	}
	for _, m := range []struct {
		name   string
		stored schema.Null[int64]
		truth  int64
	}{
		{"clicks", r.Clicks, l.Clicks}, {"impressions", r.Impressions, l.Impressions},
		{"conversions", r.Conversions, l.Conversions},
	} {
		switch {
		case !m.stored.Valid:
			return "unknown " + m.name
		case m.stored.V != m.truth:
			return "other " + m.name
		}
	}
	if r.CampaignName != l.CampaignName {
		return "name"
	}
	return "truth"
}

// spendOf returns the stored spend of a day, in millionths of a dollar.
func (w *world) spendOf(day string) (sum int64) {
	for _, r := range rowsOf(w, schema.SpendDaily, filepath.Join("account=acme", "day="+day)) {
		sum += int64(r.Spend)
	}
	return sum
}

// truthOf returns the service's spend of a day, in millionths of a dollar.
func truthOf(w *world, day string) int64 {
	sum, err := w.service.TruthSum(day)
	if err != nil {
		w.t.Error(err)
	}
	return sum.Spend
}
