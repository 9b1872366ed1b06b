package check

import (
	"github.com/KimMachineGun/automemlimit/memlimit"

	"spendsync/cmd/spendsync/config"
	"spendsync/cmd/spendsync/exit"
	"spendsync/cmd/spendsync/phrase"
	"spendsync/schema"
)

// timeZone looks whether Chicago's zone data knows its daylight saving.
func (c *checker) timeZone() {
	winter, summer := schema.NewDate(2026, 1, 15).Start(), schema.NewDate(2026, 7, 15).Start()
	_, w := winter.Zone()
	_, s := summer.Zone()
	if w != -6*60*60 || s != -5*60*60 {
		c.fail(exit.Usage, "time zone", "use a binary that was built with its zone data",
			"in Chicago it is UTC%+d in January and UTC%+d in July", w/3600, s/3600)
		return
	}
	c.ok("time zone", "today in Chicago is %s", schema.DateOf(c.at))
}

// memory looks at the memory limit of the cgroup, from which DuckDB's follows.
func (c *checker) memory() {
	const name = "memory"
	limit, err := memlimit.FromCgroup()
	switch {
	case err != nil || limit == 0:
		c.ok(name, "no limit; DuckDB takes up to half of the machine's memory unless %sDUCKDB_MEMORY says less",
			config.Prefix)
	case limit < LittleMemory:
		c.warn(name, "give the container 1 GiB or more", "the limit is %s, DuckDB gets half of it", phrase.Bytes(limit))
	default:
		c.ok(name, "the limit is %s, DuckDB gets half of it unless %sDUCKDB_MEMORY says otherwise", phrase.Bytes(limit),
			config.Prefix)
	}
}
