package extract

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/redact"
)

// failure describes a request that did not return the requested data.
type failure struct {
	kind      error // [ReadError.Err] of the read, if the request is not repeated
	reason    string
	status    int
	requestID string
	retry     retry
	pause     time.Duration // how long the service asks to wait
	pauseText string        // the Retry-After header, unmodified
	reply     []byte        // the refused JSON
	refusal   []byte        // the body of a reply with status 400 to 499
	cause     error         // a network error
	timedOut  bool          // whether no complete reply came in time
	isCrowded bool          // whether there was no memory for the reply, see [errCrowded]
}

// hide removes the credentials from the texts of the failure, in case the service repeats them.
func (f *failure) hide(s *redact.Secrets) {
	f.reason, f.requestID, f.pauseText = s.Hide(f.reason), s.Hide(f.requestID), s.Hide(f.pauseText)
}

// unanswered returns the failure of a request without a complete reply.
func unanswered(c *Client, req *http.Request, err error, timeout time.Duration) *failure {
	f := &failure{kind: ErrUnavailable, retry: retryInBudget, cause: err}
	_, badCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case badCertificate || noTLS:
		f.retry = retryNever // the wrong host answered, or a host without TLS; a retry would not help
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
	f.reason = printable(c.keys.secretsOf(req).Hide(err.Error()), 300)
	return f
}

// failure returns the failure of a request whose reply was judged and not accepted.
func (j judgment) failure(about subject, r received) *failure {
	end := ends[j.verdict]
	f := &failure{
		kind: end.kind, retry: end.retry, status: r.status, requestID: requestID(r.header, nil), pause: j.pause,
		pauseText: quote([]byte(r.header.Get("Retry-After")), 40), reason: j.grounds(about, r),
	}
	switch isRefusal := r.status >= 400 && r.status < 500; {
	case j.names != "":
		f.retry = retryNever
	case !isRefusal && j.says != "":
		f.reply = bytes.Clone(r.body)
	}
	if !hasWholeBody(r.status) {
		f.requestID = requestID(r.header, r.body)
		if r.status >= 400 && r.status < 500 && len(r.body) > 0 {
			f.refusal = r.body
		}
		return f
	}
	return f.showing(r, j.says == "")
}

// unread returns the failure of an accepted reply whose body could not be used. The failure may be temporary if the
// body is not a JSON document, or states an error of the service.
func unread(r received, err error) *failure {
	j := judgment{verdict: outside}
	e, ok := errors.AsType[*replyError](err)
	switch {
	case ok && e.notJSON:
		j.verdict = cut
	case ok && e.isError:
		j.verdict = refused
	}
	end := ends[j.verdict]
	f := &failure{kind: end.kind, retry: end.retry, status: r.status, requestID: requestID(r.header, nil),
		reason: reason(err)}
	if ok && !e.notJSON {
		f.reply = bytes.Clone(r.body)
	}
	return f.showing(r, ok && e.notJSON)
}

// showing completes the reason of a failure: if the reply is not JSON, it appends the reply's content encoding and its
// beginning. A reply that is just null is not appended, because the reason already mentions it.
func (f *failure) showing(r received, notJSON bool) *failure {
	if encoding := r.header.Get("Content-Encoding"); notJSON && encoding != "" {
		f.reason += ", content-encoding " + quote([]byte(encoding), 40)
	}
	if notJSON && len(r.body) > 0 && string(bytes.TrimSpace(r.body)) != "null" {
		f.reason += ": the reply begins " + quote(r.body, 200)
	}
	return f
}

var requestIDText = regexp.MustCompile(`(?i)request[ _-]?id["']?\s*[:=#]?\s*["']?([A-Za-z0-9][A-Za-z0-9_.-]{3,63})`)

// requestID returns the ID by which the service's operators find the request: from a header, or from the JSON or the
// text of an error.
func requestID(h http.Header, body []byte) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "Service-Request-Id", "X-Amzn-Requestid", "Cf-Ray"} {
		if m := requestIDText.FindStringSubmatch("request id " + h.Get(name)); m != nil {
			return m[1]
		}
	}
	if m := requestIDText.FindSubmatch(body); m != nil {
		return string(m[1])
	}
	return ""
}

// quote makes a text of the service printable: on one line, escaped, and about n bytes long at most. Escaping makes
// bytes that are not UTF-8 four times as long; such a text is cut further.
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

// printable makes a text fit on a line without quotes, for example a JSON value or a sentence. It escapes characters
// that are not printable, and cuts the text after about n bytes.
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

// hideIn removes the credentials from an error that quotes values of the service.
func (k *credentials) hideIn(err error) error {
	if e, ok := errors.AsType[*UnprovenError](err); ok {
		e.Reason = k.hide(e.Reason)
	}
	if e, ok := errors.AsType[*ReadError](err); ok {
		e.Reason = k.hide(e.Reason)
	}
	return err
}
