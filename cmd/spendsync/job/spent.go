package job

import (
	"fmt"
	"strings"

	"spendsync/load/history"
	"spendsync/schema"
)

// spendersOf returns the campaigns and creatives that have spend, of rows in key order.
func spendersOf(rows *schema.SpendRows) (ids []string) {
	campaign, creative := "", ""
	for _, row := range rows.All() {
		if row.Spend > 0 && row.CampaignID != campaign {
			campaign = strings.Clone(row.CampaignID)
			ids = append(ids, campaign)
		}
		if row.Spend > 0 && row.CreativeID != creative {
			creative = strings.Clone(row.CreativeID)
			ids = append(ids, creative)
		}
	}
	return ids
}

// livesByReport revokes the end of entities that spend today, on a later day than the one they were last seen on.
func (r *settingsStage) livesByReport(s *settings) error {
	s.spent = map[string]bool{}
	for _, id := range r.spent {
		s.spent[id] = true
	}
	if r.spent == nil && len(s.gone) > 0 {
		for rows, err := range r.store.StoredDay(r.plan.Today) {
			if err != nil {
				return err
			}
			for i := range rows {
				if rows[i].Spend > 0 {
					s.spent[strings.Clone(rows[i].CampaignID)] = true
					s.spent[strings.Clone(rows[i].CreativeID)] = true
				}
			}
		}
	}
	var alive []string
	for id, seen := range s.gone {
		if s.spent[id] && schema.DateOf(seen.Time()) < r.plan.Today {
			delete(s.gone, id)
			alive = append(alive, id)
		}
	}
	s.saysSpent(alive)
	return nil
}

// saysSpent notes what the listing lacks and the service answers 404 for, while the report
// shows spend of it.
func (s *settings) saysSpent(alive []string) {
	if len(alive) == 0 {
		return
	}
	s.failures = append(s.failures, failure{what: "settings", err: fmt.Errorf(
		"the service answers 404 for %s, and its report shows later spend; its history stays open",
		someOf("campaign or creative", alive))})
}

// returned returns the ended entities of a table that spend today, on a day after their end: they are back, although
// nothing of them can be read.
func returned[R any, P history.Versioned[R]](
	t schema.TableOf[R], s *settings, today schema.Date, id func(*R) string, rows []R, seen []history.Seen[R],
) (back []history.Seen[R]) {
	read := map[string]bool{}
	for i := range seen {
		read[id(&seen[i].Row)] = true
	}
	var alive []string
	for i := range rows {
		f := P(&rows[i]).FramePtr()
		if !f.IsCurrent || !f.IsDeleted || read[id(&rows[i])] || !s.spent[id(&rows[i])] ||
			schema.DateOf(f.ValidFrom.Time()) >= today {
			continue
		}
		back = append(back, history.Seen[R]{Row: rows[i], Unread: t.FieldNames()})
		alive = append(alive, id(&rows[i]))
	}
	s.saysSpent(alive)
	return back
}
