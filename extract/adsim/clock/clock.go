package clock

import (
	"sync"
	"time"
	_ "time/tzdata"
)

// A clock is real time, real time shifted, or an instant that
// stands still.
type Clock struct {
	mu       sync.Mutex
	Base     func() time.Time
	shift    time.Duration
	standing bool
	at       time.Time
}

// Now returns the service's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.standing {
		return c.at
	}
	return c.Base().Add(c.shift)
}

// SetNow sets the clock to t. It stands still there until it is set or advanced again, so that a test sees the same
// numbers however long it takes.
func (c *Clock) SetNow(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.standing, c.at = true, t
}

// RunFrom sets the clock to t and lets it run on from there.
func (c *Clock) RunFrom(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.standing, c.shift = false, t.Sub(c.Base())
}

// Advance moves the clock by d; it runs on or stands still as before.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.standing {
		c.at = c.at.Add(d)
	} else {
		c.shift += d
	}
}

func (c *Clock) Stands() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.standing
}

// A day is a calendar day, counted from 1970-01-01. It has no zone; start returns the instant at
// which it starts in Chicago.
type Day int32

// Reach is how many days before today the report still answers.
const Reach = 32

func Civil(y int, m time.Month, d int) Day {
	return Day(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

func DayOf(t time.Time, zone *time.Location) Day {
	return Civil(t.In(zone).Date())
}

// Start is the first instant of the day in the zone.
func (d Day) Start(zone *time.Location) time.Time {
	y, m, dd := d.utc().Date()
	return time.Date(y, m, dd, 0, 0, 0, 0, zone)
}

func (d Day) utc() time.Time        { return time.Unix(int64(d)*86400, 0).UTC() }
func (d Day) Weekday() time.Weekday { return d.utc().Weekday() }
func (d Day) String() string        { return d.utc().Format(time.DateOnly) }

// ParseDay takes YYYY-MM-DD and nothing else.
func ParseDay(s string) (Day, bool) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || len(s) != len(time.DateOnly) {
		return 0, false
	}
	return Day(t.Unix() / 86400), true
}

// hourWeights is how a day's traffic spreads over the Chicago hours.
var hourWeights = [24]int64{
	22, 15, 11, 9, 9, 12, 22, 38, 52, 60, 64, 66,
	68, 66, 63, 61, 60, 62, 67, 72, 74, 68, 52, 34,
}

// ArrivedShare is how much of a day's traffic has arrived at an instant, in
// 65536ths. Days of 23 and 25 hours have their missing or second hour counted.
func ArrivedShare(d Day, at time.Time, zone *time.Location) uint32 {
	start, end := d.Start(zone), (d + 1).Start(zone)
	if !at.Before(end) {
		return 1 << 16
	}
	if !at.After(start) {
		return 0
	}
	var done, total int64
	for t := start; t.Before(end); t = t.Add(time.Hour) {
		w := hourWeights[t.In(zone).Hour()]
		total += w * 3600
		if past := int64(at.Sub(t) / time.Second); past > 0 {
			done += w * min(past, 3600)
		}
	}
	return uint32(done << 16 / total)
}

// Instant is RFC 3339 in UTC, empty for one that is not set.
func Instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
