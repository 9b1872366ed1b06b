package lake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The waits that a catalog may ask for, with 429 and Retry-After.
const (
	maxWaits    = 5
	longestWait = time.Minute
	usualWait   = time.Second // if it names no time
)

// RefusedError is a catalog's lasting refusal of a request: the same request will be refused again.
type RefusedError struct {
	Status  int
	Request string // method and path
	Says    string // the catalog's own text
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the catalog refuses %s: %d: %s", e.Request, e.Status, e.Says)
}

// Is makes every such refusal [ErrRejected].
func (e *RefusedError) Is(target error) bool { return target == ErrRejected }

// replies is a transport to a catalog that gives the statuses of replies their meaning, for the library keeps
// none: too many requests are sent again when the catalog says, a refused token is replaced, and a lasting refusal is a
// [RefusedError].
type replies struct {
	http.RoundTripper
	login *login // nil: there are no client credentials
}

// RoundTrip sends a request, again after each 429, and once with another token.
func (t replies) RoundTrip(r *http.Request) (*http.Response, error) {
	renewed := t.login == nil
	for waits := 0; ; waits++ {
		reply, err := t.RoundTripper.RoundTrip(r)
		if err != nil || reply.StatusCode < 400 {
			return reply, err
		}
		if isExpired(reply.StatusCode) && !renewed {
			renewed = true
			if again, ok := repeated(r); ok {
				_ = reply.Body.Close()
				value, err := t.login.after(r.Header.Get("Authorization"))
				if err != nil {
					return nil, err
				}
				again.Header.Set("Authorization", value)
				r = again
				continue
			}
		}
		if reply.StatusCode != http.StatusTooManyRequests {
			return refused(r, reply)
		}
		_ = reply.Body.Close()
		again, ok := repeated(r)
		if !ok || waits == maxWaits {
			return nil, fmt.Errorf("%s %s: 429, too many requests, after %d waits", r.Method, r.URL.Path, waits)
		}
		if err := pause(r, retryAfter(reply.Header.Get("Retry-After"), time.Now())); err != nil {
			return nil, err
		}
		r = again
	}
}

// isExpired reports whether a token is no longer good: by HTTP, or by the specification of the protocol.
func isExpired(status int) bool { return status == http.StatusUnauthorized || status == 419 }

// pause waits, unless the request is called off.
func pause(r *http.Request, wait time.Duration) error {
	select {
	case <-r.Context().Done():
		return r.Context().Err()
	case <-time.After(wait):
		return nil
	}
}

// repeated is the same request once more, if its body can be read again.
func repeated(r *http.Request) (*http.Request, bool) {
	again := r.Clone(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return again, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	again.Body = body
	return again, err == nil
}

// retryAfter reads the header: seconds or a date.
func retryAfter(text string, now time.Time) time.Duration {
	wait := usualWait
	if seconds, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), longestWait)
}

// refused turns a reply into an error if it is a lasting refusal. A 404 is usually an answer (the table does
// not exist); but at the endpoint of transactions, without a word of a table, it says that there is none.
func refused(r *http.Request, reply *http.Response) (*http.Response, error) {
	status := reply.StatusCode
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusConflict, 419,
		http.StatusTooEarly:
		return reply, nil
	case http.StatusNotFound:
		if !isTransaction(r) {
			return reply, nil
		}
	case http.StatusNotImplemented:
	default:
		if status >= 500 {
			return reply, nil
		}
	}
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxRefusal))
	kind, says := textOf(body)
	if status == http.StatusNotFound && strings.HasPrefix(kind, "NoSuch") || r.Method == http.MethodHead {
		reply.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), reply.Body), reply.Body}
		return reply, nil
	}
	_ = reply.Body.Close()
	if says == "" && err != nil {
		says = err.Error()
	}
	return nil, &RefusedError{Status: status, Request: r.Method + " " + r.URL.Path, Says: says}
}

// maxRefusal is how much is read of the body of a refusal.
const maxRefusal = 64 << 10

// isTransaction reports whether a request commits several tables.
func isTransaction(r *http.Request) bool {
	return strings.HasSuffix(r.URL.Path, "/transactions/commit")
}

// textOf is the text of a refusal: the type and message of the specification, or the first line of another body.
func textOf(body []byte) (kind, says string) {
	var named struct {
		Error struct{ Type, Message string }
	}
	if json.Unmarshal(body, &named) == nil && named.Error.Type+named.Error.Message != "" {
		return named.Error.Type, strings.Trim(named.Error.Type+": "+firstLine(named.Error.Message), ": ")
	}
	return "", firstLine(string(body))
}

// firstLine is the first line of a text, at most 500 characters of it: some catalogs add a stack trace.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(line); len(runes) > 500 {
		line = string(runes[:500]) + "…"
	}
	return strings.TrimSpace(line)
}
