package extract

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Ending is what the service announces about one of its paths.
type Ending struct {
	Path       string
	Deprecated string // since when, or what the service sent; empty: it is not deprecated
	Sunset     string // when it ends, or what the service sent; empty: no end is announced
}

// endNotice collects the announcements of a service.
type endNotice struct {
	mu   sync.Mutex
	ends []Ending
}

// note reads the headers Deprecation (RFC 9745, and the drafts before it) and Sunset (RFC 8594) of a reply. Each pair
// is noted once, for the first path that has it.
func (n *endNotice) note(path string, h http.Header) {
	e := Ending{Path: path, Deprecated: dateOf(h.Get("Deprecation")), Sunset: dateOf(h.Get("Sunset"))}
	if e.Deprecated == "" && e.Sunset == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	isKnown := slices.ContainsFunc(n.ends, func(known Ending) bool {
		return known.Deprecated == e.Deprecated && known.Sunset == e.Sunset
	})
	if !isKnown && len(n.ends) < maxEndings {
		n.ends = append(n.ends, e)
	}
}

// maxEndings bounds the announcements that are kept.
const maxEndings = 20

// dateOf returns the day of a header, or its text if it is not a date.
func dateOf(text string) string {
	text = strings.TrimSpace(text)
	if seconds, ok := strings.CutPrefix(text, "@"); ok {
		if n, err := strconv.ParseInt(seconds, 10, 64); err == nil {
			return time.Unix(n, 0).UTC().Format(time.DateOnly)
		}
	}
	if t, err := http.ParseTime(text); err == nil {
		return t.UTC().Format(time.DateOnly)
	}
	if text == "false" {
		return ""
	}
	return printable(text, 60)
}

// Endings returns what the replies so far announced about the end of paths.
func (c *Client) Endings() []Ending {
	c.ending.mu.Lock()
	defer c.ending.mu.Unlock()
	hidden := c.keys.secrets()
	ends := slices.Clone(c.ending.ends)
	for i := range ends {
		ends[i].Deprecated, ends[i].Sunset = hidden.Hide(ends[i].Deprecated), hidden.Hide(ends[i].Sunset)
	}
	return ends
}
