package extract

import (
	"errors"
	"strings"
	"testing"
)

// TestParseEntity: a reply about another entity than the requested one is refused, and the error names the entity in
// the reply.
func TestParseEntity(t *testing.T) {
	const campaign = `{"id": "C1000001", "name": "a", "status": "active"}`
	const creative = `{"id": "C1000001-001", "title": "a", "campaign_id": "C1000001", "status": "active"}`
	for name, c := range map[string]struct {
		kind, id, reply string
		want            string // part of the error; empty: the reply is accepted
	}{
		"campaign":              {KindCampaign, "C1000001", campaign, ""},
		"campaign/another":      {KindCampaign, "C1000002", campaign, "about campaign C1000001"},
		"creative":              {KindCreative, "C1000001-001", creative, ""},
		"creative/another":      {KindCreative, "C1000001-002", creative, "about creative C1000001-001"},
		"sources":               {KindSources, "C1000001", `{"mode": "block_list", "blocked": []}`, ""},
		"sources/with its name": {KindSources, "C1000001", `{"campaign_id": "C1000001", "mode": "block_list"}`, ""},
		"sources/another": {KindSources, "C1000001", `{"campaign_id": "C1000002", "mode": "x"}`,
			"is about campaign C1000002"},
		"sources/nothing of these": {KindSources, "C1000001", `{"ok": true}`, "source settings"},
		"not JSON":                 {KindCampaign, "C1000001", `<html>`, "JSON"},
	} {
		e, err := parseEntity(nil, c.kind, c.id, []byte(c.reply))
		if c.want == "" && (err != nil || e.ID != c.id || len(e.Raw) == 0) || c.want != "" && (err == nil ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %q, %v; want %q", name, e.ID, err, c.want)
		}
		if err != nil && c.kind != "" && !errors.As(err, new(*replyError)) && !errors.Is(err, ErrContract) {
			t.Errorf("%s: of another kind: %v", name, err)
		}
	}
}
