package job_test

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
	"spendsync/schema/schematest"
)

// damage is one way of sending one row of a finished day differently.
type damage struct {
	name string
	// edit returns what stands in the row's place in the list of rows.
	edit func(row string) string
	// want is what becomes of it:
	//
	//	truth      the day is stored as the service holds it
	//	unknown X  measure X of the row is NULL, as the service says
	//	unread X   the same, and the row is kept aside: X cannot be read
	//	refused    the row is kept aside, and the day is partial
	//	form       the row is stored with its ID as it came
	//	absent X   measure X of the row is NULL, and the row is kept aside: it did not come, which is a warning
	//	differs    the row is stored as it came, and the service's own total differs
	//	unproven   nothing of the day is stored: it is missing, or stands as it was
	want string
}

// said reports whether the run has to exit with 4 for it.
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

// changed gives a column a value made of its own.
func changed(column string, to func(value string) string) func(string) string {
	return func(row string) string { return setTo(column, to(valueOf(column).FindStringSubmatch(row)[1]))(row) }
}

// without leaves a column out.
func without(column string) func(string) string {
	comma := regexp.MustCompile(`,? ?` + valueOf(column).String())
	return func(row string) string {
		return strings.Replace(comma.ReplaceAllLiteralString(row, ""), "{,", "{", 1)
	}
}

func renamedTo(column, name string) func(string) string {
	return func(row string) string { return strings.Replace(row, `"`+column+`"`, `"`+name+`"`, 1) }
}

// withFirst puts a key and its value before the others.
func withFirst(member string) func(string) string {
	return func(row string) string { return strings.Replace(row, "{", "{"+member, 1) }
}

func quoted(value string) string { return `"` + value + `"` }

// inner is what stands between the quotes of a text.
func inner(value string) string { return strings.Trim(value, `"`) }

// sameTwice puts a member of the row before the others once more.
func sameTwice(column string) func(string) string {
	return func(row string) string { return withFirst(valueOf(column).FindString(row) + ",")(row) }
}

// rowDamages are the ways of the table.
func rowDamages() (all []damage) {
	add := func(want, name string, edit func(string) string) {
		all = append(all, damage{name: name, edit: edit, want: want})
	}
	for _, column := range []string{"campaign_id", "creative_id", "source_id"} {
		to := func(want, name, value string) { add(want, column+"/"+name, setTo(column, value)) }
		of := func(want, name string, f func(string) string) { add(want, column+"/"+name, changed(column, f)) }
		add("refused", column+"/missing", without(column))
		add("refused", column+"/renamed", renamedTo(column, column+"_v2"))
		add("refused", column+"/twice", withFirst(`"`+column+`":"X1000001",`))
		add("truth", column+"/twice-the-same", sameTwice(column))
		to("refused", "bare-word", `X1000001`)
		add("refused", column+"/key-cut", renamedTo(column, column[:len(column)-1]))
		add("refused", column+"/camel-case", renamedTo(column, strings.Replace(column, "_id", "Id", 1)))
		add("refused", column+"/upper-case", renamedTo(column, strings.ToUpper(column)))
		to("refused", "null", `null`)
		to("refused", "empty", `""`)
		to("refused", "blank", `" "`)
		to("refused", "blanks", `"\t\u00a0\n"`)
		to("refused", "boolean", `true`)
		to("refused", "list", `["x"]`)
		to("refused", "object", `{"id":"x"}`)
		to("refused", "fraction", `1.5`)
		to("refused", "negative", `-7`)
		to("refused", "NUL", `"a\u0000"`)
		to("refused", "control", `"a\u001bb"`)
		to("refused", "half-a-character", `"S\ud83d"`)
		to("refused", "bytes-not-UTF-8", "\"S\xff\"")
		to("refused", "long", quoted(strings.Repeat("x", 300)))
		to("form", "n/a", `"n/a"`)
		to("form", "dash", `"-"`)
		to("form", "null-text", `"null"`)
		to("form", "unknown-text", `"Unknown"`)
		to("form", "other-characters", `"a b/c"`)
		to("form", "formula", `"=1+1"`)
		of("form", "lower-case", strings.ToLower)
		of("form", "digits", func(v string) string { return quoted(regexp.MustCompile(`\D`).ReplaceAllString(v, "")) })
		of("truth", "blanks-around", func(v string) string { return `" ` + inner(v) + `\t"` })
		of("truth", "newline-behind", func(v string) string { return quoted(inner(v) + `\n`) })
		of("truth", "escaped", func(v string) string { return fmt.Sprintf(`"\u%04x%s`, v[1], v[2:]) })
	}
	add("form", "campaign_id/number", setTo("campaign_id", `1000001`))
	add("form", "creative_id/number", setTo("creative_id", `1000001`))
	add("form", "source_id/number", changed("source_id", func(v string) string { return v[2 : len(v)-1] }))

	for _, column := range []string{"clicks", "impressions", "conversions"} {
		to := func(want, name, value string) { add(want, column+"/"+name, setTo(column, value)) }
		of := func(want, name string, f func(string) string) { add(want, column+"/"+name, changed(column, f)) }
		unread, null := "unread "+column, "unknown "+column
		if column == "clicks" {
			null = "differs" // the service's own total counts them
		}
		add("absent "+column, column+"/missing", without(column))
		add("absent "+column, column+"/renamed", renamedTo(column, column+"_v2"))
		to(null, "null", `null`)
		to(unread, "empty", `""`)
		to(unread, "blank", `" "`)
		to(unread, "word", `"n/a"`)
		to(unread, "NaN", `"NaN"`)
		to(unread, "boolean", `false`)
		to(unread, "list", `[7]`)
		to(unread, "object", `{"value":7}`)
		if column == "clicks" { // a credit, which the service's own total does not have
			to("differs", "negative", `-2`)
			to("differs", "negative-text", `"-2"`)
		}
		to(unread, "fraction", `7.5`)
		to(unread, "tiny", `1e-400`)
		to(unread, "huge", `1e400`)
		to(unread, "past-int64", `9223372036854775808`)
		to(unread, "largest-int64", `9223372036854775807`)
		to(unread, "19-digits", `1234567890123456789`)
		to(unread, "thousands", `"1,234"`)
		to(unread, "sign", `"+7"`)
		to(unread, "leading-zeros", `"007"`)
		to(unread, "bare-NaN", `NaN`)
		to(unread, "bare-Infinity", `-Infinity`)
		to(unread, "bare-word", `seven`)
		to(unread, "hexadecimal", `0x7`)
		to("unproven", "two-bare-words", `six or seven`)
		of("truth", "text", quoted)
		of("truth", "float", func(v string) string { return v + ".0" })
		of("truth", "exponent", func(v string) string { return v + "e0" })
		add(unread, column+"/twice", withFirst(`"`+column+`":7654321,`))
		add("truth", column+"/beside-another-spelling", withFirst(`"`+strings.ToUpper(column)+`":7654321,`))
		add("truth", column+"/twice-the-same", sameTwice(column))
	}

	spend := func(want, name, value string) { add(want, "total_spend/"+name, setTo("total_spend", value)) }
	spendOf := func(want, name string, f func(string) string) {
		add(want, "total_spend/"+name, changed("total_spend", f))
	}
	add("refused", "total_spend/missing", without("total_spend"))
	add("refused", "total_spend/renamed", renamedTo("total_spend", "spend"))
	for name, value := range map[string]string{
		"null": `null`, "empty": `""`, "blank": `" "`, "word": `"n/a"`, "NaN": `"NaN"`, "Infinity": `"Infinity"`,
		"boolean": `true`, "list": `[1]`, "object": `{"amount":1}`, "dollar": `"$1.25"`, "comma": `"1,25"`,
		"huge": `1e400`, "19-digits": `1234567890123456789`, "currency": `"1.25 USD"`,
	} {
		spend("refused", name, value)
	}
	spend("refused", "bare-NaN", `NaN`)
	spend("refused", "bare-Infinity", `-Infinity`)
	spend("refused", "plus", `+1.25`)
	spend("differs", "negative", `-1.25`)
	spend("differs", "zero", `0`)
	spend("differs", "tiny", `1e-400`)
	spendOf("differs", "times-ten", func(v string) string { return v + "e1" })
	spendOf("differs", "a-cent-more", func(v string) string {
		if !strings.Contains(v, ".") {
			return v + ".01"
		}
		return v[:strings.Index(v, ".")] + ".99"
	})
	spendOf("truth", "text", quoted)
	spendOf("truth", "exponent", func(v string) string { return v + "E+0" })
	add("refused", "total_spend/twice", withFirst(`"total_spend":9,`))
	add("truth", "total_spend/twice-the-same", sameTwice("total_spend"))

	add("truth", "date/missing", without("date")) // one day was asked for
	add("truth", "date/null", setTo("date", `null`))
	add("truth", "date/empty", setTo("date", `""`))
	add("truth", "date/renamed", renamedTo("date", "day"))
	add("refused", "date/midnight", changed("date", func(v string) string { return quoted(inner(v) + "T00:00:00Z") }))
	add("truth", "date/slashes", changed("date", func(v string) string { return strings.ReplaceAll(v, "-", "/") }))
	add("truth", "date/blanks", changed("date", func(v string) string { return quoted(inner(v) + " ") }))
	add("unproven", "date/other-day", setTo("date", `"2026-01-01"`))
	for name, value := range map[string]string{
		"word": `"yesterday"`, "number": `20261101`, "boolean": `true`, "list": `[]`, "object": `{}`,
		"noon": `"2026-11-01T12:00:00Z"`, "us": `"11/01/2026"`, "no-such-day": `"2026-02-30"`,
	} {
		add("refused", "date/"+name, setTo("date", value))
	}

	add("unproven", "row/twice", func(row string) string { return row + "," + row })
	add("unproven", "row/missing", func(string) string { return "" })
	add("unproven", "row/cut", func(row string) string { return row[:len(row)/2] })
	add("refused", "row/null", func(string) string { return `null` })
	add("refused", "row/text", func(string) string { return `"row"` })
	add("refused", "row/number", func(string) string { return `7` })
	add("refused", "row/list", func(string) string { return `[1,2]` })
	add("refused", "row/empty-object", func(string) string { return `{}` })
	add("truth", "row/more-keys", withFirst(`"new_key":{"a":[1]},`))
	add("truth", "row/blanks", func(row string) string { return strings.ReplaceAll(row, `,"`, ",\n  \"") })
	slices.SortStableFunc(all, func(a, b damage) int { return strings.Compare(a.name, b.name) })
	return all
}

// damagedReport answers as the service does, but for one row of some days.
type damagedReport struct {
	next http.RoundTripper
	days map[string]damage // by day
	mu   sync.Mutex
	rows map[string]string // that were damaged, as the service sent them, by day
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
	if row == "" { // behind the last page
		return resp, nil
	}
	d.mu.Lock()
	d.rows[q.Get("start_date")] = row
	d.mu.Unlock()
	edited := ill.edit(row)
	if edited == "" { // with the comma behind it
		row += ","
	}
	body = bytes.Replace(body, []byte(row), []byte(edited), 1)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, nil
}

// paidRow is the row of a page with the most clicks.
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

// damagedWorld is an account with a damage on each of some of its finished days.
func damagedWorld(t *testing.T) (*quirkWorld, *damagedReport) {
	w := newQuirkWorld(t)
	w.page = 1000
	report := &damagedReport{next: w.service.Transport(), rows: map[string]string{}}
	w.transport = report
	return w, report
}

// TestDamagedRows_AreStoredTrueOrReported: of every way in which one row of a finished day may
// come differently, each leaves the day as the service holds it, or the run reports it with exit 4:
// nothing is hidden at exit 0, on the first read of a day and on a later one, and one read of
// the service as it is heals the day. By default it is every eighth way.
func TestDamagedRows_AreStoredTrueOrReported(t *testing.T) {
	all := rowDamages()
	if len(all) < 135 {
		t.Fatalf("%d ways of damaging a row", len(all))
	}
	const firstDay = 4 // days back from the reach: an unproven day on its last days is another exit code
	const perAccount = schema.ReachDays - firstDay
	for _, said := range []bool{false, true} {
		of := slices.DeleteFunc(slices.Clone(all), func(d damage) bool { return d.said() != said })
		n := 0
		of = slices.DeleteFunc(of, func(damage) bool { n++; return n%8 != 1 && !schematest.All() })
		for part := range slices.Chunk(of, perAccount) {
			t.Run(part[0].name, func(t *testing.T) {
				t.Parallel()
				w, report := damagedWorld(t)
				report.days = map[string]damage{}
				for i, d := range part {
					report.days[(schema.DateOf(noon) - schema.ReachDays + firstDay + schema.Date(i)).String()] = d
				}
				w.checkDamages(report, said, false)
				ill := report.days
				report.days = nil
				if res := w.sync(); res.Run.ExitCode != 0 || days(res) != allMatched {
					t.Errorf("healed: exit %d, %s: %s", res.Run.ExitCode, days(res), res.Run.Message.V)
				}
				report.days = ill
				w.checkDamages(report, said, true)
			})
		}
	}
}

// checkDamages syncs once and compares what became of each damaged day with what the table
// wants. stored tells that all days are stored as the service holds them.
func (w *quirkWorld) checkDamages(report *damagedReport, said, stored bool) {
	w.t.Helper()
	res := w.sync()
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
	failed := w.lines("SELECT unit || ' ' || outcome FROM ops.step WHERE stream = 'spend_report' AND _run_id = '" +
		run + "'")
	aside := w.lines("SELECT report_date || ' ' || field FROM ops.refused_row WHERE _run_id = '" + run + "'")
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
				want, state = "truth", "complete/matched" // its reply is in quarantine
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

// damagedDay compares the stored rows of a day with those that the service holds. sent is the
// row that was damaged on its way.
func (w *quirkWorld) damagedDay(day, sent string) string {
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

// verdictOf compares one stored row with the service's.
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

// spendOf returns what is stored of a day, in millionths of a dollar.
func (w *quirkWorld) spendOf(day string) (sum int64) {
	for _, r := range rowsOf(w, schema.SpendDaily, filepath.Join("account=acme", "day="+day)) {
		sum += int64(r.Spend)
	}
	return sum
}

// truthOf returns what the service holds.
func truthOf(w *quirkWorld, day string) int64 {
	sum, err := w.service.TruthSum(day)
	if err != nil {
		w.t.Error(err)
	}
	return sum.Spend
}
