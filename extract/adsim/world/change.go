package world

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
)

// Change names one campaign or one creative and what becomes of it. All of it
// happens at one instant, or none of it. The fields of Set, under the API's names:
//
//	campaign  name, status, default_bid, daily_spend_limit (null: none), target_cpa
//	          (null: none), start_date, end_date (null: none), audience (replaced
//	          whole; as in life that ends unsupported_targeting), unsupported_targeting,
//	          delivery_status (null: as it follows from the rest)
//	creative  title, message, link, image_id, icon_id, button1, button2 (null: none),
//	          status, rejection_reasons, rejection_comment (of a rejected one)
//
// Amounts are numbers or exact decimal text, of at most six decimals; instants are
// RFC 3339. What is created has a plain value in each field that is not set:
// a campaign is active, a creative pending_review.
//
// A field that was changed keeps its value at any clock; the others go
// on by themselves.
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

// SourceChange is what becomes of the sources of a campaign. Mode comes first, so
// that a change may go over to an allow list and fill it. The list of the mode
// that is left is kept, and there again when its mode is.
type SourceChange struct {
	Mode     string         `json:"mode"` // block_list or allow_list
	Block    []string       `json:"block"`
	Unblock  []string       `json:"unblock"`
	Allow    []string       `json:"allow"`
	Disallow []string       `json:"disallow"`
	Bids     map[string]any `json:"bids"` // by source; null takes it away
}

// Change changes the settings from now on. It refuses impossible changes: an unknown ID, a value
// out of bounds, blocking a blocked source.
func (s *World) Change(c Change) error {
	_, err := s.Apply(c)
	return err
}

// Create makes a campaign or, with c.Campaign, a creative of it, and returns its ID.
func (s *World) Create(c Change) (id string, err error) {
	c.Do = ledger.Create
	return s.Apply(c)
}

// Apply makes a change and returns the ID of the changed or created entity.
func (s *World) Apply(c Change) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock.Now()
	s.settle(now)
	st := s.stateLocked(now)
	e := s.editorOf(&st)
	e.force = c.Force
	if id, err = e.apply(c); err != nil {
		what := strings.Join(strings.Fields("change "+string(c.Do)+" "+cmp.Or(c.Creative, c.Campaign)), " ")
		return "", fmt.Errorf("%s: %w", what, err)
	}
	e.commit()
	s.Record(Entry{Op: "change", At: now, What: What(&c)})
	return id, nil
}

// Editor merges a change into the earlier ones.
type Editor struct {
	*World
	St        *ledger.State
	Next      *ledger.Changes
	force     bool
	api       bool            // asked for through the API
	touched   map[string]bool // campaigns
	submitted []review
}

func (e *Editor) apply(c Change) (string, error) {
	if c.Campaign != "" && c.Creative != "" {
		return "", errors.New("names a campaign and a creative")
	}
	if c.Sources != nil && (c.Creative != "" || c.Do == ledger.Create && c.Campaign != "") {
		return "", errors.New("a creative has no sources")
	}
	switch c.Do {
	case "":
		if len(c.Set) == 0 && c.Sources == nil {
			return "", errors.New("nothing to change")
		}
	case ledger.Create:
		if c.Creative != "" {
			return "", errors.New("what is created has no ID yet")
		}
	case ledger.Hide, ledger.Unlist, ledger.Show:
		if len(c.Set) > 0 || c.Sources != nil {
			return "", errors.New("changes no field")
		}
	default:
		return "", fmt.Errorf("unknown action %q", c.Do)
	}
	in, err := newFields(c.Set)
	if err != nil {
		return "", err
	}
	if c.Creative != "" {
		return c.Creative, e.editCreative(c, in)
	}
	if c.Do == ledger.Create && c.Campaign == "" {
		return e.createCampaign(c, in)
	}
	cp := e.St.Campaign(c.Campaign)
	if cp == nil {
		return "", fmt.Errorf("no campaign %q", c.Campaign)
	}
	switch c.Do {
	case ledger.Create:
		return e.createCreative(cp, in)
	case ledger.Hide, ledger.Unlist, ledger.Show:
		e.OfCampaign(cp.ID).Hidden = Hidden(c.Do)
		return cp.ID, nil
	}
	return cp.ID, e.editCampaign(cp, c, in)
}

// Hidden is what an action makes of an entity's being shown.
func Hidden(do ledger.Action) ledger.Action {
	if do == ledger.Show {
		return ""
	}
	return do
}

// OfCampaign returns the changes of a campaign, to be added to.
func (e *Editor) OfCampaign(id string) *ledger.CampaignChanges {
	of := *e.Next.Campaign(id)
	of.Blocked, of.Allowed, of.Bids, of.Optimized = maps.Clone(of.Blocked), maps.Clone(of.Allowed), maps.Clone(of.Bids),
		maps.Clone(of.Optimized)
	e.touched[id] = true
	e.Next.Campaigns[id] = &of
	return &of
}

// OfCreative returns the changes of a creative, to be added to.
func (e *Editor) OfCreative(id string) *ledger.CreativeChanges {
	of := *e.Next.Creative(id)
	campaignID, _, _ := strings.Cut(id, "-")
	e.touched[campaignID] = true
	e.Next.Creatives[id] = &of
	return &of
}

// firstMade is the number of the first campaign that is created by a change. By
// themselves they have smaller ones.
const firstMade = 9_000_000_001 // of the first account

func (e *Editor) createCampaign(c Change, in *fields) (string, error) {
	cp, of := e.NewCampaign()
	name, status := "Campaign "+strconv.Itoa(len(e.Next.Made)), "active"
	bid, limit := int64(500_000), int64(100_000_000)
	of.Name, of.Status, of.Bid, of.Limit, of.Start = &name, &status, &bid, &limit, &cp.CreatedAt
	e.setCampaign(cp, of, in)
	if err := in.end(); err != nil {
		return "", err
	}
	if err := e.checkBid(cp, of); err != nil {
		return "", err
	}
	return cp.ID, e.changeSources(cp, c.Sources)
}

// NewCampaign adds a campaign without any settings.
func (e *Editor) NewCampaign() (*market.Campaign, *ledger.CampaignChanges) {
	n := len(e.Next.Made)
	cp := &market.Campaign{
		ID:        "C" + strconv.Itoa(e.firstMade+n),
		Key:       chance.Hash(e.Account.Seed, chance.AboutMade, uint64(n)),
		CreatedAt: e.St.Now.Truncate(time.Second),
		Created:   market.Never, // by itself it blocks nothing
		Archived:  market.Never,
	}
	cp.IDJSON = jsontext.AppendString(nil, cp.ID)
	cp.Weight = 20 + chance.Below(chance.Mix(cp.Key+3), 30)
	cp.ClickRate = 200 + chance.Below(chance.Mix(cp.Key+4), 1500)
	cp.ConvertRate = 650 + chance.Below(chance.Mix(cp.Key+5), 4600)
	e.Next.Made = append([]*market.Campaign{cp}, e.Next.Made...)
	of := e.OfCampaign(cp.ID)
	of.Base = cp
	return cp, of
}

func (e *Editor) editCampaign(cp *market.Campaign, c Change, in *fields) error {
	if err := e.editable(cp); err != nil {
		return err
	}
	of := e.OfCampaign(cp.ID)
	bids := in.has("default_bid") || in.has("audience")
	e.setCampaign(cp, of, in)
	if err := in.end(); err != nil {
		return err
	}
	if bids {
		if err := e.checkBid(cp, of); err != nil {
			return err
		}
	}
	return e.changeSources(cp, c.Sources)
}

// editable refuses an archived campaign: archived is permanent.
func (e *Editor) editable(cp *market.Campaign) error {
	if ledger.Or(e.Next.Campaign(cp.ID).Status, cp.Status(e.St.Today)) == "archived" && !e.force {
		return fmt.Errorf("campaign %s is archived", cp.ID)
	}
	return nil
}

// setCampaign takes the fields of a campaign.
func (e *Editor) setCampaign(cp *market.Campaign, of *ledger.CampaignChanges, in *fields) {
	in.text("name", &of.Name, words(1, 100))
	in.text("status", &of.Status, oneOf(market.CampaignStatuses...))
	in.textOrNull("delivery_status", &of.Delivery, oneOf(ledger.DeliveryStatuses...))
	in.amount("default_bid", &of.Bid, market.LowestBid, market.HighestBid)
	in.amountOrNull("daily_spend_limit", &of.Limit, 100_000_000, 1_000_000_000_000)
	in.amountOrNull("target_cpa", &of.TargetCPA, 1_000_000, 10_000_000_000)
	of.EndOptimization()
	in.instant("start_date", &of.Start)
	in.instantOrNull("end_date", &of.End)
	in.audience("audience", cp.Audience, &of.Audience)
}

// checkBid refuses a default bid below what the audience demands.
func (e *Editor) checkBid(cp *market.Campaign, of *ledger.CampaignChanges) error {
	au := ledger.Or(of.Audience, cp.Audience)
	if bid := ledger.Or(of.Bid, cp.Bid(e.St.Today)); bid < au.MinBid() && !e.force {
		return fmt.Errorf("default_bid %s: this audience demands %s", jsontext.Exact(bid), jsontext.Exact(au.MinBid()))
	}
	return nil
}

// changeSources changes modes, lists and bids of a campaign.
func (e *Editor) changeSources(cp *market.Campaign, c *SourceChange) error {
	if c == nil {
		return nil
	}
	of := e.OfCampaign(cp.ID)
	if c.Mode != "" {
		if c.Mode != ledger.AllowList && c.Mode != ledger.BlockList {
			return fmt.Errorf("mode %q: expected %s or %s", c.Mode, ledger.BlockList, ledger.AllowList)
		}
		allow := c.Mode == ledger.AllowList
		of.AllowList = &allow
	}
	allow := ledger.Or(of.AllowList, cp.AllowList)
	for _, part := range []struct {
		verb, done string
		ids        []string
		now        func(*market.Campaign) []int32
		into       *map[int32]bool
		on, allow  bool
	}{
		{"block", "blocked", c.Block, e.St.BlockedNow, &of.Blocked, true, false},
		{"unblock", "blocked", c.Unblock, e.St.BlockedNow, &of.Blocked, false, false},
		{"allow", "allowed", c.Allow, e.St.AllowedNow, &of.Allowed, true, true},
		{"disallow", "allowed", c.Disallow, e.St.AllowedNow, &of.Allowed, false, true},
	} {
		if len(part.ids) > 0 && part.allow != allow && !e.force {
			return fmt.Errorf("%s: the campaign has %s", part.verb, [...]string{"a block list",
				"an allow list"}[jsontext.Btoi(allow)])
		}
		for _, id := range part.ids {
			src, ok := e.Account.Sources.Index(id)
			if !ok {
				return fmt.Errorf("%s: no source %q", part.verb, id)
			}
			if _, there := slices.BinarySearch(part.now(cp), src); there == part.on {
				return fmt.Errorf("%s: %s is %s %s", part.verb, id, [...]string{"not", "already"}[jsontext.Btoi(there)],
					part.done)
			}
			if *part.into == nil {
				*part.into = map[int32]bool{}
			}
			(*part.into)[src] = part.on
		}
	}
	if allow && len(e.St.AllowedNow(cp)) == 0 && !e.force {
		return errors.New("an allow list needs a source")
	}
	return e.changeBids(cp, of, c.Bids)
}

// changeBids sets bids of sources, and takes away those that are null.
func (e *Editor) changeBids(cp *market.Campaign, of *ledger.CampaignChanges, bids map[string]any) error {
	in, err := newFields(bids)
	if err != nil {
		return fmt.Errorf("bids: %w", err)
	}
	now := e.St.SourcesNow(cp).Bids
	for _, id := range slices.Sorted(maps.Keys(bids)) {
		src, ok := e.Account.Sources.Index(id)
		if !ok {
			return fmt.Errorf("bids: no source %q", id)
		}
		var bid *int64
		in.amountOrNull(id, &bid, market.LowestBid, market.HighestBid)
		if in.err != nil {
			return fmt.Errorf("bids: %w", in.err)
		}
		if *bid == 0 && !slices.ContainsFunc(now, func(b ledger.SourceBid) bool { return b.Source == src }) {
			return fmt.Errorf("bids: %s has none of its own", id)
		}
		if of.Bids == nil {
			of.Bids = map[int32]int64{}
		}
		of.Bids[src] = *bid
	}
	return nil
}

func (e *Editor) createCreative(cp *market.Campaign, in *fields) (string, error) {
	if err := e.editable(cp); err != nil {
		return "", err
	}
	cr, cf, err := e.NewCreative(cp)
	if err != nil {
		return "", err
	}
	cr.Title = "Creative " + strconv.Itoa(cr.Number)
	cr.Message = "Tap to see more."
	cr.Link = "https://offers.example/" + cp.ID
	cr.IconID = jsontext.Hex24(chance.Hash(cr.Key, chance.AboutIcon))
	status := "pending_review"
	cf.Status = &status
	return cr.ID, e.setCreative(cr, cf, in)
}

// NewCreative adds a creative without any settings.
func (e *Editor) NewCreative(cp *market.Campaign) (*market.Creative, *ledger.CreativeChanges, error) {
	of := e.OfCampaign(cp.ID)
	number := of.LastNumber
	for _, cr := range cp.Creatives {
		_, digits, _ := strings.Cut(cr.ID, "-")
		n, _ := strconv.Atoi(digits) // it was printed as one
		number = max(number, n)
	}
	number++
	if of.LastNumber = number; number > 999_999 {
		return nil, nil, errors.New("there is no number left for a creative")
	}
	id, key := fmt.Sprintf("%s-%03d", cp.ID, number), chance.Hash(cp.Key, chance.AboutMade, uint64(number))
	cr := &market.Creative{
		Campaign:  cp,
		ID:        id,
		IDJSON:    jsontext.AppendString(nil, id),
		Key:       key,
		CreatedAt: e.St.Now.Truncate(time.Second),
		Archived:  market.Never,
		Number:    number,
		Weight:    1 + chance.Below(chance.Mix(key+1), 8),
	}
	of.Made = append([]*market.Creative{cr}, of.Made...)
	cf := e.OfCreative(cr.ID)
	cf.Base = cr
	return cr, cf, nil
}

func (e *Editor) editCreative(c Change, in *fields) error {
	campaignID, _, _ := strings.Cut(c.Creative, "-")
	cp := e.St.Campaign(campaignID)
	var cr *market.Creative
	if cp != nil {
		cr = e.St.Creative(cp, c.Creative)
	}
	if cr == nil {
		return fmt.Errorf("no creative %q", c.Creative)
	}
	of := e.OfCreative(cr.ID)
	if c.Do != "" {
		of.Hidden = Hidden(c.Do)
		return nil
	}
	if err := e.editable(cp); err != nil {
		return err
	}
	if e.St.CreativeStatus(cr) == "archived" && !e.force {
		return fmt.Errorf("creative %s is archived", cr.ID)
	}
	return e.setCreative(cr, of, in)
}

// setCreative takes the fields of a creative. What only a draft may lack is
// missing nowhere else.
func (e *Editor) setCreative(cr *market.Creative, of *ledger.CreativeChanges, in *fields) error {
	in.text("status", &of.Status, oneOf(market.CreativeStatuses...))
	needed := in.text
	if e.St.CreativeStatus(cr) == "draft" {
		needed = in.textOrNull
	}
	needed("title", &of.Title, length(1, 100))
	needed("message", &of.Message, length(1, 200))
	needed("link", &of.Link, isLink)
	needed("icon_id", &of.IconID, isImageID)
	in.textOrNull("image_id", &of.ImageID, isImageID)
	in.textOrNull("button1", &of.Button1, words(1, 25))
	in.textOrNull("button2", &of.Button2, words(1, 25))
	if in.has("rejection_reasons") || in.has("rejection_comment") {
		if status := e.St.CreativeStatus(cr); status != "rejected" {
			return fmt.Errorf("a creative that is %s has no rejection", status)
		}
	}
	in.texts("rejection_reasons", &of.RejectionReasons)
	in.text("rejection_comment", &of.RejectionComment, nil)
	if err := in.end(); err != nil {
		return err
	}
	now := e.St.CreativeNow(cr)
	if now.Status != "draft" && (now.Title == "" || now.Message == "" || now.Link == "" || now.IconID == "") {
		return errors.New("only a draft may lack title, message, link or icon_id")
	}
	return nil
}
