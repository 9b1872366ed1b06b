package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Secrets are texts that must not appear in reports, in each of the forms in which a service may repeat them. Hiding a
// part of other text along with them does no harm here, so shorter secrets are searched for than in stored data, see
// [Redactor].
type Secrets struct {
	forms    []string // the longest first
	redactor *Redactor
}

// shortestShown is the length from which a secret is told from other text in a report.
const shortestShown = 4

// SecretsOf returns the secrets of a request's credentials: the token and, for HTTP Basic, the encoded password. The
// user alone is not a secret.
func SecretsOf(req *http.Request) Secrets {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	plain := []string{token}
	if strings.EqualFold(scheme, "Basic") {
		both, _ := base64.StdEncoding.DecodeString(token)
		_, password, _ := strings.Cut(string(both), ":")
		plain = append(plain, strings.TrimRight(token, "="), string(both), password)
	}
	s := Secrets{redactor: New(req)}
	for _, p := range plain {
		if len(p) >= shortestShown {
			s.forms = append(s.forms, spellings(p)...)
		}
	}
	slices.SortFunc(s.forms, longestFirst)
	s.forms = slices.Compact(s.forms)
	return s
}

func longestFirst(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }

// spellings are the forms in which a text may stand in another, within JSON, too.
func spellings(text string) (forms []string) {
	query, path := url.QueryEscape(text), url.PathEscape(text)
	for _, form := range []string{text, query, lowerHex(query), path, lowerHex(path), html.EscapeString(text),
		asJSON(text),
		inner(fmt.Sprintf("%+q", text))} {
		forms = append(forms, form, asJSON(form), inner(fmt.Sprintf("%q", form)), strings.ReplaceAll(form, "/", `\/`))
	}
	slices.SortFunc(forms, longestFirst)
	return slices.Compact(forms)
}

var percentEncoded = regexp.MustCompile("%[0-9A-F]{2}")

// lowerHex is a percent-encoded text with its digits in lower case, as some languages have them.
func lowerHex(text string) string { return percentEncoded.ReplaceAllStringFunc(text, strings.ToLower) }

// inner is a quoted text without its quotes.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// asJSON is a text as JSON spells it, without the quotes.
func asJSON(s string) string {
	b, _ := json.Marshal(s) // a text always can be
	return inner(string(b))
}

// Hide removes the secrets from a text.
func (s Secrets) Hide(text string) string {
	for _, form := range s.forms {
		text = strings.ReplaceAll(text, form, redacted)
	}
	return s.redactor.hide(text, false)
}

// shownBytes is how much of a reply is looked at for what an error shows of it.
const shownBytes = 16 << 10

// Beginning is the beginning of a reply without the secrets, also not a part of
// one that is cut where the beginning ends.
func (s Secrets) Beginning(body []byte) []byte {
	if len(body) <= shownBytes {
		return []byte(s.Hide(string(body)))
	}
	text := s.Hide(string(body[:shownBytes]))
	longest := 0
	if len(s.forms) > 0 {
		longest = len(s.forms[0])
	}
	return bytes.ToValidUTF8([]byte(text[:max(0, len(text)-longest)]), nil)
}
