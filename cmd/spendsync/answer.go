package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/term"

	"spendsync/cmd/spendsync/exit"
	"spendsync/load"
	"spendsync/schema"
)

// answerFormats are the forms in which query answers.
var answerFormats = []string{"table", "csv", "json", "markdown", "parquet"}

// queryAnswer is an answer on its way to the one who asked.
type queryAnswer struct {
	result   *load.Result
	question question
	terminal bool // nothing may reach it that a terminal would obey
	width    int  // of the terminal; 0: as wide as it gets
	raw      bool // formulas stay as they are
}

// write writes the answer in one of the formats, a page at a time.
func (n queryAnswer) write(ctx context.Context, out io.Writer, format string) (err error) {
	ignoreBrokenPipe()
	if format == "parquet" {
		return n.result.WriteParquet(ctx, out)
	}
	w := bufio.NewWriterSize(out, 64<<10)
	switch format {
	case "csv":
		err = n.writeCSV(ctx, w)
	case "json":
		err = n.writeJSON(ctx, w)
	case "markdown":
		err = n.writeMarkdown(ctx, w)
	default:
		err = n.writeTable(ctx, w)
	}
	return errors.Join(err, w.Flush())
}

// A value's kind decides how it is spelled and aligned.
type valueForm int

const (
	formText valueForm = iota
	formNumber
	formFloat
	formBool
	formInstant
	formTime // a day, or a time without a zone
	formNested
)

func formOf(c load.Column) valueForm {
	switch t, _, _ := strings.Cut(c.Type, "("); {
	case c.Nested():
		return formNested
	case t == "DECIMAL", strings.HasSuffix(t, "INT"), strings.HasSuffix(t, "INTEGER"), t == "BIGNUM":
		return formNumber
	case t == "DOUBLE", t == "FLOAT":
		return formFloat
	case t == "BOOLEAN":
		return formBool
	case t == "TIMESTAMP WITH TIME ZONE":
		return formInstant
	case strings.HasPrefix(t, "TIME"), t == "DATE":
		return formTime
	case t == "JSON":
		return formNested
	}
	return formText
}

func (n queryAnswer) forms() []valueForm {
	forms := make([]valueForm, len(n.result.Columns))
	for i, c := range n.result.Columns {
		forms[i] = formOf(c)
	}
	return forms
}

// names are the columns' names.
func (n queryAnswer) names() []string {
	names := make([]string, len(n.result.Columns))
	for i, c := range n.result.Columns {
		names[i] = c.Name
	}
	return names
}

// spell turns DuckDB's text of a value into ours: instants and times as RFC 3339
// writes them, everything else as it is.
func spell(f valueForm, text string) string {
	switch f {
	case formNumber:
		// DECIMAL(2,2) has no digit before its point.
		if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "-.") {
			return strings.Replace(text, ".", "0.", 1)
		}
	case formInstant:
		if day, ok := strings.CutSuffix(text, "+00"); ok {
			return strings.Replace(day, " ", "T", 1) + "Z"
		}
	case formTime:
		return strings.Replace(text, " ", "T", 1)
	}
	return text
}

// writeCSV follows RFC 4180, with lines that end in a line feed alone, for the
// shell's sake. NULL is an empty cell; an empty text is quoted.
func (n queryAnswer) writeCSV(ctx context.Context, w *bufio.Writer) error {
	forms := n.forms()
	for i, name := range n.names() {
		n.csvCell(w, i, formText, schema.Some(name))
	}
	w.WriteByte('\n')
	for row, err := range n.result.Rows(ctx) {
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

func (n queryAnswer) csvCell(w *bufio.Writer, column int, f valueForm, v schema.Null[string]) {
	if column > 0 {
		w.WriteByte(',')
	}
	if !v.Valid {
		return
	}
	text := spell(f, v.V)
	if n.terminal {
		text = visible(text)
	}
	if f == formText && !n.raw {
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

// writeJSON writes an array of objects, one on a line. Numbers keep every digit.
func (n queryAnswer) writeJSON(ctx context.Context, w *bufio.Writer) error {
	forms := n.forms()
	var keys [][]byte
	for i, name := range n.names() {
		key := jsonText(nil, name)
		if i > 0 {
			key = append([]byte(","), key...)
		}
		keys = append(keys, append(key, ':'))
	}
	before := "[\n{"
	var line []byte
	for row, err := range n.result.Rows(ctx) {
		if err != nil {
			return err
		}
		line = append(line[:0], before...)
		for i, v := range row {
			line = jsonValue(append(line, keys[i]...), forms[i], v)
		}
		if _, err := w.Write(append(line, '}')); err != nil {
			return err
		}
		before = ",\n{"
	}
	end := "\n]\n"
	if n.result.Count == 0 {
		end = "[]\n"
	}
	_, err := w.WriteString(end)
	return err
}

func jsonValue(b []byte, f valueForm, v schema.Null[string]) []byte {
	if !v.Valid {
		return append(b, "null"...)
	}
	text := spell(f, v.V)
	switch f {
	case formNumber, formFloat, formBool, formNested:
		// NaN and infinity are no JSON: they are texts.
		if jsontext.Value(text).IsValid() {
			return append(b, escapeUnseen(text)...)
		}
	}
	return jsonText(b, text)
}

// jsonText appends a text as JSON has it. What a terminal would obey and JSON
// allows is escaped, which means the same.
func jsonText(b []byte, text string) []byte {
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		// Only bad UTF-8 is refused, and that was replaced.
		quoted, _ = jsontext.AppendQuote(nil, strings.ToValidUTF8(text, "\ufffd"))
	}
	return append(b, escapeUnseen(string(quoted))...)
}

// escapeUnseen escapes within JSON the characters that are not seen.
func escapeUnseen(text string) string {
	if strings.IndexFunc(text, unseen) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !unseen(r) || r < ' ': // those stand between values, not in texts
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// writeMarkdown writes a table of GitHub's Markdown.
func (n queryAnswer) writeMarkdown(ctx context.Context, w *bufio.Writer) error {
	forms := n.forms()
	var rule []string
	head := n.names()
	for i, f := range forms {
		head[i] = markdownCell(head[i])
		if rule = append(rule, "---"); f == formNumber || f == formFloat {
			rule[i] = "---:"
		}
	}
	fmt.Fprintf(w, "| %s |\n| %s |\n", strings.Join(head, " | "), strings.Join(rule, " | "))
	for row, err := range n.result.Rows(ctx) {
		if err != nil {
			return err
		}
		cells := make([]string, len(row))
		for i, v := range row {
			if v.Valid {
				cells[i] = markdownCell(spell(forms[i], v.V))
			}
		}
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")); err != nil {
			return err
		}
	}
	return nil
}

// markdownSigns would format, link, or end a cell.
var markdownSigns = strings.NewReplacer(
	"\\", "\\\\", "|", "\\|", "`", "\\`", "*", "\\*", "[", "\\[", "]", "\\]", "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"\r\n", "<br>", "\n", "<br>", "\r", "<br>")

func markdownCell(text string) string { return visible(markdownSigns.Replace(text)) }

// unseen tells the characters that change what is around them and show nothing:
// controls, among them those that begin a terminal's commands, and the marks that
// turn the direction of writing. The joiners within emoji and scripts stay.
func unseen(r rune) bool {
	const zwnj, zwj = '\u200c', '\u200d'
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) || (unicode.Is(unicode.Cf, r) && r != zwnj && r != zwj)
}

// visible writes characters that are not seen as escapes, so that a hostile name
// can neither command a terminal nor turn a line around.
func visible(text string) string {
	if strings.IndexFunc(text, unseen) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !unseen(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case r > 0xff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\x%02x`, r)
		}
	}
	return b.String()
}

// visibleLines keeps the line feeds.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = visible(l)
	}
	return strings.Join(lines, "\n")
}

func widthOf(f *os.File) (int, error) {
	width, _, err := term.GetSize(int(f.Fd()))
	return min(width, math.MaxInt16), err
}

// checkOut refuses to write over what must stay: the store, a device.
func checkOut(out, dataDir string) error {
	if out == "" {
		return nil
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(out))
	if err == nil {
		parent, err = filepath.Abs(parent)
	}
	if err != nil {
		return exit.Usagef("--out %s: %v", out, err)
	}
	if dir, err := filepath.EvalSymlinks(dataDir); err == nil {
		if below, err := filepath.Rel(dir, parent); err == nil && filepath.IsLocal(below) {
			return exit.Usagef("--out %s: that is within %s, where only spendsync's own files are", out, dataDir)
		}
	}
	info, err := os.Stat(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return exit.Usagef("--out %s: %v", out, err)
	case !info.Mode().IsRegular():
		return exit.Usagef("--out %s is no file that could be replaced; write to stdout", out)
	}
	return nil
}

// writeWhole writes a file aside and renames it into place: it is there whole or
// as it was before.
func writeWhole(path string, write func(io.Writer) error) error {
	aside := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.tmp", filepath.Base(path), os.Getpid()))
	f, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	defer os.Remove(aside)
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(aside, path)
}
