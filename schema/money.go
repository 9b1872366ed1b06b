package schema

import (
	"bytes"
	"errors"
	"fmt"
)

// Money is an exact amount of US dollars in millionths: DECIMAL(18,6). No step of the processing uses floats for money.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1_000_000

// MaxMoney is the largest amount that DECIMAL(18,6) holds; the smallest is its
// negative.
const MaxMoney Money = 999_999_999_999_999_999

// MoneyDecimals is the number of decimals of Money. maxNumberText is the greatest accepted length of a number, in
// bytes; a float64 in its shortest form has at most 24.
const (
	MoneyDecimals = 6
	maxNumberText = 100
)

var (
	// ErrNotNumber reports that a text is not a JSON number (RFC 8259, section 6).
	ErrNotNumber = errors.New("not a number")
	// ErrRange reports that a number is out of its column's range.
	ErrRange = errors.New("out of range")
	// ErrFraction reports that a count has a fraction.
	ErrFraction = errors.New("not a whole number")
)

// ParseMoney parses an amount from the digits of a JSON number, exponents included. An amount with more than six
// decimals, for example 12.300000000000001 from a service that computes in floats, is rounded half to even, and the
// second result is true. The error is [ErrNotNumber], or [ErrRange] if the amount does not fit DECIMAL(18,6).
func ParseMoney(text []byte) (m Money, rounded bool, err error) {
	n, rounded, err := parseScaled(text, MoneyDecimals)
	return Money(n), rounded, err
}

// ParseCount parses a whole number from the digits of a JSON number. 12, 12.0 and 1.2e1 are the same number; 12.5 is
// refused with [ErrFraction].
func ParseCount(text []byte) (int64, error) {
	n, rounded, err := parseScaled(text, 0)
	if err == nil && rounded {
		return 0, fmt.Errorf("%.40q: %w", text, ErrFraction)
	}
	return n, err
}

// parseScaled returns the number times 10^scale, rounded half to even, and whether rounding changed it. A result of
// more than 18 digits is refused with [ErrRange].
func parseScaled(text []byte, scale int) (v int64, inexact bool, err error) {
	if len(text) > maxNumberText {
		return 0, false, fmt.Errorf("a number of %d digits: %w", len(text), ErrRange)
	}
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	whole := digitsIn(digits)
	fraction, ok := 0, whole == 1 || whole > 1 && digits[0] != '0'
	rest := digits[whole:]
	if len(rest) > 0 && rest[0] == '.' {
		fraction = digitsIn(rest[1:])
		ok = ok && fraction > 0
		rest = rest[1+fraction:]
	}
	exponent := 0
	if len(rest) > 0 && ok {
		exponent, ok = parseExponent(rest)
	}
	if !ok {
		return 0, false, fmt.Errorf("%.40q: %w", text, ErrNotNumber)
	}
	d := scaled{place: whole + exponent + scale}
	d.add(digits[:whole])
	if fraction > 0 {
		d.add(digits[whole+1:][:fraction])
	}
	if v, ok = d.value(); !ok {
		return 0, false, fmt.Errorf("%.40q: %w", text, ErrRange)
	}
	if negative {
		v = -v
	}
	return v, d.half > 0 || d.isBeyond, nil
}

// scaled accumulates the digits of a number from left to right, and rounds after a given decimal.
type scaled struct {
	v        int64
	place    int  // number of digits that v still takes; negative once a digit was dropped
	half     byte // the first dropped digit
	isBeyond bool // whether any dropped digit after the first is not 0
	isHuge   bool // whether v would have more than 18 digits
}

func (d *scaled) add(digits []byte) {
	v, front := d.v, min(max(d.place, 0), len(digits))
	for _, c := range digits[:front] {
		if d.isHuge = d.isHuge || v > int64(MaxMoney)/10; !d.isHuge {
			v = 10*v + int64(c-'0')
		}
	}
	for i, c := range digits[front:] {
		if d.place-front == i {
			d.half = c - '0'
		} else {
			d.isBeyond = d.isBeyond || c > '0'
		}
	}
	d.v, d.place = v, d.place-len(digits)
}

// value returns the rounded number without its sign. ok is false if it exceeds MaxMoney.
func (d *scaled) value() (v int64, ok bool) {
	for ; d.place > 0 && d.v > 0 && !d.isHuge; d.place-- {
		d.isHuge = d.v > int64(MaxMoney)/10
		d.v *= 10
	}
	if d.half > 5 || d.half == 5 && (d.isBeyond || d.v%2 == 1) {
		d.v++
	}
	return d.v, !d.isHuge && d.v <= int64(MaxMoney)
}

// digitsIn returns the number of digits at the beginning of a text.
func digitsIn(text []byte) (n int) {
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}

// parseExponent parses the exponent of a JSON number, for example e-12, which must end the text. An exponent beyond a
// million counts as a million: the result is then 0 or out of range anyway.
func parseExponent(text []byte) (e int, ok bool) {
	const limit = 1_000_000
	digits, isNegative := bytes.CutPrefix(text[1:], []byte("-"))
	if !isNegative {
		digits = bytes.TrimPrefix(digits, []byte("+"))
	}
	if text[0]|0x20 != 'e' || len(digits) == 0 || digitsIn(digits) < len(digits) {
		return 0, false
	}
	for _, c := range digits {
		e = min(limit, 10*e+int(c-'0'))
	}
	if isNegative {
		e = -e
	}
	return e, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// String returns the amount with at least two decimals and no needless trailing zeros: 12.30,
// 0.000001.
func (m Money) String() string {
	b := fmt.Appendf(nil, "%07d", m.abs())
	cut := len(b) - MoneyDecimals
	out := append(append(append(make([]byte, 0, len(b)+2), b[:cut]...), '.'), b[cut:]...)
	for len(out) > cut+3 && out[len(out)-1] == '0' {
		out = out[:len(out)-1]
	}
	if m < 0 {
		return "-" + string(out)
	}
	return string(out)
}

func (m Money) abs() uint64 {
	if m < 0 {
		return uint64(-m)
	}
	return uint64(m)
}

// MarshalText writes the text that String returns.
func (m Money) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText parses an amount. It refuses an amount that would have to be rounded.
func (m *Money) UnmarshalText(b []byte) error {
	v, rounded, err := ParseMoney(b)
	if err == nil && rounded {
		err = fmt.Errorf("%.40q: more than %d decimals", b, MoneyDecimals)
	}
	*m = v
	return err
}

// AddMoney returns the sum, or [ErrRange] beyond DECIMAL(18,6), because a sum that wraps around would look like a valid
// amount.
func AddMoney(a, b Money) (Money, error) {
	sum := a + b // cannot wrap: both are below 10^18
	if sum > MaxMoney || sum < -MaxMoney {
		return 0, fmt.Errorf("%v + %v: %w", a, b, ErrRange)
	}
	return sum, nil
}

// MoneyUnit returns the smallest positive amount with the given number of decimals: a cent for 2.
func MoneyUnit(decimals int) Money {
	unit := Money(1)
	for range MoneyDecimals - decimals {
		unit *= 10
	}
	return unit
}

// Decimals returns the number of decimals needed to write m.
func (m Money) Decimals() int {
	n := MoneyDecimals
	for ; n > 0 && m%10 == 0; n-- {
		m /= 10
	}
	return n
}
