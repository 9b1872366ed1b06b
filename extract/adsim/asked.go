package adsim

import (
	"maps"
	"slices"
	"time"
)

// changes is what was asked of the settings, all in all. Once it is in a state it
// is never changed; nil is nothing at all.
type changes struct {
	made      []*campaign // created, newest first
	campaigns map[string]*campaignChanges
	creatives map[string]*creativeChanges
	history   map[string][]version // of campaigns that were changed through the API, oldest first
	balance   []balanceMark        // oldest first
	deposits  []deposit            // of a prepaid account, oldest first
	effects   []effect
	marks     []dayMark
	seq       uint64
}

// campaignChanges is what was asked of one campaign. A nil field is as it is by
// itself.
type campaignChanges struct {
	base         *campaign // of a created one
	hidden       Action
	name, status *string
	delivery     *string // empty: as it follows from the rest
	bid, limit   *int64  // no limit: 0
	targetCPA    *int64  // none: 0
	start, end   *time.Time
	audience     *audience
	allowList    *bool
	blocked      map[int32]bool
	allowed      map[int32]bool
	bids         map[int32]int64 // none: 0
	made         []*creative     // created, newest first
	lastNumber   int             // of the last created creative
	optimized    map[int32]bool  // left to source optimization
	pausedUntil  time.Time       // when the last pause has finished
}

type creativeChanges struct {
	hidden               Action
	base                 *creative // of a created one
	title, message, link *string
	imageID, iconID      *string
	button1, button2     *string
	status               *string
	rejectionReasons     *[]string
	rejectionComment     *string
	pending              *content // a version of a running one that is in review, or was refused
}

var (
	noCampaignChanges campaignChanges
	noCreativeChanges creativeChanges
)

// campaign is what was asked of a campaign, never nil.
func (ch *changes) campaign(id string) *campaignChanges {
	if ch != nil {
		if of := ch.campaigns[id]; of != nil {
			return of
		}
	}
	return &noCampaignChanges
}

// creative is what was asked of a creative, never nil.
func (ch *changes) creative(id string) *creativeChanges {
	if ch != nil {
		if of := ch.creatives[id]; of != nil {
			return of
		}
	}
	return &noCreativeChanges
}

// clone is a copy of which everything that is replaced whole may be replaced.
func (ch *changes) clone() *changes {
	next := &changes{campaigns: map[string]*campaignChanges{}, creatives: map[string]*creativeChanges{},
		history: map[string][]version{}}
	if ch != nil {
		next.made = slices.Clone(ch.made)
		next.marks, next.seq, next.balance, next.deposits = ch.marks, ch.seq, ch.balance, ch.deposits
		next.effects = ch.effects
		maps.Copy(next.history, ch.history)
		maps.Copy(next.campaigns, ch.campaigns)
		maps.Copy(next.creatives, ch.creatives)
	}
	return next
}

// or is what was asked for, or else v.
func or[T any](asked *T, v T) T {
	if asked != nil {
		return *asked
	}
	return v
}
