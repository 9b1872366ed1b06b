package adsim

import (
	"fmt"
	"slices"
	"strings"
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

func hex24(h uint64) string { return fmt.Sprintf("%016x%08x", h, uint32(mix(h))) }

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

// listCreatives answers GET /v1/campaigns/{campaign_id}/creatives.
func (s *Service) listCreatives(c *call) reply {
	cp := s.findCampaign(c, c.path[1])
	if cp == nil {
		return s.notFound("campaign")
	}
	wanted, message := c.statuses(creativeStatuses, creativeStatuses[:5])
	if message != "" {
		return s.invalid("status", message)
	}
	w, field, message := c.window()
	if field != "" {
		return s.invalid(field, message)
	}
	var list []*creative
	for _, cr := range s.creatives(c.st, cp) {
		if c.st.changes.creative(cr.id).hidden == "" && slices.Contains(wanted, s.creativeStatus(c.st, cr)) {
			list = append(list, cr)
		}
	}
	return s.many(c, "creatives", w, len(list), func(o *object, i int) { s.writeCreative(o, c.st, list[i]) })
}

// getCreative answers GET /v1/creatives/{creative_id}.
func (s *Service) getCreative(c *call) reply {
	id := c.path[1]
	campaignID, _, _ := strings.Cut(id, "-")
	if cp := s.findCampaign(c, campaignID); cp != nil {
		if cr := s.creative(c.st, cp, id); cr != nil && c.st.changes.creative(id).hidden != Hide {
			return s.one(c, "creative", func(o *object) { s.writeCreative(o, c.st, cr) })
		}
	}
	return s.notFound("creative")
}

func (s *Service) writeCreative(o *object, st *state, cr *creative) {
	now := s.creativeNow(st, cr)
	o.str(s.cfg.Shape.idKey("creative_id"), cr.id)
	o.str("campaign_id", cr.campaign.id)
	o.strOrNull("title", now.title)
	o.strOrNull("message", now.message)
	o.strOrNull("link", now.link)
	o.strOrNull("image_id", now.imageID)
	o.strOrNull("icon_id", now.iconID)
	o.strOrNull("button1", now.button1)
	o.strOrNull("button2", now.button2)
	o.str("status", now.status)
	if now.status == "rejected" {
		o.strings("rejection_reasons", now.reasons)
		o.str("rejection_comment", now.comment)
	}
	o.str("created_at", instant(cr.createdAt))
	if v := st.changes.creative(cr.id).pending; v != nil {
		v.write(o)
	}
}

// write appends the version of a creative that runs in its old one meanwhile.
func (ct *content) write(o *object) {
	o.begin("pending_version")
	o.str("title", ct.title)
	o.str("message", ct.message)
	o.str("link", ct.link)
	o.strOrNull("image_id", ct.imageID)
	o.strOrNull("icon_id", ct.iconID)
	o.strOrNull("button1", ct.button1)
	o.strOrNull("button2", ct.button2)
	o.str("status", [...]string{"pending_review", "rejected"}[btoi(ct.rejected)])
	if ct.rejected {
		o.strings("rejection_reasons", ct.reasons)
		o.str("rejection_comment", ct.comment)
	}
	o.str("submitted_at", instant(ct.submitted))
	o.end()
}
