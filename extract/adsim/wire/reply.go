package wire

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Reply is a reply before it is sent.
type Reply struct {
	Status  int
	Header  http.Header
	Body    []byte
	Chunked bool // sent without a Content-Length
}

// JSONReply is a reply with a JSON body.
func JSONReply(status int, body []byte) Reply {
	return Reply{Status: status, Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, Body: body}
}

// MostBody is how large a body may be: the largest image that base64 may hold, and
// then some.
const MostBody = 1 << 20

// ReadBody reads a body that is not too large.
func ReadBody(r *http.Request) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, MostBody+1))
	if err == nil && len(raw) > MostBody {
		err = fmt.Errorf("the body has more than %d bytes", MostBody)
	}
	return raw, err
}

func ParsePositive(q url.Values, name string, def, most int) (int, string) {
	v := q.Get(name)
	if v == "" {
		return def, ""
	}
	n, err := strconv.Atoi(v)
	switch {
	case err != nil || n < 1:
		return 0, "Invalid " + name + " (expected an integer of 1 or more)"
	case n > most:
		return 0, name + " cannot be more than " + strconv.Itoa(most)
	}
	return n, ""
}

// BaseOf is where the client has found the service.
func BaseOf(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}

// The paths under which the service's interfaces are mounted. The spend
// report's base URL ends in ReportPrefix, the advertiser API's in APIPrefix and the push sending APIs' in PushPrefix.
const (
	ReportPrefix = "/report"
	APIPrefix    = "/api"
	PushPrefix   = "/push"
)

// Extension is a room that only some services have.
type Extension interface {
	// Serve answers a request, or returns false for a path that is not its own.
	Serve(now time.Time, r *http.Request, f *Fault) (Reply, bool)
}

// NotBlank is \S of ECMA-262, which knows the spaces of Unicode.
const NotBlank = `[^\s\v\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]`

var webURLForm = regexp.MustCompile(`^https?://` + NotBlank + `+$`)

// IsWebURL reports whether a text is an http or https URL with a host.
func IsWebURL(text string) bool {
	_, host, _ := strings.Cut(text, "://")
	return webURLForm.MatchString(text) && !strings.HasPrefix(host, "/")
}
