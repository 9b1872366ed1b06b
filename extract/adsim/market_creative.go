package adsim

import (
	"fmt"
	"time"
)

// creative is one creative for its whole life.
type creative struct {
	campaign                              *campaign
	id                                    string
	idJSON, titleJSON, messageJSON        []byte
	imageJSON, iconJSON                   []byte
	key                                   uint64
	title, message, link, imageID, iconID string
	button1, button2                      string
	createdAt                             time.Time
	created                               day
	reviewed                              day // first day after the review
	archived                              day
	draft, rejected                       bool
	number                                int // of one that was created, else 0
	weight                                uint64
}

const never = day(1 << 30)

func (a *account) buildCreative(c *campaign, i, period int) *creative {
	key := chance(c.key, aboutCreative, uint64(i)+1)
	h := mix(key)
	cr := &creative{campaign: c, key: key, created: c.created, archived: never, weight: 1 + below(mix(key+1), 8)}
	if i > 0 && h%5 < 2 {
		cr.created += day(below(mix(key+2), uint64(period*6/10)))
	}
	cr.createdAt = cr.created.start(a.zone).Add(-time.Duration(60+below(mix(key+3), 3600)) * time.Second)
	if cr.createdAt.Before(c.createdAt) {
		cr.createdAt = c.createdAt.Add(time.Duration(i+1) * time.Second)
	}
	cr.reviewed = cr.created + 1 + day(h>>8%4/3)
	// The first creative of a campaign always runs.
	if i > 0 {
		switch {
		case h>>16%16 == 0:
			cr.draft = true
		case h>>16%16 == 1:
			cr.rejected = true
		}
		if h>>24%4 == 0 {
			cr.archived = cr.created + 20 + day(below(mix(key+4), uint64(period)))
		}
	}

	number := i + 1
	switch c.key % 5 {
	case 3:
		number = 1000 + i*7
	case 4:
		number = 104233 + i*311
	}
	cr.id = fmt.Sprintf("%s-%03d", c.id, number)
	text := chance(key, aboutText)
	cr.title = titleTexts[below(text, uint64(len(titleTexts)))]
	cr.message = messageTexts[below(mix(text), uint64(len(messageTexts)))]
	cr.link = fmt.Sprintf("https://offers.example/%s?src=<<source_id>>&cr=%d", c.id, number)
	if !cr.draft {
		cr.iconID = hex24(chance(key, aboutIcon))
	}
	if h>>32%3 > 0 {
		cr.imageID = hex24(chance(key, aboutImage))
	}
	if h>>40%2 == 0 {
		cr.button1 = "Learn more"
	}
	if h>>41%4 == 0 {
		cr.button2 = "Not now, thanks ✕"
	}
	cr.idJSON = appendString(nil, cr.id, a.ascii)
	cr.titleJSON = appendString(nil, cr.title, a.ascii)
	cr.messageJSON = appendString(nil, cr.message, a.ascii)
	cr.iconJSON = imageURL(cr.iconID)
	cr.imageJSON = imageURL(cr.imageID)
	return cr
}

// imageURL is the JSON of where an image lies, null without an image.
func imageURL(id string) []byte {
	if id == "" {
		return []byte("null")
	}
	return appendString(nil, "https://img.example/"+id+".png", false)
}

// existsOn says whether the report has the creative on a day, delivered or not.
func (cr *creative) existsOn(d day) bool { return d >= cr.created && d < cr.archived }

func (cr *creative) pausedOn(d day) bool {
	return below(chance(cr.key, aboutPause, uint64(d/12)), 9) == 0
}

func (cr *creative) status(d day) string {
	switch {
	case d >= cr.archived:
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

var creativeStatuses = []string{"active", "paused", "pending_review", "rejected", "draft", "archived"}

// rates are a creative's own: clicks an impression, and conversions a click at a plain
// source, in 65536ths.
func (cr *creative) rates() (click, convert uint64) {
	c := cr.campaign
	return c.clickRate * (70 + cr.key%61) / 100, c.convertRate * (70 + cr.key>>8%61) / 100
}
