package jsontext

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

	"spendsync/extract/adsim/chance"
)

// Exact is an amount with six decimals, empty for one that is not set.
func Exact(v int64) string {
	if v == 0 {
		return ""
	}
	return string(AppendFixed(nil, v))
}

// Instant is empty for one that is not set.
func Instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func Hex24(h uint64) string { return fmt.Sprintf("%016x%08x", h, uint32(chance.Mix(h))) }

func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func Btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ParseMillionths takes a plain decimal of at most six places.
func ParseMillionths(text string) (int64, bool) {
	integer, frac, point := strings.Cut(text, ".")
	if integer == "" || point && frac == "" || len(integer) > 12 || len(frac) > 6 {
		return 0, false
	}
	digits := integer + frac + strings.Repeat("0", 6-len(frac))
	v, err := strconv.ParseUint(digits, 10, 63)
	return int64(v), err == nil
}

// notBlank is \S of ECMA-262.
const notBlank = `[^\s\v\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]`

// Compiled keeps the patterns of the schemas. They are of ECMA-262, where \S knows the
// spaces of Unicode; Go's knows those of ASCII.
func Compiled(pattern string) *regexp.Regexp {
	re, ok := patterns.Load(pattern)
	if !ok {
		re, _ = patterns.LoadOrStore(pattern, regexp.MustCompile(strings.ReplaceAll(pattern, `\S`, notBlank)))
	}
	return re.(*regexp.Regexp)
}

// Blank reports whether a text has nothing but spaces, those of Unicode too.
func Blank(s string) bool { return !Compiled(`\S`).MatchString(s) }

var patterns sync.Map

func IsWebURL(text string) bool {
	_, host, _ := strings.Cut(text, "://")
	return webURLForm.MatchString(text) && !strings.HasPrefix(host, "/")
}

var webURLForm = regexp.MustCompile(`^https?://` + notBlank + `+$`)

// Decode decodes an order and refuses unknown fields, so that a mistyped fault does not silently
// never happen.
func Decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	d.UseNumber() // an amount goes through no float
	return d.Decode(into)
}

// Marshal returns the JSON of a reply: nothing is escaped for HTML.
func Marshal(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // replies are texts, numbers and lists of them
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
