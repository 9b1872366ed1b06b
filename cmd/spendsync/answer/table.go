package answer

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"spendsync/cmd/internal/cli"
	"spendsync/load/duck"
	"spendsync/schema"
)

// rowsPerBlock is the number of rows that are formatted together. The first block determines the widths of the columns,
// so that memory does not grow with the answer.
const rowsPerBlock = 1000

// writeTable writes a table for a person. With a width (on a terminal) it rounds money to cents, starts with the
// columns that the question names, and drops columns that do not fit. Without a width it writes every column and digit
// in the order of the answer.
func (n Rendering) writeTable(ctx context.Context, w *bufio.Writer) error {
	total := n.Result.Count
	if none := n.Nothing(); none != "" {
		n.paragraph(w, none)
		return nil
	}
	if n.MaxRows > 0 {
		total = min(total, n.MaxRows)
	}
	g, left := &grid{columns: n.tableColumns(), width: n.Width, color: n.Color}, 0
	var block [][]cell
	isFirst, read := true, int64(0)
	write := func() error {
		if isFirst {
			n.writeTitle(w, g.span(block, n.Result.Count > int64(len(block))))
			left = g.lay(block, n.Question, n.Wide)
		}
		if len(block) > 0 || n.Width == 0 {
			g.write(w, block, isFirst)
		}
		isFirst, block = false, block[:0]
		return w.Flush()
	}
	for row, err := range n.Result.Rows(ctx) {
		if err != nil {
			return err
		}
		if read == total {
			break
		}
		if len(block) == rowsPerBlock {
			if err := write(); err != nil {
				return err
			}
		}
		read, block = read+1, append(block, g.cells(row))
	}
	if err := write(); err != nil {
		return err
	}
	if total == 0 && n.Width > 0 {
		w.WriteString("No rows.\n")
	}
	n.writeEnd(w, total, left, g.showsInstants())
	return nil
}

// writeTitle writes the question and the days of its answer.
func (n Rendering) writeTitle(w *bufio.Writer, days string) {
	if n.Question.Asks != "" {
		n.paragraph(w, n.Question.Asks+days)
		w.WriteByte('\n')
	}
}

// span returns the day or the range of days that all rows have in common, if the answer has columns for them. If
// areMore is true, the answer has more rows than these. Then span returns no single day, because the days of the
// further rows are not known.
func (g *grid) span(rows [][]cell, areMore bool) string {
	if from, to := g.shared("window_from", rows), g.shared("window_to", rows); from != "" && to != "" {
		return " (" + from + " to " + to + ")"
	}
	if day := g.shared("report_date", rows); day != "" && !areMore {
		return " (" + day + ")"
	}
	return ""
}

// showsInstants reports whether the table shows instants in Chicago's time, which it does only on a terminal.
func (g *grid) showsInstants() bool {
	return g.width > 0 && slices.ContainsFunc(g.shown, func(i int) bool { return g.columns[i].form == formInstant })
}

// shared returns the value that all rows have in a column, or "" if the values differ or one is NULL.
func (g *grid) shared(column string, rows [][]cell) string {
	i := slices.IndexFunc(g.columns, func(c tableColumn) bool { return c.name == column })
	if i < 0 || len(rows) == 0 ||
		slices.ContainsFunc(rows, func(r []cell) bool { return r[i] != rows[0][i] || r[i].isNull }) {
		return ""
	}
	return rows[0][i].text
}

// writeEnd writes the lines below a table: what was left out, the number of rows, how the answer is easily misread, and
// the facts of the answer, such as how recent the data is.
func (n Rendering) writeEnd(w *bufio.Writer, shown int64, left int, hasInstants bool) {
	var lines []string
	if left > 0 && shown > 0 {
		lines = append(lines, "and "+cli.Count(left, "more column")+": --wide")
	}
	if hasInstants && shown > 0 {
		lines = append(lines, "Times are Chicago's.")
	}
	if n.Result.Count == 1 && n.Question.Alone != "" {
		lines = append(lines, n.Question.Alone)
	}
	if more := n.Result.Count - shown; more > 0 {
		lines = append(lines, fmt.Sprintf("%s of %d shown, %d more: --rows 0 shows all of them, --out FILE writes "+
			"them.", cli.Count(int(shown), "row"), n.Result.Count, more))
	}
	rows := n.NotAll()
	if n.Question.Trap != "" && n.Result.Count > 0 {
		lines = append(lines, cmp.Or(rows, cli.Count(int(n.Result.Count), "row"))+". Mind: "+n.Question.Trap)
	} else if rows != "" {
		lines = append(lines, rows+".")
	}
	for _, fact := range duck.CaveatLines(n.Result.Caveats) {
		lines = append(lines, cli.Visible(fact))
	}
	for _, line := range lines {
		w.WriteByte('\n')
		n.paragraph(w, line)
	}
}

// paragraph writes a text wrapped to the width.
func (n Rendering) paragraph(w *bufio.Writer, text string) {
	if n.Width > 0 {
		text = cli.WrapLine(text, n.Width, "")
	}
	w.WriteString(strings.TrimSuffix(text, "\n") + "\n")
}

// cell is a formatted value.
type cell struct {
	text   string
	isNull bool
}

// cells formats the values of a row. On a terminal, NULL is a dash. Elsewhere it is the word NULL, because an empty
// cell would look like an empty text.
func (g *grid) cells(row []schema.Null[string]) []cell {
	cells := make([]cell, len(row))
	for i, v := range row {
		switch {
		case v.Valid:
			cells[i].text = cli.Visible(g.columns[i].text(v.V, g.width > 0))
		case g.width > 0:
			cells[i] = cell{"-", true}
		default:
			cells[i] = cell{"NULL", true}
		}
	}
	return cells
}
