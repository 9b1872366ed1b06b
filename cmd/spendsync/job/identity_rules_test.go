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
		got := s.confirmKey(t.Context(), keyProof{who: identity{account: c.account},
			list: &campaignList{done: closed()}})
		if (got == nil) != (c.want == nil) || !errors.Is(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestProver_AskAgain: only campaigns that the key lists twice count, and a list whose end is not proven only as a
// whole, since it may be of two accounts.
func TestProver_AskAgain(t *testing.T) {
	for name, c := range map[string]struct {
		listed, again string
		cut           bool // the end of the first list is not proven
		both          string
		want          error // nil: it is asked and answered
	}{
		"the same":               {"C1000001 C1000002", "C1000002 C1000001", false, "[C1000002 C1000001]", nil},
		"one of two":             {"C1000001 C1000002", "C1000002", false, "[C1000002]", nil},
		"another account's":      {"C1000001", "C1000009", false, "[]", nil},
		"cut, the same":          {"C1000001 C1000002", "C1000001 C1000002", true, "[C1000001 C1000002]", nil},
		"cut, one is gone":       {"C1000001 C1000002", "C1000001", true, "[]", extract.ErrContract},
		"cut, one is new":        {"C1000001", "C1000001 C1000002", true, "[]", extract.ErrContract},
		"cut before any":         {"", "C1000001", true, "[]", extract.ErrContract},
		"it fails the next time": {"C1000001", "500", false, "[]", extract.ErrUnavailable},
	} {
		s := sessionOf(t, &fakeAPI{me: []string{`{}`}, lists: []string{c.again}})
		list := &campaignList{done: closed(), listing: extract.Listing{Complete: !c.cut, Why: "it is cut"}}
		for _, id := range strings.Fields(c.listed) {
			list.listing.Entities = append(list.listing.Entities, extract.Entity{ID: id})
		}
		both, err := (&prover{s: s, key: keyProof{list: list}}).askAgain(t.Context(), strings.Fields(c.listed))
		isContract := exit.Of(err) == exit.Contract
		if fmt.Sprint(both) != c.both || (err == nil) != (c.want == nil) ||
			isContract != (c.want == extract.ErrContract) || !isContract && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, both, err)
		}
	}
}
