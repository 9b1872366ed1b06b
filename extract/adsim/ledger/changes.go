package ledger

import (
	"maps"
	"slices"
	"strings"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/market"
)

// Changes is the sum of all requested changes of the settings. Once it is in a state it is
// immutable; nil means no changes.
type Changes struct {
	Made      []*market.Campaign // created, newest first
	Campaigns map[string]*CampaignChanges
	Creatives map[string]*CreativeChanges
	History   map[string][]Version // of changed campaigns of a prepaid account, oldest first
	Deposits  []Deposit            // of a prepaid account, oldest first
	Effects   []Planted
	marks     []dayMark
	Seq       uint64
}

// CampaignChanges are the changes to one campaign. A nil field is unchanged.
type CampaignChanges struct {
	Base         *market.Campaign // of a created one
	Hidden       Action
	Name, Status *string
	Delivery     *string // empty: derived from the rest
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
}

type CreativeChanges struct {
	Hidden           Action
	Base             *market.Creative // of a created one
	Content          *Content
	Status           *string
	RejectionReasons *[]string
	RejectionComment *string
}

var (
	NoCampaignChanges CampaignChanges
	noCreativeChanges CreativeChanges
)

// Campaign returns the changes of a campaign, never nil.
func (ch *Changes) Campaign(id string) *CampaignChanges {
	if ch != nil {
		if of := ch.Campaigns[id]; of != nil {
			return of
		}
	}
	return &NoCampaignChanges
}

// Creative returns the changes of a creative, never nil.
func (ch *Changes) Creative(id string) *CreativeChanges {
	if ch != nil {
		if of := ch.Creatives[id]; of != nil {
			return of
		}
	}
	return &noCreativeChanges
}

// Clone returns a copy whose top-level fields and entries may be replaced.
func (ch *Changes) Clone() *Changes {
	next := &Changes{Campaigns: map[string]*CampaignChanges{}, Creatives: map[string]*CreativeChanges{},
		History: map[string][]Version{}}
	if ch != nil {
		next.Made = slices.Clone(ch.Made)
		next.marks, next.Seq, next.Deposits = ch.marks, ch.Seq, ch.Deposits
		next.Effects = ch.Effects
		maps.Copy(next.History, ch.History)
		maps.Copy(next.Campaigns, ch.Campaigns)
		maps.Copy(next.Creatives, ch.Creatives)
	}
	return next
}

// Or returns the changed value if there is one, and v if not.
func Or[T any](asked *T, v T) T {
	if asked != nil {
		return *asked
	}
	return v
}

// State is what an answer depends on besides the question. It is a value of one
// instant: a request takes it once and sees no change while it is answered.
type State struct {
	Account  *market.Account
	Kept     *Caches
	Cfg      *config.Config
	Now      time.Time
	AsOf     time.Time // the instant of the report's numbers
	Today    clock.Day
	Anchor   clock.Day
	Version  uint64 // of the restatements
	Frozen   bool
	Overlays map[clock.Day]*Overlay
	Changes  *Changes // of the settings
	Balance  string   // as configured
}

// Deposit is money that came by wire.
type Deposit struct {
	At     time.Time
	Amount int64
}

// VersionOf returns the changes of a campaign and its creatives until now.
func (ch *Changes) VersionOf(cp *market.Campaign, at time.Time) Version {
	v := Version{At: at, Of: ch.Campaign(cp.ID), creatives: map[string]*CreativeChanges{}}
	for cr, of := range ch.Creatives {
		if strings.HasPrefix(cr, cp.ID+"-") {
			v.creatives[cr] = of
		}
	}
	return v
}

// Version is the changes of a campaign and its creatives in effect from an instant.
type Version struct {
	At        time.Time
	ByItself  bool // before the first change
	Of        *CampaignChanges
	creatives map[string]*CreativeChanges
}

// creative returns the changes of a creative, never nil.
func (v *Version) creative(id string) *CreativeChanges {
	if of := v.creatives[id]; of != nil {
		return of
	}
	return &noCreativeChanges
}

// dayMark is the number of the last change of spending on a day.
type dayMark struct {
	day clock.Day
	seq uint64
}

// NoteDay marks a day, and all after it, as changed.
func (ch *Changes) NoteDay(d clock.Day) {
	ch.Seq++
	keep := ch.marks
	for len(keep) > 0 && keep[len(keep)-1].day >= d {
		keep = keep[:len(keep)-1]
	}
	ch.marks = append(slices.Clip(keep), dayMark{d, ch.Seq})
}

// markOf returns the number of the last change that affects the spending of a day.
func (ch *Changes) markOf(d clock.Day) uint64 {
	if ch == nil {
		return 0
	}
	for i := len(ch.marks) - 1; i >= 0; i-- {
		if ch.marks[i].day <= d {
			return ch.marks[i].seq
		}
	}
	return 0
}

// Content is the part of a creative that is reviewed, and what the review had against it.
type Content struct {
	Title, Message, Link, ImageID, IconID, Button1, Button2 string
	Reasons                                                 []string
	Comment                                                 string
}

// Effect is something that happens to what a campaign brings, or one of its creatives,
// on some days: something to be found in the numbers of an account.
type Effect struct {
	CampaignID string `json:"campaign_id"` // or
	CreativeID string `json:"creative_id"`
	// From and To are Chicago days, YYYY-MM-DD, both included; without To it stays.
	From string `json:"from"`
	To   string `json:"to"`
	// Clicks and Conversions are changes in percent: of the clicks of the same impressions, and of the conversions of
	// the same clicks. At -100 there are none.
	Clicks      int64 `json:"clicks"`
	Conversions int64 `json:"conversions"`
}

// Planted is an Effect with its days.
type Planted struct {
	Effect
	First, Last clock.Day
}

// Plant changes the rates of a creative on a day as was asked.
func (ch *Changes) Plant(e *Entry, d clock.Day) {
	if ch == nil {
		return
	}
	for _, p := range ch.Effects {
		if d < p.First || d > p.Last || p.CampaignID != e.Creative.Campaign.ID && p.CreativeID != e.Creative.ID {
			continue
		}
		e.ClickRate = min(e.ClickRate*uint64(100+p.Clicks)/100, 1<<15)
		e.ConvertRate = min(e.ConvertRate*uint64(100+p.Conversions)/100, 1<<15)
	}
}

// Action is a change of an entity that does not change its fields.
type Action string

const (
	Create Action = "create" // a campaign; with Campaign, a creative of it
	Hide   Action = "hide"   // missing from listings, and 404 on its own, with all that belongs to it
	Unlist Action = "unlist" // missing from listings only
	Show   Action = "show"   // as if it had never been hidden
)

// Follows reports whether the row is of a campaign that follows its settings.
func (st *State) Follows(r *Row) bool {
	return st.Changes != nil && r.Campaign != nil && st.Changes.History[r.Campaign.ID] != nil
}
