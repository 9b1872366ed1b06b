package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/answer"
	"spendsync/load/duck"
	"spendsync/schema/schematest"
)

// TestQuery asks questions of one published warehouse. No question changes the warehouse.
func TestQuery(t *testing.T) {
	w := newWorld(t).withMarts().synced()
	for name, test := range map[string]func(*testing.T, *world){
		"AnswersEveryQuestionThatItLists": queryAnswersEveryQuestionThatItLists,
		"RefusesAndSaysWhy":               queryRefusesAndSaysWhy,
		"FormatsKeepEveryValue":           queryFormatsKeepEveryValue,
		"TerminalsAreNotCommanded":        queryTerminalsAreNotCommanded,
		"ShowsLongAnswersInBlocks":        queryShowsLongAnswersInBlocks,
		"WritesFilesWhole":                queryWritesFilesWhole,
		"AsAProcess":                      queryAsAProcess,
		"StoppedBySignal":                 queryStoppedBySignal,
		"IsBounded":                       queryIsBounded,
	} {
		t.Run(name, func(t *testing.T) {
			own := *w
			own.t = t
			test(t, &own)
		})
	}
}

func queryAnswersEveryQuestionThatItLists(t *testing.T, w *world) {
	var list answer.Listing
	if err := json.Unmarshal([]byte(w.must("query", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Asks) > 15 || len(list.Asks) < 10 || len(list.Views) < 10 || len(list.Views)+len(list.Tables) > 31 ||
		len(list.Tables) < 10 || len(list.Macros) == 0 {
		t.Fatalf("%d asks, %d views, %d tables, %d macros", len(list.Asks), len(list.Views), len(list.Tables),
			len(list.Macros))
	}
	shown := w.must("query", "--all")
	macroArguments := map[string]string{"instant": "2026-03-08 12:00:00+00", "from_date": (w.today() - 20).String(),
		"to_date": w.today().String(), "day": w.today().String()}
	for i, q := range slices.Concat(list.Asks, list.Views, list.Tables, list.Macros) {
		if !strings.Contains(shown, q.Name) || !strings.Contains(shown, q.Question) || q.Trap == "" {
			t.Errorf("the list for people lacks %s: %s", q.Name, q.Question)
		}
		if strings.HasPrefix(q.Name, "mart.") && q.Name != "mart.source_performance" {
			continue // the ready questions and the tests of package queries read these
		}
		args := []string{"query", q.Name}
		for _, p := range q.Parameters {
			if p.Default == nil {
				args = append(args, "--param", p.Name+"="+macroArguments[p.Name])
			} else if p.Meaning == "" || !strings.Contains(shown, "--param "+p.Name+"="+*p.Default) {
				t.Errorf("%s: the parameter %s is not explained", q.Name, p.Name)
			}
		}
		if i%8 != 0 && !schematest.All() {
			continue // TestExamples_Answer and the tests of package queries run the others
		}
		if head, _, ok := strings.Cut(w.must(args...), "\n"); !ok || head == "" {
			t.Errorf("%s: no heading", q.Name)
		}
	}
	// A view can be named without the schema, and a ready question accepts parameters.
	if w.must("query", "mart.source_performance") != w.must("query", "source_performance") {
		t.Error("source_performance is not mart.source_performance")
	}
	if lines := strings.Count(w.must("query", "spend_by_day", "--param", "days=3"), "\n"); lines != 5 {
		t.Errorf("%d lines for 3 days, the open one and a heading", lines)
	}
}

func queryRefusesAndSaysWhy(t *testing.T, w *world) {
	notThere := filepath.Join(w.dir, "..", "nowhere", "x.csv")
	before := w.hashes("")
	for _, c := range []struct {
		args string // separated by bars
		says []string
	}{
		{"query|nonsense", []string{`no question "nonsense"`, "'spendsync query' lists"}},
		{"query|last_wek", []string{`no question "last_wek"; did you mean last_week?`}},
		{"query|spend_by_day|--rows|5|--format|csv", []string{"--rows", "LIMIT"}},
		{"query|spend_by_day|last_week", []string{"one NAME or -c SQL"}},
		{"query|spend_by_day|-c|SELECT 1", []string{"one NAME or -c SQL"}},
		{"query|SELECT 1", []string{`"SELECT 1"`}},
		{"query|--format|csv", []string{"which question"}},
		{"query|-c|", []string{"--command is empty"}},
		{"query|-c| ", []string{"no SQL"}},
		{"query|-c|SELECT 1|--param|a=1", []string{"a=1", "no parameters"}},
		{"query|spend_by_day|--param|weeks=1", []string{"weeks", "it has days"}},
		{"query|spend_by_day|--param|days=soon", []string{"days=soon", "whole number", "7"}},
		{"query|spend_by_day|--param|days=-1", []string{"days=-1"}},
		{"query|spend_by_day|--param|days=1|--param|days=2", []string{"days", "twice"}},
		{"query|spend_by_day|--param|days", []string{"days", "name=value"}},
		{"query|sources_to_block|--param|min_spend=much", []string{"min_spend=much"}},
		{"query|mart.source_performance|--param|days=1", []string{"no parameters"}},
		{"query|campaigns_asof", []string{"--param instant="}},
		{"query|campaigns_asof|--param|instant=yesterday", []string{"yesterday", "an instant"}},
		{"query|campaign_at|--param|day=soon", []string{"day=soon", "a day"}},
		{"query|-c|SELECT 1|--format|xml", []string{"xml", "parquet"}},
		{"query|-c|SELECT 1|--json|--format|csv", []string{"which one counts"}},
		{"query|-c|SELECT 1|--raw|--format|json", []string{"--raw"}},
		{"query|-c|SELECT 1|--out|" + notThere, []string{notThere}},
		{"query|-c|SELECT 1|--out|" + w.dir + "/x.csv", []string{w.dir, "own files"}},
		{"query|-c|SELECT 1|--out|" + w.dir + "/parquet/x.csv", []string{"own files"}},
		{"query|-c|SELECT 1|--out|/dev/null", []string{"/dev/null", "stdout"}},
		{"query|-c|SELEC 1", []string{"Parser Error", `"SELEC"`}},
		{"query|-c|SELECT nope FROM spend_daily", []string{"nope", "Candidate"}},
		{"query|-c|SELECT 'a\x1b[31m'::INTEGER", []string{`a\x1b[31m`}},
		{"query|-c|DELETE FROM spend_daily", []string{"read-only"}},
		{"query|-c|SELECT 1; SELECT 2", []string{"one at a time"}},
		{"query|-c|FROM read_csv('/etc/passwd')", []string{"read_csv"}},
		{"query|-c|FROM '/etc/passwd.csv'", []string{"/etc/passwd.csv"}},
	} {
		code, out, last := w.run(strings.Split(c.args, "|")...)
		if code != exit.Usage || out != "" {
			t.Errorf("%s: exit %d, %q: %s", c.args, code, out, last)
		}
		for _, s := range c.says {
			if !strings.Contains(last, s) {
				t.Errorf("%s: the last line lacks %q: %s", c.args, s, last)
			}
		}
		if strings.Contains(last, "\x1b") {
			t.Errorf("%s: the last line commands the terminal", c.args)
		}
	}
	if diff := cmp.Diff(before, w.hashes("")); diff != "" {
		t.Errorf("the store changed:\n%s", diff)
	}
	w.must("verify")
}

func TestQuery_OfNothingSaysToSync(t *testing.T) {
	w := newWorld(t)
	if code, _, last := w.run("query", "spend_by_day"); code != exit.Usage ||
		!strings.Contains(last, "spendsync sync") || !strings.Contains(last, w.dir) {
		t.Errorf("exit %d: %s", code, last)
	}
	if _, err := os.Stat(w.dir); err == nil {
		t.Error("asking made the folder")
	}
	w.must("query") // the list needs no store
}

// withoutFacts returns an answer up to its facts.
func withoutFacts(answer string) string {
	answer, _, _ = strings.Cut(answer, "\nAs of ")
	answer, _, _ = strings.Cut(answer, "\n> As of ")
	return answer
}

// hostile returns one row with values that break careless formats, and one row of NULLs.
const hostile = `SELECT * FROM (VALUES
	('=HYPERLINK("http://evil","x")', '<script>alert(1)</script>', 'a,b|c' || chr(10) || 'd"e', chr(27) || '[31mred'
	|| chr(8238) || 'evil' || chr(155), '', 9007199254740993, 12345678901234567890.123456::DECIMAL(38,6),
	-0.5::DECIMAL(2,2), 0.1::DOUBLE, 'nan'::DOUBLE, TIMESTAMPTZ '2026-03-08 01:59:59.5-06', DATE '2026-03-08', true,
	['é', NULL]),
	(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
) AS t(formula, html, punctuation, terminal, empty, big, money, less, fraction, nan, moment, day, flag, list)`

func queryFormatsKeepEveryValue(t *testing.T, w *world) {
	for format, want := range map[string]string{
		"csv": "formula,html,punctuation,terminal,empty,big,money,less,fraction,nan,moment,day,flag,list\n" +
			`"'=HYPERLINK(""http://evil"",""x"")",<script>alert(1)</script>,"a,b|c` + "\n" + `d""e",` +
			"\x1b[31mred\u202eevil\u009b" +
			`,"",9007199254740993,12345678901234567890.123456,-0.50,0.1,nan,2026-03-08T07:59:59.5Z,2026-03-08,true,` +
			`"[""é"",null]"` + "\n" +
			",,,,,,,,,,,,,\n",
		"json": "[\n" +
			`{"formula":"=HYPERLINK(\"http://evil\",\"x\")","html":"<script>alert(1)</script>","punctuation":"a,` +
			`b|c\nd\"e","terminal":"\u001b[31mred` + "\u202eevil\u009b" + `","empty":"",` +
			`"big":9007199254740993,"money":12345678901234567890.123456,"less":-0.50,"fraction":0.1,"nan":"nan",` +
			`"moment":"2026-03-08T07:59:59.5Z","day":"2026-03-08","flag":true,"list":["é",null]},` + "\n" +
			`{"formula":null,"html":null,"punctuation":null,"terminal":null,"empty":null,"big":null,"money":null,` +
			`"less":null,"fraction":null,"nan":null,"moment":null,"day":null,"flag":null,"list":null}` + "\n]\n",
	} {
		if diff := cmp.Diff(want, withoutFacts(w.must("query", "-c", hostile, "--format", format))); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
	if raw := w.must("query", "-c", hostile, "--raw"); !strings.Contains(raw, "\n\"=HYPERLINK(") {
		t.Errorf("--raw: %s", raw)
	}
	// Every format can write an answer without rows, and an answer that is a single NULL.
	for format, want := range map[string]string{"csv": "a\n", "json": "[]\n",
		"table": "a\n─\n"} {
		if diff := cmp.Diff(want, withoutFacts(w.must("query", "-c",
			"SELECT 1 AS a WHERE false", "--format", format))); diff != "" {
			t.Errorf("%s without rows: %s", format, diff)
		}
	}
	if got := w.must("query", "-c", "SELECT NULL AS a"); got != "a\n\"\"\n" {
		t.Errorf("a NULL alone = %q", got)
	}
}

// queryTerminalsAreNotCommanded checks that no format writes control characters to a terminal.
func queryTerminalsAreNotCommanded(t *testing.T, w *world) {
	r, err := duck.Ask(t.Context(), w.dir, duck.Query{SQL: hostile + ` UNION ALL SELECT * FROM (VALUES (chr(27), ` +
		`chr(127), chr(8237), chr(8297), chr(13) || 'over', 1, 1, 0, 1, 1, TIMESTAMPTZ '2026-01-01', DATE ` +
		`'2026-01-01', true, [chr(27) || chr(8238)]))`}, duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, format := range answer.FormatNames()[:3] {
		for _, width := range []int{40, 400} {
			var b bytes.Buffer
			if err := (answer.Rendering{Result: r, Terminal: true, Width: width}).Write(t.Context(), &b,
				format); err != nil {
				t.Fatal(err)
			}
			for _, c := range b.String() {
				if c != '\n' && cli.Unseen(c) {
					t.Errorf("%s lets %U through", format, c)
				}
			}
			if format == "json" && !json.Valid(b.Bytes()) {
				t.Errorf("no JSON: %s", b.String())
			}
		}
	}
}

// queryShowsLongAnswersInBlocks checks that a long answer has one heading and every row.
func queryShowsLongAnswersInBlocks(t *testing.T, w *world) {
	n := 2*1000 + 3 // widths are measured by blocks of 1,000 rows
	out := w.must("query", "-c", fmt.Sprintf("SELECT i AS number FROM range(%d) AS r(i) ORDER BY i", n),
		"--format", "table")
	lines := strings.Split(strings.TrimSuffix(withoutFacts(out), "\n"), "\n")
	if len(lines) != n+2 || strings.Count(out, "number") != 1 || strings.TrimSpace(lines[n+1]) != fmt.Sprint(n-1) ||
		strings.TrimSpace(lines[1002]) != "1000" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

func queryWritesFilesWhole(t *testing.T, w *world) {
	dir := t.TempDir()
	for name, begins := range map[string]string{"a.csv": "n,h\n", "a.json": "[\n{",
		"a.parquet": "PAR1", "a.xlsx": "PK\x03\x04", "plain": "n,h\n"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("what was there"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := w.must("query", "-c", "SELECT 1 AS n, sum(i) AS h FROM range(10) AS r(i)", "--out", path); out != "" {
			t.Errorf("%s: stdout has %q", name, out)
		}
		if b, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(b), begins) {
			t.Errorf("%s begins with %.20q, %v", name, b, err)
		}
	}
	// If writing fails, the old file stays, and no other file is left beside it.
	path := filepath.Join(dir, "a.csv")
	broken := errors.New("broken")
	if err := cli.WriteFile(path, func(w io.Writer) error { fmt.Fprint(w, "half"); return broken }); !errors.Is(err,
		broken) {
		t.Errorf("cli.WriteFile = %v", err)
	}
	if b, _ := os.ReadFile(path); !strings.HasPrefix(string(b), "n,h") {
		t.Errorf("a failed write left %q", b)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2*5 { // each answer has a second file with its facts
		t.Errorf("%v in the folder", entries)
	}
	// Parquet can also be written to a pipe.
	if out := w.must("query", "-c", "SELECT 1 AS n", "--format", "parquet"); !strings.HasPrefix(out, "PAR1") ||
		!strings.HasSuffix(out, "PAR1") {
		t.Errorf("%d bytes of Parquet", len(out))
	}
}

// queryAsAProcess tests stdin and pipes, which need a separate process.
func queryAsAProcess(t *testing.T, w *world) {
	cmd := w.start(t.Context(), "query", "-c", "-", "--json")
	cmd.Stdin = strings.NewReader("\ufeffSELECT 'é' AS a;\n-- the end\n")
	if out, err := cmd.Output(); err != nil || string(out) != "[\n{\"a\":\"é\"}\n]\n" {
		t.Errorf("from stdin: %s, %v", out, err)
	}
	cmd = w.start(t.Context(), "query", "-c", "-")
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exit.Usage ||
		!strings.Contains(string(out), "no SQL") {
		t.Errorf("from an empty stdin: %s, %v", out, err)
	}
	if full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
		cmd = w.start(t.Context(), "query", "-c", "SELECT 1")
		cmd.Stdout = full
		if cmd.Run(); cmd.ProcessState.ExitCode() != exit.Storage {
			t.Errorf("a full disk: exit %d", cmd.ProcessState.ExitCode())
		}
		full.Close()
	}
	// The reader closes the pipe early, as head does.
	for _, format := range []string{"csv", "parquet", "json", "table"}[:schematest.Times(2, 4, 4)] {
		cmd := w.start(t.Context(), "query", "-c", "SELECT i, hash(i) AS h FROM range(200000) AS r(i)",
			"--format", format)
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		out.Close()
		if err := cmd.Wait(); err != nil || strings.Count(errOut.String(), "\n") > 1 { // one line is allowed: the facts
			t.Errorf("%s: %v, stderr %q", format, err, errOut.String())
		}
	}
}

// queryIsBounded asks questions that need more memory or time than the limits allow.
func queryIsBounded(t *testing.T, w *world) {
	schematest.Long(t)
	for _, tc := range []struct{ sql, timeout, says string }{
		{"SELECT list_transform(range(1e9::BIGINT), x -> list_transform(range(x), y -> y * 2))", "5m",
			"it needs more memory"},
		{"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r", "2s",
			"it takes longer than 2s"},
	} {
		cmd := w.start(t.Context(), "query", "-c", tc.sql, "--timeout", tc.timeout)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exit.Usage || !strings.Contains(string(out), tc.says) {
			t.Errorf("%s: %v\n%s", tc.sql, err, out)
		}
	}
}

func queryStoppedBySignal(t *testing.T, w *world) {
	ctx, cancel := context.WithCancel(t.Context())
	defer time.AfterFunc(300*time.Millisecond, cancel).Stop()
	// Without a limit, this query would take years.
	code, out, last := w.runCtx(ctx, "query", "-c", "SELECT sum(a.i * b.i) AS s FROM range(10000000000) AS a(i), "+
		"range(10000000000) AS b(i)")
	if code != exit.Stopped || out != "" || !strings.Contains(last, "stopped") {
		t.Errorf("exit %d: %s", code, last)
	}
}

// TestQuery_SaysWhatALimitLeftOut: if a limit leaves rows out, the list of IDs and the file beside an answer say so. A
// table has the day of its rows in the title.
func TestQuery_SaysWhatALimitLeftOut(t *testing.T) {
	dir, _ := playedDemo()
	s := demoAsks{t, []string{"SPENDSYNC_DATA_DIR=" + dir, "SPENDSYNC_ACCOUNT=demo"}}
	file := filepath.Join(t.TempDir(), "list.csv")
	s.run("query", "sources_to_block", "--param", "rows=1", "--out", file)
	notes, err := os.ReadFile(file + companion)
	if err != nil {
		t.Fatal(err)
	}
	left := regexp.MustCompile(`(?m)^(# )?1 of [0-9]+ rows; --param rows=[0-9]+ has all of them\.?$`)
	ids := s.run("query", "sources_to_block", "--param", "rows=1", "--format", "ids")
	for what, text := range map[string]string{"the notes": string(notes), "the IDs": ids} {
		if !left.MatchString(text) {
			t.Errorf("%s do not say that there are more rows:\n%s", what, text)
		}
	}
	table := s.run("query", "yesterday", "--format", "table")
	if !regexp.MustCompile(`^[^\n]+ \([0-9]{4}-[0-9]{2}-[0-9]{2}\)\n`).MatchString(table) {
		t.Errorf("the heading has no day:\n%s", table)
	}
	table = s.run("query", "mart.daily_pacing", "--format", "table", "--rows", "2")
	if head, _, _ := strings.Cut(table, "\n"); !strings.HasSuffix(head, "?") {
		t.Errorf("the heading has the day of the rows that are shown: %s", head)
	}
	if none := s.run("query", "mart.breaks", "--format", "table"); strings.Contains(none, "more column") {
		t.Errorf("an answer without rows has columns:\n%s", none)
	}
}

// TestQuery_KeepsItsKeysIn80Columns: a terminal of 80 columns shows the columns that identify a row, and the number by
// which the row is judged.
func TestQuery_KeepsItsKeysIn80Columns(t *testing.T) {
	dir, _ := playedDemo()
	for name, keys := range map[string]string{
		"sources_to_block":    "verdict source_id campaign_name loss_per_day",
		"sources_to_scale":    "verdict source_id campaign_name bid best_bid best_bid_gain",
		"month":               "spend spend_at_end spend_at_end_low spend_at_end_high days_known_before",
		"tired_creatives":     "verdict creative_id campaign_name decline",
		"yesterday":           "campaign_name cpa_expected cpa_usual",
		"last_week":           "verdict campaign_name cpa_change profit_expected",
		"which_campaigns_pay": "verdict campaign_name cpa_expected worth profit_expected cpa_change",
		"spend_by_day":        "report_date cpa_expected conversions_change",
		"settings_changed":    "seen_on place change verdict cpa_change",
		"runway":              "verdict action balance days_until_stop stops_at",

		"mart.bid_vs_cpc":              "verdict source_id campaign_name cpc mean_bid",
		"mart.campaign_day":            "report_date campaign_name spend conversions daily_spend_limit",
		"mart.change_impact":           "verdict campaign_name seen_at cpa_change",
		"mart.change_log":              "seen_at place reason",
		"mart.creative_fatigue":        "verdict creative_id campaign_name decline",
		"mart.daily_pacing":            "report_date campaign_name spend daily_spend_limit pacing_state",
		"mart.source_block_candidates": "verdict source_id campaign_name loss_per_day",
		"mart.source_performance":      "source_id campaign_name spend conversions cpa_expected judged_cpa",
		"campaigns_asof":               "campaign_id name status default_bid daily_spend_limit",
		"source_rules_asof":            "campaign_id source_id rule bid is_assumed",
		"spend_known_at":               "report_date campaign_id creative_id source_id spend",
	} {
		var params []string
		if strings.Contains(name, "_asof") || strings.Contains(name, "_known") {
			params = []string{"instant=" + time.Now().Add(-10*24*time.Hour).UTC().Format(time.RFC3339)}
		}
		q, err := answer.Find(name, params)
		if err != nil {
			t.Fatal(err)
		}
		if name == "sources_to_scale" { // the service sets all bids of the demo, so that none is the best
			q.SQL = "SELECT * REPLACE (1.234 AS best_bid, 12.34 AS best_bid_gain) FROM (" + q.SQL + ")"
		}
		q.Account = "demo"
		r, err := duck.Ask(t.Context(), dir, q.Query, duck.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		err = (answer.Rendering{Result: r, Question: q, Width: 80}).Write(t.Context(), &b, "table")
		if err = errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(b.String(), "\n\n")
		for line := range strings.Lines(table) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%s: a line of %d columns: %s", name, n, line)
				break
			}
		}
		head, _, _ := strings.Cut(table, "──")
		columns := map[string]bool{}
		for _, word := range headings(head) {
			columns[word] = true
		}
		for _, key := range strings.Fields(keys) {
			if !columns[key] {
				t.Errorf("%s: 80 columns lack %s:\n%s", name, key, head)
			}
		}
	}
}

// headings joins the lines of a table's heading, whose names are broken after underscores, by their columns.
func headings(head string) (names []string) {
	lines := strings.Split(strings.TrimSuffix(head, "\n"), "\n")
	at := map[int]string{} // keys are the screen columns in which a part begins or ends
	for _, line := range lines {
		for _, place := range regexp.MustCompile(`\S+`).FindAllStringIndex(line, -1) {
			begin, end, part := place[0], place[1], line[place[0]:place[1]]
			for _, edge := range []int{begin, -end} {
				if before, ok := at[edge]; ok && strings.HasSuffix(before, "_") {
					part = before + part
					break
				}
			}
			at[begin], at[-end] = part, part
		}
	}
	for _, name := range at {
		names = append(names, name)
	}
	return names
}

// TestQuery_TrackerWithoutExport: without a tracker's export, the answer says only this, and which variable names an
// export.
func TestQuery_TrackerWithoutExport(t *testing.T) {
	w := newWorld(t, small).withMarts().synced()
	const want = "No tracker's export is stored. SPENDSYNC_PAYOUTS names one: 'spendsync help config' describes it.\n"
	if got := w.must("query", "tracker", "--format", "table"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, text := w.stderr("query", "tracker", "--format", "csv"); text != want {
		t.Errorf("beside a CSV file:\n%s\nwant\n%s", text, want)
	}
}

// TestQuery_PlaceOfAMistakeIsBelowIt: the message comes first, then the line of the SQL, then what to do.
func TestQuery_PlaceOfAMistakeIsBelowIt(t *testing.T) {
	w := newWorld(t, small).synced()
	_, text := w.stderr("query", "-c", "SELECT foo FROM spend_daily")
	if !regexp.MustCompile(`^spendsync: [^\n]*foo[^\n]*\nLINE 1: SELECT foo FROM spend_daily\n +\^\n  safe: `).
		MatchString(text) {
		t.Errorf("got\n%s", text)
	}
}
