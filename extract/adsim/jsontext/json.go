package jsontext

import (
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Only what JSON demands is escaped;
// with ascii everything beyond ASCII is escaped too, as UTF-16 units. Bytes that
// are not UTF-8 become U+FFFD: this is the one place where the simulator can't
// send broken text (a wrongtype fault can).
func AppendString(dst []byte, s string, ascii bool) []byte {
	dst = append(dst, '"')
	plain := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b >= 0x20 && b != '"' && b != '\\' && b != 0x7f {
				i++
				continue
			}
			dst = append(dst, s[plain:i]...)
			dst = appendEscape(dst, b)
			i++
			plain = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !ascii && !(r == utf8.RuneError && size == 1) {
			i += size
			continue
		}
		dst = append(dst, s[plain:i]...)
		if !ascii {
			dst = append(dst, "\uFFFD"...)
		} else if r > 0xFFFF {
			r -= 0x10000
			dst = AppendUnit(dst, uint16(0xD800+(r>>10)))
			dst = AppendUnit(dst, uint16(0xDC00+(r&0x3FF)))
		} else {
			dst = AppendUnit(dst, uint16(r))
		}
		i += size
		plain = i
	}
	dst = append(dst, s[plain:]...)
	return append(dst, '"')
}

// appendEscape appends the escape of an ASCII byte that may not stand for itself.
func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return AppendUnit(dst, uint16(b))
}

func AppendUnit(dst []byte, u uint16) []byte {
	return append(dst, '\\', 'u', hexDigits[u>>12], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}

// AppendMillionths appends an amount as the shortest exact decimal: 12.5, 3, 0.000001.
func AppendMillionths(dst []byte, v int64) []byte {
	u := uint64(v)
	if v < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/1e6, 10)
	frac := u % 1e6
	if frac == 0 {
		return dst
	}
	var digits [7]byte
	digits[0] = '.'
	for i := 6; i > 0; i-- {
		digits[i] = byte('0' + frac%10)
		frac /= 10
	}
	n := len(digits)
	for digits[n-1] == '0' {
		n--
	}
	return append(dst, digits[:n]...)
}

// AppendFixed appends an amount with all six decimals, as DECIMAL(18,6) prints it.
func AppendFixed(dst []byte, v int64) []byte {
	u := uint64(v)
	if v < 0 {
		dst = append(dst, '-')
		u = -u
	}
	dst = strconv.AppendUint(dst, u/1e6, 10)
	var digits [7]byte
	digits[0] = '.'
	frac := u % 1e6
	for i := 6; i > 0; i-- {
		digits[i] = byte('0' + frac%10)
		frac /= 10
	}
	return append(dst, digits[:]...)
}

// AppendRatio appends a/b computed in floats, null where b is 0.
func AppendRatio(dst []byte, a, b float64) []byte {
	if b == 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, a/b, 'g', -1, 64)
}

// AppendNoisy appends an amount like a service that sums in floats: in some rows a digit is off far
// beyond the sixth decimal, or the number has an exponent. Rounding to six decimals restores the
// amount.
func AppendNoisy(dst []byte, v int64, chance uint64) []byte {
	f := float64(v) / 1e6
	switch {
	case v == 0 || chance&7 > 2:
		return AppendMillionths(dst, v)
	case chance&7 == 0:
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	case f > 1e-3:
		return strconv.AppendFloat(dst, f*(1+0x1p-52), 'g', -1, 64)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// Object appends the members of a JSON object one after another. It is for the
// small bodies; report rows are rendered by [rowWriter].
type Object struct {
	Dst   []byte
	Ascii bool
	open  bool
}

func (o *Object) Key(name string) {
	if o.open {
		o.Dst = append(o.Dst, ',')
	}
	o.open = true
	o.Dst = AppendString(o.Dst, name, o.Ascii)
	o.Dst = append(o.Dst, ':')
}

func (o *Object) Str(name, v string)         { o.Key(name); o.Dst = AppendString(o.Dst, v, o.Ascii) }
func (o *Object) Int(name string, v int64)   { o.Key(name); o.Dst = strconv.AppendInt(o.Dst, v, 10) }
func (o *Object) Bool(name string, v bool)   { o.Key(name); o.Dst = strconv.AppendBool(o.Dst, v) }
func (o *Object) Money(name string, v int64) { o.Key(name); o.Dst = AppendMillionths(o.Dst, v) }
func (o *Object) Raw(name, v string)         { o.Key(name); o.Dst = append(o.Dst, v...) }

// StrOrNull appends null for the empty text.
func (o *Object) StrOrNull(name, v string) {
	if v == "" {
		o.Raw(name, "null")
		return
	}
	o.Str(name, v)
}

// MoneyOrNull appends null for an amount that is not set.
func (o *Object) MoneyOrNull(name string, v int64) {
	if v == 0 {
		o.Raw(name, "null")
		return
	}
	o.Money(name, v)
}

// Begin opens an object inside o; end closes the innermost one.
func (o *Object) Begin(name string) {
	if name != "" {
		o.Key(name)
	}
	o.Dst = append(o.Dst, '{')
	o.open = false
}

func (o *Object) End() {
	o.Dst = append(o.Dst, '}')
	o.open = true
}

// Strings appends a list of texts.
func (o *Object) Strings(name string, list []string) {
	o.Key(name)
	o.Dst = append(o.Dst, '[')
	for i, s := range list {
		if i > 0 {
			o.Dst = append(o.Dst, ',')
		}
		o.Dst = AppendString(o.Dst, s, o.Ascii)
	}
	o.Dst = append(o.Dst, ']')
}

// List appends a list whose elements each writes for itself.
func (o *Object) List(name string, n int, each func(i int)) {
	if name != "" {
		o.Key(name)
	}
	o.Dst = append(o.Dst, '[')
	for i := range n {
		if i > 0 {
			o.Dst = append(o.Dst, ',')
		}
		o.open = false
		each(i)
	}
	o.Dst = append(o.Dst, ']')
	o.open = true
}
