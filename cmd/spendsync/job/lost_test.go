package job

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// TestLost_IsReportedUntilARunHasEndedWithIt: if the run that finds a day lost ends with another exit code, the next
// sync ends with the code for lost days. Later syncs do not, even if they have only the published bytes of the store,
// like a run in a new folder that was filled from a bucket.
func TestLost_IsReportedUntilARunHasEndedWithIt(t *testing.T) {
	schematest.Long(t)
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
			w.job.Progress = func(string, int, func() time.Time) Bar { return cancelBar{cancel} }
			res, err := w.next().Sync(ctx)
			w.want(res, err, exit.Stopped)
			w.job.Progress = nil
		},
		"a refused key": func(w *world) {
			for _, path := range []string{"/v1/me", "/v1/limits", "/v1/balance", "/v1/campaigns", "/v1/campaigns/*"} {
				w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 401, Path: path})
			}
			w.sync(exit.Auth)
			w.service.ClearFaults()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.first()
			w.service.SetNow(worldNow.AddDate(0, 0, 35))
			between(w)
			w.service.Advance(time.Minute)
			w.sync(exit.DayAtRisk, "lost for good")
			for path, size := range w.account().Ledger {
				if err := os.Truncate(filepath.Join(w.job.DataDir, path), size); err != nil {
					t.Fatal(err)
				}
			}
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

// TestLost_ByAServiceThatReachesLess: a service refuses the first day of the reach. While that day is stored, no day is
// lost and no run reports one. A day that is not stored is reported before it is lost, a day earlier than with the full
// reach, and once more when it is lost. If the service answers for the first day again, the full reach applies again.
// The other days are compared with the service's own sums, although the service refuses a range that begins with the
// refused day.
func TestLost_ByAServiceThatReachesLess(t *testing.T) {
	w := newWorld(t)
	w.rereadAll()
	if err := w.service.SetQuirks("reach-31"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w.sync(exit.OK)
		for day, k := range w.account().Days {
			if k.WasOver(day) && k.Control != schema.ControlMatched {
				t.Errorf("%s is not held to the service's sum: %s", day, k.Control)
			}
		}
		w.service.Advance(24 * time.Hour)
	}
	missed := w.today()
	w.service.Advance(30 * 24 * time.Hour)
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 404, Day: missed.String()})
	w.sync(exit.DayAtRisk, missed.String()+" is not proven and can be read for 2 days more")
	w.service.Advance(2 * 24 * time.Hour)
	w.sync(exit.DayAtRisk, "lost for good: "+missed.String())
	w.service.ClearFaults()
	w.service.Advance(24 * time.Hour)
	w.wantReach(31, w.sync(exit.OK))
	if err := w.service.SetQuirks(); err != nil {
		t.Fatal(err)
	}
	w.wantReach(32, w.sync(exit.OK))
	w.wantVerified()
}

func (w *world) wantReach(days int64, res *Result) {
	w.t.Helper()
	if today := res.Coverage[len(res.Coverage)-1]; today.DaysUntilUnreachable != days+1 {
		w.t.Errorf("today can be read for %d days, want %d", today.DaysUntilUnreachable, days+1)
	}
}
