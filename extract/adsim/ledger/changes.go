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

// Changes contains all changes that were made to an account. A Changes is immutable once a State refers to it; nil
// means no changes.
type Changes struct {
	Made      []*market.Campaign // created, newest first
	Campaigns map[string]*CampaignChanges
	Creatives map[string]*CreativeChanges
	History   map[string][]Version // versions of each changed campaign of a prepaid account, oldest first
	Deposits  []Deposit            // wire transfers to a prepaid account, oldest first
	Effects   []Planted
	marks     []dayMark // by day
	Seq       uint64    // seq of the newest mark
}

// CampaignChanges are the changes to one campaign. A nil field is unchanged.
type CampaignChanges struct {
	Base         *market.Campaign // the campaign itself, if it was created by a change
	Hidden       bool
	Name, Status *string
	Delivery     *string // an empty text means that the value is computed from the other fields
	Bid, Limit   *int64  // 0: no limit
	TargetCPA    *int64  // 0: none
	Start, End   *time.Time
	Audience     *market.Audience
	AllowList    *bool
	Blocked      map[int32]bool
	Allowed      map[int32]bool
	Bids         map[int32]int64    // 0: removed
	Made         []*market.Creative // created, newest first
	LastNumber   int                // number of the last created creative
}

// CreativeChanges are the changes to one creative. A nil field is unchanged.
type CreativeChanges struct {
	Hidden           bool
	Base             *market.Creative // the creative itself, if it was created by a change
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
		if changes := ch.Campaigns[id]; changes != nil {
			return changes
		}
	}
	return &NoCampaignChanges
}

// Creative returns the changes of a creative, never nil.
func (ch *Changes) Creative(id string) *CreativeChanges {
	if ch != nil {
		if changes := ch.Creatives[id]; changes != nil {
			return changes
		}
	}
	return &noCreativeChanges
}

// Clone returns a copy of the changes. The caller may replace the fields of the copy and the entries of its maps. The
// values that they point to belong to the original, too, and must not be modified.
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

// Or returns *asked, or v if asked is nil.
func Or[T any](asked *T, v T) T {
	if asked != nil {
		return *asked
	}
	return v
}

// Refresh is the interval at which the report's numbers are updated.
const Refresh = 15 * time.Minute

// State is the state of an account at one instant. The State and the request determine the reply. Each request takes
// one State at its start, so that concurrent changes do not affect the reply.
type State struct {
	Account  *market.Account
	Caches   *Caches
	Cfg      *config.Config
	Now      time.Time
	AsOf     time.Time // when the report's numbers were last updated
	Today    clock.Day
	Anchor   clock.Day // day of the account's first request: see [market.Account.Listing]
	Version  uint64    // number of restatements
	Frozen   bool      // Config.FreezeRestatements
	Overlays map[clock.Day]*Overlay
	Changes  *Changes
}

// Deposit is a wire transfer to the account.
type Deposit struct {
	At     time.Time
	Amount int64
}

// VersionOf returns a Version that begins at the given instant. It contains the latest changes of a campaign and its
// creatives.
func (ch *Changes) VersionOf(cp *market.Campaign, at time.Time) Version {
	v := Version{At: at, Changes: ch.Campaign(cp.ID), creatives: map[string]*CreativeChanges{}}
	for cr, changes := range ch.Creatives {
		if strings.HasPrefix(cr, cp.ID+"-") {
			v.creatives[cr] = changes
		}
	}
	return v
}

// Version contains the changes of a campaign and its creatives that are in effect from an instant until the next
// version.
type Version struct {
	At        time.Time
	Generated bool // whether the campaign is still as generated; its spend then follows from the seed
	Changes   *CampaignChanges
	creatives map[string]*CreativeChanges
}

// creative returns the changes of a creative, never nil.
func (v *Version) creative(id string) *CreativeChanges {
	if changes := v.creatives[id]; changes != nil {
		return changes
	}
	return &noCreativeChanges
}

// dayMark records the number of a change (seq), and the first day on which the change affects the spending.
type dayMark struct {
	day clock.Day
	seq uint64
}

// NoteDay records that a new change affects the spending on a day and on all later days.
func (ch *Changes) NoteDay(d clock.Day) {
	ch.Seq++
	earlier := ch.marks
	for len(earlier) > 0 && earlier[len(earlier)-1].day >= d {
		earlier = earlier[:len(earlier)-1]
	}
	ch.marks = append(slices.Clip(earlier), dayMark{d, ch.Seq})
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

// Content is the reviewed part of a creative, and the reasons for a rejection.
type Content struct {
	Title, Message, Link, ImageID, IconID, Button1, Button2 string
	Reasons                                                 []string
	Comment                                                 string
}

// Effect changes the click rate and the conversion rate of a campaign, or of one of its creatives, on some days. The
// demo plants effects that an analysis of the numbers should find.
type Effect struct {
	CampaignID string
	CreativeID string // empty: all creatives of the campaign
	// From and To are the first and the last Chicago day, YYYY-MM-DD. Without To the effect does not end.
	From string
	To   string
	// Clicks is the change of the clicks per impression, in percent: at -100 there are no clicks.
	Clicks int64
	// Conversions is the change of the conversions per click, in percent.
	Conversions int64
}

// Planted is an Effect with its days parsed.
type Planted struct {
	Effect
	First, Last clock.Day
}

// Plant applies the planted effects to the click rate and the conversion rate of the entry e. The entry is a creative
// on the day d.
func (ch *Changes) Plant(e *Entry, d clock.Day) {
	if ch == nil {
		return
	}
	for _, p := range ch.Effects {
		if d < p.First || d > p.Last || p.CampaignID != e.Creative.Campaign.ID ||
			p.CreativeID != "" && p.CreativeID != e.Creative.ID {
			continue
		}
		e.ClickRate = min(e.ClickRate*uint64(100+p.Clicks)/100, 1<<15)
		e.ConvertRate = min(e.ConvertRate*uint64(100+p.Conversions)/100, 1<<15)
	}
}

// Action is what a change does besides setting fields: it creates, hides or shows an entity.
type Action string

const (
	Create Action = "create" // a campaign or, if Change.Campaign is set, a creative of it
	Hide   Action = "hide"   // lists leave the entity out, and a request for its ID is answered with 404
	Show   Action = "show"   // undoes Hide
)

// Follows reports whether the report shows the changed settings of the row's campaign. The report does so after the
// first change of a campaign in a prepaid account.
func (st *State) Follows(r *Row) bool {
	return st.Changes != nil && r.Campaign != nil && st.Changes.History[r.Campaign.ID] != nil
}
