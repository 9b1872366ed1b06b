package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
)

// TestKept_IsTakenByTheNextSync: the replies of a day that this version does not understand are kept. When the day has
// left the reach, and the operator's lines name what it lacked, the next sync proves it by them, with the service's own
// sum of that time; none of another account's are taken.
func TestKept_IsTakenByTheNextSync(t *testing.T) {
	w := newWorld(t, smallAccount).withoutMarts()
	day := w.today() - 32
	w.transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if q := r.URL.Query(); err != nil || !isOf(day, q) || q.Get("start_date") != q.Get("end_date") {
			return resp, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		body = bytes.ReplaceAll(body, []byte(`"total_spend"`), []byte(`"outlay_usd"`))
		return reply(r, resp.StatusCode, resp.Header, string(body)), err
	})
	truth, err := w.service.TruthSum(day.String())
	if err != nil {
		t.Fatal(err)
	}
	if code, _, last := w.run("sync"); code == exit.OK || !strings.Contains(last, "kept in quarantine/") {
		t.Fatalf("a column of another name: exit %d: %s", code, last)
	}
	w.transport = nil
	w.service.Advance(48 * time.Hour)
	stored := fmt.Sprintf("SELECT count(*) FROM spend_daily WHERE report_date = '%s'", day)
	if code, _, last := w.run("sync"); code != exit.DayAtRisk || w.ask(stored) != "0" {
		t.Errorf("out of reach, and not understood: exit %d, %s rows: %s", code, w.ask(stored), last)
	}
	w.env["SERVICE_FILE"] = filepath.Join(t.TempDir(), "service.yaml")
	lines := "report.total_spend: [total_spend, outlay_usd]\n"
	if err := os.WriteFile(w.env["SERVICE_FILE"], []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	w.service.Advance(24 * time.Hour)
	if code, _, last := w.run("sync"); code != exit.OK || !strings.Contains(last, "1 day proven from quarantine") {
		t.Errorf("understood: exit %d: %s", code, last)
	}
	got := w.ask(fmt.Sprintf("SELECT state || ' ' || rows || ' ' || control_total_state || ' ' || "+
		"(spend * 1000000)::BIGINT FROM ops.day_coverage WHERE report_date = '%s'", day))
	if want := fmt.Sprintf("final %d matched %d", truth.Rows, truth.Spend); got != want {
		t.Errorf("the day is %s, want %s", got, want)
	}
	w.must("verify")
	w.must("replay")
	w.must("verify")
}
