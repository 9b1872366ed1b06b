package job

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/schema"
	"spendsync/schema/schematest"
	"spendsync/transform"
)

// The report's user of the second account, in worlds with two accounts.
const secondUser = "analyst2@example.com"

// twoAccounts adds a second account to the service.
func twoAccounts(c *adsim.Config) {
	c.Accounts = []adsim.Config{{Seed: 2, Campaigns: 6, CreativesPerCampaign: 2, Sources: 30, RowsPerDay: 20,
		RateLimit: -1}}
}

// second returns the API key of the second account.
func (w *world) second() string { return adsim.DefaultKey + "2" }

// asSecondUser makes requests for the report with the second account's user.
func (w *world) asSecondUser() { w.user, w.password = secondUser, adsim.DefaultPassword }

// asFirst restores the credentials of the first account, and ends all faults.
func (w *world) asFirst() {
	w.key, w.user, w.password, w.transport = adsim.DefaultKey, adsim.DefaultUser, adsim.DefaultPassword, nil
}

// foreignRows lists the stored rows of campaigns that are not in the list, as counts by table.
func (w *world) foreignRows(campaigns []string) string {
	w.t.Helper()
	var counts []string
	for _, table := range []string{"spend_daily", "spend_change", "campaign_history", "campaign_delivery_history",
		"creative_history", "source_rule_history", "source_mode_history"} {
		counts = append(counts, fmt.Sprintf("SELECT '%s' AS name, count(*) AS rows FROM %[1]s WHERE campaign_id <> '' "+
			"AND campaign_id NOT IN ('%s')", table, strings.Join(campaigns, "', '")))
	}
	return w.ask("SELECT rows || ' in ' || name FROM (%s) WHERE rows > 0", strings.Join(counts, " UNION ALL "))
}

// answers makes the service give the same reply to every request whose path matches.
func (w *world) answers(path string, status int, body string) {
	fits := regexp.MustCompile(path)
	next := w.service.Transport()
	w.transport = transportFunc(func(r *http.Request) (*http.Response, error) {
		if !fits.MatchString(r.URL.Path) {
			return next.RoundTrip(r)
		}
		return replyWith(r, status, body), nil
	})
}

func replyWith(r *http.Request, status int, body string) *http.Response {
	rec := httptest.NewRecorder()
	rec.Header().Set("Content-Type", "application/json")
	rec.WriteHeader(status)
	_, _ = rec.WriteString(body)
	resp := rec.Result()
	resp.Request = r
	return resp
}

func (w *world) published() bool {
	_, err := os.Stat(w.job.DataDir + "/manifest.json")
	return err == nil
}

// TestIdentity_FirstLoad: nothing of the report is published before its account is proven, whatever the service replies
// about the account. The next run continues.
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
		"foreign report, list empty":          {true, list, 200, `[]`, exit.Contract, "the list is empty, and"},
		"own report, list empty":              {false, list, 200, `[]`, exit.Contract, "the list is empty, and"},
		"own report, list 500":                {false, list, 500, "", exit.Unreachable, "cannot be proven yet"},
		"own report, no campaign can be read": {false, alone, 500, "", exit.Unreachable, "cannot be proven yet"},
		"own report, /v1/me 500":              {false, `/v1/me$`, 500, "", exit.Unreachable, "cannot be proven yet"},
		"own report, /v1/me unnamed":          {false, `/v1/me$`, 200, `{}`, exit.OK, "published generation 1"},
		"foreign report, /v1/me unnamed":      {true, `/v1/me$`, 200, `{}`, exit.Auth, "belong to two accounts"},
	} {
		if !schematest.Drawn(name, 5) {
			continue
		}
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
				if got := w.foreignRows(w.service.CampaignIDs()); got != "" {
					t.Errorf("rows of another account: %s", got)
				}
			}
			w.asFirst()
			w.sync(exit.OK)
			if got := w.foreignRows(w.service.CampaignIDs()); got != "" {
				t.Errorf("rows of another account: %s", got)
			}
			w.wantTruth()
		})
	}
}

// TestIdentity_ForeignKey: a key of another account neither stores nor ends settings, even if /v1/me does not answer or
// names no account. No stored file names a campaign of that account.
func TestIdentity_ForeignKey(t *testing.T) {
	for name, status := range map[string]int{"failing": 500, "unnamed": 200} {
		if name == "failing" && !schematest.All() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, twoAccounts)
			w.rereadAll()
			w.first()
			const settings = "SELECT campaign_id, version_no, is_deleted FROM campaign_history ORDER BY ALL"
			was := w.ask(settings)
			w.key = w.second()
			w.answers(`/v1/me$`, status, `{}`)
			for range 2 {
				w.sync(exit.Auth, "none of the 6 campaigns that it lists is known")
			}
			if got := w.ask(settings); got != was {
				t.Errorf("the settings changed:\n%s\n%s", was, got)
			}
			w.wantNothingOf(w.service.Account(1).CampaignIDs())
			w.key = adsim.DefaultKey
			w.sync(exit.Partial, "account me") // the key's list proves the account
			w.transport = nil
			w.sync(exit.OK)
			w.wantTruth()
		})
	}
}

// wantNothingOf requires that no file of the store names one of the campaigns, except replies in quarantine.
func (w *world) wantNothingOf(campaigns []string) {
	w.t.Helper()
	err := filepath.WalkDir(w.job.DataDir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.Contains(path, "/quarantine/") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, id := range campaigns {
			if bytes.Contains(b, []byte(id)) {
				w.t.Errorf("%s names campaign %s of another account", path, id)
				break
			}
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestIdentity_Unnamed: if the service names no account, the account is known by its campaigns. A name that comes later
// is pinned. If the name changes after that, the run ends with an error.
func TestIdentity_Unnamed(t *testing.T) {
	for name, body := range map[string]string{
		"nothing": `{"scope":"read"}`, "a bare id": `{"id":"k_1"}`, "an unknown envelope": `{"who":{"uid":"A-1"}}`,
	} {
		if name != "an unknown envelope" && !schematest.All() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, twoAccounts)
			w.answers(`/v1/me$`, 200, body)
			w.sync(exit.OK)
			w.sync(exit.OK)
			if pinned := w.account().Pinned; pinned != "" {
				t.Errorf("pinned to %s", pinned)
			}
			w.wantTruth()
			w.key = w.second()
			w.sync(exit.Auth, "none of the 6 campaigns that it lists is known")
			w.asFirst()
			w.sync(exit.OK)
			if pinned := w.account().Pinned; pinned != w.pinnedBy(w.key) {
				t.Errorf("pinned to %q", pinned)
			}
			w.answers(`/v1/me$`, 200, `{"account_id":"another"}`)
			w.sync(exit.Auth, "the key acts on")
		})
	}
}

// TestIdentity_AMessageNamesNothingForeign: campaigns of another account are named neither in the run's message nor in
// any table, even if a value of theirs is not understood or a request about them fails.
func TestIdentity_AMessageNamesNothingForeign(t *testing.T) {
	w := newWorld(t, twoAccounts)
	w.answers(`/v1/me$`, 200, `{}`)
	w.sync(exit.OK)
	w.key = w.second()
	unnamed, foreign := w.transport, w.service.Account(1).CampaignIDs()
	w.transport = transportFunc(func(r *http.Request) (*http.Response, error) {
		switch {
		case strings.HasSuffix(r.URL.Path, foreign[0]+"/sources"):
			return replyWith(r, 400, `{"error":{"code":"bad_request","message":"no sources of `+foreign[0]+`"}}`), nil
		case strings.HasSuffix(r.URL.Path, "/sources"):
			return replyWith(r, 200, `{"source_settings":{"mode":7,"new_key":1}}`), nil
		}
		return unnamed.RoundTrip(r)
	})
	r := w.sync(exit.Auth, "none of the 6 campaigns that it lists is known")
	for _, id := range foreign {
		if strings.Contains(r.Run.Message.V, id) {
			t.Errorf("the message names %s: %s", id, r.Run.Message.V)
		}
	}
	w.wantNothingOf(foreign)
	if got := w.ask("SELECT count(*) FROM ops.unknown_field WHERE path = 'new_key'"); got != "0" {
		t.Errorf("ops.unknown_field has %s keys of it", got)
	}
}

// TestIdentity_ReplayOfForeignReplies: a replay does not publish withheld replies before one of their campaigns is in
// the stored settings.
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
				if got := w.foreignRows(w.service.CampaignIDs()); got != "" {
					t.Errorf("rows of another account: %s", got)
				}
				w.wantTruth(w.today())
			}
			w.asFirst()
			w.sync(exit.OK)
			if got := w.foreignRows(w.service.CampaignIDs()); got != "" {
				t.Errorf("rows of another account: %s", got)
			}
			w.wantTruth()
			if kept, err = load.Quarantined(w.job.DataDir, w.job.Account); err != nil || len(kept) > 0 {
				t.Errorf("%d days are still withheld: %v", len(kept), err)
			}
		})
	}
}

// TestIdentity_WithheldDaysLeaveTheReach: if the service no longer has the withheld days when the account is proven,
// the days are stored from the replies in quarantine. Replies of another account and refused replies are not used.
func TestIdentity_WithheldDaysLeaveTheReach(t *testing.T) {
	w := newWorld(t, twoAccounts)
	w.rereadAll()
	first := w.today() - schema.ReachDays
	truth := map[schema.Date]int64{}
	for d := first; d < first+2; d++ {
		sum, err := w.service.TruthSum(d.String())
		if err != nil {
			t.Fatal(err)
		}
		truth[d] = sum.Spend
	}
	w.answers(`/v1/`, 500, ``)
	w.sync(exit.Unreachable, "the replies of 33 days are kept")
	w.asSecondUser()
	w.sync(exit.Unreachable, "the replies of 33 days are kept")
	w.asFirst()
	w.key = w.second()
	w.transport = renamed{w, []schema.Date{first, first + 1}}
	w.sync(exit.Auth)
	w.asFirst()
	w.service.SetNow(w.service.Now().AddDate(0, 0, 2))
	w.sync(exit.OK, "2 days proven from quarantine")
	for d, spend := range truth {
		if day := w.account().Days[d]; day == nil || int64(day.Sums.Spend) != spend {
			t.Errorf("%s: %+v is stored, the service had %d millionths", d, day, spend)
		}
	}
	if since := w.account().Since; since != first {
		t.Errorf("the coverage begins with %s, and %s is stored", since, first)
	}
	if own := w.withheld(w.service.CampaignIDs()); len(own) > 0 {
		t.Errorf("the replies of %v are still withheld", own)
	}
	w.wantTruth()
}

// TestIdentity_SwitchedWithinARun: in the middle of a run, the report, the key or both switch to another account. Only
// data of the first account is published, and the next run succeeds.
func TestIdentity_SwitchedWithinARun(t *testing.T) {
	const firstDay, someDays, afterMe = 3, 35, 2
	for name, c := range map[string]struct {
		stored    bool
		from      int // the first request of the other account
		key, user bool
		code      int
		says      string
	}{
		"report, later run":          {true, someDays, false, true, exit.Auth, "the report speaks of"},
		"report, first run":          {false, someDays, false, true, exit.Partial, "switched to another account while"},
		"key after /v1/me":           {true, afterMe, true, false, exit.Auth, "the key acts on another account"},
		"key after /v1/me, first":    {false, afterMe, true, false, exit.Auth, ""},
		"both after /v1/me, later":   {true, afterMe, true, true, exit.Auth, "cannot be proven yet"},
		"both after /v1/me, first":   {false, afterMe, true, true, exit.Auth, "acts on"},
		"key after the list, later":  {true, firstDay, true, false, exit.Auth, "the key acts on another account"},
		"both in the middle, first ": {false, someDays, true, true, exit.Auth, ""},
	} {
		if !schematest.Drawn(name, 3) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, twoAccounts)
			w.rereadAll()
			w.job.Concurrency = 1
			if c.stored {
				w.first()
				w.service.Advance(time.Hour)
			}
			then := switched{from: c.from, key: w.key, user: w.user}
			if c.key {
				then.key = w.second()
			}
			if c.user {
				then.user = secondUser
			}
			w.transport = &switching{w: w, at: []switched{{key: w.key, user: w.user}, then}}
			w.sync(c.code, c.says)
			if w.published() {
				if got := w.foreignRows(w.service.CampaignIDs()); got != "" {
					t.Errorf("rows of another account: %s", got)
				}
				if n := w.ask("SELECT count(*) FROM campaign_history WHERE is_deleted"); n != "0" {
					t.Errorf("%s campaigns have ended", n)
				}
			}
			w.asFirst()
			w.service.Advance(time.Hour)
			w.sync(exit.OK)
			if got := w.foreignRows(w.service.CampaignIDs()); got != "" {
				t.Errorf("rows of another account: %s", got)
			}
			w.wantTruth()
		})
	}
}

// switching sends every request with the credentials of one of two accounts, and makes some requests fail or take long.
// A schedule determines this for each request of a run.
type switching struct {
	w  *world
	mu sync.Mutex
	n  int
	at []switched // ordered by from
}

// switched is one entry of the schedule. It applies from the request number from.
type switched struct {
	from      int
	key, user string
	path      *regexp.Regexp // of requests that fail or take long; nil: none
	status    int            // 0: these requests take long
	body      string
	delay     time.Duration
}

func (s *switching) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.n++
	now := s.at[0]
	for _, next := range s.at {
		if next.from <= s.n {
			now = next
		}
	}
	s.mu.Unlock()
	req = req.Clone(req.Context())
	if req.URL.Host == "report.test" {
		req.SetBasicAuth(now.user, adsim.DefaultPassword)
	} else {
		req.Header.Set("Authorization", "Bearer "+now.key)
	}
	if now.path != nil && now.path.MatchString(req.URL.Path) {
		if now.status != 0 {
			return replyWith(req, now.status, now.body), nil
		}
		s.w.service.Advance(now.delay)
	}
	return s.w.service.Transport().RoundTrip(req)
}

// newSwitching makes a random schedule of one run.
func (w *world) newSwitching(rnd *rand.Rand) *switching {
	paths := []string{`/v1/me$`, `/v1/campaigns$`, `/v1/campaigns/`, `/v1/campaigns`, `spend-report`, `/v1/`}
	const requests = 60 // about as many as a run sends
	var at []switched
	for range 1 + rnd.IntN(4) {
		next := switched{from: 1 + rnd.IntN(requests), key: w.key, user: w.user}
		if rnd.IntN(3) == 0 {
			next.key = w.second()
		}
		if rnd.IntN(3) == 0 {
			next.user = secondUser
		}
		switch path := regexp.MustCompile(paths[rnd.IntN(len(paths))]); rnd.IntN(4) {
		case 0:
			next.path, next.status = path, []int{200, 404, 500, 503}[rnd.IntN(4)]
			next.body = []string{"[]", "{}", "", "null"}[rnd.IntN(4)]
		case 1:
			next.path, next.delay = path, time.Duration(rnd.IntN(70))*time.Second
		}
		at = append(at, next)
	}
	slices.SortFunc(at, func(a, b switched) int { return a.from - b.from })
	at[0].from = 0
	return &switching{w: w, at: at}
}

// withheld returns the days in quarantine that have a campaign of the account.
func (w *world) withheld(own []string) (days []schema.Date) {
	w.t.Helper()
	kept, err := load.Quarantined(w.job.DataDir, w.job.Account)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, q := range kept {
		if slices.ContainsFunc(q.Campaigns, func(id string) bool { return slices.Contains(own, id) }) {
			days = append(days, q.Date)
		}
	}
	return days
}

// pinnedBy returns the service's name of the account that a key acts on.
func (w *world) pinnedBy(key string) string {
	w.t.Helper()
	c := w.client("https://ads.test"+adsim.APIPrefix, 120, func(r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+key)
	})
	me, err := c.Me(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	name, err := transform.AccountRef(nil, me)
	if err != nil {
		w.t.Fatal(err)
	}
	return name
}

// TestIdentity_RandomLives: credentials are swapped, and requests are delayed or fail, also within one run. No row or
// version of the other account is ever stored, and no day is lost if its replies were kept. Once the faults end, the
// store is complete.
func TestIdentity_RandomLives(t *testing.T) {
	schematest.Long(t)
	lives, first := schematest.Times(1, 6, 400), 0
	seeds := []int{128} // the report belongs to the other account; so does the key, during one request of the proof
	for seed := first; seed < first+lives; seed++ {
		if seed != seeds[0] {
			seeds = append(seeds, seed)
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, twoAccounts)
			w.rereadAll()
			rnd := rand.New(rand.NewPCG(uint64(seed), 34))
			other := w.pinnedBy(w.second())
			kept := map[schema.Date]bool{} // days of the account whose replies were kept
			check := func() (isOther bool) {
				own := w.service.CampaignIDs()
				if w.published() {
					of2 := w.service.Account(1).CampaignIDs()
					// If all credentials belong to the other account during the entire first run, the other account is
					// stored.
					isOther = w.account().Pinned == other || w.account().Pinned == "" && w.foreignRows(of2) == ""
					if isOther {
						own = of2
					}
					if got := w.foreignRows(own); got != "" {
						t.Fatalf("rows of another account: %s", got)
					}
				}
				for _, d := range w.withheld(own) {
					kept[d] = true
				}
				return isOther
			}
			for range 4 {
				w.transport = w.newSwitching(rnd)
				if _, err := w.next().Sync(t.Context()); err != nil {
					t.Fatal(err)
				}
				if check() {
					return // the other account is pinned, because the operator's key was of that account
				}
				w.service.SetNow(w.service.Now().Add(time.Duration(rnd.IntN(20)) * time.Hour))
			}
			w.asFirst()
			res, err := w.next().Sync(t.Context())
			code := exit.OK
			if err == nil && strings.Contains(res.Run.Message.V, "lost for good") {
				code = exit.DayAtRisk // no run kept the replies of that day before the day left the reach
			}
			w.want(res, err, code)
			check()
			for day := range kept {
				if w.account().Days[day] == nil {
					t.Errorf("%s is lost, and its replies were kept: %s", day, res.Run.Message.V)
				}
			}
			w.wantTruth()
		})
	}
}
