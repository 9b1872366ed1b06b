package answer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"spendsync/cmd/internal/exit"
	"spendsync/schema"
)

// answerSheet is the sheet of a workbook.
const answerSheet = "Answer"

// workbook is an answer that is written as an Excel file (Office Open XML, ECMA-376).
type workbook struct {
	file    *excelize.File
	columns []tableColumn
	styles  []int // of the columns; 0: none
	head    int
}

// writeXLSX writes the answer as a workbook: typed cells under a frozen heading. A text stays a text, whatever
// its first character: no cell is a formula. An answer too large for a sheet is refused, not cut.
func (n Rendering) writeXLSX(ctx context.Context, out io.Writer) (err error) {
	if n.Result.Count >= excelize.TotalRows || len(n.Result.Columns) > excelize.MaxColumns {
		return exit.Usagef("a sheet of a workbook has %d rows and %d columns, the answer %d and %d; write it to a "+
			".csv or .parquet file", excelize.TotalRows, excelize.MaxColumns, n.Result.Count+1, len(n.Result.Columns))
	}
	b := &workbook{file: excelize.NewFile(), columns: n.tableColumns()}
	defer func() { err = errors.Join(err, b.file.Close()) }()
	if err := errors.Join(b.addStyles(), b.file.SetSheetName("Sheet1", answerSheet)); err != nil {
		return err
	}
	if err := b.writeAnswer(ctx, n); err != nil {
		return err
	}
	return b.file.Write(out)
}

// sheetFormats are the number formats: of units, and of values that have none. Money is shown with two decimals, a
// share as a percentage; the cell holds all digits.
var (
	sheetFormats = map[string]string{unitMoney: "#,##0.00", unitPrice: "#,##0.00##", unitPercent: "0.0%",
		unitRate: "0.00%", unitRatio: "#,##0.00##"}
	formFormats = map[valueForm]string{formNumber: "#,##0", formTime: "yyyy-mm-dd", formInstant: "yyyy-mm-dd hh:mm:ss"}
)

func (b *workbook) addStyles() (err error) {
	style := func(s excelize.Style) int {
		id, e := b.file.NewStyle(&s)
		err = errors.Join(err, e)
		return id
	}
	for _, c := range b.columns {
		id := 0
		if format := cmp.Or(sheetFormats[c.unit], formFormats[c.form]); format != "" {
			id = style(excelize.Style{CustomNumFmt: &format}) // the same style again has the same number
		}
		b.styles = append(b.styles, id)
	}
	b.head = style(excelize.Style{Font: &excelize.Font{Bold: true}, Alignment: &excelize.Alignment{WrapText: true}})
	return err
}

func (b *workbook) writeAnswer(ctx context.Context, n Rendering) error {
	w, err := b.file.NewStreamWriter(answerSheet)
	if err != nil {
		return err
	}
	errs := []error{w.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"})}
	line, cells, names := 1, make([]any, len(b.columns)), map[string]bool{}
	for i, c := range b.columns {
		cells[i], names[strings.ToLower(c.name)] = excelize.Cell{StyleID: b.head, Value: c.name}, true
		errs = append(errs, w.SetColWidth(i+1, i+1, c.sheetWidth()))
	}
	if err := errors.Join(append(errs, w.SetRow("A1", cells))...); err != nil {
		return err
	}
	for row, err := range n.Result.Rows(ctx) {
		if err != nil {
			return err
		}
		line++
		for i, v := range row {
			cells[i] = b.cell(i, v)
		}
		if err := w.SetRow("A"+strconv.Itoa(line), cells); err != nil {
			return err
		}
	}
	if line > 1 && len(names) == len(b.columns) { // a table, for its filters; its columns need different names
		last, err := excelize.CoordinatesToCellName(len(b.columns), line)
		if err := errors.Join(err, w.AddTable(&excelize.Table{Range: "A1:" + last, Name: answerSheet})); err != nil {
			return err
		}
	}
	return w.Flush()
}

// sheetWidth is a column's width in characters: names are long, numbers are not.
func (c tableColumn) sheetWidth() float64 {
	width := 12
	switch {
	case c.form == formInstant:
		width = 20
	case c.mayCut():
		width = 32
	case c.form == formText: // an ID
		width = 16
	}
	return float64(max(width, min(len(c.name)+1, 24)))
}

// cell is a value with its type. An absent value is an empty cell.
func (b *workbook) cell(column int, v schema.Null[string]) any {
	if !v.Valid {
		return nil
	}
	text, form := v.V, b.columns[column].form
	switch form {
	case formNumber, formFloat:
		if f, ok := exactFloat(text); ok {
			return excelize.Cell{StyleID: b.styles[column], Value: f}
		}
	case formBool:
		return text == "true"
	case formTime, formInstant:
		if at, ok := sheetTime(text); ok {
			return excelize.Cell{StyleID: b.styles[column], Value: at}
		}
	}
	return cellText(text)
}

// cellText is a text as a cell holds it: at most 32,767 UTF-16 units, and none of the characters that XML has no way to
// write.
func cellText(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if units := utf16.Encode([]rune(s)); len(units) > excelize.TotalCellChars {
		return string(utf16.Decode(units[:excelize.TotalCellChars-2])) + "…"
	}
	return s
}

// exactFloat is the number that a cell can hold, which is a double, if it has the same
// value in 15 digits, all that a spreadsheet shows and saves.
func exactFloat(text string) (float64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f-f != 0 {
		return 0, false // a spreadsheet cannot hold NaN and infinity as numbers
	}
	exact, ok := new(big.Rat).SetString(text)
	shown, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', 15, 64)) // is finite
	// A quotient has no exact decimals to lose, and has more of them than money; an amount, a count or an ID has.
	_, decimals, _ := strings.Cut(text, ".")
	return f, ok && (exact.Cmp(shown) == 0 || strings.ContainsAny(text, "e") || len(decimals) > 6)
}

// sheetTime parses an instant in UTC or a day that a sheet can represent: a sheet's days start in
// 1900, and until March of that year they are wrong on purpose.
func sheetTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, at.Year() > 1900 && at.Year() < 10000
		}
	}
	return time.Time{}, false
}
