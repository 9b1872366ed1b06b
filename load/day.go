package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// DayRead is everything that a run learned about one day, except its rows.
type DayRead struct {
	ReadAt schema.Instant // when the proven read started
	manifest.ReadOutcome
	// Names returns the names of campaigns, by ID. If the map lacks a campaign, the campaign's rows keep their stored
	// name. Names is called only if the day's file is written. If Names is nil, no name is known.
	Names func() map[string]string
	// Replayed means that the rows were made from the stored replies. The service was not asked, so the replay does not
	// count as a read, and the stored replies are kept.
	Replayed bool
	// Damaged means that the stored rows cannot be read. The new rows then replace all stored rows, and spend_change
	// gets no rows.
	Damaged bool
}

// StagedDay has the staged files of one proven day, and the day's differences from the stored day.
type StagedDay struct {
	StagedChange
	Changed bool // whether the rows differ from the stored rows
	Diff    history.Diff
	Lost    history.Lacks // for each count: number of stored rows that have the count, while the new read has NULL
}

// Stage stages a proven day. It always stages the day's coverage. It stages the rows if they differ from the stored
// rows, or if the stored rows are damaged. It stages the new replies if it stages the rows, or if the stored replies
// must be replaced. Unchanged rows keep their stored _first_seen_at, _changed_at and _run_id.
func (r *Replies) Stage(ctx context.Context, p DayRead, rows *history.Day) (d StagedDay, err error) {
	d.StagedChange = NewStagedChange()
	account := r.store.Account()
	stored := account.Days[r.day]
	proven := p.proves(stored, rows, r.area.runID)
	isNew := false // whether the new replies replace the stored replies
	switch {
	case stored == nil || stored.ContentHash != proven.ContentHash || p.Damaged:
		d.Changed, isNew = true, !p.Replayed
		var merged history.Merged
		merged, err = r.stageRows(&d.StagedChange, p, stored, rows)
		d.Diff, d.Lost, proven.Lost = merged.Diff, merged.Lost, proven.Lost.After(merged.Lost, merged.Regained)
	default:
		isNew, err = r.mustReplace(p, stored)
	}
	if err != nil {
		return d, err
	}
	for _, path := range account.RawPages(r.day) {
		if isNew {
			d.Files[path] = nil
		}
	}
	maps.Copy(d.Files, r.read)
	d.Days[r.day] = &proven
	return d, ctx.Err()
}

// proves returns the manifest's new entry for the day. If the rows are from a replay, the entry keeps the time and the
// outcome of the last read from the service.
func (p *DayRead) proves(stored *manifest.Day, rows *history.Day, runID string) manifest.Day {
	proven := manifest.Day{FirstReadAt: p.ReadAt}
	if stored != nil {
		proven = *stored
	}
	if !p.Replayed {
		proven.LastReadAt, proven.RunID, proven.ReadOutcome = p.ReadAt, runID, p.ReadOutcome
		proven.Reads++
	}
	proven.Meaning, proven.Sums, proven.ContentHash = p.Meaning, rows.Sums(), rows.Hash()
	return proven
}

// mustReplace reports whether the new replies replace the stored replies although the rows are equal. It returns true
// if a stored reply is lost or damaged, or if older rules decoded the stored replies. It also returns true if the new
// Meaning differs from the stored Meaning, because the stored Meaning must always describe the stored replies. If the
// stored replies are intact and stay, mustReplace discards the new replies.
func (r *Replies) mustReplace(p DayRead, stored *manifest.Day) (bool, error) {
	if account := r.store.Account(); p.Replayed || len(account.RawPages(r.day)) == 0 {
		return false, nil
	} else if account.ByOlderRules(r.day) || !p.Meaning.Equal(stored.Meaning) {
		return true, nil
	}
	err := r.damage()
	if errors.Is(err, durable.ErrDamaged) {
		r.store.opts.Log.Warn("a stored reply is lost or damaged; the replies of its day are stored again",
			"day", r.day.String(), "error", err)
		return true, nil
	}
	return false, errors.Join(err, r.Drop())
}

// stageRows stages the Parquet file of a day. If a day that was over is restated, it also stages new rows of
// spend_change. If the day is not over, it also stages new rows of spend_intraday. It does not hold the stored rows in
// memory.
func (r *Replies) stageRows(to *StagedChange, p DayRead, stored *manifest.Day, rows *history.Day) (history.Merged,
	error) {
	storedRows, area := r.store.StoredDay(r.day), r.area
	if p.Damaged {
		storedRows = func(func([]schema.Spend, error) bool) {}
	}
	var merged history.Merged
	var unread, err error
	merge := func(restate func(schema.SpendChange) bool) {
		merged, unread = rows.Merge(storedRows, history.ReadTime{At: p.ReadAt, RunID: area.runID}, restate)
	}
	if stored != nil && stored.WasOver(r.day) && !p.Damaged {
		err = putLines(area, to, schema.SpendChanges, schema.DateOf(p.ReadAt.Time()), r.day, merge)
	} else {
		merge(nil)
	}
	if err = errors.Join(unread, err); err != nil {
		return merged, err
	}
	rows.Rows().Name(merged.Names)
	if p.Names != nil {
		rows.Rows().Name(p.Names())
	}
	path := manifest.TablePath(schema.SpendDaily.Table, r.store.account, r.day)
	info, err := area.putFile(path, schema.SpendDaily.Table, func(out io.Writer) (int64, error) {
		return parquet.WriteDay(out, rows.Rows())
	})
	if err == nil && info.Rows != rows.Sums().Rows {
		err = fmt.Errorf("%d rows were written of %d: %w", info.Rows, rows.Sums().Rows, durable.ErrDamaged)
	}
	if err != nil {
		return merged, fmt.Errorf("spend %s: %w", r.day, err)
	}
	info.Day, to.Files[path] = r.day, info
	if p.Replayed || !p.ReadAt.Time().Before(r.day.End()) {
		return merged, nil
	}
	grown := slices.Values(schema.IntradayOf(rows.Rows(), p.ReadAt, area.runID))
	return merged, putLines(area, to, schema.SpendIntraday, r.day, r.day, grown)
}

// StoredDay reads the published rows of a day in key order, in batches. A batch is valid only until the next iteration.
// A damaged file is refused before its first row. Nothing follows an error.
func (s *Store) StoredDay(day schema.Date) iter.Seq2[[]schema.Spend, error] {
	return func(yield func([]schema.Spend, error) bool) {
		path := manifest.TablePath(schema.SpendDaily.Table, s.account, day)
		info := s.Account().Files[path]
		if info == nil {
			return
		}
		manifest.Batches(s.opts.disk, s.dir, path, info, schema.SpendDaily)(yield)
	}
}
