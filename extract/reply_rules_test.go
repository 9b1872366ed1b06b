package extract

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// TestReadError_DoubtsTheURL: the URL may be wrong if the host does not exist, if only one side uses TLS, or if the
// path does not exist. Other errors do not suggest a wrong URL.
func TestReadError_DoubtsTheURL(t *testing.T) {
	plain := "status 400: Client sent an HTTP request to an HTTPS server."
	noHost := net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}
	temporary, slow, other := noHost, noHost, noHost
	temporary.IsTemporary, slow.IsTimeout, other.IsNotFound = true, true, false
	for name, tc := range map[string]struct {
		e    ReadError
		want bool
	}{
		"nothing known":           {ReadError{}, false},
		"no such host":            {ReadError{Cause: fmt.Errorf("dial: %w", &noHost)}, true},
		"no such host, for now":   {ReadError{Cause: &temporary}, false},
		"DNS does not answer":     {ReadError{Cause: &slow}, false},
		"DNS fails":               {ReadError{Cause: &other}, false},
		"no such host of a dial":  {ReadError{Cause: &net.OpError{Op: "dial", Err: &noHost}}, true},
		"no such proxy":           {ReadError{Cause: &net.OpError{Op: "proxyconnect", Err: &noHost}}, false},
		"refused":                 {ReadError{Cause: &net.OpError{Op: "dial", Err: errors.New("refused")}}, false},
		"no TLS there":            {ReadError{Cause: fmt.Errorf("x: %w", tls.RecordHeaderError{Msg: "no TLS"})}, true},
		"TLS there":               {ReadError{Status: 400, Reason: plain}, true},
		"TLS there, other status": {ReadError{Status: 500, Reason: plain}, false},
		"another 400":             {ReadError{Status: 400, Reason: "status 400: page"}, false},
		"404":                     {ReadError{Status: 404}, true},
		"403":                     {ReadError{Status: 403}, false},
	} {
		check(t, name, tc.e.DoubtsURL(), tc.want)
	}
}

// TestClient_DescribesARefusedReply: the error for a reply that is not JSON shows the encoding, if there is one, and
// the beginning of the body, unless the body is empty.
func TestClient_DescribesARefusedReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			body, encoding string
			says, not      []string
		}{
			"packed": {"\x1b\x00x", "br", []string{`, content-encoding "br"`, ": the reply begins "}, nil},
			"page":   {"<html>", "", []string{`: the reply begins "<html>"`}, []string{"content-encoding"}},
			"long": {"<html>\n<title>Sign in</title>" + strings.Repeat("x", 500), "",
				[]string{`the reply begins "<html>\n<title>Sign in</title>xxx`, "request id edge-7731",
					"the retry budget of 10m0s is used up"}, []string{strings.Repeat("x", 400)}},
			"null":  {"null\n", "", []string{"the reply is null"}, []string{"not JSON", "begins"}},
			"empty": {"", "", []string{"the reply is empty"}, []string{"content-encoding", "begins"}},
			"cut": {`{"error":{"message":"odd"}`, "", []string{"not JSON", "the reply begins"},
				[]string{"the reply says"}},
		} {
			c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
				return answerWith(200, tc.body, "Content-Encoding", tc.encoding, "X-Request-Id", "edge-7731")
			}))
			_, err := walk(t, dayOf(t.Context(), c, testDay, 3))
			kind := ErrUnavailable // a page for people is not from the service; cut JSON is
			if name == "cut" || name == "null" {
				kind = ErrContract
			}
			wantError(t, err, kind, tc.says...)
			for _, text := range tc.not {
				if strings.Contains(err.Error(), text) {
					t.Errorf("%s: %v says %q", name, err, text)
				}
			}
		}
	})
}

// TestDecodeSpend_OfCurrencies: amounts in another currency are refused. Any other value of the key is ignored.
func TestDecodeSpend_OfCurrencies(t *testing.T) {
	for value, want := range map[string]bool{`"EUR"`: false, `"USD"`: true, `" usd "`: true, `""`: true, `null`: true,
		`7`: true, `{"code":"EUR"}`: true} {
		_, err := DecodeSpend(nil, []byte(pageOf(lines(1), `"currency":`+value)))
		check(t, value+" is taken", err == nil, want)
	}
	_, err := DecodeSpend(nil, []byte(`{"columns":[],"data":[],"currency":`))
	wantError(t, err, ErrContract, "not JSON")
}
