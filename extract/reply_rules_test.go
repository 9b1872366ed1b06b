package extract

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"spendsync/extract/redact"
)

// TestReadError_DoubtsTheURL only if it can be wrong: a host that does not exist, TLS on one side alone, a path
// under which there is nothing. All else may pass, or is about something else.
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

// TestClient_HoldsABodyToItsLength, where the transport knows one.
func TestClient_HoldsABodyToItsLength(t *testing.T) {
	body := pageOf(lines(2), placed(1, 3, 2, 1))
	for length, want := range map[int64]bool{-1: true, int64(len(body)): true, 0: false, int64(len(body)) + 1: false} {
		c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
			resp, err := answerWith(200, body)
			resp.ContentLength = length
			return resp, err
		}), func(o *Options) { o.RetryBudget = 1 })
		_, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
		check(t, fmt.Sprintf("a length of %d is right", length), err == nil, want)
	}
}

// TestClient_DescribesARefusedReply: by its encoding and its beginning if it is no JSON, and by neither if it has none.
func TestClient_DescribesARefusedReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			body, encoding string
			says, not      []string
		}{
			"packed": {"\x1b\x00x", "br", []string{`, content-encoding "br"`, ": the reply begins "}, nil},
			"page":   {"<html>", "", []string{`: the reply begins "<html>"`}, []string{"content-encoding"}},
			"empty":  {"", "", []string{"the reply is empty"}, []string{"content-encoding", "begins"}},
			"cut": {`{"error":{"message":"odd"}`, "", []string{"not JSON", "the reply begins"},
				[]string{"the reply says"}},
		} {
			c := newTestClient(t, roundTrip(func(*http.Request) (*http.Response, error) {
				return answerWith(200, tc.body, "Content-Encoding", tc.encoding)
			}))
			_, err := walk(t, c.Spend(t.Context(), testDay, 3, nil, nil))
			kind := ErrUnavailable // no page of JSON is of the service; one that is cut is
			if name == "cut" {
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

// TestFailures_ShowNoCredentials, wherever the service repeats them: each place where a failure is made hides them,
// and so does each that hands one on.
func TestFailures_ShowNoCredentials(t *testing.T) {
	const secret = "open-sesame"
	c := newTestClient(t, saying("{}"))
	req, _ := http.NewRequest(http.MethodGet, "https://report.test/", nil)
	c.keys.sign(req)
	shown := []string{}
	f := &failure{reason: "a " + secret, requestID: "b-" + secret, pauseText: "c " + secret}
	f.hide(redact.SecretsOf(req))
	shown = append(shown, f.reason, f.requestID, f.pauseText)
	for _, err := range []error{&ReadError{What: "x", Reason: "d " + secret, Err: ErrContract},
		&UnprovenError{What: "x", Reason: "e " + secret}} {
		shown = append(shown, c.hideIn(err).Error())
	}
	resp, _ := answerWith(200, "")
	body := []byte(`{"columns":"` + secret + `"}`)
	refuse := func(b []byte) error { return contractf("columns is %s", b) }
	f = c.replyFailure(req, resp, body, refuse, refuse(body))
	shown = append(shown, f.reason, string(f.reply))
	f = c.replyFailure(req, resp, body, func([]byte) error { return nil }, refuse(body))
	check(t, "a reply that is refused for its credentials alone", f.reason, "the reply repeats the credentials")
	for i, text := range shown {
		if strings.Contains(text, secret) || len(text) < 3 {
			t.Errorf("text %d: %q", i, text)
		}
	}
	f = c.replyFailure(req, resp, []byte(`{"columns":1}`), func([]byte) error { return nil }, refuse([]byte("x")))
	check(t, "a reply without them is not judged again", f.reason, "columns is x")
}

// TestDecodeSpend_OfCurrencies: amounts of another currency are refused, whatever else is said of one passes.
func TestDecodeSpend_OfCurrencies(t *testing.T) {
	for value, want := range map[string]bool{`"EUR"`: false, `"USD"`: true, `" usd "`: true, `""`: true, `null`: true,
		`7`: true, `{"code":"EUR"}`: true} {
		_, err := DecodeSpend(nil, []byte(pageOf(lines(1), `"currency":`+value)))
		check(t, value+" is taken", err == nil, want)
	}
	_, err := DecodeSpend(nil, []byte(`{"columns":[],"data":[],"currency":`))
	wantError(t, err, ErrContract, "not JSON")
}

// TestDecodeSpend_RecordsWhatIsNoPagination, and columns of other questions as they came.
func TestDecodeSpend_RecordsWhatIsNoPagination(t *testing.T) {
	for pagination, want := range map[string]string{`[1]`: "array", `7`: "number", `null`: "", `{"page":1}`: ""} {
		p, err := DecodeSpend(nil, []byte(pageOf(lines(1), `"pagination":`+pagination)))
		if err != nil {
			t.Fatal(err)
		}
		is := slices.Contains(p.Unknown, UnknownKey{Path: "pagination", Type: want})
		check(t, pagination+" is recorded", is, want != "")
		check(t, "unknown keys", len(p.Unknown) > 0, want != "")
	}
	columns := strings.Replace(columnsJSON, `"date",`, `"date","CreativeTitle",`, 1)
	p, err := DecodeSpend(nil, []byte(`{"columns":`+columns+`,"data":[`+line(1)+`]}`))
	if err != nil || len(p.Unknown) != 1 || p.Unknown[0].Path != "data[].CreativeTitle" {
		t.Errorf("unknown %v, error %v", p.Unknown, err)
	}
	p, err = DecodeSpend(nil, []byte(pageOf(lines(1), `"pagination":{"page":1,"page_size":3,"total_rows":7,`+
		`"total_pages":0}`)))
	check(t, "error", err, nil)
	check(t, "stated pages stand", p.Pages, 1)
}
