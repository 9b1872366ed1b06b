package answer

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"spendsync/load/duck"
	"spendsync/schema"
)

// unit is what a number of a column counts, as far as that decides its digits on a
// terminal.
type unit int

const (
	unitNone  unit = iota
	unitMoney      // US dollars: two decimals
	unitPrice      // US dollars for one click, or a bid: four decimals
)

// tableColumn is a column of a table for a person.
type tableColumn struct {
	name string
	form valueForm
	unit unit
}

// tableColumns are the answer's columns.
func (n Answer) tableColumns() []tableColumn {
	all := make([]tableColumn, len(n.Result.Columns))
	for i, c := range n.Result.Columns {
		all[i] = tableColumn{name: visibleName(c.Name), form: formOf(c), unit: unitOf(c)}
	}
	return all
}

// unitOf takes the unit from the types that only money and bids have, else from the dictionary's
// text for a column of that name.
func unitOf(c duck.Column) unit {
	doc := columnDocs()[c.Name]
	switch {
	case c.Type == "DECIMAL(12,6)", strings.HasPrefix(doc, "US dollars per click"):
		return unitPrice
	case decimalSix.MatchString(c.Type), c.Type == "DOUBLE" && strings.HasPrefix(doc, "US dollars"):
		return unitMoney
	}
	return unitNone
}

// decimalSix is money, or a sum of it.
var decimalSix = regexp.MustCompile(`^DECIMAL\((18|38),6\)$`)

// columnDocs holds the dictionary's text of each column, by name.
var columnDocs = sync.OnceValue(func() map[string]string {
	docs := map[string]string{}
	for _, q := range allViews() {
		for name, doc := range q.Columns {
			docs[name] = doc
		}
	}
	for _, t := range schema.Documented() {
		for _, c := range t.Columns {
			if docs[c.Name] == "" {
				docs[c.Name] = c.Doc
			}
		}
	}
	return docs
})

func (c tableColumn) isNumber() bool { return c.form == formNumber || c.form == formFloat }

// mayCut reports whether a part of a value is useful: half of an ID, a number or a time is not.
func (c tableColumn) mayCut() bool {
	return (c.form == formText || c.form == formNested) && c.name != "id" && !strings.HasSuffix(c.name, "_id")
}

// fraction is of a second: too fine to read.
var fraction = regexp.MustCompile(`\.[0-9]+Z$`)

// text returns the displayed text of DuckDB's value. Digits may be missing only if it is rounded,
// and even then a number other than 0 does not look like 0.
func (c tableColumn) text(value string, rounded bool) string {
	value = spell(c.form, value)
	switch {
	case c.form == formInstant:
		return fraction.ReplaceAllString(value, "Z")
	case !rounded || !c.isNumber():
		return value
	case c.unit == unitMoney:
		return round(value, 2, 2)
	case c.unit == unitPrice:
		return round(value, 2, 4)
	case c.form == formFloat:
		return round(value, 0, 4)
	}
	return value
}

// round rounds a decimal number half away from zero to at most that many decimals and
// removes zeros at the end down to least. What would become 0, and is not, keeps its
// first two digits.
func round(value string, least, most int) string {
	r, ok := new(big.Rat).SetString(value)
	if !ok {
		return value // not a finite number
	}
	text := r.FloatString(most)
	if r.Sign() != 0 && strings.Trim(text, "-0.") == "" {
		f, _ := r.Float64()
		return strconv.FormatFloat(f, 'g', 2, 64)
	}
	for strings.HasSuffix(text, "0") && len(text)-strings.IndexByte(text, '.')-1 > least {
		text = strings.TrimSuffix(text, "0")
	}
	return strings.TrimSuffix(text, ".")
}
