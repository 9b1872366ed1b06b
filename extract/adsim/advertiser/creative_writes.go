package advertiser

import (
	"fmt"
	"regexp"
	"strings"

	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// takeContent is the content with the fields that are sent.
func takeContent(ct ledger.Content, b body) ledger.Content {
	for name, into := range map[string]*string{
		"title": &ct.Title, "message": &ct.Message, "link": &ct.Link, "image_id": &ct.ImageID, "icon_id": &ct.IconID,
		"button1": &ct.Button1, "button2": &ct.Button2,
	} {
		if b.has(name) {
			*into = b.text(name) // null clears
		}
	}
	return ct
}

// missing lists what a creative needs before it is reviewed, and has not.
func missing(ct ledger.Content, at string) (found []detail) {
	for _, f := range []struct{ name, v string }{{"title", ct.Title}, {"message", ct.Message}, {"link", ct.Link},
		{"icon_id", ct.IconID}} {
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
	for name, kind := range map[string]string{"image_id": world.KindImage, "icon_id": world.KindIcon} {
		id := b.text(name)
		if id == "" {
			continue
		}
		switch has := e.ImageKind(id); has {
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
func (e edit) creativeOf(id string) (*market.Creative, *problem) {
	campaignID, _, _ := strings.Cut(id, "-")
	cp, p := e.campaignOf(campaignID)
	if p != nil {
		return nil, noSuch("creative")
	}
	cr := e.St.Creative(cp, id)
	if cr == nil || e.Next.Creative(id).Hidden == ledger.Hide {
		return nil, noSuch("creative")
	}
	return cr, nil
}

func (e edit) editableCreative(id string) (*market.Creative, *problem) {
	cr, p := e.creativeOf(id)
	if p != nil {
		return nil, p
	}
	if _, p := e.editableCampaign(cr.Campaign.ID); p != nil {
		return nil, p
	}
	if e.St.CreativeStatus(cr) == "archived" {
		return nil, conflict("Creative %s is archived, which is permanent.", id)
	}
	return cr, nil
}

// addCreative makes a creative with its content, as a draft or for review.
func (e edit) addCreative(cp *market.Campaign, ct ledger.Content, draft bool) (*market.Creative, *problem) {
	e.Cost[world.CreativeCreate]++
	cr, of, err := e.NewCreative(cp)
	if err != nil {
		return nil, conflict("Campaign %s: %v.", cp.ID, err)
	}
	of.Content = &ct
	status := "draft"
	if !draft {
		status = "pending_review"
		e.Submit(cr)
	}
	of.Status = &status
	return cr, nil
}

// createCreatives answers POST /v1/campaigns/{campaign_id}/creatives.
func (s *API) createCreatives(c *Call) wire.Reply {
	list, _ := c.args["creatives"].([]any)
	draft := c.args.flag("draft")
	var made []creative
	return s.write(c, func(e edit) *problem {
		cp, p := e.editableCampaign(c.id)
		if p != nil {
			return p
		}
		var found []detail
		var contents []ledger.Content
		for i, v := range list {
			b, at := body(v.(map[string]any)), fmt.Sprintf("creatives[%d].", i)
			if p := e.checkImages(at, b); p != nil {
				return p
			}
			ct := takeContent(ledger.Content{Button1: "Click Here"}, b)
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
			made = append(made, creativeOf(e.St, cr))
		}
		return nil
	}, func() wire.Reply { return created(one("", map[string][]creative{"creatives": made})) })
}

// updateCreative answers PATCH /v1/creatives/{creative_id}.
func (s *API) updateCreative(c *Call) wire.Reply {
	return s.write(c, func(e edit) *problem {
		e.Cost[world.CreativeUpdate]++
		cr, p := e.editableCreative(c.id)
		if p != nil {
			return p
		}
		if p := e.checkImages("", c.args); p != nil {
			return p
		}
		if found := checkTexts(nil, "", c.args); len(found) > 0 {
			return invalidFields(found)
		}
		return e.changeCreative(cr, c.args)
	}, func() wire.Reply { return s.getCreative(c) })
}

// changeCreative changes a creative by its state: in place, or as a new version.
func (e edit) changeCreative(cr *market.Creative, b body) *problem {
	status := e.St.CreativeStatus(cr)
	if b.has("submit_for_review") && status != "draft" {
		return conflict("Creative %s is no draft: it is %s.", cr.ID, status)
	}
	of := e.OfCreative(cr.ID)
	ct := takeContent(e.St.CreativeNow(cr).Content, b)
	if status == "active" || status == "paused" {
		if of.Pending != nil && !of.Pending.Rejected {
			ct = takeContent(*of.Pending, b) // start from the pending version
		}
		if found := missing(ct, ""); len(found) > 0 {
			return invalidFields(found)
		}
		ct.Submitted, ct.Rejected = e.St.Now, false
		of.Pending = &ct
		e.Submit(cr)
		return nil
	}
	lacks := missing(ct, "")
	if status == "draft" && (!b.flag("submit_for_review") || len(lacks) > 0 && !b.has("submit_for_review")) {
		of.Content = &ct
		return nil
	}
	if len(lacks) > 0 {
		return invalidFields(lacks)
	}
	of.Content = &ct
	pending := "pending_review"
	of.Status, of.RejectionReasons, of.RejectionComment = &pending, nil, nil
	e.Submit(cr)
	return nil
}

// setCreativeStatus answers POST /v1/creatives/{creative_id}/status.
func (s *API) setCreativeStatus(c *Call) wire.Reply {
	id, status := c.id, c.args.text("status")
	return s.write(c, func(e edit) *problem {
		e.Cost[world.CreativeUpdate]++
		cr, p := e.creativeOf(id)
		if p != nil {
			return p
		}
		was := e.St.CreativeStatus(cr)
		if was == status {
			return nil
		}
		if cr, p = e.editableCreative(id); p != nil {
			return p
		}
		if status != "archived" && was != "active" && was != "paused" {
			return conflict("Creative %s is %s; only a review can make it active.", id, was)
		}
		e.OfCreative(cr.ID).Status = &status
		return nil
	}, func() wire.Reply { return s.getCreative(c) })
}

// cloneCreative answers POST /v1/creatives/{creative_id}/clone.
func (s *API) cloneCreative(c *Call) wire.Reply {
	var made *market.Creative
	return s.write(c, func(e edit) *problem {
		cr, p := e.creativeOf(c.id)
		if p != nil {
			return p
		}
		target := cr.Campaign.ID
		if c.args.has("campaign_id") {
			target = c.args.text("campaign_id")
		}
		cp, p := e.editableCampaign(target)
		if p != nil {
			return p
		}
		if p := e.checkImages("", c.args); p != nil {
			return p
		}
		ct, draft := takeContent(e.St.CreativeNow(cr).Content, c.args), c.args.flag("draft")
		found := checkTexts(nil, "", c.args)
		if !draft {
			found = append(found, missing(ct, "")...)
		}
		if len(found) > 0 {
			return invalidFields(found)
		}
		made, p = e.addCreative(cp, ct, draft)
		return p
	}, func() wire.Reply { return created(one("creative", creativeOf(c.St, made))) })
}
