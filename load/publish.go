package load

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"spendsync/load/duck"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// Outlook is what a run will have published, told before it is: it decides how
// the run ends and what its line in the ledger says.
type Outlook struct {
	Generation int64
	Coverage   []schema.DayCoverage // of this account, as of now
	// NewlyLost are days that can never be known in full, and that no run has
	// reported before this one.
	NewlyLost []schema.Date
	// Troubles are views and marts that could not be made: what is stored is whole
	// without them.
	Troubles []error
	// Restored are damaged files that a [Publication] with Fresh brings back.
	Restored []string
	// Restatements is how many lines spend_change gains.
	Restatements int
}

// Publication is what goes into a generation beside the staged days.
type Publication struct {
	Since    schema.Date                // first day that could be asked for, for an account's first generation
	Unknown  []schema.UnknownField      // seen by this run; known ones are left as they are
	Steps    []schema.Step              //
	Entities []schema.EntityRead        //
	Refused  []schema.RefusedRow        // rows of the report that could not be stored
	Run      func(o Outlook) schema.Run // the run's line, once the outcome is clear
	Fresh    bool                       // build the DuckDB file from nothing, and bring back what is damaged
}

// Publish makes what is staged the next generation, all or none. It returns
// [ErrLocked] if other accounts' runs hold the store for longer than the wait.
// After an error the old generation stands, or, if the commit had begun, the new
// one will as soon as the store is opened again.
func (g *Staged) Publish(ctx context.Context, p Publication) (*Manifest, error) {
	s := g.store
	unlock, err := s.lockStore(ctx)
	if err != nil {
		return nil, err
	}
	m, err := g.publish(ctx, p)
	if err != nil && g.committing {
		err = fmt.Errorf("its commit had begun, and the next start ends it: %w", err)
	}
	if unlockErr := unlock(); unlockErr != nil {
		// What is published is published; the lock dies with the process.
		s.opts.Log.Warn("the store's lock could not be given back", "error", unlockErr)
	}
	if err != nil {
		return nil, err
	}
	s.base = m
	return m, nil
}

func (g *Staged) publish(ctx context.Context, p Publication) (*Manifest, error) {
	s := g.store
	// Somebody who died while he published left his commit to the next.
	if err := rollForward(s.dir, s.opts); err != nil {
		return nil, err
	}
	n, err := g.newGeneration(p)
	if err != nil {
		return nil, err
	}
	if p.Fresh {
		if err := n.restore(ctx); err != nil {
			return nil, err
		}
	}
	n.addDays()
	if err := n.addChanges(); err != nil {
		return nil, err
	}
	if err := n.addIntraday(); err != nil {
		return nil, err
	}
	if err := n.addCalendar(); err != nil {
		return nil, err
	}
	if err := n.addTables(); err != nil {
		return nil, err
	}
	n.addUnknown(p.Unknown)
	if err := n.addWarehouse(ctx, p); err != nil {
		return nil, err
	}
	if err := n.commit(ctx); err != nil {
		return nil, err
	}
	return n.next, nil
}

// addDays takes in the proven days. What was staged of unproven ones is left
// behind with the staging area.
func (n *generation) addDays() {
	account := n.g.store.account
	whole := map[schema.Date]bool{}
	all := duck.Replace{Table: schema.SpendDaily.Table}
	some := duck.Patch{Table: schema.SpendDaily.Table, Only: n.g.ownRows()}
	for _, d := range slices.Sorted(maps.Keys(n.g.days)) {
		day := n.g.days[d]
		p := day.proven
		if p == nil {
			continue
		}
		known := n.acc.Days[d]
		if known == nil {
			known = &Day{FirstReadAt: p.ReadAt}
			n.acc.Days[d] = known
		}
		stored := known.Sums.Rows
		known.ContentHash, known.Sums, known.Rounded, known.Refused = p.hash, p.sums, p.Rounded, p.Refused
		if !p.Replayed {
			known.LastReadAt, known.RunID = p.ReadAt, n.g.runID
			known.Control, known.ControlTotal = p.Control, p.ControlTotal
			known.Reads++
		}
		if day.part != nil {
			path := partPath(schema.SpendDaily.Table, account, d)
			n.put(path, day.part)
			n.changed[d] = true
			if day.few {
				some.Files = append(some.Files, n.g.staged(path))
				if day.stale != "" {
					some.Stale = append(some.Stale, day.stale)
				}
			} else {
				whole[d], all.Files = true, append(all.Files, n.g.staged(path))
				n.dead += stored
			}
		}
		if day.part != nil && !p.Replayed {
			// The old replies stand behind the old content: they go with it.
			for _, old := range n.acc.RawPages(d) {
				delete(n.acc.Files, old)
				if day.raw[old] == nil {
					n.removes = append(n.removes, old)
				}
			}
		}
		for _, path := range slices.Sorted(maps.Keys(day.raw)) {
			if n.acc.Files[path] = day.raw[path]; !day.stays[path] {
				n.moveStaged(path)
			}
		}
	}
	if len(whole) > 0 {
		all.Where = duck.DaysSQL(account, "report_date", whole)
		n.loads = append(n.loads, all)
	}
	if len(some.Files) > 0 {
		n.loads = append(n.loads, some)
	}
	if len(n.changed) > 0 {
		n.loads = append(n.loads, duck.CampaignSums(duck.DaysSQL(account, "report_date", n.changed)))
	}
}

// addCalendar adds the years that the stored days have come to need.
func (n *generation) addCalendar() error {
	s, t := n.g.store, schema.Calendar
	first := n.acc.Since.Year()
	for d := range n.acc.Days {
		first = min(first, d.Year())
	}
	last := schema.DateOf(s.opts.Now()).Year() + 1
	path := partPath(t.Table, s.account, 0)
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
	n.put(path, info)
	n.loads = append(n.loads, duck.Replace{Table: t.Table, Where: "account_id = " + schema.QuoteText(s.account),
		Files: []string{n.g.staged(path)}})
	return nil
}

// addUnknown records each unknown key once.
func (n *generation) addUnknown(seen []schema.UnknownField) {
	for _, u := range seen {
		if !slices.ContainsFunc(n.acc.Unknown, func(k schema.UnknownField) bool {
			return k.Stream == u.Stream &&
				k.Path == u.Path
		}) {
			n.acc.Unknown = append(n.acc.Unknown, u)
		}
	}
}

// addLedger writes the run and its steps. The ledger file is replaced by a longer
// one with the generation, so that it never speaks of what was not published.
func (n *generation) addLedger(p Publication, troubles []error) error {
	s := n.g.store
	now := s.opts.Now()
	if err := n.addReportedLost(); err != nil {
		return err
	}
	o := Outlook{
		Generation: n.next.Generation, Coverage: n.acc.Coverage(s.account, now),
		NewlyLost: n.acc.newlyLost(s.account, now), Restatements: n.g.restatements(), Troubles: troubles,
		Restored: n.restored,
	}
	run := p.Run(o)
	lines, err := encodeLedger(ledgerRows{runs: []schema.Run{run}, steps: p.Steps, entities: p.Entities,
		refused: p.Refused})
	if err != nil {
		return err
	}
	path := ledgerPath(s.account, now)
	dir, rel := n.whereIs(path)
	old, err := readLedger(s.opts.disk, dir, rel)
	if err != nil {
		return err
	}
	if _, _, err := n.g.store.opts.disk.WriteFile(n.g.staged(path), slices.Concat(old, lines)); err != nil {
		return err
	}
	n.moveStaged(path)
	return nil
}

// addReportedLost takes in which lost days have been reported by a run that ended since.
func (n *generation) addReportedLost() error {
	paths, err := n.ownLedgers(slices.Collect(maps.Keys(n.acc.Ledger)))
	if err != nil {
		return err
	}
	for _, path := range paths {
		dir, rel := n.whereIs(path)
		b, err := readLedger(n.g.store.opts.disk, dir, rel)
		if err != nil {
			return err
		}
		rows, err := decodeLedger(path, b[min(int64(len(b)), n.acc.Ledger[path]):])
		if err != nil {
			return err
		}
		for _, lost := range rows.lost {
			for _, d := range lost.Days {
				if !slices.Contains(n.acc.ReportedLost, d) {
					n.acc.ReportedLost = append(n.acc.ReportedLost, d)
				}
			}
		}
	}
	return nil
}

// commit makes the generation durable and published.
func (n *generation) commit(ctx context.Context) error {
	b, err := n.next.encode()
	if err != nil {
		return err
	}
	if _, _, err := n.g.store.opts.disk.WriteFile(n.g.staged(manifestName), b); err != nil {
		return err
	}
	n.moveStaged(manifestName)
	// The last moment to stop: after this the run is published.
	if err := ctx.Err(); err != nil {
		return err
	}
	staging, err := filepath.Rel(n.g.store.dir, n.g.dir)
	if err != nil {
		return err
	}
	r := commitRecord{RunID: n.g.runID, Generation: n.next.Generation, Staging: staging, Moves: n.moves,
		Removes: n.removes}
	if n.base != nil {
		r.Base = n.base.Generation
	}
	return n.g.commit(r)
}
