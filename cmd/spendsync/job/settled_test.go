package job

import (
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// TestSettled_IsReadAgainInFullAlone: an archived campaign cannot change, so it is not requested in every run, even if
// one of its values was not understood. A full sync reads it again.
func TestSettled_IsReadAgainInFullAlone(t *testing.T) {
	w := newWorld(t)
	archived := w.service.CampaignIDs()[1]
	for _, id := range w.service.CampaignIDs() {
		if s, err := w.service.Settings(id); err != nil {
			t.Fatal(err)
		} else if s.Status == "archived" {
			archived = id
		}
	}
	if err := w.service.Change(adsim.Change{Campaign: archived,
		Set: map[string]any{"status": "archived"}}); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		quirk         string
		full          bool
		read, skipped int64
		code          int
	}{
		{"bid-renamed", false, 4, 0, exit.Partial}, {"bid-renamed", false, 3, 1, exit.Partial},
		{"bid-renamed", true, 4, 0, exit.Partial}, {"", false, 3, 1, exit.OK}, {"", true, 4, 0, exit.OK},
		{"", false, 3, 1, exit.OK},
	} {
		quirks := []string{c.quirk}
		if c.quirk == "" {
			quirks = nil
		}
		if err := w.service.SetQuirks(quirks...); err != nil {
			t.Fatal(err)
		}
		w.service.Advance(time.Hour)
		w.job.Full = c.full
		if run := w.sync(c.code).Run; run.CampaignsRead != c.read || run.CampaignsSkipped != c.skipped {
			t.Errorf("run %d: %d read and %d skipped, want %d and %d", i, run.CampaignsRead, run.CampaignsSkipped,
				c.read, c.skipped)
		}
	}
	if got := w.ask("SELECT count(default_bid) FROM campaign_history WHERE is_current"); got != "4" {
		t.Errorf("%s of 4 bids are known", got)
	}
}
