package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// settingsOf are settings as a run has read them: a whole listing of one campaign, and what the report says of others.
func settingsOf(t *testing.T, n *settingsReader) *settings {
	t.Helper()
	s := n.read
	e, err := extract.ParseEntity(nil, extract.KindCampaign, "C1000001",
		[]byte(`{"id":"C1000001","name":"n"}`))
	if err != nil {
		t.Fatal(err)
	}
	row, reading, err := transform.Campaign(e, e, n.context())
	if err != nil {
		t.Fatal(err)
	}
	s.since, s.at = schema.InstantOf(worldNow), schema.InstantOf(worldNow)
	s.listing, s.listed = extract.Listing{Complete: true, Entities: []extract.Entity{e}}, map[string]bool{e.ID: true}
	s.campaigns = []history.Seen[schema.Campaign]{{Row: row, Unread: reading.Unread}}
	s.reported = []transform.ReportCreative{{CampaignID: "C1000001", CreativeID: "C1000001-001"},
		{CampaignID: "C9999999"}}
	s.entities = []schema.EntityRead{{AccountID: "acme", EntityType: "campaign", EntityID: "C1000001", Field: "x",
		ReadState: "unreadable", AttemptedAt: s.at, RunID: "run1"}}
	s.undescribed = []schema.UnknownField{{AccountID: "acme", Stream: "campaign", Path: "odd", FirstSeenAt: s.at}}
	s.failures = []failure{{what: "creative x", err: fmt.Errorf("y: %w", extract.ErrUnavailable)}}
	return s
}

// TestPublish: what is proven is published, and what fails keeps nothing else back.
func TestPublish(t *testing.T) {
	dir := emptyStore(t)
	ctx := t.Context()
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	for name, c := range map[string]struct {
		day      string // the replies of the day
		settings string // what became of them; empty: none were asked for
		listErr  error
		stopped  bool
		breaks   bool   // the generation with the settings cannot be made
		want     string // days, campaigns, lines about entities, unknown fields, the exit code; or: nothing
		says     string
	}{
		"the day alone":      {day: "a1 =1", want: "1 0 0 0 11"},
		"both":               {day: "a1 =1", settings: "read", want: "1 1 1 1 11", says: "settings of 1 campaign read"},
		"settings that fail": {day: "a1 =1", settings: "failed", want: "1 0 0 1 11", says: "settings: no key"},
		"a list that may be another's": {day: "a1 =1", settings: "read", listErr: errors.New("whose list"),
			want: "1 0 0 1 11",
			says: "settings: whose list"},
		"settings alone": {day: "a1 =2", settings: "read", want: "0 1 1 1 5",
			says: "has the settings alone"},
		"nothing":                   {day: "a1 =2", want: "nothing", says: "the stated total is 2"},
		"nothing, settings fail":    {day: "a1 =2", settings: "failed", want: "nothing", says: "no key"},
		"nothing, no campaign read": {day: "a1 =2", settings: "none", want: "nothing", says: "the stated total is 2"},
		"stopped": {day: "a1 =1", settings: "read", stopped: true, want: "1 1 1 1 143",
			says: "stopped by a signal"},
		"stopped, the day alone": {day: "a1 =1", stopped: true, want: "1 0 0 0 11"},
		"it breaks with settings": {day: "a1 =1", settings: "read", breaks: true, want: "1 0 0 1 8",
			says: "settings of 1 campaign read, 0 new versions"},
		"it breaks, and nothing else": {day: "a1 =2", settings: "read", breaks: true, want: "nothing",
			says: "the stated total is 2"},
	} {
		broken := 0
		d, end := newDayTest(t, dir, &scriptedReport{day: schema.DateOf(worldNow) - 5, reads: []string{c.day},
			sums: []string{"400 no such column"}}, func(j *Job) {
			if !c.breaks {
				return
			}
			j.Now = func() time.Time { // a generation asks for the time when everything is staged
				files, _ := filepath.Glob(filepath.Join(dir, "staging/acme.run1/*campaign_history*"))
				for _, path := range files {
					broken++
					if err := os.WriteFile(path, []byte("PAR1"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				return atWorldNow()
			}
		})
		d.s.API = clientOf(t, nil)
		k := d.copyDay(ctx, PlannedDay{Day: d.day})
		r := &run{s: d.s}
		r.sumUp(&copiedDays{planned: d.s.plan.Read, days: []*copiedDay{k}})
		r.tally.oddIDs = []transform.OddID{{Column: "source_id", Value: "x", Form: "f"}}
		var read *settingsRead
		if n := newSettingsReader(d.s); c.settings != "" {
			read = &settingsRead{settings: settingsOf(t, n)}
			switch c.settings {
			case "failed":
				read.err = errors.New("no key")
			case "none":
				read.settings.listing.Complete, read.settings.campaigns = false, nil
			}
		}
		of := ctx
		if c.stopped {
			of = stopped
		}
		row, err := r.publish(of, ctx, read, &reportProof{proofs: []string{"a", "b"}, listErr: c.listErr,
			witnesses: witnesses{"C1000001": true}})
		if !strings.Contains(d.log.String(), "has an ID of a form") {
			t.Errorf("%s: %s", name, d.log.String())
		}
		got := "nothing"
		if row.Published {
			campaigns, failed := load.StoredTable(d.s.store, schema.CampaignHistory)
			lines, unread := manifest.LedgerFiles(durable.OS, dir, "acme")
			if failed != nil || unread != nil {
				t.Fatal(failed, unread)
			}
			campaigns = slices.DeleteFunc(campaigns,
				func(c schema.Campaign) bool { return c.ReadState == schema.ReadStub })
			entities := 0
			for _, rel := range lines {
				b, err := manifest.ReadLedger(durable.OS, dir, rel)
				if err != nil {
					t.Fatal(err)
				}
				rows, err := manifest.DecodeLedger(rel, b)
				if err != nil {
					t.Fatal(err)
				}
				entities += len(rows.Entities)
			}
			got = fmt.Sprint(len(d.s.store.Account().Days), len(campaigns), entities, len(d.s.store.Account().Unknown),
				row.ExitCode)
			if row.IdentityProof.V != "a; b" || (row.SettingsVersions > 0) != (len(campaigns) > 0) {
				t.Errorf("%s: %+v", name, row)
			}
			dir = emptyStore(t)
		}
		said := fmt.Sprint(err) + row.Message.V
		if got != c.want || (err == nil) != row.Published || !strings.Contains(said, c.says) ||
			(broken > 0) != c.breaks {
			t.Errorf("%s: %s, %s", name, got, said)
		}
		isStaged := c.settings == "read" && c.listErr == nil || c.settings == "none"
		if read != nil && (!isStaged && len(read.settings.reported) != 1 || len(read.settings.failures) != 0 ||
			strings.Count(said, "creative x") != map[bool]int{true: 1}[row.Published && c.listErr == nil]) {
			t.Errorf("%s: %d creatives, %v, %s", name, len(read.settings.reported), read.settings.failures, said)
		}
		end()
	}
}

// TestLogAtRisk: days that are lost, or soon are, are errors of the log.
func TestLogAtRisk(t *testing.T) {
	var log strings.Builder
	r := &run{s: &session{Job: Job{Log: logTo(&log)}}}
	r.logAtRisk(load.Preview{NewlyLost: []schema.Date{aDay}, Coverage: []schema.DayCoverage{
		coverageOf(schema.StateMissing, 1, 0)}})
	for _, text := range []string{"is lost: it left the reach", "day=2024-10-04", "leaves the reach soon",
		"days_left=1"} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("no %q in %s", text, log.String())
		}
	}
	r.logOddIDs([]transform.OddID{{Column: "source_id", Value: "x", Form: "f"}})
	if !strings.Contains(log.String(), "column=source_id value=x form=f") {
		t.Error(log.String())
	}
}

// TestRun_Failed: a run that published nothing says so, once, with the generation that stands.
func TestRun_Failed(t *testing.T) {
	d, end := newDayTest(t, emptyStore(t), &scriptedReport{day: schema.DateOf(worldNow)})
	defer end()
	d.s.API = clientOf(t, nil)
	for name, c := range map[string]struct {
		planned, proven int
		failed          error
		cause           error
		code            int
		says            string
	}{
		"a day is not proven": {1, 0, extract.ErrContract, extract.ErrContract, exit.Contract,
			"nothing published: none of 1 planned day proven; a: "},
		"whose days they are": {1, 1, nil, exit.ErrOtherReport, exit.Auth, "nothing published: "},
		"no reason known":     {1, 1, nil, errors.New("x"), exit.Unexpected, "nothing published: x"},
		"stopped": {1, 1, nil, context.Canceled, exit.Stopped,
			"stopped by a signal before anything was published"},
		"stopped before a day": {1, 0, context.Canceled, context.Canceled, exit.Stopped,
			"stopped by a signal: nothing published"},
	} {
		r := &run{s: d.s}
		r.tally.planned, r.tally.proven, r.withheld = c.planned, c.proven, 2
		if c.failed != nil {
			r.tally.fail("a", c.failed)
		}
		r.tally.stopped = c.code == exit.Stopped && c.proven == 0
		res := r.failed(c.cause)
		if res.Run.ExitCode != int64(c.code) || res.Run.Published || res.Run.Generation != 1 ||
			!strings.HasPrefix(res.Run.Message.V, c.says) || c.proven > 0 && res.Cause != c.cause ||
			!strings.Contains(res.Run.Message.V, "of 2 days are kept") != (c.code == exit.Stopped && c.proven > 0) {
			t.Errorf("%s: exit %d, %s, %v, generation %d", name, res.Run.ExitCode, res.Run.Message.V, res.Cause,
				res.Run.Generation)
		}
		if res.WarehouseBytes == 0 || res.UnreadFields.Valid {
			t.Errorf("%s: %+v", name, res)
		}
	}
	last, err := manifest.LastRun(d.s.DataDir, "acme")
	if err != nil || last.RunID != "run1" || last.Published {
		t.Errorf("the ledger ends with %+v, %v", last, err)
	}
	r := &run{s: d.s, settings: &settings{judged: 2, left: 3, campaigns: make([]history.Seen[schema.Campaign], 4)},
		newVersions: 5}
	r.settings.unread.add("campaign", "x", []string{"a", "b"}, transform.Decoded{Unread: []string{"a"}})
	if res := r.result(schema.Run{}); res.UnreadFields != schema.Some[int64](3) {
		t.Errorf("%+v", res.UnreadFields)
	}
	for left, want := range map[int]string{3: ", 3 campaigns left to the next run", 0: ""} {
		r.settings.left = left
		if got := r.settingsSentence(); got != "; settings of 4 campaigns read, 5 new versions"+want {
			t.Error(got)
		}
	}
	if got := (&run{}).settingsSentence(); got != "" {
		t.Error(got)
	}
}
