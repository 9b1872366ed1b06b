package answer

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"

	"spendsync/cmd/internal/cli"
	"spendsync/schema"
)

// writeCSV writes CSV as in RFC 4180, but ends lines with a line feed alone, for shells. NULL is an empty cell; an
// empty text is quoted. DuckDB makes the lines: fetching each value and writing it here would take five times as long.
func (n Rendering) writeCSV(ctx context.Context, w *bufio.Writer) error {
	var names, cells []string
	for _, c := range n.Result.Columns {
		names, cells = append(names, n.csvText(schema.QuoteText(c.Name))), append(cells, c.TextSQL())
		if formOf(c) == formText {
			cells[len(cells)-1] = n.csvText(c.TextSQL())
		}
	}
	if len(cells) == 1 { // readers skip empty lines, so in a single column NULL becomes an empty text
		cells[0] = "coalesce(" + cells[0] + ", '')"
	}
	return n.Result.WriteCSV(ctx, w, names, cells)
}

// visibleLines is a writer that escapes characters that control a terminal, line by line.
type visibleLines struct {
	w    io.Writer
	rest []byte // of an incomplete line
}

func (v *visibleLines) Write(p []byte) (int, error) {
	v.rest = append(v.rest, p...)
	end := bytes.LastIndexByte(v.rest, '\n') + 1
	_, err := io.WriteString(v.w, cli.VisibleLines(string(v.rest[:end])))
	v.rest = v.rest[end:]
	return len(p), err
}

// formula lists the characters that start a formula in a spreadsheet; East Asian versions also accept the full-width
// signs (OWASP, CSV injection). A text that consists of a signed number is not a formula.
const (
	formula = "(unicode('='), unicode('+'), unicode('-'), unicode('@'), 9, 10, 13, unicode('＝'), unicode('＋'), " +
		"unicode('－'), unicode('＠'))"
	// unseen lists the blanks and invisible characters that a spreadsheet may skip before a formula.
	unseen = "(' ' || chr(160) || chr(173) || chr(8203) || chr(8204) || chr(8205) || " +
		"chr(8288) || chr(12288) || chr(65279))"
	plainSign = `[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`
)

// csvText returns SQL that makes a text safe for a spreadsheet: it puts an apostrophe before a formula.
func (n Rendering) csvText(text string) string {
	if n.Raw {
		return text
	}
	return fmt.Sprintf("CASE WHEN unicode(ltrim(%[1]s, %[4]s)) IN %[2]s AND NOT regexp_full_match(%[1]s, '%[3]s') "+
		"THEN chr(39) || %[1]s ELSE %[1]s END", text, formula, plainSign, unseen)
}
