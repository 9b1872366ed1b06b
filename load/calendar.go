package load

import (
	"spendsync/load/duck"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// addCalendar adds the years that the stored days have come to need.
func (n *generation) addCalendar() error {
	s, t := n.g.store, schema.Calendar
	first := n.acc.Since.Year()
	for d := range n.acc.Days {
		first = min(first, d.Year())
	}
	last := schema.DateOf(s.opts.Now()).Year() + 1
	path := manifest.PartPath(t.Table, s.account, 0)
	var have []schema.CalendarDay
	if info := n.acc.Files[path]; info != nil {
		var err error
		if have, err = readPart(n, path, info, t); err != nil {
			return err
		}
	}
	known := map[schema.Date]schema.CalendarDay{}
	for _, d := range have {
		known[d.ReportDate] = d
		first, last = min(first, d.ReportDate.Year()), max(last, d.ReportDate.Year())
	}
	want := schema.CalendarDays(s.account, n.g.runID, first, last)
	if len(want) == len(have) {
		return nil
	}
	for i, d := range want {
		if k, ok := known[d.ReportDate]; ok {
			want[i] = k
		}
	}
	info, err := n.g.putPart(path, t.Table, parquet.Record(t, want))
	if err != nil {
		return err
	}
	n.putFile(path, info)
	n.loads = append(n.loads, duck.ReplacePartition{
		Table: t.Table, Where: "account_id = " + schema.QuoteText(s.account), Files: []string{n.g.staged(path)},
	})
	return nil
}
