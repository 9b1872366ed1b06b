package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim"
	"spendsync/load"
	"spendsync/schema"
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
	given  []*ad // there before him; he only looks at them
	icons  []string
	images []string
	number int // of names

	diary  *diary
	spend  spendDiary
	funds  bool
	usedUp bool // the day's budget of changes
	done   map[string]int

	started   time.Time
	stayed    int // hours in which changes were undone
	grew      int // campaign hours with spending
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
// SPENDSYNC_TEST_HISTORY_DAYS=30 lives a month.
func TestHistory_IsTheDiaryOfWhatWasDone(t *testing.T) {
	skipShort(t)
	hours, busy := 14, 5
	if v := os.Getenv("SPENDSYNC_TEST_HISTORY_DAYS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			t.Fatalf("SPENDSYNC_TEST_HISTORY_DAYS=%s is not a number of days", v)
		}
		hours, busy = 24*n, 2
	}
	l := newLife(t)
	l.sync(false)
	for range hours {
		l.hour(busy)
	}
	l.finish()
}

func newLife(t *testing.T) *life {
	t.Helper()
	w := makeWorld(t, func(c *adsim.Config) {
		c.Campaigns, c.CreativesPerCampaign, c.Sources, c.RowsPerDay = 2, 2, 40, 40
		c.ReviewTakes, c.ChangeBudgets = reviewTakes, map[string]int{"campaign_update": 60}
	})
	w.service.SetNow(lifeBegins)
	w.now, w.transport = w.service.Now, w.service.Transport()
	w.env["REQUESTS_PER_MINUTE"], w.env["DUCKDB_THREADS"] = "120", "1"
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	l := &life{
		world: w, hands: newHands(w), t: t, zone: zone, rng: rand.New(rand.NewPCG(8, 8)), diary: newDiary(), funds: true,
		done: map[string]int{}, deliverys: map[string]int{}, was: map[*ad]idle{}, started: time.Now(),
		spend: spendDiary{read: map[int64]map[string]daySum{}},
	}
	for _, id := range w.service.CampaignIDs() {
		l.given = append(l.given, &ad{id: id})
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
	l.wait(end.Sub(l.service.Now()))
	l.sync(end.In(l.zone).Hour() == 0)
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

// deed does one thing: of those that were never done, if one of them can be.
func (l *life) deed() {
	order := l.rng.Perm(len(deeds))
	slices.SortStableFunc(order, func(x, y int) int { return min(l.done[deeds[x].what], 1) - min(l.done[deeds[y].what], 1) })
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
	report := l.readReport(l.today()-32, l.today())
	f, byID := facts{}, map[string]*ad{}
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
	if was.delivery != "active" && is.delivery != "active" && !a.acted && is.spent != was.spent {
		l.t.Errorf("%s: campaign %s is %s and went from %d to %d", l.service.Now(), a.id, is.delivery, was.spent, is.spent)
	}
}

// look asks what there is of a campaign that is not his own.
func (l *life) look(a *ad) {
	l.t.Helper()
	a.take(l.must("get_campaign", args{"campaign_id": a.id}))
	a.takeSources(l.must("get_source_settings", args{"campaign_id": a.id}))
	a.creatives = nil
	got := l.must("list_creatives", args{"campaign_id": a.id, "limit": 100, "status": strings.Fields("active paused pending_review rejected draft archived")})
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
	for _, d := range deeds {
		if l.done[d.what] == 0 {
			l.t.Errorf("never done: %s", d.what)
		}
	}
	for _, status := range strings.Fields("active paused scheduled rejected archived waiting_for_creatives all_creatives_rejected waiting_for_funds daily_limit_reached") {
		if l.deliverys[status] == 0 {
			l.t.Errorf("no campaign was ever %s at a sync", status)
		}
	}
	if l.grew == 0 || l.stayed == 0 {
		l.t.Errorf("%d hours of spending, %d with a change undone", l.grew, l.stayed)
	}
	versions := ""
	for _, c := range l.diary.tables {
		versions += fmt.Sprintf("%d of %s, ", c.check(l.t, l.dir), c.name)
	}
	rows := l.spend.check(l.world)
	l.world.must("verify")
	deeds := 0
	for _, n := range l.done {
		deeds += n
	}
	l.t.Logf("%d syncs, %d deeds, %d calls, %s%d days of spend_daily in %s; delivery %v", len(l.spend.read), deeds, l.calls, versions, rows, time.Since(l.started).Round(time.Second), l.deliverys)
}

// reportLine is a row of the report as the diary spells it.
type reportLine struct {
	date, campaign, text string
	spend, clicks, convs int64
}

type reportRead []reportLine

func (r reportRead) spentOn(day, campaign string) (sum int64) {
	for _, line := range r {
		if line.date == day && line.campaign == campaign {
			sum += line.spend
		}
	}
	return sum
}

// readReport reads the report with the test's own hands.
func (l *life) readReport(from, to schema.Date) (out reportRead) {
	l.t.Helper()
	url := fmt.Sprintf("%s/ads/spend-report?start_date=%s&end_date=%s&include_creatives=true&page_size=10000&columns=date,campaign_id,campaign_name,creative_id,source_id,total_spend,clicks,impressions,conversions", l.env["REPORT_URL"], from, to)
	raw := l.asAnalyst(url)
	var page struct {
		Data       []map[string]any
		Pagination struct {
			Pages int `json:"total_pages"`
		}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&page); err != nil || page.Pagination.Pages > 1 {
		l.t.Fatalf("the report has %d pages, %v: %.200s", page.Pagination.Pages, err, raw)
	}
	for _, m := range page.Data {
		line := reportLine{date: asText(m["date"]), campaign: asText(m["campaign_id"]), spend: amount(m["total_spend"])}
		line.clicks, _ = m["clicks"].(json.Number).Int64()
		line.convs, _ = m["conversions"].(json.Number).Int64()
		line.text = strings.Join([]string{line.campaign, asText(m["creative_id"]), asText(m["source_id"]), asText(m["campaign_name"]), inDollars(line.spend).String(),
			fmt.Sprint(m["clicks"]), fmt.Sprint(m["impressions"]), fmt.Sprint(m["conversions"])}, "|")
		out = append(out, line)
	}
	return out
}

// asAnalyst asks the report.
func (l *life) asAnalyst(url string) []byte {
	l.t.Helper()
	h := *l.hands
	h.rest = l.service.Transport()
	return h.fetch(http.MethodGet, url, nil, func(r *http.Request) { r.SetBasicAuth(adsim.DefaultUser, adsim.DefaultPassword) })
}

// spendDiary is what every read of the report said of every day.
type spendDiary struct {
	read map[int64]map[string]daySum // by instant, in microseconds, and day
}

// daySum is a day as it was read.
type daySum struct {
	hash                     [32]byte // of its rows, sorted
	rows                     int
	spend, clicks, converted int64
}

func sumOf(lines []reportLine) (s daySum) {
	var texts []string
	for _, line := range lines {
		texts = append(texts, line.text)
		s.rows++
		s.spend += line.spend
		s.clicks += line.clicks
		s.converted += line.convs
	}
	slices.Sort(texts)
	s.hash = sha256.Sum256([]byte(strings.Join(texts, "\n")))
	return s
}

func (d *spendDiary) write(at time.Time, report reportRead) {
	byDay := map[string][]reportLine{}
	for _, line := range report {
		byDay[line.date] = append(byDay[line.date], line)
	}
	page := map[string]daySum{}
	for day, lines := range byDay {
		page[day] = sumOf(lines)
	}
	d.read[at.UnixMicro()] = page
}

// check compares every day with what the report said when it was read last, and
// what it said when the day was over, plus all restatements.
func (d *spendDiary) check(w *world) (days int) {
	w.t.Helper()
	stored := d.stored(w)
	changed := d.changed(w)
	a, err := load.Query(w.t.Context(), w.dir, "SELECT c.report_date, epoch_us(c.last_read_at), epoch_us(k.ends_at) FROM ops.day_coverage c JOIN calendar k USING (account_id, report_date) WHERE c.state IN ('open', 'complete', 'final')")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range a.Rows {
		day := r[0].V
		last, over := microsOf(r[1].V), microsOf(r[2].V)
		want, is := d.read[last][day]
		if got := stored[day]; !is || got != want {
			w.t.Errorf("%s, read last at %d: %d rows, spend %d, clicks %d, conversions %d; the report said %d, %d, %d, %d", day, last, got.rows, got.spend, got.clicks, got.converted, want.rows, want.spend, want.clicks, want.converted)
		}
		first := int64(math.MaxInt64) // the first read after the day was over
		for at := range d.read {
			if at >= over {
				first = min(first, at)
			}
		}
		if base, is := d.read[first][day]; is {
			c := changed[day]
			if got := (daySum{spend: base.spend + c.spend, clicks: base.clicks + c.clicks, converted: base.converted + c.converted}); got.spend != want.spend || got.clicks != want.clicks || got.converted != want.converted {
				w.t.Errorf("%s: over it had %d, %d, %d, and the restatements add %d, %d, %d: that is not %d, %d, %d", day, base.spend, base.clicks, base.converted, c.spend, c.clicks, c.converted, want.spend, want.clicks, want.converted)
			}
		}
		days++
	}
	if want := d.days(); days != len(want) {
		w.t.Errorf("%d days are covered, the diary has %d", days, len(want))
	}
	return days
}

func (d *spendDiary) days() map[string]bool {
	all := map[string]bool{}
	for _, days := range d.read {
		for day := range days {
			all[day] = true
		}
	}
	return all
}

// stored are the days of the warehouse.
func (d *spendDiary) stored(w *world) map[string]daySum {
	w.t.Helper()
	a, err := load.Query(w.t.Context(), w.dir, "SELECT report_date, campaign_id, creative_id, source_id, campaign_name, spend, clicks, impressions, conversions FROM spend_daily")
	if err != nil {
		w.t.Fatal(err)
	}
	byDay := map[string][]reportLine{}
	for _, r := range a.Rows {
		var cells []string
		for _, c := range r {
			cells = append(cells, c.V)
		}
		line := reportLine{text: strings.Join(cells[1:], "|"), spend: amount(json.Number(cells[5]))}
		line.clicks, _ = strconv.ParseInt(cells[6], 10, 64)
		line.convs, _ = strconv.ParseInt(cells[8], 10, 64)
		byDay[cells[0]] = append(byDay[cells[0]], line)
	}
	out := map[string]daySum{}
	for day, lines := range byDay {
		out[day] = sumOf(lines)
	}
	return out
}

// changed are the restatements of the days, added up.
func (d *spendDiary) changed(w *world) map[string]daySum {
	w.t.Helper()
	a, err := load.Query(w.t.Context(), w.dir, `SELECT report_date, (1000000 * sum(coalesce(new_spend, 0) - coalesce(old_spend, 0)))::BIGINT, sum(coalesce(new_clicks, 0) - coalesce(old_clicks, 0)),
		sum(coalesce(new_conversions, 0) - coalesce(old_conversions, 0)) FROM spend_change GROUP BY 1`)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]daySum{}
	for _, r := range a.Rows {
		var s daySum
		for i, into := range []*int64{&s.spend, &s.clicks, &s.converted} {
			if *into, err = strconv.ParseInt(r[i+1].V, 10, 64); err != nil {
				w.t.Fatal(err)
			}
		}
		out[r[0].V] = s
	}
	return out
}

func microsOf(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}
