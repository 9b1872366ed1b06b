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

// hour returns the n-th hour of these tests.
func hour(n int) schema.Instant { return schema.Instant(n) * 3600_000000 }

// hourText returns the hour of an instant as text.
func hourText(i schema.Instant) string {
	if i == schema.Forever {
		return "-"
	}
	return fmt.Sprint(int64(i / hour(1)))
}

// book is a history of campaigns under test. After every run it checks the properties that must always hold.
type book struct {
	t         *testing.T
	table     schema.TableOf[schema.Campaign]
	h         Versions[schema.Campaign]
	confirmed map[string]schema.Instant // by key: when the current version was last confirmed
}

func campaigns(t *testing.T) *book { return &book{t: t, table: schema.CampaignHistory} }

// withReadings returns an observation that uses the confirmations of earlier observations, and a map that receives the
// new confirmations.
func withReadings[R any](t schema.TableOf[R], o Observation[R], was map[string]schema.Instant) (Observation[R],
	map[string]schema.Instant) {
	key, next := KeyTextOf(t), map[string]schema.Instant{}
	o.Confirmed = func(r *R) schema.Instant { return was[key(r)] }
	o.Confirm = func(r *R, at schema.Instant) { next[key(r)] = at }
	return o, next
}

func (b *book) run(o Observation[schema.Campaign]) {
	b.t.Helper()
	o, confirmed := withReadings(b.table, o, b.confirmed)
	next, st, err := Advance(b.table, b.table.Tracked(), b.h, o)
	if err != nil {
		b.t.Fatalf("hour %s: %v", hourText(o.At), err)
	}
	if err := checkAdvance(b.table, b.h, next, st); err != nil {
		b.t.Fatalf("hour %s: %v", hourText(o.At), err)
	}
	o, again2 := withReadings(b.table, o, confirmed)
	again, st2, err := Advance(b.table, b.table.Tracked(), next, o)
	if err != nil || st2.Changed {
		b.t.Fatalf("hour %s, replayed: changed %t, %v", hourText(o.At), st2.Changed, err)
	}
	if d := cmp.Diff(next, again); d != "" {
		b.t.Fatalf("hour %s, replayed (-first +again):\n%s", hourText(o.At), d)
	}
	if !maps.Equal(confirmed, again2) {
		b.t.Fatalf("hour %s, replayed: confirmed %v, then %v", hourText(o.At), confirmed, again2)
	}
	b.h, b.confirmed = next, confirmed
}

// refused advances and expects an error that contains the texts.
func (b *book) refused(o Observation[schema.Campaign], texts ...string) error {
	b.t.Helper()
	next, st, err := Advance(b.table, b.table.Tracked(), b.h, o)
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

// checkAdvance checks the properties of every advance: the history is consistent, the rows are unchanged unless
// Stats.Changed is set, and every stored row is kept, except that current rows may be closed or completed.
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

// show returns the versions of the history as text, one line a version, for example
//
//	c1 v2 [3,-) changed(name) after 2, confirmed 3, ok: B 1.00
func (b *book) show() []string {
	key := KeyTextOf(b.table)
	var lines []string
	for i := range b.h.Rows {
		r := &b.h.Rows[i]
		f := r.FramePtr()
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
		lines = append(lines, s+fmt.Sprintf(", confirmed %s, %s: %s", confirmed, f.ReadState, valuesOf(r)))
	}
	return lines
}

func (b *book) want(lines ...string) {
	b.t.Helper()
	if d := cmp.Diff(lines, b.show()); d != "" {
		b.t.Errorf("(-want +got):\n%s", d)
	}
}

// valuesOf returns the name and the bid of a campaign as text.
func valuesOf(r *schema.Campaign) string {
	name, bid := "NULL", "NULL"
	if r.Name.Valid {
		name = r.Name.V
	}
	if r.DefaultBid.Valid {
		bid = r.DefaultBid.V.String()
	}
	return name + " " + bid
}

// campaign returns a campaign that was read in full.
func campaign(id, name string, bid schema.Money) Seen[schema.Campaign] {
	return Seen[schema.Campaign]{Row: schema.Campaign{
		AccountID: "acme", CampaignID: id, Name: schema.Some(name), DefaultBid: schema.Some(bid * 1_000000),
		Raw: schema.Some(fmt.Sprintf("{%s %d}", name, bid)),
	}}
}

// without returns an entity with some columns unread. The row keeps its values in these columns, because Advance must
// ignore them.
func without[R any](s Seen[R], columns ...string) Seen[R] {
	s.Unread = append(slices.Clip(s.Unread), columns...)
	return s
}

// blindCampaign returns a campaign of which no tracked column could be read.
func blindCampaign(id string) Seen[schema.Campaign] {
	s := campaign(id, "left over", 9)
	for _, c := range schema.CampaignHistory.Tracked() {
		s.Unread = append(s.Unread, c.Name)
	}
	return s
}

// listed returns an observation with a complete listing: an entity that the listing lacks counts as missing.
func listed[R any](n int, seen ...Seen[R]) Observation[R] {
	o := broken(n, seen...)
	o.Absence = func(*R) Absence { return Gone }
	return o
}

// broken returns an observation with an incomplete listing.
func broken[R any](n int, seen ...Seen[R]) Observation[R] {
	return Observation[R]{
		At: hour(n), RunID: fmt.Sprint("run-", n), Seen: seen, Patience: 2,
		Absence: func(*R) Absence { return Unknown },
	}
}

// reported returns an observation of campaigns that only the report names.
func reported(n int, ids ...string) Observation[schema.Campaign] {
	o := broken[schema.Campaign](n)
	for _, id := range ids {
		o.Stubs = append(o.Stubs, schema.Campaign{AccountID: "acme", CampaignID: id})
	}
	return o
}

type runs = []Observation[schema.Campaign]

// campaignRuns are observations of campaigns with the resulting versions, as examples of the rules.
// TestHistory_IsAsTheModelSays tests random observations.
var campaignRuns = []struct {
	name string
	runs runs
	want []string
}{
	{"first sight/in part", runs{listed(1, without(campaign("c1", "A", 1), "default_bid"))}, []string{
		"c1 v1 [1,-) first_seen, confirmed 1, partial: A NULL"}},
	{"change/of two is one version", runs{listed(1, campaign("c1", "A", 1)), listed(2, campaign("c1", "B", 2))},
		[]string{
			"c1 v1 [1,2) first_seen, confirmed 1, ok: A 1.00",
			"c1 v2 [2,-) changed(default_bid,name) after 1, confirmed 2, ok: B 2.00"}},
	{"unread/for a while and back with another value", runs{listed(1, campaign("c1", "A", 1)),
		listed(2, without(campaign("c1", "A", 9), "default_bid")), listed(3, blindCampaign("c1")),
		listed(4, campaign("c1", "A", 2))}, []string{
		"c1 v1 [1,4) first_seen, confirmed 1, ok: A 1.00",
		"c1 v2 [4,-) changed(default_bid) after 1, confirmed 4, ok: A 2.00"}},
	{"first read/of what was unreadable", runs{listed(1, blindCampaign("c1")), listed(2, campaign("c1", "A", 1))},
		[]string{
			"c1 v1 [1,-) first_read, confirmed 2, ok: A 1.00"}},
	{"absent/once and back", runs{listed(1, campaign("c1", "A", 1)), listed[schema.Campaign](2),
		listed(3, campaign("c1", "A", 1)), listed[schema.Campaign](4)}, []string{
		"c1 v1 [1,-) first_seen, confirmed 3, ok: A 1.00"}},
	{"absent/twice", runs{listed(1, campaign("c1", "A", 1)), listed[schema.Campaign](2),
		listed[schema.Campaign](3)}, []string{
		"c1 v1 [1,3) first_seen, confirmed 1, ok: A 1.00",
		"c1 v2 [3,-) deleted after 1, confirmed 3, ok: A 1.00"}},
	{"return/otherwise", runs{listed(1, campaign("c1", "A", 1)), listed[schema.Campaign](2),
		listed[schema.Campaign](3), listed(4, campaign("c1", "B", 1))}, []string{
		"c1 v1 [1,3) first_seen, confirmed 1, ok: A 1.00",
		"c1 v2 [3,4) deleted after 1, confirmed 3, ok: A 1.00",
		"c1 v3 [4,-) restored(name) after 3, confirmed 4, ok: B 1.00"}},
	{"stub/read later", runs{reported(1, "c1"), listed(2, campaign("c1", "A", 1))}, []string{
		"c1 v1 [1,-) first_read, confirmed 2, ok: A 1.00"}},
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

func TestHistory_RefusesWhatItCannotJudge(t *testing.T) {
	b := campaigns(t)
	b.run(listed(1, campaign("c1", "A", 1)))
	b.refused(listed(2, campaign("c1", "A", 1), campaign("c1", "A", 1)), "campaign_history", `"c1"`, "twice")
	b.refused(listed(2, without(campaign("c1", "A", 1), "nmae")), `"c1"`, `"nmae"`)
	b.refused(listed(2, without(campaign("c1", "A", 1), "campaign_id")), `"campaign_id"`)
	b.refused(listed(2, without(campaign("c1", "A", 1), "valid_from")), `"valid_from"`)
	b.refused(listed(0, campaign("c1", "A", 1)), "clock", hour(0).String(), hour(1).String())
	b.refused(listed(1, campaign("c1", "Z", 1)), `"c1"`, hour(1).String(), "other values")
	o := listed(2, campaign("c1", "B", 1))
	o.Since = hour(3)
	b.refused(o, hour(2).String(), hour(3).String())
	o = listed[schema.Campaign](2)
	o.Patience = 0
	b.refused(o, "patience of 0")
	b.h.Memory = Memory{}
	if err := b.refused(listed(2, campaign("c1", "A", 1)), `"c1"`); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("rows without their memory: %v", err)
	}
}

// TestAdvance_FillsRaw: if only a new JSON key was added, the current version gets the new JSON, and there is no new
// version.
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
