package remote

import (
	"time"

	"spendsync/schema"
)

// All generations younger than keepAll stay readable. Of the older generations, the last one of each day stays readable
// for keepDaily days.
const (
	keepAll   = 24 * time.Hour
	keepDaily = 7
)

// retain returns the generations that stay readable: the newest two, all generations of the last day, and the last
// generation of each of the seven days before. The given list must be sorted, newest first. Ages are relative to the
// newest generation, so a store that stops publishing loses nothing, and the clock of the pushing machine does not
// matter.
func retain(all []Entry) (readable []Entry) {
	days := map[schema.Date]bool{}
	for i, e := range all {
		age := all[0].PublishedAt.Time().Sub(e.PublishedAt.Time()).Abs()
		day := schema.DateOf(e.PublishedAt.Time())
		if i < 2 || age < keepAll || age < (keepDaily+1)*keepAll && !days[day] {
			readable = append(readable, e)
			days[day] = true
		}
	}
	return readable
}
