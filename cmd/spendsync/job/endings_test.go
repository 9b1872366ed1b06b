package job

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
)

// roundTripper is a transport that a function is.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestEndings_AreANote: an end that the service announces is said by two runs, and is a standing note for the third.
func TestEndings_AreANote(t *testing.T) {
	w := newWorld(t)
	w.transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := w.service.Transport().RoundTrip(r)
		if err == nil {
			resp.Header.Set("Deprecation", "@1772323200")
			resp.Header.Set("Sunset", "Thu, 31 Dec 2026 00:00:00 GMT")
		}
		return resp, err
	})
	for run := range 4 {
		code := exit.Partial
		if run >= 2 {
			code = exit.OK
		}
		res := w.sync(code)
		isSaid := strings.Contains(res.Run.Message.V,
			"announces that a path ends on 2026-12-31, deprecated: 2026-03-01")
		if isSaid != (run < 2) {
			t.Errorf("run %d: %s", run, res.Run.Message.V)
		}
		w.service.Advance(time.Hour)
	}
	if got := w.ask("SELECT note, is_standing FROM ops.note"); got != "service.ends.2026-12-31|true" {
		t.Errorf("notes: %s", got)
	}
	w.wantVerified()
}

// TestLimits_ThatAreNotThereAreANote: nothing under the path of the limits is nothing that a run can mend.
func TestLimits_ThatAreNotThereAreANote(t *testing.T) {
	w := newWorld(t)
	if err := w.service.SetQuirks("limits-404"); err != nil {
		t.Fatal(err)
	}
	for run := range 4 {
		code := exit.Partial
		if run >= 2 {
			code = exit.OK
		}
		w.sync(code)
		w.service.Advance(time.Hour)
	}
	if got := w.ask("SELECT note, is_standing FROM ops.note"); got != "account.limits.status-404|true" {
		t.Errorf("notes: %s", got)
	}
}

// TestUnknownHost_EndsAtOnceBeforeAnythingWorked: a name that does not resolve is a mistake of the configuration
// at the very first run, and may be an outage later.
func TestUnknownHost_EndsAtOnceBeforeAnythingWorked(t *testing.T) {
	w := newWorld(t)
	w.retryBudget = time.Hour // nobody waits for it
	w.job.Concurrency = 33    // the days wait for their tries together
	var isDown atomic.Bool
	isDown.Store(true)
	w.transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		if isDown.Load() {
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: r.URL.Host,
				IsNotFound: true}}
		}
		return w.service.Transport().RoundTrip(r)
	})
	if res := w.sync(exit.Usage, "no such host"); res.Run.Published {
		t.Error("something is published")
	}
	isDown.Store(false)
	w.service.Advance(time.Hour)
	w.sync(exit.OK)
	isDown.Store(true)
	w.retryBudget = 20 * time.Millisecond
	w.service.Advance(time.Hour)
	w.sync(exit.Unreachable)
}
