package extract

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// secrets are texts that must not be shown, in each of the forms in which a
// service may repeat them, the longest first.
type secrets []string

// secretsOf are what must not be shown of a request's credentials: the token and,
// for HTTP Basic, what it stands for. The user alone is no secret.
func secretsOf(req *http.Request) secrets {
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	plain := []string{token}
	if strings.EqualFold(scheme, "Basic") {
		both, _ := base64.StdEncoding.DecodeString(token)
		_, password, _ := strings.Cut(string(both), ":")
		plain = append(plain, strings.TrimRight(token, "="), string(both), password)
	}
	var s secrets
	for _, p := range plain {
		if len(p) < 4 {
			continue // too short to be told from other text
		}
		for _, form := range []string{p, url.QueryEscape(p), url.PathEscape(p), html.EscapeString(p), asJSON(p),
			inner(fmt.Sprintf("%+q", p))} {
			s = append(s, form, asJSON(form), inner(fmt.Sprintf("%q", form)))
		}
	}
	slices.SortFunc(s, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(s)
}

// inner is a quoted text without its quotes.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// asJSON is a text as JSON spells it, without the quotes.
func asJSON(s string) string {
	b, _ := json.Marshal(s) // a text always can be
	return inner(string(b))
}

// hide removes the secrets from a text.
func (s secrets) hide(text string) string {
	for _, form := range s {
		text = strings.ReplaceAll(text, form, "[redacted]")
	}
	return text
}

// shownBytes is how much of a reply is looked at for what an error shows of it.
const shownBytes = 16 << 10

// beginning is the beginning of a reply without the secrets, also not a part of
// one that is cut where the beginning ends.
func (s secrets) beginning(body []byte) []byte {
	if len(body) <= shownBytes {
		return []byte(s.hide(string(body)))
	}
	text := s.hide(string(body[:shownBytes]))
	longest := 0
	if len(s) > 0 {
		longest = len(s[0])
	}
	return bytes.ToValidUTF8([]byte(text[:max(0, len(text)-longest)]), nil)
}

// hideIn removes the credentials from an error about values that the service sent.
func (c *Client) hideIn(err error) error {
	hidden := c.keys.secrets()
	if e, ok := errors.AsType[*UnprovenError](err); ok {
		e.Reason = hidden.hide(e.Reason)
	}
	if e, ok := errors.AsType[*ReadError](err); ok {
		e.Reason = hidden.hide(e.Reason)
	}
	return err
}
