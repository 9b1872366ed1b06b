package extract

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// serviceClock knows what the service's clock says.
type serviceClock struct {
	mu   sync.Mutex
	date time.Time // of a reply
	at   time.Time // when it was received
}

// note takes in the Date of a reply that was received at the given time. Of several
// replies the one counts by which the service's clock is the furthest on: a reply may
// come from a proxy that kept it, or have been long on its way, and then looks older
// than it is.
func (s *serviceClock) note(h http.Header, at time.Time) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return
	}
	if age, err := strconv.ParseUint(h.Get("Age"), 10, 31); err == nil {
		date = date.Add(time.Duration(age) * time.Second)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.IsZero() || date.Sub(s.date) > at.Sub(s.at) {
		s.date, s.at = date, at
	}
}

// ServiceTime is what the service's clock says now, by the Date header of its
// replies: to a second or two, and the time that a reply takes. It is not ok before
// any reply had a date.
func (c *Client) ServiceTime() (now time.Time, ok bool) {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	return c.clock.date.Add(time.Since(c.clock.at)), !c.clock.at.IsZero()
}
