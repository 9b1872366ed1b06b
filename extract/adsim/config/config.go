package config

import (
	"strconv"
	"time"

	"spendsync/extract/adsim/chance"
)

// Config describes the simulated account. The zero value of a field takes its default.
type Config struct {
	Seed                 uint64 // which account; 1
	Campaigns            int    // listed at the start; 36, at most 100000; two thirds of them are of the present
	CreativesPerCampaign int    // their mean; 8, at most 1500
	// RowsPerDay is about how many rows a closed day has in the finest grain, 2500 by default. It can't be more than
	// the sources allow: a creative has at most three quarters of its campaign's sources in a day.
	RowsPerDay int
	Sources    int // websites; 4000, more with more rows

	Now     func() time.Time // the clock, asked once a request; time.Now
	Refresh time.Duration    // how often the report's numbers move; 15 minutes
	// FreezeRestatements stops the changes of closed days over time: a day has the conversions and credits that
	// arrived until its end, and keeps them.
	FreezeRestatements bool

	ReportUser, ReportPassword string // of the spend report (HTTP Basic)
	APIKey, WriteKey           string // Bearer keys of the advertiser API: one that can read, one that may change
	// KeyExpiresAt is when the keys end; by default it is the first of a month, two to three months from the clock.
	KeyExpiresAt time.Time
	RateLimit    int // requests of a key in any 60 seconds of the clock; 120, without limit if negative

	// Accounts are more accounts of the same service, with users and keys of their own; by default their seeds and
	// names continue from this one's. Settings of the service as a whole are ignored in these Configs.
	Accounts []Config

	AdvertiserID, AdvertiserName string // whom the key acts for
	// Prepaid makes the account pay by wire, and is its initial balance in millionths of a US dollar. At 0, a card
	// pays.
	Prepaid       int64
	BalanceStatus string   // forces "low" or "depleted"; by default it follows from the spend
	Quirks        []string // variations that hold from the start: see [Quirks] and [Service.SetQuirks]
	Control       bool     // serves what tests do to the service under /_sim/, without credentials
}

// The credentials of a Config that names none.
const (
	DefaultUser     = "analyst@example.com"
	DefaultPassword = "sim-password"
	DefaultKey      = "adv_sim_key"
	DefaultWriteKey = "adv_sim_write_key"
	// The report refuses these users with 403; their password is that of the first account's user.
	UnconfirmedUser = "unconfirmed@example.com"
	UnassignedUser  = "unassigned@example.com"
)

// Next is the Config of the i-th more account.
func (cfg *Config) Next(more Config, i int) Config {
	n := strconv.Itoa(i + 1)
	setDefault(&more.Seed, cfg.Seed+uint64(i))
	setDefault(&more.ReportUser, "analyst"+n+"@example.com")
	setDefault(&more.APIKey, DefaultKey+n)
	setDefault(&more.WriteKey, DefaultWriteKey+n)
	setDefault(&more.AdvertiserName, "Second Account "+n)
	setDefault(&more.RateLimit, cfg.RateLimit)
	setDefault(&more.Refresh, cfg.Refresh)
	more.Campaigns = min(more.Campaigns, 1000) // its IDs overlap with no other account's
	return more
}

func (cfg *Config) SetDefaults() {
	setDefault(&cfg.Seed, 1)
	setDefault(&cfg.Campaigns, 36)
	setDefault(&cfg.CreativesPerCampaign, 8)
	setDefault(&cfg.RowsPerDay, 2500)
	setDefault(&cfg.Sources, max(4000, cfg.RowsPerDay/15))
	setDefault(&cfg.Refresh, 15*time.Minute)
	setDefault(&cfg.ReportUser, DefaultUser)
	setDefault(&cfg.ReportPassword, DefaultPassword)
	setDefault(&cfg.APIKey, DefaultKey)
	setDefault(&cfg.WriteKey, DefaultWriteKey)
	setDefault(&cfg.RateLimit, 120)
	setDefault(&cfg.AdvertiserID, "A"+strconv.FormatUint(100000+chance.Below(chance.Mix(cfg.Seed), 900000), 10))
	setDefault(&cfg.AdvertiserName, "Acme Performance \"North\" GmbH & Söhne")
	// Beyond these, IDs would have more digits than the description allows.
	cfg.Campaigns = min(max(cfg.Campaigns, 1), 100_000)
	cfg.CreativesPerCampaign = min(max(cfg.CreativesPerCampaign, 1), 1500)
	cfg.RowsPerDay, cfg.Sources = max(cfg.RowsPerDay, 1), max(cfg.Sources, 1)
}

func setDefault[T comparable](field *T, v T) {
	var zero T
	if *field == zero {
		*field = v
	}
}
