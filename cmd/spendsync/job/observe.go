package job

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// settingsStage stages the settings.
type settingsStage struct {
	*session
	spent     []string         // campaigns and creatives that spend today; nil: as stored
	ended     map[string]bool  // campaigns whose creatives and rules end with them; set by findEnded
	endNow    []string         // those of them that end in this run
	versions  int64            // that are new
	was, next history.Readings // before and after this run
	part      load.StagedChange
}

// beginReadings begins the readings of this run: those of whole parts, of which it has read some in full.
func (r *settingsStage) beginReadings(s *settings) (err error) {
	if r.was, err = load.StoredReadings(r.store); err != nil {
		return err
	}
	r.next = r.was.Wholes()
	for id, c := range s.campaigns {
		if c.allCreatives {
			r.next[schema.Place{CampaignID: id, Part: schema.PartCreative}] = s.since
		}
		if c.sources != nil {
			for kind, read := range c.sources.kinds {
				if read {
					r.next[schema.Place{CampaignID: id, Part: kind}] = s.since
				}
			}
		}
	}
	return nil
}

// stageSettings turns the replies into observations, advances each table's history by them, and stages the result.
// spent are the campaigns and creatives that spend today; nil: the stored rows of today have them.
func stageSettings(r *session, s *settings, spent []string) (part load.StagedChange, newVersions int64, err error) {
	stage := &settingsStage{session: r, spent: spent, part: load.NewStagedChange()}
	err = stage.stage(s)
	return stage.part, stage.versions, err
}

func (r *settingsStage) stage(s *settings) error {
	if err := r.livesByReport(s); err != nil {
		return err
	}
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
	return s.isUnlisted(campaign) && (wasDeleted || s.hasEnded(campaign))
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
		if r.ended[c.CampaignID] && c.ValidFrom == s.at {
			r.endNow = append(r.endNow, c.CampaignID)
		}
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
		return campaign != nil && campaign.allCreatives && (c.IsDeleted || s.hasEnded(c.CreativeID))
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

// livesByReport revokes the end of entities that spend today, on a later day than the one they were last seen on. One
// that is not there for the first time may have been deleted today, after it spent: only if it goes on to spend on
// another day, the service contradicts itself.
func (r *settingsStage) livesByReport(s *settings) error {
	since := map[string]schema.Date{} // of those that were not there before
	for _, u := range r.store.Account().Unread {
		if u.ReadState == readNotFound {
			since[u.EntityID] = schema.DateOf(u.FirstSeenAt.Time())
		} else if u.ReadState == readContradicted {
			since[u.EntityID] = 0
		}
	}
	var alive []string
	for _, id := range slices.Sorted(maps.Keys(s.notThere)) {
		m := s.notThere[id]
		if schema.DateOf(m.seenAt.Time()) >= r.plan.Today {
			continue
		}
		if err := r.readSpent(); err != nil {
			return err
		}
		if m.lives = slices.Contains(r.spent, id); !m.lives {
			continue
		}
		state := readNotFound
		if first, was := since[id]; was && first < r.plan.Today {
			state, alive = readContradicted, append(alive, id)
		}
		r.notThere(s, m.kind, id, state)
	}
	s.saysSpent(alive)
	return nil
}

// readSpent reads which campaigns and creatives spend today, unless this run has read the day.
func (r *settingsStage) readSpent() error {
	if r.spent != nil {
		return nil
	}
	r.spent = []string{}
	for rows, err := range r.store.StoredDay(r.plan.Today) {
		if err != nil {
			return err
		}
		for i := range rows {
			if rows[i].Spend > 0 {
				r.spent = append(r.spent, strings.Clone(rows[i].CampaignID), strings.Clone(rows[i].CreativeID))
			}
		}
	}
	return nil
}

// notThere notes an entity that the service answers 404 for, while the report shows spend of it.
func (r *settingsStage) notThere(s *settings, kind, id, state string) {
	s.lines = append(s.lines, schema.EntityRead{AccountID: r.Account, EntityType: kind, EntityID: id, ReadState: state,
		Message: schema.Some("the service answers 404, and its report shows spend of today")})
}

// saysSpent notes what the listing lacks and the service answers 404 for, while the report
// shows spend of it.
func (s *settings) saysSpent(alive []string) {
	if len(alive) == 0 {
		return
	}
	s.findings = append(s.findings, finding{what: "settings", err: fmt.Errorf(
		"the service answers 404 for %s, and its report shows later spend; its history stays open",
		someOf("campaign or creative", alive))})
}
