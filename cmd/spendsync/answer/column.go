package answer

import (
	"cmp"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/load/duck"
	"spendsync/queries"
)

// The units of numbers, as far as they decide the digits on a terminal, see [queries.Units].
const (
	unitMoney   = "money"   // US dollars: two decimals
	unitPrice   = "price"   // US dollars for one click, or a bid: four decimals
	unitPercent = "percent" // a share or a change: a percentage of one decimal
	unitRate    = "rate"    // a percentage of two decimals
	unitRatio   = "ratio"   // another number that is not whole
)

// tableColumn is a column of a table for a person.
type tableColumn struct {
	name string
	form valueForm
	unit string // of a number; empty: it has none
}

// tableColumns are the answer's columns.
func (n Rendering) tableColumns() []tableColumn {
	all := make([]tableColumn, len(n.Result.Columns))
	for i, c := range n.Result.Columns {
		all[i] = tableColumn{name: phrase.Visible(c.Name), form: formOf(c), unit: unitOf(c)}
	}
	return all
}

// unitOf returns the unit by the types that only money and bids have, else by the name. Whole numbers have none.
func unitOf(c duck.Column) string {
	switch {
	case c.Type == "DECIMAL(12,6)":
		return unitPrice
	case decimalSix.MatchString(c.Type):
		return unitMoney
	case c.Type != "DOUBLE" && !strings.HasPrefix(c.Type, "DECIMAL"):
		return ""
	case strings.HasSuffix(c.Type, ",0)"):
		return queries.Units()[c.Name]
	}
	return cmp.Or(queries.Units()[c.Name], unitRatio)
}

// decimalSix is money, or a sum of it.
var decimalSix = regexp.MustCompile(`^DECIMAL\((18|38),6\)$`)

func (c tableColumn) isNumber() bool { return c.form == formNumber || c.form == formFloat }

// verdicts are the columns, besides verdict and *_verdict, that judge a row or advise what to do with it.
var verdicts = []string{"action", "state", "what_to_do"}

// isVerdict reports whether the column judges its row.
func (c tableColumn) isVerdict() bool {
	return c.name == "verdict" || strings.HasSuffix(c.name, "_verdict") || slices.Contains(verdicts, c.name)
}

// isProse reports whether the column's texts are sentences, which are broken at words and never cut.
func (c tableColumn) isProse() bool {
	prose := []string{"what_to_do", "action", "happened", "message", "meaning", "question", "reason"}
	return c.form == formText && slices.Contains(prose, c.name)
}

// hasThousands reports whether the digits of a column's numbers are grouped: a year or a number of a version
// counts nothing.
func (c tableColumn) hasThousands() bool {
	return c.name != "year" && c.name != "id" && !strings.HasSuffix(c.name, "_id") && !strings.HasSuffix(c.name, "_no")
}

// verdictColors are the verdicts that have a color. Others, such as unclear, have none.
var verdictColors = map[text.Color][]string{
	text.FgGreen: {"pays", "earns", "cheaper", "better", "below_target", "below_campaign", "steady", "on_pace",
		"complete", "final"},
	text.FgRed: {"loses", "dearer", "worse", "no_conversions", "too_costly", "worse_than_campaign", "broken_tracking",
		"exhausted", "over", "missing", "lost"},
	text.FgYellow: {"fatiguing", "limited", "stops_soon", "stopped", "under", "partial", "incomplete", "bid_less"},
}

// paint returns the shown text of a cell with its color. go-pretty adds none if NO_COLOR is set or the terminal has no
// colors.
func (c tableColumn) paint(v cell, shown string) string {
	if v.isNull {
		return text.Faint.Sprint(shown)
	}
	for color, verdicts := range verdictColors {
		if c.isVerdict() && slices.Contains(verdicts, v.text) {
			return color.Sprint(shown)
		}
	}
	return shown
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
