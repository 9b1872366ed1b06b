package adsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// exact is an amount with six decimals, empty for one that is not set.
func exact(v int64) string {
	if v == 0 {
		return ""
	}
	return string(appendFixed(nil, v))
}

// instant is empty for one that is not set.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func hex24(h uint64) string { return fmt.Sprintf("%016x%08x", h, uint32(mix(h))) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// parseMillionths takes a plain decimal of at most six places.
func parseMillionths(text string) (int64, bool) {
	whole, frac, point := strings.Cut(text, ".")
	if whole == "" || point && frac == "" || len(whole) > 12 || len(frac) > 6 {
		return 0, false
	}
	digits := whole + frac + strings.Repeat("0", 6-len(frac))
	v, err := strconv.ParseUint(digits, 10, 63)
	return int64(v), err == nil
}

// notBlank is \S of ECMA-262.
const notBlank = `[^\s\v\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]`

// compiled keeps the patterns of the schemas. They are of ECMA-262, where \S knows the
// spaces of Unicode; Go's knows those of ASCII.
func compiled(pattern string) *regexp.Regexp {
	re, ok := patterns.Load(pattern)
	if !ok {
		re, _ = patterns.LoadOrStore(pattern, regexp.MustCompile(strings.ReplaceAll(pattern, `\S`, notBlank)))
	}
	return re.(*regexp.Regexp)
}

// blank says whether a text has nothing but spaces, those of Unicode too.
func blank(s string) bool { return !compiled(`\S`).MatchString(s) }

var patterns sync.Map

func isWebURL(text string) bool {
	_, host, _ := strings.Cut(text, "://")
	return webURLForm.MatchString(text) && !strings.HasPrefix(host, "/")
}

var webURLForm = regexp.MustCompile(`^https?://` + notBlank + `+$`)

// decode takes an order and refuses what it does not know, so that a mistyped
// fault is not one that never happens.
func decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	d.UseNumber() // an amount goes through no float
	return d.Decode(into)
}

// marshal returns the JSON of a reply: nothing is escaped for HTML.
func marshal(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // replies are texts, numbers and lists of them
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
