package record

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// numberForm matches the parts of a written number: the text before it, its digits, and its exponent.
var numberForm = regexp.MustCompile(`^([^0-9-]*)(-?)([0-9][0-9,]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(.*)$`)

// amount is a number and how it is written.
type amount struct {
	before, after string
	grouped       bool // with commas
	decimals      int
	exponent      bool
	value         *big.Rat
}

func parseAmount(literal string) (amount, bool) {
	m := numberForm.FindStringSubmatch(literal)
	if m == nil || strings.ContainsAny(m[6], "0123456789") {
		return amount{}, false
	}
	a := amount{before: m[1], after: m[6], grouped: strings.Contains(m[3], ","), exponent: m[5] != "",
		decimals: max(0, len(m[4])-1)}
	value, ok := new(big.Rat).SetString(m[2] + strings.ReplaceAll(m[3], ",", "") + m[4] + m[5])
	a.value = value
	return a, ok
}

// like writes a value as another number is written, with more decimals if it needs them.
func (a amount) like(v *big.Rat) string {
	if a.exponent {
		f, _ := v.Float64()
		for digits := a.decimals; ; digits++ {
			text := strconv.FormatFloat(f, 'e', digits, 64)
			if back, ok := new(big.Rat).SetString(text); digits > 17 || ok && back.Cmp(v) == 0 {
				return a.before + text + a.after
			}
		}
	}
	digits := a.decimals
	for ; digits < 40; digits++ {
		if back, ok := new(big.Rat).SetString(v.FloatString(digits)); ok && back.Cmp(v) == 0 {
			break
		}
	}
	text := v.FloatString(digits)
	if a.grouped {
		whole, rest, _ := strings.Cut(text, ".")
		for i := len(whole) - 3; i > 0 && isDigit(rune(whole[i-1])); i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
		if text = whole; rest != "" {
			text += "." + rest
		}
	}
	return a.before + text + a.after
}

// measure replaces the digits of a number in a row. The row and the column determine the new digits.
func (m *masks) measure(row, column, literal string) string {
	out := []byte(literal)
	end := len(out)
	if i := strings.IndexAny(literal, "eE"); i > 0 {
		end = i
	}
	first, last := -1, -1
	for i := range end {
		if out[i] >= '1' && out[i] <= '9' {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	for i := range end {
		if i < first || i > last || !isDigit(rune(out[i])) {
			continue // zeros at both ends stay
		}
		lowest := uint64(0)
		if i == first || i == last {
			lowest = 1
		}
		out[i] = byte('0' + lowest + m.random(fmt.Sprint(row, "\x00", column, "\x00", i), 10-lowest))
	}
	return string(out)
}
