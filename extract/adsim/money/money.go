// Package money formats and parses amounts: integers of millionths of a US dollar, as exact decimal text.
package money

import (
	"strconv"
	"strings"
)

// Amount is money in millionths of a US dollar. In JSON it is the shortest exact decimal: 12.5, 3, 0.000001.
type Amount int64

func (a Amount) MarshalJSON() ([]byte, error) { return Append(nil, int64(a)), nil }
func (a Amount) String() string               { return string(Append(nil, int64(a))) }

// Append appends an amount as the shortest exact decimal.
func Append(dst []byte, v int64) []byte {
	dst = AppendFixed(dst, v)
	end := len(dst)
	for dst[end-1] == '0' {
		end--
	}
	if dst[end-1] == '.' {
		end--
	}
	return dst[:end]
}

// AppendFixed appends an amount with all six decimals, as DECIMAL(18,6) is printed.
func AppendFixed(dst []byte, v int64) []byte {
	u := uint64(v)
	if v < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/1e6, 10)
	point := len(dst)
	dst = strconv.AppendUint(dst, 1e6+u%1e6, 10) // seven digits: the point replaces the leading 1
	dst[point] = '.'
	return dst
}

// Exact formats an amount with six decimals. It returns "" for 0, which stands for an amount that is not set.
func Exact(v int64) string {
	if v == 0 {
		return ""
	}
	return string(AppendFixed(nil, v))
}

// Parse parses a plain decimal without a sign, with at most six decimals.
func Parse(text string) (int64, bool) {
	integer, frac, point := strings.Cut(text, ".")
	if integer == "" || point && frac == "" || len(integer) > 12 || len(frac) > 6 {
		return 0, false
	}
	v, err := strconv.ParseUint(integer+frac+strings.Repeat("0", 6-len(frac)), 10, 63)
	return int64(v), err == nil
}
