package record

import (
	"math/big"
	"regexp"
	"strings"
	"testing"

	"spendsync/extract/service"
)

// TestMasks_KeepForms: what stands for a text has its form, and is the same everywhere.
func TestMasks_KeepForms(t *testing.T) {
	m := newMasks(service.Default())
	for text, form := range map[string]string{
		"C0001234567":                      `^C000[0-9]{7}$`,
		"C0001234567-012":                  `^C000[0-9]{7}-0[0-9]{2}$`,
		"c0001234567":                      `^c000[0-9]{7}$`,
		"5085f7288abc226c9997d2f2":         `^[0-9a-f]{24}$`,
		"https://shop.test/a?x=7":          `^https://[a-z]{4}\.[a-z]{4}/[a-z]\?[a-z]=[1-9]$`,
		"12.50":                            `^[1-9]{2}\.[1-9]0$`,
		"Summer 2026":                      `^[A-Z][a-z]{5} [1-9][0-9]{2}[1-9]$`,
		"active":                           `^active$`,
		"CA,TX":                            `^CA,TX$`,
		"pending_review":                   `^pending_review$`,
		"2026-03-08T06:00:00Z":             `^202[0-9]-[0-9]{2}-[0-9]{2}T06:00:00Z$`,
		`caf\u00e9 \ud83d\ude00`:           `^[a-z]{3}\\u00e9 \\ud83d\\ude00$`,
		`\u0063anary`:                      `^\\u00[67][0-9a-f][a-z]{5}$`,
		"clicks cannot be asked for today": `^clicks [a-z]{6} [a-z]{2} [a-z]{5} [a-z]{3} [a-z]{5}$`,
		"more than 30 days ago":            `^[a-z]{4} [a-z]{4} 30 days [a-z]{3}$`,
	} {
		got := m.text(text)
		if !regexp.MustCompile(form).MatchString(got) || got != m.text(text) {
			t.Errorf("%q became %q", text, got)
		}
	}
	if id := m.text("C0001234567"); !strings.HasPrefix(m.text("C0001234567-012"), id+"-") {
		t.Errorf("an ID that begins with %s does so no more", id)
	}
	if number, text := m.text("1234567"), m.text("C0001234567"); !strings.HasSuffix(text, number) {
		t.Errorf("an ID is %s as a number and %s as a text", number, text)
	}
}

// TestAmount_IsWrittenAlike: a sum is written as the one that it stands for.
func TestAmount_IsWrittenAlike(t *testing.T) {
	for literal, want := range map[string]string{
		"12.50": "1234.50", "17": "1234.5", "$1,000.25": "$1,234.50", "1.2e+01": "1.2345e+03", "8.1 USD": "1234.5 USD",
	} {
		a, ok := parseAmount(literal)
		if got := a.like(big.NewRat(12345, 10)); !ok || got != want {
			t.Errorf("as %s: %s, want %s", literal, got, want)
		}
	}
}

// TestScan_FindsEveryLiteral of a text that is JSON, and of one that is cut off.
func TestScan_FindsEveryLiteral(t *testing.T) {
	const body = `{"a":{"b":[1,"x\"y",{"c":-2.5e3}]},"d":null,"e":"cut`
	var got []string
	for _, tok := range scan(body) {
		got = append(got, tok.key+"="+body[tok.from:tok.to])
	}
	const want = `=a a=b b=1 b=x\"y b=c c=-2.5e3 b=d d=null d=e e=cut`
	if text := strings.Join(got, " "); !strings.HasSuffix(text, "e=cut") || len(got) != 10 {
		t.Errorf("%d literals: %s, want such as %s", len(got), text, want)
	}
}
