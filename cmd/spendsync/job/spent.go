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

// livesByReport revokes the end of entities that have had spend since: on a day after the one they were last seen on,
// and no earlier than yesterday. An entity may spend on the day on which it ends. If that can be the day after it was
// last seen, the spend only delays the end, and is not a failure yet.
func (r *settingsStage) livesByReport(s *settings) error {
	s.spent = map[string]schema.Date{}
	add := func(id string, day schema.Date) { s.spent[id] = max(s.spent[id], day) }
	for day, ids := range r.spent {
		for _, id := range ids {
			add(id, day)
		}
	}
	yesterday := r.plan.Today - 1
	for day := yesterday; day <= r.plan.Today && len(s.gone) > 0; day++ {
		if r.spent[day] != nil {
			continue
		}
		for rows, err := range r.store.StoredDay(day) {
			if err != nil {
				return err
			}
			for i := range rows {
				if rows[i].Spend > 0 {
					add(strings.Clone(rows[i].CampaignID), day)
					add(strings.Clone(rows[i].CreativeID), day)
				}
			}
		}
	}
	var alive []string
	before := r.store.Account().Confirmations[schema.CampaignHistory.Name].Latest()
	for id, seen := range s.gone {
		day, last := s.spent[id], schema.DateOf(seen.Time())
		if day < yesterday || day <= last {
			continue
		}
		delete(s.gone, id)
		if day > last+1 && seen < before && day > schema.DateOf(before.Time()) {
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

// returned returns the ended entities of a table for which the report shows spend on a day
// after their end: they are back, although nothing of them can be read.
func returned[R any, P history.Versioned[R]](
	t schema.TableOf[R], s *settings, id func(*R) string, rows []R, seen []history.Seen[R],
) (back []history.Seen[R]) {
	read := map[string]bool{}
	for i := range seen {
		read[id(&seen[i].Row)] = true
	}
	var alive []string
	for i := range rows {
		f := P(&rows[i]).FramePtr()
		if !f.IsCurrent || !f.IsDeleted || read[id(&rows[i])] ||
			s.spent[id(&rows[i])] <= schema.DateOf(f.ValidFrom.Time()) {
			continue
		}
		back = append(back, history.Seen[R]{Row: rows[i], Unread: t.FieldNames()})
		alive = append(alive, id(&rows[i]))
	}
	s.saysSpent(alive)
	return back
}
