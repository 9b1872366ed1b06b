package job

import (
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// TestSettled_IsReadAgainByAnotherVersion: an archived campaign of which something is not
// understood is not asked for in every run, for it cannot change any more. Another version
// may understand it, and reads it once.
func TestSettled_IsReadAgainByAnotherVersion(t *testing.T) {
	w := newWorld(t)
	archived := w.service.CampaignIDs()[1]
	for _, id := range w.service.CampaignIDs() {
		if s, err := w.service.Settings(id); err != nil {
			t.Fatal(err)
		} else if s.Status == "archived" {
			archived = id
		}
	}
	if err := w.service.Change(adsim.Change{Campaign: archived, Force: true,
		Set: map[string]any{"status": "archived"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.service.SetQuirks("bid-renamed"); err != nil {
		t.Fatal(err)
	}
	read := func(code int, version string) (read, skipped int64) {
		w.service.Advance(time.Hour)
		w.job.Version = version
		res := w.sync(code)
		return res.Run.CampaignsRead, res.Run.CampaignsSkipped
	}
	for i, c := range []struct {
		version       string
		read, skipped int64
		code          int // what three runs see in the same way is a standing note
	}{{"1", 4, 0, exit.Partial}, {"1", 3, 1, exit.Partial}, {"1", 3, 1, exit.OK}, {"2", 4, 0, exit.OK},
		{"2", 3, 1, exit.OK}} {
		if got, skipped := read(c.code, c.version); got != c.read || skipped != c.skipped {
			t.Errorf("run %d of version %s: %d read and %d skipped, want %d and %d", i, c.version, got, skipped, c.read,
				c.skipped)
		}
	}
	if err := w.service.SetQuirks(); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		version       string
		read, skipped int64
	}{{"3", 4, 0}, {"3", 3, 1}, {"4", 3, 1}} {
		if got, skipped := read(exit.OK, c.version); got != c.read || skipped != c.skipped {
			t.Errorf("understood, run %d of version %s: %d read and %d skipped, want %d and %d", i, c.version, got,
				skipped, c.read, c.skipped)
		}
	}
	const bids = "SELECT count(default_bid) FROM campaign_history WHERE is_current"
	if got := w.ask(bids); got != "4" {
		t.Errorf("%s of 4 bids are known", got)
	}
}
