package job

import (
	"sync"
	"time"

	"spendsync/schema"
)

// Limits for the difference between this machine's clock and the service's clock.
const (
	MaxClockOff  = time.Hour       // if the clocks differ by more, the run ends at once
	followFrom   = 2 * time.Minute // if the clocks differ by more, the run follows the service's clock
	clockWarning = 5 * time.Minute
)

// clock is the time of one run. It follows this machine's clock. If this clock differs from the service's clock by more
// than followFrom, it follows the service's clock: the service decides which day is open, and which days can still be
// read. It counts from the start of the run by this machine's monotonic clock, so it does not go back if this machine's
// clock is set during the run.
type clock struct {
	machine func() time.Time

	mu       sync.Mutex
	compared bool          // with the service's clock
	ahead    time.Duration // this machine's clock minus the service's
	offset   time.Duration // added to this machine's time; 0: use this machine's clock
	began    time.Time
	floor    time.Time // when the store was last published; zero: never
}

func newClock(machine func() time.Time) *clock { return &clock{machine: machine, began: machine()} }

// Now returns the time of the run.
func (c *clock) Now() time.Time {
	now := c.at(c.elapsed())
	// A run cannot start before the last publication, so an earlier time is an error of this machine's clock. If that
	// clock is off by more than MaxClockOff, it is not corrected.
	if now.Before(c.floor) && c.floor.Sub(now) <= MaxClockOff {
		return c.floor
	}
	return now
}

// elapsed returns how long the run has lasted, by this machine's monotonic clock, which cannot be set.
func (c *clock) elapsed() time.Duration { return max(0, c.machine().Sub(c.began)) }

// at returns the time of the run's clock at a given duration after the start of the run. It uses the correction of the
// clock that is known by now.
func (c *clock) at(elapsed time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.began.Add(elapsed + c.offset)
}

// observe records the service's current clock, and returns how far this machine's clock is ahead. Only the first call
// counts.
func (c *clock) observe(service time.Time) (ahead time.Duration, isFirst bool) {
	machine := c.machine()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.compared {
		return c.ahead, false
	}
	c.compared, c.ahead = true, machine.Sub(service)
	if c.ahead.Abs() > followFrom {
		c.offset = -c.ahead
	}
	return c.ahead, true
}

// conservative returns t if t's day has begun by both clocks, else the last instant of the day before. So a run counts
// a day as over only if the day is over by both clocks.
func (c *clock) conservative(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	doubt := max(c.ahead, 0)
	if c.offset != 0 {
		doubt = c.ahead.Abs()
	}
	if today := schema.DateOf(t); schema.DateOf(t.Add(-doubt)) < today {
		return today.Start().Add(-time.Microsecond)
	}
	return t
}
