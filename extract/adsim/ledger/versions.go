package ledger

import (
	"slices"
	"strings"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/market"
)

// BalanceMark is what the balance was made to be from an instant on.
type BalanceMark struct {
	At      time.Time
	Status  string
	Emptied bool // by what was spent
}

// BalanceAt is what the balance was made to be, "" where it follows from the spend.
func (st *State) BalanceAt(t time.Time) string {
	status := st.Balance
	if st.Changes != nil {
		for _, m := range st.Changes.Balance {
			if !m.At.After(t) {
				status = m.Status
			}
		}
	}
	return status
}

// Deposit is money that came by wire.
type Deposit struct {
	At     time.Time
	Amount int64
}

// VersionOf is what was asked of a campaign and its creatives until now.
func (ch *Changes) VersionOf(cp *market.Campaign, at time.Time) Version {
	v := Version{At: at, campaign: cp, Of: ch.Campaign(cp.ID), creatives: map[string]*CreativeChanges{}}
	for cr, of := range ch.Creatives {
		if strings.HasPrefix(cr, cp.ID+"-") {
			v.creatives[cr] = of
		}
	}
	return v
}

// Version is what was asked of a campaign and its creatives from an instant on.
type Version struct {
	At        time.Time
	campaign  *market.Campaign
	ByItself  bool // before the first change through the API
	Of        *CampaignChanges
	creatives map[string]*CreativeChanges
}

// creative is what was asked of a creative, never nil.
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

// Last is the number of the last change.
func (ch *Changes) Last() uint64 {
	if ch == nil {
		return 0
	}
	return ch.Seq
}

// markOf is what the spending of a day depends on, as far as it was changed.
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

// Content is what is reviewed of a creative.
type Content struct {
	Title, Message, Link, ImageID, IconID, Button1, Button2 string

	// Of a version of a creative that runs: when it was submitted, and what the
	// review had against it.
	Submitted time.Time
	Rejected  bool
	Reasons   []string
	Comment   string
}

func ContentOf(now creativeNow) Content {
	return Content{Title: now.Title, Message: now.Message, Link: now.Link, ImageID: now.ImageID, IconID: now.IconID,
		Button1: now.Button1, Button2: now.Button2}
}

// Set puts the content in the place of what a creative has.
func (ct Content) Set(of *CreativeChanges) {
	of.Title, of.Message, of.Link = &ct.Title, &ct.Message, &ct.Link
	of.ImageID, of.IconID, of.Button1, of.Button2 = &ct.ImageID, &ct.IconID, &ct.Button1, &ct.Button2
}

// Effect is something that happens to what a campaign brings, or one of its creatives,
// on some days: what is to be found in the numbers of an account.
type Effect struct {
	CampaignID string `json:"campaign_id"` // or
	CreativeID string `json:"creative_id"`
	// From and To are Chicago days, YYYY-MM-DD, both included; without To it stays.
	From string `json:"from"`
	To   string `json:"to"`
	// Clicks and Conversions are how many percent more come of the same impressions, and
	// of the same clicks; less than 0: fewer. At -100 there are none.
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

// Action is what becomes of an entity beside its fields.
type Action string

const (
	Create Action = "create" // a campaign; with Campaign, a creative of it
	Hide   Action = "hide"   // missing from listings, and 404 on its own, with all that belongs to it
	Unlist Action = "unlist" // missing from listings only
	Show   Action = "show"   // as if it had never been hidden
)

// EndOptimization takes all sources off optimization where target_cpa is off.
func (of *CampaignChanges) EndOptimization() {
	if of.TargetCPA != nil && *of.TargetCPA == 0 {
		of.Optimized = nil
	}
}

// Follows says whether the row is of a campaign that follows its settings.
func (st *State) Follows(r *Row) bool {
	return st.Changes != nil && r.Campaign != nil && st.Changes.History[r.Campaign.ID] != nil
}
