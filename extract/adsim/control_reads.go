package adsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
)

// writeSettings writes the settings of a campaign or, without one, of all.
func (s *Service) writeSettings(w http.ResponseWriter, campaignID string) error {
	ids := []string{campaignID}
	if campaignID == "" {
		ids = s.CampaignIDs()
	}
	list := make([]ledger.Settings, len(ids))
	for i, id := range ids {
		settings, err := s.Settings(id)
		if err != nil {
			return err
		}
		list[i] = settings
	}
	return writeLines(w, list)
}

// writeLines writes a list, a line of JSON each.
func writeLines[T any](w http.ResponseWriter, list []T) error {
	var out []byte
	for _, v := range list {
		line, err := json.Marshal(v)
		if err != nil {
			return err
		}
		out = append(append(out, line...), '\n')
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	_, _ = w.Write(out)
	return nil
}

// controlMeasures are the numbers of a line; spend is text, so that no reader rounds it.
type controlMeasures struct {
	Spend       string `json:"spend"`
	Clicks      int64  `json:"clicks"`
	Impressions int64  `json:"impressions"`
	Conversions int64  `json:"conversions"`
}

func measuresOf(m ledger.Measures) controlMeasures {
	return controlMeasures{m.Exact(), m.Clicks, m.Impressions, m.Conversions}
}

// controlLine is a row of the truth.
type controlLine struct {
	Date         string `json:"date"`
	CampaignID   string `json:"campaign_id"`
	CampaignName string `json:"campaign_name"`
	CreativeID   string `json:"creative_id"`
	SourceID     string `json:"source_id"`
	controlMeasures
}

func truthLine(l ledger.Line) controlLine {
	return controlLine{l.Date, l.CampaignID, l.CampaignName, l.CreativeID, l.SourceID, measuresOf(l.Measures)}
}

// writeTruth writes a day, or all days of the reach, a line of JSON each row or,
// with sum, each day.
func (s *Service) writeTruth(w http.ResponseWriter, date string, sum bool) error {
	st := s.Snapshot()
	from, to := st.Today-clock.Reach, st.Today
	if date != "" {
		d, ok := clock.ParseDay(date)
		if !ok {
			return fmt.Errorf("%q is not a day", date)
		}
		from, to = d, d
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	for d := from; d <= to; d++ {
		if sum {
			total := st.Sum(d)
			if out.Encode(struct {
				Date string `json:"date"`
				Rows int64  `json:"rows"`
				controlMeasures
			}{d.String(), total.Rows, measuresOf(total.Measures)}) != nil {
				return nil // nobody is listening
			}
			continue
		}
		for r := range st.Rows(d, ledger.Scope{}) {
			if out.Encode(truthLine(st.Line(d, r))) != nil {
				return nil
			}
		}
	}
	return nil
}

func (s *Service) writeRequests(w http.ResponseWriter) error {
	type line struct {
		Time    string `json:"time"`
		Method  string `json:"method"`
		Path    string `json:"path"`
		Query   string `json:"query"`
		Attempt int    `json:"attempt"`
		Fault   string `json:"fault"`
		Status  int    `json:"status"`
		Bytes   int64  `json:"bytes"`
	}
	var list []line
	for _, rq := range s.Requests() {
		list = append(list, line{rq.Time.UTC().Format(time.RFC3339Nano), rq.Method, rq.Path, rq.Query, rq.Attempt,
			rq.Fault, rq.Status, rq.Bytes})
	}
	return writeLines(w, list)
}
