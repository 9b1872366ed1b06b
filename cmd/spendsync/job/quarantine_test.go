package job

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"spendsync/cmd/internal/exit"
	"spendsync/load"
	"spendsync/load/quarantine"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// renamed is a service whose replies have another name for a column on some days.
type renamed struct {
	w    *world
	days []schema.Date
}

func (r renamed) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.w.service.Transport().RoundTrip(req)
	q := req.URL.Query()
	if err != nil || q.Get("start_date") != q.Get("end_date") || !strings.Contains(q.Get("columns"), "source_id") {
		return resp, err
	}
	for _, d := range r.days {
		if q.Get("start_date") == d.String() {
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				return nil, err
			}
			body = bytes.ReplaceAll(body, []byte(`"total_spend"`), []byte(`"total_cost"`))
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			resp.Header.Del("Content-Length")
		}
	}
	return resp, nil
}

// understand changes the replies of a day in quarantine so that this version can read them, like a later version of
// spendsync could. edit may change the description of the day.
func (w *world) understand(day schema.Date, edit func(q *quarantine.Day)) {
	w.t.Helper()
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	dir := filepath.Join(w.job.DataDir, quarantine.FolderOf("acme"), "day="+day.String())
	about, err := os.ReadFile(filepath.Join(dir, "about.json"))
	must(err)
	var q quarantine.Day
	must(json.Unmarshal(about, &q))
	if !strings.Contains(q.Reason, "the columns lack total_spend") || len(q.Pages) == 0 || q.Version != "test" {
		w.t.Errorf("%s: about.json is %s", day, about)
	}
	dec, err := zstd.NewReader(nil)
	must(err)
	defer dec.Close()
	enc, err := zstd.NewWriter(nil)
	must(err)
	for i := range q.Pages {
		p := &q.Pages[i]
		packed, err := os.ReadFile(filepath.Join(dir, p.Name))
		must(err)
		body, err := dec.DecodeAll(packed, nil)
		must(err)
		body = bytes.ReplaceAll(body, []byte(`"total_cost"`), []byte(`"total_spend"`))
		packed = enc.EncodeAll(body, nil)
		p.Unpacked, p.Bytes, p.SHA256 = int64(len(body)), int64(len(packed)), fmt.Sprintf("%x", sha256.Sum256(packed))
		must(os.WriteFile(filepath.Join(dir, p.Name), packed, 0o600))
	}
	if edit != nil {
		edit(&q)
	}
	about, err = json.Marshal(q)
	must(err)
	must(os.WriteFile(filepath.Join(dir, "about.json"), about, 0o600))
}

func (w *world) replay(code int, says ...string) {
	w.t.Helper()
	res, err := w.next().Replay(w.t.Context(), 0, w.today())
	w.want(res, err, code, says...)
}

// TestQuarantine_ALaterVersionMakesTheDaysGood: the replies of days that this version cannot read are kept. A later
// replay reads them again, also after the days have left the reach, and stores the days that it can prove. A replay by
// the same version changes nothing.
func TestQuarantine_ALaterVersionMakesTheDaysGood(t *testing.T) {
	w := newWorld(t)
	days := []schema.Date{w.today() - 20, w.today() - 12}
	w.transport = renamed{w, days}
	first := w.sync(exit.Partial,
		"the columns lack total_spend", "kept in quarantine/account=acme", "'spendsync repair replay'")
	if first.Quarantined != 2 {
		t.Errorf("%d days in quarantine", first.Quarantined)
	}
	w.wantTruth(days...)
	w.replay(exit.OK, "2 days in quarantine not proven by this version")
	if got := w.ask(`SELECT count(*) FROM ops.day_coverage WHERE state = 'missing'`); got != "2" {
		t.Errorf("%s days are missing", got)
	}
	w.understand(days[0], nil)
	w.replay(exit.OK, "1 day proven from quarantine", "1 day in quarantine not proven")
	w.wantTruth(days[1])
	if got := w.ask(`SELECT state, control_total_state, spend = control_spend FROM ops.day_coverage
		WHERE report_date = '%s'`, days[0]); got != "complete|matched|true" {
		t.Errorf("the day from quarantine is %s", got)
	}
	// The replies from quarantine are now the stored replies of the day.
	w.replay(exit.OK, "32 days read again", "0 changed", "1 day in quarantine not proven")
	// The second day leaves the reach, and is lost until a person replays it.
	w.service.SetNow(worldNow.AddDate(0, 0, 25))
	w.sync(exit.DayAtRisk, "lost for good: "+days[1].String())
	w.understand(days[1], nil)
	w.replay(exit.OK, "1 day proven from quarantine")
	if got := w.ask(`SELECT state FROM ops.day_coverage WHERE report_date = '%s'`, days[1]); got != "final" {
		t.Errorf("the day from quarantine is %s", got)
	}
	w.wantVerified()
	w.service.Advance(time.Hour)
	if last := w.sync(exit.OK); last.Quarantined != 0 {
		t.Errorf("%d days in quarantine", last.Quarantined)
	}
}

// TestQuarantine_EndsWithTheNextProof: a proven day leaves the quarantine once the day is published. A run that
// publishes nothing keeps the replies in quarantine.
func TestQuarantine_EndsWithTheNextProof(t *testing.T) {
	w := newWorld(t)
	var all []schema.Date
	for d := w.today() - schema.ReachDays; d <= w.today(); d++ {
		all = append(all, d)
	}
	w.transport = renamed{w, all}
	if first := w.sync(exit.Contract, "(and 32 more for the same reason)"); first.Quarantined != 33 {
		t.Errorf("%d days in quarantine", first.Quarantined)
	}
	w.transport = nil
	if second := w.sync(exit.OK); second.Quarantined != 0 {
		t.Errorf("%d days in quarantine", second.Quarantined)
	}
	w.wantTruth()
	// A proven day stays as stored, even if a later read does not prove it.
	w.rereadAll()
	w.transport = renamed{w, all[:3]}
	if third := w.sync(exit.Partial, "2 more for the same reason"); third.Quarantined != 3 {
		t.Errorf("%d days in quarantine", third.Quarantined)
	}
	w.wantTruth()
}

// TestQuarantine_HoldsToWhatASyncAsks: a replay does not accept replies that a sync would not have accepted.
func TestQuarantine_HoldsToWhatASyncAsks(t *testing.T) {
	schematest.Long(t)
	for name, edit := range map[string]func(q *quarantine.Day){
		"another total": func(q *quarantine.Day) { q.ControlTotal.Spend.V *= 2 },
		"a page is missing": func(q *quarantine.Day) {
			q.Pages = q.Pages[:0]
		},
		"a reply is damaged": func(q *quarantine.Day) { q.Pages[0].SHA256 = strings.Repeat("0", 64) },
		"stored later":       func(q *quarantine.Day) { q.ReadAt = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			day := w.today() - 7
			if name == "stored later" {
				w.sync(exit.OK)
				w.rereadAll()
			}
			w.transport = renamed{w, []schema.Date{day}}
			w.sync(exit.Partial)
			w.understand(day, edit)
			w.replay(exit.OK, "1 day in quarantine not proven")
			if name == "stored later" {
				w.wantTruth()
			} else if w.account().Days[day] != nil {
				t.Error("the day is stored")
			}
		})
	}
}

// TestQuarantine_IsBounded: replies that are too old are removed, and then the oldest until the total size fits.
// Incomplete days are removed, too.
func TestQuarantine_IsBounded(t *testing.T) {
	w := newWorld(t)
	w.first()
	put := func(day schema.Date, age time.Duration, bytes int64) {
		dir := filepath.Join(w.job.DataDir, quarantine.FolderOf("acme"), "day="+day.String())
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		about, err := json.Marshal(quarantine.Day{Date: day, ReadAt: schema.InstantOf(w.now().Add(-age)),
			Pages: []quarantine.Reply{{Name: "0001.json.zst", Bytes: bytes}}})
		if err == nil && bytes > 0 {
			err = os.WriteFile(filepath.Join(dir, "about.json"), about, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	today := w.today()
	put(today-100, 91*24*time.Hour, 1)
	put(today-40, 40*24*time.Hour, 100<<20)
	put(today-30, 30*24*time.Hour, 100<<20)
	put(today-20, 20*24*time.Hour, 100<<20)
	put(today-10, 10*24*time.Hour, 0) // the write of this day was interrupted
	w.service.Advance(time.Minute)
	if res := w.sync(exit.OK); res.Quarantined != 2 {
		t.Errorf("%d days in quarantine", res.Quarantined)
	}
	store, err := load.Open(context.Background(), w.job.DataDir, "acme", w.job.Store)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	left, err := store.Quarantine().Days()
	broken := filepath.Join(w.job.DataDir, quarantine.FolderOf("acme"), "day="+(today-10).String())
	if _, err := os.Stat(broken); err == nil {
		t.Error("what is not whole is still there")
	}
	if err != nil || len(left) != 2 || left[0].Date != today-30 || left[1].Date != today-20 {
		t.Errorf("left are %v, %v", left, err)
	}
}
