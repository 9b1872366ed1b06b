package schema

import (
	"bytes"
	"errors"
	"strconv"
)

// decimalNumber is a JSON number as its text has it: 0.d1d2d3... times 10^point.
type decimalNumber struct {
	negative bool
	digits   [maxNumberText]byte // the significant ones; the first is not 0
	n        int                 // how many there are; 0: the number is 0
	point    int                 // position of the decimal point, counted from the first digit
}

// parse reads a text of at most maxNumberText bytes and reports whether it is a JSON number.
func (d *decimalNumber) parse(text []byte) bool {
	text, d.negative = bytes.CutPrefix(text, []byte("-"))
	whole := text[:digitsIn(text)]
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		return false
	}
	d.add(whole)
	d.point = d.n
	if text = text[len(whole):]; len(text) > 0 && text[0] == '.' {
		fraction := text[1 : 1+digitsIn(text[1:])]
		if len(fraction) == 0 {
			return false
		}
		was := d.n
		if d.add(fraction); was == 0 {
			d.point = d.n - len(fraction)
		}
		text = text[1+len(fraction):]
	}
	if len(text) == 0 {
		return true
	}
	e, ok := parseExponent(text)
	d.point += e
	return ok
}

// add adds digits, but for zeros in front of all others.
func (d *decimalNumber) add(digits []byte) {
	if d.n == 0 {
		digits = bytes.TrimLeft(digits, "0")
	}
	d.n += copy(d.digits[d.n:], digits)
}

// digitsIn is how many digits a text begins with.
func digitsIn(text []byte) (n int) {
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}

// parseExponent reads what follows the digits of a JSON number, e-12, to the end of the
// text. An exponent beyond a million counts as a million: that far out the digits no
// longer matter, except for zero.
func parseExponent(text []byte) (e int, ok bool) {
	const limit = 1_000_000
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	text = text[1:]
	digits := text
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		digits = text[1:]
	}
	if len(digits) == 0 || !isDigit(digits[0]) {
		return 0, false
	}
	e, err := strconv.Atoi(string(text))
	if errors.Is(err, strconv.ErrRange) || e > limit || e < -limit {
		e = limit
		if text[0] == '-' {
			e = -limit
		}
	} else if err != nil {
		return 0, false
	}
	return e, true
}

// scaled is the number times 10^scale, rounded half to even, and whether rounding lost
// anything; not ok: it is beyond MaxMoney.
func (d *decimalNumber) scaled(scale int) (v int64, inexact, ok bool) {
	if d.n == 0 {
		return 0, false, true
	}
	keep := d.point + scale // digits in front of the rounding
	switch {
	case keep > 18:
		return 0, false, false
	case keep < 0:
		return 0, true, true
	}
	for k := range keep {
		v *= 10
		if k < d.n {
			v += int64(d.digits[k] - '0')
		}
	}
	if keep < d.n {
		rest := d.digits[keep:d.n]
		inexact = anyNonZero(rest)
		if rest[0] > '5' || (rest[0] == '5' && (anyNonZero(rest[1:]) || v%2 == 1)) {
			v++
		}
	}
	if v > int64(MaxMoney) {
		return 0, false, false
	}
	if d.negative {
		v = -v
	}
	return v, inexact, true
}

func anyNonZero(digits []byte) bool {
	for _, d := range digits {
		if d != '0' {
			return true
		}
	}
	return false
}
