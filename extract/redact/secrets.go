package redact

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// redacted replaces a secret.
const redacted = "[redacted]"

// Secrets are credentials, in each of the forms in which a service may repeat them: plain, escaped, percent-encoded and
// in base64, alone or within a longer text. A secret that is cut, reversed or encrypted is not found.
type Secrets struct {
	headers []string       // the Authorization headers
	stored  *regexp.Regexp // matches secrets in a reply that is stored
	shown   *regexp.Regexp // matches secrets in a text that people read, such as a message
	// parts make the search fast. A text is searched for secrets only if, after its escapes are decoded, it contains
	// one of these parts. Every match in a reply that is stored contains one.
	parts [][]byte
}

// Secrets of fewer bytes are not replaced. minStored applies to a stored reply, which must not be altered without need.
// minShown applies to a text for people, in which part of an unrelated word may be replaced.
const minStored, minShown = 6, 4

// Of returns the secrets in Authorization headers: the token and, for HTTP Basic, the password, alone and together with
// the user name, which is not a secret by itself.
func Of(headers ...string) *Secrets {
	s := &Secrets{headers: headers}
	var stored, shown, inBase64 []string
	for _, header := range headers {
		scheme, token, _ := strings.Cut(header, " ")
		stored, shown, inBase64 = append(stored, token), append(shown, token), append(inBase64, token)
		if !strings.EqualFold(scheme, "Basic") {
			continue
		}
		both, _ := base64.StdEncoding.DecodeString(token)
		_, password, _ := strings.Cut(string(both), ":")
		stored = append(stored, strings.TrimRight(token, "="), urlBase64.Replace(token), string(both))
		shown, inBase64 = append(shown, password), append(inBase64, password)
		switch {
		case len(password) < minStored:
			inBase64[len(inBase64)-1] = string(both)
		case !maybeData(password):
			stored = append(stored, password)
		}
	}
	stored = slices.DeleteFunc(stored, func(secret string) bool { return len(secret) < minStored })
	shown = slices.DeleteFunc(slices.Concat(stored, shown), func(secret string) bool { return len(secret) < minShown })
	var coded []string
	for _, secret := range inBase64 {
		coded = append(coded, alignments(secret)...)
	}
	s.stored, s.shown = anyOf(stored, coded), anyOf(shown, coded)
	for _, secret := range stored {
		s.addParts(unaltered(secret)...)
	}
	s.addParts(coded...)
	return s
}

// IsOf reports whether [Of] made the secrets from the same headers.
func (s *Secrets) IsOf(headers ...string) bool { return s != nil && slices.Equal(s.headers, headers) }

// addParts adds the last 16 bytes of each text to the parts. The beginnings are useless for the search, because all
// keys may begin alike.
func (s *Secrets) addParts(texts ...string) {
	const longest = 16
	for _, text := range texts {
		s.parts = append(s.parts, []byte(text[max(0, len(text)-longest):]))
	}
}

// letters matches a secret that consists of letters only. Such a secret is replaced only as a word of its own, because
// it may be part of an ordinary word.
var letters = regexp.MustCompile(`^[A-Za-z]+$`)

// anyOf returns an expression that matches every spelling of the given secrets, the longest first. It also matches
// base64 text that contains one of the given base64 fragments.
func anyOf(secrets, coded []string) *regexp.Regexp {
	var forms []string
	for _, secret := range secrets {
		forms = append(forms, spellings(secret)...)
	}
	slices.SortFunc(forms, longestFirst)
	forms = slices.Compact(forms)
	for i, form := range forms {
		forms[i] = regexp.QuoteMeta(form)
		if letters.MatchString(form) {
			forms[i] = `\b` + form + `\b`
		}
	}
	for _, part := range coded {
		forms = append(forms, `[A-Za-z0-9+/=_-]*`+regexp.QuoteMeta(part)+`[A-Za-z0-9+/=_-]*`)
	}
	if len(forms) == 0 {
		return regexp.MustCompile(`[^\s\S]`) // nothing
	}
	return regexp.MustCompile(strings.Join(forms, "|"))
}

func longestFirst(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }

// spellings returns the forms that a text may have within another text, for example within JSON.
func spellings(text string) (forms []string) {
	query, path := url.QueryEscape(text), url.PathEscape(text)
	for _, form := range []string{text, query, lowerHex(query), path, lowerHex(path), html.EscapeString(text),
		asJSON(text),
		inner(fmt.Sprintf("%+q", text))} {
		forms = append(forms, form, asJSON(form), inner(fmt.Sprintf("%q", form)), strings.ReplaceAll(form, "/", `\/`))
	}
	return forms
}

var percentEncoded = regexp.MustCompile("%[0-9A-Fa-f]{2}")

// lowerHex makes the digits of percent-encoded bytes lower case, as some languages write them.
func lowerHex(text string) string { return percentEncoded.ReplaceAllStringFunc(text, strings.ToLower) }

// percentDecoded decodes the percent-encoded bytes of a text.
func percentDecoded(text string) string {
	return percentEncoded.ReplaceAllStringFunc(text, func(code string) string {
		b, _ := strconv.ParseUint(code[1:], 16, 8)
		return string([]byte{byte(b)})
	})
}

// inner returns a quoted text without its quotes.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// asJSON returns a text in its JSON spelling, without the quotes.
func asJSON(s string) string {
	b, _ := json.Marshal(s) // a text always can be marshaled
	return inner(string(b))
}

// unaltered returns the longest part of a secret that no encoding for URLs, HTML or JSON alters. If that part is short,
// it returns all spellings of the secret instead.
func unaltered(secret string) (parts []string) {
	longest := slices.MaxFunc(plainRun.FindAllString(secret+" x", -1), func(a, b string) int { return len(a) - len(b) })
	if len(longest) < minStored {
		return spellings(secret)
	}
	return []string{longest}
}

var plainRun = regexp.MustCompile(`[A-Za-z0-9_.~-]+`)

var (
	numberLike = regexp.MustCompile(`^[0-9.,:+\- ]+$`)
	idLike     = regexp.MustCompile(`^[CS][0-9]+(-[0-9]+)?$`)
)

// maybeData reports whether a password may also occur as data: a number or a day, an ID, or a word of the service's
// API. IDs must not be altered, so such a password is removed from a stored reply only together with the user name, or
// encoded. This is the limit of the package's promise.
func maybeData(password string) bool {
	return numberLike.MatchString(password) || idLike.MatchString(password) ||
		slices.Contains(strings.Fields(interfaceWords), strings.ToLower(strings.ReplaceAll(password, "_", "")))
}

// interfaceWords are the keys and the values of the service's API that are as long as a secret, in lower case without
// underscores.
//
//go:embed words.txt
var interfaceWords string

var urlBase64 = strings.NewReplacer("+", "-", "/", "_", "=", "")

// alignments returns the parts of a secret's base64 that do not depend on the bytes around it, in both alphabets: one
// for each offset within a group of three bytes.
func alignments(secret string) (parts []string) {
	const shortest = 7
	for before := range 3 {
		code := base64.RawStdEncoding.EncodeToString([]byte("\x00\x00\x00"[:before] + secret))
		first, last := (8*before+5)/6, 8*(before+len(secret))/6
		if part := code[min(first, last):last]; len(part) >= shortest {
			parts = append(parts, part, urlBase64.Replace(part))
		}
	}
	slices.Sort(parts)
	return slices.Compact(parts)
}

// Reply returns a reply without the credentials, and reports whether it contained any. It replaces only texts and keys
// of the JSON, never numbers. A reply without credentials is returned unmodified.
func (s *Secrets) Reply(body []byte) (clean []byte, found bool) {
	isNear := s.in(body)
	if !isNear && bytes.IndexByte(body, '\\') < 0 {
		return body, false
	}
	done, marks := 0, map[string]int{}
	var plain []byte
	for begin, end := nextText(body, 0, isNear); begin < len(body); begin, end = nextText(body, end, isNear) {
		plain, _ = jsontext.AppendUnquote(plain[:0], body[begin:end]) // with U+FFFD for invalid text
		if !s.in(plain) && !(isNear && bytes.ContainsAny(plain, "%&")) {
			continue
		}
		isKey := bytes.HasPrefix(bytes.TrimLeft(body[end:], " \t\r\n"), []byte{':'})
		without := hide(s.stored, string(plain), func(secret string) string {
			if !isKey {
				return redacted
			}
			if marks[secret] == 0 { // different secrets get different marks, so that an object's keys stay different
				marks[secret] = len(marks) + 1
			}
			return fmt.Sprintf("[redacted %d]", marks[secret])
		})
		if without != string(plain) {
			quoted, _ := jsontext.AppendQuote(nil, without) // the text is valid UTF-8
			clean = append(append(clean, body[done:begin]...), quoted...)
			done = end
		}
	}
	if done == 0 {
		return body, false
	}
	return append(clean, body[done:]...), true
}

// The method in reports whether a text contains one of s.parts. Only then can it contain a secret.
func (s *Secrets) in(text []byte) bool {
	return slices.ContainsFunc(s.parts, func(p []byte) bool { return bytes.Contains(text, p) })
}

// nextText returns the bounds of the next JSON string, quotes included. Strings without an escape are skipped if any ==
// false. A truncated string ends with the reply.
func nextText(body []byte, from int, any bool) (begin, end int) {
	at := bytes.IndexByte(body[from:], '"')
	if !any && at >= 0 {
		escape := max(0, bytes.IndexByte(body[from:], '\\'))
		at = bytes.LastIndexByte(body[from:from+escape], '"')
	}
	if at < 0 {
		return len(body), len(body)
	}
	begin = from + at
	for end = begin + 1; end < len(body); end++ {
		switch body[end] {
		case '\\':
			end++
		case '"':
			return begin, end + 1
		}
	}
	return begin, len(body)
}

// hide replaces each secret in a text by the result of mark(secret). If a secret appears only after percent signs and
// HTML are decoded, hide replaces the entire text.
func hide(secrets *regexp.Regexp, text string, mark func(secret string) string) string {
	text = secrets.ReplaceAllStringFunc(text, mark)
	if strings.ContainsAny(text, "%&") && secrets.MatchString(html.UnescapeString(percentDecoded(text))) {
		return mark(text)
	}
	return text
}

// Hide removes the secrets from a text for people.
func (s *Secrets) Hide(text string) string {
	return hide(s.shown, text, func(string) string { return redacted })
}

// Header returns a copy of the headers of a reply without the secrets.
func (s *Secrets) Header(h http.Header) http.Header {
	clean := make(http.Header, len(h))
	for name, values := range h {
		for _, v := range values {
			clean[name] = append(clean[name], s.Hide(v))
		}
	}
	return clean
}
