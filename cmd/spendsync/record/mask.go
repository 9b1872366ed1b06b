package record

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"spendsync/extract/service"
	"spendsync/transform"
)

// masks replaces texts. A text always gets the same replacement, in the same form. Runs of letters and of digits are
// replaced separately, so that an ID that starts with another ID still does.
type masks struct {
	secret [32]byte
	known  map[string]bool // names and words that are kept, in snake case
	weeks  int             // by which times are shifted
	to     map[string]string
	used   map[string]bool
}

// described are names and words of the service's description that service.yaml has no use for.
const described = `error code message details detail request_id status_code error_description errors ok success type
validation_failed unauthorized forbidden not_found conflict rate_limited upstream_error unavailable internal_error gone
active paused archived rejected pending_review draft block_list allow_list blocklist allowlist block allow blocked
allowed bid optimized read write readonly read_only read_write admin all male female any other android ios windows macos
mac_os linux desktop mobile prepaid postpaid auto manual delivering not_delivering limited ended scheduled true
false yes no null nan inf infinity id key name account advertiser object list string number cursor edges node meta
attributes
relationships self first last prev usd date text label value amount reason`

// sentences are the error texts of the service's description.
var sentences = []string{
	"Missing required parameters: start_date, end_date", "Invalid date format (expected YYYY-MM-DD)",
	"start_date must be <= end_date", "start_date cannot be more than 32 days before today",
	"Incorrect username or password", "User account not confirmed. Please check your email.",
	"Internal server error", "Not found",
}

// keptParts are parts of a text that decide what an error means.
var keptParts = regexp.MustCompile(`(?i)\b(?:2[89]|3[0-2])[ -]days?\b|<!doctype html>|<html\b|^https?:`)

func newMasks(s *service.Service) *masks {
	m := &masks{known: map[string]bool{}, to: map[string]string{}, used: map[string]bool{}}
	_, _ = rand.Read(m.secret[:]) // never fails
	m.weeks = 8 + int(m.random("weeks", 60))
	for _, key := range s.Keys() {
		_, name, _ := strings.Cut(key, ".")
		for _, word := range append(slices.Clip(s.Texts(key)), name) {
			isBorder := func(r rune) bool { return r == '/' || r == '{' || r == '}' }
			for part := range strings.FieldsFuncSeq(word, isBorder) {
				m.known[service.SnakeCase(part)] = true
			}
		}
	}
	for word := range strings.FieldsSeq(described) {
		m.known[word] = true
	}
	for _, word := range transform.Words() {
		m.known[strings.ToLower(word)] = true
	}
	return m
}

// random returns a number below n that a text always has.
func (m *masks) random(text string, n uint64) uint64 {
	h := hmac.New(sha256.New, m.secret[:])
	h.Write([]byte(text))
	return binary.BigEndian.Uint64(h.Sum(nil)) % n
}

// isKnown reports whether a name or a word stays.
func (m *masks) isKnown(word string) bool { return m.known[service.SnakeCase(word)] }

func (m *masks) isUnknown(word string) bool { return !m.isKnown(word) }

// unit is one character of a text, maybe written as an escape of JSON.
type unit struct {
	r       rune
	raw     string
	escaped bool // \uXXXX
}

// units splits the text between the quotes of a JSON string.
func units(raw string) (all []unit) {
	for i := 0; i < len(raw); {
		if raw[i] == '\\' && i+1 < len(raw) {
			if raw[i+1] == 'u' && i+6 <= len(raw) {
				if n, err := strconv.ParseUint(raw[i+2:i+6], 16, 32); err == nil {
					all = append(all, unit{rune(n), raw[i : i+6], true})
					i += 6
					continue
				}
			}
			all = append(all, unit{0, raw[i : i+2], false})
			i += 2
			continue
		}
		r, n := utf8.DecodeRuneInString(raw[i:])
		all = append(all, unit{r, raw[i : i+n], false})
		i += n
	}
	return all
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }
func isLetter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// text replaces the text between the quotes of a JSON string.
func (m *masks) text(raw string) string {
	all := units(raw)
	var plain strings.Builder
	for _, u := range all {
		if u.raw == `\/` {
			u.r = '/'
		}
		plain.WriteRune(u.r)
	}
	whole := plain.String()
	for _, s := range sentences {
		if whole == s {
			return raw
		}
	}
	isBorder := func(r rune) bool { return r == ',' || r == ' ' }
	if parts := strings.FieldsFunc(whole, isBorder); len(parts) > 0 && !slices.ContainsFunc(parts, m.isUnknown) {
		return raw
	}
	if moved, ok := m.time(whole); ok && moved != "" && len(all) == len(raw) {
		return moved
	}
	kept, hex := make([]bool, len(all)), hexIn(all)
	if len(all) == len([]rune(whole)) {
		m.keepParts(whole, kept)
	}
	var out strings.Builder
	for i := 0; i < len(all); {
		j := i
		class := classOf(all[i].r)
		for j < len(all) && classOf(all[j].r) == class && kept[j] == kept[i] {
			j++
		}
		run := make([]rune, 0, j-i)
		for _, u := range all[i:j] {
			run = append(run, u.r)
		}
		isPrefix := class == 'a' && len(run) == 1 && j < len(all) && classOf(all[j].r) == '0' && !hex[i] // C0000012
		switch {
		case kept[i] || isPrefix || class == 0:
			write(&out, all[i:j], nil)
		case class == 'x':
			write(&out, all[i:j], foreign(all[i:j]))
		case class == '0':
			write(&out, all[i:j], []rune(m.digits(string(run))))
		default:
			write(&out, all[i:j], []rune(m.letters(string(run), hex[i])))
		}
		i = j
	}
	return out.String()
}

// keepParts marks the parts of a sentence that decide its meaning: known names, and how far back the report reaches.
func (m *masks) keepParts(whole string, kept []bool) {
	mark := func(at []int) {
		from, to := utf8.RuneCountInString(whole[:at[0]]), utf8.RuneCountInString(whole[:at[1]])
		for i := from; i < to; i++ {
			kept[i] = true
		}
	}
	for _, at := range keptParts.FindAllStringIndex(whole, -1) {
		mark(at)
	}
	if strings.ContainsAny(whole, " ?&=") {
		for _, at := range names.FindAllStringIndex(whole, -1) {
			if word := whole[at[0]:at[1]]; len(word) > 3 && m.isKnown(word) {
				mark(at)
			}
		}
	}
}

var names = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*`)

// classOf returns the class of a character that is replaced (a letter, a digit, or a character of another script), or
// 0 for a character that is kept.
func classOf(r rune) byte {
	switch {
	case isLetter(r):
		return 'a'
	case isDigit(r):
		return '0'
	case r >= 0xa0 && r != utf8.RuneError:
		return 'x'
	}
	return 0
}

// write writes units, with other characters if there are some.
func write(out *strings.Builder, all []unit, with []rune) {
	for i, u := range all {
		switch {
		case with == nil:
			out.WriteString(u.raw)
		case u.escaped:
			fmt.Fprintf(out, `\u%04x`, with[i])
		default:
			out.WriteRune(with[i])
		}
	}
}

// foreign replaces characters of other scripts by ones of the same length.
func foreign(all []unit) []rune {
	out := make([]rune, len(all))
	for i, u := range all {
		switch {
		case u.escaped && u.r >= 0xd800 && u.r < 0xdc00:
			out[i] = 0xd83d
		case u.escaped && u.r >= 0xdc00 && u.r < 0xe000:
			out[i] = 0xde00
		case u.r < 0x800:
			out[i] = 'é'
		case u.r < 0x10000:
			out[i] = '漢'
		default:
			out[i] = '😀'
		}
	}
	return out
}

// digits replaces the digits between the leading and the trailing zeros. The first and the last of them never become
// zero.
func (m *masks) digits(run string) string {
	core := strings.Trim(run, "0")
	if core == "" || run == "1" {
		return run
	}
	at := strings.Index(run, core)
	return run[:at] + m.other("0"+core, func(n int) string { return m.number(core, n) }) + run[at+len(core):]
}

// number returns the n-th choice of digits of the length of others.
func (m *masks) number(like string, n int) string {
	out := []byte(like)
	for i := range out {
		lowest := uint64(0)
		if i == 0 || i == len(out)-1 {
			lowest = 1
		}
		out[i] = byte('0' + lowest + m.random(fmt.Sprint(like, n, i), 10-lowest))
	}
	return string(out)
}

// hexForm matches hexadecimal words, except a letter followed by a number.
var hexForm = regexp.MustCompile(`^(?:[0-9]+[a-f]|[a-f]+[0-9]+[a-f])[0-9a-f]*$`)

// hexIn marks the characters of longer words that are hexadecimal.
func hexIn(all []unit) []bool {
	marks := make([]bool, len(all))
	for i := 0; i < len(all); i++ {
		j := i
		for word := ""; j < len(all) && (isLetter(all[j].r) || isDigit(all[j].r)); j++ {
			if word += string(all[j].r); len(word) >= 8 && hexForm.MatchString(word) {
				for k := i; k <= j; k++ {
					marks[k] = true
				}
			} else if len(word) >= 8 {
				for k := i; k <= j; k++ {
					marks[k] = false
				}
			}
		}
		i = j
	}
	return marks
}

// letters replaces letters by others, capitals by capitals, and those of a hexadecimal number by such.
func (m *masks) letters(run string, isHex bool) string {
	class, choices := "a", uint64(26)
	if isHex {
		class, choices = "h", 6
	}
	return m.other(class+run, func(n int) string {
		out := []byte(run)
		for i := range out {
			first := byte('a')
			if out[i] < 'a' {
				first = 'A'
			}
			out[i] = first + byte(m.random(fmt.Sprint(run, n, i), choices))
		}
		return string(out)
	})
}

// tries is the number of candidates that are tried before two runs share a replacement.
const tries = 200

// other returns the replacement of a run, which is the same everywhere: the first candidate that does not replace
// another run.
func (m *masks) other(run string, choice func(n int) string) string {
	if to, ok := m.to[run]; ok {
		return to
	}
	to := choice(0)
	for n := 1; n < tries && (m.used[run[:1]+to] || to == run[1:] || m.known[strings.ToLower(to)]); n++ {
		to = choice(n)
	}
	m.to[run], m.used[run[:1]+to] = to, true
	return to
}

var (
	timeForm = regexp.MustCompile(`^[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}(?:$|[T ])`)
	mailForm = regexp.MustCompile(`^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} `)
)

// time shifts a time by a number of weeks, and keeps its format and its time of day.
func (m *masks) time(text string) (string, bool) {
	by := time.Duration(-m.weeks) * 7 * 24 * time.Hour
	switch {
	case timeForm.MatchString(text):
		day, err := time.Parse(time.DateOnly, strings.ReplaceAll(text[:10], "/", "-"))
		if err != nil || day.Year() < 2000 {
			return text, err == nil // such as 0000-00-00
		}
		return strings.ReplaceAll(day.Add(by).Format(time.DateOnly), "-", text[4:5]) + text[10:], true
	case mailForm.MatchString(text):
		const form = "Mon, 02 Jan 2006"
		day, err := time.Parse(form, text[:len(form)])
		if err != nil {
			return "", false
		}
		return day.Add(by).Format(form) + text[len(form):], true
	}
	return "", false
}
