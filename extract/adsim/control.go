package adsim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
)

// controlPrefix is where a service with Config.Control takes orders from another process. Answers are lines of JSON;
// an order that is not understood is 400 with {"error": text}. With ?account=1 an order is for the first of
// Config.Accounts, and so on; faults and quirks are of the service as a whole.
//
//	GET    clock    {"now":"2026-11-21T20:00:00Z","standing":false,"today":"2026-11-21"}
//	POST   clock    {"now":"2026-11-21T20:00:00Z"} or {"advance":"24h"}; "standing" stops it or lets it run
//	POST   fault    a [Fault], with "for" as "2s"; DELETE takes all faults away
//	POST   quirks   {"set":["numbers-text","bom"]}: these hold from now on, see [Service.SetQuirks]
//	POST   restate  a [Restatement] with "day"
//	POST   review   a [Verdict]: {"creative":"C...-001","approve":false,"reasons":["x"],"comment":"..."}
//	POST   funds    {"amount":"250.00"}: see [Service.AddFunds]
//	GET    truth    the rows of the reach, or of ?day=YYYY-MM-DD; with &sum=1 a line for each day
//	GET    outbox   what was sent, a [Notification] a line
const controlPrefix = "/_sim/"

func (s *Service) serveControl(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := bufio.NewWriterSize(w, 1<<16)
	defer out.Flush()
	line := func(v any) { _, _ = out.Write(append(tree.Marshal(v), '\n')) } // a client that is gone needs no more
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	i, _ := strconv.Atoi(r.URL.Query().Get("account"))
	if err == nil && (i < 0 || i >= len(s.accounts)) {
		err = fmt.Errorf("no account %d", i)
	}
	if err == nil {
		err = s.accounts[i].order(r.Method+" "+r.URL.Path[len(controlPrefix):], r.URL.Query(), body, line)
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		line(map[string]string{"error": err.Error()})
	}
}

// order carries out an order and answers with lines.
func (s *Service) order(name string, q url.Values, body []byte, line func(any)) (err error) {
	// in decodes the body. Unknown fields are refused: a mistyped fault would never happen.
	in := func(v any) bool {
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		d.UseNumber() // an amount goes through no float
		err = d.Decode(v)
		return err == nil
	}
	switch name {
	case "GET clock":
		line(s.clockNow())
	case "POST clock":
		var c clockOrder
		if in(&c) {
			err = s.setClock(c)
		}
		if err == nil {
			line(s.clockNow())
		}
	case "POST fault":
		var f struct {
			wire.Fault
			For string
		}
		if in(&f) && f.For != "" {
			f.Fault.For, err = time.ParseDuration(f.For)
		}
		if err == nil {
			err = s.Faults.Set(f.Fault)
		}
	case "DELETE fault":
		s.ClearFaults()
	case "POST quirks":
		var of struct{ Set []string }
		if in(&of) {
			err = s.SetQuirks(of.Set...)
		}
	case "POST restate":
		var of struct {
			Day string
			ledger.Restatement
		}
		if in(&of) {
			_, err = s.Restate(of.Day, of.Restatement)
		}
	case "POST review":
		var v Verdict
		if in(&v) {
			err = s.Review(v)
		}
	case "POST funds":
		var of struct{ Amount any }
		if in(&of) {
			amount, _ := money.Parse(fmt.Sprint(of.Amount)) // 0 is refused
			err = s.AddFunds(amount)
		}
	case "GET truth":
		err = s.tellTruth(q, line)
	case "GET outbox":
		for _, n := range s.Outbox() {
			line(n)
		}
	default:
		err = fmt.Errorf("no order %s", name)
	}
	return err
}

func (s *Service) clockNow() any {
	return struct {
		Now      string `json:"now"`
		Standing bool   `json:"standing"`
		Today    string `json:"today"`
	}{s.Now().UTC().Format(time.RFC3339Nano), s.Stands(), s.Today()}
}

type clockOrder struct {
	Now      time.Time
	Advance  string
	Standing *bool
}

func (s *Service) setClock(in clockOrder) (err error) {
	to, by := s.Now(), time.Duration(0)
	if !in.Now.IsZero() {
		to = in.Now
	}
	if in.Advance != "" {
		by, err = time.ParseDuration(in.Advance)
	}
	switch {
	case err != nil:
	case in.Standing == nil && s.Stands() || in.Standing != nil && *in.Standing:
		s.SetNow(to.Add(by))
	default:
		s.RunFrom(to.Add(by))
	}
	return err
}

// truthLine is a line of the truth, or the sum of Rows lines. Spend is text, so that no reader rounds it.
type truthLine struct {
	ledger.Line
	Rows  int64  `json:"rows,omitempty"`
	Spend string `json:"spend"`
}

func (s *Service) tellTruth(q url.Values, line func(any)) error {
	st := s.Snapshot()
	from, to := st.Today-clock.Reach, st.Today
	if date := q.Get("day"); date != "" {
		d, ok := clock.ParseDay(date)
		if !ok {
			return fmt.Errorf("%q is not a day", date)
		}
		from, to = d, d
	}
	for d := from; d <= to; d++ {
		if q.Get("sum") != "" {
			total := st.Sum(d)
			line(truthLine{ledger.Line{Date: d.String(), Measures: total.Measures}, total.Rows, total.Exact()})
			continue
		}
		for r := range st.Rows(d, ledger.Scope{}) {
			line(truthLine{st.Line(d, r), 0, r.Exact()})
		}
	}
	return nil
}
