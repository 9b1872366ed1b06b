package load

import (
	"errors"
	"slices"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// addCalendar adds calendar years for newly stored days.
func (n *generation) addCalendar() error {
	s, t, account := n.store, schema.Calendar, n.next.Accounts[n.store.account]
	first := account.Since.Year()
	for d := range account.Days {
		first = min(first, d.Year())
	}
	last := schema.DateOf(s.opts.Now()).Year() + 1
	path := manifest.TablePath(t.Table, s.account, 0)
	var stored []schema.CalendarDay
	if info := account.Files[path]; info != nil {
		var err error
		stored, err = manifest.Rows(s.opts.disk, s.dir, path, info, t)
		if errors.Is(err, durable.ErrDamaged) {
			s.opts.Log.Warn("the calendar is damaged and made again", "error", err)
		} else if err != nil {
			return err
		}
	}
	storedDay := map[schema.Date]schema.CalendarDay{}
	for _, d := range stored {
		storedDay[d.ReportDate] = d
		first, last = min(first, d.ReportDate.Year()), max(last, d.ReportDate.Year())
	}
	want := schema.CalendarDays(s.account, n.area.runID, first, last)
	for i, d := range want {
		if k, ok := storedDay[d.ReportDate]; ok {
			want[i] = k
		}
	}
	if slices.Equal(want, stored) {
		return nil
	}
	info, err := n.area.putRecords(path, t.Table, parquet.Record(t, want))
	if err != nil {
		return err
	}
	n.files.enter(account.Files, path, info)
	return nil
}
