package answer

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/schema"
)

// writeJSON writes an array of objects, one on a line. Numbers keep every digit.
func (n Rendering) writeJSON(ctx context.Context, w *bufio.Writer) error {
	names, forms := n.heads()
	var keys [][]byte
	for i, name := range names {
		key := jsonText(nil, name)
		if i > 0 {
			key = append([]byte(","), key...)
		}
		keys = append(keys, append(key, ':'))
	}
	before := "[\n{"
	var line []byte
	for row, err := range n.Result.Rows(ctx) {
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
	if n.Result.Count == 0 {
		end = "[]\n"
	}
	_, err := w.WriteString(end)
	return err
}

func jsonValue(b []byte, f valueForm, v schema.Null[string]) []byte {
	if !v.Valid {
		return append(b, "null"...)
	}
	switch f {
	case formNumber, formFloat, formBool, formNested:
		// NaN and infinity are no JSON: they are texts.
		if jsontext.Value(v.V).IsValid() {
			return append(b, escapeUnseen(v.V)...)
		}
	}
	return jsonText(b, v.V)
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
	if strings.IndexFunc(text, phrase.Unseen) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !phrase.Unseen(r) || r < ' ': // control characters occur between values, never in texts
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
