package adsim

import "time"

// timekeeper sets the clock of a service, and records that.
type timekeeper struct {
	clock   *clock
	zone    *time.Location
	journal *journal
}

// Now tells the service's clock.
func (k *timekeeper) Now() time.Time { return k.clock.now() }

// SetNow sets the service's clock to t. It stands still there until it is set or
// advanced again, so that a test sees the same numbers however long it takes.
func (k *timekeeper) SetNow(t time.Time) { k.clock.stand(t); k.note() }

// RunFrom sets the service's clock to t and lets it run on from there.
func (k *timekeeper) RunFrom(t time.Time) { k.clock.run(t); k.note() }

// RunFast sets the service's clock to t and lets it run from there, speed seconds
// a second.
func (k *timekeeper) RunFast(t time.Time, speed float64) { k.clock.hurry(t, speed); k.note() }

// Advance moves the service's clock by d; it runs on or stands still as before.
func (k *timekeeper) Advance(d time.Duration) { k.clock.advance(d); k.note() }

func (k *timekeeper) note() {
	e := k.clock.entry()
	k.journal.write(journalLine{Op: "clock", At: k.clock.now(), What: what(e)})
}

// Today is the Chicago day of the service's clock, as YYYY-MM-DD. The report
// reaches from 32 days before it to this day.
func (k *timekeeper) Today() string { return dayOf(k.clock.now(), k.zone).String() }
