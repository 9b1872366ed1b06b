package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"spendsync/schema"
)

func write(t *testing.T, r Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// element is a start tag with the text up to its end.
type element struct {
	name  string
	attrs map[string]string
	text  string
}

// elementsOf parses a page as strictly as XML: all elements must be nested and closed.
func elementsOf(t *testing.T, html string) []element {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(regexp.MustCompile(`<meta ([^>]*)>`).ReplaceAllString(html, "<meta $1/>")))
	var all []element
	var open []int
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v near %q", err, html[max(0, d.InputOffset()-200):d.InputOffset()])
		}
		switch v := tok.(type) {
		case xml.StartElement:
			e := element{name: v.Name.Local, attrs: map[string]string{}}
			for _, a := range v.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			open, all = append(open, len(all)), append(all, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, i := range open {
				all[i].text += string(v)
			}
		}
	}
}

// block makes a block of texts: a line for the columns and one for each row, with a bar between cells. NULL is absent.
func block(kind, caption string, lines ...string) Block {
	b := Block{Kind: kind, Caption: caption, Columns: strings.Split(lines[0], ";")}
	for _, line := range lines[1:] {
		var row []schema.Null[string]
		for cell := range strings.SplitSeq(line, ";") {
			n := schema.Some(cell)
			if cell == "NULL" {
				n = schema.Null[string]{}
			}
			row = append(row, n)
		}
		b.Rows = append(b.Rows, row)
	}
	return b
}

// sample returns an account with a section for each kind of block, and charts with the given number of days.
func sample(days, rows int) Account {
	var stacks, rates, table []string
	for i := range days {
		d := (schema.NewDate(2026, 10, 1) + schema.Date(i)).String()
		state := map[bool]string{true: "open", false: "complete"}[i == days-1]
		if i == 3 {
			stacks = append(stacks, d+";missing;6;other;NULL;NULL;NULL")
			rates = append(rates, d+";ROI;0;NULL;percent;solid")
			continue
		}
		for part := range 7 {
			stacks = append(stacks, fmt.Sprintf("%s;%s;%d;Campaign %d;%d.50;NULL;NULL", d, state, part, part,
				100*(part+1)+i))
		}
		rates = append(rates, fmt.Sprintf("%s;ROI;0;%g;percent;%s", d, 0.2+float64(i%5)/10,
			map[bool]string{true: "dotted", false: "solid"}[i > days-6]))
	}
	for _, m := range []string{"2026-10-05;NULL;NULL;NULL;NULL;▲", "2026-10-05;NULL;NULL;NULL;NULL;■",
		"2026-10-06;NULL;NULL;NULL;NULL;●", "2026-10-09;NULL;NULL;NULL;NULL;▲"} {
		stacks = append(stacks, m+";default bid 0.43 → 0.34")
	}
	for i := range rows {
		table = append(table, fmt.Sprintf("k%d;Source %d;%s;%d.123456;0.0512;NULL", i, i, []string{"loses", "pays",
			"unclear"}[i%3], i))
	}
	return Account{Name: "acme",
		Head: block("head", "", "as_of;last_whole;run;version", "1795741502000000;2026-11-25;01RUN;1.2.3"),
		Sections: []Section{
			{Name: "tiles", Title: "The account", Blocks: []Block{block("tiles", "",
				"label;value;unit;change;change_unit;better;note;spark",
				"Spend;39104.703179;money;-0.092;change;NULL;7 days to Wed 25 Nov;1,2,3,2.5",
				"ROI;1.22;percent;0.12;points;true;with conversions to come;NULL",
				"Money left;1.8;days;NULL;NULL;true;until $50.00 is left;NULL",
				"Profit;NULL;money;NULL;change;true;no payouts;NULL")}},
			{Name: "do", Title: "Do this first", Blocks: []Block{block("todo", "", "text;at_stake",
				"Add money now;6078.1", "Replace a creative;NULL")}},
			{Name: "spend", Title: "What did each day cost?", Blocks: []Block{
				block("stack", "Spend by day", append([]string{"x;state;place;series;value|money;mark;title"},
					stacks...)...),
				block("line", "ROI", append([]string{"x;series;place;value;unit;style"}, rates...)...),
				block("table", "The days in numbers",
					append([]string{"key;Name|name;Verdict|chip;Spend|money;CTR|percent;CPA|money"}, table...)...)}},
			{Name: "campaigns", Title: "Which campaigns pay?", Blocks: []Block{block("say", "", "tone;text;at_stake",
				"act;1 loses;137.77"),
				block("table", "", append([]string{"key;Name|name;Verdict|chip;Spend|money;Profit|money;CPA|money"},
					table...)...)}},
			{Name: "sources", Title: "Which sources?", Folded: true, Blocks: []Block{
				block("say", "", "tone;text;at_stake", "fine;none loses;NULL")}},
			{Name: "creatives", Title: "Which creatives?", Folded: true, Blocks: []Block{block("cards", "",
				"key;title;message;campaign;state;CTR now|percent;spark",
				"C1;Stay dry;Free returns;Rain;fell_with_campaign;0.0023;1,2,1")}},
		}}
}

func samplePage(accounts ...Account) Page {
	return Page{Accounts: accounts, Version: "1.2.3", Schema: 11}
}

func TestWrite_SameReportSameBytes(t *testing.T) {
	first := write(t, samplePage(sample(40, 120)))
	for range 3 {
		if write(t, samplePage(sample(40, 120))) != first {
			t.Fatal("the same report gave another page")
		}
	}
}

// TestWrite_NeedsNothingElse checks that a page makes a browser send no request, run no script and open no other page,
// and that the policy allows only the page's own style sheet.
func TestWrite_NeedsNothingElse(t *testing.T) {
	html := write(t, samplePage(sample(40, 120), hostile()))
	css := ""
	policy := ""
	for _, e := range elementsOf(t, html) {
		switch e.name {
		case "script", "a", "img", "iframe", "form", "input", "link", "object", "embed", "base", "image", "use",
			"foreignObject", "animate", "set":
			t.Errorf("the page has a %s %v", e.name, e.attrs)
		case "style":
			css += e.text
		}
		for name, value := range e.attrs {
			if name == "style" || strings.HasPrefix(name, "on") || name == "href" || name == "src" {
				t.Errorf("%s has %s=%q", e.name, name, value)
			}
		}
		if e.attrs["http-equiv"] == "Content-Security-Policy" {
			policy = e.attrs["content"]
		}
	}
	sum := sha256.Sum256([]byte(css))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'"
	if policy != want {
		t.Errorf("policy %q, want %q", policy, want)
	}
	if m := regexp.MustCompile(`url\((?:[^#)][^)]*)\)|@import|expression\(`).FindString(css); m != "" {
		t.Errorf("the style sheet has %s", m)
	}
}

// nasty contains texts that would have an effect if a page did not treat them as plain text.
var nasty = []string{
	`"><script>window.hacked=1</script>`, `</style><img src=x onerror="window.hacked=1">`,
	`'; DROP TABLE spend_daily;--`,
	"evil\u202egnp.exe", "bell\a\x1b[31mred\x00nul", "line\u2028sep\r\n<b>bold</b>", `{{.Policy}} &amp;&lt;`,
	"javascript:window.hacked=1",
	strings.Repeat("W", 5000), strings.Repeat("long word ", 400), "مرحبا بالعالم",
	"a\u0300\u0300\u0300\u0300\u0300 zalgo", "\u2066isolate\ufeff", "   ",
}

// hostile returns an account in which every text is nasty, and every number is replaced by such a text.
func hostile() Account {
	a := sample(40, 120)
	n := 0
	next := func() string { n++; return nasty[n%len(nasty)] }
	spoil := func(b *Block) {
		for _, r := range b.Rows {
			for i := range r {
				if r[i].Valid && !slices.Contains([]string{"x", "unit", "change_unit", "tone", "place", "style",
					"mark"}, b.Columns[i]) {
					r[i].V = next()
				}
			}
		}
	}
	a.Name = next()
	spoil(&a.Head)
	for i := range a.Sections {
		for j := range a.Sections[i].Blocks {
			spoil(&a.Sections[i].Blocks[j])
		}
	}
	return a
}

// TestWrite_HoldsHostileTextsAsText writes the page of an account with a hostile text in every place.
func TestWrite_HoldsHostileTextsAsText(t *testing.T) {
	html := write(t, samplePage(hostile()))
	for _, r := range html {
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) {
			t.Fatalf("the page holds %U", r)
		}
	}
	elementsOf(t, html) // checks that elements are nested correctly: then no text was read as markup
	for _, never := range []string{"<script", "<img", "onerror=\"", "<b>bold", strings.Repeat("W", 700)} {
		if strings.Contains(html, never) {
			t.Errorf("the page holds %s", never)
		}
	}
	if !strings.Contains(html, "&lt;script&gt;window.hacked=1&lt;/script&gt;") {
		t.Error("the page does not show a hostile name at all")
	}
}

// TestWrite_StaysSmall draws the largest report of an account, with names of the maximum length.
func TestWrite_StaysSmall(t *testing.T) {
	a := sample(45, 135)
	long := strings.Repeat("ö", 80)
	for _, s := range a.Sections {
		for _, b := range s.Blocks {
			for _, r := range b.Rows {
				for i, c := range b.Columns {
					if c == "Name|name" || c == "title" || c == "series" && b.Kind == "stack" {
						r[i] = schema.Some(long)
					}
				}
			}
		}
	}
	if n := len(write(t, samplePage(a))); n > 400_000 {
		t.Errorf("the page has %d bytes, want well under 1 MB", n)
	}
}

// TestWrite_UnknownIsNeverZero: NULL is shown as a dash or hatched, and a section without rows is not drawn.
func TestWrite_UnknownIsNeverZero(t *testing.T) {
	for _, format := range append(numbers, "chip", "text", "name", "day", "time") {
		if got := string(show(format, schema.Null[string]{})); strings.Contains(got, "0") {
			t.Errorf("an unknown %s is shown as %s", format, got)
		}
	}
	a := Account{Name: "new", Head: block("head", "", "as_of;last_whole;run;version", "NULL;NULL;NULL;NULL"),
		Sections: []Section{
			{Name: "spend", Title: "What did each day cost?", Blocks: []Block{{Kind: "stack", Columns: []string{"x"}}}},
			{Name: "days", Title: "Is every day there?", Folded: true, Blocks: []Block{block("say", "", "tone;text",
				"unknown;run spendsync sync")}}}}
	html := write(t, samplePage(a))
	if !strings.Contains(html, "No day of the report has been proven yet") || !strings.Contains(html,
		"run spendsync sync") ||
		strings.Contains(html, "<rect class=\"s") || strings.Contains(html, "What did each day cost") {
		t.Errorf("a new account is drawn as %s", html[strings.Index(html, "<main>"):])
	}
	if html = write(t, samplePage(sample(10, 3))); strings.Count(html, `<rect class="none"`) != 1 {
		t.Error("the day that is not known is not hatched")
	}
}

// TestWrite_NamesEveryDrawing checks that each drawing has a description.
func TestWrite_NamesEveryDrawing(t *testing.T) {
	ids := map[string]int{}
	drawings := 0
	var labelled []string
	for _, e := range elementsOf(t, write(t, samplePage(sample(40, 120), sample(40, 120)))) {
		if id := e.attrs["id"]; id != "" {
			ids[id]++
		}
		if e.name == "svg" && e.attrs["role"] == "img" {
			drawings++
			if e.attrs["aria-label"] == "" {
				labelled = append(labelled, strings.Fields(e.attrs["aria-labelledby"])...)
			}
		}
	}
	for id, n := range ids {
		if n != 1 {
			t.Errorf("id %s stands %d times", id, n)
		}
	}
	for _, id := range labelled {
		if ids[id] != 1 {
			t.Errorf("a drawing is named by %s, which is not there", id)
		}
	}
	if drawings != 4 || len(labelled) != 4 {
		t.Errorf("%d drawings, %d names: want more", drawings, len(labelled))
	}
}

func TestShow_SpellsNumbers(t *testing.T) {
	for _, c := range []struct{ format, value, text, digits string }{
		{"money", "39104.703179", "$39,105", "39104.703179"}, {"money", "-0.066", "−$0.07", "-0.066"},
		{"money", "0.001234", "$0.001234", "0.001234"}, {"money", "999.999", "$1,000.00", "999.999"}, {"price",
			"0.341", "$0.341", "0.341"}, {"price", "23.0441", "$23.04", "23.0441"},
		{"percent", "0.858", "86 %", "0.858"}, {"percent", "0.0023", "0.23 %", "0.0023"}, {"percent", "-0.066",
			"−6.6 %", "-0.066"},
		{"change", "0.246", "+25 %", "0.246"}, {"change", "-0.0041", "−0.4 %", "-0.0041"}, {"points", "0.12",
			"+12 points", "0.12"},
		{"times", "0.72", "0.72×", "0.72"}, {"count", "11203", "11,203", "11203"},
		{"count", "1815.62", "1,816", "1815.62"}, {"count", "4.25", "4.2", "4.25"}, {"days", "1", "1 day", "1"},
		{"days", "1.79", "1.8 days", "1.79"},
		{"number", "0.333333333333333315", "0.33", "0.333333333333"},
	} {
		want := `<data value="` + c.digits + `">` + c.text + `</data>`
		if got := string(show(c.format, schema.Some(c.value))); got != want {
			t.Errorf("%s as %s is %s, want %s", c.value, c.format, got, want)
		}
	}
	if got := string(show("text", schema.Some("stopped from 2026-11-17 to 2026-11-20: 0 came"))); got !=
		"<bdi>stopped from 17 Nov to 20 Nov: 0 came</bdi>" {
		t.Errorf("days in a sentence are %s", got)
	}
	for _, odd := range []string{"NaN", "inf", "x", "1e999"} {
		if got := string(show("money", schema.Some(odd))); !strings.Contains(got, "–") {
			t.Errorf("%s is shown as %s", odd, got)
		}
	}
}

// TestChart_PlacesNumbers: the parts of a day's column are stacked, and a line has gaps at unknown values.
func TestChart_PlacesNumbers(t *testing.T) {
	c := stack(block("stack", "Spend", "x;state;place;series;value|money;mark;title",
		"2026-11-01;final;0;a;60;NULL;NULL",
		"2026-11-01;final;1;b;40;NULL;NULL", "2026-11-02;open;0;a;50;NULL;NULL"), 300, 2)
	var at []string
	for _, s := range c.Shapes {
		if s.Kind == "rect" {
			at = append(at, fmt.Sprintf("%s %g+%g", s.Class, s.Y, s.H))
		}
	}
	const floor = 300 - bottom
	if got, want := strings.Join(at, ", "), fmt.Sprintf("s0 %g+%g, s1 %g+%g, s0 %g+%g, open %g+%g", floor-154.8, 154.8,
		top, 103.2, floor-129, 129.0,
		floor-129, 129.0); got != want {
		t.Errorf("the parts are %s, want %s", got, want)
	}
	at = nil
	for _, s := range stack(block("stack", "Spend", "x;state;place;series;value|money;mark;title",
		"2026-11-01;final;0;a;60;NULL;NULL", "2026-11-01;NULL;NULL;NULL;NULL;▲;b", "2026-11-01;NULL;NULL;NULL;NULL;■;b",
		"2026-11-02;NULL;NULL;NULL;NULL;▲;b", "2026-11-03;NULL;NULL;NULL;NULL;▲;b"), 300, 2).Shapes {
		if s.Class == "mark mid" {
			at = append(at, fmt.Sprint(s.Y))
		}
	}
	if got := strings.Join(at, " "); got != "12 24 36 12" {
		t.Errorf("marks of one day, the next and the one after are at %s", got)
	}
	if l := lines(block("line", "ROI", "x;series;place;value|percent;style", "1;a;0;0.5;solid", "2;a;0;1;solid",
		"3;a;0;NULL;solid", "4;a;0;1;solid",
		"5;a;0;1;dotted"), 100); len(l.Lines) != 2 || l.Lines[1].Class != "l0 dotted" {
		t.Errorf("the lines are %v", l.Lines)
	}
}

func TestNiceTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{0, 7300, "[0 2500 5000 7500]"}, {0, 1.27, "[0 0.5 1 1.5]"}, {-30, 100, "[-50 0 50 100]"}, {0, 0, "[0 0.5 1]"}} {
		if got := fmt.Sprint(niceTicks(c.low, c.high)); got != c.want {
			t.Errorf("from %g to %g: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}
