package job

import (
	"errors"

	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// settingsStage stages the settings.
type settingsStage struct {
	*session
	ended     map[string]bool  // campaigns whose creatives and rules end with them; set by findEnded
	endsNow   bool             // some of them end in this run
	versions  int64            // that are new
	was, next history.Readings // before and after this run
	part      load.StagedChange
	reported  map[string]transform.ReportCreative // what the report has of a creative, by ID
}

// beginReadings begins the readings of this run: those of whole parts, of which it has read some in full.
func (r *settingsStage) beginReadings(s *settings) (err error) {
	if r.was, err = load.StoredReadings(r.store); err != nil {
		return err
	}
	r.next = r.was.Wholes()
	for id, c := range s.campaigns {
		for part, isRead := range c.whole {
			if isRead {
				r.next[schema.Place{CampaignID: id, Part: part}] = s.since
			}
		}
	}
	r.reported = map[string]transform.ReportCreative{}
	for _, l := range s.reported {
		r.reported[l.CreativeID] = l
	}
	return nil
}

// stageSettings turns the replies into observations, advances each table's history by them, and stages the result.
func stageSettings(r *session, s *settings) (part load.StagedChange, newVersions int64, err error) {
	stage := &settingsStage{session: r, part: load.NewStagedChange()}
	err = stage.stage(s)
	return stage.part, stage.versions, err
}

func (r *settingsStage) stage(s *settings) error {
	if err := r.beginReadings(s); err != nil {
		return err
	}
	var errs []error
	for _, k := range settingsKinds {
		errs = append(errs, k.stage(r, s))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	rows := r.next.Rows(r.Account, r.RunID)
	if err := load.PutTable(r.store, r.area, &r.part, schema.Readings, rows); err != nil {
		return err
	}
	r.part.PutSettled(s.settledCampaigns(r.store.Account()))
	s.release()
	return nil
}

// goneIf returns the meaning of an entity's absence: deleted, or unknown.
func goneIf(is bool) history.Absence {
	if is {
		return history.Gone
	}
	return history.Unknown
}

// isGone reports whether a campaign that was not read is deleted: a complete listing lacks it and the service answers
// 404 for it. Once it has ended, the listing alone confirms the deletion.
func (s *settings) isGone(campaign string, wasDeleted bool) bool {
	return s.isUnlisted(campaign) && (wasDeleted || s.notThere[campaign])
}

// isUnlisted reports whether the complete listing lacks a campaign.
func (s *settings) isUnlisted(campaign string) bool {
	c := s.campaigns[campaign]
	return s.listing.Complete && (c == nil || !c.isListed)
}

// findEnded finds the campaigns whose creatives and rules of sources end with them.
func (r *settingsStage) findEnded(s *settings, campaigns []schema.Campaign) {
	r.ended = map[string]bool{}
	for i := range campaigns {
		c := &campaigns[i]
		r.ended[c.CampaignID] = c.IsCurrent && c.IsDeleted && s.isUnlisted(c.CampaignID)
		r.endsNow = r.endsNow || r.ended[c.CampaignID] && c.ValidFrom == s.at
	}
}

// hasEnded reports whether a creative that was not read has ended: its campaign has, or the complete list of its
// campaign lacks it, and the service answers 404 or 410 for it or did so before.
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

func (r *settingsStage) noteAdvance(t *schema.Table, st history.Stats) {
	r.Log.Debug("settings added to their history", "table", t.Name, "first_seen", st.FirstSeen, "stubs", st.Stubs,
		"versions", st.Versions, "deleted", st.Deleted, "restored", st.Restored, "filled", st.Filled,
		"confirmed", st.Confirmed, "unread", st.Unread, "missing", st.Missing)
	r.versions += st.FirstSeen + st.Stubs + st.Versions + st.Deleted + st.Restored
}

// settledCampaigns returns the archived campaigns that need not be read again: known ones that are still archived, and
// those read now.
func (s *settings) settledCampaigns(known *manifest.Account) (ids []string) {
	for id, c := range s.campaigns {
		if c.isSettled {
			ids = append(ids, id)
		}
	}
	if !s.listing.Complete { // what is not listed is not known to be otherwise
		ids = append(ids, known.SettledCampaigns()...)
	}
	return ids
}
