package answer

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"spendsync/cmd/internal/output"
	"spendsync/cmd/internal/wrap"
)

// grid fits rows into a width. Headings are broken at their underscores, names cut in the middle, sentences broken at
// words; IDs, numbers, times and verdicts are never cut. Columns that do not fit are left out, with the first verdict
// always among those that stay; where all are wanted, each row is a record, a column a line.
type grid struct {
	columns []tableColumn
	width   int // 0: no limit
	color   bool
	shown   []int // the columns that are written, in their order
	widths  []int // of these
	records bool
	hasNull bool // a record lacks a column
}

// gap is between two columns. A name is not cut below minName, or below minText if every column is wanted.
const gap, minText, minName = 2, 10, 20

// widthOf is how many places a text takes on a terminal.
func widthOf(s string) int { return text.StringWidthWithoutEscSequences(s) }

// lay chooses the columns and their widths by the first rows, and returns how many columns are left out.
func (g *grid) lay(rows [][]cell, q Question, all bool) (left int) {
	g.shown = g.inOrder(q)
	least := minName
	if all || len(g.columns) == 1 {
		least = minText
	}
	if g.width > 0 && !all {
		g.shown = g.fitting(g.wanted(rows, q), rows)
	}
	total := 0
	g.widths, total = g.measure(g.shown, rows, least)
	g.records = g.width > 0 && total > g.width
	for i, c := range g.columns { // an account that is the same in all rows is not missed
		if !slices.Contains(g.shown, i) && (c.name != "account_id" || q.Asks == "") {
			left++
		}
	}
	return left
}

// inOrder returns the columns in the order in which a terminal shows them: those that the question names, and then the
// others as they are.
func (g *grid) inOrder(q Question) []int {
	order := make([]int, len(g.columns))
	for i := range order {
		order[i] = i
	}
	if g.width > 0 {
		rank := func(i int) int {
			if at := slices.Index(q.Shown, g.columns[i].name); at >= 0 {
				return at
			}
			return len(q.Shown)
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
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

// fitting returns the columns from the left until one does not fit, with the first verdict among them.
func (g *grid) fitting(wanted []int, rows [][]cell) (chosen []int) {
	verdict := slices.IndexFunc(wanted, func(i int) bool { return g.columns[i].isVerdict() })
	for at, i := range wanted {
		next := append(slices.Clone(chosen), i)
		if at < verdict {
			next = append(next, wanted[verdict])
		}
		if _, total := g.measure(next, rows, minName); len(chosen) > 0 && total > g.width {
			break
		}
		chosen = append(chosen, i)
	}
	if verdict >= 0 && !slices.Contains(chosen, wanted[verdict]) {
		chosen = append(chosen, wanted[verdict])
	}
	return chosen
}

// measure returns the widths of columns: full width if that fits, else the widest headings are broken first, and then
// the widest names are cut, down to a least width.
func (g *grid) measure(columns []int, rows [][]cell, minimum int) (widths []int, total int) {
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
			least[at] = max(min(cells, minimum), min(head, widths[at]))
		}
		total += widths[at] + gap
	}
	for _, floor := range [][]int{broken, least} {
		for g.width > 0 && total > g.width {
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

// write writes rows, the first ones under the heading.
func (g *grid) write(w *bufio.Writer, rows [][]cell, before int64) {
	for n, r := range rows {
		switch {
		case g.records:
			g.writeRecord(w, r, before+int64(n)+1)
			continue
		case before == 0 && n == 0:
			g.writeHeading(w)
		}
		g.writeLine(w, r)
	}
}

// writeHeading writes the names; the last line of each stands on the rule.
func (g *grid) writeHeading(w *bufio.Writer) {
	lines, total := 0, -gap
	heads := make([][]string, len(g.columns))
	for at, i := range g.shown {
		heads[i] = breakName(g.columns[i].name, g.widths[at])
		lines, total = max(lines, len(heads[i])), total+g.widths[at]+gap
	}
	for line := range lines {
		cells := make([]cell, len(g.columns))
		for i, head := range heads {
			if at := line - lines + len(head); at >= 0 {
				cells[i].text = head[at]
			}
		}
		g.writeLine(w, cells)
	}
	fmt.Fprintln(w, strings.Repeat("─", max(0, total)))
}

// writeLine writes cells in their columns. A value that is wider than its column and may not be cut stands out: a
// wrong number is worse than a crooked line.
func (g *grid) writeLine(w *bufio.Writer, cells []cell) {
	var b strings.Builder
	below, more := make([]cell, len(cells)), false // the rest of the sentences, for the next line
	for at, i := range g.shown {
		c, shown, width := g.columns[i], cells[i].text, g.widths[at]
		if c.isProse() && g.width > 0 {
			var goesOn bool
			shown, below[i].text, goesOn = strings.Cut(wrap.Line(shown, width, ""), "\n")
			more = more || goesOn
		} else if c.mayCut() {
			shown = cutMiddle(shown, width)
		}
		space := strings.Repeat(" ", max(0, width-widthOf(shown)))
		shown = output.Paint(shown, c.color(cells[i]), g.color)
		if c.isNumber() {
			shown, space = space+shown, ""
		}
		b.WriteString(shown + space + strings.Repeat(" ", gap))
	}
	fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	if more {
		g.writeLine(w, below)
	}
}

// writeRecord writes a row as lines of name and value. A column without a value has no line.
func (g *grid) writeRecord(w *bufio.Writer, row []cell, number int64) {
	longest := 0
	for _, i := range g.shown {
		longest = max(longest, widthOf(g.columns[i].name))
	}
	title := "── " + strconv.FormatInt(number, 10) + " "
	fmt.Fprintf(w, "%s%s\n", title, strings.Repeat("─", max(0, min(g.width, 60)-widthOf(title))))
	for _, i := range g.shown {
		c, shown := g.columns[i], row[i].text
		if row[i].isNull {
			g.hasNull = true
			continue
		}
		if indent := strings.Repeat(" ", longest+gap); c.form == formText && len(indent)+widthOf(shown) > g.width {
			shown = strings.TrimLeft(wrap.Line(indent+shown, max(g.width, len(indent)+minName), indent), " ")
		}
		fmt.Fprintf(w, "%s%s\n", text.Pad(c.name, longest+gap, ' '), output.Paint(shown, c.color(row[i]), g.color))
	}
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
