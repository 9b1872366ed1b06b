package main

import (
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// textTable prints rows under a header, aligned for the eye.
type textTable struct{ w table.Writer }

func newTable(out io.Writer, header ...string) textTable {
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
	return textTable{w}
}

func (t textTable) row(cells ...string) {
	row := make(table.Row, len(cells))
	for i, c := range cells {
		row[i] = c
	}
	t.w.AppendRow(row)
}

func (t textTable) print() { t.w.Render() }
