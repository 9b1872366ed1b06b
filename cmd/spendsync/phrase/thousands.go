package phrase

import (
	"strconv"
	"strings"
)

// Grouped is a whole number with its digits in groups: 1,234,567.
func Grouped(n int64) string { return Thousands(strconv.FormatInt(n, 10)) }

// Thousands groups the digits before the point of a decimal number: 1,234,567.5. It leaves numbers with an
// exponent and other values unchanged.
func Thousands(number string) string {
	digits := strings.TrimPrefix(number, "-")
	sign := number[:len(number)-len(digits)]
	integer, rest := digits, ""
	if point := strings.IndexByte(digits, '.'); point >= 0 {
		integer, rest = digits[:point], digits[point:]
	}
	if strings.Trim(integer, "0123456789") != "" {
		return number
	}
	for i := len(integer) - 3; i > 0; i -= 3 {
		integer = integer[:i] + "," + integer[i:]
	}
	return sign + integer + rest
}
