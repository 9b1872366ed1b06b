package adsim

import "time"

// Now tells the service's clock.
func (s *world) Now() time.Time { return s.clock.now() }

// SetNow sets the service's clock to t. It stands still there until it is set or
// advanced again, so that a test sees the same numbers however long it takes.
func (s *world) SetNow(t time.Time) { s.clock.stand(t); s.recordClock() }

// RunFrom sets the service's clock to t and lets it run on from there.
func (s *world) RunFrom(t time.Time) { s.clock.run(t); s.recordClock() }

// RunFast sets the service's clock to t and lets it run from there, speed seconds
// a second.
func (s *world) RunFast(t time.Time, speed float64) { s.clock.hurry(t, speed); s.recordClock() }

// Advance moves the service's clock by d; it runs on or stands still as before.
func (s *world) Advance(d time.Duration) { s.clock.advance(d); s.recordClock() }

func (s *world) recordClock() {
	e := s.clock.entry()
	s.record(journalLine{Op: "clock", What: what(e)})
}

// Today is the Chicago day of the service's clock, as YYYY-MM-DD. The report
// reaches from 32 days before it to this day.
func (s *world) Today() string { return dayOf(s.clock.now(), s.zone).String() }
