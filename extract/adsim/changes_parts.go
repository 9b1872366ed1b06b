package adsim

import (
	"slices"
	"strings"
	"time"
)

// balanceMark is what the balance was made to be from an instant on.
type balanceMark struct {
	at      time.Time
	status  string
	emptied bool // by what was spent
}

// balanceAt is what the balance was made to be, "" where it follows from the spend.
func (st *state) balanceAt(t time.Time) string {
	status := st.balance
	if st.changes != nil {
		for _, m := range st.changes.balance {
			if !m.at.After(t) {
				status = m.status
			}
		}
	}
	return status
}

// deposit is money that came by wire.
type deposit struct {
	at     time.Time
	amount int64
}

// versionOf is what was asked of a campaign and its creatives until now.
func (ch *changes) versionOf(cp *campaign, at time.Time) version {
	v := version{at: at, campaign: cp, of: ch.campaign(cp.id), creatives: map[string]*creativeChanges{}}
	for cr, of := range ch.creatives {
		if strings.HasPrefix(cr, cp.id+"-") {
			v.creatives[cr] = of
		}
	}
	return v
}

// version is what was asked of a campaign and its creatives from an instant on.
type version struct {
	at        time.Time
	campaign  *campaign
	byItself  bool // before the first change through the API
	of        *campaignChanges
	creatives map[string]*creativeChanges
}

// creative is what was asked of a creative, never nil.
func (v *version) creative(id string) *creativeChanges {
	if of := v.creatives[id]; of != nil {
		return of
	}
	return &noCreativeChanges
}

// dayMark is the number of the last change of spending on a day.
type dayMark struct {
	day day
	seq uint64
}

// noteDay marks a day, and all after it, as changed.
func (ch *changes) noteDay(d day) {
	ch.seq++
	keep := ch.marks
	for len(keep) > 0 && keep[len(keep)-1].day >= d {
		keep = keep[:len(keep)-1]
	}
	ch.marks = append(slices.Clip(keep), dayMark{d, ch.seq})
}

// last is the number of the last change.
func (ch *changes) last() uint64 {
	if ch == nil {
		return 0
	}
	return ch.seq
}

// markOf is what the spending of a day depends on, as far as it was changed.
func (ch *changes) markOf(d day) uint64 {
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

// content is what is reviewed of a creative.
type content struct {
	title, message, link, imageID, iconID, button1, button2 string

	// Of a version of a creative that runs: when it was submitted, and what the
	// review had against it.
	submitted time.Time
	rejected  bool
	reasons   []string
	comment   string
}

func contentOf(now creativeNow) content {
	return content{title: now.title, message: now.message, link: now.link, imageID: now.imageID, iconID: now.iconID,
		button1: now.button1, button2: now.button2}
}

// set puts the content in the place of what a creative has.
func (ct content) set(of *creativeChanges) {
	of.title, of.message, of.link = &ct.title, &ct.message, &ct.link
	of.imageID, of.iconID, of.button1, of.button2 = &ct.imageID, &ct.iconID, &ct.button1, &ct.button2
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

// effect is an Effect with its days.
type effect struct {
	Effect
	from, to day
}

// plant changes the rates of a creative on a day as was asked.
func (ch *changes) plant(e *entry, d day) {
	if ch == nil {
		return
	}
	for _, p := range ch.effects {
		if d < p.from || d > p.to || p.CampaignID != e.creative.campaign.id && p.CreativeID != e.creative.id {
			continue
		}
		e.clickRate = min(e.clickRate*uint64(100+p.Clicks)/100, 1<<15)
		e.convertRate = min(e.convertRate*uint64(100+p.Conversions)/100, 1<<15)
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

// endOptimization takes all sources off optimization where target_cpa is off.
func (of *campaignChanges) endOptimization() {
	if of.targetCPA != nil && *of.targetCPA == 0 {
		of.optimized = nil
	}
}

// follows says whether the row is of a campaign that follows its settings.
func (st *state) follows(r *row) bool {
	return st.changes != nil && r.campaign != nil && st.changes.history[r.campaign.id] != nil
}
