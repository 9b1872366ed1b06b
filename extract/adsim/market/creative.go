package market

import (
	"fmt"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/clock"
)

// Creative is one generated creative, or one created by a change.
type Creative struct {
	Campaign                              *Campaign
	ID                                    string
	Key                                   uint64
	Title, Message, Link, ImageID, IconID string
	Button1, Button2                      string
	CreatedAt                             time.Time
	Created                               clock.Day
	reviewed                              clock.Day // first day after the review
	Archived                              clock.Day
	draft, rejected                       bool
	Number                                int // 0 for a generated creative
	Weight                                uint64
}

// Never is the day of an event that does not happen.
const Never = clock.Day(1 << 30)

func (a *Account) buildCreative(c *Campaign, i, period int) *Creative {
	key := chance.Hash(c.Key, chance.AboutCreative, uint64(i)+1)
	h := chance.Mix(key)
	cr := &Creative{
		Campaign: c,
		Key:      key,
		Created:  c.Created,
		Archived: Never,
		Weight:   1 + chance.Below(chance.Mix(key+1), 8),
	}
	if i > 0 && h%5 < 2 {
		cr.Created += clock.Day(chance.Below(chance.Mix(key+2), uint64(period*6/10)))
	}
	cr.CreatedAt = cr.Created.Start(a.Zone).Add(-time.Duration(60+chance.Below(chance.Mix(key+3), 3600)) * time.Second)
	if cr.CreatedAt.Before(c.CreatedAt) {
		cr.CreatedAt = c.CreatedAt.Add(time.Duration(i+1) * time.Second)
	}
	cr.reviewed = cr.Created + 1 + clock.Day(h>>8%4/3)
	// The first creative of a campaign always runs, so it is never a draft, rejected or archived.
	if i > 0 {
		switch {
		case h>>16%16 == 0:
			cr.draft = true
		case h>>16%16 == 1:
			cr.rejected = true
		}
		if h>>24%4 == 0 {
			cr.Archived = cr.Created + 20 + clock.Day(chance.Below(chance.Mix(key+4), uint64(period)))
		}
	}

	number := i + 1
	switch c.Key % 5 {
	case 3:
		number = 1000 + i*7
	case 4:
		number = 104233 + i*311
	}
	cr.ID = fmt.Sprintf("%s-%03d", c.ID, number)
	text := chance.Hash(key, chance.AboutText)
	cr.Title = titleTexts[chance.Below(text, uint64(len(titleTexts)))]
	cr.Message = messageTexts[chance.Below(chance.Mix(text), uint64(len(messageTexts)))]
	cr.Link = fmt.Sprintf("https://offers.example/%s?src=<<source_id>>&cr=%d", c.ID, number)
	if !cr.draft {
		cr.IconID = chance.Hex24(chance.Hash(key, chance.AboutIcon))
	}
	if h>>32%3 > 0 {
		cr.ImageID = chance.Hex24(chance.Hash(key, chance.AboutImage))
	}
	if h>>40%2 == 0 {
		cr.Button1 = "Learn more"
	}
	if h>>41%4 == 0 {
		cr.Button2 = "Not now, thanks ✕"
	}
	return cr
}

// ExistsOn reports whether the report contains the creative on a day, with or without delivery.
func (cr *Creative) ExistsOn(d clock.Day) bool { return d >= cr.Created && d < cr.Archived }

func (cr *Creative) pausedOn(d clock.Day) bool {
	return chance.Below(chance.Hash(cr.Key, chance.AboutPause, uint64(d/12)), 9) == 0
}

// Status returns the status on a day.
func (cr *Creative) Status(d clock.Day) string {
	switch {
	case d >= cr.Archived:
		return "archived"
	case cr.draft:
		return "draft"
	case d < cr.reviewed:
		return "pending_review"
	case cr.rejected:
		return "rejected"
	case cr.pausedOn(d):
		return "paused"
	}
	return "active"
}

// Rates returns the creative's clicks per impression, and its conversions per click at a source of average worth, both
// in 65536ths.
func (cr *Creative) Rates() (click, convert uint64) {
	c := cr.Campaign
	return c.ClickRate * (70 + cr.Key%61) / 100, c.ConvertRate * (70 + cr.Key>>8%61) / 100
}
