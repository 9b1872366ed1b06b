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

// Change is a change of one campaign or one creative. A Change takes effect at one instant, completely or not at all.
// Changes that the real service would refuse are possible, too. Set maps the API's field names to new values; null
// unsets a field. The fields are:
//
//	campaign  name, default_bid, daily_spend_limit, target_cpa, start_date, end_date, audience, status,
//	          delivery_status, unsupported_targeting
//	creative  title, message, link, image_id, icon_id, button1, button2, status, rejection_reasons,
//	          rejection_comment
//
// If delivery_status is null, it is computed from the other fields. The API shows the last two fields only for a
// rejected creative.
//
// Amounts are numbers or decimal text. A new entity gets defaults for the fields that Set lacks: for example, a
// campaign is active, a creative is pending_review.
type Change struct {
	Campaign, Creative string // IDs; see Action
	Do                 ledger.Action
	Set                map[string]any
	Sources            *SourceChange // of the campaign
}

// SourceChange is a change of a campaign's source settings. Mode is applied first, so that one change can switch to an
// allow list and add sources to the list. The list of the other mode is kept for a later switch back.
type SourceChange struct {
	Mode                            string // block_list or allow_list
	Block, Unblock, Allow, Disallow []string
	Bids                            map[string]any // bids by source ID; nil removes a bid
}

// Apply applies a change and returns the ID of the changed or created entity.
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
		cp, changes := e.NewCampaign()
		name, status := "Campaign "+strconv.Itoa(len(e.Next.Made)), "active"
		bid, limit := int64(500_000), int64(100_000_000)
		changes.Name, changes.Status, changes.Start = &name, &status, &cp.CreatedAt
		changes.Bid, changes.Limit = &bid, &limit
		return cp.ID, changeCampaign(e, cp, c)
	}
	campaignID, _, _ := strings.Cut(c.Creative, "-")
	cp := e.St.Campaign(cmp.Or(c.Campaign, campaignID))
	if cp == nil {
		return "", fmt.Errorf("no campaign %q", cmp.Or(c.Campaign, campaignID))
	}
	cr := e.St.Creative(cp, c.Creative)
	switch {
	case c.Do == ledger.Create:
		cr, changes, err := e.NewCreative(cp)
		if err != nil {
			return "", err
		}
		status := "pending_review"
		cr.Title, cr.Message, changes.Status = "Creative "+strconv.Itoa(cr.Number), "Tap to see more.", &status
		cr.Link, cr.IconID = "https://offers.example/"+cp.ID, chance.Hex24(chance.Hash(cr.Key, chance.AboutIcon))
		return cr.ID, changeCreative(e, cr, c.Set)
	case c.Creative == "" && c.Do != "":
		e.OfCampaign(cp.ID).Hidden = c.Do == ledger.Hide
		return cp.ID, nil
	case c.Creative == "":
		return cp.ID, changeCampaign(e, cp, c)
	case cr == nil:
		return "", fmt.Errorf("no creative %q", c.Creative)
	case c.Do != "":
		e.OfCreative(cr.ID).Hidden = c.Do == ledger.Hide
		return cr.ID, nil
	}
	return cr.ID, changeCreative(e, cr, c.Set)
}

// fields holds the members of Change.Set that have not been applied yet: the API's field names and their new values.
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

// take decodes the field with the given name into *into, and removes it from f. Null decodes as the zero value. If f
// has no such field, take does nothing. The fields that remain in f at the end are unknown.
func take[T any](f fields, name string, into **T) error {
	raw, present := f[name]
	if !present {
		return nil
	}
	delete(f, name)
	*into = new(T)
	if err := json.Unmarshal(raw, *into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// takeAmount is like take, but for an amount, which is a JSON number or a text.
func takeAmount(f fields, name string, into **int64) error {
	if raw, present := f[name]; present && string(raw) != "null" {
		amount, ok := money.Parse(strings.Trim(string(raw), `"`))
		if !ok {
			return fmt.Errorf("%s: %s is not an amount", name, raw)
		}
		*into = &amount
		delete(f, name)
	}
	return take(f, name, into)
}

// unknown returns an error if f still contains a field.
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
	changes := e.OfCampaign(cp.ID)
	var unsupported *bool
	if err := cmp.Or(takeAmount(f, "default_bid", &changes.Bid), takeAmount(f, "daily_spend_limit", &changes.Limit),
		takeAmount(f, "target_cpa", &changes.TargetCPA), take(f, "name", &changes.Name),
		take(f, "start_date", &changes.Start), take(f, "end_date", &changes.End),
		take(f, "audience", &changes.Audience), take(f, "status", &changes.Status),
		take(f, "delivery_status", &changes.Delivery), take(f, "unsupported_targeting", &unsupported),
		f.unknown()); err != nil {
		return err
	}
	if unsupported != nil {
		au := ledger.Or(changes.Audience, cp.Audience)
		au.UnsupportedTargeting = *unsupported
		changes.Audience = &au
	}
	if c.Sources == nil {
		return nil
	}
	return applySources(e, cp, c.Sources)
}

func changeCreative(e *world.Editor, cr *market.Creative, set map[string]any) error {
	f, err := fieldsOf(set)
	if err != nil {
		return err
	}
	changes := e.OfCreative(cr.ID)
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
	changes.Content = &ct
	return cmp.Or(take(f, "status", &changes.Status), take(f, "rejection_comment", &changes.RejectionComment),
		take(f, "rejection_reasons", &changes.RejectionReasons), f.unknown())
}

func applySources(e *world.Editor, cp *market.Campaign, c *SourceChange) error {
	if c.Mode != "" {
		allow := c.Mode == ledger.AllowList
		e.OfCampaign(cp.ID).AllowList = &allow
	}
	for i, ids := range [][]string{c.Block, c.Unblock, c.Allow, c.Disallow} {
		if err := changeList(e, cp, listVerbs[i], ids); err != nil {
			return err
		}
	}
	changes := e.OfCampaign(cp.ID) // look up again: changeList has replaced the changes
	for id, v := range c.Bids {
		src, ok := e.Account.Sources.Index(id)
		bid, valid := money.Parse(fmt.Sprint(v))
		if !ok || !valid && v != nil {
			return fmt.Errorf("bids: no source %q, or %v is not an amount", id, v)
		}
		setIn(&changes.Bids, src, bid) // a nil bid is stored as 0: the default bid applies
	}
	return nil
}
