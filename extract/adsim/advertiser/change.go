package advertiser

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/world"
)

// Change changes one campaign or one creative on command. All of it happens at one instant, or none of it. The
// fields of Set have the API's names and bounds, or are null. Besides those of the API's writes there are:
//
//	campaign  status, delivery_status (null: derived from the rest), unsupported_targeting
//	creative  status, rejection_reasons and rejection_comment (of a rejected one)
//
// Amounts are numbers or decimal text. A created entity has a plain value in each field that is not set: a campaign
// is active, a creative pending_review.
type Change struct {
	Campaign, Creative string // ID
	Do                 ledger.Action
	Set                map[string]any
	Sources            *SourceChange // of the campaign
	// Force also makes changes that the service refuses to everyone: bidding below the audience's minimum, using the
	// list of the other mode, disallowing the last source.
	Force bool
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
	_, err = s.World.Edit(world.Write{Ordered: true}, func(e *world.Editor) error {
		id, err = edit{e, c.Force}.apply(c)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("change %s %s: %w", c.Do, cmp.Or(c.Creative, c.Campaign), err)
	}
	return id, nil
}

func (e edit) apply(c Change) (string, error) {
	if c.Do == ledger.Create && c.Campaign == "" {
		cp, of := e.NewCampaign()
		name, status := "Campaign "+strconv.Itoa(len(e.Next.Made)), "active"
		bid, limit := int64(500_000), int64(100_000_000)
		of.Name, of.Status, of.Bid, of.Limit, of.Start = &name, &status, &bid, &limit, &cp.CreatedAt
		return cp.ID, e.orderCampaign(cp, c)
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
		return cr.ID, e.orderCreative(cr, c.Set)
	case c.Creative == "" && c.Do != "":
		e.OfCampaign(cp.ID).Hidden = hidden
		return cp.ID, nil
	case c.Creative == "":
		return cp.ID, e.orderCampaign(cp, c)
	case cr == nil:
		return "", fmt.Errorf("no creative %q", c.Creative)
	case c.Do != "":
		e.OfCreative(cr.ID).Hidden = hidden
		return cr.ID, nil
	}
	return cr.ID, e.orderCreative(cr, c.Set)
}

// orderedBody returns ordered values as the body of a write: fields of an operation in its bounds, or null, and more
// fields.
func orderedBody(set map[string]any, operation string, more ...string) (body, error) {
	raw, err := json.Marshal(set)
	if err != nil || set == nil {
		return body{}, err
	}
	b, err := parseBody(raw)
	i := slices.IndexFunc(Operations(), func(op *Operation) bool { return op.Name == operation })
	for name, v := range b {
		of := Operations()[i].Fields.Properties[name]
		if of == nil && !slices.Contains(more, name) {
			return nil, fmt.Errorf("unknown field %q", name)
		}
		if text, is := v.(string); is && of != nil && of.Format == "double" {
			b[name] = json.Number(text)
		}
		if of != nil && v != nil {
			if found := of.check(nil, name, b[name]); found != nil {
				return nil, invalidFields(found)
			}
		}
	}
	return b, err
}

func (e edit) orderCampaign(cp *market.Campaign, c Change) error {
	b, err := orderedBody(c.Set, "update_campaign", "status", "delivery_status", "unsupported_targeting")
	if err != nil {
		return err
	}
	if p := e.takeCampaign(cp, b); p != nil {
		return p
	}
	of := e.OfCampaign(cp.ID)
	set(b, "status", &of.Status, b.text)
	set(b, "delivery_status", &of.Delivery, b.text)
	if b.has("unsupported_targeting") {
		au := ledger.Or(of.Audience, cp.Audience)
		au.UnsupportedTargeting = b.flag("unsupported_targeting")
		of.Audience = &au
	}
	if c.Sources == nil {
		return nil
	}
	return e.orderSources(cp, c.Sources)
}

func (e edit) orderCreative(cr *market.Creative, fields map[string]any) error {
	b, err := orderedBody(fields, "update_creative", "status", "rejection_reasons", "rejection_comment")
	of := e.OfCreative(cr.ID)
	ct := takeContent(e.St.CreativeNow(cr).Content, b)
	of.Content = &ct
	set(b, "status", &of.Status, b.text)
	set(b, "rejection_comment", &of.RejectionComment, b.text)
	set(b, "rejection_reasons", &of.RejectionReasons, b.texts)
	return err
}

func (e edit) orderSources(cp *market.Campaign, c *SourceChange) error {
	of := e.OfCampaign(cp.ID)
	if c.Mode != "" {
		allow := c.Mode == ledger.AllowList
		of.AllowList = &allow
	}
	for _, part := range []struct {
		verb string
		ids  []string
	}{{"block", c.Block}, {"unblock", c.Unblock}, {"allow", c.Allow}, {"disallow", c.Disallow}} {
		list, p := e.sourcesOf(part.ids)
		if p == nil && list != nil {
			p = e.changeList(cp, part.verb, list, &sourceChange{})
		}
		if p != nil {
			return fmt.Errorf("%s: %w", part.verb, p)
		}
	}
	of = e.OfCampaign(cp.ID) // the lists have changed
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

// setIn sets an entry of a map, and makes the map if there is none.
func setIn[V any](m *map[int32]V, key int32, v V) {
	if *m == nil {
		*m = map[int32]V{}
	}
	(*m)[key] = v
}
