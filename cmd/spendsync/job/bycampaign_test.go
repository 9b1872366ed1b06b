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

// reordered answers each request for a page of a day from the entire day. If the request has no filter, the rows come
// in another order each time. edit changes the rows that a request can see. renamed is empty, or has the ID of a
// campaign and the ID that the report has in its place.
func (w *world) reordered(edit func(q url.Values, rows []json.RawMessage) []json.RawMessage, renamed ...string) {
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
		if len(renamed) > 0 && q.Get("campaign_id") == renamed[1] {
			all.Set("campaign_id", renamed[0])
		}
		whole.URL.RawQuery = all.Encode()
		resp, err := w.service.Transport().RoundTrip(whole)
		if err != nil || resp.StatusCode != http.StatusOK {
			return resp, err
		}
		var body map[string]json.RawMessage
		var rows []json.RawMessage
		text, err := io.ReadAll(resp.Body)
		if len(renamed) > 0 {
			text = bytes.ReplaceAll(text, []byte(`"`+renamed[0]+`"`), []byte(`"`+renamed[1]+`"`))
		}
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

// TestByCampaign: a day whose pages have no order is proven campaign by campaign, and stays intact: its stored replies
// give the same rows, and a later read in page order does not change it.
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

// TestByCampaign_OfACampaignOfSeveralPages: a campaign whose pages have no order is read creative by creative.
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

// TestByCampaign_RowsOfOthersAreDropped: the service adds creatives of other campaigns, without spend, to the rows of a
// campaign. These rows are dropped.
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

// TestByCampaign_AServiceThatIgnoresTheFilter: no day of several pages is proven. The run reports that, and the stored
// days stay.
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

// TestByCampaign_AnIDOfAnyForm: a campaign whose ID has an unusual form is requested, so that its rows are complete,
// also on an open day. Rows without a campaign cannot be requested, so an open day with such rows keeps its stored
// rows.
func TestByCampaign_AnIDOfAnyForm(t *testing.T) {
	for name, id := range map[string]string{"percent": "C1%3", "hash": "C1#3", "slash": "C1/3", "none": ""} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(c *adsim.Config) { c.RowsPerDay = 60 })
			w.first()
			rows := func(campaign string) string {
				return w.ask("SELECT count(*), count(*) FILTER (campaign_id = '%s') FROM spend_daily "+
					"WHERE report_date = '%s'", campaign, w.today())
			}
			first := w.ask("SELECT min(campaign_id) FROM spend_daily WHERE report_date = '%s'", w.today())
			want := rows(first)
			if id == "" {
				w.reordered(func(q url.Values, rows []json.RawMessage) []json.RawMessage {
					if q.Get("campaign_id") != "" {
						return rows
					}
					return append(rows, json.RawMessage(`{"creative_id":"C9-001","total_spend":0}`))
				})
				id = first
			} else {
				w.reordered(nil, first, id)
			}
			w.job.Plan.PageSize, w.job.Plan.YoungDays = 20, 1
			res := w.ran()
			isReported := strings.Contains(w.log.String(), "rows without a campaign or creative cannot be requested")
			if isReported != (name == "none") {
				t.Errorf("rows without a campaign are reported: %t", isReported)
			}
			if got := rows(id); got != want {
				t.Errorf("%s rows in all and of campaign %s are stored, want %s: %s", got, id, want, res.Run.Message.V)
			}
		})
	}
}
