package adsim

import (
	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/variations"
	"spendsync/extract/adsim/wire"
)

// Types of the inner packages that tests and commands use.
type (
	Change           = advertiser.Change
	Config           = config.Config
	CreativeSettings = ledger.CreativeSettings
	Effect           = ledger.Effect
	Fault            = wire.Fault
	Line             = ledger.Line
	Measures         = ledger.Measures
	Quirk            = variations.Quirk
	Restatement      = ledger.Restatement
	Settings         = ledger.Settings
	SourceChange     = advertiser.SourceChange
	Sum              = ledger.Sum
)

// Paths and default credentials.
const (
	APIPrefix       = wire.APIPrefix
	DefaultKey      = config.DefaultKey
	DefaultPassword = config.DefaultPassword
	DefaultUser     = config.DefaultUser
	DefaultWriteKey = config.DefaultWriteKey
	ReportPrefix    = wire.ReportPrefix
)

// The actions of a [Change].
const (
	Create = ledger.Create
	Hide   = ledger.Hide
	Show   = ledger.Show
)

// The kinds of a [Fault].
const (
	Body         = wire.Body
	Cut          = wire.Cut
	Drop         = wire.Drop
	Duplicate    = wire.Duplicate
	ExtraKey     = wire.ExtraKey
	HTML         = wire.HTML
	Hang         = wire.Hang
	MissingKey   = wire.MissingKey
	NoPagination = wire.NoPagination
	OtherDay     = wire.OtherDay
	RepeatKey    = wire.RepeatKey
	Reset        = wire.Reset
	Shift        = wire.Shift
	Slow         = wire.Slow
	Stall        = wire.Stall
	Status       = wire.Status
	Top          = wire.Top
	Total        = wire.Total
	Trailing     = wire.Trailing
	Truncate     = wire.Truncate
	WrongType    = wire.WrongType
)

// Quirks lists all quirks, in the order in which they apply.
func Quirks() []Quirk { return variations.Quirks() }

// CheckQuirks returns an error if one of the names is not the name of a quirk.
func CheckQuirks(names ...string) error { return variations.CheckQuirks(names...) }
