package ledger

import (
	"maps"
	"slices"
	"time"

	"spendsync/extract/adsim/market"
)

// Changes is what was asked of the settings, all in all. Once it is in a state it
// is never changed; nil is nothing at all.
type Changes struct {
	Made      []*market.Campaign // created, newest first
	Campaigns map[string]*CampaignChanges
	Creatives map[string]*CreativeChanges
	History   map[string][]Version // of campaigns that were changed through the API, oldest first
	Balance   []BalanceMark        // oldest first
	Deposits  []Deposit            // of a prepaid account, oldest first
	Effects   []Planted
	marks     []dayMark
	Seq       uint64
}

// CampaignChanges is what was asked of one campaign. A nil field is as it is by
// itself.
type CampaignChanges struct {
	Base         *market.Campaign // of a created one
	Hidden       Action
	Name, Status *string
	Delivery     *string // empty: as it follows from the rest
	Bid, Limit   *int64  // no limit: 0
	TargetCPA    *int64  // none: 0
	Start, End   *time.Time
	Audience     *market.Audience
	AllowList    *bool
	Blocked      map[int32]bool
	Allowed      map[int32]bool
	Bids         map[int32]int64    // none: 0
	Made         []*market.Creative // created, newest first
	LastNumber   int                // of the last created creative
	Optimized    map[int32]bool     // left to source optimization
	PausedUntil  time.Time          // when the last pause has finished
}

type CreativeChanges struct {
	Hidden               Action
	Base                 *market.Creative // of a created one
	Title, Message, Link *string
	ImageID, IconID      *string
	Button1, Button2     *string
	Status               *string
	RejectionReasons     *[]string
	RejectionComment     *string
	Pending              *Content // a version of a running one that is in review, or was refused
}

var (
	NoCampaignChanges CampaignChanges
	noCreativeChanges CreativeChanges
)

// Campaign is what was asked of a campaign, never nil.
func (ch *Changes) Campaign(id string) *CampaignChanges {
	if ch != nil {
		if of := ch.Campaigns[id]; of != nil {
			return of
		}
	}
	return &NoCampaignChanges
}

// Creative is what was asked of a creative, never nil.
func (ch *Changes) Creative(id string) *CreativeChanges {
	if ch != nil {
		if of := ch.Creatives[id]; of != nil {
			return of
		}
	}
	return &noCreativeChanges
}

// Clone is a copy of which everything that is replaced whole may be replaced.
func (ch *Changes) Clone() *Changes {
	next := &Changes{Campaigns: map[string]*CampaignChanges{}, Creatives: map[string]*CreativeChanges{},
		History: map[string][]Version{}}
	if ch != nil {
		next.Made = slices.Clone(ch.Made)
		next.marks, next.Seq, next.Balance, next.Deposits = ch.marks, ch.Seq, ch.Balance, ch.Deposits
		next.Effects = ch.Effects
		maps.Copy(next.History, ch.History)
		maps.Copy(next.Campaigns, ch.Campaigns)
		maps.Copy(next.Creatives, ch.Creatives)
	}
	return next
}

// Or is what was asked for, or else v.
func Or[T any](asked *T, v T) T {
	if asked != nil {
		return *asked
	}
	return v
}
