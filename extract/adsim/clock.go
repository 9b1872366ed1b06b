package adsim

import (
	"sync"
	"time"
	_ "time/tzdata" // Chicago must exist on machines that have no zone files.
)

// A clock is real time, real time shifted or made faster, or an instant that
// stands still.
type clock struct {
	mu       sync.Mutex
	base     func() time.Time
	shift    time.Duration
	standing bool
	at       time.Time
	from     time.Time // of base, when it was at
	speed    float64   // seconds a second; 0 is plain time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.standing {
		return c.at
	}
	if c.speed != 0 {
		return c.at.Add(time.Duration(float64(c.base().Sub(c.from)) * c.speed))
	}
	return c.base().Add(c.shift)
}

func (c *clock) stand(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.standing, c.at = true, t
}

func (c *clock) run(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.standing, c.speed, c.shift = false, 0, t.Sub(c.base())
}

func (c *clock) hurry(t time.Time, speed float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.standing, c.speed, c.at, c.from = false, speed, t, c.base()
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.standing || c.speed != 0 {
		c.at = c.at.Add(d)
	} else {
		c.shift += d
	}
}

// entry is how the clock is set.
func (c *clock) entry() clockEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return clockEntry{Standing: c.standing, At: c.at, From: c.from, Speed: c.speed, Shift: c.shift}
}

// restore sets the clock as it was.
func (c *clock) restore(e clockEntry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.standing, c.at, c.from, c.speed, c.shift = e.Standing, e.At, e.From, e.Speed, e.Shift
}

func (c *clock) stands() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.standing
}

// A day is a calendar day, counted from 1970-01-01. It has no zone; the instants
// at which it begins and ends in Chicago come from start.
type day int32

// reach is how many days before today the report still answers.
const reach = 32

func civil(y int, m time.Month, d int) day {
	return day(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

func dayOf(t time.Time, zone *time.Location) day {
	return civil(t.In(zone).Date())
}

// start is the first instant of the day in the zone.
func (d day) start(zone *time.Location) time.Time {
	y, m, dd := d.utc().Date()
	return time.Date(y, m, dd, 0, 0, 0, 0, zone)
}

func (d day) utc() time.Time        { return time.Unix(int64(d)*86400, 0).UTC() }
func (d day) weekday() time.Weekday { return d.utc().Weekday() }
func (d day) String() string        { return d.utc().Format(time.DateOnly) }

// parseDay takes YYYY-MM-DD and nothing else.
func parseDay(s string) (day, bool) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || len(s) != len(time.DateOnly) {
		return 0, false
	}
	return day(t.Unix() / 86400), true
}

// hourWeights is how a day's traffic spreads over the Chicago hours.
var hourWeights = [24]int64{
	22, 15, 11, 9, 9, 12, 22, 38, 52, 60, 64, 66,
	68, 66, 63, 61, 60, 62, 67, 72, 74, 68, 52, 34,
}

// arrivedShare is how much of a day's traffic has arrived at an instant, in
// 65536ths. Days of 23 and 25 hours have their missing or second hour counted.
func arrivedShare(d day, at time.Time, zone *time.Location) uint32 {
	start, end := d.start(zone), (d + 1).start(zone)
	if !at.Before(end) {
		return 1 << 16
	}
	if !at.After(start) {
		return 0
	}
	var done, whole int64
	for t := start; t.Before(end); t = t.Add(time.Hour) {
		w := hourWeights[t.In(zone).Hour()]
		whole += w * 3600
		if past := int64(at.Sub(t) / time.Second); past > 0 {
			done += w * min(past, 3600)
		}
	}
	return uint32(done << 16 / whole)
}

// clockEntry is a clock as it was set.
type clockEntry struct {
	Standing bool          `json:"standing,omitempty"`
	At       time.Time     `json:"at,omitzero"`
	From     time.Time     `json:"from,omitzero"`
	Speed    float64       `json:"speed,omitempty"`
	Shift    time.Duration `json:"shift,omitempty"`
}
