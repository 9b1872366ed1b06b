package adsim

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
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
// A field that was changed stays as it is whatever the clock says; the others go
// on by themselves.
type Change struct {
	Campaign string         `json:"campaign"` // ID
	Creative string         `json:"creative"` // ID
	Do       Action         `json:"do"`
	Set      map[string]any `json:"set"`
	Sources  *SourceChange  `json:"sources"` // of the campaign
	// Force does also what the service refuses anyone: to edit what is archived, to
	// bid below what the audience demands, to use the list of another mode, to
	// disallow the last source.
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

// Change changes the settings from now on. It refuses what can't be: an ID that
// there is not, a value out of bounds, to block what is blocked.
func (s *world) Change(c Change) error {
	_, err := s.change(c)
	return err
}

// Create makes a campaign or, with c.Campaign, a creative of it, and tells its ID.
func (s *world) Create(c Change) (id string, err error) {
	c.Do = Create
	return s.change(c)
}

// change tells the ID of what it has changed.
func (s *world) change(c Change) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.now()
	s.settle(now)
	st := s.stateLocked(now)
	e := s.editorOf(&st)
	e.force = c.Force
	if id, err = e.apply(c); err != nil {
		what := strings.Join(strings.Fields("change "+string(c.Do)+" "+cmp.Or(c.Creative, c.Campaign)), " ")
		return "", fmt.Errorf("%s: %w", what, err)
	}
	e.commit()
	s.record(journalLine{Op: "change", At: now, What: what(&c)})
	return id, nil
}

// editor works a change into what was asked before.
type editor struct {
	*world
	st        *state
	next      *changes
	force     bool
	api       bool            // asked for through the API
	touched   map[string]bool // campaigns
	submitted []review
}

func (e *editor) apply(c Change) (string, error) {
	if c.Campaign != "" && c.Creative != "" {
		return "", errors.New("names a campaign and a creative")
	}
	if c.Sources != nil && (c.Creative != "" || c.Do == Create && c.Campaign != "") {
		return "", errors.New("a creative has no sources")
	}
	switch c.Do {
	case "":
		if len(c.Set) == 0 && c.Sources == nil {
			return "", errors.New("nothing to change")
		}
	case Create:
		if c.Creative != "" {
			return "", errors.New("what is created has no ID yet")
		}
	case Hide, Unlist, Show:
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
	if c.Do == Create && c.Campaign == "" {
		return e.createCampaign(c, in)
	}
	cp := e.st.campaign(c.Campaign)
	if cp == nil {
		return "", fmt.Errorf("no campaign %q", c.Campaign)
	}
	switch c.Do {
	case Create:
		return e.createCreative(cp, in)
	case Hide, Unlist, Show:
		e.ofCampaign(cp.id).hidden = hidden(c.Do)
		return cp.id, nil
	}
	return cp.id, e.editCampaign(cp, c, in)
}

// hidden is what an action makes of an entity's being shown.
func hidden(do Action) Action {
	if do == Show {
		return ""
	}
	return do
}

// ofCampaign is what is asked of a campaign, to be changed.
func (e *editor) ofCampaign(id string) *campaignChanges {
	of := *e.next.campaign(id)
	of.blocked, of.allowed, of.bids, of.optimized = maps.Clone(of.blocked), maps.Clone(of.allowed), maps.Clone(of.bids),
		maps.Clone(of.optimized)
	e.touched[id] = true
	e.next.campaigns[id] = &of
	return &of
}

// ofCreative is what is asked of a creative, to be changed.
func (e *editor) ofCreative(id string) *creativeChanges {
	of := *e.next.creative(id)
	campaignID, _, _ := strings.Cut(id, "-")
	e.touched[campaignID] = true
	e.next.creatives[id] = &of
	return &of
}

// firstMade is the number of the first campaign that is created by a change. By
// themselves they have smaller ones.
const firstMade = 9_000_000_001 // of the first account

func (e *editor) createCampaign(c Change, in *fields) (string, error) {
	cp, of := e.newCampaign()
	name, status := "Campaign "+strconv.Itoa(len(e.next.made)), "active"
	bid, limit := int64(500_000), int64(100_000_000)
	of.name, of.status, of.bid, of.limit, of.start = &name, &status, &bid, &limit, &cp.createdAt
	e.setCampaign(cp, of, in)
	if err := in.end(); err != nil {
		return "", err
	}
	if err := e.checkBid(cp, of); err != nil {
		return "", err
	}
	return cp.id, e.changeSources(cp, c.Sources)
}

// newCampaign adds a campaign of which nothing is set yet.
func (e *editor) newCampaign() (*campaign, *campaignChanges) {
	n := len(e.next.made)
	cp := &campaign{
		id:        "C" + strconv.Itoa(e.firstMade+n),
		key:       chance(e.account.seed, aboutMade, uint64(n)),
		createdAt: e.st.now.Truncate(time.Second),
		created:   never, // by itself it blocks nothing
		archived:  never,
	}
	cp.idJSON = appendString(nil, cp.id, e.account.ascii)
	cp.weight = 20 + below(mix(cp.key+3), 30)
	cp.clickRate = 200 + below(mix(cp.key+4), 1500)
	cp.convertRate = 650 + below(mix(cp.key+5), 4600)
	e.next.made = append([]*campaign{cp}, e.next.made...)
	of := e.ofCampaign(cp.id)
	of.base = cp
	return cp, of
}

func (e *editor) editCampaign(cp *campaign, c Change, in *fields) error {
	if err := e.editable(cp); err != nil {
		return err
	}
	of := e.ofCampaign(cp.id)
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

// editable refuses what is archived: that is permanent.
func (e *editor) editable(cp *campaign) error {
	if or(e.next.campaign(cp.id).status, cp.status(e.st.today)) == "archived" && !e.force {
		return fmt.Errorf("campaign %s is archived", cp.id)
	}
	return nil
}

// setCampaign takes the fields of a campaign.
func (e *editor) setCampaign(cp *campaign, of *campaignChanges, in *fields) {
	in.text("name", &of.name, words(1, 100))
	in.text("status", &of.status, oneOf(campaignStatuses...))
	in.textOrNull("delivery_status", &of.delivery, oneOf(deliveryStatuses...))
	in.amount("default_bid", &of.bid, lowestBid, highestBid)
	in.amountOrNull("daily_spend_limit", &of.limit, 100_000_000, 1_000_000_000_000)
	in.amountOrNull("target_cpa", &of.targetCPA, 1_000_000, 10_000_000_000)
	of.endOptimization()
	in.instant("start_date", &of.start)
	in.instantOrNull("end_date", &of.end)
	in.audience("audience", cp.audience, &of.audience)
}

// checkBid refuses a default bid below what the audience demands.
func (e *editor) checkBid(cp *campaign, of *campaignChanges) error {
	au := or(of.audience, cp.audience)
	if bid := or(of.bid, cp.bid(e.st.today)); bid < au.minBid() && !e.force {
		return fmt.Errorf("default_bid %s: this audience demands %s", exact(bid), exact(au.minBid()))
	}
	return nil
}

// changeSources changes modes, lists and bids of a campaign.
func (e *editor) changeSources(cp *campaign, c *SourceChange) error {
	if c == nil {
		return nil
	}
	of := e.ofCampaign(cp.id)
	if c.Mode != "" {
		if c.Mode != allowList && c.Mode != blockList {
			return fmt.Errorf("mode %q: expected %s or %s", c.Mode, blockList, allowList)
		}
		allow := c.Mode == allowList
		of.allowList = &allow
	}
	allow := or(of.allowList, cp.allowList)
	for _, part := range []struct {
		verb, done string
		ids        []string
		now        func(*campaign) []int32
		into       *map[int32]bool
		on, allow  bool
	}{
		{"block", "blocked", c.Block, e.st.blockedNow, &of.blocked, true, false},
		{"unblock", "blocked", c.Unblock, e.st.blockedNow, &of.blocked, false, false},
		{"allow", "allowed", c.Allow, e.st.allowedNow, &of.allowed, true, true},
		{"disallow", "allowed", c.Disallow, e.st.allowedNow, &of.allowed, false, true},
	} {
		if len(part.ids) > 0 && part.allow != allow && !e.force {
			return fmt.Errorf("%s: the campaign has %s", part.verb, [...]string{"a block list",
				"an allow list"}[btoi(allow)])
		}
		for _, id := range part.ids {
			src, ok := e.account.sources.index(id)
			if !ok {
				return fmt.Errorf("%s: no source %q", part.verb, id)
			}
			if _, there := slices.BinarySearch(part.now(cp), src); there == part.on {
				return fmt.Errorf("%s: %s is %s %s", part.verb, id, [...]string{"not", "already"}[btoi(there)],
					part.done)
			}
			if *part.into == nil {
				*part.into = map[int32]bool{}
			}
			(*part.into)[src] = part.on
		}
	}
	if allow && len(e.st.allowedNow(cp)) == 0 && !e.force {
		return errors.New("an allow list needs a source")
	}
	return e.changeBids(cp, of, c.Bids)
}

// changeBids sets bids of sources, and takes away those that are null.
func (e *editor) changeBids(cp *campaign, of *campaignChanges, bids map[string]any) error {
	in, err := newFields(bids)
	if err != nil {
		return fmt.Errorf("bids: %w", err)
	}
	now := e.st.sourcesNow(cp).bids
	for _, id := range slices.Sorted(maps.Keys(bids)) {
		src, ok := e.account.sources.index(id)
		if !ok {
			return fmt.Errorf("bids: no source %q", id)
		}
		var bid *int64
		in.amountOrNull(id, &bid, lowestBid, highestBid)
		if in.err != nil {
			return fmt.Errorf("bids: %w", in.err)
		}
		if *bid == 0 && !slices.ContainsFunc(now, func(b sourceBid) bool { return b.source == src }) {
			return fmt.Errorf("bids: %s has none of its own", id)
		}
		if of.bids == nil {
			of.bids = map[int32]int64{}
		}
		of.bids[src] = *bid
	}
	return nil
}
