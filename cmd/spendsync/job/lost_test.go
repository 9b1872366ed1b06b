package job

import (
	"context"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// TestLost_IsReportedUntilARunHasEndedWithIt: whatever publishes in between and ends with
// another code, the next sync still ends with the one that calls a person, and then no
// other does.
func TestLost_IsReportedUntilARunHasEndedWithIt(t *testing.T) {
	for name, between := range map[string]func(w *world){
		"nothing": func(*world) {},
		"rebuild": func(w *world) {
			res, err := w.next().Rebuild(w.t.Context())
			w.want(res, err, exit.OK)
		},
		"replay": func(w *world) {
			res, err := w.next().Replay(w.t.Context(), 0, w.today())
			w.want(res, err, exit.OK)
		},
		"a signal": func(w *world) {
			ctx, cancel := context.WithCancel(w.t.Context())
			w.job.Progress = func(string, int) Bar { return cancelBar{cancel} }
			res, err := w.next().Sync(ctx)
			w.want(res, err, exit.Stopped)
			w.job.Progress = nil
		},
		"401 in the middle": func(w *world) {
			w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 401, Path: "/v1/campaigns/*"})
			w.sync(exit.Auth)
			w.service.ClearFaults()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.sync(exit.OK)
			w.service.SetNow(worldNow.AddDate(0, 0, 35))
			between(w)
			w.service.Advance(time.Minute)
			w.sync(exit.DayAtRisk, "lost for good")
			w.service.Advance(time.Minute)
			w.sync(exit.OK)
			w.wantVerified()
		})
	}
}

// cancelBar stops the run when its first day is done.
type cancelBar struct{ cancel context.CancelFunc }

func (b cancelBar) Step()  { b.cancel() }
func (cancelBar) Rows(int) {}
func (cancelBar) Done()    {}

// TestLost_ByAServiceThatReachesLess: a service that refuses the first day of the reach rings no alarm as long as that
// day is stored, and none is lost: one that is not stored rings before it counts as lost, and once more when it does.
func TestLost_ByAServiceThatReachesLess(t *testing.T) {
	w := newWorld(t)
	w.rereadAll()
	if err := w.service.SetQuirks("reach-31"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		w.sync(exit.OK)
		w.service.Advance(24 * time.Hour)
	}
	missed := w.today()
	w.service.Advance(32 * 24 * time.Hour)
	w.sync(exit.DayAtRisk, missed.String()+" is not proven and can be read for 1 day more")
	w.service.Advance(24 * time.Hour)
	w.sync(exit.DayAtRisk, "lost for good: "+missed.String())
	w.service.Advance(24 * time.Hour)
	w.sync(exit.OK)
	w.wantVerified()
}
