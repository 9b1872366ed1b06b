package extract

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"spendsync/extract/adsim"
	"spendsync/schema"
)

// adsimNow is the clock of the simulated service: noon in Chicago, five days
// after the clocks changed.
var adsimNow = time.Date(2026, time.March, 13, 17, 0, 0, 0, time.UTC)

func newAdsim(cfg adsim.Config) *adsim.Service {
	cfg.Now = func() time.Time { return adsimNow }
	if cfg.RowsPerDay == 0 {
		cfg.RowsPerDay = 700
	}
	return adsim.New(cfg)
}

func adsimClient(t *testing.T, s *adsim.Service) *Client {
	return newTestClient(t, s.Transport(), func(o *Options) {
		o.BaseURL += adsim.ReportPrefix
		o.Authorize = func(r *http.Request) { r.SetBasicAuth(adsim.DefaultUser, adsim.DefaultPassword) }
	})
}

// truth is what a perfect copy of a day holds, by key.
func truth(s *adsim.Service, day schema.Date) map[string]string {
	rows := map[string]string{}
	for l := range s.Truth(day.String()) {
		rows[fmt.Sprintf("%s %s %s", l.CampaignID, l.CreativeID, l.SourceID)] =
			fmt.Sprintf("%s %v %d %d %d", l.CampaignName, schema.Money(l.Spend), l.Clicks, l.Impressions, l.Conversions)
	}
	return rows
}

// walked is what a walk brought, by key.
func walked(t *testing.T, pages []Page[SpendLine]) map[string]string {
	t.Helper()
	rows := map[string]string{}
	text := func(v Value) string { return string(v.appendText(nil)) }
	number := func(v Value) int64 {
		n, err := schema.ParseCount(v)
		if err != nil && v != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, p := range pages {
		for _, l := range p.Items {
			spend, _, err := schema.ParseMoney(l.TotalSpend)
			if err != nil {
				t.Fatal(err)
			}
			rows[fmt.Sprintf("%s %s %s", text(l.CampaignID), text(l.CreativeID), text(l.SourceID))] =
				fmt.Sprintf("%s %v %d %d %d", text(l.CampaignName), spend, number(l.Clicks), number(l.Impressions),
					number(l.Conversions))
		}
	}
	return rows
}

func compareRows(t *testing.T, got, want map[string]string) {
	t.Helper()
	check(t, "rows", len(got), len(want))
	for key, w := range want {
		if g := got[key]; g != w {
			t.Fatalf("row %s = %s, want %s", key, g, w)
		}
	}
}

func TestSpend_IsTheTruthOfTheSimulatedService(t *testing.T) {
	for name, cfg := range map[string]adsim.Config{
		"plain":             {},
		"floats":            {Quirks: []string{"spend-float"}},
		"exponents":         {Quirks: []string{"spend-exponent"}},
		"escaped":           {Quirks: []string{"ascii"}, Seed: 7},
		"idle/empty-source": {Quirks: []string{"source-empty"}},
		"idle/no-source":    {Quirks: []string{"source-missing"}},
		"idle/bare":         {Quirks: []string{"source-date-missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAdsim(cfg)
			c := adsimClient(t, s)
			today := schema.DateOf(adsimNow)
			for _, day := range []schema.Date{today - 32, testDay, today - 1, today} {
				pages, err := walk(t, c.Spend(t.Context(), day, 250, nil, nil))
				if err != nil {
					t.Fatal(err)
				}
				if len(pages) < 2 && day != today {
					t.Errorf("%v has %d pages: too few to prove anything", day, len(pages))
				}
				compareRows(t, walked(t, pages), truth(s, day))
			}
			_, err := walk(t, c.Spend(t.Context(), today-33, 250, nil, nil))
			wantError(t, err, ErrUnreachable, "spend 2026-02-08 page 1: ", "status 400")
		})
	}
}

func TestControlTotals_AreTheSumsOfTheSimulatedService(t *testing.T) {
	for _, quirks := range [][]string{nil, {"spend-float"}} {
		s := newAdsim(adsim.Config{Quirks: quirks})
		today := schema.DateOf(adsimNow)
		totals, err := adsimClient(t, s).ControlTotals(t.Context(), today-32, today)
		if err != nil || !totals.Exists {
			t.Fatalf("totals exist: %v (%s), error %v", totals.Exists, totals.Why, err)
		}
		check(t, "days", len(totals.ByDay), 33)
		for day, total := range totals.ByDay {
			sum, err := s.TruthSum(day.String())
			if err != nil {
				t.Fatal(err)
			}
			if !total.Agrees(schema.Money(sum.Spend), schema.Some(sum.Clicks), 0) {
				t.Errorf("%v: total %+v, sum %+v", day, total, sum)
			}
			if total.Agrees(schema.Money(sum.Spend)+2, schema.Some(sum.Clicks), 0) {
				t.Errorf("%v: total %+v agrees with a sum that is off", day, total)
			}
		}
	}
}

// Every fault on the first, a middle and the last page, met once and for ever:
// what ends without an error is the truth, and what cannot be mended is
// called by its name.
func TestSpend_MeetsEveryFault(t *testing.T) {
	var unproven *UnprovenError
	whole := errors.New("none") // the walk brings the truth
	for name, tc := range map[string]struct {
		fault adsim.Fault
		once  any // nil: the walk brings the truth although the fault is met once
		ever  any
		first any // on the first page; nil: as on others
	}{
		"status/500":      {adsim.Fault{Kind: adsim.Status, Status: 500}, nil, ErrUnavailable, nil},
		"status/503-wait": {adsim.Fault{Kind: adsim.Status, Status: 503, RetryAfter: "20"}, nil, ErrUnavailable, nil},
		"status/429-date": {adsim.Fault{Kind: adsim.Status, Status: 429, RetryAfter: "+30s"}, nil, ErrUnavailable, nil},
		"status/429-past": {adsim.Fault{Kind: adsim.Status, Status: 429, RetryAfter: "-1"}, nil, ErrUnavailable, nil},
		"status/408":      {adsim.Fault{Kind: adsim.Status, Status: 408}, nil, ErrUnavailable, nil},
		"status/401":      {adsim.Fault{Kind: adsim.Status, Status: 401}, nil, ErrUnavailable, ErrAuth},
		"status/403":      {adsim.Fault{Kind: adsim.Status, Status: 403}, nil, ErrUnavailable, ErrAuth},
		"status/404":      {adsim.Fault{Kind: adsim.Status, Status: 404}, unproven, unproven, ErrContract},
		"status/302": {adsim.Fault{Kind: adsim.Status, Status: 302, Location: "https://evil.test/"}, ErrContract,
			ErrContract, nil},
		"html":             {adsim.Fault{Kind: adsim.HTML}, nil, ErrUnavailable, nil},
		"html/502":         {adsim.Fault{Kind: adsim.HTML, Status: 502}, nil, ErrUnavailable, nil},
		"empty":            {adsim.Fault{Kind: adsim.Empty}, nil, ErrUnavailable, nil},
		"null":             {adsim.Fault{Kind: adsim.Null}, nil, ErrContract, nil},
		"body/object":      {adsim.Fault{Kind: adsim.Body, Value: "{}"}, ErrContract, ErrContract, nil},
		"cut/half":         {adsim.Fault{Kind: adsim.Cut}, nil, ErrUnavailable, nil},
		"cut/none":         {adsim.Fault{Kind: adsim.Cut, After: -1}, nil, ErrUnavailable, nil},
		"cut/chunked":      {adsim.Fault{Kind: adsim.Cut, Chunked: true}, nil, ErrUnavailable, nil},
		"reset/at-once":    {adsim.Fault{Kind: adsim.Reset}, nil, ErrUnavailable, nil},
		"reset/mid-body":   {adsim.Fault{Kind: adsim.Reset, After: 500}, nil, ErrUnavailable, nil},
		"stall":            {adsim.Fault{Kind: adsim.Stall, After: 500}, nil, ErrUnavailable, nil},
		"hang":             {adsim.Fault{Kind: adsim.Hang}, nil, ErrUnavailable, nil},
		"trailing":         {adsim.Fault{Kind: adsim.Trailing}, ErrContract, ErrContract, nil},
		"total":            {adsim.Fault{Kind: adsim.Total, Delta: -1}, unproven, unproven, nil},
		"drop":             {adsim.Fault{Kind: adsim.Drop, Row: 3}, unproven, unproven, nil},
		"duplicate":        {adsim.Fault{Kind: adsim.Duplicate, Row: 3}, unproven, unproven, nil},
		"duplicate/placed": {adsim.Fault{Kind: adsim.Duplicate, Row: 3, InPlace: true}, unproven, unproven, nil},
		"duplicate/other": {adsim.Fault{Kind: adsim.Duplicate, Row: 20, InPlace: true, Other: true}, unproven,
			unproven, nil},
		"repeated-key":  {adsim.Fault{Kind: adsim.RepeatKey, Row: 3, Column: "ctr", Value: "1"}, nil, nil, nil},
		"other-day":     {adsim.Fault{Kind: adsim.OtherDay, Row: 3}, unproven, unproven, nil},
		"no-pagination": {adsim.Fault{Kind: adsim.NoPagination}, unproven, unproven, whole},
		"extra-key":     {adsim.Fault{Kind: adsim.ExtraKey, Row: 3}, nil, nil, nil},
		"top/extra":     {adsim.Fault{Kind: adsim.Top, Column: "notice", Value: "1"}, nil, nil, nil},
		"top/data":      {adsim.Fault{Kind: adsim.Top, Column: "data", Value: "null"}, nil, unproven, ErrContract},
		"top/columns": {adsim.Fault{Kind: adsim.Top, Column: "columns", Value: `["date"]`}, ErrContract,
			ErrContract, nil},
		// Its keys say which page it is.
		"top/page": {adsim.Fault{Kind: adsim.Top, Column: "page", Value: "77"}, nil, nil, nil},
		// 9 is not the total
		"top/total-text": {adsim.Fault{Kind: adsim.Top, Column: "total_rows", Value: `"9"`}, unproven, unproven, nil},
		"top/total-word": {adsim.Fault{Kind: adsim.Top, Column: "total_rows", Value: `"nine"`}, unproven, unproven,
			whole},
	} {
		for page := 1; page <= 3; page++ {
			for times, want := range map[int]any{1: tc.once, 0: tc.ever} {
				if times == 0 && page != 2 {
					continue // for ever on one page is enough
				}
				if page == 1 && tc.first != nil {
					if want = tc.first; want == whole {
						want = nil
					}
				}
				t.Run(fmt.Sprintf("%s/page-%d/times-%d", name, page, times), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newAdsim(adsim.Config{Campaigns: 9, RowsPerDay: 150, Sources: 200})
						f := tc.fault
						f.Page, f.Times = page, times
						s.Fail(f)
						if n := len(truth(s, testDay)); n <= 120 || n > 180 {
							t.Fatalf("%d rows do not make three pages", n)
						}
						pages, err := walk(t, adsimClient(t, s).Spend(t.Context(), testDay, 60, nil, nil))
						switch want := want.(type) {
						case nil:
							if err != nil {
								t.Fatal(err)
							}
							compareRows(t, walked(t, pages), truth(s, testDay))
						case *UnprovenError:
							e, ok := errors.AsType[*UnprovenError](err)
							if !ok {
								t.Fatalf("error %v, want an UnprovenError", err)
							}
							check(t, "what", e.What, "spend 2026-03-08")
						case error:
							wantError(t, err, want, fmt.Sprintf("spend 2026-03-08 page %d: ", page))
						}
					})
				})
			}
		}
	}
}

// Rows that moved while the pages were read are never mistaken for the day.
func TestSpend_NoticesShiftedRows(t *testing.T) {
	for page := 2; page <= 3; page++ {
		for _, rows := range []int{-2, -1, 1, 2} {
			for _, delta := range []int{0, rows} {
				s := newAdsim(adsim.Config{})
				s.Fail(adsim.Fault{Kind: adsim.Shift, Page: page, PageTo: -1, Rows: rows, Delta: delta})
				pages, err := walk(t, adsimClient(t, s).Spend(t.Context(), testDay, 300, nil, nil))
				if err == nil {
					compareRows(t, walked(t, pages), truth(s, testDay))
					t.Logf("page %d, %d rows, total %+d: no harm done", page, rows, delta)
				} else if _, ok := errors.AsType[*UnprovenError](err); !ok {
					t.Errorf("page %d, %d rows, total %+d: %v", page, rows, delta, err)
				}
			}
		}
	}
}
