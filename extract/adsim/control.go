package adsim

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/variations"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// controlPrefix is where a service with Config.Control takes orders from tests in
// another process:
//
//	GET    /_sim/clock      {"now":"2026-11-21T20:00:00Z","standing":false,"today":"2026-11-21"}
//	POST /_sim/clock {"now":"2026-11-21T20:00:00Z"} or {"advance":"24h"}; "standing" true or false
//	stops it or lets it run, "speed":3600 lets it run an hour a second
//	POST   /_sim/fault      a [Fault], with "for" as "2s"
//	DELETE /_sim/fault      takes all faults away
//	GET    /_sim/quirks     all quirks, a line of JSON each, "set" true for those that hold
//	POST   /_sim/quirks     {"set":["numbers-text","bom"]}: these hold from now on, see [Service.SetQuirks]
//	DELETE /_sim/quirks     takes all quirks away
//	POST   /_sim/restate    a [Restatement] with "day"; or {"kind":"freeze"}, {"kind":"thaw"}
//	POST   /_sim/plant      an [Effect]: {"campaign_id":"C...","from":"2026-11-01","conversions":-100}
//	POST   /_sim/change     a [Change]; the answer is {"id":"C..."}, of what was changed or created
//	POST   /_sim/review     a [Verdict]: {"creative":"C...-001","approve":false,"reasons":["x"],"comment":"..."}
//	POST   /_sim/balance    {"status":"depleted"}: see [Service.SetBalance]
//	POST   /_sim/funds      {"amount":"250.00"}: see [Service.AddFunds]
//	GET    /_sim/outbox     what was sent, a [Notification] a line; DELETE empties it
//	GET    /_sim/broadcasts what became of the broadcasts, a [Broadcast] a line
//	GET    /_sim/subscribers a [Subscriber] a line; POST adds one
//	POST   /_sim/reset      everything is as at the start, but the clock: see [Service.Reset]
//	POST   /_sim/access     {"report":"unconfirmed","budgets":{"campaign_create":5},"websites":["https://a.example"]},
//	                        any of them: see [Service.SetReportAccess], [Service.SetBudget], [Service.SetWebsites]
//	POST   /_sim/key        {"key":ID or text,"do":"revoke"} or {"key":..,"until":"2027-01-01T00:00:00Z"}
//	DELETE /_sim/sign-ins   ends all OAuth sign-ins on MCP
//	GET    /_sim/settings   ?campaign=ID: its [Settings]; without: those of all campaigns, newest first. JSON lines
//	GET    /_sim/truth      ?day=YYYY-MM-DD (without: all days of the reach); &sum=1 for one line a day. JSON lines
//	GET    /_sim/sources    {"bad":[...],"good":[...]}
//	GET    /_sim/requests   JSON lines
//	DELETE /_sim/requests   empties the log
//
// With ?account=1 an order is for the first of Config.Accounts, and so on; faults,
// quirks, the log and the reset are of the service as a whole.
//
// An order that is not understood is 400 with {"error": text}.
const controlPrefix = "/_sim/"

func (s *Service) serveControl(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		controlError(w, http.StatusBadRequest, err)
		return
	}
	if n := r.URL.Query().Get("account"); n != "" {
		i, err := strconv.Atoi(n)
		if err != nil || i < 0 || i >= len(s.accounts) {
			controlError(w, http.StatusBadRequest, fmt.Errorf("no account %q", n))
			return
		}
		s = s.accounts[i]
	}
	do := orders[r.Method+" "+r.URL.Path[len(controlPrefix):]]
	if do == nil {
		controlError(w, http.StatusNotFound, fmt.Errorf("no %s %s", r.Method, r.URL.Path))
		return
	}
	if err := do(s, w, r.URL.Query(), body); err != nil {
		controlError(w, http.StatusBadRequest, err)
	}
}

// orders are what the control does, by method and path. One that has nothing to say
// writes nothing.
var orders = map[string]func(s *Service, w http.ResponseWriter, q url.Values, body []byte) error{
	"GET clock": func(s *Service, w http.ResponseWriter, _ url.Values, _ []byte) error {
		s.writeClock(w)
		return nil
	},
	"POST clock": func(s *Service, w http.ResponseWriter, _ url.Values, body []byte) error {
		return s.clockAs(w, body)
	},
	"POST fault": func(s *Service, _ http.ResponseWriter, _ url.Values, body []byte) error {
		return s.setFault(body)
	},
	"DELETE fault": func(s *Service, _ http.ResponseWriter, _ url.Values, _ []byte) error {
		s.ClearFaults()
		return nil
	},
	"GET quirks": func(s *Service, w http.ResponseWriter, _ url.Values, _ []byte) error { return s.writeQuirks(w) },
	"POST quirks": func(s *Service, _ http.ResponseWriter, _ url.Values, body []byte) error {
		return s.quirksAs(body)
	},
	"DELETE quirks": func(s *Service, _ http.ResponseWriter, _ url.Values, _ []byte) error { return s.SetQuirks() },
	"POST restate": func(s *Service, w http.ResponseWriter, _ url.Values, body []byte) error {
		return s.restateAs(w, body)
	},
	"POST change": func(s *Service, w http.ResponseWriter, _ url.Values, body []byte) error {
		return s.changeAs(w, body)
	},
	"POST plant": func(s *Service, _ http.ResponseWriter, _ url.Values, body []byte) error {
		return ordered(body, s.Plant)
	},
	"POST review": func(s *Service, _ http.ResponseWriter, _ url.Values, body []byte) error {
		return ordered(body, s.Review)
	},
	"POST balance": func(s *Service, _ http.ResponseWriter, _ url.Values, body []byte) error {
		return s.balanceAs(body)
	},
	"POST funds": func(s *Service, _ http.ResponseWriter, _ url.Values, body []byte) error {
		return s.fundsAs(body)
	},
	"POST access": func(s *Service, _ http.ResponseWriter, _ url.Values, body []byte) error {
		return s.accessAs(body)
	},
	"POST key": func(s *Service, _ http.ResponseWriter, _ url.Values, body []byte) error {
		return s.keyAs(body)
	},
	"POST reset": func(s *Service, _ http.ResponseWriter, _ url.Values, _ []byte) error { return s.Reset() },
	"DELETE sign-ins": func(s *Service, _ http.ResponseWriter, _ url.Values, _ []byte) error {
		s.EndSignIns()
		return nil
	},
	"GET outbox": func(s *Service, w http.ResponseWriter, _ url.Values, _ []byte) error {
		return writeLines(w, s.Outbox())
	},
	"DELETE outbox": func(s *Service, _ http.ResponseWriter, _ url.Values, _ []byte) error {
		s.ResetOutbox()
		return nil
	},
	"GET broadcasts": func(s *Service, w http.ResponseWriter, _ url.Values, _ []byte) error {
		return writeLines(w, s.Broadcasts())
	},
	"GET subscribers": func(s *Service, w http.ResponseWriter, _ url.Values, _ []byte) error {
		return writeLines(w, s.Subscribers())
	},
	"POST subscribers": func(s *Service, _ http.ResponseWriter, _ url.Values, body []byte) error {
		return ordered(body, s.Subscribe)
	},
	"GET settings": func(s *Service, w http.ResponseWriter, q url.Values, _ []byte) error {
		return s.writeSettings(w, q.Get("campaign"))
	},
	"GET truth": func(s *Service, w http.ResponseWriter, q url.Values, _ []byte) error {
		return s.writeTruth(w, q.Get("day"), q.Get("sum") != "")
	},
	"GET sources": func(s *Service, w http.ResponseWriter, _ url.Values, _ []byte) error {
		s.tellSources(w)
		return nil
	},
	"GET requests": func(s *Service, w http.ResponseWriter, _ url.Values, _ []byte) error {
		return s.writeRequests(w)
	},
	"DELETE requests": func(s *Service, _ http.ResponseWriter, _ url.Values, _ []byte) error {
		s.ResetRequests()
		return nil
	},
}

// ordered gives what a body holds to do.
func ordered[T any](body []byte, do func(T) error) error {
	var v T
	if err := jsontext.Decode(body, &v); err != nil {
		return err
	}
	return do(v)
}

func (s *Service) tellSources(w http.ResponseWriter) {
	writeControl(w, struct {
		Bad  []string `json:"bad"`
		Good []string `json:"good"`
	}{s.BadSources(), s.GoodSources()})
}

func (s *Service) clockAs(w http.ResponseWriter, body []byte) error {
	if err := s.setClock(body); err != nil {
		return err
	}
	s.writeClock(w)
	return nil
}

func controlError(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	writeControl(w, struct {
		Error string `json:"error"`
	}{err.Error()})
}

func writeControl(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(jsontext.Marshal(v), '\n'))
}

func (s *Service) writeClock(w http.ResponseWriter) {
	writeControl(w, struct {
		Now      string `json:"now"`
		Standing bool   `json:"standing"`
		Today    string `json:"today"`
	}{s.Now().UTC().Format(time.RFC3339Nano), s.World.Clock.Stands(), s.Today()})
}

func (s *Service) setClock(body []byte) error {
	var in struct {
		Now      string   `json:"now"`
		Advance  string   `json:"advance"`
		Standing *bool    `json:"standing"`
		Speed    *float64 `json:"speed"`
	}
	if err := jsontext.Decode(body, &in); err != nil {
		return err
	}
	to := s.Now()
	if in.Now != "" {
		t, err := time.Parse(time.RFC3339, in.Now)
		if err != nil {
			return err
		}
		to = t
	}
	if in.Advance != "" {
		d, err := time.ParseDuration(in.Advance)
		if err != nil {
			return err
		}
		to = to.Add(d)
	}
	if in.Speed != nil {
		if *in.Speed <= 0 || *in.Speed > 1e6 {
			return fmt.Errorf("speed %v: expected more than 0 and at most 1000000", *in.Speed)
		}
		s.RunFast(to, *in.Speed)
		return nil
	}
	standing := s.World.Clock.Stands()
	if in.Standing != nil {
		standing = *in.Standing
	}
	if standing {
		s.SetNow(to)
	} else {
		s.RunFrom(to)
	}
	return nil
}

func (s *Service) balanceAs(body []byte) error {
	var in struct {
		Status string `json:"status"`
	}
	if err := jsontext.Decode(body, &in); err != nil {
		return err
	}
	return s.SetBalance(in.Status)
}

func (s *Service) fundsAs(body []byte) error {
	var in struct {
		Amount any `json:"amount"`
	}
	if err := jsontext.Decode(body, &in); err != nil {
		return err
	}
	fields, err := world.NewFields(map[string]any{"amount": in.Amount})
	if err != nil {
		return err
	}
	var amount *int64
	fields.Amount("amount", &amount, 1, world.MaxFunds)
	if err := fields.End(); err != nil {
		return err
	}
	return s.AddFunds(*amount)
}

// accessAs changes what it names, or nothing where one is refused.
func (s *Service) accessAs(body []byte) error {
	in := struct {
		Report   string         `json:"report"`
		Budgets  map[string]int `json:"budgets"`
		Websites []string       `json:"websites"`
	}{Report: config.ReportAccesses[s.ReportAccess()], Websites: s.Websites()}
	if err := jsontext.Decode(body, &in); err != nil {
		return err
	}
	report, err := config.ParseReportAccess(in.Report)
	if err != nil {
		return err
	}
	for kind, n := range in.Budgets {
		if err := world.CheckBudget(kind, n); err != nil {
			return err
		}
	}
	if err := s.SetWebsites(in.Websites); err != nil {
		return err
	}
	s.SetReportAccess(report)
	for kind, n := range in.Budgets {
		if err := s.SetBudget(kind, n); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) keyAs(body []byte) error {
	var in struct {
		Key   string    `json:"key"`
		Do    string    `json:"do"`
		Until time.Time `json:"until"`
	}
	if err := jsontext.Decode(body, &in); err != nil {
		return err
	}
	switch {
	case in.Do == "revoke":
		return s.RevokeKey(in.Key)
	case in.Do == "" && !in.Until.IsZero():
		return s.RenewKey(in.Key, in.Until)
	}
	return fmt.Errorf("key: expected revoke, or until")
}

func (s *Service) setFault(body []byte) error {
	var in struct {
		wire.Fault
		For string `json:"for"`
	}
	if err := jsontext.Decode(body, &in); err != nil {
		return err
	}
	if in.For != "" {
		d, err := time.ParseDuration(in.For)
		if err != nil {
			return err
		}
		in.Fault.For = d
	}
	return s.Faults.Set(in.Fault)
}

// writeQuirks writes all quirks, a line of JSON each.
func (s *Service) writeQuirks(w http.ResponseWriter) error {
	type line struct {
		Name   string `json:"name"`
		Doc    string `json:"doc"`
		Report bool   `json:"report"`
		API    bool   `json:"api"`
		Set    bool   `json:"set"`
	}
	set := s.QuirksSet()
	var list []line
	for _, q := range variations.Quirks() {
		list = append(list, line{q.Name, q.Doc, q.Report, q.API, slices.Contains(set, q.Name)})
	}
	return writeLines(w, list)
}

func (s *Service) quirksAs(body []byte) error {
	var in struct {
		Set []string `json:"set"`
	}
	if err := jsontext.Decode(body, &in); err != nil {
		return err
	}
	return s.SetQuirks(in.Set...)
}

func (s *Service) restateAs(w http.ResponseWriter, body []byte) error {
	var in struct {
		Day string `json:"day"`
		ledger.Restatement
	}
	if err := jsontext.Decode(body, &in); err != nil {
		return err
	}
	switch in.Kind {
	case "freeze", "thaw":
		s.FreezeRestatements(in.Kind == "freeze")
		return nil
	}
	line, err := s.Restate(in.Day, in.Restatement)
	if err != nil {
		return err
	}
	if line.Date != "" {
		writeControl(w, truthLine(line))
	}
	return nil
}

func (s *Service) changeAs(w http.ResponseWriter, body []byte) error {
	var c world.Change
	if err := jsontext.Decode(body, &c); err != nil {
		return err
	}
	id, err := s.Apply(c)
	if err != nil {
		return err
	}
	writeControl(w, struct {
		ID string `json:"id"`
	}{id})
	return nil
}
