package load

import (
	"slices"
	"testing"
	"time"

	"spendsync/load/durable"
	"spendsync/schema"
)

// TestTrackerChanges_AreAddedOnce: the rows of a run are added to the rows that were seen on the same day, in Parquet
// and in DuckDB. A new row replaces a stored row with the same key.
func TestTrackerChanges_AreAddedOnce(t *testing.T) {
	dir := quickDir(t)
	at := schema.NewDate(2026, 11, 20).Start().Add(9 * time.Hour)
	line := func(source string, seen time.Time, clicks int64) schema.TrackerChange {
		return schema.TrackerChange{ReportDate: day - 3, CampaignID: "C1", SourceID: source,
			SeenAt: schema.InstantOf(seen), Op: schema.OpUpdate, File: "export.csv", OldClicks: schema.Some[int64](1),
			NewClicks: schema.Some(clicks)}
	}
	later, next := at.Add(time.Hour), at.Add(24*time.Hour)
	for i, step := range []struct {
		now   time.Time
		lines []schema.TrackerChange
		want  string
	}{
		{at, []schema.TrackerChange{line("S1", at, 3), line("S2", at, 2)}, "S1 3 A, S2 2 A"},
		{at, nil, "S1 3 A, S2 2 A"},
		{later, []schema.TrackerChange{line("S1", later, 4), line("S2", at, 5)}, "S1 3 A, S1 4 C, S2 5 C"},
		{next, []schema.TrackerChange{line("S1", next, 6)}, "S1 3 A, S1 4 C, S1 6 D, S2 5 C"},
	} {
		scene := sceneFirst()
		scene.id, scene.at, scene.days = string(rune('A'+i)), step.now, nil
		o := sceneOptions(durable.Disk{FS: lazyFiles{}})
		s, g, err := scene.begin(t.Context(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range step.lines {
			step.lines[i].AccountID, step.lines[i].RunID = "acme", scene.id
		}
		err = putLines(g.Area, &g.settings, schema.TrackerChanges, schema.DateOf(step.now), day-3,
			slices.Values(step.lines))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scene.publish(t.Context(), g); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		checkStore(t, dir)
		if got := query(t, dir, `SELECT string_agg(concat_ws(' ', source_id, new_clicks, _run_id), ', '
			ORDER BY source_id, seen_at) FROM tracker_change`); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}
