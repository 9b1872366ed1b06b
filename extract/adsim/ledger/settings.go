package ledger

import (
	"fmt"
	"slices"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/money"
)

// Settings contains the settings of a campaign as the advertiser API shows them without faults and quirks. Amounts are
// US dollars with six decimals, as DECIMAL(18,6) is printed; instants are RFC 3339 in UTC; an unset value is empty.
// Lists of sources are sorted, creatives come newest first.
type Settings struct {
	CampaignID      string
	Name            string
	Status          string
	DeliveryStatus  string
	DefaultBid      string
	DailySpendLimit string
	TargetCPA       string
	StartDate       string
	EndDate         string

	Audience market.Audience

	SourceMode string
	Allowed    []string
	Blocked    []string
	Bids       map[string]string

	Creatives []CreativeSettings

	Hidden bool // whether the API does not show the campaign
}

// CreativeSettings contains the settings of a creative, in the same form as [Settings].
type CreativeSettings struct {
	CreativeID       string
	CampaignID       string
	Title            string
	Message          string
	Link             string
	ImageID          string
	IconID           string
	Button1          string
	Button2          string
	Status           string
	RejectionReasons []string
	RejectionComment string
	Hidden           bool
}

// Settings returns the settings of a campaign, which may be hidden.
func (st *State) Settings(campaignID string) (Settings, error) {
	c := st.Campaign(campaignID)
	if c == nil {
		return Settings{}, fmt.Errorf("settings: no campaign %q", campaignID)
	}
	now, src := st.CampaignNow(c), st.SourcesNow(c)
	t := st.Account.Sources
	out := Settings{
		CampaignID:      c.ID,
		Name:            now.Name,
		Status:          now.Status,
		DeliveryStatus:  now.Delivery,
		DefaultBid:      money.Exact(now.Bid),
		DailySpendLimit: money.Exact(now.Limit),
		TargetCPA:       money.Exact(now.TargetCPA),
		StartDate:       clock.Instant(now.Start),
		EndDate:         clock.Instant(now.End),
		Audience:        now.Audience,
		SourceMode:      src.Mode(),
		Allowed:         t.Names(src.Allowed),
		Blocked:         t.Names(src.Blocked),
		Bids:            map[string]string{},
		Hidden:          st.Changes.Campaign(c.ID).Hidden,
	}
	for _, b := range src.Bids {
		out.Bids[t.IDs[b.Source]] = money.Exact(b.Bid)
	}
	for _, cr := range st.Creatives(c) {
		cn := st.CreativeNow(cr)
		out.Creatives = append(out.Creatives, CreativeSettings{
			CreativeID: cr.ID, CampaignID: c.ID,
			Title: cn.Title, Message: cn.Message, Link: cn.Link, ImageID: cn.ImageID, IconID: cn.IconID,
			Button1: cn.Button1, Button2: cn.Button2, Status: cn.Status,
			RejectionReasons: slices.Clone(cn.Reasons), RejectionComment: cn.Comment,
			Hidden: st.Changes.Creative(cr.ID).Hidden,
		})
	}
	return out, nil
}
