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

// Format is a form in which query answers.
type Format struct {
	Name     string
	Ending   string // of its files
	IsBinary bool   // a terminal cannot show it
	IsOnce   bool   // the engine writes it as the rows come, see [duck.Query]
	CallsOf  string // the question whose rows it turns into calls; empty: it is for any
	write    func(Rendering, context.Context, *bufio.Writer) error
}

// Formats are all forms.
var Formats = []Format{
	{Name: "table", write: Rendering.writeTable},
	{Name: "csv", Ending: ".csv", IsOnce: true, write: Rendering.writeCSV},
	{Name: "json", Ending: ".json", write: Rendering.writeJSON},
	{Name: "parquet", Ending: ".parquet", IsOnce: true, IsBinary: true, write: Rendering.writeParquet},
	{Name: "xlsx", Ending: ".xlsx", IsBinary: true, write: Rendering.writeXLSX},
	{Name: "ids", CallsOf: "sources_to_block", write: Rendering.writeIDs},
	{Name: "request", CallsOf: "sources_to_block", write: Rendering.writeRequests},
}

// FormatNames are the names of all forms.
func FormatNames() (names []string) {
	for _, f := range Formats {
		names = append(names, f.Name)
	}
	return names
}

// FindFormat returns the form of a name.
func FindFormat(name string) (Format, error) {
	for _, f := range Formats {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, exit.Usagef("--format %s%s; there are %s", name, cli.DidYouMean(name, FormatNames()),
		strings.Join(FormatNames(), ", "))
}

// FormatOf returns the form of a file by its ending: CSV if it has none.
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

// NotAll says how many rows the question's own limit has left out; empty: none.
func (n Rendering) NotAll() string {
	if n.Result.Total <= n.Result.Count {
		return ""
	}
	return fmt.Sprintf("%d of %d rows; --param rows=%[2]d has all of them", n.Result.Count, n.Result.Total)
}

// Write writes the answer in one of the forms, a page at a time.
func (n Rendering) Write(ctx context.Context, out io.Writer, format string) error {
	f, err := FindFormat(format)
	if err != nil {
		return err
	}
	if n.Terminal && f.Name != "table" { // whose cells are made visible one by one
		out = &visibleLines{w: out}
	}
	w := bufio.NewWriterSize(out, 64<<10)
	return errors.Join(f.write(n, ctx, w), w.Flush())
}

func (n Rendering) writeParquet(ctx context.Context, w *bufio.Writer) error {
	return n.Result.WriteParquet(ctx, w)
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
