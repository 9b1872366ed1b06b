package transform

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"spendsync/extract"
	"spendsync/extract/adsim"
	"spendsync/schema"
)

// seenAccount is all that is made of one account, without the raw JSON, which
// follows the service's shape.
type seenAccount struct {
	Campaigns []schema.Campaign
	Delivery  []schema.Delivery
	Creatives []schema.Creative
	Sources   []SourceRead
	Snapshot  schema.AccountSnapshot
	Limits    []schema.AccountLimit
	Ref       string
	CanWrite  schema.Null[bool]
	Unread    []string
}

// readCampaign is Campaign with what it refused first as an error.
func readCampaign(listed, detail extract.Entity, c SettingsContext) (schema.Campaign, []string, error) {
	row, r, err := Campaign(listed, detail, c)
	return row, r.Unread, firstOf(err, &r)
}

func readDelivery(listed, detail extract.Entity, c SettingsContext) (schema.Delivery, []string, error) {
	row, r, err := Delivery(listed, detail, c)
	return row, r.Unread, firstOf(err, &r)
}

func readCreative(e extract.Entity, campaignID string, c SettingsContext) (schema.Creative, []string, error) {
	row, r, err := Creative(e, campaignID, c)
	return row, r.Unread, firstOf(err, &r)
}

func firstOf(err error, r *Decoded) error {
	if err != nil {
		return err
	}
	return r.Err()
}

// modeUnread are the columns of the mode that were not read, without the kinds of rules.
func modeUnread(s SourceRead) []string {
	return slices.DeleteFunc(slices.Clone(s.Unread), func(column string) bool { return column != "source_mode" })
}

// see reads an account whole.
func see(t *testing.T, s *adsim.Service) (seen seenAccount) {
	t.Helper()
	ctx := t.Context()
	c, err := extract.NewClient(extract.Options{
		BaseURL: "https://sim.test" + adsim.APIPrefix, Transport: s.Transport(),
		Authorize: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+adsim.DefaultKey) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	fail := func(err error) {
		if failed == nil {
			failed = err
		}
	}
	note := func(id string, unread []string) {
		for _, column := range unread {
			seen.Unread = append(seen.Unread, id+" "+column)
		}
	}
	listing, err := c.Campaigns(ctx)
	fail(err)
	for _, listed := range listing.Entities {
		id := listed.ID
		detail, err := c.Campaign(ctx, id)
		fail(err)
		row, unread, err := readCampaign(listed, detail, settings)
		fail(err)
		note(id, unread)
		if row.Raw.V != string(detail.Raw) {
			t.Errorf("%s: raw is not that of the single read", id)
		}
		row.Raw = schema.Null[string]{}
		seen.Campaigns = append(seen.Campaigns, row)
		delivery, unread, err := readDelivery(listed, detail, settings)
		fail(err)
		note(id, unread)
		seen.Delivery = append(seen.Delivery, delivery)
		e, err := c.Sources(ctx, id)
		fail(err)
		sources, err := Sources(e, id, settings)
		fail(err)
		fail(sources.Err())
		note(id, modeUnread(sources))
		sources.Mode.Raw, sources.Decoded = schema.Null[string]{}, Decoded{}
		seen.Sources = append(seen.Sources, sources)
		creatives, err := c.Creatives(ctx, id)
		fail(err)
		for _, e := range creatives.Entities {
			row, unread, err := readCreative(e, id, settings)
			fail(err)
			note(e.ID, unread)
			row.Raw = schema.Null[string]{}
			seen.Creatives = append(seen.Creatives, row)
		}
		if !listing.Complete || !creatives.Complete {
			t.Errorf("%s: a listing is not complete", id)
		}
	}
	me, err := c.Me(ctx)
	fail(err)
	limits, err := c.Limits(ctx)
	fail(err)
	balance, err := c.Balance(ctx)
	fail(err)
	all := Account(me, limits, balance, seenAt, settings)
	seen.Snapshot, seen.Limits, seen.Ref, seen.CanWrite = all.Snapshot, all.Limits, all.Ref, all.CanWrite
	fail(firstOf(all.Key.Err(), &all.Decoded))
	note("account", append(all.Unread, all.Key.Unread...))
	seen.Snapshot.Raw = schema.Null[string]{}
	if failed != nil {
		t.Fatal(failed)
	}
	return seen
}

// newAccount simulates an account with everything that the settings can have.
func newAccount(t *testing.T, quirks ...string) *adsim.Service {
	t.Helper()
	now := time.Date(2026, time.March, 13, 17, 0, 0, 0, time.UTC)
	s := adsim.New(adsim.Config{
		Now: func() time.Time { return now }, Quirks: quirks, Campaigns: 9, CreativesPerCampaign: 3,
		RowsPerDay: 100, Sources: 300, RateLimit: -1, BalanceStatus: "low",
	})
	good, bad := s.GoodSources(), s.BadSources()
	id, err := s.Create(adsim.Change{Set: map[string]any{
		"name": "=1+1\n\"ünï\" 🎉", "default_bid": "0.123457", "target_cpa": "9.5", "daily_spend_limit": nil,
		"start_date": "2026-03-14T00:00:00.25-05:00", "end_date": "2026-11-01T06:30:00Z", "unsupported_targeting": true,
		"audience": map[string]any{"country": "US", "states": []string{"TX", "CA"}, "platforms": []string{"TABLET",
			"DESKTOP"}, "subscribed_more_than_minutes_ago": 43200},
	}})
	for _, c := range []adsim.Change{
		{Campaign: id, Sources: &adsim.SourceChange{Mode: "allow_list", Allow: good[:2],
			Bids: map[string]any{good[0]: "0.333333", bad[0]: 25}}},
		{Campaign: id, Do: adsim.Create, Set: map[string]any{"status": "draft", "title": nil, "message": nil,
			"icon_id": nil}},
		{Campaign: id, Do: adsim.Create, Set: map[string]any{"status": "rejected", "rejection_reasons": []string{"z",
			"a"}, "button1": "Öffnen"}},
	} {
		if err == nil {
			err = s.Change(c)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSettings_AreTheTruthOfTheSimulatedService(t *testing.T) {
	s := newAccount(t)
	seen := see(t, s)
	if seen.Unread != nil {
		t.Errorf("unread %v", seen.Unread)
	}
	var want seenAccount
	for _, id := range s.CampaignIDs() {
		truth, err := s.Settings(id)
		if err != nil {
			t.Fatal(err)
		}
		want.Campaigns = append(want.Campaigns, campaignOf(t, truth))
		want.Delivery = append(want.Delivery, schema.Delivery{
			AccountID: "acme", CampaignID: id, DeliveryStatus: schema.Some(truth.DeliveryStatus), RunID: "01KRUN",
		})
		want.Sources = append(want.Sources, sourcesOf(t, truth))
		for _, cr := range truth.Creatives {
			want.Creatives = append(want.Creatives, creativeOf(cr))
		}
	}
	want.Ref, want.CanWrite = seen.Ref, schema.Some(false)
	want.Snapshot, want.Limits = seen.Snapshot, seen.Limits // see below
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got)\n%.3000s", diff)
	}
	a := seen.Snapshot
	if seen.Ref == "" || !a.Balance.Valid || a.PaymentMode.V != "card" || a.BalanceStatus.V != "low" ||
		a.AverageDailySpend.V <= 0 || a.Message.V == "" {
		t.Errorf("account %q, snapshot %+v", seen.Ref, a)
	}
	if len(seen.Limits) != 6 || seen.Limits[0].Allowed != schema.Some[int64](50) ||
		seen.Limits[0].ResetsAt != instant(t, "2026-03-14T00:00:00Z") {
		t.Errorf("limits %+v", seen.Limits)
	}
}

// The same account gives the same rows, however the service spells it.
func TestSettings_AreTheSameInEveryShape(t *testing.T) {
	want := see(t, newAccount(t))
	for _, envelope := range []string{"", "envelope-bare", "envelope-data", "envelope-items"} {
		for _, more := range []string{"", " ids-long", " bids-map", " limits-map", " list-no-totals",
			" ids-long bids-map limits-map list-no-totals"} {
			if diff := cmp.Diff(want, see(t, newAccount(t, strings.Fields(envelope+more)...))); diff != "" {
				t.Errorf("%s%s (-want +got)\n%.2000s", envelope, more, diff)
			}
		}
	}
}

// What the service cannot read is named, and everything else is unchanged.
func TestSettings_NameWhatTheServiceCouldNotRead(t *testing.T) {
	s := newAccount(t)
	want := see(t, s)
	s.Fail(adsim.Fault{Kind: adsim.Unreadable})
	got := see(t, s)
	for i := range want.Campaigns {
		want.Unread = append(want.Unread, want.Campaigns[i].CampaignID+" delivery_status")
		want.Delivery[i].DeliveryStatus = schema.Null[string]{}
		src := &want.Sources[i]
		src.BidsRead = false
		src.Rules = slices.DeleteFunc(src.Rules, func(r schema.SourceRule) bool { return r.Rule == schema.RuleBid })
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got)\n%.3000s", diff)
	}
}

func textOf(s string) schema.Null[string] { return schema.Null[string]{V: s, Valid: s != ""} }

func moneyOf(t *testing.T, s string) (m schema.Null[schema.Money]) {
	t.Helper()
	if m.Valid = s != ""; m.Valid {
		if err := m.V.UnmarshalText([]byte(s)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func listOf(list []string) schema.Null[string] {
	return textOf(strings.Join(slices.Sorted(slices.Values(list)), ","))
}

func campaignOf(t *testing.T, s adsim.Settings) schema.Campaign {
	at := func(s string) (i schema.Null[schema.Instant]) {
		if s != "" {
			i = instant(t, s)
		}
		return i
	}
	number := func(n int) schema.Null[int64] { return schema.Null[int64]{V: int64(n), Valid: n != 0} }
	a := s.Audience
	return schema.Campaign{
		AccountID: "acme", CampaignID: s.CampaignID, Name: textOf(s.Name), Status: textOf(s.Status),
		DefaultBid: moneyOf(t, s.DefaultBid), DailySpendLimit: moneyOf(t, s.DailySpendLimit),
		TargetCPA: moneyOf(t, s.TargetCPA),
		StartAt:   at(s.StartDate), EndAt: at(s.EndDate), Country: textOf(a.Country), States: listOf(a.States),
		Platforms:          listOf(a.Platforms),
		SubscribedMoreThan: number(a.SubscribedMoreThan), SubscribedLessThan: number(a.SubscribedLessThan),
		MinAge: number(a.MinAge), MaxAge: number(a.MaxAge), Gender: textOf(a.Gender),
		SourceMode: textOf(s.SourceMode), UnsupportedTargeting: schema.Some(a.UnsupportedTargeting), RunID: "01KRUN",
	}
}

func creativeOf(c adsim.CreativeSettings) schema.Creative {
	return schema.Creative{
		AccountID: "acme", CreativeID: c.CreativeID, CampaignID: textOf(c.CampaignID), Title: textOf(c.Title),
		Message: textOf(c.Message),
		Link:    textOf(c.Link), ImageID: textOf(c.ImageID), IconID: textOf(c.IconID), Button1: textOf(c.Button1),
		Button2: textOf(c.Button2),
		Status:  textOf(c.Status), RejectionReasons: listOf(c.RejectionReasons),
		RejectionComment: textOf(c.RejectionComment), RunID: "01KRUN",
	}
}

func sourcesOf(t *testing.T, s adsim.Settings) SourceRead {
	out := SourceRead{
		Mode: schema.SourceMode{AccountID: "acme", CampaignID: s.CampaignID, SourceMode: textOf(s.SourceMode),
			RunID: "01KRUN"},
		BlockedRead: true, AllowedRead: true, BidsRead: true, OptimizedRead: true,
	}
	add := func(source, rule, bid string) {
		out.Rules = append(out.Rules, schema.SourceRule{
			AccountID: "acme", CampaignID: s.CampaignID, SourceID: source, Rule: rule, Bid: moneyOf(t, bid),
			RunID: "01KRUN",
		})
	}
	for _, source := range s.Allowed {
		add(source, schema.RuleAllowed, "")
	}
	for source, bid := range s.Bids {
		add(source, schema.RuleBid, bid)
	}
	for _, source := range s.Blocked {
		add(source, schema.RuleBlocked, "")
	}
	slices.SortFunc(out.Rules, func(a, b schema.SourceRule) int {
		return strings.Compare(fmt.Sprint(a.Rule, " ", a.SourceID), fmt.Sprint(b.Rule, " ", b.SourceID))
	})
	return out
}

// FuzzSettings: whatever object comes, rows keep the rules of their tables, or the
// value that does not is named.
func FuzzSettings(f *testing.F) {
	for _, body := range []string{
		sampleCampaign, sampleCreative, sampleMe, sampleLimits, sampleBalance,
		`{"mode":"allow","allowed":[{"id":"S1"}],"bid_overrides":{"S1":{"bid":1e-1}},"sources":["S2"]}`,
		`{"advertiser":{"id":1},"scopes":["write"],"balance":{"amount":-1},"limits":{"a":{"remaining":1,"max":2}}}`,
		`{"audience":{"states":["a","A"],"unsupported_targeting":true},"rejection_reasons":[{"code":"x"}],` +
			`"status":"DRAFT"}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !jsontext.Value(body).IsValid() {
			return
		}
		fields, ok := extract.Value(body).Object()
		if !ok {
			return
		}
		e := extract.Entity{ID: "C1000001", Raw: body, Fields: fields}
		verify := func(table string, row any, err error) {
			t.Helper()
			if err != nil {
				wantFieldError(t, err, extract.ErrContract, err.(*FieldError).Table, err.(*FieldError).ID,
					err.(*FieldError).Column)
				return
			}
			var b strings.Builder
			show(&b, row)
			if strings.Contains(b.String(), `\x00`) || !utf8.ValidString(b.String()) {
				t.Errorf("%s: %s", table, b.String())
			}
		}
		campaign, _, err := readCampaign(e, e, settings)
		verify("campaign", campaign, err)
		if b := campaign.DefaultBid.V; b < 0 || b > maxBid {
			t.Errorf("bid %v", b)
		}
		delivery, _, err := readDelivery(e, e, settings)
		verify("delivery", delivery, err)
		creative, _, err := readCreative(e, "C1000001", settings)
		verify("creative", creative, err)
		sources, err := Sources(e, "C1000001", settings)
		verify("mode", sources.Mode, firstOf(err, &sources.Decoded))
		for i, r := range sources.Rules {
			verify("rule", r, nil)
			if !extract.IsToken(r.SourceID) || i > 0 && r == sources.Rules[i-1] {
				t.Errorf("rule %+v", r)
			}
		}
		e.ID = ""
		all := Account(e, e, e, seenAt, settings)
		verify("account", all.Snapshot, firstOf(all.Key.Err(), &all.Decoded))
		if all.Ref == "" && all.Key.Err() == nil {
			t.Errorf("no account, and no word of it: %+v", all)
		}
		for _, l := range all.Limits {
			verify("limit", l, nil)
		}
	})
}
