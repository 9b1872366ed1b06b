package adsim

import (
	"fmt"
	"slices"
)

// Settings is what the advertiser API shows of a campaign, in exact text. Amounts
// are US dollars with six decimals, as DECIMAL(18,6) is printed; instants are RFC
// 3339 in UTC; what is not set is empty. Lists of sources are sorted, creatives
// come newest first. Faults are not in it.
type Settings struct {
	CampaignID      string `json:"campaign_id"`
	Name            string `json:"name"`
	Status          string `json:"status"`
	DeliveryStatus  string `json:"delivery_status"`
	DefaultBid      string `json:"default_bid"`
	DailySpendLimit string `json:"daily_spend_limit"`
	TargetCPA       string `json:"target_cpa"`
	StartDate       string `json:"start_date"`
	EndDate         string `json:"end_date"`
	CreatedAt       string `json:"created_at"`

	Audience Audience `json:"audience"`

	SourceMode string            `json:"source_targeting_mode"`
	Allowed    []string          `json:"allowed_source_ids"`
	Blocked    []string          `json:"blocked_source_ids"`
	Bids       map[string]string `json:"bid_overrides"`

	Creatives []CreativeSettings `json:"creatives"`

	// Hidden is [Hide] or [Unlist] where the campaign is not shown.
	Hidden Action `json:"hidden"`
}

// Audience is who a campaign is shown to. Zero values are not set.
type Audience struct {
	Country              string   `json:"country"`
	States               []string `json:"states"`
	Platforms            []string `json:"platforms"`
	SubscribedMoreThan   int      `json:"subscribed_more_than_minutes_ago"`
	SubscribedLessThan   int      `json:"subscribed_less_than_minutes_ago"`
	MinAge               int      `json:"min_age"`
	MaxAge               int      `json:"max_age"`
	Gender               string   `json:"gender"`
	UnsupportedTargeting bool     `json:"unsupported_targeting"`
}

// CreativeSettings is what the advertiser API shows of a creative.
type CreativeSettings struct {
	CreativeID       string   `json:"creative_id"`
	CampaignID       string   `json:"campaign_id"`
	Title            string   `json:"title"`
	Message          string   `json:"message"`
	Link             string   `json:"link"`
	ImageID          string   `json:"image_id"`
	IconID           string   `json:"icon_id"`
	Button1          string   `json:"button1"`
	Button2          string   `json:"button2"`
	Status           string   `json:"status"`
	RejectionReasons []string `json:"rejection_reasons"`
	RejectionComment string   `json:"rejection_comment"`
	CreatedAt        string   `json:"created_at"`
	Hidden           Action   `json:"hidden"`
}

// settings returns the settings of a campaign as the API shows them, hidden or not.
func (st *state) settings(campaignID string) (Settings, error) {
	c := st.campaign(campaignID)
	if c == nil {
		return Settings{}, fmt.Errorf("settings: no campaign %q", campaignID)
	}
	now, src := st.campaignNow(c), st.sourcesNow(c)
	t := st.account.sources
	out := Settings{
		CampaignID:      c.id,
		Name:            now.name,
		Status:          now.status,
		DeliveryStatus:  now.delivery,
		DefaultBid:      exact(now.bid),
		DailySpendLimit: exact(now.limit),
		TargetCPA:       exact(now.targetCPA),
		StartDate:       instant(now.start),
		EndDate:         instant(now.end),
		CreatedAt:       instant(c.createdAt),
		Audience: Audience{
			Country: now.audience.country, States: slices.Clone(now.audience.states),
			Platforms:          slices.Clone(now.audience.platforms),
			SubscribedMoreThan: now.audience.moreThan, SubscribedLessThan: now.audience.lessThan,
			MinAge: now.audience.minAge, MaxAge: now.audience.maxAge,
			Gender: now.audience.gender, UnsupportedTargeting: now.audience.unsupported,
		},
		SourceMode: src.mode(),
		Allowed:    t.names(src.allowed),
		Blocked:    t.names(src.blocked),
		Bids:       map[string]string{},
		Hidden:     st.changes.campaign(c.id).hidden,
	}
	for _, b := range src.bids {
		out.Bids[t.ids[b.source]] = exact(b.bid)
	}
	for _, cr := range st.creatives(c) {
		cn := st.creativeNow(cr)
		out.Creatives = append(out.Creatives, CreativeSettings{
			CreativeID: cr.id, CampaignID: c.id,
			Title: cn.title, Message: cn.message, Link: cn.link, ImageID: cn.imageID, IconID: cn.iconID,
			Button1: cn.button1, Button2: cn.button2, Status: cn.status,
			RejectionReasons: slices.Clone(cn.reasons), RejectionComment: cn.comment,
			CreatedAt: instant(cr.createdAt), Hidden: st.changes.creative(cr.id).hidden,
		})
	}
	return out, nil
}
