package adsim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/push"
	"spendsync/extract/adsim/tools"
	"spendsync/extract/adsim/wire"
)

// all is everything that an account is, to be compared.
type all struct {
	Settings   []ledger.Settings
	Rows       []ledger.Line
	Outbox     []push.Notification
	Broadcasts []push.Broadcast
	Waiting    []string
	Limits     []map[string]any
	Now        time.Time
	Balances   []any
}

func allOf(t testing.TB, s *Service) (a all) {
	t.Helper()
	for _, own := range s.accounts {
		for _, id := range own.CampaignIDs() {
			a.Settings = append(a.Settings, settingsOf(t, own, id))
		}
		a.Rows = append(a.Rows, truth(own, own.Today())...)
		a.Outbox = append(a.Outbox, own.Outbox()...)
		a.Broadcasts = append(a.Broadcasts, own.Broadcasts()...)
		a.Waiting = append(a.Waiting, own.Waiting()...)
		a.Balances = append(a.Balances, callWith(t, s, own.Cfg.WriteKey, "GET", "/v1/balance?fresh=true", "").body)
	}
	a.Limits, a.Now = limitsOf(t, s), s.Now()
	return a
}

func sameAll(t testing.TB, what string, got, want all) {
	t.Helper()
	for i, f := range reflect.VisibleFields(reflect.TypeFor[all]()) {
		if g, w := reflect.ValueOf(got).Field(i).Interface(), reflect.ValueOf(want).Field(i).
			Interface(); !reflect.DeepEqual(g, w) {
			got, want := string(must(json.Marshal(g))), string(must(json.Marshal(w)))
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			from := max(0, at-60)
			t.Errorf("%s: %s: got ...%s\nwant ...%s", what, f.Name, got[from:min(len(got), at+60)],
				want[from:min(len(want), at+60)])
		}
	}
}

// live does a little of everything that is kept.
func live(t testing.TB, s *Service) {
	t.Helper()
	id := newCampaign(t, s)
	cr := newCreative(t, s, id)
	s.Advance(10 * time.Hour)
	waiting := newCreative(t, s, id)
	approve(t, s, waiting)
	mustTell(t, s, "PATCH", "/v1/creatives/"+waiting, `{"title":"Version"}`)
	mustTell(t, s, "PATCH", "/v1/campaigns/"+id, `{"name":"Kept","default_bid":0.9}`)
	mustTell(t, s, "POST", "/v1/campaigns/"+id+"/sources/block", idsBody(s.GoodSources()[:3], ""))
	mustTell(t, s, "POST", "/v1/campaigns/"+id+"/clone", `{"name":"Copy"}`)
	mustTell(t, s, "POST", "/v1/creatives/"+cr+"/clone", "")
	tell(t, s, "POST", "/v1/campaigns", `{}`) // refused: not kept
	change(t, s, Change{Campaign: running(t, s)[1], Set: map[string]any{"name": "By control",
		"default_bid": "0.700001"}})
	if _, err := s.Restate(s.Today(), ledger.Restatement{Kind: "multiply", Percent: 50}); err != nil {
		t.Fatal(err)
	}
	if err := s.RevokeKey("key_1"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetBalance("low"); err != nil {
		t.Fatal(err)
	}
	broadcastTo(t, s, `,"schedule":"2026-11-23T00:00:00Z"`)
	broadcastTo(t, s, `,"subwaterfall":{"interval":60,"enabled":true,"title":"x","Message":"y",`+
		`"destinationLink":"https://y.example"}`)
	callWith(t, s, config.DefaultWriteKey+"2", "POST", "/v1/campaigns", plainCampaign)
	s.Outbox()
	s.Advance(time.Hour)
	if second := s.Account(1); second.Cfg.Prepaid > 0 {
		if err := second.AddFunds(25_000_000); err != nil {
			t.Fatal(err)
		}
	}
	s.Advance(2 * time.Hour)
}

func TestState_IsTheSameAfterARestart(t *testing.T) {
	cfg := config.Config{RateLimit: -1, RowsPerDay: 600, Campaigns: 12,
		Accounts: []config.Config{{RowsPerDay: 300, Campaigns: 3, Prepaid: 30_000_000}}}
	path := filepath.Join(t.TempDir(), "state")
	open := func() *Service {
		s := New(cfg, tools.New)
		s.SetNow(noon)
		if err := s.KeepState(path); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	live(t, s)
	want := allOf(t, s)
	if err := s.CloseState(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(raw), config.DefaultWriteKey) || strings.Contains(string(raw), "adv_") {
		t.Errorf("the file holds a key, or can't be read: %v", err)
	}
	// A line that was cut short by a crash is dropped.
	if err := os.WriteFile(path, append(raw, `{"op":"upd`...), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s = open()
		sameAll(t, "after a restart", allOf(t, s), want)
		if me := callWith(t, s, config.DefaultKey, "GET", "/v1/me", ""); me.status != 401 {
			t.Errorf("the revoked key works: %v", me.body)
		}
		s.Advance(24 * time.Hour)
		s.Outbox()
		want = allOf(t, s)
		if err := s.CloseState(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestState_DropsWhatWasNotWrittenWhole cuts the file within its last lines, as a
// crash may do, and goes on from every one of them.
func TestState_DropsWhatWasNotWrittenWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	cfg := config.Config{RateLimit: -1, RowsPerDay: 60, Campaigns: 2, CreativesPerCampaign: 1, Sources: 40}
	s := sim(cfg)
	if err := s.KeepState(path); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second", "third"} {
		mustTell(t, s, "POST", "/v1/campaigns", strings.Replace(plainCampaign, "Fresh", name, 1))
	}
	if err := s.CloseState(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	names := func(s *Service) (list []string) {
		for _, id := range s.CampaignIDs() {
			if name := settingsOf(t, s, id).Name; slices.Contains([]string{"first", "second", "third", "later"}, name) {
				list = append(list, name)
			}
		}
		return list
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(whole), "\n"), "\n")
	last := len(whole) - len(lines[len(lines)-1]) - 1
	for at := last - len(lines[len(lines)-2]) + 1; at <= len(whole); at += 7 {
		if err := os.WriteFile(path, whole[:at], 0o600); err != nil {
			t.Fatal(err)
		}
		want := []string{"second", "first"}[jsontext.Btoi(at < last):]
		if at == len(whole) {
			want = []string{"third", "second", "first"}
		}
		for range 2 {
			s := sim(cfg)
			if err := s.KeepState(path); err != nil {
				t.Fatalf("cut at %d of %d: %v", at, len(whole), err)
			}
			if got := names(s); !slices.Equal(got, want) {
				t.Fatalf("cut at %d of %d: it has %v, want %v", at, len(whole), got, want)
			}
			mustTell(t, s, "POST", "/v1/campaigns", strings.Replace(plainCampaign, "Fresh", "later", 1))
			want = append([]string{"later"}, want...)
			if err := s.CloseState(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestState_KeepsWhatItHasWhenItCantWrite takes the file away from under it.
func TestState_KeepsWhatItHasWhenItCantWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	cfg := config.Config{RateLimit: -1, RowsPerDay: 60, Campaigns: 2, CreativesPerCampaign: 1, Sources: 40}
	s := sim(cfg)
	if err := s.KeepState(path); err != nil {
		t.Fatal(err)
	}
	kept := newCampaign(t, s)
	writable := s.World.Journal.File
	var err error
	if s.World.Journal.File, err = os.Open(path); err != nil { // nothing can be written to it
		t.Fatal(err)
	}
	lost := newCampaign(t, s)
	s.World.Journal.File.Close()
	s.World.Journal.File = writable
	newCampaign(t, s)
	if err := s.CloseState(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("closed: %v", err)
	}
	again := sim(cfg)
	if err := again.KeepState(path); err != nil {
		t.Fatal(err)
	}
	if ids := again.CampaignIDs(); !slices.Contains(ids, kept) || slices.Contains(ids, lost) {
		t.Errorf("it has %v", ids)
	}
}

func TestState_RefusesWhatIsNotItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	s := sim(config.Config{})
	if err := s.KeepState(path); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseState(); err != nil {
		t.Fatal(err)
	}
	if err := sim(config.Config{Seed: 2}).KeepState(path); err == nil || !strings.Contains(err.Error(), "seed 1") {
		t.Errorf("another account's state: %v", err)
	}
	raw, _ := os.ReadFile(path)
	for _, line := range []string{"nonsense\n", `{"op":"nosuch"}` + "\n", `{"op":"clock","account":5}` + "\n",
		`{"op":"update_campaign","at":"2026-11-21T20:00:00Z","path":["campaigns","C1234567"],"body":{"name":"x"}}` +
			"\n"} {
		if err := os.WriteFile(path, append(slices.Clip(raw), line...), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := sim(config.Config{}).KeepState(path); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v", line, err)
		}
	}
	if err := sim(config.Config{}).KeepState(t.TempDir()); err == nil {
		t.Error("a folder is a state")
	}
}

func TestReset_IsTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	cfg := config.Config{RateLimit: -1, RowsPerDay: 600, Control: true, Accounts: []config.Config{{RowsPerDay: 300}}}
	s, fresh := sim(cfg), sim(cfg)
	if err := s.KeepState(path); err != nil {
		t.Fatal(err)
	}
	live(t, s)
	s.Fail(wire.Fault{Kind: wire.Null})
	s.SetNow(noon)
	if status, got := order(t, s, "POST", "reset", ""); status != 200 {
		t.Fatalf("%d %v", status, got)
	}
	sameAll(t, "at once", allOf(t, s), allOf(t, fresh))
	// What comes after it is not what came before it.
	live(t, s)
	live(t, fresh)
	want := allOf(t, fresh)
	sameAll(t, "another life", allOf(t, s), want)
	if err := s.CloseState(); err != nil {
		t.Fatal(err)
	}
	again := sim(cfg)
	if err := again.KeepState(path); err != nil {
		t.Fatal(err)
	}
	sameAll(t, "from the file", allOf(t, again), want)
}

func TestControl_KeysAndAccounts(t *testing.T) {
	s := sim(config.Config{Control: true, Accounts: []config.Config{{}}})
	if status, _ := order(t, s, "POST", "key", `{"key":"key_1","do":"revoke"}`); status != 200 ||
		callWith(t, s, config.DefaultKey, "GET", "/v1/me", "").status != 401 {
		t.Errorf("%d", status)
	}
	if status, _ := order(t, s, "POST", "key?account=1",
		`{"key":"key_1","until":"2026-11-22T20:00:00Z"}`); status != 200 {
		t.Errorf("%d", status)
	}
	if h := callWith(t, s, config.DefaultKey+"2", "GET", "/v1/me", "").
		header; !strings.Contains(h.Get("Service-Api-Key-Expiry-Warning"), "1 days") {
		t.Errorf("%v", h)
	}
	for _, path := range []string{"clock?account=2", "clock?account=x"} {
		if status, _ := order(t, s, "GET", path, ""); status != 400 {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _ := order(t, s, "POST", "key", `{"key":"key_1"}`); status != 400 {
		t.Errorf("%d", status)
	}
}
