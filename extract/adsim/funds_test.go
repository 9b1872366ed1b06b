package adsim

import (
	"slices"
	"testing"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/money"
)

// prepaid is a service of an account that pays by wire.
func prepaid(dollars int64) *Service {
	return sim(
		config.Config{RateLimit: -1, RowsPerDay: 600, Campaigns: 12, Control: true, Prepaid: dollars * 1_000_000})
}

func balanceOf(t testing.TB, s *Service) map[string]any {
	t.Helper()
	return callWith(t, s, config.DefaultKey, "GET", "/v1/balance?fresh=true", "").body
}

func TestFunds_FallWithEveryClickAndEndDelivery(t *testing.T) {
	s := prepaid(400)
	day := s.Today()
	if b := balanceOf(t, s); b["payment_mode"] != "prepaid" || b["auto_funding"] != nil || b["status"] == "depleted" {
		t.Fatalf("at the start: %v", b)
	}
	for left := 400.0; ; s.Advance(time.Hour) {
		b := balanceOf(t, s)
		now := b["available_balance"].(float64)
		if now > left {
			t.Fatalf("the balance went from %v to %v", left, now)
		}
		if left = now; b["status"] == "depleted" {
			break
		}
		if spent := float64(spend(truth(s, s.Today())))/1e6 + now; s.Today() == day &&
			(spent < 399.9 || spent > 400.1) {
			t.Errorf("spent and left are %v of 400", spent)
		}
		if days := b["days_left"].(float64); days > now/b["average_daily_spend"].(float64)+0.1 {
			t.Errorf("the balance lasts %v days: %v", days, b)
		}
	}
	b := balanceOf(t, s)
	if b["available_balance"] != 0.0 || b["days_left"] != 0.0 || b["message"] == "" {
		t.Errorf("empty: %v", b)
	}
	was := map[string]int64{}
	for _, d := range []string{day, s.Today()} {
		was[d] = spend(truth(s, d))
	}
	if all := was[day]; s.Today() == day && (all < 400_000_000 || all > 420_000_000) {
		t.Errorf("spent %d of 400 dollars", all)
	}
	s.Advance(3 * time.Hour)
	for d, n := range was {
		if got := spend(truth(s, d)); got > n+2_000_000 || got < n-2_000_000 {
			t.Errorf("%s: without funds it went from %d to %d", d, n, got)
		}
	}
	waiting := slices.ContainsFunc(s.CampaignIDs(), func(id string) bool {
		return settingsOf(t, s, id).DeliveryStatus == "waiting_for_funds"
	})
	if !waiting {
		t.Error("no campaign waits for funds")
	}
	if status, got := order(t, s, "POST", "funds", `{"amount":"250.50"}`); status != 200 {
		t.Fatalf("%d %v", status, got)
	}
	if b := balanceOf(t, s); b["available_balance"].(float64) < 150 || b["available_balance"].(float64) > 250.5 ||
		b["status"] == "depleted" {
		t.Errorf("with funds again: %v", b)
	}
	now := s.Today()
	before := spend(truth(s, now))
	s.Advance(2 * time.Hour)
	if got := spend(truth(s, now)); got <= before {
		t.Errorf("with funds again it spends %d, before %d", got, before)
	}
}

// TestFunds_ArePaidByWhatWasChangedOnCommand sets a campaign active that would pause by itself, and later lowers its
// bid.
func TestFunds_ArePaidByWhatWasChangedOnCommand(t *testing.T) {
	s, uncut, plain := prepaid(10_000_000), prepaid(10_000_000), prepaid(10_000_000)
	st := s.Snapshot()
	var id string
	var rest clock.Day // the first day of the pause
	for _, of := range running(t, s) {
		c := st.Campaign(of)
		for d := st.Today + 1; d < st.Today+60 && d+3 < c.Over && c.DeliversOn(st.Today); d++ {
			if c.Status(d) == "paused" && (id == "" || d < rest) {
				id, rest = of, d
			}
		}
	}
	if id == "" {
		t.Fatal("no campaign pauses by itself")
	}
	for _, of := range []*Service{s, uncut} {
		change(t, of, Change{Campaign: id, Force: true, Set: map[string]any{"status": "active",
			"daily_spend_limit": 1_000_000}})
	}
	later(time.Duration(rest-st.Today+1)*24*time.Hour, s, uncut, plain)
	was := spend(of(truth(s, rest.String()), id))
	if alone := spend(of(truth(plain, rest.String()), id)); was == 0 || alone != 0 {
		t.Errorf("on %s it spent %d set active, %d by itself", rest, was, alone)
	}
	bid := millionths(t, settingsOf(t, s, id).DefaultBid)
	change(t, s, Change{Campaign: id, Force: true, Set: map[string]any{"default_bid": money.Exact(bid * 8 / 10)}})
	later(48*time.Hour, s, uncut)
	day := (rest + 2).String()
	cut, whole := total(of(truth(s, day), id)), total(of(truth(uncut, day), id))
	if cut.Clicks >= whole.Clicks || cut.Spend*100 > whole.Spend*75 || cut.Spend*100 < whole.Spend*50 {
		t.Errorf("with a fifth less of its bid: %+v, else %+v", cut, whole)
	}
	if got := spend(of(truth(s, rest.String()), id)); got != was {
		t.Errorf("a day before its bid was lowered: %d, was %d", got, was)
	}
}

func TestFunds_AreTheSameWhateverIsAskedBetween(t *testing.T) {
	sameWhateverIsAsked(t, 7, func(nosy bool) (*Service, any) {
		s := prepaid(900)
		id := newCampaign(t, s)
		approve(t, s, newCreative(t, s, id))
		for i := range 12 {
			s.Advance(11*time.Hour + 3*time.Minute)
			if nosy {
				balanceOf(t, s)
				truth(s, s.Today())
			}
			if i == 6 {
				if err := s.AddFunds(500_000_000); err != nil {
					t.Fatal(err)
				}
			}
		}
		return s, balanceOf(t, s)["available_balance"]
	})
}

func TestFunds_AreRefusedWhereACardPays(t *testing.T) {
	if err := sim(config.Config{}).AddFunds(1); err == nil {
		t.Error("a card account takes a wire")
	}
	s := prepaid(100)
	for _, amount := range []int64{0, -5, 1_000_000_000_000_000 + 1} {
		if err := s.AddFunds(amount); err == nil {
			t.Errorf("%d is taken", amount)
		}
	}
	for _, body := range []string{`{}`, `{"amount":"x"}`, `{"amount":-1}`} {
		if status, _ := order(t, s, "POST", "funds", body); status != 400 {
			t.Errorf("%s: %d", body, status)
		}
	}
}
