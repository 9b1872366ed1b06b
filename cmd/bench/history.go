package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// history reads three days of perDay rows each into an empty warehouse and into one
// that holds a long history, in turns.
func (b *bench) history(ctx context.Context, perDay int) error {
	o := b.options
	s, err := startService(ctx, b.bin, reportOf(perDay*days, o))
	if err != nil {
		return err
	}
	defer s.stop()
	kept := filepath.Join(o.dir, "history")
	b.say("storing %d days of %d rows before the report's reach", o.history/perDay, perDay)
	// In a separate process: the peak memory of this one would count for each of its
	// children.
	child := b.child(ctx, "history", kept, strconv.Itoa(o.history/perDay), strconv.Itoa(perDay))
	if _, _, err := measure(child); err != nil {
		return err
	}
	today := schema.DateOf(time.Now())
	backfill := func(store string, from, to schema.Date) *exec.Cmd {
		return s.spendsync(ctx, b.bin.forLoads(o), store, "backfill", "--from", from.String(), "--to", to.String())
	}
	// The first run of the binary creates the views and all months of the flat tables.
	if _, err := measureBackfill(backfill(kept, today-10, today-10)); err != nil {
		return err
	}
	var results table
	for turn := range o.runs {
		b.say("history: turn %d of %d", turn+1, o.runs)
		for _, name := range []string{intoEmpty, intoHistory} {
			store := filepath.Join(o.dir, "store")
			if err := os.RemoveAll(store); err != nil {
				return err
			}
			if name == intoHistory {
				if err := os.CopyFS(store, os.DirFS(kept)); err != nil {
					return err
				}
			}
			m, err := measureBackfill(backfill(store, today-3, today-1))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			results.add(name, m)
		}
	}
	title := "three days of %d rows, %d rows of history, %d turns"
	results.print(b.stdout, fmt.Sprintf(title, perDay, o.history/perDay*perDay, o.runs))
	printResults(b.stdout, results.results())
	return nil
}

// daysAtRisk is the exit code of a run that published everything planned and warns of
// unread days: here, all days in reach but those of the backfill.
const daysAtRisk = 11

// measureBackfill counts that as success.
func measureBackfill(cmd *exec.Cmd) (measurement, error) {
	m, _, err := measure(cmd)
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() == daysAtRisk {
		return m, nil
	}
	return m, err
}

// runHistory calls makeHistory with a child's arguments.
func runHistory(dir, n, perDay string) error {
	count, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	rows, err := strconv.Atoi(perDay)
	if err != nil {
		return err
	}
	return makeHistory(context.Background(), dir, count, rows)
}

// makeHistory stores days before the report's reach, with the product's own loader.
func makeHistory(ctx context.Context, dir string, n, perDay int) error {
	first := schema.DateOf(time.Now()) - schema.ReachDays - 2 - schema.Date(n)
	at := (first + schema.Date(n)).Start()
	store, err := load.Open(ctx, dir, "default", load.Options{
		LockWait: time.Minute, Version: "bench", Now: func() time.Time { return at },
	})
	if err != nil {
		return err
	}
	defer store.Close()
	const run = "00000000000000000000000000"
	staged, err := store.Begin(run)
	if err != nil {
		return err
	}
	defer staged.Discard()
	for i := range n {
		rows := historyDay(first+schema.Date(i), perDay, schema.InstantOf(at), run)
		sealed, err := history.NewDay(rows)
		if err != nil {
			return err
		}
		day := load.DayRead{Day: first + schema.Date(i), ReadAt: schema.InstantOf(at),
			Facts: manifest.Facts{Control: schema.ControlMatched}}
		if _, err := staged.PutDay(ctx, day, sealed); err != nil {
			return err
		}
	}
	prepared, err := staged.Prepare(ctx, load.Contents{Since: first})
	if err != nil {
		return err
	}
	defer prepared.Close()
	_, err = prepared.Commit(ctx, load.RunRecord{Run: schema.Run{
		AccountID: "default", Command: "sync", StartedAt: schema.InstantOf(at), FinishedAt: schema.InstantOf(at),
		Generation: prepared.Preview().Generation, Published: true, Version: "bench", RunID: run,
	}})
	return err
}

// historyDay is a day distributed as a real one: few campaigns, some creatives, many
// sources.
func historyDay(day schema.Date, n int, at schema.Instant, run string) *schema.SpendRows {
	rows := &schema.SpendRows{}
	for i := range n {
		campaign, source := i%20, i/20%2000
		rows.Append(&schema.Spend{
			AccountID: "default", ReportDate: day,
			CampaignID: fmt.Sprintf("C%07d", campaign), CampaignName: fmt.Sprintf("Campaign %d", campaign),
			CreativeID: fmt.Sprintf("C%07d-%03d", campaign, i/40_000), SourceID: fmt.Sprintf("S%d", source),
			Spend: schema.Money(i%997) * 1234, Clicks: schema.Some(int64(i % 7)),
			Impressions: schema.Some(int64(i % 1009)), Conversions: schema.Some(int64(i % 3)),
			FirstSeenAt: at, ChangedAt: at, RunID: run,
		})
	}
	return rows
}
