package job

import (
	"fmt"
	"slices"
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
	if !s.lacksSome() {
		return nil
	}
	if r.spent == nil {
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
	}
	var alive []string
	for id, e := range s.entities() {
		if e.notThere.Valid && slices.Contains(r.spent, id) && schema.DateOf(e.notThere.V.Time()) < r.plan.Today {
			e.notThere.Valid = false
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
	s.findings = append(s.findings, finding{what: "settings", err: fmt.Errorf(
		"the service answers 404 for %s, and its report shows later spend; its history stays open",
		someOf("campaign or creative", alive))})
}

// returned returns the ended entities of a table that spend today, on a day after their end: they are back, although
// nothing of them can be read.
func returned[R any, P history.Versioned[R]](
	r *settingsStage, t schema.TableOf[R], s *settings, id func(*R) string, rows []R, seen []history.Seen[R],
) (back []history.Seen[R]) {
	spends, read := map[string]bool{}, map[string]bool{}
	for _, id := range r.spent {
		spends[id] = true
	}
	for i := range seen {
		read[id(&seen[i].Row)] = true
	}
	var alive []string
	for i := range rows {
		f := P(&rows[i]).FramePtr()
		if f.IsCurrent && f.IsDeleted && !read[id(&rows[i])] && spends[id(&rows[i])] &&
			schema.DateOf(f.ValidFrom.Time()) < r.plan.Today {
			back = append(back, history.Seen[R]{Row: rows[i], Unread: t.FieldNames()})
			alive = append(alive, id(&rows[i]))
		}
	}
	s.saysSpent(alive)
	return back
}
