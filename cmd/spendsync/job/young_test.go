package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/schema"
	"spendsync/schema/schematest"
)

// beginning is a service whose account begins on the day first. It answers requests for earlier days with the given
// status.
type beginning struct {
	w      *world
	first  schema.Date
	status int
	summed bool // its control totals include the days before first
}

func (b beginning) RoundTrip(req *http.Request) (*http.Response, error) {
	q := req.URL.Query()
	if from := q.Get("start_date"); from == q.Get("end_date") && from < b.first.String() && from != "" &&
		strings.Contains(q.Get("columns"), "source_id") {
		body := ""
		if b.status == http.StatusBadRequest {
			body = `{"error": "start_date cannot be more than 32 days before today"}`
		}
		return &http.Response{StatusCode: b.status, Request: req, ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
	resp, err := b.w.service.Transport().RoundTrip(req)
	if err != nil || b.summed || q.Get("columns") != "date,total_spend,clicks" {
		return resp, err
	}
	var reply map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return nil, err
	}
	var rows []any
	for _, row := range reply["data"].([]any) {
		if row.(map[string]any)["date"].(string) >= b.first.String() {
			rows = append(rows, row)
		}
	}
	reply["data"] = rows
	if p, ok := reply["pagination"].(map[string]any); ok {
		p["total_rows"] = len(rows)
	}
	text, err := json.Marshal(reply)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	resp.Header.Del("Content-Length")
	return resp, err
}

// TestYoung_BeginsOnItsFirstDay: the days before the first day of a young account are reported once and are not gaps,
// if the control totals state no delivery on these days.
func TestYoung_BeginsOnItsFirstDay(t *testing.T) {
	for _, status := range []int{404, 410, 204}[:schematest.Times(1, 3, 3)] {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			w := newWorld(t)
			first := w.today() - 12
			w.transport = beginning{w: w, first: first, status: status}
			w.sync(exit.OK, fmt.Sprintf("the account begins on %s: the service has nothing of 20 days", first))
			if got := w.account().Since; got != first {
				t.Errorf("it begins on %s, want %s", got, first)
			}
			if again := w.sync(exit.OK); strings.Contains(again.Run.Message.V, "begins") || again.Run.DaysPlanned > 4 {
				t.Errorf("said again: %d days planned: %s", again.Run.DaysPlanned, again.Run.Message.V)
			}
			w.wantVerified()
		})
	}
	for status, days := range map[int]schema.Date{404: 12, 400: schema.ReachDays - 3} {
		t.Run(fmt.Sprintf("they answer after a %d", status), func(t *testing.T) {
			w := newWorld(t)
			w.transport = beginning{w: w, first: w.today() - days, status: status}
			for range 2 {
				w.sync(exit.OK)
				w.service.Advance(time.Hour)
			}
			if got := w.account().Since; got != w.today()-days {
				t.Fatalf("the account begins on %s", got)
			}
			w.transport = nil
			w.sync(exit.OK)
			w.wantTruth()
		})
	}
	t.Run("summed", func(t *testing.T) {
		w := newWorld(t)
		w.transport = beginning{w: w, first: w.today() - 12, status: 404, summed: true}
		w.sync(exit.DayAtRisk, "is not proven")
		if got := w.account().Since; got != w.today()-schema.ReachDays {
			t.Errorf("it begins on %s, though its sums have earlier days", got)
		}
	})
	t.Run("no gap of an older account", func(t *testing.T) {
		w := newWorld(t)
		w.first()
		w.rereadAll()
		w.transport = beginning{w: w, first: w.today() - 12, status: 404}
		w.sync(exit.Partial)
		if got := w.account().Since; got != w.today()-schema.ReachDays {
			t.Errorf("it begins on %s, though earlier days are stored", got)
		}
	})
}
