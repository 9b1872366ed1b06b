package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"

	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestSync_KilledThroughDays kills a run with SIGKILL in every simulated hour, at a random moment, while the account
// changes: the present day grows, days end, ended days are restated, bids change. One clean run must then end in the
// state of a store that was never disturbed. .ci/soak repeats this test.
func TestSync_KilledThroughDays(t *testing.T) {
	schematest.Long(t)
	hours, seed := schematest.Times(0, 5, 250), schematest.Seed(t)
	r := rand.New(rand.NewPCG(seed, 2))
	w := newWorld(t, func(c *adsim.Config) {
		c.Campaigns, c.CreativesPerCampaign, c.Sources, c.RowsPerDay = 4, 3,
			30, 40
	})
	// The service never fails here, but on a busy machine its replies may be slow.
	w.env["HTTP_TIMEOUT"], w.env["RETRY_BUDGET"], w.env["LOCK_WAIT"] = "60s", "10m", "60s"
	sync := func() *exec.Cmd { return w.start(t.Context(), "sync") }
	w.must("sync")
	w.service.Advance(time.Hour)
	begin := time.Now()
	if out, err := sync().CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := time.Since(begin)
	bids := map[string]string{}
	count := &killed{}
	for i := range hours {
		w.service.Advance(time.Hour)
		if r.IntN(3) == 0 {
			w.restate(w.today() - 1 - schema.Date(r.IntN(3)))
		}
		if r.IntN(3) == 0 {
			w.changeBid(r, bids)
		}
		w.killOne(r, i, whole, count, sync())
	}
	t.Log(count)
	if died := hours - count.finished; died == 0 || hours >= 50 && (count.staging+count.committing)*3 < died {
		t.Error("too few runs were killed between the first staged file and the last rename")
	}
	w.service.Advance(time.Hour)
	w.env["REREAD_AFTER"] = "0s"
	w.must("sync")
	w.checkTruth()
	w.checkNothingStaged()
	for id, want := range bids {
		if got := w.ask("SELECT default_bid FROM campaign WHERE campaign_id = " + schema.QuoteText(id)); got != want {
			t.Errorf("the bid of %s is %s, want %s", id, got, want)
		}
	}
	if lost := w.ask("SELECT count(*) FROM ops.day_coverage WHERE state NOT IN ('open', " +
		"'complete', 'final')"); lost != "0" {
		t.Errorf("%s days are not known whole", lost)
	}
}

// changeBid sets another bid in one of the campaigns that can be changed, and records the bid in the map.
func (w *world) changeBid(r *rand.Rand, bids map[string]string) {
	w.t.Helper()
	ids := w.service.CampaignIDs()
	id := ids[r.IntN(len(ids))]
	s, err := w.service.Settings(id)
	if err != nil {
		w.t.Fatal(err)
	}
	if s.Status == "archived" { // archived campaigns cannot change and are not read again
		return
	}
	bid := fmt.Sprintf("%d.%06d", 1+r.IntN(4), 10_000*r.IntN(100))
	if err := w.service.Change(adsim.Change{Campaign: id, Set: map[string]any{"default_bid": bid}}); err != nil {
		w.t.Fatal(err)
	}
	bids[id] = bid
}
