package main

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/page"
	"spendsync/cmd/spendsync/pagedata"
	"spendsync/extract/adsim"
	"spendsync/load"
	"spendsync/load/duck"
	"spendsync/queries"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// reportTables are the numbers of a written report: table, key of the row, and the
// digits of its cells in order, NULL where the page says unknown.
func reportTables(t *testing.T, html string) map[string]map[string][]string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(regexp.MustCompile(`<meta ([^>]*)>`).ReplaceAllString(html, "<meta $1/>")))
	all := map[string]map[string][]string{}
	table, key := "", ""
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		attr := func(name string) string {
			i := slices.IndexFunc(e.Attr, func(a xml.Attr) bool { return a.Name.Local == name })
			if i < 0 {
				return ""
			}
			return e.Attr[i].Value
		}
		switch {
		case e.Name.Local == "table":
			table, key = attr("data-table"), ""
			if all[table] == nil {
				all[table] = map[string][]string{}
			}
		case e.Name.Local == "tr":
			key = attr("data-key")
			if _, ok := all[table][key]; key != "" && !ok {
				all[table][key] = nil
			}
		case table != "" && key != "" && e.Name.Local == "data":
			all[table][key] = append(all[table][key], attr("value"))
		case table != "" && key != "" && e.Name.Local == "td" && attr("class") == "n u":
			all[table][key] = append(all[table][key], "NULL")
		}
	}
}

// asOnPage spells the numbers of an answer as a page does: ratios to 12 digits.
func asOnPage(cells string) string {
	all := strings.Split(cells, "|")
	for i, c := range all {
		if n := page.ParseNumber(schema.Some(c)); n.Known {
			all[i] = n.Text
		}
	}
	return strings.Join(all, "|")
}

func (w *world) report(args ...string) string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "report.html")
	w.must(append([]string{"report", "--out", file}, args...)...)
	b, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// meddle changes settings as people at the dashboard do. The simulated spend ignores the changes,
// so that there is something to find. It returns the creatives that wait for review.
func meddle(service *adsim.Service) (reviewed []string, err error) {
	sets := []map[string]any{{"default_bid": "1.25"}, {"daily_spend_limit": "500"}, {"status": "paused"}}
	var changes []adsim.Change
	for _, id := range service.CampaignIDs() {
		s, err := service.Settings(id)
		if err != nil {
			return nil, err
		}
		if s.Status != "active" || len(changes) == len(sets) {
			continue
		}
		changes = append(changes, adsim.Change{Campaign: id, Set: sets[len(changes)], Force: true})
		for _, c := range s.Creatives {
			if c.Status == "active" && len(reviewed) < len(changes) {
				reviewed = append(reviewed, c.CreativeID)
			}
		}
	}
	for _, id := range reviewed {
		changes = append(changes, adsim.Change{Creative: id, Set: map[string]any{"status": "pending_review"},
			Force: true})
	}
	for _, c := range changes {
		if err := service.Change(c); err != nil {
			return nil, err
		}
	}
	return reviewed, nil
}

// TestReport_NumbersAreThoseOfTheQueries reads the numbers off the page and asks
// the warehouse for each of them.
func TestReport_NumbersAreThoseOfTheQueries(t *testing.T) {
	schematest.Long(t)
	w := newSyncedWorld(t)
	yesterday := (w.today() - 1).String()
	for _, r := range []adsim.Restatement{{Kind: "change", Row: 3}, {Kind: "delete", Row: 7}} {
		if _, err := w.service.Restate(yesterday, r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := meddle(w.service); err != nil {
		t.Fatal(err)
	}
	w.must("sync")
	file := filepath.Join(t.TempDir(), "report.html")
	if out := w.must("report", "--out", file); !strings.Contains(out, file) ||
		!strings.Contains(out, "account acme as of ") {
		t.Errorf("report says %q", out)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	html := string(written)
	tables := reportTables(t, html)
	for _, c := range []struct {
		table string
		least int
		ask   string // key, then the cells in the page's order
	}{
		{"coverage", 33, "SELECT report_date, spend, rows, days_until_unreachable FROM ops.day_coverage"},
		{"thresholds", 20, "SELECT name, value FROM mart.threshold"},
		{"campaigns", 1, `SELECT campaign_id, spend, conversions, cpa_expected, cpa_best_case, cpa_worst_case,
			target_cpa, cpa_to_target, excess_spend, cpa_change FROM mart.campaign_performance`},
		{"settlement", 0, `WITH s AS (FROM mart.settlement WHERE days_followed > 0 AND conversions_share > 0)
SELECT 'share', string_agg(conversions_share::VARCHAR, '|' ORDER BY age_days) FROM s UNION ALL
SELECT 'factor', string_agg((1 / conversions_share)::VARCHAR, '|' ORDER BY age_days) FROM s`},
		{"sources", 30, `SELECT p.campaign_id || ' ' || p.source_id, p.spend, p.clicks, p.conversions, p.cpa,
			p.cpa_best_case, p.cpa_worst_case, p.judged_cpa, coalesce(b.loss_per_day, j.loss_per_day)
FROM mart.source_performance AS p LEFT JOIN mart.source_block_candidates AS b USING (account_id, campaign_id, source_id)
LEFT JOIN mart.source_judgement AS j USING (account_id, campaign_id, source_id)`},
		{"bids", 40, `SELECT campaign_id || ' ' || source_id, bid_now, mean_bid, cpc, cpc_to_bid, cpc_at_target,
			clicks, conversions, spend FROM mart.bid_vs_cpc`},
		{"pacing", 1, `SELECT campaign_id, spend, daily_spend_limit, utilization, day_elapsed, projected_spend FROM
			mart.daily_pacing
WHERE report_date = (SELECT max(report_date) FROM mart.daily_pacing WHERE spend > 0 AND pacing_state NOT IN
('too_early', 'unknown', 'no_limit'))`},
		{"runway", 9, `WITH r AS (FROM mart.budget_runway) SELECT 'balance', balance::VARCHAR FROM r UNION ALL SELECT
			'stop', balance_stop::VARCHAR FROM r UNION ALL SELECT 'mean', mean_daily_spend::VARCHAR FROM r
UNION ALL SELECT 'days_mean', days_until_stop::VARCHAR FROM r UNION ALL SELECT 'full', full_limits_spend::VARCHAR
FROM r UNION ALL SELECT 'days_full', days_at_full_limits::VARCHAR FROM r
UNION ALL SELECT 'expected', expected_daily_spend::VARCHAR FROM r UNION ALL SELECT 'unlimited',
campaigns_without_limit::VARCHAR FROM r UNION ALL SELECT 'days_service', api_days_left::VARCHAR FROM r`},
		{"runs", 1, `SELECT _run_id, (epoch_us(finished_at) - epoch_us(started_at)) / 1e6, days_planned, days_proven,
			days_changed, restatements, requests, retries FROM ops.run`},
		{"checks", 15, "SELECT check_name, value, threshold FROM mart.data_quality WHERE unit <> 'hours'"},
	} {
		want := map[string]string{}
		for line := range strings.Lines(w.ask(c.ask)) {
			key, cells, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "|")
			want[key] = asOnPage(cells)
		}
		if len(tables[c.table]) < c.least {
			t.Errorf("%s: the page has %d rows, want %d at least", c.table, len(tables[c.table]), c.least)
		}
		for key, cells := range tables[c.table] {
			if got := strings.Join(cells, "|"); got != want[key] {
				t.Errorf("%s, %s: the page has %s, the warehouse %s", c.table, key, got, want[key])
			}
		}
	}
	if got, want := strings.Join(tables["restated"][yesterday], "|"), w.ask("SELECT spend_change, conversions_change "+
		"FROM mart.restatements"); got != want {
		t.Errorf("restated: the page has %s, the warehouse %s", got, want)
	}
	if got, want := len(tables["changes"]), w.ask("SELECT count(DISTINCT seen_at) FROM mart.change_log WHERE kind <> "+
		"'delivery'"); fmt.Sprint(got) != want || got == 0 {
		t.Errorf("the page has changes of %d looks, the warehouse of %s", got, want)
	}
	ofDay := map[string]string{}
	for line := range strings.Lines(w.ask("SELECT report_date, sum(spend), sum(conversions) FROM mart.campaign_day " +
		"GROUP BY report_date")) {
		day, sums, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "|")
		ofDay[day] = sums
	}
	for key, cells := range tables["spend"] {
		// Beside the sum stand its parts, the conversions, their cost, the limits and the campaigns without one.
		if got, want := cells[0]+"|"+cells[len(cells)-4], ofDay[key]; got != want {
			t.Errorf("spend and conversions of %s: the page has %s, the warehouse %s", key, got,
				want)
		}
	}
	if len(tables["spend"]) != 33 {
		t.Errorf("the page has %d days of spend, want 33", len(tables["spend"]))
	}
	// The same store answers what else there is to ask of a page.
	w.checkParts()
	if code, out, last := w.run("report", "--out", "-"); code != exit.OK || out != html {
		t.Errorf("the same warehouse gave another page, or none, on stdout: exit %d, %d bytes instead of %d, %s",
			code, len(out), len(html), last)
	}
	if len(html) > 1_000_000 {
		t.Errorf("the page has %d bytes", len(html))
	}
	if out := w.must("report", "--json", "--out", file); !strings.Contains(out, `"last_whole_day"`) ||
		!strings.Contains(out, `"bytes"`) {
		t.Errorf("report --json says %q", out)
	}
}

// checkParts holds that the campaigns with a colour and the rest are the whole day, and that
// views that are answered once say the same as views that are asked each time.
func (w *world) checkParts() {
	w.t.Helper()
	r, err := pagedata.Read(w.t.Context(), w.dir, "", load.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	var rows [2][]string
	for i, kept := range [][]duck.Kept{nil, pagedata.Kept} {
		s, err := duck.OpenSession(w.t.Context(), w.dir, duck.Options{})
		if err != nil {
			w.t.Fatal(err)
		}
		defer s.Close()
		if err := s.Keep(w.t.Context(), "acme", kept); err != nil {
			w.t.Fatal(err)
		}
		for _, v := range pagedata.Kept {
			if v.Where == "" {
				v.Where = "true"
			}
			a, err := s.Query(w.t.Context(), "FROM mart."+v.View+" WHERE "+v.Where+" ORDER BY ALL")
			if err != nil {
				w.t.Fatal(err)
			}
			for _, row := range a.Rows {
				text := v.View
				for _, cell := range row {
					if n, err := strconv.ParseFloat(cell.V, 64); err == nil {
						cell.V = fmt.Sprintf("%.9g", n) // sums of floats depend on the order of the rows
					}
					text += " " + cell.V
				}
				rows[i] = append(rows[i], text)
			}
		}
	}
	if diff := cmp.Diff(rows[0], rows[1]); diff != "" || len(rows[0]) < 100 {
		w.t.Errorf("views that are answered once say something else in %d rows:\n%s", len(rows[0]), diff)
	}
	for _, d := range r.Accounts[0].Spend.Days {
		sum := 0.0
		for _, p := range d.Parts {
			sum += p.V
		}
		if off := sum - d.Total.V; off > 1e-6 || off < -1e-6 {
			w.t.Errorf("%s: its parts differ from it by %g", d.Date, off)
		}
	}
	if h := r.Accounts[0].Headline; h.Spend.Text != w.ask("SELECT spend FROM ops.day_coverage WHERE state = "+
		"'complete' ORDER BY report_date DESC LIMIT 1") {
		w.t.Errorf("the last whole day cost %s on the page", h.Spend.Text)
	}
}

// TestReport_ReadsAgainOnlyWhatChanged: parts of an earlier page stand for the accounts that have not changed, and the
// page is the same as without them.
func TestReport_ReadsAgainOnlyWhatChanged(t *testing.T) {
	schematest.Long(t)
	w := newSyncedWorld(t)
	w.env["ACCOUNT"] = "beta"
	w.must("sync")
	asked, err := queries.Views(nil)
	if err != nil {
		t.Fatal(err)
	}
	o := load.Options{DuckDB: duck.Options{Views: viewsOf(asked)}}
	read := func(before []byte) (after []byte, keys map[string]json.RawMessage) {
		r, after, err := pagedata.ReadAgain(t.Context(), w.dir, o, before)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := pagedata.Read(t.Context(), w.dir, "", o)
		if diff := cmp.Diff(fresh, r); err != nil || diff != "" {
			t.Errorf("from parts it is another page: %v\n%s", err, diff)
		}
		text, err := gzip.NewReader(bytes.NewReader(after))
		if err == nil {
			err = json.NewDecoder(text).Decode(&keys)
		}
		if err != nil || len(keys) != 2 {
			t.Fatalf("%d parts, %v", len(keys), err)
		}
		return after, keys
	}
	first, before := read([]byte("not parts"))
	if again, _ := read(first); !bytes.Equal(again, first) {
		t.Error("the parts of the same generation differ")
	}
	w.must("sync")
	_, after := read(first)
	for key := range after {
		if _, is := before[key]; is {
			delete(after, key)
		}
	}
	if len(after) != 1 {
		t.Errorf("%d accounts were read again after the sync of one", len(after))
	}
}

func TestReport_RefusesWhatItCannotDo(t *testing.T) {
	w := newWorld(t)
	refused := func(want string, args ...string) {
		t.Helper()
		code, out, last := w.run(append([]string{"report"}, args...)...)
		if code != exit.Usage || out != "" || !strings.Contains(last, want) {
			t.Errorf("report %v: exit %d, %q, want %d with %q", args, code, last, exit.Usage, want)
		}
	}
	file := filepath.Join(t.TempDir(), "r.html")
	refused("sync", "--out", file) // nothing is published yet
	w.must("sync")
	refused("the warehouse has acme", "--account", "nobody", "--out", file)
	refused("spendsync's own files", "--out", filepath.Join(w.dir, "r.html"))
	refused("which one", "--json", "--out", "-")
	db, err := sql.Open("duckdb", filepath.Join(w.dir, "warehouse.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE OR REPLACE VIEW mart.restatements AS SELECT 1 AS other"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	refused("run 'spendsync rebuild'", "--out", file)
	if _, err := os.Stat(file); err == nil {
		t.Error("a refused report left a file")
	}
}
