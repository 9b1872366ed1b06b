package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// Staged is what one run has built aside and not yet published. Its methods may
// be called from several goroutines, for different days.
type Staged struct {
	store *Store
	area  *Area

	// Settings are the settings and the account; without them, the report is published alone.
	Settings Part
	Pinned   string // the account that the key acts on; empty: unchanged

	mu      sync.Mutex
	days    map[schema.Date]*stagedDay
	tracker Part // the days of the operator's tracker that differ from the stored ones
	// trackerChanges are the days of seeing of the differences between these days and the stored ones, by private file.
	trackerChanges []schema.Date

	// committing is set before the commit record may have reached its place: from
	// then on the staged files may belong to the published generation, and only
	// rolling forward may touch them.
	committing bool
}

// Part is a part of what a run publishes. Its new files are in the staging area.
type Part struct {
	manifest.Change
	learned map[string]schema.Date // campaigns whose past became known, with its first day
}

// NewPart returns a part that changes nothing.
func NewPart() Part {
	return Part{manifest.NewChange(), map[string]schema.Date{}}
}

// stagedDay is one day on its way: its raw pages come first, page by page, and the day itself once it is
// proven.
type stagedDay struct {
	raw           map[string]*manifest.File // by published path
	unchanged     map[string]bool           // the raw files that stay published unchanged
	part          *manifest.File            // the Parquet file; nil keeps the stored one
	replacesRaw   bool                      // the stored replies go, or those that were read take their places
	isSmallChange bool                      // few rows differ from the stored ones
	stale         string                    // the private file with the keys of the stored rows to delete; empty: none
	proven        *manifest.Day             // as it will be published; nil: the day is not

	changes  *stagedChanges    // nil: there are none
	intraday []schema.Intraday // the spend of each campaign so far, if the day is not over and has grown
}

// stagedChanges are the restatements of a day, in a private file.
type stagedChanges struct {
	seen schema.Date
	rows int64
}

// DayRead is everything that a run learned about one day, except its rows.
type DayRead struct {
	Day    schema.Date
	ReadAt schema.Instant // when the proven read started
	manifest.Facts
	// Replayed marks a day made again from its stored replies: nothing was asked
	// of the service, so it counts as no read, and the replies stay.
	Replayed bool
	// Damaged reports that the stored rows cannot be read: the new ones replace them all, and none counts as a
	// restatement.
	Damaged bool
}

// DayPut describes a staged day.
type DayPut struct {
	Changed bool // its content differs from the stored file
	Diff    history.Diff
}

// Begin opens a staging area of the run's own.
func (s *Store) Begin(runID string) (*Staged, error) {
	area, err := newArea(s.opts.disk, filepath.Join(s.dir, "staging", s.account+"."+runID), runID)
	if err != nil {
		return nil, err
	}
	return &Staged{store: s, area: area, days: map[schema.Date]*stagedDay{}, Settings: NewPart(), tracker: NewPart()},
		nil
}

func (g *Staged) day(d schema.Date) *stagedDay {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.days[d] == nil {
		g.days[d] = &stagedDay{raw: map[string]*manifest.File{}, unchanged: map[string]bool{}}
	}
	return g.days[d]
}

// PutDay stages all rows of a proven day, or only its coverage if its content is unchanged. rows is nil if the replies
// are the stored ones. A day whose rows differ is merged with the stored one, whose stamps its rows keep.
func (g *Staged) PutDay(ctx context.Context, p DayRead, rows *history.Day) (put DayPut, err error) {
	day, known := g.day(p.Day), g.store.Account().Days[p.Day]
	if rows == nil && known == nil {
		return put, fmt.Errorf("spend %s: nothing is stored of it that could be as it was read", p.Day)
	}
	proven := manifest.Day{FirstReadAt: p.ReadAt}
	if known != nil {
		proven = *known
	}
	if !p.Replayed {
		proven.LastReadAt, proven.RunID, proven.Facts = p.ReadAt, g.area.runID, p.Facts
		proven.Reads++
	}
	if proven.Meaning = p.Meaning; rows != nil {
		proven.Sums, proven.ContentHash = rows.Sums(), rows.Hash()
	}
	switch {
	case rows == nil: // the stored replies stay, and so does their meaning
		proven.Meaning = known.Meaning
	case known != nil && known.ContentHash == proven.ContentHash && !p.Damaged:
		if len(p.Kept) > 0 { // the stored replies have more
			proven.Meaning = known.Meaning
			err = g.DropRaw(p.Day)
			break
		}
		err = g.keepDay(day, p, known)
	default:
		put.Changed, day.replacesRaw = true, !p.Replayed
		put.Diff, err = g.replaceDay(day, p, known, rows)
		if !p.Replayed && p.ReadAt.Time().Before(p.Day.End()) {
			day.intraday = schema.IntradayOf(rows.Rows(), p.ReadAt, g.area.runID)
		}
	}
	if err != nil {
		return put, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	day.proven = &proven
	return put, ctx.Err()
}

// keepDay leaves the rows of a stored day unchanged. The stored replies give the same rows; new ones take their place
// only if there are none, if they are lost, damaged or were read by older rules, or if they mean something else: what
// replies mean is stored with them.
func (g *Staged) keepDay(day *stagedDay, p DayRead, known *manifest.Day) error {
	if p.Replayed || len(g.store.Account().RawPages(p.Day)) == 0 {
		return nil
	}
	if g.store.Account().ByOlderRules(p.Day) || !p.Meaning.Equal(known.Meaning) {
		day.replacesRaw = true
		return nil
	}
	err := g.store.rawDamage(p.Day)
	if errors.Is(err, durable.ErrDamaged) {
		g.store.opts.Log.Warn("a stored reply is lost or damaged; the replies of its day are stored again",
			"day", p.Day.String(), "error", err)
		day.replacesRaw = true
		return nil
	}
	return errors.Join(err, g.DropRaw(p.Day))
}

// replaceDay stages the rows of a day that differ from the stored ones, with the differences. A run holds
// the rows of the days that it is reading, not of those that it has read.
func (g *Staged) replaceDay(day *stagedDay, p DayRead, known *manifest.Day, rows *history.Day) (history.Diff, error) {
	stored := g.store.StoredDay(p.Day)
	if p.Damaged {
		stored = func(func([]schema.Spend, error) bool) {}
	}
	merged, err := rows.Merge(stored, history.ReadTime{
		At: p.ReadAt, RunID: g.area.runID, WasOver: known != nil && known.WasOver(p.Day) && !p.Damaged,
	})
	if err != nil {
		return merged.Diff, err
	}
	path := manifest.PartPath(schema.SpendDaily.Table, g.store.account, p.Day)
	info, err := g.area.putFile(path, schema.SpendDaily.Table, func(out io.Writer) (int64, error) {
		return parquet.WriteDay(out, rows.Rows())
	})
	if err != nil {
		return merged.Diff, fmt.Errorf("spend %s: %w", p.Day, err)
	}
	if n := rows.Sums().Rows; info.Rows != n {
		return merged.Diff, fmt.Errorf("spend %s: %d rows were written of %d: %w", p.Day, info.Rows, n,
			durable.ErrDamaged)
	}
	info.Day, day.part = p.Day, info
	if err := g.putStale(day, p.Day, merged.Stale); err != nil {
		return merged.Diff, fmt.Errorf("spend %s: %w", p.Day, err)
	}
	if err := g.putChanges(day, p.Day, merged.Changes); err != nil {
		return merged.Diff, fmt.Errorf("restatements of %s: %w", p.Day, err)
	}
	return merged.Diff, nil
}

// putStale records in a private file which stored rows to delete; the new rows of this run replace them. It is nil if
// all stored rows are deleted.
func (g *Staged) putStale(day *stagedDay, d schema.Date, stale []schema.Spend) error {
	if day.isSmallChange = stale != nil; len(stale) == 0 {
		return nil
	}
	path := "stale/" + d.String()
	day.stale = g.area.path(path)
	_, err := g.area.putPrivate(path, schema.SpendDaily.Table, parquet.Record(schema.SpendDaily, stale))
	return err
}

// Discard removes the staging area, unless a commit has started: its files are then needed to finish it.
func (g *Staged) Discard() error {
	g.area.close()
	if g.committing {
		return nil
	}
	return g.store.opts.disk.RemoveTree(g.area.dir)
}

// putChanges stages the restatements of a day in a private file until all days are there: a run holds those
// of the days that it is reading.
func (g *Staged) putChanges(day *stagedDay, d schema.Date, changes *history.Changes) error {
	day.changes = nil
	if changes.Len() == 0 {
		return nil
	}
	rows, err := g.area.putPrivate(changesPath(d), schema.SpendChanges.Table, parquet.ChangeRecords(changes.All()))
	if err == nil {
		day.changes = &stagedChanges{seen: schema.DateOf(changes.At().Time()), rows: rows}
	}
	return err
}

func changesPath(d schema.Date) string { return "changes/" + d.String() }

// restatements returns how many lines the proven days bring.
func (g *Staged) restatements() int {
	n := 0
	for _, day := range g.days {
		if day.proven != nil && day.changes != nil {
			n += int(day.changes.rows)
		}
	}
	return n
}

// PutSettled stages which campaigns are archived and were read, and which of them were not fully understood,
// with the version of spendsync that read them.
func (p *Part) PutSettled(campaigns []string, unclear map[string]string) {
	sorted := append([]string{}, slices.Sorted(slices.Values(campaigns))...) // none is not unchanged
	p.Settled, p.SettledUnclear = slices.Compact(sorted), unclear
}
