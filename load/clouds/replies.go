package clouds

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"google.golang.org/api/googleapi"

	"spendsync/extract/outbound"
)

// transport is a transport to the given hosts alone; none: to any that the operator's variables name.
func (c *Clouds) transport(maxBody int64, hosts ...*url.URL) storageReplies {
	return storageReplies{outbound.New(outbound.Options{RequireTLS: !c.options.AllowHTTP, TLS: c.options.TLS,
		MaxBody: maxBody, Hosts: hosts})}
}

// storageReplies is a transport to an object storage, or to what issues tokens for it, that gives replies their
// meaning before the libraries do: to gcsblob 403 means that an object is not there, to azureblob an unknown host does.
type storageReplies struct{ http.RoundTripper }

// RoundTrip sends a request. It follows no redirect.
func (t storageReplies) RoundTrip(r *http.Request) (*http.Response, error) {
	reply, err := t.RoundTripper.RoundTrip(r)
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		return nil, fmt.Errorf("DNS has no address of %s (timeout: %t)", unknown.Name, unknown.IsTimeout)
	}
	switch {
	case errors.Is(err, outbound.ErrRefused):
		return nil, Refusal{ErrElsewhere, err.Error(), 0}
	case err != nil:
		return nil, err
	case reply.StatusCode == http.StatusForbidden:
		body, _ := io.ReadAll(io.LimitReader(reply.Body, maxRefusal))
		says := textOf(body)
		if code := reply.Header.Get("X-Ms-Error-Code"); code != "" {
			says = code
		}
		_ = reply.Body.Close()
		return nil, Refusal{ErrDenied, fmt.Sprintf("%s %s%s: 403: %s", r.Method, r.URL.Host, r.URL.Path, says),
			reply.StatusCode}
	case reply.StatusCode >= 300 && reply.StatusCode < 400 && reply.Header.Get("Location") != "":
		_ = reply.Body.Close()
		to, err := reply.Location()
		if err != nil {
			to = &url.URL{}
		}
		return nil, Refusal{ErrElsewhere, fmt.Sprintf("%s redirects to %s://%s, which is not followed; if that "+
			"address is right, configure it", r.URL.Host, to.Scheme, to.Host), reply.StatusCode}
	}
	return reply, nil
}

// Do sends a request for the libraries of Azure. An http.Client would put the address into its errors, and a SAS is
// part of the address.
func (t storageReplies) Do(r *http.Request) (*http.Response, error) { return t.RoundTrip(r) }

// azureReplies is such a transport to the storage of Azure. Without these headers azureblob would panic.
type azureReplies struct{ storageReplies }

// Do sends a request.
func (t azureReplies) Do(r *http.Request) (*http.Response, error) {
	reply, err := t.RoundTrip(r)
	if err != nil || reply.StatusCode >= 300 {
		return reply, err
	}
	lacks := ""
	switch {
	case r.Method == http.MethodPut && reply.StatusCode == http.StatusAccepted &&
		reply.Header.Get("X-Ms-Copy-Status") == "": // of a copy; an object is 201
		lacks = "X-Ms-Copy-Status"
	case r.Method == http.MethodGet && !r.URL.Query().Has("comp") && reply.Header.Get("Last-Modified") == "":
		lacks = "Last-Modified"
	default:
		return reply, nil
	}
	_ = reply.Body.Close()
	return nil, Refusal{errIncomplete, fmt.Sprintf("that to %s %s has no header %s", r.Method, r.URL.Path, lacks), 0}
}

// Refusal is an error after which the libraries must not send the request again.
type Refusal struct {
	Kind   error // such as [ErrDenied]
	Says   string
	Status int // of the reply; 0: there was none, or a library hides it
}

func (e Refusal) Error() string { return e.Kind.Error() + ": " + e.Says }
func (e Refusal) Unwrap() error { return e.Kind }

// errIncomplete reports a reply that lacks what every such reply has.
var errIncomplete = errors.New("the reply is incomplete")

// NonRetriable marks the error for the libraries of Azure.
func (e Refusal) NonRetriable() {}

// lasting finds our own error in one of the libraries that fetch tokens, by its text: they do not wrap it.
func lasting(err error) error {
	for _, kind := range []error{ErrDenied, ErrElsewhere} {
		if err != nil && strings.Contains(err.Error(), kind.Error()) {
			_, says, _ := strings.Cut(err.Error(), kind.Error()+": ")
			return Refusal{kind, says, 0}
		}
	}
	return err
}

// Answer returns the status and the code of the storage's reply that an error is made of, and its text; 0: there is
// none.
func Answer(err error) (status int, code, says string) {
	if refused, ok := errors.AsType[Refusal](err); ok {
		return refused.Status, "", refused.Says
	}
	if reply, ok := errors.AsType[*googleapi.Error](err); ok {
		if len(reply.Errors) > 0 {
			code = reply.Errors[0].Reason
		}
		return reply.Code, code, cmp.Or(firstLine(reply.Message), textOf([]byte(reply.Body)))
	}
	if reply, ok := errors.AsType[*azcore.ResponseError](err); ok {
		if reply.RawResponse != nil && reply.RawResponse.Request != nil {
			says = reply.RawResponse.Request.Method + " " + reply.RawResponse.Request.URL.Path
		}
		return reply.StatusCode, reply.ErrorCode, says
	}
	return 0, "", ""
}

// isTokenRefusal reports whether whoever issues tokens refused ours, by the status of its answer.
func isTokenRefusal(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnauthorized || status == http.StatusForbidden
}

// maxRefusal is how much is read of the body of a refusal.
const maxRefusal = 64 << 10

// textOf is the text of Google's refusal, or the first line of another body.
func textOf(body []byte) string {
	var named struct {
		Error struct{ Message string }
	}
	if json.Unmarshal(body, &named) == nil && named.Error.Message != "" {
		return firstLine(named.Error.Message)
	}
	return firstLine(string(body))
}

// firstLine is the first line of a text, at most 500 characters of it.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); len(runes) > 500 {
		line = string(runes[:500]) + "…"
	}
	return strings.TrimSpace(line)
}
