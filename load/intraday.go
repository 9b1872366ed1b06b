package load

import (
	"fmt"
	"maps"
	"slices"

	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// addIntraday adds to the files of open days what each campaign had spent by the read of
// this run. Lines are only ever added.
func (c *contribution) addIntraday() error {
	s, t := c.g.store, schema.SpendIntraday
	for _, d := range slices.Sorted(maps.Keys(c.g.days)) {
		day := c.g.days[d]
		if day.proven == nil || len(day.intraday) == 0 {
			continue
		}
		path := manifest.PartPath(t.Table, s.account, d)
		var lines []schema.Intraday
		if old := c.base.Files[path]; old != nil {
			var err error
			if lines, err = manifest.Rows(s.opts.disk, s.dir, path, old, t); err != nil {
				return err
			}
		}
		// A run puts a day once, so a line of the same instant or later is from another run.
		if last := len(lines) - 1; last >= 0 && lines[last].SeenAt >= day.intraday[0].SeenAt {
			s.opts.Log.Warn("the clock went back: how an open day grew is not kept of this read", "day", d.String())
			continue
		}
		info, err := c.g.area.putPart(path, t.Table, parquet.Record(t, append(lines, day.intraday...)))
		if err != nil {
			return fmt.Errorf("%s %s: %w", t.FullName(), d, err)
		}
		info.Day = d
		c.put(path, info)
	}
	return nil
}
