package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
)

// TestTables_AreEachListedOnce holds also for a table or view that no group names yet.
func TestTables_AreEachListedOnce(t *testing.T) {
	docs, seen := tableDocs(), map[string]bool{}
	for _, g := range tableGroups {
		for _, name := range g.names {
			if docs[name] == "" || seen[name] {
				t.Errorf("%s: %s is no table or view, or is listed twice", g.title, name)
			}
			seen[name] = true
		}
	}
	for name := range docs {
		line := "\n  " + strings.TrimPrefix(name, "main.") + " "
		if n := strings.Count(tableList(200), line); n != 1 {
			t.Errorf("%s is listed %d times", name, n)
		}
	}
}

func TestTables_SearchesAWord(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"tables", "Restated", "--json"}, nil, &out, &out); code != exit.OK {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	var hits []found
	if err := json.Unmarshal(out.Bytes(), &hits); err != nil || len(hits) == 0 {
		t.Fatalf("%v: %s", err, out.String())
	}
	for _, h := range hits {
		if !strings.Contains(strings.ToLower(h.Table+h.Column+h.Doc), "restated") {
			t.Errorf("found without the word: %+v", h)
		}
	}
	out.Reset()
	if code := run(t.Context(), []string{"tables", "fatigue"}, nil, &out, &out); code != exit.OK ||
		!strings.HasPrefix(out.String(), "mart.creative_fatigue\n") ||
		!strings.Contains(out.String(), "mart.creative_fatigue.verdict\n") {
		t.Errorf("exit %d: %s", code, out.String())
	}
	out.Reset()
	if code := run(t.Context(), []string{"tables", "xyzzy"}, nil, &out, &out); code != exit.Usage {
		t.Errorf("exit %d: %s", code, out.String())
	}
}
