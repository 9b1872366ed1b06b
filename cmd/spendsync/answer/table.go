package answer

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/load/duck"
	"spendsync/schema"
)

// rowsPerBlock is how many rows of a table are measured together. The first block
// sets the widths, so that the memory does not grow with the answer.
const rowsPerBlock = 1000

// writeTable writes a table for a person. On a terminal, which has a width, it states values common
// to all rows above the table, rounds money to cents, begins with the verdict and leaves out what does
// not fit; without a width it has every column and digit, in the order of the answer.
func (n Rendering) writeTable(ctx context.Context, w *bufio.Writer) error {
	shown := n.Result.Count
	if n.MaxRows > 0 {
		shown = min(shown, n.MaxRows)
	}
	t := newTableLayout(n.tableColumns(), n.Width)
	t.color, t.wide = n.Color, n.Wide
	order := t.inOrder(n.Question)
	if n.Width > 0 {
		t.columns = pickOf(t.columns, order)
	}
	all, chosen, left := *t, []int(nil), 0
	t.allRows = shown <= rowsPerBlock
	if n.Question.Asks != "" {
		writeWrapped(w, n.Question.Asks, n.Width)
		w.WriteByte('\n')
	}
	block, written := [][]cell{}, int64(0)
	flush := func() error {
		if n.Width > 0 && t.allRows && (n.Wide || len(n.Question.Shown) == 0) {
			if same := t.takeConstant(block); same != "" {
				writeWrapped(w, same, n.Width)
				w.WriteByte('\n')
			}
		}
		if written == 0 && n.Width > 0 && !n.Wide && (shown > 1 || n.Question.Alone != "") {
			wanted := t.wanted(block, n.Question.Shown)
			some := *t
			some.columns = pickOf(t.columns, wanted)
			chosen, _ = some.choose(pick(block, wanted))
			chosen = pickOf(wanted, chosen)
			left = len(t.columns) - len(chosen)
			t.columns = pickOf(t.columns, chosen)
		}
		if left > 0 {
			block = pick(block, chosen)
		}
		t.write(w, block, written)
		written += int64(len(block))
		block = block[:0]
		return w.Flush()
	}
	for row, err := range n.Result.Rows(ctx) {
		if err != nil {
			return err
		}
		if written+int64(len(block)) == shown {
			break
		}
		if n.Width > 0 {
			row = pickOf(row, order)
		}
		if block = append(block, all.cells(row)); len(block) == rowsPerBlock {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if shown == 0 && n.Width > 0 {
		w.WriteString("No rows.\n")
	} else if len(block) > 0 || written == 0 {
		if err := flush(); err != nil {
			return err
		}
	}
	t.writeEnd(w)
	if left > 0 {
		fmt.Fprintf(w, "\nand %s: --wide\n", phrase.Count(left, "more column"))
	}
	if n.Result.Count == 1 && n.Question.Alone != "" {
		w.WriteByte('\n')
		writeWrapped(w, n.Question.Alone, n.Width)
	}
	n.writeEnd(w, shown)
	return nil
}

// writeEnd writes how many rows there are, how the answer is misread, and the facts.
func (n Rendering) writeEnd(w *bufio.Writer, shown int64) {
	if more := n.Result.Count - shown; more > 0 {
		w.WriteByte('\n')
		writeWrapped(w, fmt.Sprintf("%s of %d shown, %d more: --rows 0 shows all of them, --out FILE writes them.",
			phrase.Count(int(shown), "row"), n.Result.Count, more), n.Width)
	}
	if n.Question.Trap != "" {
		w.WriteByte('\n')
		writeWrapped(w, fmt.Sprintf("%s. Mind: %s", phrase.Count(int(n.Result.Count), "row"), n.Question.Trap),
			n.Width)
	}
	for _, line := range duck.FactLines(n.Result.Facts) {
		w.WriteByte('\n')
		writeWrapped(w, phrase.Visible(line), n.Width)
	}
}

// writeWrapped writes a paragraph, broken at spaces to fit the width; 0: no limit.
func writeWrapped(w *bufio.Writer, paragraph string, width int) {
	used := 0
	for _, word := range strings.Split(paragraph, " ") {
		wide := widthOf(word)
		switch {
		case used == 0:
		case width > 0 && used+1+wide > width:
			w.WriteByte('\n')
			used = 0
		default:
			w.WriteByte(' ')
			used++
		}
		w.WriteString(word)
		used += wide
	}
	w.WriteByte('\n')
}

// cell is a value as a person reads it.
type cell struct {
	text   string
	isNull bool
}

// cells are a row's values. An absent one is a dash for a person, else NULL: an empty cell would look
// like an empty text.
func (t *tableLayout) cells(row []schema.Null[string]) []cell {
	cells := make([]cell, len(row))
	for i, v := range row {
		if cells[i] = (cell{map[bool]string{true: "-", false: "NULL"}[t.width > 0], true}); v.Valid {
			cells[i] = cell{text: phrase.Visible(t.columns[i].text(v.V, t.width > 0))}
		}
	}
	return cells
}

// takeConstant removes the columns with a single value in all rows, and returns a sentence with
// those values. A number is removed only if there are three rows or more: two may be equal by
// coincidence. The first verdict stays, and at least one column.
func (t *tableLayout) takeConstant(rows [][]cell) string {
	var same, absent []string
	var taken []int
	verdict := slices.IndexFunc(t.columns, tableColumn.isVerdict)
	for i, c := range t.columns {
		least := 2
		if c.isNumber() {
			least = 3
		}
		if len(rows) < least || i == verdict && !rows[0][i].isNull ||
			slices.ContainsFunc(rows, func(r []cell) bool { return r[i] != rows[0][i] }) {
			continue
		}
		if taken = append(taken, i); rows[0][i].isNull {
			absent = append(absent, c.name)
		} else {
			same = append(same, c.name+" "+rows[0][i].text)
		}
	}
	if len(taken) == 0 || len(taken) == len(t.columns) {
		return ""
	}
	for _, i := range slices.Backward(taken) {
		t.columns = slices.Delete(slices.Clone(t.columns), i, i+1)
		for r := range rows {
			rows[r] = slices.Delete(rows[r], i, i+1)
		}
	}
	var parts []string
	if len(same) > 0 {
		parts = append(parts, "In every row: "+strings.Join(same, ", ")+".")
	}
	if len(absent) > 0 {
		parts = append(parts, "NULL in every row: "+strings.Join(absent, ", ")+".")
	}
	return strings.Join(parts, " ")
}
