package adsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// writeSettings writes the settings of a campaign or, without one, of all.
func (s *Service) writeSettings(w http.ResponseWriter, campaignID string) error {
	ids := []string{campaignID}
	if campaignID == "" {
		ids = s.CampaignIDs()
	}
	list := make([]Settings, len(ids))
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

// writeTruth writes a day, or all days of the reach, a line of JSON each row or,
// with sum, each day.
func (s *Service) writeTruth(w http.ResponseWriter, date string, sum bool) error {
	st := s.snapshot()
	from, to := st.today-reach, st.today
	if date != "" {
		d, ok := parseDay(date)
		if !ok {
			return fmt.Errorf("%q is not a day", date)
		}
		from, to = d, d
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	var out []byte
	for d := from; d <= to; d++ {
		if sum {
			o := object{dst: out}
			o.begin("")
			o.str("date", d.String())
			total := s.account.sum(&st, d)
			o.int("rows", total.Rows)
			o.measures(total.Measures)
			o.end()
			out = append(o.dst, '\n')
			continue
		}
		for r := range s.account.rows(&st, d, scope{}) {
			out = append(appendLine(out, s.account.line(&st, d, r)), '\n')
			if len(out) > 1<<16 {
				if _, err := w.Write(out); err != nil {
					return nil // nobody is listening
				}
				out = out[:0]
			}
		}
	}
	_, _ = w.Write(out)
	return nil
}

// measures appends the numbers; spend is a text, so that no reader rounds it.
func (o *object) measures(m Measures) {
	o.str("spend", m.Exact())
	o.int("clicks", m.Clicks)
	o.int("impressions", m.Impressions)
	o.int("conversions", m.Conversions)
}

func appendLine(dst []byte, l Line) []byte {
	o := object{dst: dst}
	o.begin("")
	o.str("date", l.Date)
	o.str("campaign_id", l.CampaignID)
	o.str("campaign_name", l.CampaignName)
	o.str("creative_id", l.CreativeID)
	o.str("source_id", l.SourceID)
	o.measures(l.Measures)
	o.end()
	return o.dst
}

func (s *Service) writeRequests(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	var out []byte
	for _, rq := range s.Requests() {
		o := object{dst: out}
		o.begin("")
		o.str("time", rq.Time.UTC().Format(time.RFC3339Nano))
		o.str("method", rq.Method)
		o.str("path", rq.Path)
		o.str("query", rq.Query)
		o.int("attempt", int64(rq.Attempt))
		o.str("fault", rq.Fault)
		o.raw("status", strconv.Itoa(rq.Status))
		o.int("bytes", rq.Bytes)
		o.end()
		out = append(o.dst, '\n')
	}
	_, _ = w.Write(out)
}
