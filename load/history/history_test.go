package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spendsync/load/durable"
	"spendsync/schema"
)

// hour is the n-th hour of these tests.
func hour(n int) schema.Instant { return schema.Instant(n) * 3600_000000 }

// hourText is the hour of an instant.
func hourText(i schema.Instant) string {
	if i == schema.Forever {
		return "-"
	}
	return fmt.Sprint(int64(i / hour(1)))
}

// book is a history under test. Every run is followed by the checks that hold
// whatever happens.
type book[R comparable, P Versioned[R]] struct {
	t       *testing.T
	table   schema.TableOf[R]
	tracked []schema.Column
	values  func(*R) string // for show
	h       Versions[R]
	st      Stats

	confirmed map[string]schema.Instant // by key: when the current version was last confirmed
}

// withReadings returns an observation that begins with the confirmations of earlier ones, and those after it.
func withReadings[R any](t schema.TableOf[R], o Observation[R], was map[string]schema.Instant) (Observation[R],
	map[string]schema.Instant) {
	key, next := KeyTextOf(t), map[string]schema.Instant{}
	o.Confirmed = func(r *R) schema.Instant { return was[key(r)] }
	o.Confirm = func(r *R, at schema.Instant) { next[key(r)] = at }
	return o, next
}

func (b *book[R, P]) run(o Observation[R]) {
	b.t.Helper()
	o, confirmed := withReadings(b.table, o, b.confirmed)
	next, st, err := Advance[R, P](b.table, b.tracked, b.h, o)
	if err != nil {
		b.t.Fatalf("hour %s: %v", hourText(o.At), err)
	}
	if err := checkAdvance[R, P](b.table, b.h, next, st); err != nil {
		b.t.Fatalf("hour %s: %v", hourText(o.At), err)
	}
	o, again2 := withReadings(b.table, o, confirmed)
	again, st2, err := Advance[R, P](b.table, b.tracked, next, o)
	if err != nil || st2.Changed {
		b.t.Fatalf("hour %s, replayed: changed %t, %v", hourText(o.At), st2.Changed, err)
	}
	if d := cmp.Diff(next, again); d != "" {
		b.t.Fatalf("hour %s, replayed (-first +again):\n%s", hourText(o.At), d)
	}
	if !maps.Equal(confirmed, again2) {
		b.t.Fatalf("hour %s, replayed: confirmed %v, then %v", hourText(o.At), confirmed, again2)
	}
	b.h, b.st, b.confirmed = next, st, confirmed
}

// refused advances and expects an error that holds the texts.
func (b *book[R, P]) refused(o Observation[R], texts ...string) error {
	b.t.Helper()
	next, st, err := Advance[R, P](b.table, b.tracked, b.h, o)
	if err == nil {
		b.t.Fatalf("accepted; want an error with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			b.t.Errorf("error %q lacks %q", err, text)
		}
	}
	if d := cmp.Diff(b.h, next); d != "" || st != (Stats{}) {
		b.t.Errorf("refused, and yet %+v:\n%s", st, d)
	}
	return err
}

// checkAdvance checks the properties of every advance: the history is consistent, its rows are unchanged if it reports
// so, and every stored row is still there, except for the closing and the filling of current rows.
func checkAdvance[R comparable, P Versioned[R]](t schema.TableOf[R], before, after Versions[R], st Stats) error {
	if err := Check[R, P](t, after); err != nil {
		return err
	}
	if same := slices.Equal(before.Rows, after.Rows); same == st.Changed {
		return fmt.Errorf("rows the same: %t, Changed: %t", same, st.Changed)
	}
	key, now := KeyTextOf(t), map[string]R{}
	id := func(r *R) string { return key(r) + " version " + strconv.FormatInt(P(r).FramePtr().VersionNo, 10) }
	for i := range after.Rows {
		now[id(&after.Rows[i])] = after.Rows[i]
	}
	for i := range before.Rows {
		was := before.Rows[i]
		is, ok := now[id(&was)]
		switch f := P(&was).FramePtr(); {
		case !ok:
			return fmt.Errorf("%s is lost", id(&was))
		case P(&is).FramePtr().ValidFrom != f.ValidFrom:
			return fmt.Errorf("%s began at another time", id(&was))
		case !f.IsCurrent && is != was:
			return fmt.Errorf("%s was closed and has changed", id(&was))
		}
	}
	return nil
}

// show is the history, a version a line:
//
//	c1 v2 [3,-) changed(name) after 2, confirmed 3, ok: B 1.00
func (b *book[R, P]) show() []string {
	key := KeyTextOf(b.table)
	var lines []string
	for i := range b.h.Rows {
		r := &b.h.Rows[i]
		f := P(r).FramePtr()
		s := fmt.Sprintf("%s v%d [%s,%s) %s", key(r), f.VersionNo, hourText(f.ValidFrom), hourText(f.ValidTo),
			f.ChangeType)
		if f.ChangedColumns.Valid {
			s += "(" + f.ChangedColumns.V + ")"
		}
		if f.ChangedAfter.Valid {
			s += " after " + hourText(f.ChangedAfter.V)
		}
		confirmed := hourText(f.LastConfirmedAt)
		if f.IsCurrent {
			confirmed = hourText(b.confirmed[key(r)])
		}
		lines = append(lines, s+fmt.Sprintf(", confirmed %s, %s: %s", confirmed, f.ReadState, b.values(r)))
	}
	return lines
}

func (b *book[R, P]) want(lines ...string) {
	b.t.Helper()
	if d := cmp.Diff(lines, b.show()); d != "" {
		b.t.Errorf("(-want +got):\n%s", d)
	}
}

func textOr(n schema.Null[string]) string {
	if !n.Valid {
		return "NULL"
	}
	return n.V
}

func moneyOr(n schema.Null[schema.Money]) string {
	if !n.Valid {
		return "NULL"
	}
	return n.V.String()
}

// campaigns is a book of campaigns in which only name and default_bid are shown.
func campaigns(t *testing.T) *book[schema.Campaign, *schema.Campaign] {
	return &book[schema.Campaign, *schema.Campaign]{
		t: t, table: schema.CampaignHistory, tracked: schema.CampaignHistory.Tracked(),
		values: func(r *schema.Campaign) string { return textOr(r.Name) + " " + moneyOr(r.DefaultBid) },
	}
}

// campaign is a campaign as read in full.
func campaign(id, name string, bid schema.Money) Seen[schema.Campaign] {
	return Seen[schema.Campaign]{Row: schema.Campaign{
		AccountID: "acme", CampaignID: id, Name: schema.Some(name), DefaultBid: schema.Some(bid * 1_000000),
		Raw: schema.Some(fmt.Sprintf("{%s %d}", name, bid)),
	}}
}

// without is an entity as read without some columns. What the row has there must
// not matter, so it is left.
func without[R any](s Seen[R], columns ...string) Seen[R] {
	s.Unread = append(slices.Clip(s.Unread), columns...)
	return s
}

// unreadable is an entity without a readable tracked column.
func unreadable[R any](t schema.TableOf[R], s Seen[R]) Seen[R] {
	for _, c := range t.Tracked() {
		s.Unread = append(s.Unread, c.Name)
	}
	return s
}

func blindCampaign(id string) Seen[schema.Campaign] {
	return unreadable(schema.CampaignHistory, campaign(id, "left over", 9))
}

// listed is a run whose listing ended: an entity that it did not see is deleted.
func listed[R any](n int, seen ...Seen[R]) Observation[R] {
	o := broken(n, seen...)
	o.Absence = func(*R) Absence { return Gone }
	return o
}

// broken is a run whose listing did not end.
func broken[R any](n int, seen ...Seen[R]) Observation[R] {
	return Observation[R]{
		At: hour(n), RunID: fmt.Sprint("run-", n), Seen: seen, Patience: 2,
		Absence: func(*R) Absence { return Unknown },
	}
}

// reported is a run that saw campaigns in the report alone.
func reported(n int, ids ...string) Observation[schema.Campaign] {
	o := broken[schema.Campaign](n)
	for _, id := range ids {
		o.Stubs = append(o.Stubs, schema.Campaign{AccountID: "acme", CampaignID: id})
	}
	return o
}

type runs = []Observation[schema.Campaign]

// noBid is the campaign with a bid that is NULL.
func noBid(s Seen[schema.Campaign]) Seen[schema.Campaign] {
	s.Row.DefaultBid = schema.Null[schema.Money]{}
	return s
}

// campaignRuns are what runs see of campaigns, and the versions that follow: the rules in words. What else may come is
// drawn by the model.
var campaignRuns = []struct {
	name string
	runs runs
	want []string
}{
	{"first sight/in part", runs{listed(1, without(campaign("c1", "A", 1), "default_bid"))}, []string{
		"c1 v1 [1,-) first_seen, confirmed 1, partial: A NULL"}},
	{"same/in part confirms nothing", runs{listed(1, campaign("c1", "A", 1)),
		listed(2, without(campaign("c1", "A", 9), "default_bid"))}, []string{
		"c1 v1 [1,-) first_seen, confirmed 1, ok: A 1.00"}},
	{"change/of two is one version", runs{listed(1, campaign("c1", "A", 1)), listed(2, campaign("c1", "B", 2))},
		[]string{
			"c1 v1 [1,2) first_seen, confirmed 1, ok: A 1.00",
			"c1 v2 [2,-) changed(default_bid,name) after 1, confirmed 2, ok: B 2.00"}},
	{"change/to NULL and back", runs{listed(1, campaign("c1", "A", 1)), listed(2, noBid(campaign("c1", "A", 1))),
		listed(3, campaign("c1", "A", 1))}, []string{
		"c1 v1 [1,2) first_seen, confirmed 1, ok: A 1.00",
		"c1 v2 [2,3) changed(default_bid) after 1, confirmed 2, ok: A NULL",
		"c1 v3 [3,-) changed(default_bid) after 2, confirmed 3, ok: A 1.00"}},
	{"change/of what was carried unread lies after its own last reading", runs{listed(1, campaign("c1", "A", 1)),
		listed(2, without(campaign("c1", "B", 9), "default_bid")), listed(3, campaign("c1", "B", 2))}, []string{
		"c1 v1 [1,2) first_seen, confirmed 1, ok: A 1.00",
		"c1 v2 [2,3) changed(name) after 1, confirmed 1, ok: B 1.00",
		"c1 v3 [3,-) changed(default_bid) after 1, confirmed 3, ok: B 2.00"}},
	{"unread/for a while and back with another value", runs{listed(1, campaign("c1", "A", 1)),
		listed(2, without(campaign("c1", "A", 9), "default_bid")), listed(3, blindCampaign("c1")),
		listed(4, campaign("c1", "A", 2))}, []string{
		"c1 v1 [1,4) first_seen, confirmed 1, ok: A 1.00",
		"c1 v2 [4,-) changed(default_bid) after 1, confirmed 4, ok: A 2.00"}},
	{"first read/of what was unreadable", runs{listed(1, blindCampaign("c1")), listed(2, campaign("c1", "A", 1))},
		[]string{
			"c1 v1 [1,-) first_read, confirmed 2, ok: A 1.00"}},
	{"first read/beside a change is in the new version, and not among its changes",
		runs{listed(1, without(campaign("c1", "A", 1), "default_bid")), listed(2, campaign("c1", "B", 1))},
		[]string{
			"c1 v1 [1,2) first_seen, confirmed 1, partial: A NULL",
			"c1 v2 [2,-) changed(name) after 1, confirmed 2, ok: B 1.00"}},
	{"absent/once and back", runs{listed(1, campaign("c1", "A", 1)), listed[schema.Campaign](2),
		listed(3, campaign("c1", "A", 1)), listed[schema.Campaign](4)}, []string{
		"c1 v1 [1,-) first_seen, confirmed 3, ok: A 1.00"}},
	{"absent/twice", runs{listed(1, campaign("c1", "A", 1)), listed[schema.Campaign](2),
		listed[schema.Campaign](3)}, []string{
		"c1 v1 [1,3) first_seen, confirmed 1, ok: A 1.00",
		"c1 v2 [3,-) deleted after 1, confirmed 3, ok: A 1.00"}},
	{"absent/twice with a broken listing between", runs{listed(1, campaign("c1", "A", 1)),
		listed[schema.Campaign](2), broken[schema.Campaign](3), listed[schema.Campaign](4)}, []string{
		"c1 v1 [1,4) first_seen, confirmed 1, ok: A 1.00",
		"c1 v2 [4,-) deleted after 1, confirmed 4, ok: A 1.00"}},
	{"return/otherwise", runs{listed(1, campaign("c1", "A", 1)), listed[schema.Campaign](2),
		listed[schema.Campaign](3), listed(4, campaign("c1", "B", 1))}, []string{
		"c1 v1 [1,3) first_seen, confirmed 1, ok: A 1.00",
		"c1 v2 [3,4) deleted after 1, confirmed 3, ok: A 1.00",
		"c1 v3 [4,-) restored(name) after 3, confirmed 4, ok: B 1.00"}},
	{"return/unreadable, and then a change", runs{listed(1, campaign("c1", "A", 1)), listed[schema.Campaign](2),
		listed[schema.Campaign](3), listed(4, blindCampaign("c1")), listed(5, campaign("c1", "A", 2))}, []string{
		"c1 v1 [1,3) first_seen, confirmed 1, ok: A 1.00",
		"c1 v2 [3,4) deleted after 1, confirmed 3, ok: A 1.00",
		"c1 v3 [4,5) restored after 3, confirmed 1, ok: A 1.00",
		"c1 v4 [5,-) changed(default_bid) after 1, confirmed 5, ok: A 2.00"}},
	{"stub/is in no listing", runs{reported(1, "c1"), listed[schema.Campaign](2), listed[schema.Campaign](3)},
		[]string{
			"c1 v1 [1,-) stub, confirmed 1, stub: NULL NULL"}},
	{"stub/read later", runs{reported(1, "c1"), listed(2, campaign("c1", "A", 1))}, []string{
		"c1 v1 [1,-) first_read, confirmed 2, ok: A 1.00"}},
	{"stub/listed and unreadable can go", runs{reported(1, "c1"), listed(2, blindCampaign("c1")),
		listed[schema.Campaign](3), listed[schema.Campaign](4)}, []string{
		"c1 v1 [1,4) stub, confirmed 1, unreadable: NULL NULL",
		"c1 v2 [4,-) deleted after 1, confirmed 4, unreadable: NULL NULL"}},
	{"nothing seen", runs{listed(1, campaign("c1", "A", 1)), {At: hour(2), RunID: "run-2"},
		listed(3, campaign("c1", "B", 1))}, []string{
		"c1 v1 [1,3) first_seen, confirmed 1, ok: A 1.00",
		"c1 v2 [3,-) changed(name) after 1, confirmed 3, ok: B 1.00"}},
}

func TestHistory_Campaigns(t *testing.T) {
	for _, c := range campaignRuns {
		t.Run(c.name, func(t *testing.T) {
			b := campaigns(t)
			for _, o := range c.runs {
				b.run(o)
			}
			b.want(c.want...)
		})
	}
}

// TestHistory_LongReading: a value may have been true at any moment of the reading, so a version counts from its end
// and a confirmation from its start.
func TestHistory_LongReading(t *testing.T) {
	b := campaigns(t)
	for _, r := range []struct {
		from, to int
		name     string
	}{{1, 2, "A"}, {3, 5, "A"}, {6, 8, "B"}} {
		o := listed(r.to, campaign("c1", r.name, 1))
		o.Since = hour(r.from)
		b.run(o)
	}
	b.want(
		"c1 v1 [2,8) first_seen, confirmed 3, ok: A 1.00",
		"c1 v2 [8,-) changed(name) after 3, confirmed 6, ok: B 1.00",
	)
	o := listed(9, campaign("c1", "B", 1))
	o.Since = hour(4) // started before the last one, which confirmed more
	b.run(o)
	b.want(
		"c1 v1 [2,8) first_seen, confirmed 3, ok: A 1.00",
		"c1 v2 [8,-) changed(name) after 3, confirmed 6, ok: B 1.00",
	)
	o.Since = hour(10)
	b.refused(o, hour(9).String(), hour(10).String())
}

func TestHistory_Replays(t *testing.T) {
	b := campaigns(t)
	b.run(listed(1, campaign("c1", "A", 1), campaign("c2", "B", 2)))
	b.run(listed(3, campaign("c1", "A", 1)))
	// book.run has replayed each of these already: c2 is missed once, not twice.
	if got := b.h.Memory.Missed["c2"]; got != 1 {
		t.Errorf("missed %d times", got)
	}
	b.refused(listed(2, campaign("c1", "A", 1)), "clock", hour(2).String(), hour(3).String())
	b.refused(listed(3, campaign("c1", "Z", 1)), `"c1"`, hour(3).String(), "other values")
	b.run(listed(3, campaign("c1", "A", 1), campaign("c3", "C", 3)))
	b.want(
		"c1 v1 [1,-) first_seen, confirmed 3, ok: A 1.00",
		"c2 v1 [1,-) first_seen, confirmed 1, ok: B 2.00",
		"c3 v1 [3,-) first_seen, confirmed 3, ok: C 3.00",
	)
}

func TestHistory_RefusesWhatItCannotJudge(t *testing.T) {
	b := campaigns(t)
	b.run(listed(1, campaign("c1", "A", 1)))
	b.refused(listed(2, campaign("c1", "A", 1), campaign("c1", "A", 1)), "campaign_history", `"c1"`, "twice")
	b.refused(listed(2, without(campaign("c1", "A", 1), "nmae")), `"c1"`, `"nmae"`)
	b.refused(listed(2, without(campaign("c1", "A", 1), "campaign_id")), `"campaign_id"`)
	b.refused(listed(2, without(campaign("c1", "A", 1), "valid_from")), `"valid_from"`)
	o := listed[schema.Campaign](2)
	o.Patience = 0
	b.refused(o, "patience of 0")
	b.h.Memory = Memory{}
	if err := b.refused(listed(2, campaign("c1", "A", 1)), `"c1"`); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("rows without their memory: %v", err)
	}
}

// rules is a book of source rules. A campaign's rules are read together, so one absence ends a rule; if its bids could
// not be read, they are unknown.
func rules(t *testing.T) *book[schema.SourceRule, *schema.SourceRule] {
	return &book[schema.SourceRule, *schema.SourceRule]{
		t: t, table: schema.SourceRuleHistory, tracked: schema.SourceRuleHistory.Tracked(),
		values: func(r *schema.SourceRule) string { return moneyOr(r.Bid) },
	}
}

func blocked(campaign, source string) Seen[schema.SourceRule] {
	return Seen[schema.SourceRule]{Row: schema.SourceRule{AccountID: "acme", CampaignID: campaign, SourceID: source,
		Rule: schema.RuleBlocked}}
}

func bid(campaign, source string, bid schema.Money) Seen[schema.SourceRule] {
	return Seen[schema.SourceRule]{Row: schema.SourceRule{
		AccountID: "acme", CampaignID: campaign, SourceID: source, Rule: schema.RuleBid,
		Bid: schema.Some(bid * 1_000000),
	}}
}

// rulesRead is a run that read the rules of campaign c1, with its bids or without.
func rulesRead(n int, bids bool, seen ...Seen[schema.SourceRule]) Observation[schema.SourceRule] {
	o := listed(n, seen...)
	o.Patience = 1
	o.Absence = func(r *schema.SourceRule) Absence {
		if r.CampaignID != "c1" || (r.Rule == schema.RuleBid && !bids) {
			return Unknown
		}
		return Gone
	}
	return o
}

func TestHistory_SourceRules(t *testing.T) {
	b := rules(t)
	b.run(rulesRead(1, true, blocked("c1", "s/1"), bid("c1", "s2", 1), bid("c2", "s2", 7)))
	b.run(rulesRead(2, false, blocked("c1", "s/1")))                    // the bids could not be read
	b.run(rulesRead(3, true, blocked("c1", "s/1"), bid("c1", "s2", 1))) // and are back the same
	b.run(rulesRead(4, true, bid("c1", "s2", 2)))                       // unblocked, and another bid
	b.run(rulesRead(5, true, bid("c1", "s2", 2)))
	b.run(rulesRead(6, true, blocked("c1", "s/1"))) // blocked again, the bid ended
	b.run(rulesRead(7, false, blocked("c1", "s/1")))
	b.want(
		"c1/s~11/blocked v1 [1,4) first_seen, confirmed 3, ok: NULL",
		"c1/s~11/blocked v2 [4,6) deleted after 3, confirmed 5, ok: NULL",
		"c1/s~11/blocked v3 [6,-) restored after 5, confirmed 7, ok: NULL",
		"c1/s2/bid_override v1 [1,4) first_seen, confirmed 3, ok: 1.00",
		"c1/s2/bid_override v2 [4,6) changed(bid) after 3, confirmed 5, ok: 2.00",
		"c1/s2/bid_override v3 [6,-) deleted after 5, confirmed 6, ok: 2.00",
		"c2/s2/bid_override v1 [1,-) first_seen, confirmed 1, ok: 7.00",
	)
}

// TestHistory_RefreshedColumns: an image's address is the newest known. It makes no version, and if the report lacks
// it, the known one stays.
func TestHistory_RefreshedColumns(t *testing.T) {
	table := schema.CreativeHistory
	b := &book[schema.Creative, *schema.Creative]{
		t: t, table: table, tracked: table.Tracked(),
		values: func(r *schema.Creative) string {
			return textOr(r.Title) + " " + textOr(r.ImageURL) + " " + textOr(r.Raw) + " " + r.RunID
		},
	}
	refreshed := table.ColumnsThatAre(schema.Refreshed)
	see := func(n int, title, image string) {
		s := Seen[schema.Creative]{Row: schema.Creative{
			AccountID: "acme", CreativeID: "k1", Title: schema.Some(title), ImageURL: schema.Some(image),
			Raw: schema.Some(fmt.Sprint("raw-", n)),
		}}
		if image == "" {
			s = without(s, "image_url", "icon_url")
		}
		o := listed(n, s)
		o.Refreshed = refreshed
		b.run(o)
	}
	see(1, "A", "")
	see(2, "A", "img1")
	b.want("k1 v1 [1,-) first_seen, confirmed 2, ok: A img1 raw-1 run-2")
	if want := (Stats{Changed: true, Refreshed: 1, Confirmed: 1}); b.st != want {
		t.Errorf("got %+v, want %+v", b.st, want)
	}
	see(3, "A", "img1")
	see(4, "A", "")
	b.want("k1 v1 [1,-) first_seen, confirmed 4, ok: A img1 raw-1 run-2")
	see(5, "B", "")
	see(6, "B", "img2")
	b.want(
		"k1 v1 [1,5) first_seen, confirmed 4, ok: A img1 raw-1 run-5",
		"k1 v2 [5,-) changed(title) after 4, confirmed 6, ok: B img2 raw-5 run-6",
	)
}

// TestAdvance_FillsRaw: a reading that has gained a key gives the current version its JSON, and makes no version.
func TestAdvance_FillsRaw(t *testing.T) {
	b := campaigns(t)
	observe := func(at int, name, raw string, fills bool) {
		t.Helper()
		o := listed(at, campaign("c1", name, 1))
		o.Seen[0].Row.Raw, o.Seen[0].FillsRaw = schema.Some(raw), fills
		b.run(o)
	}
	observe(1, "A", "1", false)
	observe(2, "A", "2", true)
	observe(3, "A", "3", false)
	observe(4, "B", "4", true)
	var got []string
	for _, r := range b.h.Rows {
		got = append(got, fmt.Sprintf("%d %s %q %s", r.VersionNo, r.ChangeType, r.ChangedColumns.V, r.Raw.V))
	}
	want := []string{`1 first_seen "" 2`, `2 changed "name" 4`}
	if !slices.Equal(got, want) {
		t.Errorf("versions %q, want %q", got, want)
	}
}
