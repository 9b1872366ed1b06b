package load_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"spendsync/load"
	"spendsync/load/duck"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// A run opens the store, stages a proven day and publishes it. Then readers see the day.
func Example() {
	if err := storeADay(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// generation 1: 2026-11-20 complete, 1 rows, 12.34
	// DuckDB: 12.340000
}

func storeADay(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "store-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	now := time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)
	day, seen, run := schema.DateOf(now)-1, schema.InstantOf(now), "run000001"
	store, err := load.Open(ctx, dir, "acme", load.Options{Now: func() time.Time { return now },
		DuckDB: duck.Options{Threads: 1}})
	if err != nil {
		return err
	}
	defer store.Close()
	area, err := store.Begin(run)
	if err != nil {
		return err
	}
	defer area.Discard()
	rows := &schema.SpendRows{}
	rows.Append(&schema.Spend{
		AccountID: "acme", ReportDate: day, CampaignID: "C1", SourceID: "S1", Spend: 12_340_000,
		FirstSeenAt: seen, ChangedAt: seen, RunID: run,
	})
	sealed, err := history.NewDay(rows)
	if err != nil {
		return err
	}
	proven := load.DayRead{ReadAt: seen, ReadOutcome: manifest.ReadOutcome{Control: schema.ControlMatched}}
	staged, err := store.Replies(area, day).Stage(ctx, proven, sealed)
	if err != nil {
		return err
	}
	account := load.StagedChange{Change: manifest.Change{Since: day}}
	manifest, err := store.Publish(ctx, load.Publication{Area: area,
		Changes: []load.StagedChange{staged.StagedChange, account},
		Record: func(is load.Preview) load.RunRecord {
			return load.RunRecord{Run: schema.Run{AccountID: "acme", Command: "sync", StartedAt: seen, FinishedAt: seen,
				Generation: is.Generation, Published: true, RunID: run}}
		}})
	if err != nil {
		return err
	}
	c := manifest.Accounts["acme"].Coverage("acme", now)[0]
	fmt.Printf("generation %d: %s %s, %d rows, %s\n", manifest.Generation, c.ReportDate, c.State, c.Rows, c.Spend.V)
	answer, err := duck.Ask(ctx, dir, duck.Query{SQL: "SELECT sum(spend) FROM spend_daily"}, duck.Options{})
	if err != nil {
		return err
	}
	defer answer.Close()
	for row, err := range answer.Rows(ctx) {
		if err != nil {
			return err
		}
		fmt.Println("DuckDB:", row[0].V)
	}
	return nil
}
