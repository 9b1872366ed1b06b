package answer

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"spendsync/cmd/internal/cli"
	"spendsync/cmd/internal/exit"
	"spendsync/load/duck"
)

// Format is an output format of query.
type Format struct {
	Name     string
	Ending   string // ending of the names of files in this format
	IsBinary bool   // not for a terminal
	IsOnce   bool   // whether the engine may stream the rows: see Once in [duck.Query]
	CallsOf  string // the only question that the format is for; if empty, it is for any question
	write    func(Rendering, context.Context, *bufio.Writer) error
}

// Formats lists all formats.
var Formats = []Format{
	{Name: "table", write: Rendering.writeTable},
	{Name: "csv", Ending: ".csv", IsOnce: true, write: Rendering.writeCSV},
	{Name: "json", Ending: ".json", write: Rendering.writeJSON},
	{Name: "parquet", Ending: ".parquet", IsOnce: true, IsBinary: true, write: Rendering.writeParquet},
	{Name: "xlsx", Ending: ".xlsx", IsBinary: true, write: Rendering.writeXLSX},
	{Name: "ids", CallsOf: "sources_to_block", write: Rendering.writeIDs},
	{Name: "request", CallsOf: "sources_to_block", write: Rendering.writeRequests},
}

// FormatNames returns the names of all formats.
func FormatNames() (names []string) {
	for _, f := range Formats {
		names = append(names, f.Name)
	}
	return names
}

// FindFormat returns a format by its name.
func FindFormat(name string) (Format, error) {
	for _, f := range Formats {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, exit.Usagef("--format %s%s; there are %s", name, cli.DidYouMean(name, FormatNames()),
		strings.Join(FormatNames(), ", "))
}

// FormatOf returns the format that belongs to the ending of a file name, or CSV if the name has no ending.
func FormatOf(file string) (Format, error) {
	ending := cmp.Or(filepath.Ext(file), ".csv")
	var endings []string
	for _, f := range Formats {
		if f.Ending == ending {
			return f, nil
		}
		if f.Ending != "" {
			endings = append(endings, f.Ending)
		}
	}
	return Format{}, exit.Advise(exit.Usagef("--out %s: the ending does not name a format", file),
		"end the name with %s, or give --format", strings.Join(endings, ", "))
}

// Rendering is an answer with the options for writing it.
type Rendering struct {
	Result   *duck.Result
	Question Question
	Terminal bool  // whether to escape characters that control a terminal
	Width    int   // columns of the terminal; 0 means no limit
	MaxRows  int64 // rows of a table; 0 means all rows
	Wide     bool  // whether to show every column of a table, in lines of any length
	Color    bool  // whether to color verdicts and dim NULL, if the environment allows colors
	Raw      bool  // whether to leave formulas in CSV unescaped
}

// NotAll returns how many of all rows the answer has, for example "50 of 80 rows", if the question's own limit left
// rows out. Otherwise it returns "".
func (n Rendering) NotAll() string {
	if n.Result.Total <= n.Result.Count {
		return ""
	}
	return fmt.Sprintf("%d of %d rows; --param rows=%[2]d has all of them", n.Result.Count, n.Result.Total)
}

// Nothing returns the sentence that explains an answer without rows. It returns "" if the answer has rows, or if the
// question has no such sentence.
func (n Rendering) Nothing() string {
	if n.Result.Total > 0 || n.Result.Count > 0 {
		return ""
	}
	return n.Question.None
}

// Write writes the answer in a format.
func (n Rendering) Write(ctx context.Context, out io.Writer, format string) error {
	f, err := FindFormat(format)
	if err != nil {
		return err
	}
	if n.Terminal && f.Name != "table" { // a table escapes each cell itself
		out = &visibleLines{w: out}
	}
	w := bufio.NewWriterSize(out, 64<<10)
	return errors.Join(f.write(n, ctx, w), w.Flush())
}

func (n Rendering) writeParquet(ctx context.Context, w *bufio.Writer) error {
	return n.Result.WriteParquet(ctx, w)
}

// valueForm is the kind of a value: it decides how the value is spelled and aligned.
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
