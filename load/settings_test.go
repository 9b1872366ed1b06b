package load

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// TestPutMemory_MovesConfirmationsOnly requires that DuckDB follows the last confirmations of versions, that their
// file does not, and that a DuckDB file with unexpected rows is built again.
func TestPutMemory_MovesConfirmationsOnly(t *testing.T) {
	dir := quickDir(t)
	var log bytes.Buffer
	o := sceneOptions(durable.Disk{FS: lazyFiles{}})
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	table := schema.CampaignHistory
	file := ""
	for i, step := range []struct {
		seen  string // campaigns
		spoil bool   // more rows are expected than there are
		want  string // when each was last confirmed
		built bool   // the DuckDB file is built again
	}{
		{seen: "ABC", want: "A0 B0 C0"},
		{seen: "ABC", want: "A1 B1 C1"},
		{seen: "AB", want: "A2 B2 C1"}, // another exception
		{seen: "AB", want: "A3 B3 C1"},
		{seen: "AB", want: "A4 B4 C1", spoil: true, built: true},
		{seen: "ABC", want: "A5 B5 C5"},
		{seen: "ABC", want: "A6 B6 C6"},
	} {
		log.Reset()
		r := sceneFirst()
		r.id, r.days = fmt.Sprintf("run%d", i), nil
		start := r.at
		r.at = start.AddDate(0, 0, i)
		o.Now = r.now
		s, err := Open(t.Context(), dir, "acme", o)
		if err != nil {
			t.Fatal(err)
		}
		g, err := stagingOf(s, r.id)
		if err != nil {
			t.Fatal(err)
		}
		h, err := StoredHistory(s, table)
		if err != nil {
			t.Fatal(err)
		}
		var seen []history.Seen[schema.Campaign]
		for _, id := range step.seen {
			seen = append(seen, sceneCampaign(string(id), "name", schema.Dollar))
		}
		next, st, err := history.Advance[schema.Campaign](table, table.Tracked(), h,
			history.Observation[schema.Campaign]{At: schema.InstantOf(r.at), RunID: r.id, Seen: seen})
		if err != nil || st.Changed != (i == 0) {
			t.Fatalf("step %d: changed %t, %v", i, st.Changed, err)
		}
		put := func() error { return PutConfirmations(s, g.Area, &g.settings, table, next.Confirmations) }
		if st.Changed {
			put = func() error { return PutHistory(s, g.Area, &g.settings, table, next) }
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if step.spoil {
			spoilt := g.settings.Confirmations[table.Name]
			spoilt.SharedCount++
			g.settings.Confirmations[table.Name] = spoilt
		}
		m, err := r.publish(t.Context(), g)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		got := query(t, dir, fmt.Sprintf(`SELECT string_agg(campaign_id || date_diff('day', TIMESTAMPTZ '%s',
			last_confirmed_at), ' ' ORDER BY campaign_id) FROM campaign_history`,
			schema.InstantOf(start)))
		if got != step.want {
			t.Errorf("step %d: confirmed %s, want %s", i, got, step.want)
		}
		info := m.Accounts["acme"].Files[manifest.PartPath(table.Table, "acme", 0)]
		if file == "" {
			file = info.SHA256
		}
		if file != info.SHA256 {
			t.Errorf("step %d: the file is another one", i)
		}
		if built := strings.Contains(log.String(), "built again from Parquet"); built != step.built {
			t.Errorf("step %d: built again %t, want %t: %s", i, built, step.built, log.String())
		}
		if got, want := query(t, dir, "SELECT count(*), count(*) FILTER (WHERE sha256 = '"+info.SHA256+
			"') FROM ops.file"), fmt.Sprintf("%d|1", len(m.Accounts["acme"].Files)); got != want {
			t.Errorf("step %d: ops.file has %s, want %s", i, got, want)
		}
		checkStore(t, dir)
	}
}

// TestVersionedTables_AreAllKnown: a table that has versions is confirmed and checked.
func TestVersionedTables_AreAllKnown(t *testing.T) {
	for _, table := range schema.Tables {
		if (versionedTable(table.Name) != nil) != table.Versioned {
			t.Errorf("%s: versioned %t", table.FullName(), table.Versioned)
		}
	}
}
