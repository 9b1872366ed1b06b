package job

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// reordered answers questions for the rows of a day from whole ones, with the rows in another order for each request
// that does not name what is asked for; edit changes the rows that a request may see.
func (w *world) reordered(edit func(q url.Values, rows []json.RawMessage) []json.RawMessage) {
	asked := uint64(0)
	w.transport = transportFunc(func(r *http.Request) (*http.Response, error) {
		q := r.URL.Query()
		if !strings.Contains(q.Get("columns"), "source_id") {
			return w.service.Transport().RoundTrip(r)
		}
		whole := r.Clone(r.Context())
		all := r.URL.Query()
		all.Set("page", "1")
		all.Set("page_size", "10000")
		whole.URL.RawQuery = all.Encode()
		resp, err := w.service.Transport().RoundTrip(whole)
		if err != nil || resp.StatusCode != http.StatusOK {
			return resp, err
		}
		var body map[string]json.RawMessage
		var rows []json.RawMessage
		text, err := io.ReadAll(resp.Body)
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err == nil {
			err = json.Unmarshal(body["data"], &rows)
		}
		if err != nil {
			return nil, err
		}
		if asked++; q.Get("campaign_id") == "" {
			rand.New(rand.NewPCG(1, asked)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		}
		if edit != nil {
			rows = edit(q, rows)
		}
		page, _ := strconv.Atoi(q.Get("page"))
		size, _ := strconv.Atoi(q.Get("page_size"))
		shown := rows[min((page-1)*size, len(rows)):min(page*size, len(rows))]
		body["data"], _ = json.Marshal(slices.Clip(append([]json.RawMessage{}, shown...)))
		body["pagination"], _ = json.Marshal(map[string]int{"page": page, "page_size": size, "total_rows": len(rows),
			"total_pages": (len(rows) + size - 1) / size})
		out, err := json.Marshal(body)
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(out)), int64(len(out))
		resp.Header.Del("Content-Length")
		return resp, err
	})
}

// TestByCampaign: a day whose pages have no order is proven campaign by campaign, and stays intact: its replies give
// its rows again.
func TestByCampaign(t *testing.T) {
	w := newWorld(t, func(c *adsim.Config) { c.RowsPerDay = 60 })
	w.job.Plan.PageSize = 20
	w.reordered(nil)
	w.sync(exit.OK)
	w.wantTruth()
	byCampaign := 0
	for _, day := range w.account().Days {
		if len(day.Pieces) > 0 {
			byCampaign++
		}
	}
	if byCampaign < 20 {
		t.Errorf("%d days were read campaign by campaign: the case shows nothing", byCampaign)
	}
	w.transport = nil
	w.rereadAll()
	w.sync(exit.OK)
	w.wantTruth()
}

// TestByCampaign_OfACampaignOfSeveralPages that has no order either goes on creative by creative.
func TestByCampaign_OfACampaignOfSeveralPages(t *testing.T) {
	w := newWorld(t, func(c *adsim.Config) { c.Campaigns, c.CreativesPerCampaign, c.RowsPerDay = 1, 4, 60 })
	w.job.Plan.PageSize = 25
	n := uint64(0)
	w.reordered(func(q url.Values, rows []json.RawMessage) []json.RawMessage {
		if n++; q.Get("creative_id") == "" {
			rand.New(rand.NewPCG(2, n)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		}
		return rows
	})
	w.sync(exit.OK)
	w.wantTruth()
}

// TestByCampaign_RowsOfOthersAreDropped: a service that adds creatives without spend of other campaigns.
func TestByCampaign_RowsOfOthersAreDropped(t *testing.T) {
	w := newWorld(t, func(c *adsim.Config) { c.RowsPerDay = 60 })
	w.job.Plan.PageSize = 20
	w.reordered(func(q url.Values, rows []json.RawMessage) []json.RawMessage {
		if q.Get("campaign_id") == "" {
			return rows
		}
		return append(rows, json.RawMessage(`{"campaign_id":"C9999999","creative_id":"C9999999-001","total_spend":0}`))
	})
	w.sync(exit.OK)
	w.wantTruth()
}

// TestByCampaign_AServiceThatIgnoresTheFilter proves no day of several pages, loudly, and keeps what is stored.
func TestByCampaign_AServiceThatIgnoresTheFilter(t *testing.T) {
	w := newWorld(t, func(c *adsim.Config) { c.RowsPerDay = 60 })
	w.first()
	w.job.Plan.PageSize = 20
	w.rereadAll()
	n := uint64(0)
	w.transport = nil
	w.reordered(func(_ url.Values, rows []json.RawMessage) []json.RawMessage {
		rand.New(rand.NewPCG(3, n)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		n++
		return append(rows, rows[0])
	})
	if res, err := w.next().Sync(t.Context()); err != nil || res.Run.ExitCode == exit.OK {
		t.Errorf("exit %d, error %v", res.Run.ExitCode, err)
	}
	w.transport = nil
	w.wantTruth()
}
