package advertiser

import (
	"cmp"
	"strconv"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/wire"
)

// me answers GET /v1/me: the account and the scope of the key.
func (s *API) me(c *call) wire.Reply {
	return one("", struct {
		AdvertiserID   string `json:"advertiser_id"`
		AdvertiserName string `json:"advertiser_name"`
		KeyName        string `json:"key_name"`
		Scope          string `json:"scope"`
		CanMakeChanges bool   `json:"can_make_changes"`
		ExpiresAt      string `json:"expires_at"`
	}{s.World.Cfg.AdvertiserID, s.World.Cfg.AdvertiserName, c.key.name,
		map[bool]string{false: "read", true: "write"}[c.key.canWrite], c.key.canWrite,
		clock.Instant(c.key.ends(c.st.Now))})
}

// budget is the daily limit for one kind of change, as GET /v1/limits returns it. The kinds' names are invented,
// because the description does not name them.
type budget struct {
	Kind     string `json:"kind"`
	Used     int    `json:"used"`
	Limit    int    `json:"limit"`
	ResetsAt string `json:"resets_at"`
}

// It answers GET /v1/limits with the day's budgets for changes. Changes do not use up the budgets.
func (s *API) limits(c *call) wire.Reply {
	y, m, d := c.st.Now.UTC().Date()
	resets := time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	return one("", map[string][]budget{"limits": {
		{"campaign_create", 0, 50, resets}, {"campaign_update", 0, 500, resets},
		{"creative_create", 0, 200, resets}, {"creative_update", 0, 500, resets},
		{"source_update", 0, 1000, resets}, {"image_upload", 0, 200, resets},
	}})
}

type autoFunding struct {
	Enabled   bool         `json:"enabled"`
	Threshold money.Amount `json:"threshold"`
	Amount    money.Amount `json:"amount"`
}

// balanceReply is the body of the reply to GET /v1/balance.
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
func (s *API) balance(c *call) wire.Reply {
	fresh, err := strconv.ParseBool(cmp.Or(c.query.Get("fresh"), "false"))
	if err != nil {
		return s.refuse(invalid("fresh", "expected true or false"))
	}
	b := c.st.BalanceOf(s.World.BalanceAsOf(c.st.Now, fresh))
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
