package payouts

import (
	"fmt"

	"spendsync/schema"
)

// CampaignDay is a campaign on a day.
type CampaignDay struct {
	Campaign string
	Day      schema.Date
}

// Counts are clicks and conversions.
type Counts [2]float64

// Bounds of a ratio that chance, bots and the edges of days explain, and how much must be counted before it is said.
const (
	leastShare, mostShare = 0.5, 1.5
	enoughClicks          = 1000
	enoughConversions     = 50
)

// countings compares the exports with what the service counts of the same campaigns on the same days.
type countings struct {
	ours, service Counts
}

// add adds the rows of a day.
func (c *countings) add(o *Options, day schema.Date, rows []schema.TrackerDay) {
	sums, unknown := map[string]*Counts{}, map[string]*[2]bool{}
	for i := range rows {
		id := rows[i].CampaignID
		if sums[id] == nil {
			sums[id], unknown[id] = &Counts{}, &[2]bool{}
		}
		for n, counted := range [2]schema.Null[int64]{rows[i].Clicks, rows[i].Conversions} {
			sums[id][n] += float64(counted.V)
			unknown[id][n] = unknown[id][n] || !counted.Valid
		}
	}
	for id, sum := range sums {
		for n, service := range o.Counts[CampaignDay{id, day}] {
			if service > 0 && !unknown[id][n] {
				c.ours[n] += sum[n]
				c.service[n] += service
			}
		}
	}
}

// say notes a ratio that is far from 1.
func (c *countings) say(own *Own) {
	for n, what := range [2]string{"clicks", "conversions"} {
		enough := [2]float64{enoughClicks, enoughConversions}[n]
		share := c.ours[n] / max(c.service[n], 1)
		if c.service[n] < enough || share >= leastShare && share <= mostShare {
			continue
		}
		why := "does the export have other rows than these campaigns and sources, or a column of something else?"
		if n == 0 && share < 1 {
			why = "are these the clicks on a landing page? Visits or clicks of the campaign's link are meant"
		}
		own.Notes["tracker.far-"+what] = fmt.Sprintf("the exports count %.0f %s where the service counts %.0f "+
			"(%.0f %%): %s",
			c.ours[n], what, c.service[n], 100*share, why)
	}
}
