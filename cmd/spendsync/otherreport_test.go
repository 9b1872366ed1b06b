package main

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
	"spendsync/load"
	"spendsync/load/duck"
)

// twoAccounts is a world whose service has a second account.
func twoAccounts(t *testing.T) *world {
	return newWorld(t, func(c *adsim.Config) {
		c.Accounts = []adsim.Config{{Seed: 2, Campaigns: 6, CreativesPerCampaign: 3, Sources: 60, RowsPerDay: 60,
			RateLimit: -1}}
	}).withoutMarts()
}

const secondUser = "analyst2@example.com"

// TestSync_RefusesAnotherAccountsReport: the API key of one account and the report's
// user of another replace nothing, in a first load and later.
func TestSync_RefusesAnotherAccountsReport(t *testing.T) {
	w := twoAccounts(t)
	w.env["REREAD_AFTER"] = "0s"
	ours := w.env["REPORT_USER"]
	w.env["REPORT_USER"] = secondUser
	for _, command := range [][]string{{"sync"}, {"backfill", "--from", (w.today() - 5).String(), "--to",
		w.service.Today()}} {
		if code, _, last := w.run(command...); code != exit.Auth || !strings.Contains(last, "the report speaks of") ||
			!strings.Contains(last, "the account that the API key acts on has 6 campaigns") {
			t.Errorf("first %s: exit %d: %s", command[0], code, last)
		}
	}
	w.env["REPORT_USER"] = ours
	w.must("sync")
	const stored = "SELECT report_date, count(*), sum(spend) FROM spend_daily GROUP BY ALL ORDER BY 1"
	was := w.ask(stored)
	w.env["REPORT_USER"] = secondUser
	if code, _, last := w.run("sync"); code != exit.Auth || !strings.Contains(last, "the report speaks of") {
		t.Errorf("sync: exit %d: %s", code, last)
	}
	// Without the list of campaigns it may have new ones: the run waits.
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 500, Path: "/v1/campaigns"})
	if code, _, last := w.run("sync"); code != exit.Unreachable || !strings.Contains(last, "cannot be proven yet") {
		t.Errorf("sync: exit %d: %s", code, last)
	}
	w.service.ClearFaults()
	if got := w.ask(stored) + w.ask("SELECT count(*) FROM spend_change"); got != was+"0" {
		t.Errorf("days were replaced: %s", got)
	}
	w.env["REPORT_USER"] = ours
	w.must("sync")
	w.checkTruth()
}

var creativeID = regexp.MustCompile(`"creative_id":"C\d+-\d+`)

// TestSync_DoubtsVanishedKeys: finished days whose stored keys are nearly all gone at
// once are not replaced by a sync, and are by a backfill. One such day is a restatement.
func TestSync_DoubtsVanishedKeys(t *testing.T) {
	w := newWorld(t).withoutMarts().synced()
	w.env["REREAD_AFTER"] = "0s"
	from, to := (w.today() - 6).String(), (w.today() - 3).String()
	w.transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		day := r.URL.Query().Get("start_date")
		if err != nil || day < from || day > to || day != r.URL.Query().Get("end_date") {
			return resp, err
		}
		body, err := io.ReadAll(resp.Body)
		body = creativeID.ReplaceAllFunc(body, func(id []byte) []byte {
			number := id[bytes.IndexByte(id, '-')+1:]
			for i, digit := range number {
				number[i] = '0' + (digit-'0'+1)%10
			}
			return id
		})
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		resp.Header.Del("Content-Length")
		return resp, err
	})
	was := w.ask("FROM spend_daily ORDER BY ALL")
	if code, _, last := w.run("sync"); code != exit.Auth || !strings.Contains(last, "4 finished days") ||
		!strings.Contains(last, "sync --from") {
		t.Errorf("sync: exit %d: %s", code, last)
	}
	if w.ask("FROM spend_daily ORDER BY ALL") != was {
		t.Error("the days were replaced")
	}
	w.must("backfill", "--from", from, "--to", to)
	if w.ask("FROM spend_daily ORDER BY ALL") == was {
		t.Error("backfill took nothing in")
	}
}

// TestSync_DoubtsAnEmptyListOfCampaigns: a list without campaigns deletes none of those
// that are known, however often it comes.
func TestSync_DoubtsAnEmptyListOfCampaigns(t *testing.T) {
	w := newWorld(t).withoutMarts().synced()
	w.service.Fail(adsim.Fault{Kind: adsim.Truncate, Path: "/v1/campaigns"})
	for range 3 {
		if code, _, last := w.run("sync"); code != exit.Partial ||
			!strings.Contains(last, "the listing of campaigns is empty") {
			t.Errorf("sync: exit %d: %s", code, last)
		}
	}
	if got := w.ask("SELECT count(*) FROM campaign_history WHERE is_deleted"); got != "0" {
		t.Errorf("%s campaigns count as deleted", got)
	}
	w.service.ClearFaults()
	w.must("sync")
	w.checkSettings()
}

// roundTripper is a transport that is a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestStatus_ShowsWhatProvedTheAccount: the proof of the last run is shown, is stored with the run, and is absent
// from runs that published nothing and from repairs.
func TestStatus_ShowsWhatProvedTheAccount(t *testing.T) {
	w := newWorld(t).withoutMarts().synced()
	const asked = "SELECT identity_proof FROM ops.run ORDER BY started_at DESC LIMIT 1"
	by := w.ask(asked)
	if !strings.HasPrefix(by, "/v1/me names account ") || !strings.Contains(by, "; the report has campaign ") {
		t.Errorf("the proof is %q", by)
	}
	if got := w.must("status"); !strings.Contains(got, "  proven by            "+by+"\n") {
		t.Errorf("status does not show %q:\n%s", by, got)
	}
	if got := w.must("status", "--json"); !strings.Contains(got, `"identity_proof": "`+by+`"`) {
		t.Errorf("status --json does not show %q:\n%s", by, got)
	}
	if got := w.must("verify"); strings.Contains(got, "unproven") {
		t.Errorf("verify doubts a proven account: %s", got)
	}
	ours, key := w.env["REPORT_PASSWORD"], w.env["API_KEY"]
	w.env["REPORT_PASSWORD"] = "wrong"
	if code, _, last := w.run("sync"); code != exit.Auth {
		t.Errorf("sync with a wrong password: exit %d: %s", code, last)
	}
	if got := w.ask(asked); strings.Contains(got, "report") || !strings.HasPrefix(got, "/v1/me names account ") {
		t.Errorf("settings alone were proven by %q", got)
	}
	w.env["API_KEY"] = "wrong"
	if code, _, last := w.run("sync"); code != exit.Auth {
		t.Errorf("sync with a wrong key, too: exit %d: %s", code, last)
	}
	w.env["REPORT_PASSWORD"], w.env["API_KEY"] = ours, key
	if got := w.must("status"); strings.Contains(got, "proven by") {
		t.Errorf("status shows a proof of a run that published nothing:\n%s", got)
	}
	w.must("rebuild")
	if got := w.ask(asked); got != "NULL" {
		t.Errorf("a rebuild was proven by %q", got)
	}
}

// TestVerify_SaysWhichAccountIsUnproven: it is a warning, not a damage.
func TestVerify_SaysWhichAccountIsUnproven(t *testing.T) {
	var out bytes.Buffer
	c := &verifyCommand{call: &call{terminal: terminal{stdout: &out}}}
	err := c.tellVerified(&load.Verification{Generation: 3,
		Unproven: []duck.Unproven{{Account: "acme", Days: 1, Campaigns: 2, Example: "C7"}}})
	if err != nil || !strings.Contains(out.String(), "unproven  account acme: ") ||
		!strings.Contains(out.String(), "2 campaigns on 1 day of the report (C7 among them)") ||
		!strings.Contains(out.String(), "generation 3 is as it was published") {
		t.Errorf("%v: %s", err, out.String())
	}
}
