package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim"
	"spendsync/schema/schematest"
)

// reviewTakes is how long the simulated reviewer takes in the history test.
const reviewTakes = 2 * time.Hour

// lifeBegins is five in the afternoon in Chicago, on the last day of October and the
// eve of a day of 25 hours: the life crosses a Chicago day, a month, the change of
// the clocks, and 00:00 UTC.
var lifeBegins = time.Date(2026, time.October, 31, 22, 0, 0, 0, time.UTC)

// life is an advertiser's life with a sync every hour, and the diary of it.
type life struct {
	*world
	*hands
	t    *testing.T
	rng  *rand.Rand
	zone *time.Location

	ads    []*ad // his own, oldest first
	given  []*ad // of others; he only looks at them
	icons  []string
	images []string
	number int // of names

	diary    *diary
	spend    spendDiary
	funds    bool // as of the last sync
	emptyFor int  // syncs that saw no funds
	usedUp   bool // the day's budget of changes
	done     map[string]int

	started   time.Time
	grew      int // campaign hours with spending
	unseen    int // campaign hours in which all that was changed was changed back
	deliverys map[string]int
	was       map[*ad]idle
}

// idle is what a campaign had cost today when it did not deliver.
type idle struct {
	day      string
	spent    int64
	delivery string
}

// TestHistory_IsTheDiaryOfWhatWasDone lives as an advertiser does, through REST and
// MCP, syncs every hour, and compares the warehouse with the diary: every version
// of every setting, from when to when, and what every day cost.
// .ci/long lives a month.
func TestHistory_IsTheDiaryOfWhatWasDone(t *testing.T) {
	schematest.Long(t)
	// A busy half of a day, which with this seed has all that a life needs.
	hours, busy := 12, 5
	if days := schematest.Times(0, 0, 30); days > 0 {
		hours, busy = 24*days, 2
	}
	l := newLife(t, 4)
	l.sync(false)
	for range hours {
		l.hour(busy)
	}
	for more := 0; more < 12 && len(l.missing()) > 0; more++ {
		l.hour(busy)
	}
	l.finish()
}

func newLife(t *testing.T, seed int) *life {
	t.Helper()
	t.Logf("seed %d", seed)
	w := newWorld(t, func(c *adsim.Config) {
		c.Campaigns, c.CreativesPerCampaign, c.Sources, c.RowsPerDay = 2, 2, 40, 40
		c.Prepaid = 150_000_000
		c.ReviewTakes, c.ChangeBudgets = reviewTakes, map[string]int{"campaign_update": 60}
	}).withoutMarts()
	w.service.SetNow(lifeBegins)
	w.now, w.transport = w.service.Now, w.service.Transport()
	w.env["REQUESTS_PER_MINUTE"], w.limits.threads = "120", 1
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	l := &life{
		world: w, hands: newHands(w), t: t, zone: zone, rng: rand.New(rand.NewPCG(8, uint64(seed))), diary: newDiary(),
		done: map[string]int{}, deliverys: map[string]int{}, was: map[*ad]idle{}, started: time.Now(),
		spend: spendDiary{read: map[int64]map[string]daySum{}},
	}
	for range 2 {
		l.icons = append(l.icons, l.upload("icon", 32, 32))
		l.images = append(l.images, l.upload("image", 64, 32))
	}
	return l
}

// call and must are those of the hands; the world's must runs a command.
func (l *life) must(op string, in args) map[string]any { l.t.Helper(); return l.hands.must(op, in) }

// hour is one hour: some deeds, each at its minute, and the sync.
func (l *life) hour(busy int) {
	end := l.service.Now().Add(time.Hour)
	for range busy + l.rng.IntN(3) {
		l.wait(time.Duration(3+l.rng.IntN(4)) * time.Minute)
		l.deed()
	}
	if end.UTC().Hour() == 0 && l.useUp() {
		l.done[usedUp]++
	}
	if l.wire() {
		l.done[wired]++
	}
	l.wait(end.Sub(l.service.Now()))
	midnight := end.In(l.zone).Hour() == 0
	l.sync(midnight)
	if midnight {
		l.check()
	}
}

// wait lets time pass, and the reviewer do what is due.
func (l *life) wait(d time.Duration) {
	was := l.service.Now()
	l.service.Advance(d)
	now := l.service.Now()
	if was.UTC().Day() != now.UTC().Day() {
		l.usedUp = false
	}
	for _, a := range l.ads {
		for _, p := range a.creatives {
			if !p.due.IsZero() && !p.due.After(now) {
				l.reviewed(p)
			}
		}
	}
}

// deed changes something: of the deeds that were never done, if one of them can be.
func (l *life) deed() {
	order := l.rng.Perm(len(deeds))
	slices.SortStableFunc(order, func(x, y int) int {
		return min(l.done[deeds[x].what], 1) - min(l.done[deeds[y].what], 1)
	})
	for _, i := range order {
		if deeds[i].do(l) {
			l.done[deeds[i].what]++
			return
		}
	}
	l.t.Fatalf("%s: nothing can be done", l.service.Now())
}

// sync looks at what is not his own, writes the page of the diary, and syncs. Once a
// day everything is read, as a nightly full read does.
func (l *life) sync(full bool) {
	l.t.Helper()
	now := l.service.Now()
	l.funds = l.askFunds()
	report := l.readReport(l.today()-32, l.today())
	f, byID := facts{}, map[string]*ad{}
	l.lookAround()
	for _, a := range l.given {
		l.look(a)
		a.page(f, a.delivery)
		byID[a.id] = a
	}
	for _, a := range l.ads {
		spent := report.spentOn(l.service.Today(), a.id)
		delivery := a.deliveryOf(now, l.funds, spent)
		l.deliverys[delivery]++
		l.checkIdle(a, idle{l.service.Today(), spent, delivery})
		a.page(f, delivery)
		byID[a.id] = a
		page := fmt.Sprint(a.cells(), a.rules())
		if a.undone && page == a.lastPage {
			l.unseen++
		}
		a.undone, a.lastPage = false, page
	}
	listed := func(id string) bool { return !byID[id].hidden }
	asked := func(id string) bool { return !byID[id].hidden && (full || !byID[id].settled) }
	l.diary.write(now, f, asked, listed)
	l.spend.write(now, report)
	for id, a := range byID {
		a.settled = asked(id) && a.status == "archived" || a.settled
		a.seen, a.acted, a.waits = true, false, a.waits && l.deliverys["all_creatives_rejected"] == 0
		for _, p := range a.creatives {
			p.seen = true
		}
	}
	command := []string{"sync"}
	if full {
		command = append(command, "--full")
	}
	l.world.must(command...)
}

// checkIdle holds that nothing is spent by what is not delivered.
func (l *life) checkIdle(a *ad, is idle) {
	l.t.Helper()
	was, known := l.was[a]
	l.was[a] = is
	if !known || was.day != is.day {
		return
	}
	if is.spent > was.spent {
		l.grew++
	}
	// At its limit the last click that was bought may change while the day is open.
	most := int64(0)
	if was.delivery == "daily_limit_reached" {
		most = slices.Max(append(slices.Collect(maps.Values(a.bids)), a.bid))
	}
	if was.delivery != "active" && was.delivery != "scheduled" && is.delivery != "active" && !a.acted &&
		max(is.spent-was.spent, was.spent-is.spent) > most {
		l.t.Errorf("%s: campaign %s is %s and went from %d to %d", l.service.Now(), a.id, is.delivery, was.spent,
			is.spent)
	}
}

// lookAround finds campaigns that are not his own: others have the dashboard, too.
func (l *life) lookAround() {
	l.t.Helper()
	got := l.must("list_campaigns", args{"limit": 100, "status": strings.Fields("active paused archived rejected")})
	for _, m := range got["campaigns"].([]any) {
		id := asText(m.(map[string]any)["id"])
		if !slices.ContainsFunc(slices.Concat(l.ads, l.given), func(a *ad) bool { return a.id == id }) {
			l.given = append(l.given, &ad{id: id})
		}
	}
}

// look asks what there is of a campaign that is not his own.
func (l *life) look(a *ad) {
	l.t.Helper()
	a.take(l.must("get_campaign", args{"campaign_id": a.id}))
	a.takeSources(l.must("get_source_settings", args{"campaign_id": a.id}))
	a.creatives = nil
	got := l.must("list_creatives", args{"campaign_id": a.id, "limit": 100,
		"status": strings.Fields("active paused pending_review rejected draft archived")})
	for _, m := range got["creatives"].([]any) {
		p := &piece{of: a}
		p.take(m.(map[string]any))
		a.creatives = append(a.creatives, p)
	}
}

// finish checks all of it, and that the life had all that it should.
func (l *life) finish() {
	l.t.Helper()
	l.wait(time.Hour)
	l.env["REREAD_AFTER"] = "0s" // the whole reach, once more
	l.sync(true)
	for _, what := range l.missing() {
		l.t.Errorf("never: %s", what)
	}
	l.check()
	l.world.must("verify")
}

// missing is what a whole life has and this one had not yet.
func (l *life) missing() (list []string) {
	for _, d := range deeds {
		if l.done[d.what] == 0 {
			list = append(list, d.what)
		}
	}
	for _, status := range strings.Fields("active paused scheduled rejected archived waiting_for_creatives " +
		"all_creatives_rejected waiting_for_funds daily_limit_reached") {
		if l.deliverys[status] == 0 {
			list = append(list, "a campaign that is "+status+" at a sync")
		}
	}
	if l.grew == 0 {
		list = append(list, "an hour of spending")
	}
	if l.unseen == 0 {
		list = append(list, "a change and its undoing between two syncs, and nothing else")
	}
	if !l.diary.tables[0].has(func(v diaryVersion) bool { return strings.Contains(v.changedCols, ",") }) {
		list = append(list, "two changes between two syncs")
	}
	return list
}

// check compares the warehouse with the diary, and says how much there is of both.
func (l *life) check() {
	l.t.Helper()
	versions := ""
	for _, c := range l.diary.tables {
		versions += fmt.Sprintf("%d of %s, ", c.check(l.t, l.dir), c.name)
	}
	days := l.spend.check(l.world)
	deeds := 0
	for _, n := range l.done {
		deeds += n
	}
	l.t.Logf("%s: %d syncs, %d deeds, %d calls, %s%d days of spend_daily in %s; delivery %v", l.service.Now(),
		len(l.spend.read), deeds, l.calls, versions, days, time.Since(l.started).Round(time.Second), l.deliverys)
	if l.t.Failed() {
		l.t.FailNow()
	}
}
