package config

import (
	"strconv"
	"time"

	"spendsync/extract/adsim/chance"
)

// Config describes the simulated account. Fields with a zero value get their default.
type Config struct {
	Seed uint64 // determines the account; default 1
	// Campaigns is the number of campaigns that are listed at the start: default 36, at most 100000. About two thirds
	// of them exist in the report, the others are archived.
	Campaigns            int
	CreativesPerCampaign int // average number; default 8, at most 1500
	// RowsPerDay is the approximate number of rows (one for each campaign, creative and source) of a day that is over;
	// default 2500. The field Sources limits it: on one day a creative has rows for at most three quarters of its
	// campaign's sources.
	RowsPerDay int
	Sources    int // number of websites; default 4000, or RowsPerDay/15 if that is more

	Now func() time.Time // real time, read once a request; default time.Now
	// FreezeRestatements freezes the numbers of a day when the day ends. If it is false, later conversions and credits
	// still change a day that is over.
	FreezeRestatements bool

	ReportUser, ReportPassword string // credentials for the spend report (HTTP Basic)
	APIKey, WriteKey           string // Bearer keys of the advertiser API: read-only, read-write
	// KeyExpiresAt is the instant at which the keys expire; the default is the first of a month, two to three months
	// from now.
	KeyExpiresAt time.Time
	RateLimit    int // limit on the requests of a key in any 60 seconds of the clock; default 120; no limit if negative

	// Accounts are further accounts of the same service. Each account has its own user and keys. By default, the seed
	// and the names of an account are those of this Config with a number added. Fields that concern the whole service
	// are ignored in Accounts.
	Accounts []Config

	AdvertiserID, AdvertiserName string // the account's ID and name in the reply to /v1/me
	// Prepaid is the initial balance, in millionths of a US dollar, of an account that pays by wire. If Prepaid is 0,
	// the account pays by card.
	Prepaid int64
	Quirks  []string // names of the quirks that are active at the start: see [Quirks] and [Service.SetQuirks]
	Control bool     // whether to serve the commands under /_sim/, which need no credentials
}

// Credentials that apply if a Config sets none.
const (
	DefaultUser     = "analyst@example.com"
	DefaultPassword = "sim-password"
	DefaultKey      = "adv_sim_key"
	DefaultWriteKey = "adv_sim_write_key"
)

// Next returns the given Config of the i-th further account, completed by the defaults that apply only to further
// accounts.
func (cfg *Config) Next(more Config, i int) Config {
	n := strconv.Itoa(i + 1)
	setDefault(&more.Seed, cfg.Seed+uint64(i))
	setDefault(&more.ReportUser, "analyst"+n+"@example.com")
	setDefault(&more.APIKey, DefaultKey+n)
	setDefault(&more.WriteKey, DefaultWriteKey+n)
	setDefault(&more.AdvertiserName, "Second Account "+n)
	setDefault(&more.RateLimit, cfg.RateLimit)
	more.Campaigns = min(more.Campaigns, 1000) // with more campaigns, some IDs would belong to the next account
	return more
}

// SetDefaults sets the fields that are zero, and limits the sizes.
func (cfg *Config) SetDefaults() {
	setDefault(&cfg.Seed, 1)
	setDefault(&cfg.Campaigns, 36)
	setDefault(&cfg.CreativesPerCampaign, 8)
	setDefault(&cfg.RowsPerDay, 2500)
	setDefault(&cfg.Sources, max(4000, cfg.RowsPerDay/15))
	setDefault(&cfg.ReportUser, DefaultUser)
	setDefault(&cfg.ReportPassword, DefaultPassword)
	setDefault(&cfg.APIKey, DefaultKey)
	setDefault(&cfg.WriteKey, DefaultWriteKey)
	setDefault(&cfg.RateLimit, 120)
	setDefault(&cfg.AdvertiserID, "A"+strconv.FormatUint(100000+chance.Below(chance.Mix(cfg.Seed), 900000), 10))
	setDefault(&cfg.AdvertiserName, "Acme Performance \"North\" GmbH & Söhne")
	// Larger accounts would have IDs with more digits than the description allows.
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
