package job

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/schema/schematest"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/schema"
)

// apart makes this machine's clock differ from the service's clock.
func (w *world) apart(by time.Duration) {
	w.job.Now = func() time.Time { return w.service.Now().Add(by) }
}

// TestClock_TheServiceDecidesWhichDayIsOpen: near midnight in Chicago, a day is over when it is over by the service's
// clock, whether this machine's clock is fast or slow. The rows that come after the run are not restatements, and no
// day is lost.
func TestClock_TheServiceDecidesWhichDayIsOpen(t *testing.T) {
	midnight := schema.NewDate(2026, 3, 13).End()
	for name, c := range map[string]struct {
		at, ahead time.Duration // start, relative to midnight; lead of this machine's clock
	}{
		"50 minutes ahead":                {at: -40 * time.Minute, ahead: 50 * time.Minute},
		"a minute ahead":                  {at: -30 * time.Second, ahead: time.Minute},
		"50 minutes behind":               {at: 10 * time.Minute, ahead: -50 * time.Minute},
		"10 minutes ahead, a moment late": {at: 5 * time.Minute, ahead: 10 * time.Minute},
	} {
		if !schematest.Drawn(name, 2) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.service.SetNow(midnight.Add(c.at))
			w.apart(c.ahead)
			day := schema.DateOf(midnight) - 1
			w.sync(exit.OK)
			if k := w.account().Days[day]; k == nil || k.WasOver(day) {
				t.Errorf("%s counts as over: %+v", day, k)
			}
			w.service.ClearFaults()
			w.service.SetNow(midnight.Add(12 * time.Hour))
			w.apart(0)
			w.sync(exit.OK)
			w.wantTruth()
			if got := w.ask("SELECT count(*) FROM spend_change"); got != "0" {
				t.Errorf("the rest of the day is %s restatements", got)
			}
			if got := w.ask("SELECT count(*) FROM ops.day_coverage WHERE state = 'lost'"); got != "0" {
				t.Errorf("%s days count as lost", got)
			}
		})
	}
}

// TestClock_OneThatIsWrongDecidesNothing: if the clock is wrong, no day is read and no day is lost. The message says
// whether the clock is fast or slow.
func TestClock_OneThatIsWrongDecidesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		ahead time.Duration
		says  string
	}{
		"two days behind": {-48 * time.Hour, "48h0m0s behind the service's"},
		"41 days behind":  {-41 * 24 * time.Hour, "behind the service's"},
		"1970":            {time.Unix(0, 0).Sub(worldNow), "behind the service's"},
		"a day ahead":     {24 * time.Hour, "24h0m0s ahead of the service's"},
	} {
		if (name == "41 days behind" || name == "1970") && !schematest.All() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.apart(c.ahead)
			w.sync(exit.Usage, c.says)
			for _, r := range w.service.Requests() {
				if strings.Contains(r.Query, "start_date") {
					t.Errorf("the report was asked: %s", r.Query)
				}
			}
			w.apart(0)
			w.sync(exit.OK)
			w.wantTruth()
			if got := w.ask("SELECT count(*) FROM ops.day_coverage WHERE state IN ('lost', 'missing')"); got != "0" {
				t.Errorf("%s days are lost or missing", got)
			}
		})
	}
}

// TestClock_ThatJumpsBackWithinARun: the time of a run never goes back.
func TestClock_ThatJumpsBackWithinARun(t *testing.T) {
	w := newWorld(t)
	w.first()
	w.rereadAll()
	var asked atomic.Int32
	w.job.Now = func() time.Time {
		if asked.Add(1) > 40 {
			return w.service.Now().AddDate(0, 0, -21)
		}
		return w.service.Now()
	}
	w.job.Concurrency = 1
	w.sync(exit.OK)
	w.wantTruth()
	for d, k := range w.account().Days {
		if k.LastReadAt.Time().Before(worldNow) {
			t.Errorf("%s was read at %s", d, k.LastReadAt)
		}
	}
}

// TestClock_BehindTheStoredSettings: if the clock of a run is behind the clock of the previous run, by less than the
// allowed difference, settings are still stored in the order in which they were read. The run does not report a
// problem.
func TestClock_BehindTheStoredSettings(t *testing.T) {
	w := newWorld(t)
	if err := w.service.SetQuirks("clock-none"); err != nil {
		t.Fatal(err)
	}
	w.apart(45 * time.Minute) // no reply shows the difference, because of the quirk
	w.sync(exit.OK)
	if err := w.service.SetQuirks(); err != nil {
		t.Fatal(err)
	}
	w.apart(0)
	w.service.Advance(10 * time.Minute)
	id := w.service.CampaignIDs()[0]
	change := adsim.Change{Campaign: id, Set: map[string]any{"name": "another name"}}
	if err := w.service.Change(change); err != nil {
		t.Fatal(err)
	}
	if got := w.sync(exit.OK).Run.SettingsVersions; got != 1 {
		t.Errorf("%d new versions", got)
	}
	w.wantVerified()
	w.service.Advance(10 * time.Minute) // the clock is still behind
	if got := w.sync(exit.OK).Run.SettingsVersions; got != 0 {
		t.Errorf("%d new versions of what has not changed", got)
	}
	w.service.Advance(2 * time.Hour)
	w.sync(exit.OK)
	const versions = "SELECT version_no, name = 'another name', valid_from < valid_to FROM campaign_history " +
		"WHERE campaign_id = '%s'"
	if got := w.ask(versions, id); got != "1|false|true\n2|true|true" {
		t.Errorf("versions %q", got)
	}
	w.wantVerified()
}

// TestClock_MidnightPassesAtAnyRequest: if midnight in Chicago passes during a run, at any of its requests, no day is
// stored as complete without its last rows. The open day is read again later, and the rows that come then are not
// restatements.
func TestClock_MidnightPassesAtAnyRequest(t *testing.T) {
	midnight := schema.NewDate(2026, 3, 13).End()
	count := newWorld(t)
	var requests atomic.Int64
	count.transport = transportFunc(func(r *http.Request) (*http.Response, error) {
		requests.Add(1)
		return count.service.Transport().RoundTrip(r)
	})
	count.service.SetNow(midnight.Add(-time.Second))
	count.sync(exit.OK)
	all := requests.Load()
	times := int64(schematest.Times(2, 40, 200))
	for i := range times {
		at := 1 + i*all/times
		t.Run(fmt.Sprintf("request %d of %d", at, all), func(t *testing.T) {
			w := newWorld(t)
			w.service.SetNow(midnight.Add(-time.Second))
			var asked atomic.Int64
			w.transport = transportFunc(func(r *http.Request) (*http.Response, error) {
				if asked.Add(1) == at {
					w.service.SetNow(midnight.Add(time.Second))
				}
				return w.service.Transport().RoundTrip(r)
			})
			if res, err := w.next().Sync(t.Context()); err != nil || res.Run.ExitCode != exit.OK &&
				res.Run.ExitCode != exit.Partial {
				t.Fatalf("%v: %+v", err, res)
			}
			w.wantVerified()
			w.transport = nil
			w.service.SetNow(midnight.Add(12 * time.Hour))
			w.sync(exit.OK)
			w.wantTruth()
			if got := w.ask("SELECT (SELECT count(*) FROM spend_change), (SELECT count(*) FROM ops.day_coverage " +
				"WHERE state IN ('lost', 'missing', 'partial'))"); got != "0|0" {
				t.Errorf("restatements and days that are not whole: %s", got)
			}
		})
	}
}
