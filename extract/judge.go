package extract

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// verdict classifies a reply.
type verdict int

const (
	accepted   verdict = iota // the body may be read
	limited                   // a rate limit, or maintenance: the service asks to come back later
	failing                   // the service, or a proxy in front of it, fails
	page                      // status 200 with an HTML page for people: a login, or maintenance
	cut                       // the body is not a JSON document, and may have been cut off
	refused                   // the service refuses the question
	notThere                  // the account has nothing under the requested ID
	outOfReach                // the requested day is older than the days that the report covers
	denied                    // the credentials are refused
	outside                   // any other reply, which the service's description does not allow
)

// retry is how often a request may be sent again.
type retry int

const (
	retryNever retry = iota
	retryOnce
	retryBriefly  // [fewRetries] times
	retryInBudget // again and again, until the retry budget is used up
)

// ends maps a verdict to the way in which the read ends: the kind of its error, and how often the request is sent again
// before the read fails.
var ends = map[verdict]struct {
	kind  error
	retry retry
}{
	limited:    {ErrUnavailable, retryInBudget},
	failing:    {ErrUnavailable, retryInBudget},
	page:       {ErrPage, retryInBudget},
	cut:        {ErrContract, retryBriefly},
	refused:    {ErrContract, retryOnce},
	notThere:   {ErrNotFound, retryNever},
	outOfReach: {ErrUnreachable, retryNever},
	denied:     {ErrAuth, retryNever},
	outside:    {ErrContract, retryNever},
}

// subject is what a question is about. The meaning of some refusals depends on it.
type subject int

const (
	ofAccount subject = iota // a list, or the account itself
	ofEntity                 // one campaign or creative, or a part of it
	ofReport
)

// received is a reply, after credentials that the service may repeat were removed.
type received struct {
	status int
	header http.Header
	body   []byte
	at     time.Time
}

// judgment is the verdict on a reply, with its reasons.
type judgment struct {
	verdict
	asksToWait bool
	pause      time.Duration // the pause that the reply asks for
	says       string        // the error that the body states; empty: it states no error
	names      string        // the parameter or column that a refusal complains about; empty: it names none
}

// judge classifies a reply by its status, its headers and its body. It does not decode the rows or entities, so the
// body of an accepted reply may still be invalid.
//
// The forms of errors are those of the service's description: an object with the key "error", whose value is a text or
// an object with code and message. An entity counts as missing only if the service's own error code is not_found, with
// any status from 400 to 499. The error page of a proxy or a web framework does not count. A limit is recognized with
// any status, by a Retry-After header or by the words of the error.
func judge(about subject, asked url.Values, r received) judgment {
	stated := errorIn(r.body, r.status)
	j := judgment{says: stated.text, pause: retryAfter(r.header, r.at)}
	j.asksToWait = strings.TrimSpace(r.header.Get("Retry-After")) != ""
	switch {
	case j.asksToWait, r.status == http.StatusTooManyRequests, r.status == http.StatusServiceUnavailable:
		j.verdict = limited
	case r.status >= 500, r.status == http.StatusRequestTimeout, r.status == http.StatusTooEarly:
		j.verdict = failing
	case r.status >= 400:
		j.verdict, j.names = refusal(about, asked, r, stated)
	case !hasWholeBody(r.status):
		j.verdict = outside
	case stated.text != "" && isLimit(stated.text):
		j.verdict = limited
	case stated.text != "":
		j.verdict = refused
	case isPage(r.body):
		j.verdict = page
	case !beginsJSON(r.body): // the text of a proxy in front of the service, or an empty body
		j.verdict = failing
	}
	return j
}

// refusal judges a reply with a status from 400 to 499.
func refusal(about subject, asked url.Values, r received, stated statedError) (v verdict, names string) {
	text := cmp.Or(stated.text, string(r.body))
	switch {
	case about == ofEntity && stated.code == "not_found":
		return notThere, ""
	case about == ofReport && r.status == http.StatusBadRequest && beyondReach.MatchString(text):
		return outOfReach, ""
	case isLimit(text):
		return limited, ""
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden:
		return denied, ""
	}
	return refused, named(asked, text)
}

// hasWholeBody reports whether a reply with this status has the complete answer. Status 202 means that the answer is
// not ready yet, 204 and 205 have no body, and 206 has only a part.
func hasWholeBody(status int) bool {
	return status == http.StatusOK || status == http.StatusCreated || status == http.StatusNonAuthoritativeInfo
}

// beyondReach matches the refusal "start_date cannot be more than 32 days before today". It also matches 28 to 31 days,
// in case the service shortens the range.
var beyondReach = regexp.MustCompile(`(?i)start_date cannot be more than (2[89]|3[0-2]) days before today`)

// limitWords matches temporary refusals: a rate limit, or maintenance.
var limitWords = regexp.MustCompile(`(?i)too[ _-]?many[ _-]?(requests|calls|queries|connections|concurrent)|` +
	`rate[ _-]?limit|throttl|quota|slow[ _-]?down|overload|maintenance|` +
	`\b(requests?|calls?|quer(y|ies)|usage|account|api|user|rate)[ _-]?limit|` +
	`\blimit (has been |was |is )?(reached|exceeded|hit)|` +
	`\b(try|retry)[ _-]?(it |this )?(again )?(later|in an? |in \d|after|shortly)|temporar(y|il)|` +
	`(service|currently|temporarily) unavailable|\bbusy\b|time[d]?[ _-]?out`)

// sizeWords matches errors about the size of a page. These errors are permanent.
var sizeWords = regexp.MustCompile(`(?i)page[ _-]?size|per[ _-]?page|too (large|many rows)`)

// isLimit reports whether a text of the service is about a temporary limit.
func isLimit(text string) bool { return limitWords.MatchString(text) && !sizeWords.MatchString(text) }

// named returns the requested parameter or column that the error text of a refusal mentions, or "" if the text mentions
// none. The column date never counts, because errors about a range of days mention it. HTML does not come from the
// service itself, so words in HTML do not count either.
func named(asked url.Values, text string) string {
	if isPage([]byte(text)) {
		return ""
	}
	if sizeWords.MatchString(text) {
		return "page_size"
	}
	for _, column := range strings.Split(asked.Get("columns"), ",") {
		word := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(column) + `\b`)
		if column != "" && column != "date" && word.MatchString(text) {
			return column
		}
	}
	return ""
}

// isPage reports whether a body begins like HTML.
func isPage(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) }

// beginsJSON reports whether a body begins like JSON.
func beginsJSON(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) > 0 && bytes.IndexByte([]byte(`{["-0123456789ntf`), body[0]) >= 0
}

// statedError is the error code and message in the body of a reply.
type statedError struct {
	code string // the error's code, in the form of the service's description; empty: the error has no such code
	text string // the message, or else the entire error; empty: the body states no error
}

// maxErrorReply is the length in bytes above which a body with a status below 400 cannot be just an error.
const maxErrorReply = 4 << 10

// errorKeys are the keys that a body may have if it is just an error.
var errorKeys = strings.Fields("code message error errors status status_code success ok detail details request_id " +
	"trace_id timestamp path type data")

// errorIn returns the error that a body states: under error or errors, or as an object that has only code and message.
// If the status is 400 or higher, a message alone is an error, too.
func errorIn(body []byte, status int) (e statedError) {
	if status < 400 && len(body) > maxErrorReply {
		return e
	}
	fields, ok := Value(bytes.TrimSpace(body)).Object()
	if status < 400 && !ok { // the body of an error may be cut off: the members before the cut are enough
		return e
	}
	for _, key := range []string{"error", "errors"} {
		v := fields[key]
		if !statesError(v) {
			continue
		}
		inner, isObject := v.Object()
		if !isObject {
			text, isText := v.Text()
			if !isText {
				text = string(v)
			}
			return statedError{text: text}
		}
		e.code, _ = inner["code"].Text()
		e.text = cmp.Or(textOf(inner, "message", "details"), e.code, string(v))
		return e
	}
	isOther := func(key string) bool { return !slices.Contains(errorKeys, key) }
	for key := range fields {
		if status < 400 && (fields["code"].Null() || isOther(key)) {
			return e
		}
	}
	e.text = textOf(fields, "error_description", "message", "detail")
	return e
}

// statesError reports whether v, the value of a member named error, states an error. Null, false, 0 and empty values
// state none.
func statesError(v Value) bool {
	none := []string{"false", "0", `""`, "{}", "[]"}
	return !v.Null() && !slices.Contains(none, string(bytes.Join(bytes.Fields(v), nil)))
}

// textOf returns the first text that is not empty among the members with the given keys; "": there is none.
func textOf(fields map[string]Value, keys ...string) string {
	for _, key := range keys {
		if text, _ := fields[key].Text(); text != "" {
			return text
		}
	}
	return ""
}

// grounds describes a judgment for people: the status of a refusal, the service's words and, if there is one, the line
// of the service file that helps.
func (j judgment) grounds(about subject, r received) string {
	var b strings.Builder
	if !hasWholeBody(r.status) {
		fmt.Fprintf(&b, "status %d", r.status)
		text := cmp.Or(j.says, string(bytes.TrimSpace(r.body)))
		if text != "" {
			b.WriteString(": " + quote([]byte(text), 300))
		}
	} else if j.says != "" {
		b.WriteString("the reply is an error; the reply says " + quote([]byte(j.says), 300))
	} else if len(bytes.TrimSpace(r.body)) == 0 {
		b.WriteString("the reply is empty")
	} else {
		b.WriteString("the reply is not JSON")
	}
	switch {
	case j.verdict == outside && r.status >= 300:
		b.Reset()
		fmt.Fprintf(&b, "status %d: redirects are not followed; this one leads to %s", r.status, redirectHost(r.header))
	case j.names == "page_size":
		b.WriteString("; SPENDSYNC_PAGE_SIZE asks for smaller pages")
	case j.names != "":
		fmt.Fprintf(&b, "; the line report.columns of SPENDSYNC_SERVICE_FILE can leave %s out", j.names)
	case about == ofReport && j.verdict == refused && r.status == http.StatusBadRequest:
		b.WriteString("; if the report lacks a column, the line report.columns of SPENDSYNC_SERVICE_FILE names those " +
			"that are asked for")
	}
	return b.String()
}

// redirectHost returns the target host of a redirect, without the parts of the URL that may be secret.
func redirectHost(h http.Header) string {
	u, err := url.Parse(h.Get("Location"))
	if err != nil || u.Host == "" {
		return "no other host"
	}
	return "host " + quote([]byte(u.Host), 100) + " over " + quote([]byte(u.Scheme), 20)
}
