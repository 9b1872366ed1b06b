package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim"
	"spendsync/load/loadtest"
)

// member is one member of a JSON object, as text.
type member struct{ key, value string }

func (m member) String() string { return fmt.Sprintf("%q:%s", m.key, m.value) }

// damages are the ways of damaging one field. Each returns the text that replaces the field; empty: the field is
// removed.
var damages = map[string]func(m member) string{
	"missing":    func(member) string { return "" },
	"null":       func(m member) string { return member{m.key, `null`}.String() },
	"empty":      func(m member) string { return member{m.key, `""`}.String() },
	"blank":      func(m member) string { return member{m.key, `" \t"`}.String() },
	"renamed":    func(m member) string { return member{m.key + "_v2", m.value}.String() },
	"upper-case": func(m member) string { return member{strings.ToUpper(m.key), m.value}.String() },
	"number":     func(m member) string { return member{m.key, `7.5e300`}.String() },
	"zero":       func(m member) string { return member{m.key, `0`}.String() },
	"nan":        func(m member) string { return member{m.key, `NaN`}.String() },
	"nan-text":   func(m member) string { return member{m.key, `"NaN"`}.String() },
	"list":       func(m member) string { return member{m.key, `[` + m.value + `,` + m.value + `]`}.String() },
	"empty-list": func(m member) string { return member{m.key, `[]`}.String() },
	"object":     func(m member) string { return member{m.key, `{}`}.String() },
	"wrapped":    func(m member) string { return member{m.key, `{"v":` + m.value + `}`}.String() },
	"twice":      func(m member) string { return m.String() + "," + member{m.key, `null`}.String() },
	"half":       func(m member) string { return member{m.key, `"\ud800"`}.String() },
	"long":       func(m member) string { return member{m.key, `"` + strings.Repeat("x", 20_000) + `"`}.String() },
}

// damager damages one field of one entity in every reply that contains the field.
type damager struct {
	of     http.RoundTripper
	paths  func(path string) bool // selects the replies to damage
	entity string                 // "id":"..." of the entity; empty: the reply has only one entity
	field  []string               // keys of the field, from the outermost object inward
	damage func(member) string
	hits   int
}

func (d *damager) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.of.RoundTrip(r)
	path, isAPI := strings.CutPrefix(r.URL.Path, adsim.APIPrefix+"/v1/")
	if err != nil || d.damage == nil || !isAPI || !d.paths(path) {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	body = []byte(d.rewrite(string(body), d.entity == "", d.field))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, err
}

// rewrite returns a JSON value in which the given field of the entity's object is damaged.
func (d *damager) rewrite(value string, within bool, field []string) string {
	dec := json.NewDecoder(strings.NewReader(value))
	open, err := dec.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return value
	}
	var parts []string
	within = within || open == json.Delim('{') && strings.Contains(value, d.entity) && isEntity(value, d.entity)
	for dec.More() {
		if open == json.Delim('[') {
			var v json.RawMessage
			_ = dec.Decode(&v)
			parts = append(parts, d.rewrite(string(v), within, field))
			continue
		}
		key, _ := dec.Token()
		var v json.RawMessage
		_ = dec.Decode(&v)
		m := member{key.(string), string(v)}
		switch {
		case within && m.key == field[0] && len(field) == 1:
			d.hits++
			if text := d.damage(m); text != "" {
				parts = append(parts, text)
			}
			continue
		case within && m.key == field[0]:
			m.value = d.rewrite(m.value, true, field[1:])
		case !within || d.entity == "" && len(field) == 1:
			m.value = d.rewrite(m.value, within, field)
		}
		parts = append(parts, m.String())
	}
	text := strings.Join(parts, ",")
	if open == json.Delim('[') {
		return "[" + text + "]"
	}
	return "{" + text + "}"
}

// isEntity reports whether the object has the ID as a direct member.
func isEntity(object, id string) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal([]byte(object), &fields) == nil && string(fields["id"]) == id
}

// damagedField is a field to damage. plain lists the damages that cannot be detected, because the damaged reply means
// the same as before or is a valid reply with another value.
type damagedField struct {
	kind  string // campaign, creative, sources
	path  string // of the field
	plain string // damages that look like an edit of the settings
}

// A null unsets a field that may be null. A readable audience without a member unsets this member. Within one reading,
// nothing else unsets a field.

var damagedFields = []damagedField{
	{"campaign", "name", "nan-text"},
	{"campaign", "status", ""},
	{"campaign", "default_bid", ""},
	{"campaign", "daily_spend_limit", ""},
	{"campaign", "target_cpa", "null"},
	{"campaign", "start_date", ""},
	{"campaign", "end_date", "null"},
	{"campaign", "source_targeting_mode", ""},
	{"campaign", "audience", "object empty-list"},
	{"campaign", "audience.country", "null missing"},
	{"campaign", "audience.states", "null missing"},
	{"campaign", "audience.gender", "null missing"},
	{"campaign", "audience.min_age", "null missing"},
	{"creative", "title", "nan-text"},
	{"creative", "link", ""},
	{"creative", "icon_id", ""},
	{"creative", "image_id", "null"},
	{"creative", "button1", "null nan-text"},
	{"creative", "status", ""},
	{"sources", "mode", ""},
	{"sources", "blocked_source_ids", "empty-list"},
	{"sources", "bid_overrides", "empty-list object"},
}

// TestDamagedSettings_NothingIsHidden damages every field in every way, one damage per run. Afterwards the stored
// settings equal the service's, or the run does not end with exit code 0. If a field keeps its known value, the run's
// sentence names the field.
func TestDamagedSettings_NothingIsHidden(t *testing.T) {
	cases := 0
	var rich loadtest.Stores // the stores after the first sync, which is the same for every field
	for i, f := range damagedFields {
		cases += len(damages)
		t.Run(f.kind+"/"+f.path, func(t *testing.T) {
			w := newQuirkWorld(t)
			campaign, creative := w.richSettings()
			d := &damager{of: w.service.Transport(), field: strings.Split(f.path, ".")}
			id := campaign
			switch f.kind {
			case "campaign":
				d.entity = `"` + campaign + `"`
				d.paths = func(path string) bool { return path == "campaigns" || path == "campaigns/"+campaign }
			case "creative":
				id, d.entity = creative, `"`+creative+`"`
				d.paths = func(path string) bool { return path == "campaigns/"+campaign+"/creatives" }
			default:
				d.paths = func(path string) bool { return path == "campaigns/"+campaign+"/sources" }
			}
			w.transport = d
			rich.Copy(t, "", w.job.DataDir, func() {
				if r := w.syncSettings(); r.Run.ExitCode != 0 || w.settings() != "" {
					t.Fatalf("at first: exit %d, stored otherwise: %s; %s", r.Run.ExitCode, w.settings(),
						r.Run.Message.V)
				}
			})
			if w.runs == 0 { // the store is a copy, so this world has not run yet
				w.runs = 1
				w.service.Advance(time.Second)
			}
			for j, name := range slices.Sorted(maps.Keys(damages)) {
				if !tried(i + j) {
					continue
				}
				d.damage, d.hits = damages[name], 0
				r := w.syncSettings()
				if d.hits == 0 {
					t.Fatalf("%s: nothing was damaged", name)
				}
				other, said := w.settings(), strings.Contains(r.Run.Message.V, id)
				plain := slices.Contains(strings.Fields(f.plain), name)
				t.Logf("%-10s exit %d, %d versions, stored otherwise: %q, %s", name, r.Run.ExitCode,
					r.Run.SettingsVersions, other, r.Run.Message.V[strings.Index(r.Run.Message.V, "settings of"):])
				if other == "" && r.Run.SettingsVersions > 0 || other != "" && r.Run.ExitCode == 0 && !plain && !said {
					t.Errorf("%s: exit %d, %d versions, stored otherwise: %s; %s", name, r.Run.ExitCode,
						r.Run.SettingsVersions, other, r.Run.Message.V)
				}
				if other == "" && r.Run.ExitCode == 0 && !said && w.unread(id) > 0 {
					t.Errorf("%s: unread, and not named: %s", name, r.Run.Message.V)
				}
				if plain && other == "" {
					t.Errorf("%s can be told from an edit", name)
				}
				d.damage = nil
				if r := w.syncSettings(); r.Run.ExitCode != 0 || w.settings() != "" {
					t.Errorf("after %s: exit %d, stored otherwise: %s", name, r.Run.ExitCode, w.settings())
				}
			}
		})
	}
	if cases < 134 {
		t.Errorf("%d cases", cases)
	}
}

// syncSettings runs once, and reads only today's report.
func (w *world) syncSettings() *Result {
	w.t.Helper()
	w.service.Advance(time.Second)
	j := w.next()
	j.Plan.YoungDays, j.Plan.RereadAfter = 1, 1000*time.Hour
	result, err := j.Sync(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// richSettings gives a campaign and one of its creatives a value in every field.
func (w *world) richSettings() (campaign, creative string) {
	w.t.Helper()
	for _, id := range w.service.CampaignIDs() {
		truth, err := w.service.Settings(id)
		if err != nil {
			w.t.Fatal(err)
		}
		if truth.Status == "archived" || truth.SourceMode != "block_list" || len(truth.Creatives) < 2 {
			continue
		}
		campaign = id
		for _, cr := range truth.Creatives {
			if cr.Status == "active" || cr.Status == "paused" {
				creative = cr.CreativeID
			}
		}
		if creative != "" {
			break
		}
	}
	sources := w.service.GoodSources()
	for _, c := range []adsim.Change{
		{Campaign: campaign, Set: map[string]any{
			"status": "active", "target_cpa": "25", "end_date": "2027-03-01T00:00:00Z", "daily_spend_limit": "500",
			"default_bid": "0.50",
			"audience": map[string]any{"country": "US", "states": []any{"CA", "NY"},
				"platforms": []any{"MOBILE", "TABLET"}, "gender": "F", "min_age": 25},
		}, Sources: &adsim.SourceChange{Block: sources, Bids: map[string]any{sources[0]: "0.6", sources[1]: "0.7"}}},
		{Creative: creative, Set: map[string]any{
			"button1": "Yes", "button2": "No", "image_id": strings.Repeat("a", 24),
		}},
	} {
		if err := w.service.Change(c); err != nil {
			w.t.Fatal(err)
		}
	}
	return campaign, creative
}

// unread returns the number of warnings of the last run about an entity.
func (w *world) unread(id string) (n int) {
	w.t.Helper()
	return strings.Count(w.log.String(), "id="+id)
}
