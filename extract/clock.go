package extract

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// serviceClock estimates the service's clock.
type serviceClock struct {
	mu   sync.Mutex
	date time.Time // the Date header of a reply
	at   time.Time // when that reply was received
}

// note records the Date header of a reply that was received at the given time. Caches and slow connections can only
// make this date too old. So note keeps the reply whose date is most ahead of its time of receipt.
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

// ServiceTime returns the service's current time by the Date header of its replies, accurate to the duration of a reply
// and a second or two. ok is false before any reply had a date.
func (c *Client) ServiceTime() (now time.Time, ok bool) {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	return c.clock.date.Add(time.Since(c.clock.at)), !c.clock.at.IsZero()
}
