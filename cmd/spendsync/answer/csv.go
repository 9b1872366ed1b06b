package answer

import (
	"bufio"
	"context"
	"regexp"
	"strings"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/schema"
)

// writeCSV follows RFC 4180, with lines that end in a line feed alone, for the
// shell's sake. NULL is an empty cell; an empty text is quoted.
func (n Answer) writeCSV(ctx context.Context, w *bufio.Writer) error {
	forms := n.forms()
	for i, name := range n.names() {
		n.csvCell(w, i, formText, schema.Some(name))
	}
	w.WriteByte('\n')
	for row, err := range n.Result.Rows(ctx) {
		if err != nil {
			return err
		}
		for i, v := range row {
			n.csvCell(w, i, forms[i], v)
		}
		if len(row) == 1 && !row[0].Valid {
			w.WriteString(`""`) // readers skip an empty line
		}
		if err := w.WriteByte('\n'); err != nil {
			return err
		}
	}
	return nil
}

func (n Answer) csvCell(w *bufio.Writer, column int, f valueForm, v schema.Null[string]) {
	if column > 0 {
		w.WriteByte(',')
	}
	if !v.Valid {
		return
	}
	text := spell(f, v.V)
	if n.Terminal {
		text = phrase.Visible(text)
	}
	if f == formText && !n.Raw {
		text = harmless(text)
	}
	if text == "" || strings.ContainsAny(text, ",\"\r\n") || text[0] == ' ' || text[len(text)-1] == ' ' {
		text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	w.WriteString(text)
}

// formula begins what a spreadsheet runs; East Asian versions take the full-width
// signs too. See OWASP, CSV injection.
var (
	formula   = regexp.MustCompile("^[=+\\-@\t\r\n＝＋－＠]")
	plainSign = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// harmless puts an apostrophe before a text that a spreadsheet would run. A number
// that is a text is a number there too.
func harmless(text string) string {
	if formula.MatchString(text) && !plainSign.MatchString(text) {
		return "'" + text
	}
	return text
}
