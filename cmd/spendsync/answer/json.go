package answer

import (
	"bufio"
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"spendsync/schema"
)

// writeJSON writes an array of objects, one object per line. Numbers keep every digit.
func (n Rendering) writeJSON(ctx context.Context, w *bufio.Writer) error {
	begin, between := "[\n", "{"
	for row, err := range n.Result.Rows(ctx) {
		if err != nil {
			return err
		}
		w.WriteString(begin)
		for i, v := range row {
			line := append(jsonText([]byte(between), n.Result.Columns[i].Name), ':')
			w.Write(jsonValue(line, formOf(n.Result.Columns[i]), v))
			between = ","
		}
		begin, between = "},\n", "{"
	}
	if n.Result.Count == 0 {
		_, err := w.WriteString("[]\n")
		return err
	}
	_, err := w.WriteString("}\n]\n")
	return err
}

func jsonValue(b []byte, f valueForm, v schema.Null[string]) []byte {
	if !v.Valid {
		return append(b, "null"...)
	}
	switch f {
	case formNumber, formFloat, formBool, formNested:
		// NaN and infinity are not valid numbers in JSON, so they become texts.
		if jsontext.Value(v.V).IsValid() {
			return append(b, v.V...)
		}
	}
	return jsonText(b, v.V)
}

// jsonText appends a text as a JSON string.
func jsonText(b []byte, text string) []byte {
	quoted, err := jsontext.AppendQuote(b, text)
	if err != nil { // the text is not valid UTF-8
		quoted, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(text, "\ufffd"))
	}
	return quoted
}
