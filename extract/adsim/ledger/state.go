package ledger

import (
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/market"
)

// State is what an answer depends on besides the question. It is a value of one
// instant: a request takes it once and sees no change while it is answered.
type State struct {
	Account  *market.Account
	Kept     *Caches
	Cfg      *config.Config
	Now      time.Time
	AsOf     time.Time // the report's numbers are of this instant
	Today    clock.Day
	Anchor   clock.Day
	Version  uint64 // of the restatements
	Frozen   bool
	FrozenAt time.Time
	Overlays map[clock.Day]*Overlay
	Changes  *Changes       // of the settings
	Balance  string         // as configured
	Used     map[string]int // of the day's change budgets
}
