package world

import (
	"time"

	"spendsync/extract/adsim/clock"
)

// Timekeeper sets the clock of a service, and records that.
type Timekeeper struct {
	clock   *clock.Clock
	zone    *time.Location
	journal *Journal
}

// Now returns the service's clock.
func (k *Timekeeper) Now() time.Time { return k.clock.Now() }

// SetNow sets the service's clock to t. It stands still there until it is set or
// advanced again, so that a test sees the same numbers however long it takes.
func (k *Timekeeper) SetNow(t time.Time) { k.clock.Stand(t); k.note() }

// RunFrom sets the service's clock to t and lets it run on from there.
func (k *Timekeeper) RunFrom(t time.Time) { k.clock.Run(t); k.note() }

// RunFast sets the service's clock to t and lets it run from there, speed seconds
// a second.
func (k *Timekeeper) RunFast(t time.Time, speed float64) { k.clock.Hurry(t, speed); k.note() }

// Advance moves the service's clock by d; it runs on or stands still as before.
func (k *Timekeeper) Advance(d time.Duration) { k.clock.Advance(d); k.note() }

func (k *Timekeeper) note() {
	e := k.clock.Entry()
	k.journal.write(Entry{Op: "clock", At: k.clock.Now(), What: What(e)})
}

// Today is the Chicago day of the service's clock, as YYYY-MM-DD. The report
// reaches from 32 days before it to this day.
func (k *Timekeeper) Today() string { return clock.DayOf(k.clock.Now(), k.zone).String() }
