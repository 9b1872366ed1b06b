package answer

import (
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jedib0t/go-pretty/v6/text"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/load/duck"
	"spendsync/schema"
)

// unit is what a number of a column counts, as far as that decides its digits on a
// terminal.
type unit int

const (
	unitNone    unit = iota
	unitMoney        // US dollars: two decimals
	unitPrice        // US dollars for one click, or a bid: four decimals
	unitPercent      // a share or a change: a percentage of one decimal
	unitRate         // clicks per impression, conversions per click: a percentage of two decimals
	unitRatio        // another number that is not whole
)

// tableColumn is a column of a table for a person.
type tableColumn struct {
	name string
	form valueForm
	unit unit
}

// tableColumns are the answer's columns.
func (n Rendering) tableColumns() []tableColumn {
	all := make([]tableColumn, len(n.Result.Columns))
	for i, c := range n.Result.Columns {
		doc, ok := n.Question.Columns[c.Name]
		if !ok {
			doc = columnDocs()[c.Name]
		}
		all[i] = tableColumn{name: phrase.Visible(c.Name), form: formOf(c), unit: unitOf(c, doc)}
	}
	return all
}

// unitOf takes the unit from the types that only money and bids have, else from the text that explains
// the column.
func unitOf(c duck.Column, doc string) unit {
	fraction := strings.HasPrefix(c.Type, "DECIMAL") || c.Type == "DOUBLE"
	switch {
	case c.Type == "DECIMAL(12,6)", fraction && strings.Contains(doc, "US dollars per click"):
		return unitPrice
	case decimalSix.MatchString(c.Type), fraction && strings.HasPrefix(doc, "US dollars"):
		return unitMoney
	case fraction && rates.MatchString(c.Name):
		return unitRate
	case fraction && percentages.MatchString(c.Name):
		return unitPercent
	case fraction && !strings.HasSuffix(c.Type, ",0)"):
		return unitRatio
	}
	return unitNone
}

// rates and percentages are the names of numbers that a person reads as percentages.
var (
	rates       = regexp.MustCompile(`^(ctr|cvr)($|_)`)
	percentages = regexp.MustCompile(`(^|_)(change|share|roi|utilization|decline|probability)($|_)`)
)

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

// verdicts are the columns, besides verdict and *_verdict, that judge a row or advise what to do with it.
var verdicts = []string{"action", "state", "what_to_do"}

// isVerdict reports whether the column judges its row.
func (c tableColumn) isVerdict() bool {
	return c.name == "verdict" || strings.HasSuffix(c.name, "_verdict") || slices.Contains(verdicts, c.name)
}

// isProse reports whether the column's texts are sentences, which are broken at words and never cut.
func (c tableColumn) isProse() bool {
	return c.form == formText && slices.Contains([]string{"what_to_do", "message", "meaning", "question"}, c.name)
}

// hasThousands reports whether the digits of a column's numbers are grouped: a year or a number of a version
// counts nothing.
func (c tableColumn) hasThousands() bool {
	return c.name != "year" && c.name != "id" && !strings.HasSuffix(c.name, "_id") && !strings.HasSuffix(c.name, "_no")
}

// good, bad and careful are verdicts that have a color. Others, such as unclear, have none.
var (
	good = []string{"pays", "earns", "cheaper", "better", "below_target", "below_campaign", "steady", "on_pace",
		"complete", "final"}
	bad = []string{"loses", "dearer", "worse", "no_conversions", "too_costly", "worse_than_campaign", "broken_tracking",
		"exhausted", "over", "missing", "lost"}
	careful = []string{"fatiguing", "limited", "stopped", "under", "partial", "incomplete", "bid_less",
		"crowds_out"}
)

// color returns a cell's color; 0: none.
func (c tableColumn) color(v cell) text.Color {
	switch {
	case v.isNull:
		return text.Faint
	case !c.isVerdict():
		return 0
	case slices.Contains(good, v.text):
		return text.FgGreen
	case slices.Contains(bad, v.text):
		return text.FgRed
	case slices.Contains(careful, v.text):
		return text.FgYellow
	}
	return 0
}

// mayCut reports whether a part of a value is useful: half of an ID, a number, a time or a verdict is not.
func (c tableColumn) mayCut() bool {
	return (c.form == formText || c.form == formNested) && c.name != "id" && !strings.HasSuffix(c.name, "_id") &&
		(!c.isVerdict() || c.isProse())
}

// fraction is of a second: too fine to read.
var fraction = regexp.MustCompile(`\.[0-9]+Z$`)

// text returns the displayed text of a value. Only a person's number is rounded, has a dollar sign and
// its thousands grouped; even then a number other than 0 does not look like 0.
func (c tableColumn) text(value string, forPerson bool) string {
	switch {
	case c.form == formInstant:
		return fraction.ReplaceAllString(value, "Z")
	case !forPerson || !c.isNumber():
		return value
	case c.unit == unitMoney:
		return dollars(round(value, 2, 2))
	case c.unit == unitPrice:
		return dollars(round(value, 2, 4))
	case c.unit == unitPercent:
		return percent(value, 1)
	case c.unit == unitRate:
		return percent(value, 2)
	case c.form == formFloat:
		value = round(value, 0, 4)
	}
	if c.hasThousands() {
		return phrase.Thousands(value)
	}
	return value
}

// percent returns a share as a percentage. It leaves other values unchanged.
func percent(share string, decimals int) string {
	r, ok := new(big.Rat).SetString(share)
	if !ok {
		return share
	}
	return phrase.Thousands(round(r.Mul(r, big.NewRat(100, 1)).FloatString(12), decimals, decimals)) + "%"
}

// dollars puts the sign of dollars before an amount. It leaves other values unchanged.
func dollars(amount string) string {
	digits := strings.TrimPrefix(amount, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return amount
	}
	return amount[:len(amount)-len(digits)] + "$" + phrase.Thousands(digits)
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
