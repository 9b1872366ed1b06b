package answer

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/text"

	"spendsync/queries"
)

func TestHarmless_KeepsFormulasFromRunning(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1+1": "'+1+1", "-1+1": "'-1+1", "@SUM(A1)": "'@SUM(A1)", "\t=1": "'\t=1", "\r=1": "'\r=1",
		"\n=1": "'\n=1",
		"＝1":   "'＝1", "＋1": "'＋1", "－1": "'－1", "＠a": "'＠a", "-": "'-", "=": "'=", "-1 day": "'-1 day",
		"-1,5": "'-1,5",
		"-1":   "-1", "+1.5": "+1.5", "-1.5e+10": "-1.5e+10", "": "", "a=1": "a=1", "'=1": "'=1", " =1": " =1",
		"1-1": "1-1", "é": "é",
	} {
		if got := harmless(text); got != want {
			t.Errorf("harmless(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestTable_FitsItsWidth(t *testing.T) {
	layout := func(width int) (tableLayout, [][]string) {
		return tableLayout{names: []string{"campaign_name", "spend", "conversions"}, forms: []valueForm{formText,
				formNumber, formNumber}, width: width},
			[][]string{{"a campaign with a long name", "123456.789000", "1"}, {"短い 👩‍👩‍👧‍👦", "-1.5", "22"},
				{"NULL", "NULL", "NULL"}}
	}
	for _, width := range []int{0, 100, 60, 45, 41} {
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		l, rows := layout(width)
		l.write(w, rows, 0)
		w.Flush()
		for line := range strings.Lines(b.String()) {
			if n := text.StringWidthWithoutEscSequences(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
				t.Errorf("width %d: a line of %d\n%s", width, n, b.String())
			}
		}
		if l.records || !strings.Contains(b.String(), " 123456.789000 ") || !strings.Contains(b.String(), " 22 ") {
			t.Errorf("width %d: a number is cut\n%s", width, b.String())
		}
		if whole := strings.Contains(b.String(), "a campaign with a long name"); whole != (width == 0 || width >= 60) {
			t.Errorf("width %d\n%s", width, b.String())
		}
	}
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	l, rows := layout(30)
	l.write(w, rows[:1], 0)
	l.write(w, rows[1:2], 1)
	w.Flush()
	want := "── 1 ─────────────────────────\ncampaign_name  a campaign with a long name\nspend " +
		"         123456.789000\nconversions    1\n" +
		"── 2 ─────────────────────────\ncampaign_name  短い 👩‍👩‍👧‍👦\nspend          -1.5\nconversions    22\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
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
