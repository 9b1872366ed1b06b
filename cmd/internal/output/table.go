package output

import (
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Table prints rows under a header, in aligned columns.
type Table struct{ table.Writer }

// NewTable is a table with this header; without names it has none.
func NewTable(out io.Writer, header ...string) Table {
	w := table.NewWriter()
	w.SetOutputMirror(out)
	style := table.StyleLight
	style.Options = table.Options{SeparateHeader: true, SeparateColumns: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", ""
	style.Box.MiddleVertical, style.Box.MiddleSeparator, style.Box.TopSeparator = "  ", "──", "──"
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	t := Table{w}
	if len(header) > 0 {
		w.AppendHeader(row(header))
	}
	return t
}

func row(cells []string) (r table.Row) {
	for _, c := range cells {
		r = append(r, c)
	}
	return r
}

// Row adds a row.
func (t Table) Row(cells ...string) { t.AppendRow(row(cells)) }

// Print writes the table.
func (t Table) Print() { t.Render() }
