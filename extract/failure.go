package extract

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/redact"
	"spendsync/extract/service"
)

// failure is one request that did not return the requested data.
type failure struct {
	kind      error // what the read ends with when it is not tried again
	reason    string
	status    int
	requestID string
	retry     retry
	pause     time.Duration // how long the service asks to wait
	pauseText string        // the unmodified body
	reply     []byte        // the JSON that was refused
	refusal   []byte        // the body of a status that refuses
	notThere  bool          // the service's own error states that there is no such entity
	cause     error         // of the network
	timedOut  bool          // no complete reply came in time
}

// hide removes the credentials from what the failure shows, in case the service
// repeats them.
func (f *failure) hide(s redact.Secrets) {
	f.reason, f.requestID, f.pauseText = s.Hide(f.reason), s.Hide(f.requestID), s.Hide(f.pauseText)
}

// pass makes the failure one of the service, which is waited for.
func (f *failure) pass() { f.kind, f.retry = ErrUnavailable, retryInBudget }

// retry reports whether a failed request may be sent again.
type retry int

const (
	retryNever    retry = iota
	retryBriefly        // a reply that is no valid JSON may have been cut
	retryInBudget       // the service or the network fails
)

// limitWords are the words of a service that refuses for now: a limit of requests, or a rest. It is known by them at
// any status, for services answer 400, 403 and even 200 when they limit.
var limitWords = regexp.MustCompile(`(?i)too[ _-]?many[ _-]?(requests|calls|queries|connections|concurrent)|` +
	`rate[ _-]?limit|throttl|quota|slow[ _-]?down|overload|maintenance|` +
	`\b(requests?|calls?|quer(y|ies)|usage|account|api|user|rate)[ _-]?limit|` +
	`\blimit (has been |was |is )?(reached|exceeded|hit)|` +
	`\b(try|retry)[ _-]?(it |this )?(again )?(later|in an? |in \d|after|shortly)|temporar(y|il)|` +
	`(service|currently|temporarily) unavailable|\bbusy\b|time[d]?[ _-]?out`)

// sizeWords are those of an error about the size of a page, which no waiting mends.
var sizeWords = regexp.MustCompile(`(?i)page[ _-]?size|per[ _-]?page|too (large|many rows)`)

// isLimit reports whether a text of the service is about a limit that passes.
func isLimit(text []byte) bool { return limitWords.Match(text) && !sizeWords.Match(text) }

// transportFailure is a request without a whole reply.
func (c *Client) transportFailure(req *http.Request, err error, timeout time.Duration) *failure {
	f := &failure{kind: ErrUnavailable, retry: retryInBudget, cause: err}
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case badCertificate || noTLS:
		f.retry = retryNever // the answering host is not the service; asking again does not change that
	case errors.Is(err, context.DeadlineExceeded):
		f.timedOut = true
		err = fmt.Errorf("no complete reply within %v", timeout.Round(min(time.Second, max(timeout/100, 1))))
		if c.setting != "" {
			err = fmt.Errorf("%w; if the service is that slow, raise %s (%v)", err, c.setting,
				time.Duration(c.timeout.Load()))
		}
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the reply was cut off")
	case errors.Is(err, io.EOF):
		err = errors.New("the connection was closed before the reply")
	}
	f.reason = printable(redact.SecretsOf(req).Hide(err.Error()), 300)
	return f
}

// statusFailure is a reply with another status than 200.
func (c *Client) statusFailure(req *http.Request, resp *http.Response) *failure {
	// An error while reading does not matter: the status is enough.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	c.bytes.Add(int64(len(body)))
	code, hidden := resp.StatusCode, redact.SecretsOf(req)
	// Before anything is cut out of it.
	body = []byte(hidden.Hide(string(body)))
	f := &failure{kind: ErrContract, status: code, requestID: requestID(hidden, resp.Header, body)}
	f.notThere = (code == http.StatusNotFound || code == http.StatusGone) && statesNotFound(body)
	if code >= 400 && code < 500 && len(body) > 0 {
		f.refusal = body
	}
	f.reason = fmt.Sprintf("status %d", code)
	if text := errorText(body); text != "" {
		f.reason += ": " + quote([]byte(hidden.Hide(text)), 300)
	}
	asksToWait := f.wait(hidden, resp.Header)
	switch {
	case asksToWait, code == http.StatusRequestTimeout, code == http.StatusTooEarly,
		code == http.StatusTooManyRequests, code >= 500, code >= 400 && !f.notThere && isLimit(body):
		f.pass()
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		f.kind = ErrAuth
	case code == http.StatusBadRequest && beyondReach.Match(body) &&
		strings.HasSuffix(req.URL.Path, "/"+c.service.Path("report", "")):
		f.kind = ErrUnreachable
	case code >= 300 && code < 400:
		f.reason = fmt.Sprintf("status %d: redirects are not followed; this one leads to %s", code,
			redirectHost(hidden, resp))
	}
	return f
}

// wait notes the wait that the reply asks for, and reports whether it asks for one.
func (f *failure) wait(hidden redact.Secrets, h http.Header) bool {
	text := h.Get("Retry-After")
	f.pauseText, f.pause = quote([]byte(hidden.Hide(text)), 40), retryAfter(h, time.Now())
	return strings.TrimSpace(text) != ""
}

// beyondReach knows the 400 "start_date cannot be more than 32 days before
// today", in other words and from a service that reaches a few days less far, too.
var beyondReach = regexp.MustCompile(`(?i)\b(2[89]|3[0-2])[ -]days?\b`)

// redirectHost names where a redirect leads, and nothing of the URL that could
// be secret.
func redirectHost(hidden redact.Secrets, resp *http.Response) string {
	u, err := resp.Location()
	if err != nil {
		return "nowhere"
	}
	return "host " + quote([]byte(hidden.Hide(u.Host)), 100) + " over " + quote([]byte(u.Scheme), 20)
}

// replyFailure is a reply with status 200 that was refused.
func (c *Client) replyFailure(req *http.Request, resp *http.Response, body []byte, accept func([]byte) error,
	err error) *failure {
	hidden := redact.SecretsOf(req)
	if clean := hidden.Hide(string(body)); clean != string(body) {
		// The error quotes the reply, and may have cut it within a secret.
		body = []byte(clean)
		if err = accept(body); err == nil {
			err = contractf("the reply repeats the credentials")
		}
	}
	f := &failure{
		kind: ErrContract, status: resp.StatusCode, requestID: requestID(hidden, resp.Header, nil),
		reason: reason(err),
	}
	e, ok := errors.AsType[*replyError](err)
	said := statedError(body)
	switch {
	case f.wait(hidden, resp.Header), !beginsJSON(body), isLimit([]byte(said)), statesLimit(body):
		f.pass() // a limit with a good status, or the page of something before the service
	case ok && (e.notJSON || e.isError || said != ""):
		f.retry = retryBriefly // cut, or an error with a good status
	}
	switch {
	case ok && !e.notJSON:
		f.reply = bytes.Clone(body)
		if said != "" && !e.isError {
			f.reason += "; the reply says " + quote([]byte(hidden.Hide(said)), 300)
		}
	case ok:
		if encoding := resp.Header.Get("Content-Encoding"); encoding != "" {
			f.reason += ", content-encoding " + quote([]byte(hidden.Hide(encoding)), 40)
		}
		if len(body) > 0 {
			f.reason += ": the reply begins " + quote(hidden.Beginning(body), 200)
		}
	}
	return f
}

// beginsJSON reports whether a reply begins as JSON does, so that it is the service's.
func beginsJSON(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) > 0 && bytes.IndexByte([]byte(`{["-0123456789ntf`), body[0]) >= 0
}

// maxLimitReply is the longest reply with a good status that may be nothing but an error about a limit.
const maxLimitReply = 4 << 10

// errorKeys are the keys of an error, and emptyKeys those that have nothing beside one.
var (
	errorKeys = strings.Fields("error errors error_code error_description code message msg status status_code " +
		"success ok detail details request_id trace_id timestamp path type title instance retry_after")
	emptyKeys = strings.Fields("data result results")
)

// statesLimit reports whether a reply is an error about a limit, and nothing else.
func statesLimit(body []byte) bool {
	if len(body) > maxLimitReply {
		return false
	}
	d := newDecoder(body)
	if d.PeekKind() != '{' {
		return false
	}
	err := d.object(func(name []byte) error {
		key := service.SnakeCase(string(name))
		v, err := d.ReadValue()
		if err == nil && !slices.Contains(errorKeys, key) && !(slices.Contains(emptyKeys, key) && isEmpty(Value(v))) {
			return errNoError
		}
		return err
	})
	return err == nil && isLimit(body)
}

// isEmpty reports whether a value is null or an object or array without members.
func isEmpty(v Value) bool {
	return v.Null() || (v[0] == '{' || v[0] == '[') && len(bytes.TrimSpace(v[1:len(v)-1])) == 0
}

var errNoError = errors.New("no error")

// errorText returns the service's text of an error: the message in a JSON body, otherwise the body. It may have any
// form; the status alone decides.
func errorText(body []byte) string {
	return cmp.Or(statedError(body), string(bytes.TrimSpace(body)))
}

// statedError is the error that a JSON body states; empty: it states none.
func statedError(body []byte) string {
	for _, path := range [][]string{
		{"error", "message"}, {"error", "details"}, {"error", "code"}, {"error"}, {"error_description"}, {"message"},
		{"detail"},
	} {
		if text := lookUp(body, path...); text != "" {
			return text
		}
	}
	return ""
}

// statesNotFound reports whether the body of a 404 or 410 is an error in the service's own form, about the
// resource. The page of a proxy and an error with another code, such as that of an unknown route, are not.
func statesNotFound(body []byte) bool {
	switch lookUp(body, "error", "code") {
	case "not_found", "gone":
		return true
	case "":
		return lookUp(body, "error") != "" || lookUp(body, "error", "message") != ""
	}
	return false
}

var requestIDText = regexp.MustCompile(`(?i)request[ _-]?id["']?\s*[:=#]?\s*["']?([A-Za-z0-9][A-Za-z0-9_.-]{3,63})`)

// requestID is the id under which the service's people find the request: from a
// header, from the JSON of an error, or from its text.
func requestID(hidden redact.Secrets, h http.Header, body []byte) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "Service-Request-Id", "X-Amzn-Requestid", "Cf-Ray"} {
		if m := requestIDText.FindStringSubmatch("request id " + hidden.Hide(h.Get(name))); m != nil {
			return m[1]
		}
	}
	if m := requestIDText.FindSubmatch(body); m != nil {
		return string(m[1])
	}
	return ""
}

// lookUp is the text under a path of keys in a JSON object, or nothing.
func lookUp(body []byte, path ...string) string {
	v := Value(bytes.TrimSpace(body))
	for _, key := range path {
		members, _ := v.Object() // also those of a body that is cut behind them
		v = members[key]
	}
	text, _ := v.Text()
	return text
}

// quote makes a text of the service printable: on one line, escaped, and no longer than about n bytes. Escaping makes
// bytes that are not UTF-8 four times as long, and a few of them are enough.
func quote(b []byte, n int) string {
	cut := b[:min(len(b), n)]
	text := fmt.Sprintf("%q", cut)
	for len(text) > n+n/2+2 {
		cut = cut[:len(cut)/2]
		text = fmt.Sprintf("%q", cut)
	}
	if len(cut) < len(b) {
		text += "..."
	}
	return text
}

// printable makes a text that needs no quotes, such as a JSON value or a
// sentence, fit on a line: escaped where it does not print, and no longer than
// about n bytes.
func printable[B []byte | Value | string](text B, n int) string {
	var b strings.Builder
	for _, r := range string(text[:min(n, len(text))]) {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	if len(text) > n {
		b.WriteString("...")
	}
	return b.String()
}

// hideIn removes the credentials from an error about values that the service sent.
func (c *Client) hideIn(err error) error {
	hidden := c.keys.secrets()
	if e, ok := errors.AsType[*UnprovenError](err); ok {
		e.Reason = hidden.Hide(e.Reason)
	}
	if e, ok := errors.AsType[*ReadError](err); ok {
		e.Reason = hidden.Hide(e.Reason)
	}
	return err
}
