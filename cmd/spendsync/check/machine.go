package check

import (
	"github.com/KimMachineGun/automemlimit/memlimit"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/payouts"
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

// payouts reads the operator's file of payouts as a run does; the run would continue without it.
func (c *checker) payouts() {
	if c.Config.Payouts == "" {
		return
	}
	const name = "payouts"
	rows, err := payouts.Read(c.Config.Payouts)
	if err != nil {
		c.fail(exit.Usage, name, "correct what is named: until then a sync keeps the payouts that it has, and ends "+
			"with exit code 4", "%s", phrase.OneLine(err.Error()))
		return
	}
	c.ok(name, "%s: %s", c.Config.Payouts, phrase.Count(len(rows), "line"))
}
