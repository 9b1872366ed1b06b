package job

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/load/quarantine"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// refusing is a service that refuses one page, or all pages, of a day.
type refusing struct {
	w      *world
	day    schema.Date
	page   string
	status int
}

func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	q := req.URL.Query()
	if q.Get("start_date") != r.day.String() || q.Get("end_date") != r.day.String() || q.Get("source_id") != "" ||
		!strings.Contains(q.Get("columns"), "source_id") || r.page != "" && q.Get("page") != r.page {
		return r.w.service.Transport().RoundTrip(req)
	}
	body := fmt.Sprintf(`{"error":{"code":"odd","message":"the words of %d"}}`, r.status)
	return &http.Response{StatusCode: r.status, Request: req, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// TestQuarantine_KeepsWhatItSays: a run reports kept replies only if it kept replies. It also keeps a refusal of all
// pages by 404 or 410, but does not report it, because no version could prove the day from it.
func TestQuarantine_KeepsWhatItSays(t *testing.T) {
	for _, c := range []struct {
		status int
		page   string // the refused page; empty: all pages
		pages  int    // number of kept pages
	}{
		{status: 410, page: "2", pages: 1}, {status: 400}, {status: 404}, {status: 410},
	}[:schematest.Times(2, 4, 4)] {
		t.Run(fmt.Sprintf("%d page %q", c.status, c.page), func(t *testing.T) {
			w := newWorld(t)
			w.job.Plan.PageSize = 20
			day := w.today() - 9
			w.transport = refusing{w, day, c.page, c.status}
			res := w.sync(exit.Partial, fmt.Sprintf("the words of %d", c.status))
			says := strings.Contains(res.Run.Message.V, "kept in quarantine/")
			about, err := os.ReadFile(filepath.Join(w.job.DataDir, quarantine.FolderOf("acme"), "day="+day.String(),
				"about.json"))
			isNothing := c.page == "" && c.status != 400 // no version could prove the day by this refusal
			if says == isNothing || err != nil {
				t.Fatalf("it says that replies are kept: %v, and they are: %v: %s", says, err, res.Run.Message.V)
			}
			if want := fmt.Sprintf("the words of %d", c.status); !strings.Contains(string(about), want) {
				t.Errorf("about.json lacks %q: %s", want, about)
			}
			if got := strings.Count(string(about), `"sha256"`); got != c.pages {
				t.Errorf("%d pages are kept, want %d: %s", got, c.pages, about)
			}
			w.replay(exit.OK, "1 day in quarantine not proven")
			if w.account().Days[day] != nil {
				t.Error("a refusal has become a day")
			}
			w.transport = nil
			if again := w.sync(exit.OK); again.Quarantined != 0 {
				t.Errorf("%d days in quarantine", again.Quarantined)
			}
			w.wantTruth()
		})
	}
}
