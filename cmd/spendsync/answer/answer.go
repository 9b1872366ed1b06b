package answer

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"spendsync/load/duck"
)

// Formats are the forms in which query answers.
var Formats = []string{"table", "csv", "json", "parquet", "xlsx", idsFormat, requestFormat}

// Binary are the formats that a terminal cannot show.
var Binary = []string{"parquet", "xlsx"}

// Rendering is an answer that is about to be written.
type Rendering struct {
	Result   *duck.Result
	Question Question
	Terminal bool  // nothing may reach it that a terminal would obey
	Width    int   // of the terminal; 0: as wide as it gets
	MaxRows  int64 // of a table; 0: all
	Wide     bool  // a table has every column, in further tables below if need be
	Color    bool  // verdicts have colors if the environment allows them, and NULL is dim
	Raw      bool  // formulas are written unchanged
}

// Write writes the answer in one of the formats, a page at a time.
func (n Rendering) Write(ctx context.Context, out io.Writer, format string) (err error) {
	switch format {
	case "parquet":
		return n.Result.WriteParquet(ctx, out)
	case "xlsx":
		return n.writeXLSX(ctx, out)
	}
	if n.Terminal && format != "table" { // whose cells are made visible one by one
		out = &visibleLines{w: out}
	}
	w := bufio.NewWriterSize(out, 64<<10)
	switch format {
	case "csv":
		err = n.writeCSV(ctx, w)
	case "json":
		err = n.writeJSON(ctx, w)
	case idsFormat:
		err = n.writeIDs(ctx, w)
	case requestFormat:
		err = n.writeRequests(ctx, w)
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

func formOf(c duck.Column) valueForm {
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

// Endings are the formats by the endings of their files.
var Endings = map[string]string{".csv": "csv", ".json": "json", ".parquet": "parquet", ".xlsx": "xlsx"}

// FormatFor returns the default format: by the extension of the file, or by whether the output is a
// terminal.
func FormatFor(out string, terminal bool) string {
	if out == "" && terminal {
		return "table"
	}
	return cmp.Or(Endings[filepath.Ext(out)], "csv")
}
