package adsim

import (
	"fmt"
	"regexp"
	"strings"
)

// takeContent is the content with the fields that are sent.
func takeContent(ct content, b body) content {
	for name, into := range map[string]*string{
		"title": &ct.title, "message": &ct.message, "link": &ct.link, "image_id": &ct.imageID, "icon_id": &ct.iconID,
		"button1": &ct.button1, "button2": &ct.button2,
	} {
		if b.has(name) {
			*into = b.text(name) // null clears
		}
	}
	return ct
}

// missing lists what a creative needs before it is reviewed, and has not.
func missing(ct content, at string) (found []detail) {
	for _, f := range []struct{ name, v string }{{"title", ct.title}, {"message", ct.message}, {"link", ct.link},
		{"icon_id", ct.iconID}} {
		if f.v == "" {
			found = append(found, detail{at + f.name, "is required to submit for review"})
		}
	}
	return found
}

// fieldText is what of a creative's texts is put in when it is sent.
var (
	dynamicData = `\{\{=data\.[A-Za-z_][A-Za-z0-9_]*`
	dynamicText = regexp.MustCompile(dynamicData +
		`(\s*\|\|\s*(data\.[A-Za-z_][A-Za-z0-9_]*|'[^'{}]*'))*\}\}|\{\{#def\.date\('[^'{}]*'\)\}\}`)
	dynamicLink = regexp.MustCompile(dynamicData + `\}\}`)
)

// checkTexts refuses dynamic text of another form than the description's.
func checkTexts(found []detail, at string, b body) []detail {
	for name, allowed := range map[string]*regexp.Regexp{"title": dynamicText, "message": dynamicText,
		"link": dynamicLink} {
		rest := allowed.ReplaceAllString(b.text(name), "")
		if strings.Contains(rest, "{{") || strings.Contains(rest, "}}") {
			found = append(found, detail{at + name, "unknown dynamic text; allowed are {{=data.FIELD}}, " +
				"{{=data.FIELD||'Fallback'}} and {{#def.date('FORMAT')}}"})
		}
	}
	return found
}

// checkImages refuses IDs of images that the account has not, or of the wrong kind.
func (e edit) checkImages(at string, b body) *problem {
	for name, kind := range map[string]string{"image_id": kindImage, "icon_id": kindIcon} {
		id := b.text(name)
		if id == "" {
			continue
		}
		switch has := e.imageKind(id); has {
		case kind:
		case "":
			return &problem{status: 404, code: "not_found", message: "There is no such image in this account.",
				details: []detail{{at + name, "no image " + id}}}
		default:
			return invalidField(at+name, "%s was uploaded with the kind %s", id, has)
		}
	}
	return nil
}

// creativeOf is a creative of the account, for a write, that is not archived and
// not of an archived campaign.
func (e edit) creativeOf(id string) (*creative, *problem) {
	campaignID, _, _ := strings.Cut(id, "-")
	cp, p := e.campaignOf(campaignID)
	if p != nil {
		return nil, noSuch("creative")
	}
	cr := e.st.creative(cp, id)
	if cr == nil || e.next.creative(id).hidden == Hide {
		return nil, noSuch("creative")
	}
	return cr, nil
}

func (e edit) editableCreative(id string) (*creative, *problem) {
	cr, p := e.creativeOf(id)
	if p != nil {
		return nil, p
	}
	if _, p := e.editableCampaign(cr.campaign.id); p != nil {
		return nil, p
	}
	if e.st.creativeStatus(cr) == "archived" {
		return nil, conflict("Creative %s is archived, which is permanent.", id)
	}
	return cr, nil
}

// addCreative makes a creative with its content, as a draft or for review.
func (e edit) addCreative(cp *campaign, ct content, draft bool) (*creative, *problem) {
	cr, of, err := e.newCreative(cp)
	if err != nil {
		return nil, conflict("Campaign %s: %v.", cp.id, err)
	}
	ct.set(of)
	status := "draft"
	if !draft {
		status = "pending_review"
		e.submit(cr, false)
	}
	of.status = &status
	return cr, nil
}

// createCreatives answers POST /v1/campaigns/{campaign_id}/creatives.
func (s *api) createCreatives(c *call) reply {
	list, _ := c.body["creatives"].([]any)
	draft := c.body.flag("draft", false)
	w := write{busy: []string{creating}, cost: map[string]int{creativeCreate: len(list)}}
	var made []*creative
	p := s.edit(c, w, func(e edit) *problem {
		cp, p := e.editableCampaign(c.path[1])
		if p != nil {
			return p
		}
		var found []detail
		var contents []content
		for i, v := range list {
			b, at := body(v.(map[string]any)), fmt.Sprintf("creatives[%d].", i)
			if p := e.checkImages(at, b); p != nil {
				return p
			}
			ct := takeContent(content{button1: "Click Here"}, b)
			found = checkTexts(found, at, b)
			if !draft {
				found = append(found, missing(ct, at)...)
			}
			contents = append(contents, ct)
		}
		if len(found) > 0 {
			return invalidFields(found)
		}
		for _, ct := range contents {
			cr, p := e.addCreative(cp, ct, draft)
			if p != nil {
				return p
			}
			made = append(made, cr)
		}
		return nil
	})
	if p != nil {
		return s.refuse(p)
	}
	return created(s.plainList(c, "creatives", len(made), func(o *object, i int) {
		writeCreative(o, s.world.cfg.Shape, c.st, made[i])
	}))
}

// updateCreative answers PATCH /v1/creatives/{creative_id}.
func (s *api) updateCreative(c *call) reply {
	id := c.path[1]
	w := write{busy: []string{id}, cost: map[string]int{creativeUpdate: 1}}
	p := s.edit(c, w, func(e edit) *problem {
		cr, p := e.editableCreative(id)
		if p != nil {
			return p
		}
		if p := e.checkImages("", c.body); p != nil {
			return p
		}
		if found := checkTexts(nil, "", c.body); len(found) > 0 {
			return invalidFields(found)
		}
		return e.changeCreative(cr, c.body)
	})
	if p != nil {
		return s.refuse(p)
	}
	return s.getCreative(c)
}

// changeCreative changes a creative by its state: in place, or as a new version.
func (e edit) changeCreative(cr *creative, b body) *problem {
	status := e.st.creativeStatus(cr)
	if b.has("submit_for_review") && status != "draft" {
		return conflict("Creative %s is no draft: it is %s.", cr.id, status)
	}
	of := e.ofCreative(cr.id)
	ct := takeContent(contentOf(e.st.creativeNow(cr)), b)
	if status == "active" || status == "paused" {
		if of.pending != nil && !of.pending.rejected {
			ct = takeContent(*of.pending, b) // it goes on from the version that waits
		}
		if found := missing(ct, ""); len(found) > 0 {
			return invalidFields(found)
		}
		ct.submitted, ct.rejected = e.st.now, false
		of.pending = &ct
		e.submit(cr, true)
		return nil
	}
	lacks := missing(ct, "")
	if status == "draft" && (!b.flag("submit_for_review", true) || len(lacks) > 0 && !b.has("submit_for_review")) {
		ct.set(of)
		return nil
	}
	if len(lacks) > 0 {
		return invalidFields(lacks)
	}
	ct.set(of)
	pending := "pending_review"
	of.status, of.rejectionReasons, of.rejectionComment = &pending, nil, nil
	e.submit(cr, false)
	return nil
}

// setCreativeStatus answers POST /v1/creatives/{creative_id}/status.
func (s *api) setCreativeStatus(c *call) reply {
	id, status := c.path[1], c.body.text("status")
	w := write{busy: []string{id}, cost: map[string]int{creativeUpdate: 1}, free: status == "paused"}
	p := s.edit(c, w, func(e edit) *problem {
		cr, p := e.creativeOf(id)
		if p != nil {
			return p
		}
		was := e.st.creativeStatus(cr)
		if was == status {
			return nil
		}
		if cr, p = e.editableCreative(id); p != nil {
			return p
		}
		if status != "archived" && was != "active" && was != "paused" {
			return conflict("Creative %s is %s; only a review can make it active.", id, was)
		}
		e.ofCreative(cr.id).status = &status
		return nil
	})
	if p != nil {
		return s.refuse(p)
	}
	return s.getCreative(c)
}

// cloneCreative answers POST /v1/creatives/{creative_id}/clone.
func (s *api) cloneCreative(c *call) reply {
	w := write{busy: []string{creating}, cost: map[string]int{creativeCreate: 1}}
	var made *creative
	p := s.edit(c, w, func(e edit) *problem {
		cr, p := e.creativeOf(c.path[1])
		if p != nil {
			return p
		}
		target := cr.campaign.id
		if c.body.has("campaign_id") {
			target = c.body.text("campaign_id")
		}
		cp, p := e.editableCampaign(target)
		if p != nil {
			return p
		}
		if p := e.checkImages("", c.body); p != nil {
			return p
		}
		ct, draft := takeContent(contentOf(e.st.creativeNow(cr)), c.body), c.body.flag("draft", false)
		found := checkTexts(nil, "", c.body)
		if !draft {
			found = append(found, missing(ct, "")...)
		}
		if len(found) > 0 {
			return invalidFields(found)
		}
		made, p = e.addCreative(cp, ct, draft)
		return p
	})
	if p != nil {
		return s.refuse(p)
	}
	return created(s.one(c, "creative", func(o *object) { writeCreative(o, s.world.cfg.Shape, c.st, made) }))
}
