package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/xuri/excelize/v2"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/assistant"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// pageCells returns the values in a report, by the table (or "tiles"), the key of the row, and the heading. A number
// has all digits of the warehouse; an unknown value is "–".
func pageCells(t *testing.T, html string) map[string]map[string]map[string]string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(regexp.MustCompile(`<meta ([^>]*)>`).ReplaceAllString(html, "<meta $1/>")))
	all := map[string]map[string]map[string]string{}
	table, key, heading, value, inHead := "", "", 0, "", false
	var heads []string
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			attr := func(name string) string {
				i := slices.IndexFunc(e.Attr, func(a xml.Attr) bool { return a.Name.Local == name })
				if i < 0 {
					return ""
				}
				return e.Attr[i].Value
			}
			switch e.Name.Local {
			case "table":
				table, heads = attr("data-table"), nil
				all[table] = map[string]map[string]string{}
			case "thead", "tbody":
				inHead = e.Name.Local == "thead"
			case "tr":
				key, heading = attr("data-key"), 0
				if !inHead && table != "" {
					all[table][key] = map[string]string{}
				}
			case "ul":
				if attr("class") == "tiles" {
					table, heads = "tiles", []string{"label", "value"}
					all[table] = map[string]map[string]string{}
				}
			case "span":
				if table == "tiles" && attr("class") == "label" {
					key = ""
				}
			case "data":
				value = attr("value")
			}
			if e.Name.Local != "data" {
				value = ""
			}
			if e.Name.Local == "data" && table == "tiles" && all[table][key] == nil {
				all[table][key] = map[string]string{"value": value}
			}
		case xml.CharData:
			if table == "tiles" && key == "" && strings.TrimSpace(string(e)) != "" {
				key = strings.TrimSpace(string(e))
			}
			if value == "" {
				value = strings.TrimSpace(string(e))
			}
		case xml.EndElement:
			switch e.Name.Local {
			case "th", "td":
				if inHead {
					heads = append(heads, value)
				} else if table != "" && heading < len(heads) && all[table][key] != nil {
					all[table][key][heads[heading]] = value
					heading++
				}
				value = ""
			case "table", "ul":
				table = ""
			}
		}
	}
}

// demoAsks reads the demo's store in all the ways in which people read a store.
type demoAsks struct {
	t   *testing.T
	env []string
}

func (s demoAsks) run(args ...string) string {
	s.t.Helper()
	var out, errOut bytes.Buffer
	if code := run(s.t.Context(), args, s.env, &out, &errOut); code != exit.OK {
		s.t.Fatalf("%s: exit %d: %s", strings.Join(args, " "), code, errOut.String())
	}
	return out.String()
}

// rows returns the rows of a CSV text, as maps by column.
func (s demoAsks) rows(text string) (all []map[string]string) {
	s.t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) == 0 {
		s.t.Fatalf("%v: %s", err, text)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		all = append(all, row)
	}
	return all
}

func (s demoAsks) ask(args ...string) []map[string]string {
	s.t.Helper()
	return s.rows(s.run(append([]string{"query", "--format", "csv"}, args...)...))
}

// workbook returns the rows of a ready question's answer as a workbook.
func (s demoAsks) workbook(question string) (all []map[string]string) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "answer.xlsx")
	s.run("query", question, "--out", file)
	f, err := excelize.OpenFile(file, excelize.Options{RawCellValue: true})
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	lines, err := f.GetRows(f.GetSheetName(0))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, v := range line {
			row[lines[0][i]] = v
		}
		all = append(all, row)
	}
	return all
}

// TestReport_NumbersAgreeEverywhere compares each number in all places that show it: the page, the ready question, the
// view, the workbook, the finding in a notice, and the assistant.
func TestReport_NumbersAgreeEverywhere(t *testing.T) {
	schematest.Long(t)
	dir, _ := playedDemo()
	s := demoAsks{t, []string{"SPENDSYNC_DATA_DIR=" + dir, "SPENDSYNC_ACCOUNT=demo"}}
	html := s.run("report", "--out", "-")
	page := pageCells(t, html)
	byKey := func(rows []map[string]string, keys ...string) map[string]map[string]string {
		all := map[string]map[string]string{}
		for _, r := range rows {
			var key []string
			for _, k := range keys {
				key = append(key, r[k])
			}
			all[strings.Join(key, " ")] = r
		}
		return all
	}
	compared := 0
	// same checks that numbers are equal when rounded to the fewest decimals among them. Unknown values are equal to
	// each other.
	same := func(what string, values ...string) {
		t.Helper()
		compared++
		decimals, known := 6, 0
		var numbers []float64
		for _, v := range values {
			n, err := strconv.ParseFloat(v, 64)
			if err != nil {
				continue
			}
			known++
			numbers = append(numbers, n)
			_, fraction, _ := strings.Cut(v, ".")
			decimals = min(decimals, len(fraction))
		}
		if known != 0 && known != len(values) {
			t.Errorf("%s: %q", what, values)
			return
		}
		for _, n := range numbers {
			if math.Abs(n-numbers[0]) > 0.501*math.Pow(10, -float64(decimals)) {
				t.Errorf("%s: %q", what, values)
			}
		}
	}

	// The tiles about the last week, the balance and the month.
	week, month, runway := s.ask("last_week", "--param", "rows=100"), s.ask("month")[0], s.ask("runway")[0]
	view := week[0]
	sum := func(a, b string) string {
		x, _ := strconv.ParseFloat(a, 64)
		y, err := strconv.ParseFloat(b, 64)
		if err != nil {
			return ""
		}
		return strconv.FormatFloat(x+y, 'f', 6, 64)
	}
	book := byKey(s.workbook("last_week"), "campaign_name")
	same("spend of the week", page["tiles"]["Spend"]["value"], week[0]["spend"], view["spend"],
		book["all campaigns"]["spend"])
	// ofSpend returns sums of main.spend, computed with plain SQL.
	ofSpend := func(from, to, by string) map[string]map[string]string {
		return byKey(s.ask("-c", fmt.Sprintf("SELECT %s AS campaign_id, sum(spend) AS spend, "+
			"sum(conversions_expected) AS conversions, sum(spend) / nullif(sum(conversions_expected), 0) AS cpa, "+
			"sum(revenue) AS revenue, sum(profit_expected) AS profit FROM spend "+
			"WHERE report_date BETWEEN '%s' AND '%s' GROUP BY 1 HAVING sum(spend) > 0", by, from, to)), "campaign_id")
	}
	whole := ofSpend(view["window_from"], view["window_to"], "'all'")["all"]
	same("profit of the week", page["tiles"]["Profit"]["value"], view["profit_expected"], whole["profit"])
	same("revenue of the week", page["tiles"]["Revenue"]["value"], sum(view["spend"], view["profit_expected"]))
	same("days of money", page["tiles"]["Money left"]["value"], runway["days_until_stop"],
		s.assistant("runway")[""]["days_until_stop"], s.workbook("runway")[0]["days_until_stop"])
	same("spend of the month", page["tiles"]["Month"]["value"], month["spend"], s.ask("-c",
		"SELECT sum(spend) AS spend FROM spend WHERE "+
			"report_date >= (SELECT month_from FROM today) AND report_date <= (SELECT last_whole_date FROM "+
			"today)")[0]["spend"])
	for name, shown := range map[string]string{"spend": "▼ −", "CPA": ", "} { // the tiles show changes as words
		column := map[string]string{"spend": "spend_a_day_change", "CPA": "cpa_change"}[name]
		n, err := strconv.ParseFloat(view[column], 64)
		if text := fmt.Sprintf("%.1f %%", math.Abs(100*n)); err != nil || math.Abs(n) < 0.0995 &&
			!strings.Contains(html, text) {
			t.Errorf("the change of %s is %s, and the page has no %q (%s)", name, view[column], text, shown)
		}
	}

	// Each campaign.
	pays, performance := byKey(s.ask("which_campaigns_pay"), "campaign_id"), byKey(s.ask("-c",
		"SELECT * FROM mart.campaign_performance"), "campaign_id")
	book = byKey(s.workbook("which_campaigns_pay"), "campaign_id")
	told := s.assistant("which_campaigns_pay")
	shown := page["a1-campaigns-1"]
	window := s.ask("-c", "SELECT DISTINCT window_from, window_to FROM mart.campaign_performance")[0]
	for id, row := range ofSpend(window["window_from"], window["window_to"], "campaign_id") {
		for of, column := range map[string]string{"conversions": "conversions_expected", "cpa": "cpa_expected",
			"profit": "profit_expected", "revenue": "revenue", "spend": "spend"} {
			same(id+" "+column+" of main.spend", row[of], performance[id][column])
		}
	}
	for id, row := range performance {
		if shown[id] == nil {
			continue
		}
		for heading, column := range map[string]string{"Spend": "spend", "CPA": "cpa_expected",
			"Profit": "profit_expected",
			"ROI":    "roi_expected", "CPA change": "cpa_change",
			"Conv.": "conversions_expected"} {
			same(id+" "+column, shown[id][heading], pays[id][column], row[column], book[id][column], told[id][column])
		}
		// Dividing one shown cell of a row by another must give the third, within the rounding of the cells.
		var n [3]float64
		for i, heading := range []string{"Spend", "Conv.", "CPA"} {
			n[i], _ = strconv.ParseFloat(shown[id][heading], 64)
		}
		if cpa := n[0] / n[1]; n[1] > 0 && math.Abs(cpa-n[2]) > 0.01+cpa*0.1/n[1] {
			t.Errorf("%s: $%v for %v conversions, and a CPA of $%v", id, n[0], n[1], n[2])
		}
		if shown[id]["Verdict"] != strings.ReplaceAll(row["verdict"], "_", " ") ||
			row["verdict"] != pays[id]["verdict"] {
			t.Errorf("%s %q on the page, %s in its view, %s in the question", id, shown[id]["Verdict"], row["verdict"],
				pays[id]["verdict"])
		}
	}
	if len(shown) < 10 {
		t.Errorf("the page has %d campaigns", len(shown))
	}
	same("CTR of all campaigns", shown["all campaigns"]["CTR"], s.ask("-c",
		"SELECT sum(clicks) / sum(impressions) AS ctr FROM mart.campaign_performance")[0]["ctr"])
	same("change of the CPA of all campaigns", shown["all campaigns"]["CPA change"], week[0]["cpa_change"])

	// Both lists of changes reach back to the same day, so the answer of the question has every change with a known
	// effect that the page has.
	effects := 0
	asked := s.ask("settings_changed", "--param", "rows=1000")
	for key, row := range page["a1-changed-1"] {
		if row["Effect"] != "dearer" && row["Effect"] != "cheaper" {
			continue
		}
		effects++
		at := slices.IndexFunc(asked, func(r map[string]string) bool {
			return r["at_stake"] != "" && strings.HasPrefix(key, r["campaign_id"]+r["seen_on"])
		})
		if at < 0 {
			t.Errorf("settings_changed lacks %s of the page", key)
			continue
		}
		same(key, strings.TrimPrefix(row["Effect a day"], "-"), asked[at]["at_stake"])
	}
	if effects < 2 {
		t.Errorf("the page has %d changes of known effect", effects)
	}

	// The campaigns with changes, the sources to block, the campaigns at a limit, and the creatives whose rates fell.
	byCampaign := byKey(week, "campaign_id")
	for id, row := range page["a1-changed-2"] {
		same(id+" spend of the week", row["Last week"], byCampaign[id]["spend"])
		same(id+" change of the CPA", row["CPA at equal age"], byCampaign[id]["cpa_change"])
	}
	candidates := byKey(s.ask("sources_to_block", "--param", "rows=1000"), "campaign_id", "source_id")
	blocks := byKey(s.workbook("sources_to_block"), "campaign_id", "source_id")
	for key, row := range page["a1-sources-1"] {
		if book := blocks[key]; book != nil {
			same(key+" spend in the workbook", row["Spend"], book["spend"])
		}
		same(key+" at stake", row["At stake a day"], candidates[key]["loss_per_day"])
		same(key+" spend", row["Spend"], candidates[key]["spend"])
	}
	named := s.ask("-c", "SELECT count(DISTINCT source_id) AS n, count(*) AS pairs FROM "+
		"mart.source_block_candidates")[0]
	if !strings.Contains(html, named["n"]+" sources") || fmt.Sprint(len(candidates)) != named["pairs"] {
		t.Errorf("%s different sources are to be blocked in %s pairs; the page does not say so, or the question "+
			"has %d", named["n"], named["pairs"],
			len(candidates))
	}
	for _, l := range s.ask("-c", "FROM int.campaign_limit WHERE days_limited > 0") {
		if text := fmt.Sprintf("“%s” on %s", l["campaign_name"], l["days_limited"]); !strings.Contains(html, text) {
			t.Errorf("the page does not say that %s", text)
		}
	}
	// The page has cards for active creatives only, at most eight.
	for _, f := range s.ask("-c", "SELECT creative_id, verdict FROM mart.creative_fatigue WHERE verdict = "+
		"'fell_with_campaign' AND status = 'active' ORDER BY decline DESC, creative_id LIMIT 2") {
		if !strings.Contains(html, `data-key="`+f["creative_id"]+`"`) {
			t.Errorf("%s fell with its campaign, and has no card", f["creative_id"])
		}
	}

	// The tables of all other sections: the question, the columns that form the key, and the column for each heading.
	for _, c := range []struct {
		table    string
		asked    []string
		key      []string
		headings map[string]string
	}{
		{"a1-spend-2", []string{"spend_by_day", "--param", "days=60"}, []string{"report_date"},
			map[string]string{"Spend": "spend", "Conversions so far": "conversions"}},
		{"a1-spend-2", []string{"-c", "SELECT report_date, sum(spend) AS spend, sum(conversions) AS conversions FROM " +
			"spend WHERE is_complete GROUP BY ALL"}, []string{"report_date"},
			map[string]string{"Spend": "spend", "Conversions so far": "conversions"}},
		{"a1-sources-3", []string{"mart.source_performance"}, []string{"campaign_id", "source_id"},
			map[string]string{"Spend": "spend", "CPA": "cpa", "Profit so far": "profit_so_far",
				"Measured by": "judged_cpa"}},
		{"a1-today-2", []string{"-c", "SELECT DISTINCT ON (campaign_id) * FROM mart.daily_pacing WHERE spend > 0 " +
			"ORDER BY campaign_id, report_date DESC"}, []string{"campaign_id"},
			map[string]string{"Spend": "spend", "Limit": "daily_spend_limit", "Expected": "projected_spend"}},
		{"a1-money-2", []string{"-c", "SELECT 'balance' AS key, balance AS v FROM account UNION ALL SELECT " +
			"'expected', expected_daily_spend FROM mart.budget_runway"}, []string{"key"},
			map[string]string{"US dollars": "v"}},
		{"a1-bids-1", []string{"mart.bid_vs_cpc"}, []string{"campaign_id", "source_id"},
			map[string]string{"Bid now": "bid_now", "CPC": "cpc", "Best bid": "best_bid", "Spend": "spend"}},
		{"a1-restated-1", []string{"int.settlement"}, []string{"age_days"},
			map[string]string{"Conversions there": "conversions_share", "Spend there": "spend_share"}},
		{"a1-days-1", []string{"mart.coverage"}, []string{"report_date"},
			map[string]string{"Spend": "spend", "Rows": "rows"}},
		{"a1-sync-1", []string{"-c", "FROM ops.run"}, []string{"_run_id"},
			map[string]string{"Restatements": "restatements"}},
		{"a1-sync-2", []string{"mart.data_quality"}, []string{"check_name"}, map[string]string{"Found": "value"}},
		{"a1-thresholds-0", []string{"int.threshold"}, []string{"name"}, map[string]string{"Value": "value"}},
	} {
		if len(page[c.table]) == 0 {
			t.Errorf("the page has no table %s", c.table)
		}
		found := 0
		for key, r := range byKey(s.ask(c.asked...), c.key...) {
			for heading, column := range c.headings {
				if row := page[c.table][key]; row != nil {
					found++
					same(c.table+" "+key+" "+heading, row[heading], r[column])
				}
			}
		}
		if found == 0 && c.headings != nil {
			t.Errorf("%v has no row of %s", c.asked, c.table)
		}
	}

	// The money at stake in the first three entries of the list of things to do, and the cards of creatives.
	stakes := regexp.MustCompile(`<b class="stake">at stake: \$([0-9,.]+) a day</b>`).FindAllStringSubmatch(
		html[strings.Index(html, "Do this first"):strings.Index(html, "What changed, and what came")], -1)
	var wanted []string
	for _, r := range s.ask("-c", "SELECT at_stake FROM (FROM mart.to_do ORDER BY place_no LIMIT 3) WHERE at_stake IS "+
		"NOT NULL") {
		wanted = append(wanted, r["at_stake"])
	}
	if len(stakes) != len(wanted) || len(stakes) == 0 {
		t.Fatalf("%d amounts are at stake on the page, %d in mart.to_do", len(stakes), len(wanted))
	}
	for i, m := range stakes {
		same("at stake", strings.ReplaceAll(m[1], ",", ""), wanted[i])
	}
	fatigue := byKey(s.ask("mart.creative_fatigue"), "creative_id")
	card := regexp.MustCompile(`<li data-key="([^"]+)">.*<dt>CTR now</dt><dd><data value="([^"]+)">`)
	cards := card.FindAllStringSubmatch(html, -1)
	for _, m := range cards {
		same("CTR of "+m[1], m[2], fatigue[m[1]]["ctr_recent"])
	}
	if len(cards) == 0 {
		t.Error("the page has no card of a creative")
	}

	// The numbers in notices are also in the page's list of things to do.
	costs := regexp.MustCompile(`a conversion costs \$([0-9.]+)`)
	lasts := regexp.MustCompile(`lasts to (\d{4}-\d\d-\d\d) `)
	for _, f := range s.ask("int.findings") {
		if f["kind"] == "loses" {
			for _, cost := range costs.FindAllStringSubmatch(f["happened"], -1) {
				same("CPA in the finding", cost[1], performance[f["place"]]["cpa_expected"])
			}
		}
		if f["kind"] == "runway" {
			last := lasts.FindStringSubmatch(f["happened"])
			at, _ := time.Parse(time.RFC3339, runway["stops_at"])
			if last == nil || last[1] != at.In(schema.Chicago()).Format(time.DateOnly) {
				t.Errorf("the finding %q, and the money lasts to %s", f["happened"], runway["stops_at"])
			}
		}
	}
	if compared < 200 {
		t.Errorf("%d numbers were compared, want 200", compared)
	}
	t.Logf("%d numbers agree", compared)
}

// assistant returns the rows of a ready question as an assistant gets them, by campaign.
func (s demoAsks) assistant(question string) map[string]map[string]string {
	s.t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), os.Args[0], "mcp")
	cmd.Env = append(append(os.Environ(), s.env...), "TEST_PROCESS=spendsync", "TEST_NOW="+"2026-11-24T17:00:00Z")
	client, err := mcp.NewClient(&mcp.Implementation{Name: "assistant", Version: "1"}, nil).Connect(s.t.Context(),
		&mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	r, err := client.CallTool(s.t.Context(), &mcp.CallToolParams{Name: "ask",
		Arguments: map[string]any{"name": question}})
	if err != nil || r.IsError {
		s.t.Fatalf("%v %v", err, r)
	}
	var a assistant.Answer
	if err := json.Unmarshal([]byte(r.Content[0].(*mcp.TextContent).Text), &a); err != nil {
		s.t.Fatal(err)
	}
	all := map[string]map[string]string{}
	for _, raw := range a.Rows {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var row map[string]any
		if err := d.Decode(&row); err != nil {
			s.t.Fatal(err)
		}
		texts := map[string]string{}
		for k, v := range row {
			if v != nil {
				texts[k] = fmt.Sprint(v)
			}
		}
		all[texts["campaign_id"]] = texts
	}
	return all
}

// TestReport_TellsTheStory: the demo's page names the past break, the changes that people made and their results, and
// the limit that restricts a campaign.
func TestReport_TellsTheStory(t *testing.T) {
	dir, _ := playedDemo()
	s := demoAsks{t, []string{"SPENDSYNC_DATA_DIR=" + dir, "SPENDSYNC_ACCOUNT=demo"}}
	file := filepath.Join(t.TempDir(), "report.html")
	if out := s.run("report", "--out", file); !strings.Contains(out, file) || !strings.Contains(out,
		"account demo as of ") {
		t.Errorf("report says %q", out)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	html := string(written)
	text := regexp.MustCompile(`<[^>]+>`).ReplaceAllString(html, " ")
	for _, want := range []string{"conversions stopped", "default bid ", "daily spend limit ", "broken before"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := strings.Count(text, "vs. the 7 days before"); n != 4 {
		t.Errorf("%d tiles have what their change is against, want 4", n)
	}
	_, changes, _ := strings.Cut(html, `data-table="a1-changed-1"`)
	changes, _, _ = strings.Cut(changes, "</table>")
	if !strings.Contains(changes, "too few conversions") || strings.Contains(changes, ">unclear<") {
		t.Errorf("the effect of a change is unclear without a reason:\n%s", changes)
	}
	if strings.Contains(text, "(C1") {
		t.Error("the page has an ID beside a name that no other campaign has")
	}
	if schematest.All() {
		if out := s.run("report", "--out", "-"); out != html {
			t.Errorf("the same warehouse gave another page on stdout: %d bytes instead of %d", len(out), len(html))
		}
	}
	if out := s.run("report", "--json", "--out", file); !strings.Contains(out, `"last_whole_day"`) ||
		!strings.Contains(out, `"bytes"`) {
		t.Errorf("report --json says %q", out)
	}
	if len(html) > 700_000 {
		t.Errorf("the page has %d bytes", len(html))
	}
}

func TestReport_RefusesWhatItCannotDo(t *testing.T) {
	w := newWorld(t).withMarts()
	refused := func(want string, args ...string) {
		t.Helper()
		code, out, last := w.run(append([]string{"report"}, args...)...)
		if code != exit.Usage || out != "" || !strings.Contains(last, want) {
			t.Errorf("report %v: exit %d, %q, want %d with %q", args, code, last, exit.Usage, want)
		}
	}
	file := filepath.Join(t.TempDir(), "r.html")
	refused("sync", "--out", file) // nothing is published yet
	w.synced()
	refused("the warehouse has acme", "--account", "nobody", "--out", file)
	refused("spendsync's own files", "--out", filepath.Join(w.dir, "r.html"))
	refused("which one", "--json", "--out", "-")
	w.must("report", "--out", file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("duckdb", filepath.Join(w.dir, "warehouse.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE int.made SET inputs = 'other' WHERE model = 'models'"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	refused("'spendsync repair rebuild'", "--out", file)
	if _, err := os.Stat(file); err == nil {
		t.Error("a refused report left a file")
	}
}

// TestReport_OfTheFirstDay: while it is not known how many conversions are still to come, the page shows the
// conversions so far, and says when the rest will be known.
func TestReport_OfTheFirstDay(t *testing.T) {
	w := newWorld(t).withMarts().synced()
	html := w.must("report", "--out", "-")
	tile := regexp.MustCompile(`(?s)<span class="label">Conversions</span>.*?</li>`).FindString(html)
	if !regexp.MustCompile(`<data value="[1-9]`).MatchString(tile) ||
		!strings.Contains(tile, "so far; how many are to come is known from the second day of syncs on") {
		t.Errorf("the tile of conversions is %s", tile)
	}
	if strings.Contains(html, "count those to come in") {
		t.Error("the page counts conversions to come, of which nothing is known")
	}
}
