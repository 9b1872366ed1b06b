package job

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// transportFunc makes a transport of a function.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// slowly lets time pass on both clocks before the reply to each request whose path matches.
func (w *world) slowly(path string, by time.Duration) {
	fits, next := regexp.MustCompile(path), w.service.Transport()
	w.transport = transportFunc(func(r *http.Request) (*http.Response, error) {
		if fits.MatchString(r.URL.Path) {
			w.service.SetNow(w.service.Now().Add(by))
		}
		return next.RoundTrip(r)
	})
}

const oneCampaign = `/v1/campaigns/C\d+$`

// TestBudget_ReadsTheLongestUnconfirmedFirst: settings that do not fit into the budget are read by later runs.
// Publishing the numbers does not wait for these settings.
func TestBudget_ReadsTheLongestUnconfirmedFirst(t *testing.T) {
	w := newWorld(t, func(c *adsim.Config) { c.Campaigns = 20 })
	w.job.SettingsBudget = 10 * time.Minute
	w.slowly(oneCampaign, 2*time.Minute)
	const stored = "SELECT count(DISTINCT campaign_id) FROM campaign_history WHERE read_state <> 'stub'"
	read := map[string]bool{}
	for range 6 {
		again := ""
		before := len(w.service.Requests())
		res := w.sync(exit.OK, "published generation")
		if n := res.Run.CampaignsRead; n == 0 || n >= 20 {
			t.Fatalf("%d of 20 campaigns read within the budget: %s", n, res.Run.Message.V)
		}
		for _, r := range w.service.Requests()[before:] {
			if regexp.MustCompile(oneCampaign).MatchString(r.Path) {
				if read[r.Path] {
					again = r.Path
				}
				read[r.Path] = true
			}
		}
		if again != "" && 20-len(read) >= settingsReaders { // fewer may wait for the processor while another is read
			t.Errorf("%s is read again, and %d campaigns were never read", again, 20-len(read))
		}
	}
	if got := w.ask(stored); got != "20" {
		t.Errorf("%s of 20 campaigns are stored after six runs", got)
	}
	if got := w.ask("SELECT count(*) FROM campaign_history WHERE is_deleted"); got != "0" {
		t.Errorf("%s campaigns that the budget did not reach count as deleted", got)
	}
	w.wantTruth(w.today()) // except today, which has grown since
}

// TestBudget_ReportsWhatIsNotReachedForADay: if a run cannot read all campaigns within a day, it reports that.
func TestBudget_ReportsWhatIsNotReachedForADay(t *testing.T) {
	w := newWorld(t, func(c *adsim.Config) { c.Campaigns = 20 })
	w.job.SettingsBudget = 10 * time.Minute
	w.slowly(oneCampaign, 5*time.Minute)
	w.sync(exit.OK, "left to the next run")
	w.service.SetNow(w.service.Now().Add(25 * time.Hour))
	w.sync(exit.Partial, "campaigns not read for a day or longer", "left to the next run")
}
