package load

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// StoredTracker returns the stored tracker rows of a day, in key order. If the file is damaged, it returns no rows,
// because the new export replaces the file.
func StoredTracker(s *Store, day schema.Date) (rows []schema.TrackerDay, err error) {
	t := schema.TrackerDaily
	path := manifest.TablePath(t.Table, s.account, day)
	info := s.Account().Files[path]
	if info == nil {
		return nil, nil
	}
	rows, err = manifest.Rows(s.opts.disk, s.dir, path, info, t)
	if errors.Is(err, durable.ErrDamaged) {
		s.opts.Log.Warn("a stored day of the tracker is damaged; the export replaces it", "day", day.String(),
			"error", err)
		return nil, nil
	}
	return rows, err
}

// TrackerFile is the export from which the rows of a day were read.
type TrackerFile struct {
	Name   string // file name of the export, without its folder
	ReadAt schema.Instant
}

// PutTracker stages the rows of a day from a tracker's export, and rows of tracker_change for the differences from the
// stored rows. It reports whether there are differences. Both slices of rows must be in key order. Unchanged rows keep
// their run ID. The first export of a day adds nothing to tracker_change.
func PutTracker(s *Store, a *Area, to *StagedChange, day schema.Date, stored, rows []schema.TrackerDay,
	from TrackerFile) (bool, error) {
	t := schema.TrackerDaily
	var changes []schema.TrackerChange
	addChange := func(old, row *schema.TrackerDay, op string) {
		line := trackerChange(cmp.Or(old, &schema.TrackerDay{}), cmp.Or(row, &schema.TrackerDay{}), op, from)
		line.AccountID, line.RunID = s.account, a.runID
		changes = append(changes, line)
	}
	storedLeft := stored
	for i := range rows {
		r := &rows[i]
		r.AccountID, r.RunID = s.account, a.runID
		for len(storedLeft) > 0 && compareTrackerKeys(&storedLeft[0], r) < 0 {
			addChange(&storedLeft[0], nil, schema.OpDelete)
			storedLeft = storedLeft[1:]
		}
		if len(storedLeft) == 0 || compareTrackerKeys(&storedLeft[0], r) > 0 {
			addChange(nil, r, schema.OpInsert)
			continue
		}
		asStored := *r
		if asStored.RunID = storedLeft[0].RunID; asStored == storedLeft[0] {
			*r = asStored
		} else {
			addChange(&storedLeft[0], r, schema.OpUpdate)
		}
		storedLeft = storedLeft[1:]
	}
	for i := range storedLeft {
		addChange(&storedLeft[i], nil, schema.OpDelete)
	}
	if len(changes) == 0 {
		return false, nil
	}
	path := manifest.TablePath(t.Table, s.account, day)
	info, err := a.putRecords(path, t.Table, parquet.Record(t, rows))
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", t.FullName(), day, err)
	}
	info.Day, to.Files[path] = day, info
	if len(stored) == 0 {
		return true, nil
	}
	return true, putLines(a, to, schema.TrackerChanges, schema.DateOf(from.ReadAt.Time()), day, slices.Values(changes))
}

func compareTrackerKeys(a, b *schema.TrackerDay) int {
	return cmp.Or(cmp.Compare(a.CampaignID, b.CampaignID), cmp.Compare(a.SourceID, b.SourceID))
}

// trackerChange returns the row of tracker_change for a difference. If the row was inserted, the old one is empty. If
// it was deleted, the new one is empty.
func trackerChange(old, row *schema.TrackerDay, op string, from TrackerFile) schema.TrackerChange {
	return schema.TrackerChange{ReportDate: max(old.ReportDate, row.ReportDate),
		CampaignID: cmp.Or(row.CampaignID, old.CampaignID), SourceID: cmp.Or(row.SourceID, old.SourceID),
		SeenAt: from.ReadAt, Op: op, File: from.Name,
		OldClicks: old.Clicks, NewClicks: row.Clicks, OldConversions: old.Conversions, NewConversions: row.Conversions,
		OldApproved: old.Approved, NewApproved: row.Approved, OldHeld: old.Held, NewHeld: row.Held,
		OldRefused: old.Refused, NewRefused: row.Refused, OldRevenue: old.Revenue, NewRevenue: row.Revenue}
}
