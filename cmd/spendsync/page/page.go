package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"spendsync/schema"
)

// Page is the content of a page.
type Page struct {
	Accounts []Account
	Version  string // of the binary that writes the page
	Schema   int    // version of the warehouse's tables
}

// Account is the part of the page about one account.
type Account struct {
	Name     string
	Head     Block // as_of, last_whole, run, version
	Sections []Section
}

// AsOf returns the time of the numbers in UTC, and LastWholeDay returns the last complete day, or "" if there is none.
func (a Account) AsOf() string         { return iso(a.head().Text("as_of")) }
func (a Account) LastWholeDay() string { return a.head().Text("last_whole") }

// AsOfText returns the time of the numbers in Chicago, for a person.
func (a Account) AsOfText() string { return instant(a.head().Text("as_of")) + " Chicago" }

func (a Account) head() Row {
	for _, r := range a.Head.Each() {
		return r
	}
	return Row{}
}

// Section is a part of the page that answers one question of the reader. It has a title and blocks.
type Section struct {
	Name, Title string
	Folded      bool // collapsed until the reader opens it
	Blocks      []Block
}

// Block is a part of a section. Kind determines how the rows are drawn: as sentences ("say"), "tiles", "todo", "table",
// "cards", or as a chart ("stack", "line"). A block without rows is left out.
type Block struct {
	Kind, Caption string
	Columns       []string
	Rows          [][]schema.Null[string]
}

// Row maps the names of columns, without their formats, to the values of one row.
type Row map[string]schema.Null[string]

// Text returns the text of a cell, safe to show. It returns "" for NULL or a missing column.
func (r Row) Text(column string) string { return plain(r[column].V, 600) }

// Is reports whether a cell is true.
func (r Row) Is(column string) bool { return r[column].V == "true" }

// Turn returns the CSS class for an improvement or a deterioration, or "" if the row shows neither.
func (r Row) Turn() string {
	v, _, ok := parse(r["change"])
	if !ok || v == 0 || !r["better"].Valid {
		return ""
	}
	return map[bool]string{true: " good", false: " bad"}[(v > 0) == r.Is("better")]
}

// Each returns the rows as maps.
func (b Block) Each() (rows []Row) {
	for _, cells := range b.Rows {
		r := Row{}
		for i, c := range b.Columns {
			name, _, _ := strings.Cut(c, "|")
			r[name] = cells[i]
		}
		rows = append(rows, r)
	}
	return rows
}

// Format returns the format of a column.
func (b Block) Format(column string) string {
	for _, c := range b.Columns {
		if name, format, _ := strings.Cut(c, "|"); name == column {
			return format
		}
	}
	return ""
}

var (
	//go:embed style.css
	style string
	//go:embed page.html
	pageText string

	pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
		"plain": func(s string) string { return plain(s, nameLength) },
		"show":  show, "instant": instant, "iso": iso, "day": dayYear, "signed": signed, "stake": stake,
		"slug": word,
		"tone": func(s string) string { return tones[s] },
	}).Parse(pageText))
)

// tones has the sign that is shown before a sentence, in addition to the sentence's color.
var tones = map[string]string{"act": "→", "watch": "!", "fine": "✓", "unknown": "?"}

// Write writes the page. Equal input gives equal bytes.
func Write(w io.Writer, r Page) error { return execute(w, r, false) }

// WriteSummary writes a sheet of A4 for each account: the tiles, what to do first, what changed, the spend, and the
// campaigns. Equal input gives equal bytes.
func WriteSummary(w io.Writer, r Page) error {
	accounts := r.Accounts
	r.Accounts = nil
	for _, a := range accounts {
		r.Accounts = append(r.Accounts, brief(a))
	}
	return execute(w, r, true)
}

// brief reduces an account to what fits on a sheet.
func brief(a Account) Account {
	rows := map[string]int{"changed": 4, "campaigns": 8}
	all := a.Sections
	a.Sections = nil
	for _, s := range all {
		if s.Folded {
			continue
		}
		blocks := s.Blocks
		s.Blocks = nil
		tables := 0
		for _, b := range blocks {
			if b.Kind == "table" {
				if tables++; tables > 1 || rows[s.Name] == 0 {
					continue
				}
				b.Rows = b.Rows[:min(len(b.Rows), rows[s.Name])]
			}
			s.Blocks = append(s.Blocks, b)
		}
		a.Sections = append(a.Sections, s)
	}
	return a
}

func execute(w io.Writer, r Page, summary bool) error {
	sum := sha256.Sum256([]byte(style))
	var accounts []accountView
	for i, a := range r.Accounts {
		accounts = append(accounts, viewOf(a, fmt.Sprintf("a%d", i+1), summary))
	}
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, map[string]any{
		// The style sheet is safe, because it is our own file.
		"Report": r, "Accounts": accounts, "Summary": summary, "CSS": template.CSS(style),
		"Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; img-src data:; base-uri 'none'; form-action 'none'",
	})
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// accountView is the template's data for one account.
type accountView struct {
	Account
	ID           string // prefix of the IDs of the account's sections
	Head         Row
	Open, Folded []sectionView
}

type sectionView struct {
	Section
	ID     string
	Say    []Row // sentences below the heading
	Blocks []blockView
}

// blockView is the template's data for a block: a table, or the rows and shapes of another kind.
type blockView struct {
	Block
	ID    string
	Rows  []Row
	Head  []column
	Cells [][]cell
	Chart chart
	Class string
}

func viewOf(a Account, id string, summary bool) accountView {
	v := accountView{Account: a, ID: id, Head: a.head()}
	for _, s := range a.Sections {
		sv := sectionView{Section: s, ID: id + "-" + s.Name}
		for i, b := range s.Blocks {
			if len(b.Rows) == 0 {
				continue
			}
			if b.Kind == "say" {
				sv.Say = append(sv.Say, b.Each()...)
				continue
			}
			bv := blockView{Block: b, Rows: b.Each(), ID: fmt.Sprintf("%s-%d", sv.ID, i), Class: s.Name}
			if bv.draw(summary); b.Kind == "line" && len(bv.Chart.Lines) == 0 {
				continue // no value is known yet
			}
			sv.Blocks = append(sv.Blocks, bv)
		}
		if s.Folded {
			v.Folded = append(v.Folded, sv)
		} else if len(sv.Blocks) > 0 || len(sv.Say) > 0 {
			v.Open = append(v.Open, sv)
		}
	}
	return v
}

// draw computes the table or chart of the block.
func (v *blockView) draw(summary bool) {
	switch v.Kind {
	case "stack":
		// On the sheet, a column is wider than a mark. On a phone, a column is half as wide as a mark, so marks are two
		// columns apart.
		v.Chart = stack(v.Block, map[bool]float64{false: 300, true: 105}[summary],
			map[bool]int{false: 2, true: 1}[summary])
	case "line":
		v.Chart = lines(v.Block, map[bool]float64{false: 150, true: 105}[summary])
	case "table", "cards":
		v.Head, v.Cells = tableOf(v.Block)
	}
}

// column is a column of a table.
type column struct {
	Name, Format string
	IsNumber     bool
}

// cell is a value of a table with its format.
type cell struct {
	column
	Value schema.Null[string]
	IsKey bool // the cell that names the row
}

// tableOf returns the columns that have a format, and their cells.
func tableOf(b Block) (head []column, rows [][]cell) {
	at := []int{}
	for i, c := range b.Columns {
		if name, format, ok := strings.Cut(c, "|"); ok {
			head, at = append(head, column{name, format, slices.Contains(numbers, format)}), append(at, i)
		}
	}
	for _, r := range b.Rows {
		var row []cell
		for i, c := range head {
			row = append(row, cell{c, r[at[i]], i == 0})
		}
		rows = append(rows, row)
	}
	return head, rows
}

// Key returns the key of a row. Programs find the row in the page by this key.
func (v blockView) Key(i int) string { return v.Rows[i].Text("key") }
