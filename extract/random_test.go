package extract

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// runs returns the number of random runs of a test: by default, a tenth of many.
func runs(many int) int { return schematest.Times(max(1, many/10), many, 100*many) }

// chaos is a service with a faulty network, whose account may change before any request.
type chaos struct {
	*rand.Rand
	service *adsim.Service
	change  func()  // changes the account, and records its new state
	moves   float64 // probability of a change before a request
	breaks  float64 // probability of a fault in a request
	passing []adsim.Fault
	lying   []adsim.Fault // used at most once per read: two wrong replies may agree with each other
}

func (c *chaos) RoundTrip(r *http.Request) (*http.Response, error) {
	for c.Float64() < c.moves {
		c.change()
	}
	c.service.ClearFaults()
	if c.Float64() < c.breaks {
		n := c.IntN(len(c.passing) + len(c.lying))
		f := slices.Concat(c.passing, c.lying)[n]
		if n >= len(c.passing) {
			c.lying = nil
		}
		f.Row, f.Rows, f.After = c.IntN(30), 1+c.IntN(3), f.After*(1+c.IntN(4))
		if f.Kind == adsim.Shift {
			f.Rows = c.IntN(7) - 3
			f.Delta = []int{0, f.Rows, 1}[c.IntN(3)]
		}
		if f.Kind == adsim.Total {
			f.Delta = c.IntN(61) - 30
		}
		c.service.Fail(f)
	}
	return c.service.Transport().RoundTrip(r)
}

// passing are faults that the next attempt does not meet. lying are faults that only the proof can find.
var (
	passing = []adsim.Fault{
		{Kind: adsim.Status, Status: 500}, {Kind: adsim.Status, Status: 503, RetryAfter: "20"},
		{Kind: adsim.Status, Status: 429, RetryAfter: "+30s"},
		{Kind: adsim.HTML}, {Kind: adsim.HTML, Status: 502}, {Kind: adsim.Body},
		{Kind: adsim.Body, Value: "null"}, {Kind: adsim.Cut},
		{Kind: adsim.Cut, After: 100},
		{Kind: adsim.Cut, After: 300, Chunked: true}, {Kind: adsim.Reset}, {Kind: adsim.Reset, After: 200},
		{Kind: adsim.Stall, After: 50}, {Kind: adsim.Hang},
		{Kind: adsim.Slow, After: 500, For: time.Millisecond},
	}
	lying = []adsim.Fault{
		{Kind: adsim.Shift}, {Kind: adsim.Shift}, {Kind: adsim.Total}, {Kind: adsim.Drop}, {Kind: adsim.Duplicate},
		{Kind: adsim.Duplicate, InPlace: true},
		{Kind: adsim.Duplicate, Other: true, InPlace: true}, {Kind: adsim.Truncate}, {Kind: adsim.NoPagination},
		{Kind: adsim.OtherDay},
		{Kind: adsim.WrongType, Column: "total_spend", Value: "7777.25"}, {Kind: adsim.WrongType, Column: "clicks",
			Value: "7777"},
		{Kind: adsim.MissingKey, Column: "total_spend"}, {Kind: adsim.RepeatKey, Column: "clicks", Value: "1"},
		{Kind: adsim.Top, Column: "total_rows", Value: "25"}, {Kind: adsim.Top, Column: "page", Value: "2"},
		{Kind: adsim.Top, Column: "page_size", Value: "10"},
		{Kind: adsim.Top, Column: "data", Value: "[]"}, {Kind: adsim.Status, Status: 400}, {Kind: adsim.Trailing},
		{Kind: adsim.ExtraKey},
	}
)

// restateAnything changes a day as a service might. Amounts are drawn from such a wide range that no two changes cancel
// each other out, which the control total could not detect.
func restateAnything(r *rand.Rand, s *adsim.Service, day string) {
	measures := &adsim.Measures{Spend: r.Int64N(1 << 40), Clicks: r.Int64N(1 << 30), Impressions: r.Int64N(1 << 40),
		Conversions: r.Int64N(100)}
	var change adsim.Restatement
	switch n := r.IntN(20); {
	case n < 7:
		change = adsim.Restatement{Kind: "change", Row: r.IntN(80), Measures: measures}
	case n < 11:
		change = adsim.Restatement{Kind: "insert", Row: r.IntN(80), Measures: measures}
	case n < 16:
		change = adsim.Restatement{Kind: "delete", Row: r.IntN(80)}
	case n < 18:
		change = adsim.Restatement{Kind: "multiply", Percent: 50 + r.Int64N(100)}
	case n < 19:
		change = adsim.Restatement{Kind: "empty"}
	default:
		change = adsim.Restatement{Kind: "restore"}
	}
	_ = s.Restate(day, change) // an emptied day has no row to change
}

// digest identifies the state of a day by what the control total includes: the rows with spend or clicks, and their
// amounts. It ignores impressions, conversions and creatives that were not delivered.
func digest(rows map[string]string) string {
	h := fnv.New128a()
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		f := strings.Fields(rows[key])
		if paid := f[len(f)-4 : len(f)-2]; paid[0] != "0.00" || paid[1] != "0" {
			fmt.Fprintf(h, "%s=%s\n", key, paid)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// proven reads a day once, as a run does: the pages, and the service's own total, which may be read before or after the
// pages.
func proven(t *testing.T, ctx context.Context, c *Client, day schema.Date, totalFirst bool) (map[string]string, error) {
	var totals Totals
	ask := func() (err error) {
		totals, err = c.ControlTotals(ctx, day-1, day+1)
		return err
	}
	if totalFirst {
		if err := ask(); err != nil {
			return nil, err
		}
	}
	pages, err := walk(t, dayOf(ctx, c, day, 25))
	if err != nil {
		return nil, err
	}
	if !totalFirst {
		if err := ask(); err != nil {
			return nil, err
		}
	}
	if !totals.Exists {
		return nil, errors.New("no totals: " + totals.Why)
	}
	spend, clicks := schema.Money(0), int64(0)
	for _, p := range pages {
		for _, l := range p.Items {
			m, _, err := schema.ParseMoney(l.TotalSpend)
			if err != nil {
				return nil, err
			}
			spend += m
			n, err := schema.ParseCount(l.Clicks)
			if err != nil && !l.Clicks.Null() {
				return nil, err
			}
			clicks += n
		}
	}
	if !totals.ByDay[day].Agrees(spend, schema.Some(clicks), 0) {
		return nil, &UnprovenError{What: "spend " + day.String(), Reason: "the total differs"}
	}
	return walked(t, pages), nil
}

// TestSpend_IsASnapshotOrAnError: whatever happens on the wire and to the account while a day is read, a proven read
// equals the day as the service had it at one moment during the read. Impressions and conversions may be as of another
// moment, because the service's total does not include them.
func TestSpend_IsASnapshotOrAnError(t *testing.T) {
	t.Parallel()
	n := runs(2000)
	seed := schematest.Seed(t)
	told, kinds := 0, map[string]int{}
	for batch := 0; batch*50 < n; batch++ {
		synctest.Test(t, func(t *testing.T) {
			s := newAdsim(adsim.Config{Campaigns: 6, CreativesPerCampaign: 3, RowsPerDay: 60, Sources: 60, Seed: 1 +
				uint64(batch%7)})
			for i := range min(50, n-batch*50) {
				r := rand.New(rand.NewPCG(seed, uint64(batch*50+i)))
				states, rows := map[string]bool{}, map[string]bool{}
				note := func() {
					now := truth(s, testDay)
					states[digest(now)] = true
					for key, measures := range now {
						rows[key+measures] = true
					}
				}
				c := &chaos{
					Rand: r, service: s, moves: []float64{0, 0.1, 0.4}[r.IntN(3)],
					breaks: []float64{0, 0.2, 0.5}[r.IntN(3)], passing: passing, lying: lying,
					change: func() { restateAnything(r, s, testDay.String()); note() },
				}
				note()
				client := adsimClient(t, s)
				client.transport = c
				got, err := proven(t, t.Context(), client, testDay, r.IntN(2) == 0)
				s.ClearFaults()
				switch unproven, isUnproven := errors.AsType[*UnprovenError](err); {
				case err == nil:
					told++
					if !states[digest(got)] {
						t.Errorf("run %d of seed %d: %s, which the day never was; it was %v", batch*50+i, seed,
							digest(got), slices.Collect(maps.Keys(states)))
					}
					for key, measures := range got {
						if !rows[key+measures] {
							t.Errorf("run %d of seed %d: row %s = %s, which it never was", batch*50+i, seed, key,
								measures)
						}
					}
				case isUnproven:
					kinds["unproven"]++
					_ = unproven.Error()
				case errors.Is(err, ErrUnavailable), errors.Is(err, ErrContract):
					kinds["error"]++
				case !isKnown(err):
					t.Errorf("run %d of seed %d: %v is of no kind", batch*50+i, seed, err)
				}
				if i%10 == 9 {
					_ = s.Restate(testDay.String(), adsim.Restatement{Kind: "restore"})
				}
			}
		})
	}
	t.Logf("%d runs proven, %v", told, kinds)
	if told < n/10 || kinds["unproven"] < n/50 || kinds["error"] < n/200 {
		t.Errorf("%d of %d runs proven, %v: too few of a kind to show anything", told, n, kinds)
	}
}

// isKnown reports whether proven may return the error.
func isKnown(err error) bool {
	return errors.Is(err, schema.ErrNotNumber) || errors.Is(err, schema.ErrRange) || errors.Is(err, ErrUnreachable) ||
		len(err.Error()) > 10 && err.Error()[:10] == "no totals:"
}

// TestCampaigns_AreWholeOrSaySo: whatever happens on the wire and to the account while the campaigns are listed, a
// complete listing has every campaign that existed throughout, and no campaign that never existed.
func TestCampaigns_AreWholeOrSaySo(t *testing.T) {
	t.Parallel()
	n := min(2000, runs(60))
	seed := schematest.Seed(t)
	complete := 0
	for batch := 0; batch*20 < n; batch++ {
		synctest.Test(t, func(t *testing.T) {
			s := newAdsim(adsim.Config{Campaigns: 230, CreativesPerCampaign: 2, RowsPerDay: 100, Sources: 300,
				RateLimit: -1, Seed: 1 + uint64(batch)})
			hidden := map[string]bool{}
			for i := range min(20, n-batch*20) {
				r := rand.New(rand.NewPCG(seed, uint64(batch*20+i)))
				always, ever := map[string]bool{}, map[string]bool{}
				note := func() {
					for _, id := range s.CampaignIDs() {
						if hidden[id] {
							delete(always, id)
						} else {
							ever[id] = true
						}
					}
				}
				for _, id := range s.CampaignIDs() {
					always[id] = true
				}
				note()
				c := &chaos{Rand: r, service: s, moves: []float64{0, 0.3, 0.6}[r.IntN(3)],
					breaks: []float64{0, 0.2}[r.IntN(2)], passing: passing, change: func() {
						all := s.CampaignIDs()
						id := all[r.IntN(len(all))]
						change := adsim.Change{Campaign: id, Do: adsim.Hide}
						switch {
						case r.IntN(3) == 0:
							change = adsim.Change{Do: adsim.Create, Set: map[string]any{"name": "Fresh"}}
						case hidden[id]:
							change.Do = adsim.Show
						}
						if err := s.Change(change); err != nil {
							t.Fatal(err)
						}
						if change.Do != adsim.Create {
							hidden[id] = change.Do == adsim.Hide
						}
						note()
					}}
				client := advertiser(t, s)
				client.transport = c
				listing, err := client.Campaigns(t.Context())
				s.ClearFaults()
				if err != nil || !listing.Complete {
					continue
				}
				complete++
				for _, e := range listing.Entities {
					if !ever[e.ID] {
						t.Errorf("run %d of seed %d: %s was never there", batch*20+i, seed, e.ID)
					}
					delete(always, e.ID)
				}
				if len(always) > 0 {
					t.Errorf("run %d of seed %d: complete without %v", batch*20+i, seed,
						slices.Sorted(maps.Keys(always)))
				}
			}
		})
	}
	t.Logf("%d of %d listings complete", complete, n)
	if complete < n/4 {
		t.Errorf("%d of %d listings are complete: too few to show anything", complete, n)
	}
}
