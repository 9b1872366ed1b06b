package remote

import (
	"time"

	"spendsync/schema"
)

// keepAll is how long every generation stays readable, and keepDaily how many days one a day does.
const (
	keepAll   = 24 * time.Hour
	keepDaily = 7
)

// retain chooses which generations stay readable, the newest first: the newest and the one before it,
// those of the last day, and the last of each of the seven days before. Their age is that against
// the newest, so a store that publishes nothing loses nothing, and the clock of the push does not count.
func retain(all []Entry) (kept []Entry) {
	days := map[schema.Date]bool{}
	for i, e := range all {
		age := all[0].PublishedAt.Time().Sub(e.PublishedAt.Time()).Abs()
		day := schema.DateOf(e.PublishedAt.Time())
		if i < 2 || age < keepAll || age < (keepDaily+1)*keepAll && !days[day] {
			kept = append(kept, e)
			days[day] = true
		}
	}
	return kept
}
