package extract

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
)

var (
	// ErrAuth reports that the service refused the credentials (401, 403).
	ErrAuth = errors.New("credentials refused")
	// ErrUnavailable reports that the service could not be reached, or kept failing until the retry budget was used up.
	ErrUnavailable = errors.New("service unavailable")
	// ErrPage is an ErrUnavailable: until the retry budget was used up, the service answered with HTML pages for
	// people.
	ErrPage = fmt.Errorf("pages in place of answers: %w", ErrUnavailable)
	// ErrContract reports that the service answered in a form outside its description.
	ErrContract = errors.New("outside the service's contract")
	// ErrUnreachable reports that the requested day is older than the days that the report still covers. This error is
	// an answer about the day, not a failure of the service.
	ErrUnreachable = errors.New("beyond the reach of the report")
)

// ReadError describes why one read of the service failed.
type ReadError struct {
	What      string // what was read, for example "spend 2026-03-08 page 3"
	Reason    string // the last thing that went wrong
	Status    int    // HTTP status of the last reply; 0: no reply came
	RequestID string // from the service; often empty
	Attempts  int    // requests sent for this read
	Err       error  // ErrAuth, ErrUnavailable, ErrPage, ErrContract, ErrUnreachable or ErrNotFound
	Reply     []byte // the refused JSON; nil: none
	Refusal   []byte // the body of a reply with status 400 to 499, without credentials; nil: no such reply
	Interface string // [Options.Name] of the client
	Cause     error  // a network error, if no reply came; may quote the URL, so print Reason instead

	client *Client // nil: no request was sent
}

// OthersAnswered reports whether the service has answered other requests of the client, which means that its base URL
// is right.
func (e *ReadError) OthersAnswered() bool { return e.client != nil && e.client.Answered() }

// Error describes the read and its last failure, with the ID by which the service's operators can look up the request.
func (e *ReadError) Error() string {
	var b strings.Builder
	b.WriteString(e.What + ": " + e.Reason)
	if e.RequestID != "" && !strings.Contains(e.Reason, e.RequestID) {
		fmt.Fprintf(&b, ", request id %s", e.RequestID)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, ", %d attempts", e.Attempts)
	}
	return b.String() + ": " + e.Err.Error()
}

// Unwrap returns the kind of the error.
func (e *ReadError) Unwrap() error { return e.Err }

// plainToTLS matches the answer of a TLS server to a request without TLS.
var plainToTLS = regexp.MustCompile(`(?i)\bhttp request\b.*\bhttps (server|port)\b`)

// DoubtsURL reports whether the base URL may be wrong: DNS has no such host, one side uses TLS and the other does not,
// or the path does not exist (404). Each of the three may also be temporary. Only a URL that has worked before is known
// to be right.
func (e *ReadError) DoubtsURL() bool {
	if network, ok := errors.AsType[*net.OpError](e.Cause); ok && network.Op == "proxyconnect" {
		return false // about the proxy's URL
	}
	dns, isDNS := errors.AsType[*net.DNSError](e.Cause)
	_, noTLS := errors.AsType[tls.RecordHeaderError](e.Cause)
	return isDNS && dns.IsNotFound && !dns.IsTemporary && !dns.IsTimeout || noTLS ||
		e.Status == http.StatusNotFound || e.Status == http.StatusBadRequest && plainToTLS.MatchString(e.Reason)
}

// UnprovenError reports that pages arrived but may be incomplete: rows moved while they were read, or the service paged
// wrongly. The walk may be repeated.
type UnprovenError struct {
	What   string // what the walk read, for example "spend 2026-03-08"
	Reason string // for example "total changed from 812 to 811"
	Reply  []byte // the page that shows the reason; nil: no single page shows it
}

// Error returns what the walk read, and why it is unproven.
func (e *UnprovenError) Error() string { return e.What + ": " + e.Reason }

// ReleaseReply returns the reply that an error holds, and removes the reply from the error, because errors live as long
// as the run.
func ReleaseReply(err error) (reply []byte) {
	if e, ok := errors.AsType[*ReadError](err); ok {
		reply, e.Reply = e.Reply, nil
	}
	if e, ok := errors.AsType[*UnprovenError](err); ok && reply == nil {
		reply, e.Reply = e.Reply, nil
	}
	return reply
}

// ReleaseRefusal returns the status and the body with which the service refused a read, and removes the body from the
// error as [ReleaseReply] does. The body is nil if the service did not refuse.
func ReleaseRefusal(err error) (status int, body []byte) {
	if e, ok := errors.AsType[*ReadError](err); ok {
		body, e.Refusal = e.Refusal, nil
		return e.Status, body
	}
	return 0, nil
}

// replyError describes where a reply differs from the service's description.
type replyError struct {
	reason string
	// notJSON means that the body is not a JSON document, for example a proxy's error page or a body that was cut off.
	// Such a failure may be temporary, and so may an error that the service states. A reply of the wrong shape is
	// permanent.
	notJSON bool
	isError bool // whether the reply states an error
}

func (e *replyError) Error() string { return e.reason + ": " + ErrContract.Error() }
func (e *replyError) Unwrap() error { return ErrContract }

func contractf(format string, args ...any) error {
	return &replyError{reason: fmt.Sprintf(format, args...)}
}

// reason returns the text of an error without its kind, for messages that name the kind elsewhere.
func reason(err error) string {
	return strings.TrimSuffix(err.Error(), ": "+ErrContract.Error())
}
