package advertiser

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/world"
)

// Change changes one campaign or one creative on command, also in ways that the service refuses to everyone. All of
// it happens at one instant, or none of it. The fields of Set have the API's names, or are null:
//
//	campaign  name, default_bid, daily_spend_limit, target_cpa, start_date, end_date, audience, status,
//	          delivery_status (null: derived from the rest), unsupported_targeting
//	creative  title, message, link, image_id, icon_id, button1, button2, status, and of a rejected one
//	          rejection_reasons and rejection_comment
//
// Amounts are numbers or decimal text. A created entity has a plain value in each field that is not set: a campaign
// is active, a creative pending_review.
type Change struct {
	Campaign, Creative string // ID
	Do                 ledger.Action
	Set                map[string]any
	Sources            *SourceChange // of the campaign
}

// SourceChange changes the sources of a campaign. Mode comes first, so that a change may switch to an allow list and
// fill it. The list of the other mode is kept, and returns with its mode.
type SourceChange struct {
	Mode                            string // block_list or allow_list
	Block, Unblock, Allow, Disallow []string
	Bids                            map[string]any // by source; null removes the bid
}

// Apply makes a change and returns the ID of the changed or created entity.
func (s *API) Apply(c Change) (id string, err error) {
	_, err = s.World.Edit(func(e *world.Editor) error {
		id, err = apply(e, c)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("change %s %s: %w", c.Do, cmp.Or(c.Creative, c.Campaign), err)
	}
	return id, nil
}

func apply(e *world.Editor, c Change) (string, error) {
	if c.Do == ledger.Create && c.Campaign == "" {
		cp, of := e.NewCampaign()
		name, status := "Campaign "+strconv.Itoa(len(e.Next.Made)), "active"
		bid, limit := int64(500_000), int64(100_000_000)
		of.Name, of.Status, of.Bid, of.Limit, of.Start = &name, &status, &bid, &limit, &cp.CreatedAt
		return cp.ID, changeCampaign(e, cp, c)
	}
	campaignID, _, _ := strings.Cut(c.Creative, "-")
	cp := e.St.Campaign(cmp.Or(c.Campaign, campaignID))
	if cp == nil {
		return "", fmt.Errorf("no campaign %q", cmp.Or(c.Campaign, campaignID))
	}
	cr := e.St.Creative(cp, c.Creative)
	hidden := c.Do
	if c.Do == ledger.Show {
		hidden = ""
	}
	switch {
	case c.Do == ledger.Create:
		cr, of, err := e.NewCreative(cp)
		if err != nil {
			return "", err
		}
		status := "pending_review"
		cr.Title, cr.Message, of.Status = "Creative "+strconv.Itoa(cr.Number), "Tap to see more.", &status
		cr.Link, cr.IconID = "https://offers.example/"+cp.ID, chance.Hex24(chance.Hash(cr.Key, chance.AboutIcon))
		return cr.ID, changeCreative(e, cr, c.Set)
	case c.Creative == "" && c.Do != "":
		e.OfCampaign(cp.ID).Hidden = hidden
		return cp.ID, nil
	case c.Creative == "":
		return cp.ID, changeCampaign(e, cp, c)
	case cr == nil:
		return "", fmt.Errorf("no creative %q", c.Creative)
	case c.Do != "":
		e.OfCreative(cr.ID).Hidden = hidden
		return cr.ID, nil
	}
	return cr.ID, changeCreative(e, cr, c.Set)
}

// fields are values by the names of the API, each as JSON.
type fields map[string]json.RawMessage

func fieldsOf(set map[string]any) (f fields, err error) {
	f = fields{}
	for name, v := range set {
		if f[name], err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// take decodes a field, if it is there, and takes it out: what is left in the end is unknown. Null is the zero value.
func take[T any](f fields, name string, into **T) error {
	raw, is := f[name]
	if !is {
		return nil
	}
	delete(f, name)
	*into = new(T)
	if err := json.Unmarshal(raw, *into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// takeAmount is take for an amount, as a number or as text.
func takeAmount(f fields, name string, into **int64) error {
	if raw, is := f[name]; is && string(raw) != "null" {
		amount, ok := money.Parse(strings.Trim(string(raw), `"`))
		if !ok {
			return fmt.Errorf("%s: %s is not an amount", name, raw)
		}
		*into = &amount
		delete(f, name)
	}
	return take(f, name, into)
}

// unknown refuses fields that nothing has taken.
func (f fields) unknown() error {
	for name := range f {
		return fmt.Errorf("unknown field %q", name)
	}
	return nil
}

func changeCampaign(e *world.Editor, cp *market.Campaign, c Change) error {
	f, err := fieldsOf(c.Set)
	if err != nil {
		return err
	}
	of := e.OfCampaign(cp.ID)
	var excludes *bool
	if err := cmp.Or(takeAmount(f, "default_bid", &of.Bid), takeAmount(f, "daily_spend_limit", &of.Limit),
		takeAmount(f, "target_cpa", &of.TargetCPA), take(f, "name", &of.Name), take(f, "start_date", &of.Start),
		take(f, "end_date", &of.End), take(f, "audience", &of.Audience), take(f, "status", &of.Status),
		take(f, "delivery_status", &of.Delivery), take(f, "unsupported_targeting", &excludes),
		f.unknown()); err != nil {
		return err
	}
	if excludes != nil {
		au := ledger.Or(of.Audience, cp.Audience)
		au.UnsupportedTargeting = *excludes
		of.Audience = &au
	}
	if c.Sources == nil {
		return nil
	}
	return orderSources(e, cp, c.Sources)
}

func changeCreative(e *world.Editor, cr *market.Creative, set map[string]any) error {
	f, err := fieldsOf(set)
	if err != nil {
		return err
	}
	of := e.OfCreative(cr.ID)
	ct := e.St.CreativeNow(cr).Content
	for name, into := range map[string]*string{
		"title": &ct.Title, "message": &ct.Message, "link": &ct.Link, "image_id": &ct.ImageID, "icon_id": &ct.IconID,
		"button1": &ct.Button1, "button2": &ct.Button2,
	} {
		text := into
		if err := take(f, name, &text); err != nil {
			return err
		}
		*into = *text
	}
	of.Content = &ct
	return cmp.Or(take(f, "status", &of.Status), take(f, "rejection_comment", &of.RejectionComment),
		take(f, "rejection_reasons", &of.RejectionReasons), f.unknown())
}

func orderSources(e *world.Editor, cp *market.Campaign, c *SourceChange) error {
	if c.Mode != "" {
		allow := c.Mode == ledger.AllowList
		e.OfCampaign(cp.ID).AllowList = &allow
	}
	for i, ids := range [][]string{c.Block, c.Unblock, c.Allow, c.Disallow} {
		if err := changeList(e, cp, listVerbs[i], ids); err != nil {
			return err
		}
	}
	of := e.OfCampaign(cp.ID) // the lists have changed
	for id, v := range c.Bids {
		src, ok := e.Account.Sources.Index(id)
		bid, amount := money.Parse(fmt.Sprint(v))
		if !ok || !amount && v != nil {
			return fmt.Errorf("bids: no source %q, or %v is not an amount", id, v)
		}
		setIn(&of.Bids, src, bid) // null: none of its own
	}
	return nil
}
