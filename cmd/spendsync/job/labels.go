package job

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/transform"
)

// labels is the report's list of creatives, over all days that the report still covers. It is requested once per run.
// Its lines also have the names of the campaigns, which the report of a day lacks.
type labels struct {
	lines     []transform.ReportCreative
	left      []*transform.RowError // errors of the lines that were skipped because an ID is unreadable
	err       error
	names     map[string]string   // names of campaigns, by ID; if a campaign has several names, the last one
	creatives map[string][]string // IDs of creatives, by campaign
}

// askLabels requests the report's list of creatives.
func (s *session) askLabels(ctx context.Context) (l *labels) {
	for from := s.plan.Reach; ; from++ {
		l = &labels{names: map[string]string{}, creatives: map[string][]string{}}
		for page, err := range s.Report.ReportCreatives(ctx, from, s.plan.Today, s.Plan.PageSize) {
			if l.err = err; err == nil {
				lines, left := transform.ReportCreatives(page)
				l.lines, l.left = append(l.lines, lines...), append(l.left, left...)
			}
		}
		if errors.Is(l.err, extract.ErrUnreachable) && from < s.plan.Reach+maxOutOfReach {
			// The service refuses the first day as too old: midnight has passed since the plan was made, or the report
			// covers fewer days than the service states.
			continue
		}
		if l.err != nil {
			s.Log.Warn("the names of the campaigns could not be read; rows keep those that are stored", "error", l.err)
		}
		for _, line := range l.lines {
			l.creatives[line.CampaignID] = append(l.creatives[line.CampaignID], line.CreativeID)
			if line.CampaignName != "" {
				l.names[line.CampaignID] = line.CampaignName
			}
		}
		return l
	}
}

// storedNames returns a function for the names of the campaigns by ID. Each name is from the newest stored day that has
// the campaign. A replay takes the names from the stored days, because the stored replies have none. Days that cannot
// be read are skipped.
func storedNames(store *load.Store) func() map[string]string {
	return sync.OnceValue(func() map[string]string {
		names := map[string]string{}
		for _, day := range slices.Backward(store.Account().DayList()) {
			for rows, err := range store.StoredDay(day) {
				if err != nil {
					break
				}
				for i := range rows {
					if id := rows[i].CampaignID; names[id] == "" {
						names[strings.Clone(id)] = strings.Clone(rows[i].CampaignName)
					}
				}
			}
		}
		return names
	})
}
