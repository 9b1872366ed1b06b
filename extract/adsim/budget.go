package adsim

import (
	"fmt"
	"maps"
	"math"
	"time"
)

// The kinds of change that have a budget of the day. The description names none.
const (
	campaignCreate = "campaign_create"
	campaignUpdate = "campaign_update"
	creativeCreate = "creative_create"
	creativeUpdate = "creative_update"
	sourceUpdate   = "source_update"
	imageUpload    = "image_upload"
)

var changeKinds = []string{campaignCreate, campaignUpdate, creativeCreate, creativeUpdate, sourceUpdate, imageUpload}

// usualBudgets is how many changes of a kind may be made between 00:00 UTC and
// 00:00 UTC. A source, a creative and an image count each.
var usualBudgets = map[string]int{
	campaignCreate: 50, campaignUpdate: 500, creativeCreate: 200, creativeUpdate: 500, sourceUpdate: 1000,
	imageUpload: 200,
}

// nextMidnight is the next 00:00 UTC.
func nextMidnight(now time.Time) time.Time {
	y, m, d := now.UTC().Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
}

// budgets is what was used of a day's budgets. Once it is in a state it is never
// changed.
type budgets struct {
	until time.Time // the midnight it ends at
	used  map[string]int
}

// at is what is used at an instant; nothing on another day.
func (b *budgets) at(now time.Time) map[string]int {
	if b == nil || !b.until.Equal(nextMidnight(now)) {
		return nil
	}
	return b.used
}

// with is b with some more used.
func (b *budgets) with(now time.Time, cost map[string]int) *budgets {
	next := &budgets{until: nextMidnight(now), used: map[string]int{}}
	maps.Copy(next.used, b.at(now))
	for kind, n := range cost {
		next.used[kind] += n
	}
	return next
}

// over reports whether a cost is more than what is left of the day.
func (b *budgets) over(a *access, now time.Time, cost map[string]int) error {
	used := b.at(now)
	for _, kind := range changeKinds {
		if n := cost[kind]; n > 0 && used[kind]+n > a.budgetOf(kind) {
			wait := int(math.Ceil(nextMidnight(now).Sub(now).Seconds()))
			return &limited{wait, fmt.Sprintf("The day's limit of %d changes of the kind %s is reached: %d are used, and "+
				"this needs %d.", a.budgetOf(kind), kind, used[kind], n)}
		}
	}
	return nil
}

// limited is a change that must wait: a budget is used up, or another change is in progress.
type limited struct {
	wait    int // seconds
	message string
}

func (l *limited) Error() string { return l.message }
