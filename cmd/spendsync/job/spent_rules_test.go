package job

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/schema"
)

// TestLivesByReport: what the report shows spend of after it was last seen has not ended: spend of the day after that
// may be of the hours before the end and only delays it, and later spend is a failure.
func TestLivesByReport(t *testing.T) {
	today := schema.DateOf(worldNow)
	dir := oneDayStore(t, today-5) // C1000001 and C1000001-001
	for name, c := range map[string]struct {
		today  schema.Date // of the run; 0: the service's
		spent  map[schema.Date][]string
		seen   schema.Date // when it was last seen
		before schema.Date // when the last run confirmed campaigns
		id     string
		ends   bool
		says   bool
	}{
		"no spend": {seen: today - 2, id: "x", ends: true},
		"spend today": {spent: map[schema.Date][]string{today: {"x"}}, seen: today - 2,
			before: today - 1, id: "x", says: true},
		"spend yesterday": {spent: map[schema.Date][]string{today - 1: {"x"}}, seen: today - 3,
			before: today - 2, id: "x", says: true},
		"spend before": {spent: map[schema.Date][]string{today - 2: {"x"}}, seen: today - 4,
			before: today - 3, id: "x", ends: true},
		"spend of both days": {spent: map[schema.Date][]string{today: {"y", "x"}, today - 1: {"x"}},
			seen: today - 2, before: today - 1, id: "x", says: true},
		"seen that day": {spent: map[schema.Date][]string{today: {"x"}}, seen: today,
			before: today - 1, id: "x", ends: true},
		"seen the day before": {spent: map[schema.Date][]string{today: {"x"}}, seen: today - 1,
			before: today - 1, id: "x"},
		"seen by the last run": {spent: map[schema.Date][]string{today: {"x"}}, seen: today - 2,
			before: today - 2, id: "x"},
		"no run between": {spent: map[schema.Date][]string{today: {"x"}}, seen: today - 3,
			before: today, id: "x"},
		"in the stored rows": {today: today - 5, seen: today - 8, before: today - 6, id: "C1000001",
			says: true},
		"a creative in the stored rows": {today: today - 5, seen: today - 8, before: today - 6, id: "C1000001-001",
			says: true},
		"in the stored rows of yesterday": {today: today - 4, seen: today - 8, before: today - 6, id: "C1000001",
			says: true},
		"in rows that have changed": {today: today - 5, spent: map[schema.Date][]string{today - 5: {}},
			seen: today - 8, before: today - 6, id: "C1000001", ends: true},
		"in the stored rows of tomorrow": {today: today - 6, seen: today - 8, before: today - 7, id: "C1000001",
			ends: true},
	} {
		d, end := newDayTest(t, dir, &scriptedReport{day: today - 5})
		d.s.plan.Today = c.today
		if c.today == 0 {
			d.s.plan.Today = today
		}
		at := func(day schema.Date) schema.Instant { return schema.InstantOf(day.Start().Add(12 * time.Hour)) }
		d.s.store.Account().Confirmations = map[string]history.Confirmations{
			schema.CampaignHistory.Name: {ObservedAt: at(c.before), ConfirmedAt: at(c.before)}}
		s := &settings{gone: map[string]schema.Instant{c.id: at(c.seen)}}
		r := &settingsStage{session: d.s, spent: c.spent}
		if err := r.livesByReport(s); err != nil {
			t.Fatal(err)
		}
		_, ends := s.gone[c.id]
		if ends != c.ends || (len(s.failures) == 1) != c.says ||
			c.says && !strings.Contains(s.failures[0].String(), "1 campaign or creative ("+c.id+")") {
			t.Errorf("%s: ends %t, %v", name, ends, s.failures)
		}
		end()
	}
}

// TestReturned: an entity that has ended and has had spend on a later day is back, unless it was read.
func TestReturned(t *testing.T) {
	version := func(id string, gone, current bool) schema.Campaign {
		c := storedCampaign(id)
		c.IsDeleted, c.IsCurrent, c.ValidFrom = gone, current, schema.InstantOf(aDay.Start())
		return c
	}
	rows := []schema.Campaign{version("back", true, true), version("lives", false, true), version("was gone", true,
		false),
		version("read", true, true), version("that day", true, true), version("no spend", true, true)}
	s := &settings{spent: map[string]schema.Date{"back": aDay + 1, "lives": aDay + 1, "was gone": aDay + 1,
		"read":     aDay + 1,
		"that day": aDay}}
	got := returned(schema.CampaignHistory, s, func(c *schema.Campaign) string { return c.CampaignID }, rows,
		[]history.Seen[schema.Campaign]{{Row: version("read", false, true)}})
	if len(got) != 1 || got[0].Row.CampaignID != "back" || !slices.Equal(got[0].Unread,
		schema.CampaignHistory.FieldNames()) ||
		len(s.failures) != 1 || !strings.Contains(s.failures[0].String(), "1 campaign or creative (back)") {
		t.Errorf("%+v, %v", got, s.failures)
	}
	none := &settings{}
	if back := returned(schema.CampaignHistory, none, func(c *schema.Campaign) string { return c.CampaignID }, rows,
		nil); len(back)+len(none.failures) != 0 {
		t.Errorf("%+v, %v", back, none.failures)
	}
}

// TestBudget_Rules: a run reads settings for as long as it may, and for a minute in the last hours of a day that it has
// to read. What it leaves for a day or longer is a failure.
func TestBudget_Rules(t *testing.T) {
	today := schema.DateOf(worldNow)
	last := PlannedDay{DaysLeft: 1}
	for name, c := range map[string]struct {
		left time.Duration // of the day
		read []PlannedDay
		want time.Duration
	}{
		"early":              {lastHours + 1, []PlannedDay{last}, time.Hour},
		"late":               {lastHours, []PlannedDay{{DaysLeft: 9}, last}, time.Minute},
		"no last day":        {lastHours, []PlannedDay{{DaysLeft: 2}}, time.Hour},
		"a proven last day":  {lastHours, []PlannedDay{{DaysLeft: 1, Proven: true}}, time.Hour},
		"nothing to be read": {lastHours, nil, time.Hour},
	} {
		now := today.End().Add(-c.left)
		s := &session{Job: Job{Now: func() time.Time { return now }, SettingsBudget: time.Hour}}
		s.clock, s.plan.Today, s.plan.Read = newClock(s.Now), today, c.read
		b := s.newBudget()
		if b.lasts != c.want || b.spent() {
			t.Errorf("%s: %v, spent %t", name, b.lasts, b.spent())
		}
		if now = now.Add(c.want - 1); b.spent() {
			t.Errorf("%s: it is used up too early", name)
		}
		if now = now.Add(1); !b.spent() {
			t.Errorf("%s: it is never used up", name)
		}
	}
	clock := newClock(atWorldNow)
	hangs := &budget{clock: clock, ends: time.Hour, lasts: time.Millisecond}
	ctx, cancel := hangs.bound(t.Context())
	defer cancel()
	if <-ctx.Done(); !hangs.spent() {
		t.Error("a request that hangs uses nothing up")
	}
	ample := &budget{clock: clock, ends: time.Hour, lasts: time.Hour}
	ctx, cancel = ample.bound(t.Context())
	if cancel(); ctx.Err() == nil || ample.spent() {
		t.Error("a budget is used up by its end")
	}

	n, end := readerOf(t, emptyStore(t), nil)
	defer end()
	for name, c := range map[string]struct {
		age     time.Duration // of the last confirmed read; 0: there was none
		since   schema.Date   // the account's first day of reach
		over    bool          // the budget is used up
		overdue bool
	}{
		"the budget lasts":       {overdueAfter, 1, false, false},
		"a day ago":              {overdueAfter, 1, true, true},
		"less than a day ago":    {overdueAfter - time.Second, 1, true, false},
		"a new account":          {overdueAfter, 0, true, false},
		"never, and long known":  {0, today - schema.ReachDays - 2, true, true},
		"never, and known since": {0, today - schema.ReachDays, true, false},
	} {
		n.read.left, n.read.overdue, n.read.failures = 0, nil, nil
		n.run.store.Account().Since = c.since
		n.budget = &budget{clock: clock, ends: time.Hour, lasts: time.Hour}
		n.budget.over.Store(c.over)
		var due dueCampaign
		if due.Entity = (extract.Entity{ID: "C2"}); c.age > 0 {
			due.confirmed = schema.InstantOf(worldNow.Add(-c.age))
		}
		n.leave(due)
		due.ID = "C1"
		n.leave(due)
		n.noteOverdue()
		want := "0 "
		if c.over {
			want = "2 "
		}
		if c.overdue {
			want += "settings: 2 campaigns not read for a day or longer, for example C1: the budget of 1h0m0s does " +
				"not reach all of them"
		}
		if got := fmt.Sprint(n.read.left, " ", n.said()); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// storedCampaign is a current version of a campaign with a name and a target, that was read in full.
func storedCampaign(id string, edit ...func(*schema.Campaign)) schema.Campaign {
	c := schema.Campaign{CampaignID: id, Name: schema.Some("n"), TargetCPA: schema.Some[schema.Money](5)}
	c.IsCurrent, c.ReadState = true, schema.ReadOK
	for _, e := range edit {
		e(&c)
	}
	return c
}
