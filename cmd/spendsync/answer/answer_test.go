package answer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/text"

	"spendsync/load/duck"
	"spendsync/queries"
	"spendsync/schema"
)

func TestCSV_KeepsFormulasFromRunning(t *testing.T) {
	texts := map[string]string{
		"=1+1": "'=1+1", "+1+1": "'+1+1", "-1+1": "'-1+1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1",
		"\r=1": "\"'\r=1\"", "\n=1": "\"'\n=1\"",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠a": "'＠a", "-": "'-", "=": "'=", "-1 day": "'-1 day",
		"-1,5": "\"'-1,5\"",
		"-1":   "-1", "+1.5": "+1.5", "-1.5e+10": "-1.5e+10", "": `""`, "a=1": "a=1", "'=1": "'=1", " =1": "' =1",
		"\ufeff=1": "'\ufeff=1", "\u200b @x": "'\u200b @x", " x": " x",
		"1-1": "1-1", "é": "é", "a ": "a ", `a"b`: `"a""b"`, "=\"": `"'="""`,
	}
	var values []string
	want := "\"'=text\"\"\"\n\"\"\n"
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		values = append(values, "("+schema.QuoteText(text)+")")
		want += texts[text] + "\n"
	}
	var b bytes.Buffer
	n := Rendering{Result: ask(t, `SELECT * FROM (VALUES (NULL), `+strings.Join(values, ", ")+`) AS t("=text""")`)}
	if err := n.Write(t.Context(), &b, "csv"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestCSV_IsWhole writes more rows than the engine returns at a time. All rows are in the CSV, in order, and each value
// is spelled as in JSON.
func TestCSV_IsWhole(t *testing.T) {
	n := Rendering{Result: ask(t, `SELECT i,
		(i % 1000 / 1000 - 0.3)::DECIMAL(3,3) AS share,
		(i * 0.37)::DECIMAL(18,6) AS money,
		TIMESTAMPTZ '2026-01-01 00:00:00Z' + to_microseconds(i * 250000) AS at,
		TIMESTAMP '2026-01-01' - to_days((i * 999)::INTEGER) AS past, i / 7 AS ratio, if(i % 3 = 0, NULL, i) AS hole
		FROM range(25000) AS r (i)`)}
	var b, js bytes.Buffer
	if err := errors.Join(n.Write(t.Context(), &b, "csv"), n.Write(t.Context(), &js, "json")); err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	d := json.NewDecoder(&js)
	d.UseNumber()
	if err := d.Decode(&objects); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(records) != 25001 || len(objects) != 25000 {
		t.Fatalf("%d lines, %d objects, %v", len(records), len(objects), err)
	}
	for i, record := range records[1:] {
		for j, name := range records[0] {
			want := fmt.Sprint(objects[i][name])
			if objects[i][name] == nil {
				want = ""
			}
			if record[j] != want {
				t.Fatalf("line %d: %s = %q in CSV, %q in JSON", i+1, name, record[j], want)
			}
		}
	}
}

// sampleTable is a table with a name that can be cut and numbers that cannot.
func sampleTable(width int) (*grid, [][]cell) {
	t := &grid{columns: []tableColumn{{name: "campaign_name"}, {name: "campaign_id"},
		{name: "spend", form: formNumber, unit: "money"},
		{name: "clicks_and_conversions", form: formNumber}}, width: width}
	var rows [][]cell
	for _, r := range [][]schema.Null[string]{
		{schema.Some("a campaign with a long name"), schema.Some("C1013459021"), schema.Some("123456.789000"),
			schema.Some("1")},
		{schema.Some("短い 👩‍👩‍👧‍👦"), schema.Some("C2"), schema.Some("-1.5"),
			schema.Some("22")}, {{}, {}, {}, {}},
	} {
		rows = append(rows, t.cells(r))
	}
	return t, rows
}

func TestTable_FitsItsWidth(t *testing.T) {
	for _, width := range []int{0, 120, 80, 62} {
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		l, rows := sampleTable(width)
		l.lay(rows, Question{}, false)
		l.write(w, rows, true)
		w.Flush()
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := widthOf(line); width > 0 && n > width || strings.HasSuffix(line, " ") {
				t.Errorf("width %d: a line of %d\n%s", width, n, b.String())
			}
		}
		money := map[bool]string{true: " 123456.789000 ", false: " $123,456.79 "}[width == 0]
		if !strings.Contains(b.String(), money) || !strings.Contains(b.String(), " 22\n") ||
			!strings.Contains(b.String(), "C1013459021") {
			t.Errorf("width %d: a number or an ID is cut\n%s", width, b.String())
		}
		if whole := strings.Contains(b.String(), "a campaign with a long name"); whole != (width == 0 || width > 70) {
			t.Errorf("width %d\n%s", width, b.String())
		}
		if width == 62 && !strings.Contains(b.String(), "a campaign …a long name") {
			t.Errorf("the name is not cut in its middle\n%s", b.String())
		}
	}
}

func TestTableColumn_RoundsOnlyWhereAPersonReads(t *testing.T) {
	money, price := tableColumn{"spend", formNumber, "money"}, tableColumn{"cpc", formFloat, "price"}
	ratio, count := tableColumn{"ctr", formFloat, "ratio"}, tableColumn{"clicks", formNumber, ""}
	version := tableColumn{"version_no", formNumber, ""}
	for _, c := range []struct {
		column      tableColumn
		value, want string
	}{
		{money, "6997.661604", "$6,997.66"}, {money, "0.005000", "$0.01"}, {money, "0.000000", "$0.00"},
		{money, "-0.004", "-$0.004"}, {money, "0.000012", "$1.2e-05"},
		{money, "12345678901234567.895", "$12,345,678,901,234,567.90"},
		{money, "nan", "nan"}, {price, "1.250000", "$1.25"}, {price, "0.125000", "$0.125"},
		{price, "0.63204", "$0.632"},
		{price, "2", "$2.00"}, {ratio, "0.038234234", "0.0382"}, {ratio, "18", "18"}, {ratio, "0.00001234", "1.2e-05"},
		{ratio, "inf", "inf"}, {count, "9007199254740993", "9,007,199,254,740,993"},
		{version, "1234", "1234"}, {ratio, "-12345.5", "-12,345.5"},
	} {
		if got := c.column.text(c.value, true); got != c.want {
			t.Errorf("%s %s = %s, want %s", c.column.name, c.value, got, c.want)
		}
		if got := c.column.text(c.value, false); got != c.value {
			t.Errorf("%s %s loses digits for a program: %s", c.column.name, c.value, got)
		}
	}
}

// TestTable_InstantsAreChicagos: on a terminal, instants are shown in Chicago's time, and the end of the table says so.
// Without a width, instants are in the form for programs.
func TestTable_InstantsAreChicagos(t *testing.T) {
	seen := tableColumn{"seen_at", formInstant, ""}
	for _, c := range []struct{ value, person, program string }{
		{"2026-12-02T00:30:02.123456Z", "2026-12-01 18:30", "2026-12-02T00:30:02Z"},
		{"2026-07-02T04:59:59Z", "2026-07-01 23:59", "2026-07-02T04:59:59Z"},
		{"infinity", "infinity", "infinity"},
	} {
		if got := seen.text(c.value, true); got != c.person {
			t.Errorf("%s for a person: %s, want %s", c.value, got, c.person)
		}
		if got := seen.text(c.value, false); got != c.program {
			t.Errorf("%s for a program: %s, want %s", c.value, got, c.program)
		}
	}
	for width, want := range map[int]bool{0: false, 80: true} {
		g := &grid{columns: []tableColumn{seen}, width: width}
		g.lay([][]cell{g.cells([]schema.Null[string]{schema.Some("2026-12-02T00:30:02Z")})}, Question{}, false)
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		Rendering{Result: &duck.Result{Count: 1}, Width: width}.writeEnd(w, 1, 0, g.showsInstants())
		w.Flush()
		if got := strings.Contains(b.String(), "Times are Chicago's."); got != want {
			t.Errorf("width %d: %q", width, b.String())
		}
	}
}

// TestTable_ACompleteChange: the values of a change are never cut; the text that contains them is wrapped at words.
func TestTable_ACompleteChange(t *testing.T) {
	g := &grid{columns: []tableColumn{{name: "change"}, {name: "verdict"}}, width: 40}
	rows := [][]cell{g.cells([]schema.Null[string]{schema.Some("daily spend limit 869.47 -> 173.89"),
		schema.Some("unclear")})}
	g.lay(rows, Question{}, false)
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	g.write(w, rows, true)
	w.Flush()
	if !strings.Contains(b.String(), "869.47") || !strings.Contains(b.String(), "173.89") ||
		!strings.Contains(b.String(), "unclear") {
		t.Errorf("%s", b.String())
	}
}

func TestCutMiddle_KeepsBothEnds(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"short", 5, "short"}, {"Travel deals | Lookalike", 11, "Trave…alike"}, {"abcdef", 1, "…"},
		{"短い短い短い", 7, "短…短い"}, {"e\u0301e\u0301e\u0301e\u0301", 3, "e\u0301…e\u0301"},
	} {
		if got := cutMiddle(c.text, c.width); got != c.want || widthOf(got) > c.width {
			t.Errorf("cutMiddle(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// TestParamKind_FollowsTheDefault checks that the default of each parameter fits the type that paramKind derives from
// it.
func TestParamKind_FollowsTheDefault(t *testing.T) {
	for value, kind := range map[string]string{"7": "a whole number from 0", "-1": "a number", "0.5": "a number",
		"2026-03-08": "a day", "": "a text", "x": "a text"} {
		if got := paramKind(value); got.name != kind {
			t.Errorf("paramKind(%q) = %s, want %s", value, got.name, kind)
		}
	}
	for _, q := range queries.Asks() {
		for _, p := range q.Params {
			if !strings.Contains(q.SQL, "$"+p.Name) || !strings.HasSuffix(p.Doc, ".") {
				t.Errorf("%s: the SQL does not use $%s, or it is not explained: %q", q.Name, p.Name, p.Doc)
			}
		}
	}
}

// judged is a query whose column verdict comes after many other columns.
const judged = `SELECT 'acme' AS account_id, 'C' || i AS campaign_id,
	'a campaign with a long name ' || i AS campaign_name,
	(i * 1234.5)::DECIMAL(18,6) AS spend, (i * 2)::DECIMAL(18,6) AS revenue, i AS clicks, i + 1 AS impressions,
	if(i = 2, NULL, i * 0.5::DOUBLE) AS ctr, ['pays', 'loses', 'unclear'][i] AS verdict
	FROM range(1, 4) AS r (i)`

// TestTable_LeavesOutWhatDoesNotFit checks at several widths: the verdict is shown, no line is too long, the number of
// dropped columns is printed, and --wide drops no column.
func TestTable_LeavesOutWhatDoesNotFit(t *testing.T) {
	result := ask(t, judged)
	show := func(q Question, width int, wide bool) string {
		var b bytes.Buffer
		n := Rendering{Result: result, Question: q, Width: width, Wide: wide}
		if err := n.Write(t.Context(), &b, "table"); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	ready := Question{Asks: "Which?", Shown: []string{"verdict", "campaign_id", "campaign_name", "spend", "revenue",
		"clicks", "impressions", "ctr"}}
	for width := 26; width < 140; width++ {
		for _, q := range []Question{ready, {}} {
			out := show(q, width, false)
			heading := ""
			for line := range strings.Lines(out) {
				line = strings.TrimSuffix(line, "\n")
				if n := widthOf(line); n > width {
					t.Errorf("width %d: a line of %d: %s", width, n, line)
				}
				if strings.HasPrefix(line, "──") && heading == "" {
					heading = out[:strings.Index(out, line)]
				}
			}
			if !strings.Contains(out, "loses") || !strings.Contains(out, "unclear") {
				t.Errorf("width %d lacks the verdicts:\n%s", width, out)
			}
			shown := 0
			for _, name := range []string{"campaign_id", "campaign_name", "spend", "revenue", "clicks", "impressions",
				"ctr", "verdict"} {
				parts := strings.SplitAfter(name, "_")
				if strings.Contains(heading, parts[len(parts)-1]) {
					shown++
				}
			}
			left := 0
			if _, after, ok := strings.Cut(out, "\nand "); ok {
				fmt.Sscan(after, &left)
			}
			if shown+left != 8 && q.Asks != "" {
				t.Errorf("width %d: %d columns are shown, %d left out\n%s", width, shown, left, out)
			}
		}
	}
	if out := show(ready, 60, false); !strings.Contains(out, "\nverdict  ") || !strings.Contains(out, "\npays     ") ||
		strings.Index(out, "$1,234.50") > strings.Index(out, "more column") {
		t.Errorf("the verdict is not left, or the money not there:\n%s", out)
	}
	if out := show(ready, 60, true); strings.Contains(out, "more column") || !strings.Contains(out, "impressions") ||
		!strings.Contains(out, "ctr") {
		t.Errorf("--wide leaves something out:\n%s", out)
	}
	if out := show(Question{Asks: "Which?", Shown: []string{"ctr", "spend"}}, 60, false); !strings.Contains(out,
		"  ctr  ") {
		t.Errorf("the question's own columns do not come first:\n%s", out)
	}
	if out := show(Question{Alone: "No campaign is listed."}, 60, false); strings.Contains(out, "listed") {
		t.Errorf("two rows are called one:\n%s", out)
	}
	if out := show(ready, 0, false); !strings.Contains(out, "\naccount_id  campaign_id ") ||
		strings.Contains(out, "$") {
		t.Errorf("without a width the answer has its own order and digits:\n%s", out)
	}
}

// TestTable_TotalAlone: an answer that has only the row with the total is printed as a usual table, followed by a
// sentence that explains this.
func TestTable_TotalAlone(t *testing.T) {
	n := Rendering{Result: ask(t, "FROM ("+judged+") LIMIT 1"), Width: 60,
		Question: Question{Alone: "No campaign is listed."}}
	var b bytes.Buffer
	if err := n.Write(t.Context(), &b, "table"); err != nil || !strings.Contains(b.String(), n.Question.Alone) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestTable_ColorsVerdicts removes the colors and compares: they change nothing else.
func TestTable_ColorsVerdicts(t *testing.T) {
	show := func(color bool) string {
		var b bytes.Buffer
		n := Rendering{Result: ask(t, judged), Width: 120, Color: color}
		if err := n.Write(t.Context(), &b, "table"); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	text.EnableColors()
	plain, colored := show(false), show(true)
	for _, want := range []string{"\x1b[32mpays\x1b[0m", "\x1b[31mloses\x1b[0m", "  unclear\n", "\x1b[2m-\x1b[0m"} {
		if !strings.Contains(colored, want) {
			t.Errorf("%q is missing in\n%q", want, colored)
		}
	}
	if diff := cmp.Diff(plain, regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colored, "")); diff != "" {
		t.Error(diff)
	}
}

// TestTable_BreaksSentencesAtWords checks that wrapping loses no word of a sentence.
func TestTable_BreaksSentencesAtWords(t *testing.T) {
	const advice = "look at the tracking of this campaign before anything is blocked"
	for _, rows := range []int{1, 2} {
		var b bytes.Buffer
		n := Rendering{Result: ask(t, fmt.Sprintf("SELECT 'C' || i AS campaign_id, '%s' AS what_to_do, i AS n, "+
			"'x' || i AS another_text_of_it FROM range(%d) AS r (i)", advice, rows)), Width: 50}
		if err := n.Write(t.Context(), &b, "table"); err != nil {
			t.Fatal(err)
		}
		for _, word := range strings.Fields(advice) {
			if strings.Count(b.String(), word) < rows {
				t.Errorf("%q is lost:\n%s", word, b.String())
			}
		}
	}
}

// TestShown_AreColumnsOfTheAnswer: a name in Shown that is not the name of a column would silently have no effect.
func TestShown_AreColumnsOfTheAnswer(t *testing.T) {
	for _, q := range queries.Asks() {
		if len(q.Shown) == 0 {
			t.Errorf("%s does not name its first columns", q.Name)
		}
		for _, name := range q.Shown {
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(q.SQL) {
				t.Errorf("%s has no column %s", q.Name, name)
			}
		}
	}
}
