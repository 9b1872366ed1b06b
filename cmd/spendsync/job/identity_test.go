package job

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/schema"
)

// Names of the second account of worlds with two.
const secondUser = "analyst2@example.com"

// twoAccounts adds a second account to the service.
func twoAccounts(c *adsim.Config) {
	c.Accounts = []adsim.Config{{Seed: 2, Campaigns: 6, CreativesPerCampaign: 3, Sources: 60, RowsPerDay: 60,
		RateLimit: -1}}
}

// second returns the key of the second account.
func (w *world) second() string { return adsim.DefaultKey + "2" }

// asSecondUser lets the report's user be the second account's.
func (w *world) asSecondUser() { w.user, w.password = secondUser, adsim.DefaultPassword }

// asFirst makes everything well again.
func (w *world) asFirst() {
	w.key, w.user, w.password, w.transport = adsim.DefaultKey, adsim.DefaultUser, adsim.DefaultPassword, nil
}

// foreignRows names what is stored of other campaigns than the first account's.
func (w *world) foreignRows() string {
	w.t.Helper()
	own := "'" + strings.Join(w.service.CampaignIDs(), "', '") + "'"
	var found []string
	for _, table := range []string{"spend_daily", "spend_change", "campaign_history", "campaign_delivery_history",
		"creative_history", "source_rule_history", "source_mode_history"} {
		if n := w.ask("SELECT count(*) FROM %s WHERE campaign_id <> '' AND campaign_id NOT IN (%s)", table,
			own); n != "0" {
			found = append(found, n+" in "+table)
		}
	}
	return strings.Join(found, ", ")
}

// answers lets the service give one reply to every request for a path.
func (w *world) answers(path string, status int, body string) {
	fits := regexp.MustCompile(path)
	next := w.service.Transport()
	w.transport = transportFunc(func(r *http.Request) (*http.Response, error) {
		if !fits.MatchString(r.URL.Path) {
			return next.RoundTrip(r)
		}
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Type", "application/json")
		rec.WriteHeader(status)
		_, _ = rec.WriteString(body)
		resp := rec.Result()
		resp.Request = r
		return resp, nil
	})
}

func (w *world) published() bool {
	_, err := os.Stat(w.job.DataDir + "/manifest.json")
	return err == nil
}

// TestIdentity_FirstLoad: nothing of the report is published before it is proven whose it is,
// whatever the service does to the question, and the next run carries on.
func TestIdentity_FirstLoad(t *testing.T) {
	const list, alone = `/v1/campaigns$`, `/v1/campaigns(/C\d+)?$`
	for name, c := range map[string]struct {
		foreignReport bool
		path          string
		status        int
		body          string
		code          int
		says          string
	}{
		"foreign report":                      {foreignReport: true, code: exit.Auth, says: "the report speaks of"},
		"foreign report, list 500":            {true, list, 500, "", exit.Unreachable, "cannot be proven yet"},
		"foreign report, list 404":            {true, list, 404, "", exit.Contract, "cannot be proven yet"},
		"foreign report, list empty":          {true, list, 200, `[]`, exit.Auth, "the report speaks of"},
		"own report, list 500":                {false, list, 500, "", exit.Partial, "published generation 1"},
		"own report, no campaign can be read": {false, alone, 500, "", exit.Unreachable, "cannot be proven yet"},
		"own report, /v1/me 500":              {false, `/v1/me$`, 500, "", exit.Unreachable, "cannot be proven yet"},
		"own report, /v1/me unnamed":          {false, `/v1/me$`, 200, `{}`, exit.Usage, "ACCEPT_UNPINNED"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, twoAccounts)
			if c.foreignReport {
				w.asSecondUser()
			}
			if c.path != "" {
				w.answers(c.path, c.status, c.body)
			}
			w.sync(c.code, c.says)
			if w.published() {
				if got := w.foreignRows(); got != "" {
					t.Errorf("rows of another account: %s", got)
				}
			}
			w.asFirst()
			w.sync(exit.OK)
			if got := w.foreignRows(); got != "" {
				t.Errorf("rows of another account: %s", got)
			}
			w.wantTruth()
		})
	}
}

// TestIdentity_ForeignKey: another account's key stores no settings and ends none, though
// /v1/me does not answer.
func TestIdentity_ForeignKey(t *testing.T) {
	for name, status := range map[string]int{"failing": 500, "unnamed": 200} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, twoAccounts)
			w.rereadAll()
			w.sync(exit.OK)
			const settings = "SELECT campaign_id, version_no, is_deleted FROM campaign_history ORDER BY ALL"
			was := w.ask(settings)
			w.key = w.second()
			w.answers(`/v1/me$`, status, `{}`)
			for range 3 {
				w.sync(exit.Partial, "whom the API key acts for")
			}
			if got := w.ask(settings); got != was {
				t.Errorf("the settings changed:\n%s\n%s", was, got)
			}
			w.key = adsim.DefaultKey
			w.sync(exit.Partial, "account me") // the key's list proves it
			w.transport = nil
			w.sync(exit.OK)
			w.wantTruth()
		})
	}
}

// TestIdentity_ReplayOfForeignReplies: the replies that a run withheld are not published by a
// replay before the settings have one of their campaigns.
func TestIdentity_ReplayOfForeignReplies(t *testing.T) {
	for name, stored := range map[string]bool{"first run": false, "later run": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, twoAccounts)
			w.rereadAll()
			if stored {
				w.sync(exit.OK)
				w.service.Advance(time.Hour)
			}
			w.asSecondUser()
			w.answers(`/v1/`, 500, ``)
			w.sync(exit.Unreachable, "cannot be proven yet")
			kept, err := load.Quarantined(w.job.DataDir, w.job.Account)
			if err != nil || len(kept) != schema.ReachDays+1 {
				t.Fatalf("%d days are withheld: %v", len(kept), err)
			}
			res, err := w.next().Replay(t.Context(), kept[0].Date, w.today())
			if !stored {
				if !errors.Is(err, durable.ErrEmpty) {
					t.Errorf("the replay ends with %v", err)
				}
			} else if err != nil {
				t.Fatal(err)
			} else {
				w.want(res, nil, exit.OK, "33 days in quarantine not proven")
				if got := w.foreignRows(); got != "" {
					t.Errorf("rows of another account: %s", got)
				}
				w.wantTruth(w.today())
			}
			w.asFirst()
			w.sync(exit.OK)
			if got := w.foreignRows(); got != "" {
				t.Errorf("rows of another account: %s", got)
			}
			w.wantTruth()
			if kept, err = load.Quarantined(w.job.DataDir, w.job.Account); err != nil || len(kept) > 0 {
				t.Errorf("%d days are still withheld: %v", len(kept), err)
			}
		})
	}
}

// TestIdentity_AcceptUnpinned: a service that names no account is accepted once.
func TestIdentity_AcceptUnpinned(t *testing.T) {
	w := newWorld(t)
	w.answers(`/v1/me$`, 200, `{"scope":"read"}`)
	w.sync(exit.Usage, "SPENDSYNC_ACCEPT_UNPINNED=true")
	w.job.AcceptUnpinned = true
	w.sync(exit.OK)
	if w.account().Pinned != acceptedUnpinned {
		t.Error("the manifest does not record it")
	}
	w.job.AcceptUnpinned = false
	w.sync(exit.OK)
	w.wantTruth()
}

// TestIdentity_RandomLives: whatever credentials are swapped, delayed or failing, not one row
// of the other account is ever stored. SPENDSYNC_TEST_LIVES sets how many lives.
func TestIdentity_RandomLives(t *testing.T) {
	lives := 6
	if n, err := strconv.Atoi(os.Getenv("SPENDSYNC_TEST_LIVES")); err == nil {
		lives = n
	}
	for seed := range lives {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, twoAccounts)
			w.rereadAll()
			rnd := rand.New(rand.NewPCG(uint64(seed), 34))
			paths := []string{`/v1/me$`, `/v1/campaigns$`, `/v1/campaigns/`, `/v1/campaigns`, `spend-report`, `/v1/`}
			withheld := false // replies of the first account's report
			for range 4 {
				w.asFirst()
				if rnd.IntN(3) == 0 {
					w.key = w.second()
				}
				if rnd.IntN(3) == 0 {
					w.asSecondUser()
				}
				switch rnd.IntN(4) {
				case 0:
					w.answers(paths[rnd.IntN(len(paths))], []int{200, 404, 500, 503}[rnd.IntN(4)],
						[]string{"[]", "{}", "", "null"}[rnd.IntN(4)])
				case 1:
					w.slowly(paths[rnd.IntN(len(paths))], time.Duration(rnd.IntN(70))*time.Second)
				}
				first := !w.published()
				res, err := w.next().Sync(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				withheld = withheld || w.user != secondUser &&
					strings.Contains(res.Run.Message.V, "cannot be proven yet")
				if w.published() && first && w.key == w.second() && w.user == secondUser {
					return // both are the other account's: it is the pinned one now
				}
				if w.published() {
					if pinned := w.account().Pinned; pinned != "" && first && w.key == w.second() {
						return // the operator's key pins the account
					}
					if got := w.foreignRows(); got != "" {
						t.Fatalf("rows of another account: %s", got)
					}
				}
				w.service.SetNow(w.service.Now().Add(time.Duration(rnd.IntN(20)) * time.Hour))
			}
			w.asFirst()
			res, err := w.next().Sync(t.Context())
			code := exit.OK
			if err == nil && !withheld && strings.Contains(res.Run.Message.V, "lost for good") {
				code = exit.DayAtRisk // no run has received the day before it left the reach
			}
			w.want(res, err, code)
			if got := w.foreignRows(); got != "" {
				t.Errorf("rows of another account: %s", got)
			}
			w.wantTruth()
		})
	}
}
