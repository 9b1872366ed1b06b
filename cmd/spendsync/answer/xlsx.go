package answer

import (
	"bufio"
	"context"
	"errors"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"spendsync/cmd/internal/exit"
	"spendsync/schema"
)

const answerSheet = "Answer"

// timeFormats are the number formats of instants and days.
var timeFormats = map[valueForm]string{formTime: "yyyy-mm-dd", formInstant: "yyyy-mm-dd hh:mm:ss"}

// writeXLSX writes the answer as an Excel file (Office Open XML, ECMA-376): typed cells under a frozen heading. A text
// is always stored as text, so that no cell is a formula. An answer that is too large for a sheet is refused, not cut.
func (n Rendering) writeXLSX(ctx context.Context, out *bufio.Writer) (err error) {
	if n.Result.Count >= excelize.TotalRows || len(n.Result.Columns) > excelize.MaxColumns {
		return exit.Usagef("a sheet of a workbook has %d rows and %d columns, the answer %d and %d; write it to a "+
			".csv or .parquet file", excelize.TotalRows, excelize.MaxColumns, n.Result.Count+1, len(n.Result.Columns))
	}
	file := excelize.NewFile()
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := file.SetSheetName("Sheet1", answerSheet); err != nil {
		return err
	}
	w, err := file.NewStreamWriter(answerSheet)
	if err != nil {
		return err
	}
	bold, err := file.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true},
		Alignment: &excelize.Alignment{WrapText: true}})
	errs := []error{err, w.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2",
		ActivePane: "bottomLeft"})}
	columns := n.tableColumns()
	styles, cells := make([]int, len(columns)), make([]any, len(columns))
	for i, c := range columns {
		width := 16.0
		if c.mayCut() {
			width = 32
		}
		cells[i] = excelize.Cell{StyleID: bold, Value: c.name}
		errs = append(errs, w.SetColWidth(i+1, i+1, width))
		format := timeFormats[c.form]
		if c.isNumber() {
			format = units[c.unit].cell
		}
		if format != "" {
			// For equal formats, excelize returns the same style, so the number of styles does not grow with the
			// columns.
			styles[i], err = file.NewStyle(&excelize.Style{CustomNumFmt: &format})
			errs = append(errs, err)
		}
	}
	if err := errors.Join(append(errs, w.SetRow("A1", cells))...); err != nil {
		return err
	}
	line := 1
	for row, err := range n.Result.Rows(ctx) {
		if err != nil {
			return err
		}
		line++
		for i, v := range row {
			cells[i] = columns[i].cell(v, styles[i])
		}
		if err := w.SetRow("A"+strconv.Itoa(line), cells); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Write(out)
}

// cell returns a value as a workbook stores it: a number, a boolean, a time or a text; nil if the value is NULL.
func (c tableColumn) cell(v schema.Null[string], style int) any {
	if !v.Valid {
		return nil
	}
	switch c.form {
	case formNumber, formFloat:
		if f, ok := exactFloat(v.V); ok {
			return excelize.Cell{StyleID: style, Value: f}
		}
	case formBool:
		return v.V == "true"
	case formTime, formInstant:
		if at, ok := sheetTime(v.V); ok {
			return excelize.Cell{StyleID: style, Value: at}
		}
	}
	return cellText(v.V)
}

// cellText cuts a text to the length that a cell can hold: 32,767 UTF-16 units.
func cellText(s string) string {
	if units := utf16.Encode([]rune(s)); len(units) > excelize.TotalCellChars {
		return string(utf16.Decode(units[:excelize.TotalCellChars-2])) + "…"
	}
	return s
}

// exactFloat converts a number to a double, the only type of number in a cell. It reports false if the cell would lose
// digits that matter: a spreadsheet shows and saves 15 digits.
func exactFloat(text string) (float64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f-f != 0 {
		return 0, false // a spreadsheet cannot hold NaN and infinity as numbers
	}
	exact, ok := new(big.Rat).SetString(text)
	shown, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', 15, 64)) // cannot fail: f is finite
	// An amount, a count or an ID must be exact. A number with an exponent, or with more than six decimals, is a
	// quotient, which may be rounded.
	_, decimals, _ := strings.Cut(text, ".")
	return f, ok && (exact.Cmp(shown) == 0 || strings.ContainsAny(text, "e") || len(decimals) > 6)
}

// sheetTime parses a UTC instant or a day that a sheet can represent. The days of a sheet start in 1900. The year 1900
// is refused, because spreadsheets deliberately count its first days wrong.
func sheetTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, at.Year() > 1900 && at.Year() < 10000
		}
	}
	return time.Time{}, false
}
