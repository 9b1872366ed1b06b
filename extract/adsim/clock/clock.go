package clock

import (
	"sync"
	"time"
	_ "time/tzdata"
)

// Clock is the service's clock. It shows real time, real time plus a shift, or, while the clock is stopped, a fixed
// instant.
type Clock struct {
	mu       sync.Mutex
	Base     func() time.Time // real time
	shift    time.Duration    // added to Base while the clock runs
	standing bool
	at       time.Time // the time that a stopped clock shows
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

// SetNow stops the clock at t until the clock is set or advanced. The numbers that a test sees then do not depend on
// how long the test takes.
func (c *Clock) SetNow(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.standing, c.at = true, t
}

// RunFrom sets the clock to t and lets the clock run from there.
func (c *Clock) RunFrom(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.standing, c.shift = false, t.Sub(c.Base())
}

// Advance moves the clock by d. A running clock continues to run; a stopped clock stays stopped at the new time.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.standing {
		c.at = c.at.Add(d)
	} else {
		c.shift += d
	}
}

// Stands reports whether the clock is stopped.
func (c *Clock) Stands() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.standing
}

// Day is a calendar day as the number of days since 1970-01-01. A Day has no time zone; [Day.Start] takes a time zone.
type Day int32

// Reach is the age in days of the oldest day that the report still answers.
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

// ParseDay parses a day. It accepts only the form YYYY-MM-DD.
func ParseDay(s string) (Day, bool) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || len(s) != len(time.DateOnly) {
		return 0, false
	}
	return Day(t.Unix() / 86400), true
}

// hourWeights are the relative amounts of traffic in each hour of a Chicago day.
var hourWeights = [24]int64{
	22, 15, 11, 9, 9, 12, 22, 38, 52, 60, 64, 66,
	68, 66, 63, 61, 60, 62, 67, 72, 74, 68, 52, 34,
}

// ArrivedShare returns the share of a day's traffic that has arrived by an instant, in 65536ths. A day on which the
// clocks change has 23 or 25 hours.
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

// Instant formats a time as RFC 3339 in UTC; it returns "" for the zero time.
func Instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
