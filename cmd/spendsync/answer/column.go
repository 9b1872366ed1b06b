package answer

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"spendsync/cmd/internal/cli"
	"spendsync/load/duck"
	"spendsync/queries"
	"spendsync/schema"
)

// unit is a format of numbers for people.
type unit struct {
	sign        string // precedes the number
	least, most int    // number of decimals
	isShare     bool   // a share, shown in percent
	cell        string // number format of a workbook's cells; it hides some digits, which the cells still contain
}

// units has the formats of the units in [queries.Units]. The key "ratio" has the format of other numbers with decimals,
// and the key "" the format of whole numbers.
var units = map[string]unit{
	"money":   {sign: "$", least: 2, most: 2, cell: "#,##0.00"},
	"price":   {sign: "$", least: 2, most: 4, cell: "#,##0.00##"}, // a click or a bid
	"percent": {isShare: true, least: 1, most: 1, cell: "0.0%"},
	"rate":    {isShare: true, least: 2, most: 2, cell: "0.00%"},
	"ratio":   {most: 4, cell: "#,##0.00##"},
	"":        {cell: "#,##0"},
}

// tableColumn is a column of a table for a person.
type tableColumn struct {
	name string
	form valueForm
	unit string // a key of units; empty if the column has no unit
}

// tableColumns returns the columns of the answer as a table shows them.
func (n Rendering) tableColumns() []tableColumn {
	all := make([]tableColumn, len(n.Result.Columns))
	for i, c := range n.Result.Columns {
		all[i] = tableColumn{name: cli.Visible(c.Name), form: formOf(c), unit: unitOf(c)}
	}
	return all
}

// unitOf returns the unit of a column with numbers. For money and bids, the type determines the unit; for other
// numbers, the column's name does. Integers have no unit.
func unitOf(c duck.Column) string {
	switch form := formOf(c); {
	case c.Type == "DECIMAL(12,6)":
		return "price"
	case c.Type == "DECIMAL(18,6)", c.Type == "DECIMAL(38,6)":
		return "money"
	case form != formNumber && form != formFloat, strings.Contains(c.Type, "INT"):
		return ""
	case strings.HasSuffix(c.Type, ",0)"):
		return queries.Units()[c.Name]
	}
	return cmp.Or(queries.Units()[c.Name], "ratio")
}

func (c tableColumn) isNumber() bool { return c.form == formNumber || c.form == formFloat }

// verdicts lists the columns that judge a row or give advice, besides columns named verdict or *_verdict.
var verdicts = []string{"action", "state", "what_to_do"}

// isVerdict reports whether the column judges its row.
func (c tableColumn) isVerdict() bool {
	return c.name == "verdict" || strings.HasSuffix(c.name, "_verdict") || slices.Contains(verdicts, c.name)
}

// isProse reports whether the column holds sentences, which are wrapped and never cut.
func (c tableColumn) isProse() bool {
	prose := []string{"what_to_do", "action", "happened", "message", "meaning", "question", "reason", "change",
		"rule"}
	return c.form == formText && slices.Contains(prose, c.name)
}

// hasThousands reports whether a column's digits are grouped. The digits of years, IDs and version numbers are not
// grouped.
func (c tableColumn) hasThousands() bool {
	return c.name != "year" && c.name != "id" && !strings.HasSuffix(c.name, "_id") && !strings.HasSuffix(c.name, "_no")
}

// verdictColors are the colors of verdicts. Verdicts that are not listed, for example unclear, have no color.
var verdictColors = map[string]text.Color{
	"pays": text.FgGreen, "earns": text.FgGreen, "cheaper": text.FgGreen, "better": text.FgGreen,
	"below_target": text.FgGreen, "below_campaign": text.FgGreen, "steady": text.FgGreen, "on_pace": text.FgGreen,
	"complete": text.FgGreen, "final": text.FgGreen,
	"loses": text.FgRed, "dearer": text.FgRed, "worse": text.FgRed, "no_conversions": text.FgRed,
	"too_costly": text.FgRed, "worse_than_campaign": text.FgRed, "broken_tracking": text.FgRed,
	"exhausted": text.FgRed, "over": text.FgRed, "missing": text.FgRed, "lost": text.FgRed,
	"fatiguing": text.FgYellow, "limited": text.FgYellow, "stops_soon": text.FgYellow, "stopped": text.FgYellow,
	"under": text.FgYellow, "partial": text.FgYellow, "incomplete": text.FgYellow, "bid_less": text.FgYellow,
}

// paint colors the shown text of a cell. go-pretty adds no color if NO_COLOR is set or the terminal shows no colors.
func (c tableColumn) paint(v cell, shown string) string {
	if v.isNull {
		return text.Faint.Sprint(shown)
	}
	if color, ok := verdictColors[v.text]; ok && c.isVerdict() {
		return color.Sprint(shown)
	}
	return shown
}

// mayCut reports whether values of the column may be cut. IDs, numbers, times and verdicts must not be cut: a part of
// such a value is useless.
func (c tableColumn) mayCut() bool {
	return (c.form == formText || c.form == formNested) && c.name != "id" && !strings.HasSuffix(c.name, "_id") &&
		(!c.isVerdict() || c.isProse())
}

// text formats a value. For a person, instants are in Chicago's time, to the minute; numbers are rounded, their
// thousands are grouped, and amounts of money have a dollar sign.
func (c tableColumn) text(value string, forPerson bool) string {
	switch {
	case c.form == formInstant:
		at, err := time.Parse(time.RFC3339, value)
		if err != nil { // a valid TIMESTAMPTZ that Go cannot parse: "infinity"
			return value
		}
		if !forPerson {
			return at.Truncate(time.Second).Format(time.RFC3339)
		}
		return at.In(schema.Chicago()).Format("2006-01-02 15:04")
	case !forPerson || !c.isNumber() || !c.hasThousands():
		return value
	}
	return units[c.unit].spell(value)
}

var hundred = big.NewRat(100, 1)

// spell rounds a number half away from zero and removes trailing zeros. A number that would round to 0 keeps its first
// two digits.
func (u unit) spell(value string) string {
	r, ok := new(big.Rat).SetString(value)
	if !ok {
		return value // not a finite number
	}
	before, after := u.sign, ""
	if u.isShare {
		r.Mul(r, hundred)
		after = "%"
	}
	if r.Sign() < 0 {
		r.Neg(r)
		before = "-" + before
	}
	digits := r.FloatString(u.most)
	if r.Sign() != 0 && strings.Trim(digits, "0.") == "" {
		f, _ := r.Float64()
		digits = strconv.FormatFloat(f, 'g', 2, 64)
	} else if u.most > u.least {
		kept := digits[:len(digits)-(u.most-u.least)]
		digits = strings.TrimSuffix(kept+strings.TrimRight(digits[len(kept):], "0"), ".")
	}
	return before + cli.Thousands(digits) + after
}
