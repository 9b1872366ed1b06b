package advertiser

import (
	"strconv"
	"time"

	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// me answers GET /v1/me: whom the key acts for, and whether it can make changes.
func (s *API) me(c *Call) wire.Reply {
	return s.one(c, "", func(o *jsontext.Object) {
		o.Str("advertiser_id", s.World.Cfg.AdvertiserID)
		o.Str("advertiser_name", s.World.Cfg.AdvertiserName)
		o.Str("key_name", c.Key.Name)
		o.Str("scope", c.Key.Scope)
		o.Bool("can_make_changes", c.Key.Scope == ScopeWrite)
		o.StrOrNull("expires_at", jsontext.Instant(c.Key.Ends(c.St.Now)))
	})
}

// limits answers GET /v1/limits: the day's change budget and its use.
func (s *API) limits(c *Call) wire.Reply {
	resets := world.NextMidnight(c.St.Now).Format(time.RFC3339)
	return s.one(c, "", func(o *jsontext.Object) {
		budget := func(kind string) {
			o.Int("used", int64(c.St.Used[kind]))
			o.Int("limit", int64(s.World.Access.BudgetOf(kind)))
			o.Str("resets_at", resets)
			o.End()
		}
		if s.World.Cfg.Shape.LimitMap {
			o.Begin("limits")
			for _, kind := range world.ChangeKinds {
				o.Begin(kind)
				budget(kind)
			}
			o.End()
			return
		}
		o.List("limits", len(world.ChangeKinds), func(i int) {
			o.Begin("")
			o.Str("kind", world.ChangeKinds[i])
			budget(world.ChangeKinds[i])
		})
	})
}

// balance answers GET /v1/balance.
func (s *API) balance(c *Call) wire.Reply {
	fresh := false
	switch v := c.Query.Get("fresh"); v {
	case "true", "1":
		fresh = true
	case "", "false", "0":
	default:
		return s.invalid("fresh", "expected true or false")
	}
	b := c.St.BalanceOf(s.World.BalanceAsOf(c.St.Now, fresh))
	return s.one(c, "", func(o *jsontext.Object) {
		o.Money("available_balance", b.Left)
		o.Str("currency", "USD")
		if s.World.Cfg.Prepaid > 0 {
			o.Str("payment_mode", "prepaid")
		} else {
			o.Str("payment_mode", "card")
			o.Begin("auto_funding")
			o.Bool("enabled", b.Status == "ok")
			o.Money("threshold", ledger.CardThreshold)
			o.Money("amount", b.Charge)
			o.End()
		}
		o.Money("average_daily_spend", b.Average/10_000*10_000)
		if b.Average > 0 {
			o.Raw("days_left", strconv.FormatFloat(float64(b.Left*10/b.Average)/10, 'f', -1, 64))
		} else {
			o.Raw("days_left", "null")
		}
		o.Str("status", b.Status)
		o.Str("message", b.Message)
		o.Str("refreshed_at", b.At.UTC().Format(time.RFC3339))
	})
}
