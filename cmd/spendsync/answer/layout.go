package answer

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"spendsync/cmd/internal/output"
	"spendsync/cmd/internal/wrap"
	"spendsync/cmd/spendsync/phrase"
)

// tableLayout fits a table into its width: headings are broken at their underscores, then texts are
// cut in the middle and sentences broken at words, never IDs, numbers, times and verdicts. If even that
// is too wide, columns are left out (see choose), or if all are wanted, the remaining columns follow in
// another table below, under the same first columns. If that takes too many tables, or the rows are
// streamed, each row becomes a record of its own, one column per line.
type tableLayout struct {
	columns []tableColumn
	width   int  // 0: no limit
	wide    bool // every column is wanted
	color   bool
	allRows bool // the first rows that are written are all there are
	widths  []int
	records bool
	hasNull bool // a record lacks a column
}

func newTableLayout(columns []tableColumn, width int) *tableLayout {
	return &tableLayout{columns: columns, width: width}
}

// gap is between two columns. A text is not cut below minText, or below minName if columns may be left out.
const gap, minText, minName = 2, 10, 20

// widthOf is how many places a text takes on a terminal.
func widthOf(s string) int { return text.StringWidthWithoutEscSequences(s) }

func visibleName(name string) string { return phrase.Visible(name) }

// write writes rows, the first time under the heading. It measures the first ones.
func (t *tableLayout) write(w *bufio.Writer, rows [][]cell, before int64) {
	if t.widths == nil {
		t.measure(rows)
	}
	if t.records {
		if parts := t.split(rows); parts != nil {
			t.writeParts(w, rows, parts)
			return
		}
		t.writeRecords(w, rows, before)
		return
	}
	if before == 0 {
		t.writeHeading(w)
	}
	for _, r := range rows {
		t.writeLine(w, r)
	}
}

func (t *tableLayout) writeHeading(w *bufio.Writer) {
	heads, lines := make([][]string, len(t.columns)), 0
	for i, c := range t.columns {
		heads[i] = breakName(c.name, t.widths[i])
		lines = max(lines, len(heads[i]))
	}
	total := 0
	for line := range lines {
		cells := make([]cell, len(t.columns))
		for i := range heads {
			// The last line of each heading stands on the rule.
			if at := line - lines + len(heads[i]); at >= 0 {
				cells[i].text = heads[i][at]
			}
		}
		t.writeLine(w, cells)
	}
	for _, width := range t.widths {
		total += width + gap
	}
	fmt.Fprintln(w, strings.Repeat("─", max(0, total-gap)))
}

// writeLine writes cells in their columns. What is wider than its column is cut where
// that leaves something of use, else it stands out: a wrong number is worse than a
// crooked line.
func (t *tableLayout) writeLine(w *bufio.Writer, cells []cell) {
	var b strings.Builder
	var below []cell // the rest of the sentences, for the next line
	for i, c := range cells {
		shown := c.text
		switch {
		case t.columns[i].isProse() && t.width > 0:
			line, rest, more := strings.Cut(wrap.Line(shown, t.widths[i], ""), "\n")
			if shown = line; more {
				if below == nil {
					below = make([]cell, len(cells))
				}
				below[i].text = rest
			}
		case t.columns[i].mayCut():
			shown = cutMiddle(shown, t.widths[i])
		}
		space := strings.Repeat(" ", max(0, t.widths[i]-widthOf(shown)))
		shown = output.Paint(shown, t.columns[i].color(c), t.color)
		if t.columns[i].isNumber() {
			shown, space = space+shown, ""
		}
		b.WriteString(shown)
		b.WriteString(space)
		b.WriteString(strings.Repeat(" ", gap))
	}
	fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	if below != nil {
		t.writeLine(w, below)
	}
}

// measure sets the widths by the rows: full width if that fits, else the widest headings are broken
// first, and then the widest texts are cut.
func (t *tableLayout) measure(rows [][]cell) {
	t.widths = make([]int, len(t.columns))
	broken, least := make([]int, len(t.columns)), make([]int, len(t.columns))
	total := -gap
	for i, c := range t.columns {
		cells := 0
		for _, r := range rows {
			cells = max(cells, widthOf(r[i].text))
		}
		head := 0
		for _, part := range breakName(c.name, 1) {
			head = max(head, widthOf(part))
		}
		t.widths[i], broken[i], least[i] = max(cells, widthOf(c.name)), max(cells, head), max(cells, head)
		if c.mayCut() {
			floor := minName
			if t.wide || len(t.columns) == 1 {
				floor = minText
			}
			least[i] = max(min(cells, floor), min(head, t.widths[i]))
		}
		total += t.widths[i] + gap
	}
	for _, floor := range [][]int{broken, least} {
		for t.width > 0 && total > t.width {
			widest := -1
			for i, width := range t.widths {
				if width > floor[i] && (widest < 0 || width > t.widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			t.widths[widest]--
			total--
		}
	}
	t.records = t.width > 0 && total > t.width
}

// maxParts is how many tables below each other a person still reads together.
const maxParts = 4

// split divides the columns among several tables that fit, each starting with the first columns,
// which identify the row. It returns nil if there is no such division.
func (t *tableLayout) split(rows [][]cell) (parts [][]int) {
	if !t.allRows || len(rows) < 2 {
		return nil
	}
	keys := []int{}
	for i, c := range t.columns[:min(2, len(t.columns))] {
		if !c.isNumber() {
			keys = append(keys, i)
		}
	}
	part := slices.Clone(keys)
	for i := len(keys); i < len(t.columns); i++ {
		if t.part(append(slices.Clone(part), i), rows).records {
			if len(part) == len(keys) || len(parts) == maxParts-1 {
				return nil
			}
			parts, part = append(parts, part), slices.Clone(keys)
			i--
			continue
		}
		part = append(part, i)
	}
	return append(parts, part)
}

// part is the layout of some of the columns.
func (t *tableLayout) part(columns []int, rows [][]cell) *tableLayout {
	p := &tableLayout{width: t.width, wide: t.wide, color: t.color}
	p.columns = pickOf(t.columns, columns)
	p.measure(pick(rows, columns))
	return p
}

func pick(rows [][]cell, columns []int) [][]cell {
	picked := make([][]cell, len(rows))
	for r := range rows {
		picked[r] = pickOf(rows[r], columns)
	}
	return picked
}

func pickOf[T any](all []T, columns []int) []T {
	picked := make([]T, len(columns))
	for i, c := range columns {
		picked[i] = all[c]
	}
	return picked
}

func (t *tableLayout) writeParts(w *bufio.Writer, rows [][]cell, parts [][]int) {
	for i, columns := range parts {
		if i > 0 {
			w.WriteByte('\n')
		}
		p := t.part(columns, rows)
		p.writeHeading(w)
		for _, r := range pick(rows, columns) {
			p.writeLine(w, r)
		}
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

// writeRecords writes each row as lines of name and value. A column without a
// value has no line.
func (t *tableLayout) writeRecords(w *bufio.Writer, rows [][]cell, before int64) {
	longest := 0
	for _, c := range t.columns {
		longest = max(longest, widthOf(c.name))
	}
	for n, r := range rows {
		title := "── " + strconv.FormatInt(before+int64(n)+1, 10) + " "
		fmt.Fprintf(w, "%s%s\n", title, strings.Repeat("─", max(0, min(t.width, 60)-widthOf(title))))
		for i, c := range r {
			if c.isNull {
				t.hasNull = true
				continue
			}
			line := text.Pad(t.columns[i].name, longest, ' ') + "  "
			shown := c.text
			if t.columns[i].form == formText && longest+2+widthOf(shown) > t.width {
				indent := strings.Repeat(" ", longest+2)
				shown = strings.TrimLeft(wrap.Line(indent+shown, max(t.width, longest+2+minName), indent), " ")
			}
			shown = output.Paint(shown, t.columns[i].color(c), t.color)
			fmt.Fprintf(w, "%s%s\n", line, shown)
		}
	}
}

// writeEnd explains what the records leave out.
func (t *tableLayout) writeEnd(w *bufio.Writer) {
	if t.hasNull {
		fmt.Fprintln(w, "\nA column that a record lacks is NULL in it.")
	}
}
