package answer

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"spendsync/cmd/internal/cli"
)

// grid fits a table into a width. It breaks headings at underscores and sentences at words, and cuts names in the
// middle. It never cuts IDs, numbers, times or verdicts. If the columns still do not fit, it drops columns from the
// right, but never the first verdict.
type grid struct {
	columns []tableColumn
	width   int // 0 means no limit
	color   bool
	shown   []int // indexes of the shown columns, in order
	widths  []int // of the shown columns
}

// gap is the space between columns. minName is the least width of a cut name.
const gap, minName = 2, 20

// widthOf returns the number of terminal columns that a text takes.
func widthOf(s string) int { return text.StringWidthWithoutEscSequences(s) }

// lay chooses the columns and their widths from the first rows, and returns the number of dropped columns.
func (g *grid) lay(rows [][]cell, q Question, all bool) (left int) {
	limit := g.width
	if all {
		limit = 0
	}
	g.shown = g.inOrder(q)
	if limit > 0 {
		g.shown = slices.DeleteFunc(g.shown, func(i int) bool { return !g.isWanted(i, rows, q) })
	}
	for {
		total := 0
		g.widths, total = g.measure(rows, limit)
		last := g.leastWanted()
		if limit == 0 || total <= limit || last < 0 {
			break
		}
		g.shown = slices.Delete(g.shown, last, last+1)
	}
	for i, c := range g.columns { // do not count the account as dropped if it is the same in all rows
		if !slices.Contains(g.shown, i) && (c.name != "account_id" || q.Asks == "") {
			left++
		}
	}
	return left
}

// leastWanted returns the position of the column to drop next: the last shown column other than the first verdict. It
// returns -1 if there is no such column.
func (g *grid) leastWanted() int {
	verdict := slices.IndexFunc(g.shown, func(i int) bool { return g.columns[i].isVerdict() })
	last := len(g.shown) - 1
	if last == verdict || last == 0 {
		last--
	}
	return last
}

// inOrder returns the columns in the order in which a terminal shows them: first the account, then the columns that the
// question names, then the other columns. Without a width, or if the question names no columns, the columns keep the
// order of the answer.
func (g *grid) inOrder(q Question) (order []int) {
	rank := func(i int) int {
		at := slices.Index(q.Shown, g.columns[i].name) // -1: the account comes first
		if g.width == 0 || len(q.Shown) == 0 || at < 0 && g.columns[i].name != "account_id" {
			return len(q.Shown)
		}
		return at
	}
	for i := range g.columns {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	return order
}

// isWanted reports whether a terminal shows a column. If the question names columns, the terminal shows the named
// columns that are not empty; otherwise it shows all columns. The account is shown if there are several accounts.
func (g *grid) isWanted(i int, rows [][]cell, q Question) bool {
	name := g.columns[i].name
	isFilled := len(rows) == 0 || slices.ContainsFunc(rows, func(r []cell) bool { return !r[i].isNull })
	if name == "account_id" && q.Asks != "" && len(g.columns) > 1 {
		return slices.ContainsFunc(rows, func(r []cell) bool { return r[i] != rows[0][i] })
	}
	return len(q.Shown) == 0 || slices.Contains(q.Shown, name) && isFilled
}

// measure returns the widths of the shown columns. To stay within the limit, measure first breaks headings, then cuts
// the widest names.
func (g *grid) measure(rows [][]cell, limit int) (widths []int, total int) {
	total = -gap
	var broken, least []int
	for _, i := range g.shown {
		c, cells, head := g.columns[i], 0, 0
		for _, r := range rows {
			cells = max(cells, widthOf(r[i].text))
		}
		for _, part := range breakName(c.name, 1) {
			head = max(head, widthOf(part))
		}
		floor := max(cells, head)
		if c.mayCut() {
			floor = max(min(cells, minName), head)
		}
		widths, broken, least = append(widths, max(cells, widthOf(c.name))), append(broken, max(cells, head)),
			append(least, floor)
		total += widths[len(widths)-1] + gap
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

// write writes one block of rows, with the heading if it is the first block. A value that may not be cut widens its
// column.
func (g *grid) write(w io.Writer, rows [][]cell, first bool) {
	t := cli.NewTable(w)
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
				// WrapText breaks words that are longer than the column.
				shown = text.WrapText(cli.WrapLine(shown, g.widths[at], ""), g.widths[at])
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
	t.Render()
}

// breakName breaks a column's name after underscores into lines of a width. A part without an underscore stays whole.
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

// cutMiddle shortens a text to a width. It cuts in the middle, because names with the same start often differ at the
// end.
func cutMiddle(s string, width int) string {
	if widthOf(s) <= width {
		return s
	}
	head := text.Trim(s, width/2)
	tail := []rune(s)
	tail = tail[max(0, len(tail)-width):]
	// The tail must not start with a combining mark, which would attach to the ellipsis.
	for len(tail) > 0 && (widthOf(head)+1+widthOf(string(tail)) > width || widthOf(string(tail[0])) == 0) {
		tail = tail[1:]
	}
	return head + "…" + string(tail)
}
