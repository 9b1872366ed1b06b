package world

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// CheckBudget returns an error if the kind of change is unknown, or n is not a valid daily budget
// of it.
func CheckBudget(kind string, n int) error {
	switch {
	case !slices.Contains(ChangeKinds, kind):
		return fmt.Errorf("budget: there is no kind of change %q; there are %v", kind, ChangeKinds)
	case n < 0:
		return fmt.Errorf("budget: %d %s is negative", n, kind)
	}
	return nil
}

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

// budgets is the used part of a day's budgets. Once it is in a state it is immutable.
type budgets struct {
	until time.Time // the midnight it ends at
	used  map[string]int
}

// at returns the used budgets of the day of an instant.
func (b *budgets) at(now time.Time) map[string]int {
	if b == nil || !b.until.Equal(NextMidnight(now)) {
		return nil
	}
	return b.used
}

// with is b with some more used.
func (b *budgets) with(now time.Time, cost map[string]int) *budgets {
	next := &budgets{until: NextMidnight(now), used: map[string]int{}}
	maps.Copy(next.used, b.at(now))
	for kind, n := range cost {
		next.used[kind] += n
	}
	return next
}

// over reports whether a cost exceeds the rest of the budget.
func (b *budgets) over(a *World, now time.Time, cost map[string]int) error {
	used := b.at(now)
	for _, kind := range ChangeKinds {
		if n := cost[kind]; n > 0 && used[kind]+n > a.BudgetOf(kind) {
			wait := int(math.Ceil(NextMidnight(now).Sub(now).Seconds()))
			return &Limited{
				wait,
				fmt.Sprintf("The day's limit of %d changes of the kind %s is reached: %d are used, and "+
					"this needs %d.", a.BudgetOf(kind), kind, used[kind], n),
			}
		}
	}
	return nil
}

// Limited is a change that must wait: a budget is used up.
type Limited struct {
	Wait    int // seconds
	Message string
}

func (l *Limited) Error() string { return l.Message }
