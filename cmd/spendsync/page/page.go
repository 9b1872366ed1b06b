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

// Page is the content of a report page.
type Page struct {
	Accounts []Account
	Version  string // release of spendsync that writes the page
	Schema   int    // version of the warehouse's tables
}

// Account is what the page shows about one account.
type Account struct {
	Name     string
	Head     Block // as_of, last_whole, run, version
	Sections []Section
}

// AsOf returns how recent the numbers are, as a time in UTC for programs. LastWholeDay returns the last complete day,
// or "" if there is none.
func (a Account) AsOf() string         { return iso(a.head().Text("as_of")) }
func (a Account) LastWholeDay() string { return a.head().Text("last_whole") }

// AsOfText returns how recent the numbers are, as a time in Chicago for a person.
func (a Account) AsOfText() string { return instant(a.head().Text("as_of")) + " Chicago" }

func (a Account) head() Row {
	for _, r := range a.Head.Each() {
		return r
	}
	return Row{}
}

// Section is a part of the page that answers one question, for example about creatives.
type Section struct {
	Name, Title string
	Folded      bool // whether it is collapsed until the reader opens it
	Blocks      []Block
}

// Block is a part of a section: rows, and how they are drawn. Kind is "say" (sentences), "tiles", "todo", "table" or
// "cards"; for a chart, it is "stack" or "line". A block without rows is not drawn.
type Block struct {
	Kind, Caption string
	Columns       []string
	Rows          [][]schema.Null[string]
}

// Row has the values of one row, by the name of the column without its format.
type Row map[string]schema.Null[string]

// Text returns the text of a cell as one line, with invisible characters escaped. It returns "" for NULL or a missing
// column.
func (r Row) Text(column string) string { return plain(r[column].V, 600) }

// Is reports whether the cell of a boolean column is true.
func (r Row) Is(column string) bool { return r[column].V == "true" }

// Turn returns the CSS class for a change: " good" or " bad". It returns "" if there is no change, or if the row does
// not state which direction is better.
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

// Format returns the format in a column's name, or "" if the name has none.
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

// tones has the sign before a sentence, by the sentence's tone. The tone also determines the color.
var tones = map[string]string{"act": "→", "watch": "!", "fine": "✓", "unknown": "?"}

// Write writes the complete page. Equal input gives equal bytes.
func Write(w io.Writer, r Page) error { return execute(w, r, false) }

// WriteSummary writes a summary with one A4 sheet for each account: the tiles, what to do first, what changed, the
// spend, and the campaigns. Equal input gives equal bytes.
func WriteSummary(w io.Writer, r Page) error {
	accounts := r.Accounts
	r.Accounts = nil
	for _, a := range accounts {
		r.Accounts = append(r.Accounts, brief(a))
	}
	return execute(w, r, true)
}

// brief reduces an account to what fits on an A4 sheet: only sections that are not collapsed, each with at most one
// table, which is shortened.
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
		// The template does not escape the style sheet, which is our own file.
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

// accountView is what the template needs to draw one account.
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

// blockView is what the template needs to draw one block: a table, a chart, or rows.
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

// draw computes what the block's kind needs: the chart, or the cells of a table.
func (v *blockView) draw(summary bool) {
	switch v.Kind {
	case "stack":
		// Marks above columns must not overlap. In the summary, a column is wider than a mark. On a phone, a column is
		// half as wide as a mark, so marks must be two columns apart.
		v.Chart = stack(v.Block, map[bool]float64{false: 300, true: 105}[summary],
			map[bool]int{false: 2, true: 1}[summary])
	case "line":
		v.Chart = lines(v.Block, map[bool]float64{false: 150, true: 105}[summary])
	case "table", "cards":
		v.Head, v.Cells = tableOf(v.Block)
	}
}

// column is the heading of a table's column, and how its values are formatted.
type column struct {
	Name, Format string
	IsNumber     bool
}

// cell is a value of a table with its format.
type cell struct {
	column
	Value schema.Null[string]
	IsKey bool // the first cell, which names the row
}

// tableOf returns the visible columns of a block, and their cells. A column is visible if its name includes a format.
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

// Key returns the cell "key" of row i. Programs use it to find a row in the page.
func (v blockView) Key(i int) string { return v.Rows[i].Text("key") }
