package adsim

import (
	"strconv"
	"time"
)

// me answers GET /v1/me: whom the key acts for, and whether it can make changes.
func (s *Service) me(c *call) reply {
	return s.one(c, "", func(o *object) {
		o.str("advertiser_id", s.cfg.AdvertiserID)
		o.str("advertiser_name", s.cfg.AdvertiserName)
		o.str("key_name", "reporting")
		o.str("scope", "read")
		o.bool("can_make_changes", false)
		o.str("expires_at", s.keyExpiresAt(c.st).UTC().Format(time.RFC3339))
	})
}

// limits answers GET /v1/limits: the day's change budget. Nothing is ever used of
// it, because nothing can be changed yet.
func (s *Service) limits(c *call) reply {
	y, m, d := c.st.now.UTC().Date()
	resets := time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
	kinds := []struct {
		name string
		most int64
	}{{"campaign_create", 50}, {"campaign_update", 500}, {"creative_create", 200}, {"creative_update", 500}, {"source_update", 1000}, {"image_upload", 200}}
	return s.one(c, "", func(o *object) {
		budget := func(i int) {
			o.int("used", 0)
			o.int("limit", kinds[i].most)
			o.str("resets_at", resets)
			o.end()
		}
		if s.cfg.Shape.LimitMap {
			o.begin("limits")
			for i, kind := range kinds {
				o.begin(kind.name)
				budget(i)
			}
			o.end()
			return
		}
		o.list("limits", len(kinds), func(i int) {
			o.begin("")
			o.str("kind", kinds[i].name)
			budget(i)
		})
	})
}

// balance answers GET /v1/balance. The card is charged every Monday with what ten
// days cost; since then the balance falls with the spend. It is as of the last ten
// minutes, unless a fresh one is asked for.
func (s *Service) balance(c *call) reply {
	at := *c.st
	switch v := c.query.Get("fresh"); v {
	case "true", "1":
	case "", "false", "0":
		at.now = at.now.Truncate(10 * time.Minute)
		at.asOf = at.now.Truncate(s.cfg.Refresh)
		at.today = dayOf(at.now, s.zone)
	default:
		return s.invalid("fresh", "expected true or false")
	}
	week := question{byDate: true}
	week.from, week.to = at.today-7, at.today
	spent := map[day]int64{}
	for _, r := range s.grouped(&at, week) {
		spent[r.day] = r.Spend
	}
	average := int64(0)
	for d := at.today - 7; d < at.today; d++ {
		average += spent[d] / 7
	}
	left := average * 10
	for d := at.today - day(at.today.weekday()+6)%7; d <= at.today; d++ {
		left -= spent[d]
	}
	status, message := "ok", ""
	switch {
	case s.cfg.BalanceStatus == "depleted" || left <= 0:
		status, message, left = "depleted", "The account has no funds. Add funds in the dashboard; campaigns are waiting.", 0
	case s.cfg.BalanceStatus == "low" || left < 2*average:
		status, message, left = "low", "The balance lasts less than two days. Add funds in the dashboard.", min(left, average*3/2)
	}
	left = left / 10_000 * 10_000
	return s.one(c, "", func(o *object) {
		o.money("available_balance", left)
		o.str("currency", "USD")
		o.str("payment_mode", "card")
		o.begin("auto_funding")
		o.bool("enabled", status == "ok")
		o.money("threshold", 100_000_000)
		o.money("amount", average*10/1_000_000*1_000_000)
		o.end()
		o.money("average_daily_spend", average/10_000*10_000)
		if average > 0 {
			o.raw("days_left", strconv.FormatFloat(float64(left*10/average)/10, 'f', -1, 64))
		} else {
			o.raw("days_left", "null")
		}
		o.str("status", status)
		o.str("message", message)
		o.str("refreshed_at", at.now.UTC().Format(time.RFC3339))
	})
}
