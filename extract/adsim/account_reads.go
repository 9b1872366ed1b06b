package adsim

import (
	"strconv"
	"time"
)

// me answers GET /v1/me: whom the key acts for, and whether it can make changes.
func (s *api) me(c *call) reply {
	return s.one(c, "", func(o *object) {
		o.str("advertiser_id", s.world.cfg.AdvertiserID)
		o.str("advertiser_name", s.world.cfg.AdvertiserName)
		o.str("key_name", c.key.Name)
		o.str("scope", c.key.Scope)
		o.bool("can_make_changes", c.key.Scope == scopeWrite)
		o.strOrNull("expires_at", instant(c.key.expiresAt(c.st.now)))
	})
}

// limits answers GET /v1/limits: the day's change budget and what is used of it.
func (s *api) limits(c *call) reply {
	resets := nextMidnight(c.st.now).Format(time.RFC3339)
	return s.one(c, "", func(o *object) {
		budget := func(kind string) {
			o.int("used", int64(c.st.used[kind]))
			o.int("limit", int64(s.world.access.budgetOf(kind)))
			o.str("resets_at", resets)
			o.end()
		}
		if s.world.cfg.Shape.LimitMap {
			o.begin("limits")
			for _, kind := range changeKinds {
				o.begin(kind)
				budget(kind)
			}
			o.end()
			return
		}
		o.list("limits", len(changeKinds), func(i int) {
			o.begin("")
			o.str("kind", changeKinds[i])
			budget(changeKinds[i])
		})
	})
}

// balance answers GET /v1/balance.
func (s *api) balance(c *call) reply {
	fresh := false
	switch v := c.query.Get("fresh"); v {
	case "true", "1":
		fresh = true
	case "", "false", "0":
	default:
		return s.invalid("fresh", "expected true or false")
	}
	b := c.st.balanceOf(s.world.balanceAsOf(c.st.now, fresh))
	return s.one(c, "", func(o *object) {
		o.money("available_balance", b.left)
		o.str("currency", "USD")
		if s.world.cfg.Prepaid > 0 {
			o.str("payment_mode", "prepaid")
		} else {
			o.str("payment_mode", "card")
			o.begin("auto_funding")
			o.bool("enabled", b.status == "ok")
			o.money("threshold", cardThreshold)
			o.money("amount", b.charge)
			o.end()
		}
		o.money("average_daily_spend", b.average/10_000*10_000)
		if b.average > 0 {
			o.raw("days_left", strconv.FormatFloat(float64(b.left*10/b.average)/10, 'f', -1, 64))
		} else {
			o.raw("days_left", "null")
		}
		o.str("status", b.status)
		o.str("message", b.message)
		o.str("refreshed_at", b.at.UTC().Format(time.RFC3339))
	})
}
