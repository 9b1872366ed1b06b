package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
	"spendsync/schema"
)

// keptReplies puts replies of a day into quarantine.
func (d *dayTest) keptReplies(t *testing.T, q quarantine.Day, script string) {
	t.Helper()
	q.PageSize = 3
	f := &scriptedReport{day: q.Date}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	err = d.s.store.Quarantine().Put(q, func(yield func(quarantine.Packed, error) bool) {
		for i, page := range strings.Split(script, " / ") {
			if script == "" {
				return
			}
			_, body := f.page(i+1, page)
			packed := quarantine.Packed{Content: enc.EncodeAll([]byte(body), nil), Unpacked: int64(len(body))}
			if !yield(packed, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestKept_Take: replies in quarantine prove a day as a sync's would have: they are whole, understood, the account's,
// and later than what is stored.
func TestKept_Take(t *testing.T) {
	dir := emptyStore(t)
	day := schema.DateOf(worldNow) - 5
	later := func(k *manifest.Day) { k.LastReadAt = schema.InstantOf(worldNow) }
	total := func(spend schema.Money, clicks int64) manifest.ControlTotal {
		return manifest.ControlTotal{Spend: schema.Some(spend * schema.Dollar), Clicks: schema.Some(clicks)}
	}
	for name, c := range map[string]struct {
		script string
		total  manifest.ControlTotal
		known  string
		edit   func(*manifest.Day)
		ours   string // the account's campaign
		silent bool   // a withheld day that names no campaign
		alike  int    // other reads of the time that had the same rows
		reads  []int  // pages of several reads
		want   string // rows, and how they count
		why    string
	}{
		"end and sum":   {script: "a1 b2~", total: total(3, 2), want: "2 none/matched  1 rounded"},
		"end and count": {script: "a1 b2 =2", want: "2 matched/unknown  0 rounded"},
		"the end alone": {script: "a1 b2", why: "too little says"},
		"another sum":   {script: "a1 b2 =2", total: total(4, 2), why: "own sum is 4.00"},
		"other clicks":  {script: "a1 b2 =2", total: total(3, 9), why: "own sum is 3.00"},
		"clicks unread": {script: "a1 b2? =2", total: total(3, 9), why: "some values cannot be read"},
		"two pages":     {script: "a1 b2 c3 / d4", total: total(10, 4), want: "4 none/matched  0 rounded"},
		"refused":       {script: "a1 b2! =2", why: "total_spend null"},
		"two reads": {script: "a1 b2 =3 / - / b2 c3 =3 / -", reads: []int{2, 2},
			want: "3 matched/unknown newest 0 rounded"},
		"clicks unread in two reads": {script: "a1 b2? =2", total: total(3, 9), alike: 1,
			want: "2 matched/matched  0 rounded 1 unread [clicks.string]"},
		"no JSON":                 {script: "a1 b2 c3 / 400 x", why: "page 2"},
		"a refusal":               {why: "the service refused it: x"},
		"the same row twice":      {script: "a1 a1 =1", want: "1 matched/unknown newest 0 rounded"},
		"a row twice, the newest": {script: "a1 a2", total: total(2, 1), want: "1 none/matched newest 0 rounded"},
		"a row twice, added":      {script: "a1 a2 =2", total: total(3, 2), want: "1 matched/matched added 0 rounded"},
		"a row twice":             {script: "a1 a2", why: "is there twice"},
		"without sources": {script: "a1 -source_id", total: total(1, 1),
			want: "1 none/matched  0 rounded without [source_id]"},
		"another account's": {script: "a1 =1", ours: "C9999999",
			why: "the account has none of its campaigns: 1 campaign (C1000001)"},
		"the account's": {script: "a1 =1", ours: "C1000001", want: "1 matched/unknown  0 rounded"},
		"nothing":       {script: "=0", alike: 1, ours: "C9999999", why: "no other day of its run"},
		"nothing, once": {script: "=0", why: "0 rows came, and too little says"},
		"read later":    {script: "a1 b2 =2", known: "a1", edit: later, why: "what is stored was read later"},
		"over an open day": {script: "a1 b2 =2", known: "a1", edit: func(k *manifest.Day) { k.LastReadAt-- },
			want: "2 matched/unknown  0 rounded"},
		"it loses sources": {script: "a1 b2 =2 -source_id", known: "a1 b2", total: total(3, 2),
			why: "which has it, stands"},
		"silent": {script: "=0", alike: 1, silent: true, why: "no other day of its run"},
	} {
		d, end := newDayTest(t, dir, &scriptedReport{day: day})
		if c.known != "" {
			d.know(t, c.known, c.edit)
		}
		q := quarantine.Day{Date: day, ReadAt: schema.InstantOf(worldNow) - 1, RunID: "run0", Reason: "x",
			ControlTotal: c.total, Withheld: c.silent, Alike: c.alike, Reads: c.reads}
		d.keptReplies(t, q, c.script)
		days, err := d.s.store.Quarantine().Days()
		if err != nil {
			t.Fatal(err)
		}
		k := kept{d.s.Job, d.s.store, d.s.staged, witnesses{c.ours: true}}
		if c.ours == "" {
			k.witnesses = witnesses{"C1000001": true}
		}
		taken, left, err := k.take(t.Context(), days)
		if err != nil || len(taken)+len(left) != 1 || (len(taken) == 1) != (c.want != "") {
			t.Errorf("%s: %d taken, %d left, %v: %s", name, len(taken), len(left), err, d.log.String())
		}
		if said := d.log.String(); !strings.Contains(said, "do not prove the day") != (c.why == "") ||
			!strings.Contains(said, c.why) {
			t.Errorf("%s: %s", name, said)
		}
		if len(taken) == 1 && c.known == "" {
			d.commit(t)
			got := d.s.store.Account().Days[day]
			is := fmt.Sprintf("%d %s/%s %s %d rounded", taken[0].rows, got.RowsTotalState, got.Control, got.Combined,
				got.Rounded)
			if got.Unread > 0 {
				is += fmt.Sprintf(" %d unread %v", got.Unread, got.UnreadForms)
			}
			if got.Combined == history.Apart && len(d.s.store.Fingerprints(day)) != len(taken[0].Pages) {
				t.Errorf("%s: its replies are not known as those of its rows", name)
			}
			if len(got.Without) > 0 {
				is += fmt.Sprintf(" without %v", got.Without)
			}
			if is != c.want || got.LastReadAt != q.ReadAt || got.ControlTotal != c.total {
				t.Errorf("%s: %s, %+v", name, is, got)
			}
			dir = emptyStore(t)
		}
		end()
		if err := d.s.store.Quarantine().Remove(day); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKept_TakesTheNewest: the latest replies of a day that prove it, and days that name no campaign beside an accepted
// one of their run.
func TestKept_TakesTheNewest(t *testing.T) {
	d, end := newDayTest(t, settingsStore(t), &scriptedReport{day: schema.DateOf(worldNow) - 5})
	defer end()
	at := func(age, read int, run, script string, campaigns ...string) {
		q := quarantine.Day{Date: schema.DateOf(worldNow) - schema.Date(age), RunID: run, Reason: "x", Withheld: true,
			ReadAt: schema.InstantOf(worldNow) - schema.Instant(read), Campaigns: campaigns}
		if script == "=0" {
			q.Alike = 1
		}
		d.keptReplies(t, q, script)
	}
	at(5, 9, "run1", "a1 =1", "C1000001")
	at(5, 8, "run2", "a2 b2 =2", "C1000002")
	at(6, 7, "run1", "=0")
	at(7, 6, "run3", "=0")
	at(8, 5, "run3", "a1 =1", "C1000001")
	days, err := d.s.store.Quarantine().Days()
	if err != nil || len(days) != 5 {
		t.Fatalf("%d days, %v", len(days), err)
	}
	k := kept{d.s.Job, d.s.store, d.s.staged, witnesses{"C1000001": true}}
	taken, left, err := k.take(t.Context(), days)
	got := ""
	for _, one := range taken {
		got += fmt.Sprintf("%d:%d ", schema.DateOf(worldNow)-one.Date, one.rows)
	}
	for _, day := range left {
		got += fmt.Sprintf("%d ", schema.DateOf(worldNow)-day)
	}
	if err != nil || got != "5:2 8:1 7:0 6 " {
		t.Errorf("%s, %v", got, err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := k.take(stopped, days); !errors.Is(err, context.Canceled) {
		t.Errorf("a run that is stopped: %v", err)
	}

	// A replay takes the days of its range.
	for name, c := range map[string]struct {
		first, last schema.Date
		want        string
	}{"all": {0, d.day + 9, "3 3 1"}, "one": {d.day, d.day, "1 1 0"}, "none": {0, d.day - 9, "0 0 0"}} {
		m := &offlineRun{Job: d.s.Job, store: d.s.store, staged: d.s.staged}
		err := m.replayQuarantine(t.Context(), c.first, c.last)
		if got := fmt.Sprint(len(m.released), m.changed, m.unproven); err != nil || got != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}
