package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/load/duck"
	"spendsync/queries"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// playedDemo runs a demo once for all tests, and returns the folder and the output of the demo. The environment of this
// run has the settings of another account.
var playedDemo = sync.OnceValues(func() (dir, printed string) {
	root, err := os.MkdirTemp("", "spendsync-played-demo-")
	if err != nil {
		panic(err)
	}
	removeAtExit = append(removeAtExit, root)
	dir = filepath.Join(root, "demo-data")
	var out bytes.Buffer
	code := run(context.Background(), []string{"demo", "--data-dir", dir, "--rows-per-day", "300"},
		[]string{"SPENDSYNC_REPORT_URL=https://real.example.com", "SPENDSYNC_ACCOUNT=real"}, &out, &out)
	return dir, fmt.Sprintf("%sexit %d", &out, code)
})

// demoStore returns the store of a demo.
func demoStore(t *testing.T) string {
	t.Helper()
	dir, printed := playedDemo()
	if !strings.HasSuffix(printed, "exit 0") {
		t.Fatal(printed)
	}
	return dir
}

// openStore opens a store, and returns a session and the day that is not over yet.
func openStore(t *testing.T, dir string) (*duck.Session, schema.Date) {
	t.Helper()
	s, err := duck.OpenSession(t.Context(), dir, duck.Options{Memory: "256MiB"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	a, err := s.Query(t.Context(), "SELECT max(today) FROM today")
	if err != nil {
		t.Fatal(err)
	}
	today, err := schema.ParseDate(a.Rows[0][0].V)
	if err != nil {
		t.Fatal(err)
	}
	return s, today
}

// TestExamples_Answer runs every example query that the store contains.
func TestExamples_Answer(t *testing.T) {
	schematest.Long(t) // TestQuery runs one example in eight
	session, _ := openStore(t, demoStore(t))
	examples, err := session.Query(t.Context(), "SELECT question, sql, answer FROM int.example")
	if err != nil {
		t.Fatal(err)
	}
	if len(examples.Rows) != len(queries.Asks())+len(queries.Examples()) || len(queries.Examples()) < 20 {
		t.Errorf("%d examples", len(examples.Rows))
	}
	mayBeEmpty := regexp.MustCompile(`missing|new|Tuesday`)
	for _, e := range examples.Rows {
		question, sql, answer := e[0].V, e[1].V, e[2].V
		a, err := session.Query(t.Context(), sql)
		columns, ready := strings.CutPrefix(answer, "columns ")
		if err != nil || len(a.Rows) == 0 && !ready && !mayBeEmpty.MatchString(question) {
			t.Errorf("%s: %d rows, %v\n%s", question, len(a.Rows), err, sql)
		}
		if ready {
			for name := range strings.SplitSeq(columns, ", ") {
				if !slices.Contains(a.Columns, name) {
					t.Errorf("%s: the answer has no column %s", question, name)
				}
			}
		}
	}
}

// TestFacts_StandUnderEveryAnswer: every answer ends with facts about the data: the time of the numbers, the day that
// is not over yet, the days of the question that are lost or known only in part, and the share of conversions that are
// still expected. A day that was last read before it was over is not in spend.
func TestFacts_StandUnderEveryAnswer(t *testing.T) {
	w := newWorld(t).withMarts().synced()
	if out := w.must("query", "yesterday", "--format", "table"); !strings.Contains(out,
		" How many conversions of 8 days are still to come is not known yet") || strings.Contains(out, "young") {
		t.Errorf("on the first day:\n%s", out)
	}
	half := w.today().String() // only its first hours are ever read
	w.service.Advance(36 * 24 * time.Hour)
	out := w.must("query", "-c", "SELECT 1 AS one", "--format", "table")
	if !strings.Contains(out, "; "+half+" was open then, and no later day is stored") {
		t.Errorf("36 days later, before a sync:\n%s", out)
	}
	if code, _, last := w.run("sync"); code != exit.DayAtRisk {
		t.Fatalf("exit %d: %s", code, last)
	}
	today := w.today().String()
	if got := w.ask(fmt.Sprintf("SELECT (SELECT count(*) FROM spend WHERE report_date = '%[1]s' OR is_open), (SELECT "+
		"count(*) > 0 FROM spend_daily WHERE report_date = '%[1]s'), (SELECT state_now FROM mart.coverage WHERE "+
		"report_date = '%[1]s')", half)); got != "0|true|incomplete" {
		t.Errorf("rows of the half day %s: %s", half, got)
	}
	if out := w.must("status"); !regexp.MustCompile(`lost +` + half).MatchString(out) {
		t.Errorf("status without the half day %s:\n%s", half, out)
	}
	const part = " Read only in part, and the rest is lost: "
	for _, tc := range []struct {
		args string
		lost bool
	}{
		{"last_week", false}, {"mart.campaign_day", true}, {"month", false},
		{"yesterday", false}, {"which_campaigns_pay", false}, {"mart.campaign_performance", false},
	}[:schematest.Times(3, 6, 6)] {
		out := w.must(append(append([]string{"query"}, strings.Fields(tc.args)...), "--format", "table")...)
		if !strings.Contains(out, "\nAs of "+today) || !strings.Contains(out, "; "+today+" is open.") ||
			strings.Contains(out, "Lost: ") != tc.lost || strings.Contains(out, part+half+".") != tc.lost ||
			strings.Contains(out, "Missing") || strings.Contains(out, "No day is missing.") == tc.lost {
			t.Errorf("%s: lost %v\n%s", tc.args, tc.lost, out)
		}
	}
	first := w.ask("SELECT min(report_date) FROM ops.day_coverage")
	for sql, says := range map[string]string{
		"SELECT sum(spend) AS spend FROM spend_daily":       " Lost: ",
		"SELECT DATE '2026-05-01' AS report_date":           " Not in the store, so unknown and not 0: 2026-05-01.",
		"SELECT max(report_date) AS report_date FROM spend": " No day is missing.",
		"SELECT '" + first + "'::DATE - 1 AS report_date":   " Not in the store, so unknown and not 0: ",
		"SELECT DATE '" + today + "' + 9 AS report_date":    " Not in the store, so unknown and not 0: ",
	} {
		if out := w.must("query", "-c", sql, "--format", "table"); !strings.Contains(out, says) {
			t.Errorf("%s:\n%s\nwant:%s", sql, out, says)
		}
	}
	_, stdout, stderr := w.execute(t.Context(), []string{"query", "-c",
		"SELECT max(report_date) AS report_date FROM spend", "--format", "csv"})
	if strings.Contains(stdout, "As of") || !strings.Contains(stderr, "As of "+today) {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
	file := filepath.Join(t.TempDir(), "answer.json")
	w.must("query", "-c", "SELECT max(report_date) AS report_date FROM spend", "--out", file)
	if b, err := os.ReadFile(file + companion); err != nil || !strings.HasPrefix(string(b), "As of "+today) ||
		!strings.Contains(string(b), "No day is missing.") {
		t.Errorf("the facts of a file are %q: %v", b, err)
	}
}

// TestFacts_OnConversionsStandWhereTheyConcern: the sentence about conversions that still arrive stands only under
// answers that have conversions of such days. If the answer does not show its days, the sentence names the days.
func TestFacts_OnConversionsStandWhereTheyConcern(t *testing.T) {
	dir := demoStore(t)
	for _, tc := range []struct{ sql, want string }{
		{"FROM campaign", ""}, // its target_cpa is a setting
		{"SELECT name, target_cpa FROM campaign", ""},
		{"SELECT report_date, sum(spend) AS spend FROM spend GROUP BY ALL", ""},
		{"SELECT report_date, conversions FROM spend WHERE false", ""},
		{"SELECT report_date, conversions FROM spend WHERE report_date = (SELECT min(report_date) FROM spend)", ""},
		{"SELECT report_date, conversions FROM spend",
			` Conversions of \d+ days are still arriving: \d+ % of them are to come\.`},
		{"SELECT sum(conversions) AS conversions FROM spend", ` If the answer has days from 20\d\d-\d\d-\d\d on, ` +
			`their conversions are still arriving: \d+ % of those of \d+ days are to come\.`},
	} {
		r, err := duck.Ask(t.Context(), dir, duck.Query{SQL: tc.sql, CaveatsAt: time.Unix(0, 0)},
			duck.Options{Memory: "256MiB"})
		if err != nil {
			t.Fatal(err)
		}
		facts := strings.Join(duck.CaveatLines(r.Caveats), "\n")
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if !regexp.MustCompile(`is open\. No day (since \S+ )?is missing\.` + tc.want + `$`).MatchString(facts) {
			t.Errorf("%s: %s", tc.sql, facts)
		}
	}
}

// TestConversionsExpected_AddUp: the sum over campaigns is the sum over the rows of spend, as the description of
// conversions_expected states.
func TestConversionsExpected_AddUp(t *testing.T) {
	s, _ := openStore(t, demoStore(t))
	a, err := s.Query(t.Context(), `SELECT sum(s.conversions_expected) > 0, abs(sum(s.conversions_expected)
		- (SELECT sum(p.conversions_expected) FROM mart.campaign_performance AS p)) < 0.000001
		FROM spend AS s JOIN (SELECT DISTINCT window_from, window_to FROM mart.campaign_performance) AS w
		ON s.report_date BETWEEN w.window_from AND w.window_to`)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Rows[0]; got[0].V != "true" || got[1].V != "true" {
		t.Errorf("positive, the same: %v", got)
	}
}

// TestFacts_OfAPartialDay: a day with a refused row is called partial, not missing. An answer that does not show its
// days names the first day of the store.
func TestFacts_OfAPartialDay(t *testing.T) {
	w := newWorld(t, small)
	day, since := (w.today() - 9).String(), ""
	w.service.Fail(adsim.Fault{Kind: adsim.WrongType, Column: "total_spend", Value: `"a lot"`,
		Query: "include_creatives=true", Day: day})
	want := func(code int, says string) {
		t.Helper()
		if got, _, last := w.run("sync"); got != code {
			t.Fatalf("exit %d: %s", got, last)
		}
		since = w.ask("SELECT min(report_date) FROM ops.day_coverage")
		says = strings.ReplaceAll(says, "SINCE", since)
		out := w.must("query", "-c", "SELECT count(*) AS n FROM spend_daily", "--format", "table")
		if !strings.Contains(out, says) {
			t.Errorf("%s\nwant %s", out, says)
		}
	}
	want(exit.Partial, " Read only in part so far: "+day+" ('spendsync query mart.coverage' says why).")
	if status := w.must("status"); !strings.Contains(status, day) {
		t.Errorf("status does not name %s:\n%s", day, status)
	}
	w.service.ClearFaults()
	want(exit.OK, " No day since SINCE is missing.")
}

// TestModels_ARebuildChangesNoRow: after several reads of the open day, each table of the models has the same rows as
// after a rebuild. The last reads find every day unchanged.
func TestModels_ARebuildChangesNoRow(t *testing.T) {
	w := newWorld(t, small).withMarts()
	w.env["REREAD_AFTER"] = "0s"
	replies, next := map[string]*httptest.ResponseRecorder{}, w.server.Config.Handler
	stands := false // each request for the report gets the reply that it got before
	w.server.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		reply := replies[r.URL.String()]
		if !stands || reply == nil || !strings.HasPrefix(r.URL.Path, adsim.ReportPrefix) {
			reply = httptest.NewRecorder()
			next.ServeHTTP(reply, r)
			replies[r.URL.String()] = reply
		}
		maps.Copy(out.Header(), reply.Header())
		out.WriteHeader(reply.Code)
		_, _ = out.Write(reply.Body.Bytes())
	})
	for hour := range 8 {
		stands = hour >= 4
		w.must("sync")
		w.service.Advance(50 * time.Minute)
	}
	if n := w.ask("SELECT count(*) >= 4 FROM ops.step WHERE outcome = 'unchanged' AND unit = '" + w.today().String() +
		"'"); n != "true" {
		t.Fatal("the open day was not read unchanged")
	}
	const content = "SELECT model, account_id, month, content FROM int.made WHERE content <> '' ORDER BY ALL"
	made := w.ask(content)
	w.must("repair", "rebuild")
	if again := w.ask(content); again != made {
		t.Error(cmp.Diff(made, again))
	}
}
