package answer

import (
	"bufio"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"spendsync/cmd/spendsync/output"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/schema"
)

// rowsPerBlock is how many rows of a table are measured together: the first
// block sets the widths, so that an answer of any length can be shown.
const rowsPerBlock = 1000

// writeTable writes a table for the eye, as wide as the terminal. Texts are cut
// to fit, numbers and times never; where even that is too wide, each row is a record of
// its own, one column on a line.
func (n Answer) writeTable(ctx context.Context, w *bufio.Writer) error {
	t := tableLayout{names: n.names(), forms: n.forms(), width: n.Width}
	for i := range t.names {
		t.names[i] = phrase.Visible(t.names[i])
	}
	if n.Question.Asks != "" {
		fmt.Fprintf(w, "%s\n\n", n.Question.Asks)
	}
	block, written := [][]string{}, int64(0)
	flush := func() error {
		t.write(w, block, written)
		written += int64(len(block))
		block = block[:0]
		return w.Flush()
	}
	for row, err := range n.Result.Rows(ctx) {
		if err != nil {
			return err
		}
		if block = append(block, tableCells(row, t.forms)); len(block) == rowsPerBlock {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(block) > 0 || written == 0 {
		if err := flush(); err != nil {
			return err
		}
	}
	if n.Question.Trap != "" {
		fmt.Fprintf(w, "\n%s. Mind: %s\n", phrase.Count(int(n.Result.Count), "row"), n.Question.Trap)
	}
	return nil
}

// fraction is of a second: too fine for the eye.
var fraction = regexp.MustCompile(`\.[0-9]+Z$`)

func tableCells(row []schema.Null[string], forms []valueForm) []string {
	cells := make([]string, len(row))
	for i, v := range row {
		if cells[i] = "NULL"; v.Valid {
			cells[i] = phrase.Visible(spell(forms[i], v.V))
		}
		if forms[i] == formInstant {
			cells[i] = fraction.ReplaceAllString(cells[i], "Z")
		}
	}
	return cells
}

// tableLayout is how a table fits its width.
type tableLayout struct {
	names   []string
	forms   []valueForm
	width   int // 0: no limit
	widths  []int
	records bool
}

// A column is followed by a gap, the last one too. A text is not cut below
// minText, a heading not below minHead.
const gap, minText, minHead = 2, 12, 10

func (t *tableLayout) isNumber(column int) bool {
	return t.forms[column] == formNumber || t.forms[column] == formFloat
}

// mayCut says whether half of a value is of use.
func (t *tableLayout) mayCut(column int) bool {
	return t.forms[column] == formText || t.forms[column] == formNested
}

// write writes rows, the first time under the heading.
func (t *tableLayout) write(w *bufio.Writer, rows [][]string, before int64) {
	if t.widths == nil {
		t.measure(rows)
	}
	if t.records {
		t.writeRecords(w, rows, before)
		return
	}
	out := output.NewTable(w)
	configs := make([]table.ColumnConfig, len(t.names))
	head := make(table.Row, len(t.names))
	for i, name := range t.names {
		configs[i] = table.ColumnConfig{Number: i + 1, WidthMin: t.widths[i]}
		if t.isNumber(i) {
			configs[i].Align, configs[i].AlignHeader = text.AlignRight, text.AlignRight
		}
		head[i] = text.Snip(name, t.widths[i], "…")
	}
	out.ResetHeaders()
	if before == 0 {
		out.AppendHeader(head)
	}
	out.SetColumnConfigs(configs)
	for _, r := range rows {
		for i := range r {
			if t.width > 0 && t.mayCut(i) {
				r[i] = text.Snip(r[i], t.widths[i], "…")
			}
		}
		out.Row(r...)
	}
	out.Print()
}

// measure sets the widths by the rows: as wide as they are if that fits, else the
// widest texts are cut.
func (t *tableLayout) measure(rows [][]string) {
	t.widths = make([]int, len(t.names))
	least := make([]int, len(t.names))
	total := 0
	for i, name := range t.names {
		for _, r := range rows {
			least[i] = max(least[i], text.StringWidthWithoutEscSequences(r[i]))
		}
		t.widths[i] = max(least[i], text.StringWidthWithoutEscSequences(name))
		if t.mayCut(i) {
			least[i] = min(least[i], minText)
		}
		least[i] = max(least[i], min(t.widths[i], minHead))
		total += t.widths[i] + gap
	}
	for t.width > 0 && total > t.width {
		widest := -1
		for i, width := range t.widths {
			if width > least[i] && (widest < 0 || width > t.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			t.records = true
			return
		}
		t.widths[widest]--
		total--
	}
}

// writeRecords writes each row as lines of name and value.
func (t *tableLayout) writeRecords(w *bufio.Writer, rows [][]string, before int64) {
	longest := 0
	for _, name := range t.names {
		longest = max(longest, text.StringWidthWithoutEscSequences(name))
	}
	for n, r := range rows {
		title := "── " + strconv.FormatInt(before+int64(n)+1, 10) + " "
		fmt.Fprintf(w, "%s%s\n", title,
			strings.Repeat("─", max(0, min(t.width, 60)-text.StringWidthWithoutEscSequences(title))))
		for i, cell := range r {
			fmt.Fprintf(w, "%s  %s\n", text.Pad(t.names[i], longest, ' '), cell)
		}
	}
}
