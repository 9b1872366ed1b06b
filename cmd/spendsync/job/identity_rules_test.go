package job

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
)

// listOf is an advertiser API that lists campaigns; of "500", it fails.
type listOf string

func (ids listOf) RoundTrip(r *http.Request) (*http.Response, error) {
	if ids == "500" {
		return replyWith(r, http.StatusInternalServerError, "{}"), nil
	}
	var all []string
	for _, id := range strings.Fields(string(ids)) {
		all = append(all, `{"id":"`+id+`"}`)
	}
	return replyWith(r, http.StatusOK, "["+strings.Join(all, ",")+"]"), nil
}

// TestProver_AskAgain: only campaigns that the key lists twice count, and a list whose end is not proven only as a
// whole, since it may be of two accounts.
func TestProver_AskAgain(t *testing.T) {
	done := make(chan struct{})
	close(done)
	for name, c := range map[string]struct {
		listed, again string
		cut           bool // the end of the first list is not proven
		both          string
		code          int
	}{
		"the same":               {"C1000001 C1000002", "C1000002 C1000001", false, "[C1000002 C1000001]", exit.OK},
		"one of two":             {"C1000001 C1000002", "C1000002", false, "[C1000002]", exit.OK},
		"another account's":      {"C1000001", "C1000009", false, "[]", exit.OK},
		"cut, the same":          {"C1000001 C1000002", "C1000001 C1000002", true, "[C1000001 C1000002]", exit.OK},
		"cut, one is gone":       {"C1000001 C1000002", "C1000001", true, "[]", exit.Contract},
		"cut, one is new":        {"C1000001", "C1000001 C1000002", true, "[]", exit.Contract},
		"cut before any":         {"", "C1000001", true, "[]", exit.Contract},
		"it fails the next time": {"C1000001", "500", false, "[]", exit.Unreachable},
	} {
		client, err := extract.NewClient(extract.Options{BaseURL: "https://ads.test", Authorize: func(*http.Request) {},
			RetryBudget: 1, Transport: listOf(c.again)})
		if err != nil {
			t.Fatal(err)
		}
		list := &campaignList{done: done, listing: extract.Listing{Complete: !c.cut, Why: "it is cut"}}
		for _, id := range strings.Fields(c.listed) {
			list.listing.Entities = append(list.listing.Entities, extract.Entity{ID: id})
		}
		p := &prover{s: &session{Job: Job{API: client}}, key: keyProof{list: list}}
		both, err := p.askAgain(t.Context(), strings.Fields(c.listed))
		if fmt.Sprint(both) != c.both || (err == nil) != (c.code == exit.OK) || err != nil && exit.Of(err) != c.code {
			t.Errorf("%s: %v, %v", name, both, err)
		}
		client.Close()
	}
}
