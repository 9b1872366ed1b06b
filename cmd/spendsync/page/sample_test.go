package page

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"spendsync/schema"
)

// sample is an account with something in every section, the same each time.
func sample(campaigns, sources int) Account {
	r := rand.New(rand.NewPCG(1, 2))
	to := schema.NewDate(2026, 11, 21)
	asOf := to.Start().Add(8*time.Hour + 31*time.Minute)
	a := Account{
		Name: "acme", Fresh: Freshness{AsOf: asOf, LastWhole: schema.Some(to - 1), RunID: "01KRUN", Version: "1.2.3"},
		Headline: Headline{
			Spend: N(6845.335242), MeanSpend: N(7440.1), MeanDays: 7, CPA: N(27.31), AllowedCPA: N(25),
			CPAConversions: N(1893),
			DaysLeft:       N(12.4), Balance: N(92310.55), StopBalance: N(50), Gaps: 2, Lost: 1,
		},
	}
	sampleDays(&a, r, to, asOf)
	for j := range 6 {
		a.Spend.Campaigns = append(a.Spend.Campaigns, campaign(j))
	}
	a.Spend.Rest = campaigns - 6
	samplePacing(&a, r, to, asOf, campaigns)
	a.Breaks.Rows = []Break{
		{Campaign: campaign(3), Kind: "conversions_stopped", Since: to - 3, Observed: N(2), Expected: N(85),
			Do:    "see whether its conversions still reach the service; until then nothing is concluded from its CPA",
			Daily: N(612.5)},
		{Campaign: campaign(5), Kind: "delivery_stopped", Since: to - 1, Delivery: "waiting_for_funds",
			Do: "add money: nothing else helps it"},
	}
	sampleCampaigns(&a, to, campaigns)
	sampleSources(&a, r, to, sources)
	sampleCreatives(&a, to)
	sampleBids(&a, r, asOf)
	a.Runway = Runway{AsOf: asOf, Balance: N(92310.55), Stop: N(50), Warning: N(99), Mean: N(7440.1), Full: N(9000),
		MeanDays: N(7), Expected: N(7440.1), DaysAtMean: N(12.4), DaysAtFull: N(10.25), ServiceDaysLeft: N(12),
		StopsOn: schema.Some(to + 12), Unlimited: N(0)}
	sampleRestated(&a, to)
	sampleTimeline(&a, to)
	for j := range 30 {
		run := Run{ID: fmt.Sprintf("01K%02d", j), Command: "sync", Outcome: "everything planned is published",
			Started: asOf.Add(time.Duration(j-30) * time.Hour), Seconds: N(20 + float64(j*7%31)), Planned: N(3),
			Proven: N(3), Changed: N(1), Restated: N(4), Requests: N(41), Retries: N(0)}
		if j == 17 {
			run.ExitCode, run.Outcome, run.Message = 5, "the service can't be reached", "connection refused"
		}
		a.Health.Runs = append(a.Health.Runs, run)
	}
	a.Health.Passed = 20
	a.Health.Checks = []Check{{Name: "days_missing", Severity: "error", Known: true, Value: N(1), Threshold: N(0),
		Do: "Run spendsync sync; spendsync status shows by when."}, {Name: "keys_unique", Severity: "error",
		Known: true, Passed: true, Value: N(0), Threshold: N(0)}}
	return a
}

// sampleDays fills the coverage and the spend of forty days.
func sampleDays(a *Account, r *rand.Rand, to schema.Date, asOf time.Time) {
	for d := to - 39; d <= to; d++ {
		state := schema.StateComplete
		switch {
		case d == to:
			state = schema.StateOpen
		case d < to-32:
			state = schema.StateFinal
		}
		switch d {
		case to - 5:
			state = schema.StatePartial
		case to - 20:
			state = schema.StateMissing
		case to - 34:
			state = schema.StateLost
		}
		c := Day{Date: d, State: state, ReadAt: asOf, Left: N(max(0, float64(33-(to-d)))), Do: "nothing"}
		s := SpendDay{Date: d, State: state, Unlimited: N(0), Limit: N(8200)}
		if d > to-12 {
			s.Limit, s.Assumed = N(9000), d < to-6
		}
		if state != schema.StateMissing && state != schema.StateLost {
			total := 0.0
			for j := range 7 {
				v := math.Round(1e6*(0.6+r.Float64())*2600/float64(j+2)) / 1e6
				if d == to {
					v *= 0.3
				}
				total += v
				s.Parts = append(s.Parts, N(v))
			}
			s.Total, c.Spend, c.Rows = N(total), N(total), N(2500)
			s.Conversions, s.Arrived, s.Allowed = N(300), N(min(1, 0.5+0.05*float64(to-d))), N(300*25)
		} else {
			s.Parts, s.Limit, c.ReadAt = make([]Number, 7), Number{}, time.Time{}
		}
		if d == to-12 {
			s.Limits = 1
		}
		if d == to-3 || d == to-25 {
			s.Bids, s.Statuses = 2, 1
		}
		a.Coverage.Days, a.Spend.Days = append(a.Coverage.Days, c), append(a.Spend.Days, s)
	}
}

// samplePacing fills the open day.
func samplePacing(a *Account, r *rand.Rand, to schema.Date, asOf time.Time, campaigns int) {
	for j := range min(campaigns, 12) {
		limit, spend := 300+50*float64(j), 40+37*float64(j)
		projected := spend / 0.355
		state := "on_pace"
		if projected > limit {
			state = "limited"
		} else if projected < 0.75*limit {
			state = "under"
		}
		a.Pacing.Rows = append(a.Pacing.Rows, Pace{Campaign: campaign(j), Date: to, Spend: N(spend), Limit: N(limit),
			Used: N(spend / limit), Elapsed: N(0.355), Projected: N(projected), State: state, Delivery: "active",
			Advice: map[string]string{"limited": "a higher limit would buy more of what pays"}[state]})
	}
	a.Pacing.More = max(0, campaigns-12)
	a.Pacing.Today = Today{Date: schema.Some(to), AsOf: asOf, Spend: N(2461.72), Elapsed: N(0.355),
		Projected: N(7120.4), Conversions: N(61), UsualByNow: N(2610.2)}
	for h := range 24 {
		hour := Hour{Hour: h, Usual: N(120 + 90*math.Sin(float64(h)/4))}
		if h < 8 && h != 3 {
			hour.Spend = N(hour.Usual.V * (0.7 + r.Float64()/2))
		}
		a.Pacing.Today.Hours = append(a.Pacing.Today.Hours, hour)
	}
}

// sampleCampaigns fills which campaigns pay.
func sampleCampaigns(a *Account, to schema.Date, campaigns int) {
	a.Campaigns = Campaigns{From: to - 30, To: to - 1, Days: N(28), Spend: N(204512.25), Conversions: N(8120),
		CPA: N(25.186), Loses: 1, Unclear: 2, Aimless: 1, Broke: 1, Paying: 4, More: max(0, campaigns-9),
		Profit: N(-1234.5), Paid: true}
	for j, verdict := range []string{"loses", "pays", "pays", "broken_tracking", "unclear", "pays", "no_target", "pays",
		"unclear"} {
		spend, ratio := 32000-2500*float64(j), []float64{4.6, 0.8, 0.7, 2, 1.1, 0.9, 0, 0.6, 0.95}[j]
		p := Payer{Campaign: campaign(j), Status: "active", Verdict: verdict, Spend: N(spend), Conversions: N(300),
			CPA: N(spend / 300), Best: N(spend / 330), Worst: N(spend / 271), ChangeVerdict: "unclear",
			Change: N(0.07 - 0.02*float64(j))}
		if ratio > 0 {
			p.Ratio, p.Target = N(ratio), N(spend/300/ratio)
			p.Excess = N(spend - spend/ratio)
		}
		p.Profit = N(spend/4 - 800*float64(j))
		a.Campaigns.Rows = append(a.Campaigns.Rows, p)
	}
}

// sampleSources fills what to block and to scale.
func sampleSources(a *Account, r *rand.Rand, to schema.Date, sources int) {
	a.Sources = Sources{From: to - 30, To: to - 1, Block: N(7), CrowdsOut: N(2), Scale: N(3), Excess: N(431.22),
		Losing: N(15.4), Crowding: N(3.25), More: 312, Optimized: N(2), Days: N(28)}
	for j := range min(sources, 120) {
		spend := math.Exp(r.NormFloat64()*1.2 + 4)
		conv := math.Floor(spend / 25 * (0.5 + r.Float64()))
		s := Source{Campaign: campaign(j % 9), Source: fmt.Sprintf("src-%04d", j), Spend: N(spend),
			Clicks: N(math.Floor(spend / 0.6)), Conversions: N(conv), Target: N(25), TargetOrigin: "target_cpa",
			Best: N(spend / (conv + 2.5 + math.Sqrt(conv))), Daily: N((spend - 25*conv) / 28)}
		if conv > 0 {
			s.CPA, s.Worst = N(spend/conv), N(spend/math.Max(0.05, conv-1.2*math.Sqrt(conv)))
		}
		switch {
		case j < 7:
			s.Verdict, s.Spend, s.Conversions, s.CPA, s.Worst = "block", N(75+spend), N(0),
				Number{}, Number{}
			s.Best, s.Daily = N(s.Spend.V/2.97), N(spend/28)
		case j < 10:
			s.Verdict = "scale"
			s.Spend, s.CPA, s.Best, s.Worst, s.Conversions = N(900+spend), N(14), N(11), N(19), N(70)
		case j < 12:
			s.Verdict, s.Daily = "crowds_out", N(1.625)
			s.Spend, s.CPA, s.Best, s.Worst, s.Conversions = N(700+spend), N(22), N(19), N(26), N(40)
		}
		a.Sources.Rows = append(a.Sources.Rows, s)
	}
}

// sampleCreatives fills which creatives tire.
func sampleCreatives(a *Account, to schema.Date) {
	for j := range 8 {
		t := Tired{Campaign: campaign(j), Creative: Named{fmt.Sprintf("cr-%d", j),
			fmt.Sprintf("Your parcel is waiting, No %d", j)}, State: []string{"exhausted", "fatiguing",
			"steady"}[min(j/2, 2)],
			Age: N(31), CTR: N(0.021 - 0.001*float64(j)), Peak: N(0.041), Decline: N(0.48 - 0.05*float64(j)), Z: N(5.1),
			Impressions: N(84211), Spend: N(300), Beside: N(0.3), Siblings: true,
			Push: Push{Message: "It waits at the shop around the corner until Friday, and then goes back.",
				Link: "https://parcels.example/?s=<<source_id>>", Button: "Track it", Icon: fmt.Sprint("icon", j%2),
				Image: []string{"https://cdn.test/1.png", ""}[j%2]}}
		for d := to - 30; d < to; d++ {
			p := Point{Date: d}
			if d != to-20 {
				p.Value = N(0.041 - (0.041-t.CTR.V)*float64(d-to+30)/29)
			}
			t.Days = append(t.Days, p)
		}
		a.Fatigue.Rows = append(a.Fatigue.Rows, t)
	}
}

// sampleBids fills the bids beside the prices of clicks.
func sampleBids(a *Account, r *rand.Rand, asOf time.Time) {
	for j := range 60 {
		b := Bid{Campaign: campaign(j % 9), Origin: "campaign", Source: fmt.Sprintf("src-%04d", j),
			Bid: N(0.3 + r.Float64()), Clicks: N(float64(100 + j*37)), ReadAt: asOf, Stale: j%9 == 8, Spend: N(200)}
		b.CPC, b.BreakEven = N(b.Bid.V*(0.7+0.5*r.Float64())), N(0.4+r.Float64())
		b.Ratio, b.Now, b.Conversions = N(b.CPC.V/b.Bid.V), b.Bid, N(9)
		b.Advice = []string{"keep", "service_bids", "too_little_data", "bid_less"}[min(3, j%11)]
		if j%3 == 0 {
			b.Origin = "source"
		}
		a.Bids.Rows = append(a.Bids.Rows, b)
	}
	a.Bids.Less, a.Bids.LessSpend, a.Bids.Optimized, a.Bids.Days = N(41), N(8200), N(6), N(28)
}

// sampleRestated fills how numbers change with the age of a day.
func sampleRestated(a *Account, to schema.Date) {
	a.Restated = Restated{
		Ages: []string{"1", "2", "3", "4", "5", "6", "7", "8–14", "15–21", "22–32"}, SettledAge: N(5),
		FirstAge: N(1), FirstSpend: N(0.9998), FirstConversions: N(0.93), Followed: N(14), Share: N(0.99), Changed: 20}
	for age := range 10 {
		share := 1 - 0.07/float64(age+1)
		a.Restated.Factors = append(a.Restated.Factors, Factor{Age: N(float64(age + 1)), Share: N(share),
			Times: N(1 / share), Days: N(14)})
	}
	for d := to - 20; d < to; d++ {
		row := RestatedDay{Date: d}
		for i := range a.Restated.Ages {
			c := RestatedCell{Unknown: i+1 > int(to-d)}
			if !c.Unknown && i < 5 && (int(d)+i)%2 == 0 {
				c.Seen, c.Spend, c.SpendDelta, c.Conversions, c.ConversionsDelta, c.Lines = true, N(0.0004*float64(i)),
					N(1.2), N(0.08/float64(i+1)), N(4), N(12)
			}
			row.Cells = append(row.Cells, c)
		}
		a.Restated.Days = append(a.Restated.Days, row)
	}
}

// sampleTimeline fills what people changed.
func sampleTimeline(a *Account, to schema.Date) {
	a.Timeline = Timeline{From: to - 29, To: to, More: 3, MoreRows: 11}
	for j := range 8 {
		l := Lane{Campaign: campaign(j), Spans: []Span{{From: to - 29, To: to - 14, Status: "active", Assumed: true},
			{From: to - 13, To: to - 6, Status: []string{"active", "paused", "", "rejected"}[j%4]},
			{From: to - 5, To: to, Status: "active"}}}
		for i, columns := range []string{"default_bid", "daily_spend_limit,target_cpa", "status", "states"} {
			c := Change{SeenAt: (to - schema.Date(2+3*i+j)).Start().Add(9 * time.Hour), Campaign: campaign(j),
				Entity: "campaign", EntityID: campaign(j).ID, Kind: "changed", Columns: columns}
			c.NotBefore = c.SeenAt.Add(-time.Hour)
			l.Marks = append(l.Marks, Mark{SeenAt: c.SeenAt, Bid: i == 0, Limit: i == 1, Status: i == 2, Other: i == 3,
				Changes: 1})
			a.Timeline.Changes = append(a.Timeline.Changes, c)
		}
		a.Timeline.Lanes = append(a.Timeline.Lanes, l)
	}
}

func campaign(j int) Named {
	names := []string{"US sweepstakes, Android", "Parcel DE", "Finance leads TX", "Dating CA", "VPN worldwide",
		"Insurance FL", "Games"}
	return Named{fmt.Sprintf("c-%03d", j), fmt.Sprintf("%s %d", names[j%len(names)], j)}
}

func samplePage(accounts ...Account) Page {
	return Page{Accounts: accounts, Version: "1.2.3", Schema: 3,
		Thresholds: []Threshold{{Name: "recent_days", Unit: "days", Meaning: "Length of the window.", Value: N(7)}}}
}
