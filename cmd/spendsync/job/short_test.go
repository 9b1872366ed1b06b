package job

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

var oneCreative = regexp.MustCompile(`/v1/creatives/([^/]+)$`)

// requestedCreatives syncs, and counts the requests for each single creative.
func (w *world) requestedCreatives(code int, says ...string) map[string]int {
	w.t.Helper()
	before, ids := len(w.service.Requests()), map[string]int{}
	w.service.Advance(time.Hour)
	w.sync(code, says...)
	for _, r := range w.service.Requests()[before:] {
		if m := oneCreative.FindStringSubmatch(r.Path); m != nil {
			ids[m[1]]++
		}
	}
	return ids
}

// wantCreatives compares the stored creatives with the service's.
func (w *world) wantCreatives() {
	w.t.Helper()
	if got := w.settings(); got != "" {
		w.t.Errorf("other settings: %s", got)
	}
}

func manyCreatives(quirks ...string) func(*adsim.Config) {
	return func(c *adsim.Config) { c.Campaigns, c.CreativesPerCampaign, c.Quirks = 6, 6, quirks }
}

// TestShortList_CostsNothingWhereListsAreComplete: if the entries of lists are complete, no creative is requested.
func TestShortList_CostsNothingWhereListsAreComplete(t *testing.T) {
	w := newWorld(t, manyCreatives())
	for range 2 {
		if got := w.requestedCreatives(exit.OK); len(got) > 0 {
			t.Errorf("requested: %v", got)
		}
	}
	w.wantCreatives()
}

// TestShortList_CreativesAreRequested: a creative whose entry lacks the content is requested once in each run. If the
// creative is archived, it is requested only until its content is stored.
func TestShortList_CreativesAreRequested(t *testing.T) {
	w := newWorld(t, manyCreatives("list-short"))
	var all []string
	for _, id := range w.service.CampaignIDs() {
		s, err := w.service.Settings(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range s.Creatives {
			all = append(all, c.CreativeID)
		}
	}
	slices.Sort(all)
	want := func(asked map[string]int, ids []string) {
		t.Helper()
		if got := slices.Sorted(maps.Keys(asked)); !slices.Equal(got, ids) {
			t.Errorf("requested: %q, want %q", got, ids)
		}
		for id, n := range asked {
			if n != 1 {
				t.Errorf("%d requests for %s", n, id)
			}
		}
		w.wantCreatives()
	}
	want(w.requestedCreatives(exit.OK), all)
	live := strings.Fields(w.ask("SELECT creative_id FROM creative_history WHERE is_current AND status <> 'archived' " +
		"AND campaign_id IN (SELECT campaign_id FROM campaign_history WHERE is_current AND status <> 'archived') " +
		"ORDER BY 1"))
	if len(live) == 0 || len(live) == len(all) {
		t.Fatalf("%d of %d creatives are not archived", len(live), len(all))
	}
	w.change(adsim.Change{Creative: live[0], Set: map[string]any{"title": "Other", "button1": nil}})
	want(w.requestedCreatives(exit.OK), live)
	got := w.ask("SELECT title, changed_columns FROM creative_history WHERE is_current AND creative_id = '%s'", live[0])
	if !strings.HasPrefix(got, "Other|") {
		t.Errorf("the changed creative is %s", got)
	}
	w.job.Full = true
	want(w.requestedCreatives(exit.OK), all)
	w.wantVerified()
}

// TestShortList_TheRestIsReadByLaterRuns: a run requests at most as many creatives as it may send requests in a minute.
// Until a creative is read, its content is unknown; known content is kept. Archived campaigns are listed again until
// their creatives are read.
func TestShortList_TheRestIsReadByLaterRuns(t *testing.T) {
	w := newWorld(t, manyCreatives("list-short"))
	w.job.RequestsPerMinute = 8
	const partial = "SELECT count(*) FROM creative_history WHERE read_state = 'partial' AND title IS NULL"
	read, runs := map[string]bool{}, 0
	for left := ""; left != "0"; {
		asked := w.requestedCreatives(exit.OK)
		left, runs = w.ask(partial), runs+1
		if len(asked) != 8 || runs > 6 {
			t.Fatalf("run %d requests %v, and %s creatives are left", runs, asked, left)
		}
		for id := range asked {
			if read[id] && left != "0" {
				t.Errorf("%s is requested again before others are read", id)
			}
			read[id] = true
		}
	}
	if runs < 4 {
		t.Errorf("all are read in %d runs", runs)
	}
	w.wantCreatives()
	if got := w.ask("SELECT count(*) FROM creative_history WHERE version_no > 1"); got != "0" {
		t.Errorf("%s further versions, although nothing has changed", got)
	}
	// The status comes from the list, even if the creative itself is not requested.
	w.job.RequestsPerMinute = 1
	ids := strings.Fields(w.ask("SELECT creative_id FROM creative_history WHERE is_current AND status = 'active' " +
		"AND campaign_id IN (SELECT campaign_id FROM campaign_history WHERE is_current AND status <> 'archived') " +
		"ORDER BY 1"))
	for _, id := range ids {
		w.change(adsim.Change{Creative: id, Set: map[string]any{"status": "paused"}})
	}
	if asked := w.requestedCreatives(exit.OK, "left to the next run"); len(asked) != 1 {
		t.Errorf("requested: %v", asked)
	}
	w.wantCreatives()
	got := w.ask(`SELECT count(*) FROM creative_history WHERE is_current AND raw NOT LIKE '%%"title"%%'`)
	if got != "0" {
		t.Errorf("the JSON of %s creatives has lost its title", got)
	}
	w.service.Advance(25 * time.Hour)
	w.requestedCreatives(exit.Partial, "creatives not read for a day or longer")
	w.wantVerified()
}

// TestShortList_RepliesAsShortAsTheEntries: if a creative's own reply lacks the content, too, each run requests a
// limited number of creatives, those first that were requested longest ago, and reports which values are missing.
func TestShortList_RepliesAsShortAsTheEntries(t *testing.T) {
	w := newWorld(t, manyCreatives("list-short"))
	w.job.RequestsPerMinute = 8
	title := regexp.MustCompile(`"(title|created_at)":"(\\.|[^"\\])*",?`)
	w.transport = &rewriter{of: w.service.Transport(), edit: func(path, body string) (int, string) {
		if strings.Contains(path, "creatives") {
			body = strings.ReplaceAll(title.ReplaceAllString(body, ""), ",}", "}")
		}
		return 0, body
	}}
	asked := map[string]int{}
	for range 3 {
		one := w.requestedCreatives(exit.Partial, "creative: title missing or not usable in most of 8 reads",
			"only the service can show the values")
		if len(one) != 8 {
			t.Errorf("requested: %v", one)
		}
		for id := range one {
			asked[id]++
		}
	}
	if len(asked) != 24 {
		t.Errorf("3 runs request %d creatives, want 24", len(asked))
	}
	if _, err := w.next().Accept(t.Context(), "settings.creative.title.missing", false, nil); err != nil {
		t.Fatal(err)
	}
	w.requestedCreatives(exit.OK)
}

// TestShortList_RefusedRequestsAreReported: if the service answers the request for a listed creative with not_found,
// the run reports the creative, which does not end.
func TestShortList_RefusedRequestsAreReported(t *testing.T) {
	w := newWorld(t, manyCreatives("list-short"))
	w.transport = &rewriter{of: w.service.Transport(), edit: func(path, body string) (int, string) {
		if strings.HasPrefix(path, "creatives/") {
			return 404, `{"error":{"code":"not_found","message":"no such creative"}}`
		}
		return 0, body
	}}
	for range 3 {
		w.requestedCreatives(exit.Partial, "no such creative")
	}
	w.wantEnded("creative_history", "0")
	w.transport = nil
	w.requestedCreatives(exit.OK)
	w.wantCreatives()
	if got := w.ask("SELECT count(*) FROM ops.entity_read WHERE read_state = 'failed'"); got != "0" {
		t.Errorf("%s lines of failed requests are left", got)
	}
}
