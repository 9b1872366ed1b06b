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
)

// renamedService is a transport to a service with other names and paths than the simulated one behind it.
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

// TestServiceFile_ReadsARenamedService: a renamed column, field, list, parameter and path are lines of a file. With
// them the store has the truth, and a replay by the same lines changes nothing.
func TestServiceFile_ReadsARenamedService(t *testing.T) {
	w := newWorld(t).withoutMarts()
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
	write("report.total_spend: spend_usd\ncampaign.default_bid: [default_bid, bid_cpc]\nlists: [docs, hits]\n" +
		"paging: {limit: take, offset: skip}\npaths:\n  campaigns: v2/campaigns\n  campaign: v2/campaigns/{id}\n")
	w.must("sync", "--full") // archived campaigns, too: their lists were found without the file, and their bids not
	w.checkTruth()
	if got := w.ask("SELECT count(*) > 0 AND count(*) = count(default_bid) FROM campaign_history"); got != "true" {
		t.Errorf("all campaigns have a bid: %s", got)
	}
	was := w.ask("FROM spend_daily ORDER BY ALL")
	w.must("replay")
	if got := w.ask("FROM spend_daily ORDER BY ALL"); got != was {
		t.Error("a replay by the same lines changed the rows")
	}
}

// renaming is a transport to a service whose replies have other keys.
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

// TestServiceFile_TheManualsExample: the lines that the operators' manual shows read a service that has these names.
func TestServiceFile_TheManualsExample(t *testing.T) {
	_, text, _ := strings.Cut(manual(t, "cmd/spendsync/deploy/README.md"), "SPENDSYNC_SERVICE_FILE")
	block := fenced.FindStringSubmatch(text)
	if block == nil || !strings.Contains(block[2], "bid_cpc") || !strings.Contains(block[2], "docs") {
		t.Fatalf("the manual's example is %q", block)
	}
	w := newWorld(t, small).withoutMarts()
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

// TestServiceFile_ReplayReadsWhatWasKept: days that no sync could read for want of a name are read from their kept
// replies once a file has it. Nothing is asked of the service.
func TestServiceFile_ReplayReadsWhatWasKept(t *testing.T) {
	w := newWorld(t, small).withoutMarts()
	w.transport = renaming([2]string{"total_spend", "cost_usd"})
	if code, _, last := w.run("sync"); code != exit.Contract || !strings.Contains(last, "kept in quarantine/") {
		t.Fatalf("without the file: exit %d: %s", code, last)
	}
	w.transport = roundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("replay asks the service")
		return nil, io.ErrUnexpectedEOF
	})
	w.env["SERVICE_FILE"] = filepath.Join(t.TempDir(), "service.yaml")
	if err := os.WriteFile(w.env["SERVICE_FILE"], []byte("report.total_spend: cost_usd\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, last := w.run("replay"); code != exit.OK || !strings.Contains(last, "33 days proven from quarantine") {
		t.Errorf("with the file: exit %d: %s", code, last)
	}
	w.checkTruth()
}
