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
		o.str("key_name", c.key.name)
		o.str("scope", c.key.scope)
		o.bool("can_make_changes", c.key.scope == scopeWrite)
		o.strOrNull("expires_at", instant(c.key.expiresAt(c.st.now)))
	})
}

// limits answers GET /v1/limits: the day's change budget and what is used of it.
func (s *Service) limits(c *call) reply {
	resets := nextMidnight(c.st.now).Format(time.RFC3339)
	return s.one(c, "", func(o *object) {
		budget := func(kind string) {
			o.int("used", int64(c.st.used[kind]))
			o.int("limit", int64(s.budgetOf(kind)))
			o.str("resets_at", resets)
			o.end()
		}
		if s.cfg.Shape.LimitMap {
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
func (s *Service) balance(c *call) reply {
	fresh := false
	switch v := c.query.Get("fresh"); v {
	case "true", "1":
		fresh = true
	case "", "false", "0":
	default:
		return s.invalid("fresh", "expected true or false")
	}
	b := s.balanceOf(c.st, s.balanceAsOf(c.st.now, fresh))
	return s.one(c, "", func(o *object) {
		o.money("available_balance", b.left)
		o.str("currency", "USD")
		if s.cfg.Prepaid > 0 {
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

// balanceNow is the balance at an instant, in millionths.
type balanceNow struct {
	at              time.Time
	left, average   int64
	charge          int64 // of the card, when little is left
	status, message string
}

// balanceAsOf is the instant that a reply of the balance is about: a fresh one of now,
// another of the last ten minutes, though never older than the last fresh one.
func (s *Service) balanceAsOf(now time.Time, fresh bool) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.balanceRead.After(now) {
		s.balanceRead = time.Time{} // the clock was set back
	}
	if fresh {
		s.balanceRead = now
		return now
	}
	if at := now.Truncate(10 * time.Minute); at.After(s.balanceRead) {
		return at
	}
	return s.balanceRead
}

// cardThreshold is what is left when the card is charged.
const cardThreshold = 100_000_000

// balanceOf works the balance out. The card is charged every Monday with what ten
// days cost, and when little is left; since then the balance falls with the spend. A
// prepaid account has what was wired to it, and falls until it is empty.
func (s *Service) balanceOf(st *state, asOf time.Time) balanceNow {
	at := *st
	if !asOf.Equal(at.now) {
		at.now = asOf
		at.asOf = at.now.Truncate(s.cfg.Refresh)
		at.today = dayOf(at.now, s.zone)
	}
	week := question{byDate: true}
	week.from, week.to = at.today-7, at.today
	spent := map[day]int64{}
	for _, r := range s.grouped(&at, week) {
		spent[r.day] = r.Spend
	}
	b := balanceNow{at: at.now, status: "ok"}
	for d := at.today - 7; d < at.today; d++ {
		b.average += spent[d] / 7
	}
	b.charge = max(b.average*10/1_000_000*1_000_000, cardThreshold)
	if s.cfg.Prepaid > 0 {
		b.left = max(0, s.fundsLeft(&at, at.now))
	} else {
		b.left = b.average * 10
		for d := at.today - day(at.today.weekday()+6)%7; d <= at.today; d++ {
			b.left -= spent[d]
		}
		if short := cardThreshold - b.left; short > 0 {
			b.left += (short + b.charge - 1) / b.charge * b.charge
		}
	}
	how := "in the dashboard"
	if s.cfg.Prepaid > 0 {
		how = "by wire"
	}
	switch told := at.balanceAt(at.now); {
	case told == "ok":
		b.left = max(b.left, 3*b.average)
	case told == "depleted" || b.left <= 0:
		b.status, b.message, b.left = "depleted", "The account has no funds. Add funds "+how+"; campaigns are waiting.",
			0
	case told == "low" || b.left < 2*b.average:
		b.status, b.message = "low", "The balance lasts less than two days. Add funds "+how+"."
		if told == "low" {
			b.left = min(b.left, b.average*3/2)
		}
	}
	b.left = b.left / 10_000 * 10_000
	return b
}
