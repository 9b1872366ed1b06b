package check

import (
	"fmt"
	"strings"

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

// payouts reads the operator's own files as a run does; the run would continue without them.
func (c *checker) payouts() {
	if len(c.Config.Payouts) == 0 {
		return
	}
	const name = "payouts"
	lines, export, err := payouts.Read(c.Config.Payouts, c.Config.Tracker)
	if err != nil {
		c.fail(exit.Usage, name, "correct what is named: until then a sync keeps the numbers that it has, and ends "+
			"with exit code 4", "%s", phrase.OneLine(err.Error()))
		return
	}
	var found []string
	if lines != nil {
		found = append(found, phrase.Count(len(lines), "line")+" of payouts")
	}
	if n := len(export); n > 0 {
		found = append(found, fmt.Sprintf("a tracker's export of %s from %s to %s", phrase.Count(n, "row"),
			export[0].ReportDate, export[n-1].ReportDate))
	} else if export != nil {
		found = append(found, "a tracker's export without a row")
	}
	c.ok(name, "%s: %s", strings.Join(c.Config.Payouts, ", "), strings.Join(found, ", "))
}
