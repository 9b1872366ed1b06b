package answer

import (
	"archive/zip"
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"encoding/xml"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spendsync/load/duck"
)

// workbookSQL returns values of each type, and texts that a spreadsheet might run as formulas.
const workbookSQL = `SELECT * FROM (VALUES
	('C1', '=1+1', 1234.567890::DECIMAL(18,6), 3::BIGINT, 0.1::DOUBLE, DATE '2026-03-08',
		TIMESTAMPTZ '2026-03-08 07:59:59Z', true, 9007199254740993),
	('C2', '@SUM(A1)', NULL, NULL, 'nan'::DOUBLE, NULL, NULL, NULL, 7),
	('C3', repeat('é', 40000), -0.5::DECIMAL(18,6), 0, 1.0::DOUBLE / 3, DATE '1899-12-31',
		TIMESTAMPTZ '9999-12-31 00:00:00Z', false, NULL)
) AS t(campaign_id, campaign_name, spend, clicks, ctr, report_date, seen_at, is_current, big)`

// ask runs SQL on a DuckDB file without any of our tables.
func ask(t *testing.T, question string) *duck.Result {
	t.Helper()
	dir := t.TempDir()
	db, err := sql.Open("duckdb", filepath.Join(dir, duck.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE nothing (i INTEGER); CHECKPOINT"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := duck.Ask(t.Context(), dir, duck.Query{SQL: question}, duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// xlsx returns the answer to a question as a workbook.
func xlsx(t *testing.T, question string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := (Rendering{Result: ask(t, question)}).Write(context.Background(), &b, "xlsx"); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sheetCell is a cell in the workbook's XML.
type sheetCell struct {
	Ref   string `xml:"r,attr"`
	Type  string `xml:"t,attr"`
	Style int    `xml:"s,attr"`
	Value string `xml:"v"`
	Text  string `xml:"is>t"`
	Runs  string `xml:"f"`
}

// sheet reads a part of a workbook with the standard library alone. The reader of the library that writes workbooks
// might tolerate the mistakes of its writer.
func sheet(t *testing.T, file []byte, name string) (cells map[string]sheetCell, text string) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open("xl/worksheets/" + name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Cells []sheetCell `xml:"sheetData>row>c"`
	}
	if err := xml.Unmarshal(b, &parsed); err != nil {
		t.Fatal(err)
	}
	cells = map[string]sheetCell{}
	for _, c := range parsed.Cells {
		if c.Runs != "" {
			t.Errorf("%s runs the formula %s", c.Ref, c.Runs)
		}
		cells[c.Ref] = c
	}
	return cells, string(b)
}

func TestXLSX_HasTypedCells(t *testing.T) {
	file := xlsx(t, workbookSQL)
	cells, text := sheet(t, file, "sheet1.xml")
	for ref, want := range map[string]sheetCell{
		"A1": {Type: "inlineStr", Text: "campaign_id"}, "A2": {Type: "inlineStr", Text: "C1"},
		"B2": {Type: "inlineStr", Text: "=1+1"}, "B3": {Type: "inlineStr", Text: "@SUM(A1)"},
		"C2": {Value: "1234.56789"}, "D2": {Value: "3"}, "E2": {Value: "0.1"}, "H2": {Type: "b", Value: "1"},
		"I2": {Type: "inlineStr", Text: "9007199254740993"}, "E3": {Type: "inlineStr", Text: "nan"},
		"D4": {Value: "0"}, "C4": {Value: "-0.5"}, "F2": {Value: "46089"},
		"F4": {Type: "inlineStr", Text: "1899-12-31"},
		"C3": {}, "D3": {}, "F3": {}, "I4": {},
	} {
		got := cells[ref]
		got.Ref, got.Style = "", 0
		if got.Type == "n" {
			got.Type = ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", ref, diff)
		}
	}
	if cells["G2"].Value == "" || cells["G2"].Style == 0 || cells["C2"].Style == 0 || cells["E4"].Value == "" {
		t.Errorf("an instant, money or a ratio lacks its value or style: %+v", cells)
	}
	if n := len([]rune(cells["B4"].Text)); n > 32767 || !strings.HasSuffix(cells["B4"].Text, "é…") {
		t.Errorf("a long text has %d characters", n)
	}
	if !strings.Contains(text, `state="frozen"`) || !strings.Contains(text, `ySplit="1"`) {
		t.Error("the heading is not frozen")
	}
}

func TestXLSX_RefusesWhatNoSheetHolds(t *testing.T) {
	n := Rendering{Result: ask(t, "SELECT i FROM range(1048576) AS r(i)")}
	var b bytes.Buffer
	if err := n.Write(t.Context(), &b, "xlsx"); err == nil || b.Len() > 0 || !strings.Contains(err.Error(), "1048576") {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}

// TestXLSX_OpensInLibreOffice converts the workbook to CSV with LibreOffice.
func TestXLSX_OpensInLibreOffice(t *testing.T) {
	office, err := exec.LookPath("soffice")
	if err != nil {
		t.Skip("no soffice in the PATH: apt-get install libreoffice-calc-nogui")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "answer.xlsx"), xlsx(t, workbookSQL), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), office, "--headless", "-env:UserInstallation=file://"+dir+"/profile",
		"--convert-to", "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,1", "--outdir", dir,
		filepath.Join(dir, "answer.xlsx"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "answer*.csv"))
	if len(files) != 1 {
		t.Fatalf("%v", files)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	want := []string{"C1", "=1+1", "1234.56789", "3", "10%", "2026-03-08", "2026-03-08 07:59:59", "TRUE",
		"9007199254740993"}
	if diff := cmp.Diff(want, rows[1]); diff != "" {
		t.Error(diff)
	}
}
