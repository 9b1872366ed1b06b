package jsontext

import (
	"strconv"
	"strings"
)

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) >= 0 {
		return append(dst, Marshal(s)...)
	}
	return append(append(append(dst, '"'), s...), '"')
}

// AppendMillionths appends an amount as the shortest exact decimal: 12.5, 3, 0.000001.
func AppendMillionths(dst []byte, v int64) []byte {
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

// AppendFixed appends an amount with all six decimals, as DECIMAL(18,6) prints it.
func AppendFixed(dst []byte, v int64) []byte {
	u := uint64(v)
	if v < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/1e6, 10)
	point := len(dst)
	dst = strconv.AppendUint(dst, 1e6+u%1e6, 10) // seven digits: the 1 gives way to the point
	dst[point] = '.'
	return dst
}

// AppendRatio appends a/b computed in floats, or null if b is 0.
func AppendRatio(dst []byte, a, b float64) []byte {
	if b == 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, a/b, 'g', -1, 64)
}

// Amount is money in millionths of a US dollar. Its JSON is the shortest exact decimal.
type Amount int64

func (a Amount) MarshalJSON() ([]byte, error) { return AppendMillionths(nil, int64(a)), nil }

// OrNull returns nil for the zero value, which encodes as null.
func OrNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
