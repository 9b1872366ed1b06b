package page

import (
	"fmt"
	"math"
	"strconv"
)

// Class is the shade of a cell: h4 to h-4, by the change of conversions where it is
// known, else of spend.
func (c RestatedCell) Class() string {
	n := c.shown()
	if !n.Known {
		return "h1"
	}
	for i, edge := range []float64{0.1, 0.02, 0.005, 0} {
		if n.V > edge {
			return fmt.Sprintf("h%d", 4-i)
		}
		if n.V < -edge {
			return fmt.Sprintf("h-%d", 4-i)
		}
	}
	return "h0"
}

func (c RestatedCell) shown() Number {
	if c.Conversions.Known && c.Conversions.V != 0 {
		return c.Conversions
	}
	return c.Spend
}

// SpendText is the upper line of a cell, ConversionsText the lower one.
func (c RestatedCell) SpendText() string { return "$ " + shade(c.Spend) }

func (c RestatedCell) ConversionsText() string { return "cv " + shade(c.Conversions) }

func shade(n Number) string {
	switch {
	case !n.Known:
		return "?"
	case n.V == 0:
		return "0"
	case math.Abs(n.V) < 0.0005:
		return plus(n.V) + trimmed(strconv.FormatFloat(math.Abs(n.V)*100, 'f', 4, 64)) + " %"
	case math.Abs(n.V) < 0.1:
		return plus(n.V) + trimmed(fmt.Sprintf("%.1f", math.Abs(n.V)*100)) + " %"
	}
	return plus(n.V) + grouped(math.Abs(n.V)*100, 0) + " %"
}

func plus(v float64) string {
	if v > 0 {
		return "+"
	}
	return sign(v)
}

// Text is the cell in words.
func (c RestatedCell) Text() string {
	return fmt.Sprintf("%s, %s conversions in %s", moneyChange(c.SpendDelta), plus(c.ConversionsDelta.V)+
		count(N(math.Abs(c.ConversionsDelta.V))), countOf(int(c.Lines.V), "line"))
}

func moneyChange(n Number) string {
	if n.Known && n.V > 0 {
		return "+" + money(n)
	}
	return money(n)
}
