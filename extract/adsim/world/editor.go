package world

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"spendsync/extract/adsim/chance"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
)

// Editor adds one change to the earlier changes of an account.
type Editor struct {
	*World
	St      *ledger.State   // the account's state now, with the changes in Next
	Next    *ledger.Changes // the earlier changes and the new one
	touched map[string]bool // IDs of changed campaigns
}

// OfCampaign returns the changes of a campaign. The caller may modify the result.
func (e *Editor) OfCampaign(id string) *ledger.CampaignChanges {
	changes := *e.Next.Campaign(id)
	changes.Blocked, changes.Allowed = maps.Clone(changes.Blocked), maps.Clone(changes.Allowed)
	changes.Bids = maps.Clone(changes.Bids)
	e.touched[id] = true
	e.Next.Campaigns[id] = &changes
	return &changes
}

// OfCreative returns the changes of a creative. The caller may modify the result.
func (e *Editor) OfCreative(id string) *ledger.CreativeChanges {
	changes := *e.Next.Creative(id)
	campaignID, _, _ := strings.Cut(id, "-")
	e.touched[campaignID] = true
	e.Next.Creatives[id] = &changes
	return &changes
}

// firstMade is the lowest number in the IDs of campaigns created by changes, in the first account. Generated campaigns
// have lower numbers.
const firstMade = 9_000_000_001

// NewCampaign adds a campaign without any settings.
func (e *Editor) NewCampaign() (*market.Campaign, *ledger.CampaignChanges) {
	n := len(e.Next.Made)
	cp := &market.Campaign{
		ID:        "C" + strconv.Itoa(e.firstMade+n),
		Key:       chance.Hash(e.Account.Seed, chance.AboutMade, uint64(n)),
		CreatedAt: e.St.Now.Truncate(time.Second),
		Created:   market.Never, // marks a campaign created by a change; its block list is empty at first
		Archived:  market.Never,
	}
	cp.Weight = 20 + chance.Below(chance.Mix(cp.Key+3), 30)
	cp.ClickRate = 200 + chance.Below(chance.Mix(cp.Key+4), 1500)
	cp.ConvertRate = 650 + chance.Below(chance.Mix(cp.Key+5), 4600)
	e.Next.Made = append([]*market.Campaign{cp}, e.Next.Made...)
	changes := e.OfCampaign(cp.ID)
	changes.Base = cp
	return cp, changes
}

// NewCreative adds a creative without any settings.
func (e *Editor) NewCreative(cp *market.Campaign) (*market.Creative, *ledger.CreativeChanges, error) {
	changes := e.OfCampaign(cp.ID)
	number := changes.LastNumber
	for _, cr := range cp.Creatives {
		_, digits, _ := strings.Cut(cr.ID, "-")
		n, _ := strconv.Atoi(digits) // IDs end in digits
		number = max(number, n)
	}
	number++
	if changes.LastNumber = number; number > 999_999 {
		return nil, nil, errors.New("there is no number left for a creative")
	}
	id, key := fmt.Sprintf("%s-%03d", cp.ID, number), chance.Hash(cp.Key, chance.AboutMade, uint64(number))
	cr := &market.Creative{
		Campaign:  cp,
		ID:        id,
		Key:       key,
		CreatedAt: e.St.Now.Truncate(time.Second),
		Archived:  market.Never,
		Number:    number,
		Weight:    1 + chance.Below(chance.Mix(key+1), 8),
	}
	changes.Made = append([]*market.Creative{cr}, changes.Made...)
	cf := e.OfCreative(cr.ID)
	cf.Base = cr
	return cr, cf, nil
}
