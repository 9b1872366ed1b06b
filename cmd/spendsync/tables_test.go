package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/dictionary"
)

func TestTables_SearchesAWord(t *testing.T) {
	var out bytes.Buffer
	if code := run(t.Context(), []string{"tables", "Restated", "--json"}, nil, &out, &out); code != exit.OK {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	var hits []dictionary.Found
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
