package answer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spendsync/queries"
	"spendsync/schema"
)

func TestCSV_KeepsFormulasFromRunning(t *testing.T) {
	texts := map[string]string{
		"=1+1": "'=1+1", "+1+1": "'+1+1", "-1+1": "'-1+1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1",
		"\r=1": "\"'\r=1\"", "\n=1": "\"'\n=1\"",
		"＝1": "'＝1", "＋1": "'＋1", "－1": "'－1", "＠a": "'＠a", "-": "'-", "=": "'=", "-1 day": "'-1 day",
		"-1,5": "\"'-1,5\"",
		"-1":   "-1", "+1.5": "+1.5", "-1.5e+10": "-1.5e+10", "": `""`, "a=1": "a=1", "'=1": "'=1", " =1": `" =1"`,
		"1-1": "1-1", "é": "é", "a ": `"a "`, `a"b`: `"a""b"`, "=\"": `"'="""`,
	}
	var values []string
	want := "\"'=text\"\"\"\n\"\"\n"
	for _, text := range slices.Sorted(maps.Keys(texts)) {
		values = append(values, "("+schema.QuoteText(text)+")")
		want += texts[text] + "\n"
	}
	var b bytes.Buffer
	n := Answer{Result: ask(t, `SELECT * FROM (VALUES (NULL), `+strings.Join(values, ", ")+`) AS t("=text""")`)}
	if err := n.Write(t.Context(), &b, "csv"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestCSV_IsWhole writes more rows than come at a time: all are there, in their order, each
// value spelled as JSON spells it.
func TestCSV_IsWhole(t *testing.T) {
	n := Answer{Result: ask(t, `SELECT i,
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
func sampleTable(width int) (*tableLayout, [][]cell) {
	t := newTableLayout([]tableColumn{{name: "campaign_name"}, {name: "campaign_id"}, {"spend", formNumber, unitMoney},
		{name: "clicks_and_conversions", form: formNumber}}, width)
	var rows [][]cell
	for _, r := range [][]schema.Null[string]{
		{schema.Some("a campaign with a long name"), schema.Some("C1013459021"), schema.Some("123456.789000"),
			schema.Some("1")},
		{schema.Some("短い 👩‍👩‍👧‍👦"), schema.Some("C2"), schema.Some("-1.5"), schema.Some("22")}, {{}, {}, {}, {}},
	} {
		rows = append(rows, t.cells(r))
	}
	return t, rows
}

func TestTable_FitsItsWidth(t *testing.T) {
	for _, width := range []int{0, 120, 80, 60, 54} {
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		l, rows := sampleTable(width)
		l.write(w, rows, 0)
		w.Flush()
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := widthOf(line); width > 0 && n > width || strings.HasSuffix(line, " ") {
				t.Errorf("width %d: a line of %d\n%s", width, n, b.String())
			}
		}
		money := map[bool]string{true: " 123456.789000 ", false: " 123456.79 "}[width == 0]
		if l.records || !strings.Contains(b.String(), money) || !strings.Contains(b.String(), " 22\n") ||
			!strings.Contains(b.String(), "C1013459021") {
			t.Errorf("width %d: a number or an ID is cut\n%s", width, b.String())
		}
		if whole := strings.Contains(b.String(), "a campaign with a long name"); whole != (width == 0 || width > 70) {
			t.Errorf("width %d\n%s", width, b.String())
		}
		if width == 54 && !strings.Contains(b.String(), "a campai…ong name") {
			t.Errorf("the name is not cut in its middle\n%s", b.String())
		}
	}
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	l, rows := sampleTable(30)
	l.write(w, rows[:1], 0)
	l.write(w, rows[2:], 1)
	l.writeEnd(w)
	w.Flush()
	want := "── 1 ─────────────────────────\ncampaign_name           a campaign with a long name\n" +
		"campaign_id             C1013459021\nspend                   123456.79\nclicks_and_conversions  1\n" +
		"── 2 ─────────────────────────\n\nA column that a record lacks is NULL in it.\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestTable_GoesOnBelow holds that no value is lost between the tables, and that each of
// them says what its rows are about.
func TestTable_GoesOnBelow(t *testing.T) {
	l, rows := sampleTable(40)
	l.allRows = true
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	l.write(w, rows, 0)
	w.Flush()
	for line := range strings.Lines(b.String()) {
		if n := widthOf(strings.TrimSuffix(line, "\n")); n > 40 {
			t.Errorf("a line of %d", n)
		}
	}
	for value, times := range map[string]int{"campaign_name": 2, "C1013459021": 2, "g name": 2, "123456.79\n": 1,
		"-1.50\n": 1, "spend\n": 1, "clicks_and_\n": 1, " 22\n": 1, "──\n": 2, "── 1": 0} {
		if got := strings.Count(b.String(), value); got != times {
			t.Errorf("%q is there %d times, want %d:\n%s", value, got, times, b.String())
		}
	}
}

func TestTable_TakesOutWhatIsTheSameInAllRows(t *testing.T) {
	columns := []tableColumn{{name: "account_id"}, {name: "rule"}, {name: "name"}, {name: "n", form: formNumber},
		{name: "m", form: formNumber}}
	one := func(name, n string) []cell {
		return []cell{{text: "acme"}, {"NULL", true}, {text: name}, {text: n}, {text: "7"}}
	}
	for _, c := range []struct {
		rows [][]cell
		want string
		left int
	}{
		{[][]cell{one("a", "1")}, "", 5},
		{[][]cell{one("a", "1"), one("b", "1")}, "In every row: account_id acme. NULL in every row: rule.", 3},
		{[][]cell{one("a", "1"), one("b", "1"), one("c", "2")},
			"In every row: account_id acme, m 7. NULL in every row: rule.", 2},
		{[][]cell{one("a", "1"), one("a", "1"), one("a", "1")}, "", 5}, // something must be left
		{nil, "", 5},
	} {
		l := newTableLayout(columns, 80)
		if got := l.takeConstant(c.rows); got != c.want || len(l.columns) != c.left ||
			len(c.rows) > 0 && len(c.rows[0]) != c.left {
			t.Errorf("%d rows: %q and %d columns, want %q and %d", len(c.rows), got, len(l.columns), c.want, c.left)
		}
	}
}

func TestTableColumn_RoundsOnlyWhereAPersonReads(t *testing.T) {
	money, price := tableColumn{"spend", formNumber, unitMoney}, tableColumn{"cpc", formFloat, unitPrice}
	ratio, count := tableColumn{"ctr", formFloat, unitNone}, tableColumn{"clicks", formNumber, unitNone}
	for _, c := range []struct {
		column      tableColumn
		value, want string
	}{
		{money, "6997.661604", "6997.66"}, {money, "0.005000", "0.01"}, {money, "0.000000", "0.00"},
		{money, "-0.004", "-0.004"}, {money, "0.000012", "1.2e-05"},
		{money, "12345678901234567.895", "12345678901234567.90"},
		{money, "nan", "nan"}, {price, "1.250000", "1.25"}, {price, "0.125000", "0.125"}, {price, "0.63204", "0.632"},
		{price, "2", "2.00"}, {ratio, "0.038234234", "0.0382"}, {ratio, "18", "18"}, {ratio, "0.00001234", "1.2e-05"},
		{ratio, "inf", "inf"}, {count, "9007199254740993", "9007199254740993"},
	} {
		if got := c.column.text(c.value, true); got != c.want {
			t.Errorf("%s %s = %s, want %s", c.column.name, c.value, got, c.want)
		}
		if got := c.column.text(c.value, false); got != c.value {
			t.Errorf("%s %s loses digits for a program: %s", c.column.name, c.value, got)
		}
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

// TestParamKind_FollowsTheDefault holds that each default fits its own kind.
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
