package extract

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Me reads the account that the API key acts for, and the key's scope.
func (c *Client) Me(ctx context.Context) (Entity, error) {
	return askFor(ctx, c, "me", "", "key info", c.service.Path("me", ""))
}

// Limits reads the daily limits for changes to the account, and how much of each limit is used.
func (c *Client) Limits(ctx context.Context) (Entity, error) {
	return askFor(ctx, c, "limits", "", "limits", c.service.Path("limits", ""))
}

// Balance reads the account's balance, which the service refreshes at most every
// ten minutes.
func (c *Client) Balance(ctx context.Context) (Entity, error) {
	return askFor(ctx, c, "balance", "", "balance", c.service.Path("balance", ""))
}

// keyNotice holds the time at which the API key expires, and the service's warning about the expiry. Replies state them
// in two headers.
type keyNotice struct {
	mu       sync.Mutex
	isStated bool
	expires  time.Time
	warning  string
}

// maxWarning bounds the text of a warning, in bytes.
const maxWarning = 300

// note reads the two headers about the expiry of the API key. It compares only the end of each header's name, because
// the name begins with the name of the service.
func (n *keyNotice) note(h http.Header) {
	expires, warning := "", ""
	for name, values := range h {
		switch name = strings.ToLower(name); {
		case len(values) == 0:
		case strings.HasSuffix(name, "api-key-expires-at"):
			expires = values[0]
		case strings.HasSuffix(name, "api-key-expiry-warning"):
			warning = values[0]
		}
	}
	if expires == "" && warning == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	// Every reply to a valid key states the expiry time, so a reply without a warning withdraws an earlier warning: the
	// key was renewed.
	n.isStated, n.warning = true, printable(warning, maxWarning)
	if t, ok := parseExpiry(expires); ok {
		n.expires = t
	}
}

// KeyNotice returns when the API key expires, and the service's warning about the expiry. Headers of replies state
// both. The result expiresAt is zero if no reply has stated a readable time. The warning is empty if the latest reply
// with one of the two headers has no warning. ok is false if no reply has had such a header yet.
func (c *Client) KeyNotice() (expiresAt time.Time, warning string, ok bool) {
	c.notice.mu.Lock()
	defer c.notice.mu.Unlock()
	return c.notice.expires, c.notice.warning, c.notice.isStated
}

// parseExpiry reads a time of ISO 8601. A time without a zone is UTC; a day alone means the first instant of the day.
func parseExpiry(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, strings.ToUpper(strings.TrimSpace(text))); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
