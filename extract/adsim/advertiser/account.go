package advertiser

import (
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// me answers GET /v1/me: whom the key acts for, and whether it can make changes.
func (s *API) me(c *Call) wire.Reply {
	return one("", struct {
		AdvertiserID   string  `json:"advertiser_id"`
		AdvertiserName string  `json:"advertiser_name"`
		KeyName        string  `json:"key_name"`
		Scope          string  `json:"scope"`
		CanMakeChanges bool    `json:"can_make_changes"`
		ExpiresAt      *string `json:"expires_at"`
	}{s.World.Cfg.AdvertiserID, s.World.Cfg.AdvertiserName, c.Key.Name, c.Key.Scope, c.Key.Scope == ScopeWrite,
		orNull(clock.Instant(c.Key.Ends(c.St.Now)))})
}

// budget is a kind of change in the reply of the limits.
type budget struct {
	Kind     string `json:"kind"`
	Used     int    `json:"used"`
	Limit    int    `json:"limit"`
	ResetsAt string `json:"resets_at"`
}

// limits answers GET /v1/limits: the day's change budget and its use.
func (s *API) limits(c *Call) wire.Reply {
	resets := world.NextMidnight(c.St.Now).Format(time.RFC3339)
	var list []budget
	for _, kind := range world.ChangeKinds {
		list = append(list, budget{kind, c.St.Used[kind], s.World.BudgetOf(kind), resets})
	}
	return one("", map[string][]budget{"limits": list})
}

type autoFunding struct {
	Enabled   bool         `json:"enabled"`
	Threshold money.Amount `json:"threshold"`
	Amount    money.Amount `json:"amount"`
}

// balanceReply is the body of GET /v1/balance.
type balanceReply struct {
	Left        money.Amount `json:"available_balance"`
	Currency    string       `json:"currency"`
	Mode        string       `json:"payment_mode"`
	AutoFunding *autoFunding `json:"auto_funding,omitempty"`
	Average     money.Amount `json:"average_daily_spend"`
	DaysLeft    *float64     `json:"days_left"`
	Status      string       `json:"status"`
	Message     string       `json:"message"`
	RefreshedAt string       `json:"refreshed_at"`
}

// balance answers GET /v1/balance.
func (s *API) balance(c *Call) wire.Reply {
	b := c.St.BalanceOf(s.World.BalanceAsOf(c.St.Now, c.args.flag("fresh")))
	rep := balanceReply{Left: money.Amount(b.Left), Currency: "USD", Mode: "prepaid",
		Average: money.Amount(b.Average / 10_000 * 10_000), Status: b.Status, Message: b.Message,
		RefreshedAt: b.At.UTC().Format(time.RFC3339)}
	if s.World.Cfg.Prepaid == 0 {
		rep.Mode = "card"
		rep.AutoFunding = &autoFunding{b.Status == "ok", ledger.CardThreshold, money.Amount(b.Charge)}
	}
	if b.Average > 0 {
		days := float64(b.Left*10/b.Average) / 10
		rep.DaysLeft = &days
	}
	return one("", rep)
}
