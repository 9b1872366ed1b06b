package adsim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/tree"
)

// controlPrefix is the path below which a service with Config.Control takes commands for its first account from another
// process. A reply is lines of JSON; an unknown or invalid command is 400 with {"error": text}.
//
//	POST  clock    {"now":"2026-11-21T20:00:00Z"} sets the clock; "standing" stops it or lets it run. Returns
//	               {"now":"2026-11-21T20:00:00Z","standing":false,"today":"2026-11-21"}
//	POST  restate  a [Restatement] with "day"
//	GET   truth    returns the totals of the last 32 days and today
const controlPrefix = "/_sim/"

// commands maps the method and the name of each command to its function. The argument decode decodes the body of the
// request.
var commands = map[string]func(s *Service, decode func(v any) error) (lines []any, err error){
	"POST clock":   (*Service).setClock,
	"POST restate": (*Service).restateDay,
	"GET truth":    (*Service).totals,
}

func (s *Service) serveControl(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	name := r.Method + " " + r.URL.Path[len(controlPrefix):]
	lines, err := []any(nil), fmt.Errorf("no command %s", name)
	if command := commands[name]; command != nil {
		lines, err = command(s, func(v any) error {
			d := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
			d.DisallowUnknownFields() // a mistyped field must not be ignored
			return d.Decode(v)
		})
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		lines = []any{map[string]string{"error": err.Error()}}
	}
	for _, line := range lines {
		_, _ = w.Write(append(tree.Marshal(line), '\n')) // fails only if the client has disconnected
	}
}

func (s *Service) setClock(decode func(v any) error) ([]any, error) {
	in := struct {
		Now      time.Time
		Standing bool
	}{s.Now(), s.Stands()}
	if err := decode(&in); err != nil {
		return nil, err
	}
	if in.Standing {
		s.SetNow(in.Now)
	} else {
		s.RunFrom(in.Now)
	}
	return []any{struct {
		Now      string `json:"now"`
		Standing bool   `json:"standing"`
		Today    string `json:"today"`
	}{s.Now().UTC().Format(time.RFC3339Nano), s.Stands(), s.Today()}}, nil
}

func (s *Service) restateDay(decode func(v any) error) ([]any, error) {
	var in struct {
		Day string
		ledger.Restatement
	}
	if err := decode(&in); err != nil {
		return nil, err
	}
	return nil, s.Restate(in.Day, in.Restatement)
}

// totals returns the totals of the days. Spend is a text, so that no JSON parser rounds the number.
func (s *Service) totals(func(v any) error) (lines []any, err error) {
	st := s.Snapshot()
	for d := st.Today - clock.Reach; d <= st.Today; d++ {
		sum := st.Sum(d)
		lines = append(lines, struct {
			Date   string `json:"date"`
			Rows   int64  `json:"rows"`
			Spend  string `json:"spend"`
			Clicks int64  `json:"clicks"`
		}{d.String(), sum.Rows, sum.Exact(), sum.Clicks})
	}
	return lines, nil
}
