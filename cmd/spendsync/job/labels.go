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

// labels is the report's list of creatives, over all days within reach. It is requested once per run, and contains the
// names of the campaigns.
type labels struct {
	lines     []transform.ReportCreative
	left      []*transform.RowError // lines left out because their IDs cannot be read
	err       error
	names     map[string]string   // of campaigns, by ID; the last name if the report has several
	creatives map[string][]string // IDs of creatives, by campaign
}

// askLabels requests the labels. If the list changes while it is paged, it is read again, like a day.
func (s *session) askLabels(ctx context.Context) (l *labels) {
	for from, reads := s.plan.Reach, 1; ; {
		l = &labels{names: map[string]string{}, creatives: map[string][]string{}}
		for page, err := range s.Report.ReportCreatives(ctx, from, s.plan.Today, s.Plan.PageSize) {
			if l.err = err; err == nil {
				lines, left := transform.ReportCreatives(page)
				l.lines, l.left = append(l.lines, lines...), append(l.left, left...)
			}
		}
		_, isUnproven := errors.AsType[*extract.UnprovenError](l.err)
		switch {
		case errors.Is(l.err, extract.ErrUnreachable) && from < s.plan.Reach+maxOutOfReach:
			// The first day is no longer within reach: time has passed since the plan was made, or the reach is
			// shorter than the service states.
			from++
			continue
		case isUnproven && reads < maxReads:
			reads++
			continue
		case l.err != nil:
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

// storedNames returns a function that returns the name of each campaign in its newest stored day. Replays need it,
// because stored replies have no names. Days that cannot be read are skipped.
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
