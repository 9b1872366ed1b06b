package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"spendsync/cmd/internal/config"
	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
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
func (c *checker) payouts(ctx context.Context, t *job.Trial) {
	if c.Job.Own == nil {
		return
	}
	const name = "payouts"
	const do = "correct what is named: until then a sync keeps the numbers that it has, and ends with exit code 4"
	var campaigns map[string]bool
	if t != nil {
		campaigns = t.CampaignIDs()
	}
	own, err := c.Job.Own(ctx, campaigns)
	if err == nil {
		for _, err = range own.Days(ctx) {
			if err != nil {
				break
			}
		}
		err = errors.Join(err, own.Close())
	}
	if err != nil {
		c.fail(exit.Usage, name, do, "%s", phrase.OneLine(err.Error()))
		return
	}
	for _, f := range own.Failures {
		c.fail(exit.Usage, name, do, "%s", phrase.OneLine(f))
	}
	for _, note := range slices.Sorted(maps.Keys(own.Notes)) {
		c.warn(name, "correct it, or 'spendsync repair accept "+note+"' after a sync", "%s", own.Notes[note])
	}
	var found []string
	if own.Payouts != nil {
		found = append(found, phrase.Count(len(own.Payouts), "line")+" of payouts")
	}
	if own.Rows > 0 {
		found = append(found, fmt.Sprintf("a tracker's export of %s from %s to %s", phrase.Count(int(own.Rows), "row"),
			own.From, own.To))
	}
	if len(found) > 0 {
		c.ok(name, "%s: %s", strings.Join(c.Config.Payouts, ", "), strings.Join(append(found, own.Said...), "; "))
	}
}
