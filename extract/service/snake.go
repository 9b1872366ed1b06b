package service

import (
	"regexp"
	"strings"
)

// Where a word of a key begins: at a capital behind a small letter or a digit, and at the last of several capitals.
var (
	wordBehindCapitals = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
	wordBehindSmall    = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// SnakeCase returns a key in lower case, with an underscore between its words: targetCPA is target_cpa.
func SnakeCase(key string) string {
	if strings.IndexFunc(key, func(r rune) bool { return r == '-' || r >= 'A' && r <= 'Z' }) < 0 {
		return key
	}
	key = wordBehindSmall.ReplaceAllString(wordBehindCapitals.ReplaceAllString(key, "${1}_$2"), "${1}_$2")
	return strings.ToLower(strings.ReplaceAll(key, "-", "_"))
}
