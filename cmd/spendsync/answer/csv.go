package answer

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/load/duck"
	"spendsync/schema"
)

// writeCSV follows RFC 4180, with lines that end in a line feed alone, for the
// shell's sake. NULL is an empty cell; an empty text is quoted. The engine writes the
// lines: to fetch each value would take five times as long.
func (n Rendering) writeCSV(ctx context.Context, w *bufio.Writer) error {
	var names, cells []string
	for _, c := range n.Result.Columns {
		names = append(names, n.csvText(schema.QuoteText(c.Name)))
		cells = append(cells, n.csvCell(c))
	}
	line := "concat(" + strings.Join(cells, ", ',', ") + ")"
	if len(cells) == 1 { // readers skip an empty line
		line = "coalesce(" + cells[0] + `, '""')`
	}
	head, err := n.Result.Text(ctx, "concat("+strings.Join(names, ", ',', ")+")")
	if err != nil {
		return err
	}
	out := io.Writer(w)
	if n.Terminal {
		out = &visibleLines{w: w}
	}
	return n.Result.WriteLines(ctx, out, head+"\n", line)
}

// visibleLines shows what a terminal would obey, of whole lines.
type visibleLines struct {
	w    *bufio.Writer
	rest []byte // of the line that is yet to end
}

func (v *visibleLines) Write(p []byte) (int, error) {
	v.rest = append(v.rest, p...)
	end := bytes.LastIndexByte(v.rest, '\n') + 1
	_, err := v.w.WriteString(phrase.VisibleLines(string(v.rest[:end])))
	v.rest = v.rest[end:]
	return len(p), err
}

// csvCell is the SQL for the cell of a column; NULL where the value is.
func (n Rendering) csvCell(c duck.Column) string {
	text := "(" + c.TextSQL() + ")"
	switch formOf(c) {
	case formText:
		return n.csvText(text)
	case formNested:
		return quoted(text)
	}
	return text
}

// formula has the characters that start a formula in a spreadsheet; East Asian versions accept the
// full-width signs too. See OWASP, CSV injection. A number stored as text counts as a number.
const (
	formula = "(unicode('='), unicode('+'), unicode('-'), unicode('@'), 9, 10, 13, unicode('＝'), unicode('＋'), " +
		"unicode('－'), unicode('＠'))"
	plainSign = `[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`
)

// csvText is the SQL for a text. An apostrophe stands before one that a spreadsheet would
// run.
func (n Rendering) csvText(text string) string {
	if n.Raw {
		return quoted(text)
	}
	return fmt.Sprintf("CASE WHEN unicode(%[1]s) IN %[2]s AND NOT regexp_full_match(%[1]s, '%[3]s') THEN %[4]s "+
		"ELSE %[5]s END", text, formula, plainSign, quoted("(chr(39) || "+text+")"), quoted(text))
}

// quoted returns the SQL for a text, in quotes if RFC 4180 or a careless reader needs them.
func quoted(text string) string {
	return fmt.Sprintf(`CASE WHEN %[1]s = '' OR contains(%[1]s, ',') OR contains(%[1]s, '"') OR `+
		`contains(%[1]s, chr(10)) OR contains(%[1]s, chr(13)) OR prefix(%[1]s, ' ') OR suffix(%[1]s, ' ') `+
		`THEN '"' || replace(%[1]s, '"', '""') || '"' ELSE %[1]s END`, text)
}
