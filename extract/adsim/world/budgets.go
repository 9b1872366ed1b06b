package world

import (
	"fmt"
	"maps"
	"math"
	"time"
)

// BudgetOf is how many changes of a kind a day has.
func (s *World) BudgetOf(kind string) int {
	if n, set := s.Cfg.ChangeBudgets[kind]; set {
		return n
	}
	return usualBudgets[kind]
}

// The kinds of change that have a budget of the day. The description names none.
const (
	CampaignCreate = "campaign_create"
	CampaignUpdate = "campaign_update"
	CreativeCreate = "creative_create"
	CreativeUpdate = "creative_update"
	SourceUpdate   = "source_update"
	ImageUpload    = "image_upload"
)

var ChangeKinds = []string{CampaignCreate, CampaignUpdate, CreativeCreate, CreativeUpdate, SourceUpdate, ImageUpload}

// usualBudgets is how many changes of a kind may be made between 00:00 UTC and
// 00:00 UTC. A source, a creative and an image count each.
var usualBudgets = map[string]int{
	CampaignCreate: 50, CampaignUpdate: 500, CreativeCreate: 200, CreativeUpdate: 500, SourceUpdate: 1000,
	ImageUpload: 200,
}

// NextMidnight is the next 00:00 UTC.
func NextMidnight(now time.Time) time.Time {
	y, m, d := now.UTC().Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
}

// budgets counts the changes that were made since midnight, by kind of change.
type budgets struct {
	until time.Time // the midnight it ends at
	used  map[string]int
}

// at returns the used budgets of the day of an instant.
func (b *budgets) at(now time.Time) map[string]int {
	if !b.until.Equal(NextMidnight(now)) {
		return nil
	}
	return b.used
}

// take uses a part of the budgets, or returns an error if a cost exceeds the rest.
func (s *World) take(now time.Time, cost map[string]int) error {
	next := budgets{NextMidnight(now), map[string]int{}} // a state may hold the maps before it
	maps.Copy(next.used, s.budgets.at(now))
	for _, kind := range ChangeKinds {
		used, n, most := next.used[kind], cost[kind], s.BudgetOf(kind)
		if n > 0 && used+n > most {
			return &Limited{int(math.Ceil(NextMidnight(now).Sub(now).Seconds())), fmt.Sprintf("The day's limit of %d "+
				"changes of the kind %s is reached: %d are used, and this needs %d.", most, kind, used, n)}
		}
		next.used[kind] += n
	}
	s.budgets = next
	return nil
}

// Limited is a change that must wait: a budget is used up.
type Limited struct {
	Wait    int // seconds
	Message string
}

func (l *Limited) Error() string { return l.Message }
