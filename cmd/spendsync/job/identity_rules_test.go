package job

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
)

// fakeAPI is an advertiser API whose every answer the test states: a body, or "404", "500" and so on.
type fakeAPI struct {
	me        []string          // in order; the last one for ever
	campaigns map[string]string // by ID: a status; empty: it is there
	lists     []string          // IDs, or a status, in order; the last one for ever

	mu    sync.Mutex // the list and the key are asked at the same time
	asked []string
}

func (f *fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, path)
	next := func(of *[]string) string {
		one := (*of)[0]
		if len(*of) > 1 {
			*of = (*of)[1:]
		}
		return one
	}
	body := ""
	id, isCampaign := strings.CutPrefix(path, "campaigns/")
	switch {
	case path == "me":
		body = next(&f.me)
	case isCampaign:
		if body = f.campaigns[id]; body == "" {
			body = `{"id":"` + id + `"}`
		}
	default:
		if body = next(&f.lists); len(body) != 3 {
			var ids []string
			for _, id := range strings.Fields(body) {
				ids = append(ids, `{"id":"`+id+`"}`)
			}
			body = "[" + strings.Join(ids, ",") + "]"
		}
	}
	status := 200
	if n, err := fmt.Sscanf(body, "%d", &status); n == 1 && err == nil {
		body = `{"error":{"code":"x","message":"it fails"}}`
		if status == 404 {
			body = `{"error":{"code":"not_found","message":"it is not there"}}`
		}
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, ContentLength: -1, Request: r,
		Body: io.NopCloser(strings.NewReader(body))}, nil
}

// sessionOf is a session of a new store that asks an API.
func sessionOf(t *testing.T, api *fakeAPI) *session {
	t.Helper()
	client, err := extract.NewClient(extract.Options{BaseURL: "https://ads.test", Authorize: func(*http.Request) {},
		RetryBudget: 1, Transport: api})
	if err != nil {
		t.Fatal(err)
	}
	j := Job{Account: "acme", DataDir: filepath.Join(t.TempDir(), "data"), RunID: "run1", API: client,
		Log: newTestLog(t),
		Now: atWorldNow}
	s, err := j.begin(t.Context(), "sync")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	return s
}

// TestProver_AskForOne: the key proves campaigns that it reads, one is enough, and five are asked for at most. A
// list that was read is proven by its first campaign, or by being there twice.
func TestProver_AskForOne(t *testing.T) {
	for name, c := range map[string]struct {
		ids       string
		statuses  map[string]string
		lists     []string
		areListed bool
		before    int // that were asked for before
		whole     bool
		by, err   string
		asked     int
	}{
		"the first in order": {ids: "C1000002 C1000001", by: "reads campaign C1000001", asked: 1},
		"the second": {ids: "C1000001 C1000002", statuses: map[string]string{"C1000001": "404"},
			by: "reads campaign C1000002", asked: 2},
		"one that fails, and the second": {ids: "C1000001 C1000002", statuses: map[string]string{"C1000001": "500"},
			by: "reads campaign C1000002", asked: 2},
		"another's": {ids: "C1000001 C1000002", statuses: map[string]string{"C1000001": "404", "C1000002": "404"},
			asked: 2},
		"one that fails": {ids: "C1000001 C1000002", statuses: map[string]string{"C1000001": "500", "C1000002": "404"},
			err: "the campaigns of the API key: ", asked: 2},
		"not understood": {ids: "4711", statuses: map[string]string{"4711": "400"},
			err: "it fails", asked: 1},
		"not understood, beside a whole list": {ids: "4711", statuses: map[string]string{"4711": "400"}, whole: true,
			asked: 1},
		"five at most": {ids: "C1000001 C1000002", before: 4, statuses: map[string]string{"C1000001": "404"},
			asked: 5},
		"five before":        {ids: "C1000001", before: 5, asked: 5},
		"listed, after five": {ids: "C1000001", before: 5, areListed: true, by: "reads campaign", asked: 6},
		"listed, and not there": {ids: "C1000001 C1000002", areListed: true,
			statuses: map[string]string{"C1000001": "404"}, err: "404", asked: 1},
		"listed, fails, and again": {ids: "C1000001", areListed: true,
			statuses: map[string]string{"C1000001": "400"}, lists: []string{"C1000001"},
			by: "lists campaign C1000001 twice", asked: 1},
		"listed, fails, and another": {ids: "C1000001", areListed: true, statuses: map[string]string{"C1000001": "400"},
			lists: []string{"C1000002"}, err: "not the second time", asked: 1},
		"listed, and both fail": {ids: "C1000001", areListed: true, statuses: map[string]string{"C1000001": "400"},
			lists: []string{"401"}, err: "the campaigns of the API key: ", asked: 1},
	} {
		api := &fakeAPI{campaigns: c.statuses, lists: c.lists}
		client, err := extract.NewClient(extract.Options{BaseURL: "https://ads.test", Authorize: func(*http.Request) {},
			RetryBudget: 1, Transport: api})
		if err != nil {
			t.Fatal(err)
		}
		r := &prover{s: &session{Job: Job{API: client}}, key: keyProof{list: &campaignList{}}}
		r.key.list.listing.Complete = c.whole
		asked := c.before
		by, err := r.askForOne(t.Context(), strings.Fields(c.ids), c.areListed, &asked)
		if !strings.Contains(by,
			c.by) || (by == "") != (c.by == "") || asked != c.asked || (c.err == "") != (err == nil ||
			c.by != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v, asked %d", name, by, err, asked)
		}
	}
}

// TestProver_HasNone: days are another account's if the service answers 404 for their first campaigns.
func TestProver_HasNone(t *testing.T) {
	for name, c := range map[string]struct {
		statuses map[string]string
		keyErr   error
		want     bool
	}{
		"none": {map[string]string{"a": "404", "b": "404", "c": "404", "d": "404", "e": "404"},
			nil, true},
		"one is there": {map[string]string{"a": "404", "b": "404", "d": "404", "e": "404"}, nil, false},
		"one fails": {map[string]string{"a": "404", "b": "400", "c": "404", "d": "404", "e": "404"},
			nil, false},
		"the key is not proven yet": {map[string]string{"a": "404", "b": "404", "c": "404", "d": "404", "e": "404"},
			errors.New("x"), false},
	} {
		api := &fakeAPI{campaigns: c.statuses}
		r := &prover{s: sessionOf(t, api), key: keyProof{err: c.keyErr}}
		// The sixth, f, is not asked for.
		if got := r.hasNone(t.Context(), []reply{{campaigns: []string{"f", "e", "d"}}, {campaigns: []string{"c", "b",
			"a"}}}); got != c.want {
			t.Errorf("%s: %v, asked %v", name, got, api.asked)
		}
	}
}

// TestSession_ConfirmKey: the key must still act on the account that it acted on, if the service states so at all.
func TestSession_ConfirmKey(t *testing.T) {
	for name, c := range map[string]struct {
		account, me string
		want        error // nil: it is confirmed
	}{
		"the same":            {"adv_1", `{"account_id":"adv_1"}`, nil},
		"another":             {"adv_1", `{"account_id":"adv_2"}`, exit.ErrOtherAccount},
		"none any more":       {"adv_1", `{"scope":"read"}`, errUnnamed},
		"it fails":            {"adv_1", "400", extract.ErrContract},
		"it never named one":  {"", `{"account_id":"adv_2"}`, nil},
		"refused in between":  {"adv_1", "401", extract.ErrAuth},
		"out of reach by now": {"adv_1", "500", extract.ErrUnavailable},
	} {
		api := &fakeAPI{me: []string{c.me}}
		client, err := extract.NewClient(extract.Options{BaseURL: "https://ads.test", Authorize: func(*http.Request) {},
			RetryBudget: 1, Transport: api})
		if err != nil {
			t.Fatal(err)
		}
		s := &session{Job: Job{API: client, Account: "acme"}}
		got := s.confirmKey(t.Context(), keyProof{who: identity{account: c.account}})
		if (got == nil) != (c.want == nil) || !errors.Is(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestSession_ProveKey on a store of which nothing is known: the service names the account, or the operator accepts
// one that never does. A key that is refused, or a URL that is wrong, is said at once.
func TestSession_ProveKey(t *testing.T) {
	for name, c := range map[string]struct {
		me      string
		list    string
		accepts bool
		by      string
		err     error // what is in the way
		says    string
		meErr   bool
	}{
		"it is named": {me: `{"account_id":"adv_1"}`, list: "C1000001", by: "/v1/me names account adv_1"},
		"refused":     {me: "401", list: "401", err: extract.ErrAuth, says: "whom the key acts for"},
		"never named": {me: `{"scope":"read"}`, list: "C1000001", err: exit.ErrUsage,
			says: "--accept-unpinned"},
		"never named, accepted":    {me: `{"scope":"read"}`, list: "C1000001", accepts: true, by: "accepted without"},
		"not understood":           {me: "400", list: "C1000001", err: exit.ErrUsage, says: "--accept-unpinned"},
		"not understood, accepted": {me: "400", list: "C1000001", accepts: true, by: "accepted without", meErr: true},
		"it fails": {me: "500", list: "C1000001",
			err: extract.ErrUnavailable, says: "waiting for proof"},
		"it fails, accepted": {me: "500", list: "C1000001", accepts: true, err: extract.ErrUnavailable,
			says: "waiting for proof"},
		"both fail": {me: "500", list: "400", err: extract.ErrUnavailable,
			says: "its list of campaigns: "},
		"nothing is there": {me: "404", list: "404", err: exit.ErrUsage, says: "whom the key acts for"},
		"me is not there":  {me: "404", list: "C1000001", err: exit.ErrUsage, says: "--accept-unpinned"},
	} {
		api := &fakeAPI{me: []string{c.me}, lists: []string{c.list}}
		s := sessionOf(t, api)
		s.AcceptUnpinned = c.accepts
		me, list := s.askIdentity(t.Context()), s.listCampaigns(t.Context())
		p := s.beginKeyProof(me, list)()
		if (p.err == nil) != (c.err == nil) || !errors.Is(p.err, c.err) || p.err != nil &&
			!strings.Contains(p.err.Error(), c.says) || p.err == nil && !strings.Contains(p.by, c.by) ||
			(p.meErr != nil) != c.meErr {
			t.Errorf("%s: %q, %v, %v", name, p.by, p.err, p.meErr)
		}
		s.asking.Wait()
	}
}

// TestSession_ProveKeyOfAStore: the account of the first run is the account; if the service does not name it now, a
// stored campaign in the key's list proves the same, and a stub does not.
func TestSession_ProveKeyOfAStore(t *testing.T) {
	w := newWorld(t)
	w.first()
	own := w.service.CampaignIDs()[0]
	s, err := w.next().begin(t.Context(), "sync")
	if err != nil {
		t.Fatal(err)
	}
	defer s.end()
	first := s.store.Account().Pinned
	for name, c := range map[string]struct {
		pinned string
		me     string
		list   string
		by     string
		err    error
		meErr  bool
	}{
		"the same": {first, `{"account_id":"` + first + `"}`, "", "names account " + first,
			nil, false},
		"another": {first, `{"account_id":"x"}`, own, "", exit.ErrOtherAccount, false},
		"it fails, a stored campaign": {first, "500", own + " C9999999", "lists the stored campaign " + own,
			nil, true},
		"it fails, another's campaigns": {first, "500", "C9999999", "", extract.ErrUnavailable, false},
		"it fails, no list":             {first, "500", "400", "", extract.ErrUnavailable, false},
		"unnamed, a stored campaign":    {first, `{"scope":"read"}`, own, "lists the stored campaign", nil, true},
		"unnamed, others":               {first, `{"scope":"read"}`, "C9999999", "", errUnnamed, false},
		"never named, a stored campaign": {acceptedUnpinned, `{"scope":"read"}`, own, "lists the stored campaign",
			nil, false},
		"never named, and it fails":        {acceptedUnpinned, "500", own, "lists the stored campaign", nil, true},
		"never named, others":              {acceptedUnpinned, `{"scope":"read"}`, "C9999999", "", errUnnamed, false},
		"nothing is there, once it worked": {first, "404", "404", "", extract.ErrContract, false},
	} {
		api := &fakeAPI{me: []string{c.me}, lists: []string{c.list}}
		s.API, err = extract.NewClient(extract.Options{BaseURL: "https://ads.test", Authorize: func(*http.Request) {},
			RetryBudget: 1, Transport: api})
		if err != nil {
			t.Fatal(err)
		}
		s.store.Account().Pinned = c.pinned
		p := s.proveKey(s.askIdentity(t.Context()), s.listCampaigns(t.Context()))
		if (p.err == nil) != (c.err == nil) || !errors.Is(p.err, c.err) || p.err == nil && !strings.Contains(p.by,
			c.by) ||
			(p.meErr != nil) != c.meErr || errors.Is(p.err, exit.ErrUsage) {
			t.Errorf("%s: %q, %v, %v", name, p.by, p.err, p.meErr)
		}
		s.asking.Wait()
	}
}

// TestProver_AskTheKey: replies that nothing stored proves are proven by a key that reads a campaign of each, and acts
// on its account before and after that.
func TestProver_AskTheKey(t *testing.T) {
	const ours, other = `{"account_id":"adv_1"}`, `{"account_id":"adv_2"}`
	day := func(campaigns ...string) reply { return reply{&copiedDay{}, campaigns} }
	a, b, theirs := day("C1000001", "C1000002"), day("C1000002"), day("C2000001")
	list := reply{campaigns: []string{"C1000001", "C1000003"}}
	for name, c := range map[string]struct {
		left    []reply
		me      []string
		isFirst bool
		full    bool
		want    string // what nothing proves
		by      bool   // the report is proven
		err     error  // the run ends
		asked   string
	}{
		"all are ours": {left: []reply{a, b}, me: []string{ours}, isFirst: true, want: "[]", by: true,
			asked: "me campaigns/C1000001 me campaigns/C1000001 me"},
		"one is another's": {left: []reply{theirs, a}, me: []string{ours}, isFirst: true, want: "[C2000001]", by: true,
			asked: "me campaigns/C2000001 campaigns/C1000001 me campaigns/C2000001 campaigns/C1000001 me"},
		"all are": {left: []reply{theirs}, me: []string{ours}, isFirst: true, want: "[C2000001]",
			asked: "me campaigns/C2000001"},
		"the key is another's before": {left: []reply{a}, me: []string{other}, isFirst: true,
			want: "[C1000001 C1000002]",
			err:  exit.ErrOtherAccount, asked: "me"},
		"the key is another's after": {left: []reply{a}, me: []string{ours, other}, isFirst: true,
			want: "[C1000001 C1000002]", err: exit.ErrOtherAccount, by: true, asked: "me campaigns/C1000001 me"},
		"it does not answer before": {left: []reply{a}, me: []string{"400"}, isFirst: true, want: "[C1000001 C1000002]",
			asked: "me"},
		"it does not answer after": {left: []reply{a}, me: []string{ours, "400"}, isFirst: true,
			want:  "[C1000001 C1000002]",
			asked: "me campaigns/C1000001 me"},
		"the key is another's in the end": {left: []reply{a}, me: []string{ours, ours, other}, isFirst: true,
			want: "[C1000001 C1000002]", err: exit.ErrOtherAccount, by: true,
			asked: "me campaigns/C1000001 me campaigns/C1000001 me"},
		"something stored proves": {left: []reply{a}, me: []string{ours}, want: "[C1000001 C1000002]"},
		"a list, read in full": {left: []reply{list, theirs}, me: []string{ours}, full: true, want: "[C2000001]",
			asked: "me campaigns/C1000001 me campaigns/C1000001 me"},
		"days, read in full": {left: []reply{a}, me: []string{ours}, full: true, want: "[C1000001 C1000002]"},
		"a list and the days": {left: []reply{list, a}, me: []string{ours}, isFirst: true, want: "[]",
			asked: "me campaigns/C1000001 me campaigns/C1000001 me"},
		"nothing is left": {me: []string{ours}, isFirst: true, want: "[]"},
	} {
		api := &fakeAPI{me: c.me, campaigns: map[string]string{"C2000001": "404"}}
		s := sessionOf(t, api)
		s.Full = c.full
		done := make(chan struct{})
		close(done)
		r := &prover{s: s, key: keyProof{who: identity{account: "adv_1"}, list: &campaignList{done: done,
			listing: extract.Listing{Complete: true, Entities: []extract.Entity{{ID: "C1000001"}}}}}}
		p := &reportProof{witnesses: witnesses{}, left: c.left}
		err := r.askTheKey(t.Context(), p, c.isFirst)
		got := fmt.Sprint(campaignsIn(p.left))
		if got != c.want || (p.by != "") != c.by || (err == nil) != (c.err == nil) ||
			!errors.Is(err, c.err) || strings.Join(api.asked, " ") != c.asked {
			t.Errorf("%s: left %s by %q, %v, %v, asked %v", name, got, p.by, p.err, err, api.asked)
		}
		if r.key.err = errors.New("x"); r.askTheKey(t.Context(), p,
			true) != nil || len(api.asked) > len(strings.Fields(c.asked)) {
			t.Errorf("%s: a key that is not proven proves: asked %v", name, api.asked)
		}
	}
}
