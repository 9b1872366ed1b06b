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

// Editor merges a change into the earlier ones.
type Editor struct {
	*World
	St      *ledger.State
	Next    *ledger.Changes
	touched map[string]bool // campaigns
}

// OfCampaign returns the changes of a campaign, to be added to.
func (e *Editor) OfCampaign(id string) *ledger.CampaignChanges {
	of := *e.Next.Campaign(id)
	of.Blocked, of.Allowed, of.Bids = maps.Clone(of.Blocked), maps.Clone(of.Allowed), maps.Clone(of.Bids)
	e.touched[id] = true
	e.Next.Campaigns[id] = &of
	return &of
}

// OfCreative returns the changes of a creative; the caller may add to them.
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
	cp.Weight = 20 + chance.Below(chance.Mix(cp.Key+3), 30)
	cp.ClickRate = 200 + chance.Below(chance.Mix(cp.Key+4), 1500)
	cp.ConvertRate = 650 + chance.Below(chance.Mix(cp.Key+5), 4600)
	e.Next.Made = append([]*market.Campaign{cp}, e.Next.Made...)
	of := e.OfCampaign(cp.ID)
	of.Base = cp
	return cp, of
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
