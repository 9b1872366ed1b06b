package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// renamedService is a transport that makes the simulated service look like a service with other names and paths.
func renamedService(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Path = strings.Replace(r.URL.Path, "/v2/", "/v1/", 1)
	r.URL.RawQuery = strings.NewReplacer("spend_usd", "total_spend", "take=", "limit=", "skip=", "offset=").Replace(
		r.URL.RawQuery)
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	for _, names := range [][2]string{{"total_spend", "spend_usd"}, {"default_bid", "bid_cpc"}, {"campaigns", "hits"},
		{"creatives", "hits"}} {
		body = bytes.ReplaceAll(body, []byte(`"`+names[0]+`"`), []byte(`"`+names[1]+`"`))
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	resp.Header.Del("Content-Length")
	return resp, err
}

// TestServiceFile_ReadsARenamedService: a service file declares a renamed column, field, list, parameter and path. With
// this file, the store is correct, and a replay with the same file changes nothing.
func TestServiceFile_ReadsARenamedService(t *testing.T) {
	w := newWorld(t)
	w.transport = roundTripper(renamedService)
	if code, _, last := w.run("sync"); code == exit.OK {
		t.Errorf("without the file: exit %d: %s", code, last)
	}
	file := filepath.Join(t.TempDir(), "service.yaml")
	w.env["SERVICE_FILE"] = file
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("report.total_spend: spend_usd\ncampaign:\n  default_bids: bid_cpc\n")
	if code, _, last := w.run("sync"); code != exit.Usage ||
		!strings.Contains(last, "line 3: campaign.default_bids: there is no such key; did you mean "+
			"campaign.default_bid?") {
		t.Errorf("an unknown key: exit %d: %s", code, last)
	}
	write("report.total_spend: spend_usd\ncampaign.default_bid: [default_bid, bid_cpc]\n" +
		"lists: {campaigns: hits, creatives: hits}\npaging: {limit: take, offset: skip}\n" +
		"paths:\n  campaigns: v2/campaigns\n  campaign: v2/campaigns/{id}\n")
	// Also read archived campaigns again. Without the file, their lists were found but their bids were not.
	w.must("sync", "--full")
	w.checkTruth()
	if got := w.ask("SELECT count(*) > 0 AND count(*) = count(default_bid) FROM campaign_history"); got != "true" {
		t.Errorf("all campaigns have a bid: %s", got)
	}
	was := w.ask("FROM spend_daily ORDER BY ALL")
	w.must("repair", "replay")
	if got := w.ask("FROM spend_daily ORDER BY ALL"); got != was {
		t.Error("a replay by the same lines changed the rows")
	}
}

// renaming returns a transport that renames keys in the service's replies.
func renaming(names ...[2]string) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		for _, n := range names {
			body = bytes.ReplaceAll(body, []byte(`"`+n[0]+`"`), []byte(`"`+n[1]+`"`))
		}
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		resp.Header.Del("Content-Length")
		return resp, err
	}
}

// TestServiceFile_TheManualsExample: with the lines in the operators' manual, a service with the names in these lines
// can be read.
func TestServiceFile_TheManualsExample(t *testing.T) {
	_, text, _ := strings.Cut(manual(t, "cmd/spendsync/deploy/README.md"), "SPENDSYNC_SERVICE_FILE")
	block := fenced.FindStringSubmatch(text)
	if block == nil || !strings.Contains(block[2], "bid_cpc") || !strings.Contains(block[2], "lists.campaigns: docs") {
		t.Fatalf("the manual's example is %q", block)
	}
	w := newWorld(t, small, func(c *adsim.Config) { c.Quirks = []string{"total-with-spend"} })
	w.transport = renaming([2]string{"default_bid", "bid_cpc"}, [2]string{"campaigns", "docs"})
	w.env["SERVICE_FILE"] = filepath.Join(t.TempDir(), "service.yaml")
	if err := os.WriteFile(w.env["SERVICE_FILE"], []byte(block[2]), 0o644); err != nil {
		t.Fatal(err)
	}
	w.must("sync")
	if got := w.ask("SELECT count(*) > 0 AND count(*) = count(default_bid) FROM campaign_history"); got != "true" {
		t.Errorf("all campaigns have a bid: %s", got)
	}
}

// TestServiceFile_CheckPrintsItsLines: the lines that check prints for unrecognized keys work without a change.
func TestServiceFile_CheckPrintsItsLines(t *testing.T) {
	w := newWorld(t)
	w.transport = renaming([2]string{"default_bid", "bid_default_usd"}, [2]string{"daily_spend_limit", "spend_cap"})
	_, lines, last := w.check()
	paste := strings.Join(lines["fields unread"].Paste, "\n")
	if !strings.Contains(paste, "campaign.default_bid: bid_default_usd") ||
		!strings.Contains(paste, "campaign.daily_spend_limit: spend_cap") {
		t.Fatalf("%+v\n%s", lines["fields unread"], last)
	}
	w.env["SERVICE_FILE"] = filepath.Join(t.TempDir(), "service.yaml")
	if err := os.WriteFile(w.env["SERVICE_FILE"], []byte(paste+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, lines, last := w.check(); code != exit.OK || len(lines["fields unread"].Paste) > 0 {
		t.Errorf("with the lines: exit %d: %s %+v", code, last, lines["fields unread"])
	}
}
