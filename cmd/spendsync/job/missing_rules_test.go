package job

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// TestLostMany: one entity may go at any time, and so may half of them; more at once is the reply's doing.
func TestLostMany(t *testing.T) {
	for c, want := range map[[2]int]bool{{0, 0}: false, {1, 1}: false, {2, 2}: true, {2, 3}: true, {2, 4}: false,
		{3, 6}: false, {3, 5}: true, {100, 199}: true, {100, 200}: false} {
		if got := lostMany(c[0], c[1]); got != want {
			t.Errorf("%d of %d: %t", c[0], c[1], got)
		}
	}
}

func atWorldNow() time.Time { return worldNow }

// TestToAsk: those that were confirmed longest ago are asked for first, living ones before archived ones, and an
// archived one once a day. What the run may not ask for any more is left, archived ones excepted.
func TestToAsk(t *testing.T) {
	at := func(hours int) schema.Instant {
		return schema.InstantOf(worldNow) - schema.Instant(hours)*3_600_000_000
	}
	missing := map[string]standing{
		"new": {confirmed: at(1)}, "old": {confirmed: at(9)}, "b": {confirmed: at(5)}, "a": {confirmed: at(5)},
		"archived": {archived: true, confirmed: at(24)}, "archived long ago": {archived: true, confirmed: at(90)},
		"archived and asked": {archived: true, confirmed: at(23)},
	}
	order := []string{"old", "a", "b", "new", "archived long ago", "archived"}
	for may, left := range map[int]int{0: 4, 1: 3, 4: 0, 5: 0, 100: 0} {
		n := &settingsReader{run: &session{Job: Job{Now: atWorldNow, RequestsPerMinute: may + 2}}, asked: 2}
		ids, rest := n.toAsk(missing)
		if !slices.Equal(ids, order[:min(may, len(order))]) || rest != left || n.asked != 2+len(ids) {
			t.Errorf("%d requests: %q and %d left, %d asked", may, ids, rest, n.asked)
		}
	}
	n := &settingsReader{run: &session{Job: Job{Now: atWorldNow, RequestsPerMinute: 3}}, asked: 9}
	if ids, left := n.toAsk(missing); len(ids) > 0 || left != 4 || n.asked != 9 {
		t.Errorf("after the limit: %q, %d", ids, left)
	}
}

// paths is an advertiser API by its paths: a body, or a status such as "404".
type paths map[string]string

func (p paths) RoundTrip(r *http.Request) (*http.Response, error) {
	body := p[strings.TrimPrefix(r.URL.Path, "/v1/")]
	if status, err := strconv.Atoi(body); err == nil {
		if status == http.StatusNotFound {
			return replyWith(r, status, `{"error":{"code":"not_found","message":"it is not there"}}`), nil
		}
		return replyWith(r, status, `{"error":{"code":"x","message":"it fails"}}`), nil
	}
	return replyWith(r, http.StatusOK, body), nil
}

// readerOf is a reader of settings beside the store of a world's first sync.
func readerOf(t *testing.T, dir string, api paths) (n *settingsReader, end func()) {
	t.Helper()
	client, err := extract.NewClient(extract.Options{BaseURL: "https://ads.test", Authorize: func(*http.Request) {},
		RetryBudget: 1, Transport: api})
	if err != nil {
		t.Fatal(err)
	}
	j := Job{Account: "acme", DataDir: dir, RunID: "run9", API: client, Log: newTestLog(t), Now: atWorldNow,
		RequestsPerMinute: 100, Store: load.Options{KeepRaw: true}}
	s, err := j.begin(t.Context(), "sync")
	if err != nil {
		t.Fatal(err)
	}
	s.plan.Today = schema.DateOf(worldNow)
	if n = newSettingsReader(s); n.stored == nil {
		n.stored, err = s.storedCampaigns()
	}
	if err != nil {
		t.Fatal(err)
	}
	return n, func() { s.end(); client.Close() }
}

// said are the failures of a reader in one line.
func (n *settingsReader) said() string {
	var lines []string
	for _, f := range n.read.failures {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "; ")
}

// TestUnlistedCampaigns: a complete listing that lacks a campaign, or half of them, is asked about; one that lacks
// more, or all, is not complete.
func TestUnlistedCampaigns(t *testing.T) {
	w := newWorld(t)
	w.first()
	ids := w.service.CampaignIDs()
	for name, c := range map[string]struct {
		listed   []string
		isPart   bool // the listing is incomplete
		full     bool
		none     bool // the account was not known before
		missing  int
		complete bool
		why      string
	}{
		"all":                       {listed: ids, complete: true},
		"one is missing":            {listed: ids[1:], missing: 1, complete: true},
		"half are":                  {listed: ids[2:], missing: 2, complete: true},
		"more are":                  {listed: ids[3:], missing: 3, why: "lacks 3 of the 4 campaigns that are stored"},
		"more are, read in full":    {listed: ids[3:], missing: 3, full: true, complete: true},
		"all are":                   {missing: 4, why: "the listing of campaigns is empty, and 4 campaigns are known"},
		"all are, read in full":     {missing: 4, full: true, why: "the listing of campaigns is empty"},
		"all are, of a new account": {missing: 4, none: true, complete: true},
		"part of the list":          {listed: ids[1:], isPart: true},
	} {
		n, end := readerOf(t, w.job.DataDir, nil)
		n.run.Full = c.full
		if n.read.listing.Complete = !c.isPart; c.none {
			n.stored = nil
		}
		for _, id := range c.listed {
			n.read.listing.Entities = append(n.read.listing.Entities, extract.Entity{ID: id})
		}
		missing, err := n.unlistedCampaigns()
		if l := n.read.listing; err != nil || len(missing) != c.missing || l.Complete != c.complete ||
			!strings.Contains(l.Why, c.why) || (l.Why == "") != (c.why == "") {
			t.Errorf("%s: %d missing, %+v, %v", name, len(missing), l, err)
		}
		end()
	}
}

// TestAskForCampaigns: a campaign that the listing lacks ends only where the service answers 404 for it.
func TestAskForCampaigns(t *testing.T) {
	w := newWorld(t)
	w.first()
	id := w.service.CampaignIDs()[0]
	archived := `{"id":"` + id + `","status":"archived"}`
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		answer  string
		settled bool
		full    bool
		isOver  bool // the run may ask for no more
		stopped bool
		want    string // due, gone, settled, taken
		says    string
	}{
		"it answers": {answer: `{"id":"` + id + `"}`, want: "1 0 0 0",
			says: "the listing lacks 1 campaign (" + id + ")"},
		"archived":               {answer: archived, want: "1 0 0 0"},
		"archived and settled":   {answer: archived, settled: true, want: "0 0 1 1"},
		"archived, read in full": {answer: archived, settled: true, full: true, want: "1 0 0 0"},
		"settled, and lives": {answer: `{"id":"` + id + `"}`, settled: true, want: "1 0 0 0",
			says: "the listing lacks"},
		"gone":          {answer: "404", want: "0 1 0 0"},
		"it fails":      {answer: "500", want: "0 0 0 0", says: "campaign " + id + ": "},
		"not asked for": {answer: "404", isOver: true, want: "0 0 0 0", says: "lacks 1 campaign more"},
		"settled and not asked for": {answer: "404", isOver: true, settled: true, want: "0 0 1 0",
			says: "1 campaign more"},
		"stopped": {answer: "404", stopped: true, want: "0 0 0 0"},
	} {
		n, end := readerOf(t, w.job.DataDir, paths{"campaigns/" + id: c.answer})
		n.run.Full = c.full
		if n.before = nil; c.settled {
			n.before = []string{id}
		}
		if c.isOver {
			n.asked = n.run.RequestsPerMinute
		}
		ctx := t.Context()
		if c.stopped {
			ctx = stopped
		}
		due := n.askForCampaigns(ctx, map[string]standing{id: {confirmed: 7}})
		if got := fmt.Sprint(len(due), len(n.read.gone), len(n.read.settled), len(n.read.campaigns)); got != c.want ||
			!strings.Contains(n.said(), c.says) || (n.said() == "") != (c.says == "") {
			t.Errorf("%s: %s, %s", name, got, n.said())
		}
		if len(n.read.gone) > 0 && n.read.gone[id] != 7 {
			t.Errorf("%s: last seen at %v", name, n.read.gone[id])
		}
		end()
	}
}

// TestReadUnlistedCreatives: so it is with creatives, campaign by campaign and all together.
func TestReadUnlistedCreatives(t *testing.T) {
	w := newWorld(t)
	w.first()
	campaigns := w.service.CampaignIDs()
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		lacking []int // how many of its two creatives the listing of each campaign lacks
		answer  string
		status  string
		full    bool
		isOver  bool
		stopped bool
		part    int    // campaigns whose listing ended early
		want    string // alone, gone, still complete
		says    string
	}{
		"none":               {answer: "404", want: "0 0 4"},
		"nothing was listed": {lacking: []int{2, 2, 2, 2}, part: 4, answer: "404", want: "0 0 0"},
		"one lives": {lacking: []int{1}, want: "1 0 4",
			says: "listing creatives: the listing lacks 1 creative"},
		"one is archived": {lacking: []int{1}, status: "archived", want: "1 0 4"},
		"one is gone":     {lacking: []int{1}, answer: "404", want: "0 1 4"},
		"one fails":       {lacking: []int{1}, answer: "500", want: "0 0 4", says: "creative "},
		"stopped":         {lacking: []int{1}, answer: "404", stopped: true, want: "0 0 4"},
		"not asked for": {lacking: []int{1}, isOver: true, answer: "404", want: "0 0 4",
			says: "lacks 1 creative more"},
		"all of one": {lacking: []int{2}, answer: "404", want: "0 2 3",
			says: "lacks 2 of the 2 creatives that are stored"},
		"all of one, read in full": {lacking: []int{2}, full: true, answer: "404", want: "0 2 4"},
		"half of each":             {lacking: []int{1, 1, 1, 1}, answer: "404", want: "0 4 4"},
		"most of all": {lacking: []int{1, 1, 1, 2}, answer: "404", want: "0 5 0",
			says: "lacks 1 of the 2 creatives"},
		"most, of those that were listed": {lacking: []int{1, 0, 0, 2}, part: 1, answer: "404", want: "0 2 2",
			says: "lacks 2 of the 3 creatives"},
	} {
		api := paths{}
		n, end := readerOf(t, w.job.DataDir, api)
		n.run.Full = c.full
		stored, err := load.StoredTable(n.run.store, schema.CreativeHistory)
		if err != nil {
			t.Fatal(err)
		}
		lacks := map[string]int{}
		for i, campaign := range campaigns {
			if i >= c.part {
				n.read.allListed[campaign] = true
			}
			if i < len(c.lacking) {
				lacks[campaign] = c.lacking[i]
			}
		}
		for _, row := range stored {
			if lacks[row.CampaignID.V]--; lacks[row.CampaignID.V] < 0 {
				n.read.creatives = append(n.read.creatives, history.Seen[schema.Creative]{Row: row})
			}
			if api["creatives/"+row.CreativeID] = c.answer; c.answer == "" {
				api["creatives/"+row.CreativeID] = `{"id":"` + row.CreativeID + `","status":"` + c.status + `"}`
			}
		}
		if c.isOver {
			n.asked = n.run.RequestsPerMinute
		}
		ctx := t.Context()
		if c.stopped {
			ctx = stopped
		}
		n.readUnlistedCreatives(ctx)
		if got := fmt.Sprint(len(n.read.alone), len(n.read.gone), len(n.read.allListed)); got != c.want ||
			!strings.Contains(n.said(), c.says) || (n.said() == "") != (c.says == "") {
			t.Errorf("%s: %s, %s", name, got, n.said())
		}
		for id, seen := range n.read.gone {
			if seen == 0 {
				t.Errorf("%s: it is not known when %s was last seen", name, id)
			}
		}
		end()
	}
}

// TestConfirmRules: rules end together only where two reads agree that they have.
func TestConfirmRules(t *testing.T) {
	dir, campaign := settingsStore(t), "C1000001"
	blocked := []string{"S1", "S2", "S3", "S4"}
	reply := func(blocked []string, bids string) string {
		return fmt.Sprintf(`{"campaign_id":"C1000001","mode":"block_list","blocked":["%s"],"bid_overrides":[%s]}`,
			strings.Join(blocked, `","`), bids)
	}
	const two = `{"source_id":"S8","bid":0.2},{"source_id":"S9","bid":0.3}`
	for name, c := range map[string]struct {
		left   int // of the four blocked sources, in the first read
		bids   string
		second string
		unread bool // the first could not read this kind
		read   bool // the first counts
		noBids bool // those of the first do not
		says   string
	}{
		"all are there":  {left: 4, bids: two, second: "500", read: true},
		"half are":       {left: 2, bids: two, second: "500", read: true},
		"one, and again": {left: 1, bids: two, second: reply(blocked[:1], two), read: true},
		"one, and then others": {left: 1, bids: two, second: reply(blocked, two),
			says: "a second read in this run differs"},
		"one, and then a failure": {left: 1, bids: two, second: "500",
			says: "kind blocked are missing, and none of them counts"},
		"one, and then another's": {left: 1, bids: two, second: `{"campaign_id":"C9999999"}`, says: "counts as ended"},
		"not read":                {left: 1, bids: two, second: "500", unread: true},
		"the bids": {left: 4, second: "500", read: true, noBids: true,
			says: "kind bid_override are missing"},
		"both": {left: 1, second: "500", noBids: true,
			says: "kind bid_override, blocked are missing"},
	} {
		n, end := readerOf(t, dir, paths{"campaigns/" + campaign + "/sources": c.second})
		e, err := extract.ParseEntity(nil, extract.KindSources, campaign, []byte(reply(blocked[:c.left], c.bids)))
		if err != nil {
			t.Fatal(err)
		}
		first, err := transform.Sources(e, campaign, n.context())
		if err != nil {
			t.Fatal(err)
		}
		kind := [2]string{campaign, schema.RuleBlocked}
		n.read.rules[campaign], n.read.newSources[campaign] = rulesIn(first), []byte("{}")
		n.read.rulesRead[kind], n.read.bidsRead[campaign] = !c.unread, true
		n.read.rulesRead[[2]string{campaign, schema.RuleBid}] = true
		n.read.settled = []string{"x", campaign}
		var log strings.Builder
		n.run.Log = logTo(&log)
		n.confirmRules(t.Context())
		isConfirmed := c.read && c.left == 1 && c.bids != ""
		if strings.Contains(log.String(), "a second read confirms it") != isConfirmed {
			t.Errorf("%s: %s", name, log.String())
		}
		if n.read.rulesRead[kind] != c.read || !strings.Contains(n.said(), c.says) ||
			(n.said() == "") != (c.says == "") ||
			n.read.bidsRead[campaign] == c.noBids || len(n.read.newSources) != 0 ||
			slices.Contains(n.read.settled, campaign) == (c.says != "") || !slices.Contains(n.read.settled, "x") {
			t.Errorf("%s: %+v, %s", name, n.read.rulesRead, n.said())
		}
		end()
	}
}
