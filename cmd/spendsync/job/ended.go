package job

import (
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// goneIf returns what the history does with an absent entity: if isEnded is set, the entity counts as deleted, else its
// absence means nothing.
func goneIf(isEnded bool) history.Absence {
	if isEnded {
		return history.Gone
	}
	return history.Unknown
}

// isGone reports whether a campaign that was not read is deleted: a complete listing lacks it, and the service answers
// not_found for it. For a campaign that is already deleted, the listing alone confirms the deletion.
func (s *settings) isGone(campaign string, wasDeleted bool) bool {
	return s.isUnlisted(campaign) && (wasDeleted || s.notThere[campaign])
}

// isUnlisted reports whether the complete listing lacks a campaign.
func (s *settings) isUnlisted(campaign string) bool {
	c := s.campaigns[campaign]
	return s.listing.Complete && (c == nil || !c.isListed)
}

// findEnded finds the deleted campaigns. Their creatives and source rules end with them.
func (r *settingsStage) findEnded(s *settings, campaigns []schema.Campaign) {
	r.ended = map[string]bool{}
	for i := range campaigns {
		c := &campaigns[i]
		r.ended[c.CampaignID] = c.IsCurrent && c.IsDeleted && s.isUnlisted(c.CampaignID)
		if r.ended[c.CampaignID] && c.ValidFrom == s.at {
			r.endNow = append(r.endNow, c.CampaignID)
		}
	}
}

// hasEnded reports whether a creative that was not read is deleted: its campaign is deleted, or the complete list of
// the campaign's creatives lacks the creative and the service has answered not_found for its ID.
func (r *settingsStage) hasEnded(s *settings, c *schema.Creative) bool {
	id := c.CampaignID.V
	switch campaign := s.campaigns[id]; {
	case !c.CampaignID.Valid:
		return false
	case r.ended[id], s.isGone(id, false):
		return true
	default:
		return campaign != nil && campaign.whole[schema.PartCreative] && (c.IsDeleted || s.notThere[c.CreativeID])
	}
}

// settledCampaigns returns the campaigns that are archived and were read in full. They never change and need not be
// read again.
func (s *settings) settledCampaigns(account *manifest.Account) (ids []string) {
	for id, c := range s.campaigns {
		if c.isSettled {
			ids = append(ids, id)
		}
	}
	if !s.listing.Complete { // an incomplete listing may lack archived campaigns
		ids = append(ids, account.SettledCampaigns()...)
	}
	return ids
}
