package adsim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/tree"
)

// controlPrefix is the path below which a service with Config.Control takes commands for its first account from another
// process. A command is a POST request with a JSON body. The reply to an unknown or invalid command has the status 400
// and the body {"error": text}.
//
//	clock    {"now":"2026-11-21T20:00:00Z"} sets the clock. "standing":true stops the clock, and "standing":false
//	         lets it run. Returns {"now":"2026-11-21T20:00:00Z","standing":false,"today":"2026-11-21"}
//	restate  restates a day. The body contains "day" and the fields of a [Restatement]
const controlPrefix = "/_sim/"

func (s *Service) serveControl(w http.ResponseWriter, r *http.Request) {
	d := json.NewDecoder(io.LimitReader(r.Body, 1<<20))
	d.DisallowUnknownFields() // a mistyped field must not be ignored
	var reply any
	err := fmt.Errorf("no command %s %s", r.Method, r.URL.Path)
	switch r.Method + r.URL.Path {
	case http.MethodPost + controlPrefix + "clock":
		reply, err = s.setClock(d)
	case http.MethodPost + controlPrefix + "restate":
		err = s.restateDay(d)
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		reply = map[string]string{"error": err.Error()}
	}
	if reply != nil {
		_, _ = w.Write(append(tree.Marshal(reply), '\n')) // fails only if the client has disconnected
	}
}

func (s *Service) setClock(d *json.Decoder) (any, error) {
	in := struct {
		Now      time.Time
		Standing bool
	}{s.Now(), s.Stands()}
	if err := d.Decode(&in); err != nil {
		return nil, err
	}
	if in.Standing {
		s.SetNow(in.Now)
	} else {
		s.RunFrom(in.Now)
	}
	return struct {
		Now      string `json:"now"`
		Standing bool   `json:"standing"`
		Today    string `json:"today"`
	}{s.Now().UTC().Format(time.RFC3339Nano), s.Stands(), s.Today()}, nil
}

func (s *Service) restateDay(d *json.Decoder) error {
	var in struct {
		Day string
		ledger.Restatement
	}
	if err := d.Decode(&in); err != nil {
		return err
	}
	return s.Restate(in.Day, in.Restatement)
}
