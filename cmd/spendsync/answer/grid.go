package answer

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"spendsync/cmd/internal/output"
	"spendsync/cmd/internal/wrap"
)

// grid fits rows into a width. Headings are broken at their underscores, names cut in the middle, sentences broken at
// words; IDs, numbers, times and verdicts are never cut. Columns that do not fit are left out, the first verdict and
// the keys last.
type grid struct {
	columns []tableColumn
	width   int // 0: no limit
	color   bool
	shown   []int // the columns that are written, in their order
	widths  []int // of these
}

// gap is between two columns. A name is not cut below minName.
const gap, minName = 2, 20

// widthOf is how many places a text takes on a terminal.
func widthOf(s string) int { return text.StringWidthWithoutEscSequences(s) }

// lay chooses the columns and their widths by the first rows, and returns how many columns are left out.
func (g *grid) lay(rows [][]cell, q Question, all bool) (left int) {
	limit := g.width
	if limit == 0 { // in the order of the answer
		q.Shown = nil
	}
	if g.shown = g.inOrder(q); all {
		limit = 0
	}
	if limit > 0 {
		g.shown = g.fitting(g.wanted(rows, q), rows)
	}
	g.widths, _ = g.measure(g.shown, rows, limit)
	for i, c := range g.columns { // an account that is the same in all rows is not missed
		if !slices.Contains(g.shown, i) && (c.name != "account_id" || q.Asks == "") {
			left++
		}
	}
	return left
}

// inOrder returns the columns in the order in which a terminal shows them: those that the question names, and then the
// others as they are.
func (g *grid) inOrder(q Question) (order []int) {
	for _, name := range q.Shown {
		if i := slices.IndexFunc(g.columns, func(c tableColumn) bool { return c.name == name }); i >= 0 {
			order = append(order, i)
		}
	}
	for i := range g.columns {
		if !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	return order
}

// wanted returns the columns of a question that a terminal shows: those that it names, but for empty ones, or all, and
// the account if there are several.
func (g *grid) wanted(rows [][]cell, q Question) (wanted []int) {
	for _, i := range g.shown {
		name := g.columns[i].name
		differs := slices.ContainsFunc(rows, func(r []cell) bool { return r[i] != rows[0][i] })
		filled := len(rows) == 0 || slices.ContainsFunc(rows, func(r []cell) bool { return !r[i].isNull })
		switch {
		case name == "account_id" && q.Asks != "" && differs:
			wanted = append([]int{i}, wanted...)
		case name == "account_id" && q.Asks != "" && len(g.columns) > 1: // as everywhere
		case len(q.Shown) == 0, slices.Contains(q.Shown, name) && filled:
			wanted = append(wanted, i)
		}
	}
	return wanted
}

// keys are the columns that say what a row is about, and the numbers to judge it by: a terminal leaves them out last.
var keys = []string{"campaign_name", "source_id", "title", "creative_title", "place", "change", "cpa_usual",
	"cpa_change"}

// fitting returns the first verdict, the keys, and of the other columns those from the left, as far as they fit.
func (g *grid) fitting(wanted []int, rows [][]cell) (chosen []int) {
	verdict := slices.IndexFunc(wanted, func(i int) bool { return g.columns[i].isVerdict() })
	inTurn := slices.Clone(wanted)
	rank := func(i int) int {
		switch {
		case verdict >= 0 && i == wanted[verdict]:
			return 0
		case slices.Contains(keys, g.columns[i].name):
			return 1
		}
		return 2
	}
	slices.SortStableFunc(inTurn, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	for n := range inTurn {
		some := slices.DeleteFunc(slices.Clone(wanted), func(i int) bool { return !slices.Contains(inTurn[:n+1], i) })
		if _, total := g.measure(some, rows, g.width); total > g.width && n > 0 {
			break
		}
		chosen = some
	}
	return chosen
}

// measure returns the widths of columns. If they exceed the limit, headings are broken, and then the widest names cut.
func (g *grid) measure(columns []int, rows [][]cell, limit int) (widths []int, total int) {
	widths, broken, least := make([]int, len(columns)), make([]int, len(columns)), make([]int, len(columns))
	total = -gap
	for at, i := range columns {
		c, cells, head := g.columns[i], 0, 0
		for _, r := range rows {
			cells = max(cells, widthOf(r[i].text))
		}
		for _, part := range breakName(c.name, 1) {
			head = max(head, widthOf(part))
		}
		widths[at], broken[at], least[at] = max(cells, widthOf(c.name)), max(cells, head), max(cells, head)
		if c.mayCut() {
			least[at] = max(min(cells, minName), head)
		}
		total += widths[at] + gap
	}
	for _, floor := range [][]int{broken, least} {
		for limit > 0 && total > limit {
			widest := -1
			for i, width := range widths {
				if width > floor[i] && (widest < 0 || width > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
			total--
		}
	}
	return widths, total
}

// write writes rows, the first ones under the heading. A value that may not be cut is never narrower than it is.
func (g *grid) write(w io.Writer, rows [][]cell, first bool) {
	t := output.NewTable(w)
	var heads table.Row
	var forms []table.ColumnConfig
	for at, i := range g.shown {
		align := text.AlignLeft
		if g.columns[i].isNumber() {
			align = text.AlignRight
		}
		heads = append(heads, strings.Join(breakName(g.columns[i].name, g.widths[at]), "\n"))
		forms = append(forms, table.ColumnConfig{Number: at + 1, Align: align, AlignHeader: align,
			VAlignHeader: text.VAlignBottom, WidthMin: g.widths[at]})
	}
	t.SetColumnConfigs(forms)
	if first {
		t.AppendHeader(heads)
	}
	for _, r := range rows {
		var cells table.Row
		for at, i := range g.shown {
			c, shown := g.columns[i], r[i].text
			switch {
			case c.isProse() && g.width > 0:
				shown = wrap.Line(shown, g.widths[at], "")
			case c.mayCut():
				shown = cutMiddle(shown, g.widths[at])
			}
			if g.color {
				shown = c.paint(r[i], shown)
			}
			cells = append(cells, shown)
		}
		t.AppendRow(cells)
	}
	t.Print()
}

// breakName breaks a column's name after underscores into lines of a width. A part
// without an underscore is not broken.
func breakName(name string, width int) (lines []string) {
	for _, part := range strings.SplitAfter(name, "_") {
		if n := len(lines) - 1; n >= 0 && widthOf(lines[n])+widthOf(part) <= width {
			lines[n] += part
		} else if part != "" || n < 0 {
			lines = append(lines, part)
		}
	}
	return lines
}

// cutMiddle shortens a text to a width: names with the same start often differ at the end.
func cutMiddle(s string, width int) string {
	if widthOf(s) <= width {
		return s
	}
	head, tail := "", ""
	runes := []rune(s)
	for _, r := range runes {
		if widthOf(head+string(r)) > width/2 {
			break
		}
		head += string(r)
	}
	room := width - widthOf(head) - 1
	for i := len(runes) - 1; i >= 0 && widthOf(string(runes[i])+tail) <= room; i-- {
		tail = string(runes[i]) + tail
	}
	// A mark that belongs to the character before it would join the sign of the cut.
	tail = strings.TrimLeftFunc(tail, func(r rune) bool { return widthOf(string(r)) == 0 })
	return head + "…" + tail
}
