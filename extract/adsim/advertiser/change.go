package advertiser

import (
	"cmp"
	"encoding/json"
	"errors"
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
// fields of Set have the API's names and bounds. Besides those of the API's writes there are:
//
//	campaign  status (any), delivery_status (null: derived from the rest), unsupported_targeting; a null
//	          daily_spend_limit removes the limit
//	creative  status (any), rejection_reasons and rejection_comment (of a rejected one); a draft may lack title,
//	          message, link and icon_id
//
// Amounts are numbers or exact decimal text, of at most six decimals. A created entity has a plain value in each
// field that is not set: a campaign is active, a creative pending_review.
type Change struct {
	Campaign string         `json:"campaign"` // ID
	Creative string         `json:"creative"` // ID
	Do       ledger.Action  `json:"do"`
	Set      map[string]any `json:"set"`
	Sources  *SourceChange  `json:"sources"` // of the campaign
	// Force also makes changes that the service refuses to everyone: editing an archived campaign,
	// bidding below the audience's minimum, using the list of the other mode, disallowing the last
	// source.
	Force bool `json:"force"`
}

// SourceChange changes the sources of a campaign. Mode comes first, so that a change may switch to an allow list and
// fill it. The list of the other mode is kept, and returns with its mode.
type SourceChange struct {
	Mode     string         `json:"mode"` // block_list or allow_list
	Block    []string       `json:"block"`
	Unblock  []string       `json:"unblock"`
	Allow    []string       `json:"allow"`
	Disallow []string       `json:"disallow"`
	Bids     map[string]any `json:"bids"` // by source; null removes the bid
}

// Apply makes a change and returns the ID of the changed or created entity.
func (s *API) Apply(c Change) (id string, err error) {
	_, err = s.World.Edit(world.Write{Free: true, Ordered: true}, func(e *world.Editor) error {
		id, err = edit{e, c.Force}.apply(c)
		return err
	})
	if err != nil {
		what := strings.Join(strings.Fields("change "+string(c.Do)+" "+cmp.Or(c.Creative, c.Campaign)), " ")
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return id, nil
}

// check refuses combinations that name nothing to do, or two things.
func (c Change) check() error {
	switch {
	case c.Campaign != "" && c.Creative != "":
		return errors.New("names a campaign and a creative")
	case c.Do == "" && len(c.Set) == 0 && c.Sources == nil:
		return errors.New("nothing to change")
	case !slices.Contains([]ledger.Action{"", ledger.Create, ledger.Hide, ledger.Unlist, ledger.Show}, c.Do):
		return fmt.Errorf("unknown action %q", c.Do)
	}
	return nil
}

func (e edit) apply(c Change) (string, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	if c.Do == ledger.Create && c.Campaign == "" {
		cp, of := e.NewCampaign()
		name, status := "Campaign "+strconv.Itoa(len(e.Next.Made)), "active"
		bid, limit := int64(500_000), int64(100_000_000)
		of.Name, of.Status, of.Bid, of.Limit, of.Start = &name, &status, &bid, &limit, &cp.CreatedAt
		return cp.ID, e.orderCampaign(cp, c)
	}
	campaignID, _, _ := strings.Cut(c.Creative, "-")
	cp := e.St.Campaign(cmp.Or(c.Campaign, campaignID))
	var cr *market.Creative
	if cp != nil && c.Creative != "" {
		cr = e.St.Creative(cp, c.Creative)
	}
	switch {
	case c.Creative != "" && cr == nil:
		return "", fmt.Errorf("no creative %q", c.Creative)
	case cp == nil:
		return "", fmt.Errorf("no campaign %q", c.Campaign)
	case c.Do != "" && c.Do != ledger.Create:
		return cmp.Or(c.Creative, c.Campaign), e.hide(cp, cr, c.Do)
	case e.campaignStatus(cp) == "archived" && !e.force:
		return "", fmt.Errorf("campaign %s is archived", cp.ID)
	case c.Do == ledger.Create:
		cr, cf, err := e.NewCreative(cp)
		if err != nil {
			return "", err
		}
		status := "pending_review"
		cr.Title, cr.Message, cf.Status = "Creative "+strconv.Itoa(cr.Number), "Tap to see more.", &status
		cr.Link, cr.IconID = "https://offers.example/"+cp.ID, chance.Hex24(chance.Hash(cr.Key, chance.AboutIcon))
		return cr.ID, e.orderCreative(cr, c.Set)
	case cr != nil && e.St.CreativeStatus(cr) == "archived" && !e.force:
		return "", fmt.Errorf("creative %s is archived", cr.ID)
	case cr != nil:
		return cr.ID, e.orderCreative(cr, c.Set)
	}
	return cp.ID, e.orderCampaign(cp, c)
}

// hide hides or shows a campaign or, if cr is not nil, a creative.
func (e edit) hide(cp *market.Campaign, cr *market.Creative, do ledger.Action) error {
	if do == ledger.Show {
		do = ""
	}
	if cr != nil {
		e.OfCreative(cr.ID).Hidden = do
	} else {
		e.OfCampaign(cp.ID).Hidden = do
	}
	return nil
}

// orderedBody returns ordered values as the body of a write: fields of an operation in its bounds, or null, and more
// fields. Amounts may be text.
func orderedBody(set map[string]any, operation string, more ...string) (body, error) {
	raw, err := json.Marshal(set)
	if err != nil || set == nil {
		return body{}, err
	}
	b, err := parseBody(raw)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(Operations(), func(op *Operation) bool { return op.Name == operation })
	for name, v := range b {
		of := Operations()[i].Fields.Properties[name]
		if text, is := v.(string); is && of != nil && of.Format == "double" {
			b[name] = json.Number(text)
		}
		var found []detail
		switch {
		case of == nil && !slices.Contains(more, name):
			found = []detail{{name, "unknown field"}}
		case of != nil && v != nil:
			found = of.check(nil, name, b[name])
		}
		if found != nil {
			return nil, invalidFields(found)
		}
	}
	return b, nil
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
	if b.has("status") {
		status := b.text("status")
		of.Status = &status
	}
	if b.has("delivery_status") {
		status := b.text("delivery_status")
		of.Delivery = &status
	}
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

func (e edit) orderCreative(cr *market.Creative, set map[string]any) error {
	b, err := orderedBody(set, "update_creative", "status", "rejection_reasons", "rejection_comment")
	if err != nil {
		return err
	}
	of := e.OfCreative(cr.ID)
	ct := takeContent(e.St.CreativeNow(cr).Content, b)
	of.Content = &ct
	if b.has("status") {
		status := b.text("status")
		of.Status = &status
	}
	now := e.St.CreativeNow(cr)
	if found := missing(now.Content, ""); len(found) > 0 && now.Status != "draft" {
		return fmt.Errorf("only a draft may lack %s", found[0].Field)
	}
	if b.has("rejection_reasons") {
		reasons := b.texts("rejection_reasons")
		of.RejectionReasons = &reasons
	}
	if b.has("rejection_comment") {
		comment := b.text("rejection_comment")
		of.RejectionComment = &comment
	}
	return nil
}

func (e edit) orderSources(cp *market.Campaign, c *SourceChange) error {
	of := e.OfCampaign(cp.ID)
	switch c.Mode {
	case ledger.AllowList, ledger.BlockList:
		allow := c.Mode == ledger.AllowList
		of.AllowList = &allow
	case "":
	default:
		return fmt.Errorf("mode %q: expected %s or %s", c.Mode, ledger.BlockList, ledger.AllowList)
	}
	for _, part := range []struct {
		verb string
		ids  []string
	}{{"block", c.Block}, {"unblock", c.Unblock}, {"allow", c.Allow}, {"disallow", c.Disallow}} {
		if len(part.ids) == 0 {
			continue
		}
		list, p := e.sourcesOf(part.ids)
		if p == nil {
			p = e.changeList(cp, part.verb, list, &sourceChange{})
		}
		if p != nil {
			return fmt.Errorf("%s: %w", part.verb, p)
		}
	}
	if ledger.Or(of.AllowList, cp.AllowList) && len(e.St.AllowedNow(cp)) == 0 && !e.force {
		return errors.New("an allow list needs a source")
	}
	return e.orderBids(cp, c.Bids)
}

func (e edit) orderBids(cp *market.Campaign, bids map[string]any) error {
	of := e.OfCampaign(cp.ID)
	for id, v := range bids {
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
