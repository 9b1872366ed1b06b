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

// controlPrefix is the path below which a service with Config.Control takes commands from another process. A reply is
// lines of JSON. An unknown or invalid command is 400 with {"error": text}. ?account=1 addresses the first of
// Config.Accounts, and so on; faults and quirks affect all accounts.
//
//	GET    clock    returns {"now":"2026-11-21T20:00:00Z","standing":false,"today":"2026-11-21"}
//	POST   clock    {"now":"2026-11-21T20:00:00Z"} or {"advance":"24h"}; "standing" stops the clock or lets it run
//	POST   fault    a [Fault], with "for" as a duration ("2s"); DELETE removes all faults
//	POST   quirks   {"set":["numbers-text","bom"]} replaces the quirks, see [Service.SetQuirks]
//	POST   restate  a [Restatement] with "day"; returns the row if the command changes a single row
//	POST   funds    {"amount":"250.00"}: see [Service.AddFunds]
//	GET    truth    the rows of the last 32 days and today, or of ?day=YYYY-MM-DD; with &sum=1 a total for each day
const controlPrefix = "/_sim/"

func (s *Service) serveControl(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := bufio.NewWriterSize(w, 1<<16)
	defer out.Flush()
	line := func(v any) { _, _ = out.Write(append(tree.Marshal(v), '\n')) } // fails only if the client has disconnected
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	i, _ := strconv.Atoi(r.URL.Query().Get("account"))
	if err == nil && (i < 0 || i >= len(s.accounts)) {
		err = fmt.Errorf("no account %d", i)
	}
	name := r.Method + " " + r.URL.Path[len(controlPrefix):]
	execute, exists := orders[name]
	switch {
	case err != nil:
	case !exists:
		err = fmt.Errorf("no order %s", name)
	default:
		err = execute(controlCall{s.accounts[i], r.URL.Query(), body, line})
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		line(map[string]string{"error": err.Error()})
	}
}

// controlCall is one command to the service.
type controlCall struct {
	*Service
	query url.Values
	body  []byte
	line  func(any) // writes a line of the reply
}

// in decodes the body. Unknown fields are refused, since a mistyped fault would never strike.
func (o controlCall) in(v any) error {
	d := json.NewDecoder(bytes.NewReader(o.body))
	d.DisallowUnknownFields()
	d.UseNumber() // a float would round amounts
	return d.Decode(v)
}

// orders contains all commands, by method and name.
var orders = map[string]func(o controlCall) error{
	"GET clock":  func(o controlCall) error { o.line(o.clockNow()); return nil },
	"POST clock": controlCall.setClock,
	"POST fault": func(o controlCall) error {
		var f struct {
			wire.Fault
			For string
		}
		err := o.in(&f)
		if err == nil && f.For != "" {
			f.Fault.For, err = time.ParseDuration(f.For)
		}
		if err == nil {
			err = o.Faults.Set(f.Fault)
		}
		return err
	},
	"DELETE fault": func(o controlCall) error { o.ClearFaults(); return nil },
	"POST quirks": func(o controlCall) error {
		var in struct{ Set []string }
		if err := o.in(&in); err != nil {
			return err
		}
		return o.SetQuirks(in.Set...)
	},
	"POST restate": func(o controlCall) error {
		var in struct {
			Day string
			ledger.Restatement
		}
		if err := o.in(&in); err != nil {
			return err
		}
		row, err := o.Restate(in.Day, in.Restatement)
		if row.Date != "" {
			o.line(truthLine{row, 0, row.Exact()})
		}
		return err
	},
	"POST funds": func(o controlCall) error {
		var in struct{ Amount any }
		if err := o.in(&in); err != nil {
			return err
		}
		amount, _ := money.Parse(fmt.Sprint(in.Amount)) // AddFunds refuses the 0 of an invalid text
		return o.AddFunds(amount)
	},
	"GET truth": controlCall.tellTruth,
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

// setClock sets the clock, and replies with its new state.
func (o controlCall) setClock() error {
	var in clockOrder
	if err := o.in(&in); err != nil {
		return err
	}
	s, by, err := o.Service, time.Duration(0), error(nil)
	to := s.Now()
	if !in.Now.IsZero() {
		to = in.Now
	}
	if in.Advance != "" {
		by, err = time.ParseDuration(in.Advance)
	}
	switch {
	case err != nil:
		return err
	case in.Standing == nil && s.Stands() || in.Standing != nil && *in.Standing:
		s.SetNow(to.Add(by))
	default:
		s.RunFrom(to.Add(by))
	}
	o.line(s.clockNow())
	return nil
}

// truthLine is a row of a day, or the total of a day's rows. Spend is text, so that no reader rounds it.
type truthLine struct {
	ledger.Line
	Rows  int64  `json:"rows,omitempty"`
	Spend string `json:"spend"`
}

func (o controlCall) tellTruth() error {
	st, q, line := o.Snapshot(), o.query, o.line
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
