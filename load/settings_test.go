package load

import (
	"fmt"
	"testing"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// TestReadings_AreAnotherFile: new readings change last_confirmed_at in DuckDB, but not the file of versions.
func TestReadings_AreAnotherFile(t *testing.T) {
	dir := quickDir(t)
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	table := schema.CampaignHistory
	file := ""
	for i, step := range []struct{ seen, want string }{
		{"ABC", "A0 B0 C0"}, {"ABC", "A1 B1 C1"}, {"AB", "A2 B2 C1"}, {"ABC", "A3 B3 C3"},
	} {
		r := sceneFirst()
		r.id, r.days = fmt.Sprintf("run%d", i), nil
		start := r.at
		r.at = start.AddDate(0, 0, i)
		s, g, err := r.begin(t.Context(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		h, err := StoredHistory(s, table)
		if err != nil {
			t.Fatal(err)
		}
		was, err := StoredReadings(s)
		if err != nil {
			t.Fatal(err)
		}
		is := was.Wholes()
		var seen []history.Seen[schema.Campaign]
		for _, id := range step.seen {
			seen = append(seen, sceneCampaign(string(id), "name", schema.Dollar))
		}
		next, st, err := history.Advance[schema.Campaign](table, table.Tracked(), h,
			history.Observation[schema.Campaign]{At: schema.InstantOf(r.at), RunID: r.id, Seen: seen,
				Confirmed: func(c *schema.Campaign) schema.Instant { return was.Confirmed(c.Place()) },
				Confirm:   func(c *schema.Campaign, at schema.Instant) { is.Confirm(c.Place(), at) }})
		if err != nil || st.Changed != (i == 0) {
			t.Fatalf("step %d: changed %t, %v", i, st.Changed, err)
		}
		put := func() error { return PutMemory(s, g.Area, &g.settings, table, next.Memory) }
		if st.Changed {
			put = func() error { return PutHistory(s, g.Area, &g.settings, table, next) }
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if err := PutTable(s, g.Area, &g.settings, schema.Readings, is.Rows("acme", r.id)); err != nil {
			t.Fatal(err)
		}
		m, err := r.publish(t.Context(), g)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		got := query(t, dir, fmt.Sprintf(`SELECT string_agg(campaign_id || date_diff('day', TIMESTAMPTZ '%s',
			read_at), ' ' ORDER BY campaign_id) FROM reading`, schema.InstantOf(start)))
		if got != step.want {
			t.Errorf("step %d: read %s, want %s", i, got, step.want)
		}
		info := m.Accounts["acme"].Files[manifest.TablePath(table.Table, "acme", 0)]
		if file == "" {
			file = info.SHA256
		}
		if file != info.SHA256 {
			t.Errorf("step %d: the file is another one", i)
		}
		checkStore(t, dir)
	}
}

// TestVersionedTables_AreAllKnown: versionedTables has every table of versions.
func TestVersionedTables_AreAllKnown(t *testing.T) {
	for _, table := range schema.Tables {
		if (versionedTable(table.Name) != nil) != table.Versioned {
			t.Errorf("%s: versioned %t", table.FullName(), table.Versioned)
		}
	}
}
