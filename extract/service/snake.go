package service

import "strings"

// SnakeCase returns a key in lower case, with an underscore between its words: targetCPA is target_cpa.
func SnakeCase(key string) string {
	if strings.IndexFunc(key, func(r rune) bool { return r == '-' || r >= 'A' && r <= 'Z' }) < 0 {
		return key
	}
	isUpper := func(i int) bool { return i < len(key) && key[i] >= 'A' && key[i] <= 'Z' }
	isLower := func(i int) bool {
		return i < len(key) && (key[i] >= 'a' && key[i] <= 'z' || key[i] >= '0' && key[i] <= '9')
	}
	var b strings.Builder
	for i := range len(key) {
		switch {
		case key[i] == '-':
			b.WriteByte('_')
		case isUpper(i):
			if i > 0 && (isLower(i-1) || isUpper(i-1) && i+1 < len(key) && key[i+1] >= 'a' && key[i+1] <= 'z') {
				b.WriteByte('_')
			}
			b.WriteByte(key[i] | 0x20)
		default:
			b.WriteByte(key[i])
		}
	}
	return b.String()
}
