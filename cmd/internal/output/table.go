package output

import (
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Table prints rows under a header, in aligned columns.
type Table struct{ table.Writer }

// NewTable is a table with this header.
func NewTable(out io.Writer, header ...string) Table {
	w := table.NewWriter()
	w.SetOutputMirror(out)
	style := table.StyleLight
	style.Options = table.Options{SeparateHeader: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	w.SetStyle(style)
	cells := make(table.Row, len(header))
	for i, h := range header {
		cells[i] = h
	}
	w.AppendHeader(cells)
	return Table{w}
}

// Row adds a row.
func (t Table) Row(cells ...string) {
	row := make(table.Row, len(cells))
	for i, c := range cells {
		row[i] = c
	}
	t.AppendRow(row)
}

// Print writes the table.
func (t Table) Print() { t.Render() }
