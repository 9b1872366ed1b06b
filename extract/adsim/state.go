package adsim

import "time"

// state is what an answer depends on besides the question. It is a value of one
// instant: a request takes it once and sees no change while it is answered.
type state struct {
	account  *account
	kept     *caches
	cfg      *Config
	now      time.Time
	asOf     time.Time // the report's numbers are of this instant
	today    day
	anchor   day
	version  uint64 // of the restatements
	frozen   bool
	frozenAt time.Time
	overlays map[day]*overlay
	changes  *changes       // of the settings
	balance  string         // as configured
	used     map[string]int // of the day's change budgets
}
