package schema

import (
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
	i := 0
	if i < len(text) && text[i] == '-' {
		d.negative, i = true, i+1
	}
	whole := i
	for ; i < len(text) && isDigit(text[i]); i++ {
		if d.n > 0 || text[i] != '0' {
			d.digits[d.n] = text[i]
			d.n, d.point = d.n+1, d.point+1
		}
	}
	if i == whole || (i-whole > 1 && text[whole] == '0') {
		return false
	}
	if i < len(text) && text[i] == '.' {
		i++
		fraction := i
		for ; i < len(text) && isDigit(text[i]); i++ {
			if d.n > 0 || text[i] != '0' {
				d.digits[d.n] = text[i]
				d.n++
			} else {
				d.point--
			}
		}
		if i == fraction {
			return false
		}
	}
	if i == len(text) {
		return true
	}
	e, ok := parseExponent(text[i:])
	d.point += e
	return ok
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
