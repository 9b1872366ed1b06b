package adsim

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"spendsync/extract/adsim/clock"
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
	w.Header().Set("Content-Type", "application/json")
	answer, status, err := s.order(r)
	if err != nil {
		w.WriteHeader(status)
		answer = struct {
			Error string `json:"error"`
		}{err.Error()}
	}
	switch answer := answer.(type) {
	case nil:
		w.Header().Del("Content-Type")
	case iter.Seq[any]:
		w.Header().Set("Content-Type", "application/x-ndjson")
		out := bufio.NewWriterSize(w, 1<<16)
		for v := range answer {
			if _, err := out.Write(append(jsontext.Marshal(v), '\n')); err != nil {
				return // the client disconnected
			}
		}
		_ = out.Flush()
	default:
		_, _ = w.Write(append(jsontext.Marshal(answer), '\n'))
	}
}

// order carries out an order and returns the answer: nil for none, a sequence for lines of JSON. status goes
// with an error.
func (s *Service) order(r *http.Request) (answer any, status int, err error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return nil, http.StatusBadRequest, err
	}
	q := r.URL.Query()
	if n := q.Get("account"); n != "" {
		i, err := strconv.Atoi(n)
		if err != nil || i < 0 || i >= len(s.accounts) {
			return nil, http.StatusBadRequest, fmt.Errorf("no account %q", n)
		}
		s = s.accounts[i]
	}
	do := orders[r.Method+" "+r.URL.Path[len(controlPrefix):]]
	if do == nil {
		return nil, http.StatusNotFound, fmt.Errorf("no %s %s", r.Method, r.URL.Path)
	}
	answer, err = do(s, q, body)
	return answer, http.StatusBadRequest, err
}

type orderFunc = func(s *Service, q url.Values, body []byte) (any, error)

// orders are the orders by method and path.
var orders = map[string]orderFunc{
	"GET clock":        give((*Service).clockNow),
	"POST clock":       asks((*Service).setClock),
	"POST fault":       take((*Service).orderFault),
	"DELETE fault":     run((*Service).ClearFaults),
	"GET quirks":       listing((*Service).quirks),
	"POST quirks":      take(func(s *Service, in struct{ Set []string }) error { return s.SetQuirks(in.Set...) }),
	"DELETE quirks":    func(s *Service, _ url.Values, _ []byte) (any, error) { return nil, s.SetQuirks() },
	"POST restate":     asks((*Service).orderRestatement),
	"POST change":      asks((*Service).orderChange),
	"POST plant":       take((*Service).Plant),
	"POST review":      take((*Service).Review),
	"POST balance":     take(func(s *Service, in struct{ Status string }) error { return s.SetBalance(in.Status) }),
	"POST funds":       take((*Service).orderFunds),
	"POST access":      orderAccess,
	"POST key":         take((*Service).orderKey),
	"POST reset":       func(s *Service, _ url.Values, _ []byte) (any, error) { return nil, s.Reset() },
	"DELETE sign-ins":  run((*Service).EndSignIns),
	"GET outbox":       listing((*Service).Outbox),
	"DELETE outbox":    run((*Service).ResetOutbox),
	"GET broadcasts":   listing((*Service).Broadcasts),
	"GET subscribers":  listing((*Service).Subscribers),
	"POST subscribers": take((*Service).Subscribe),
	"GET settings":     orderSettings,
	"GET truth":        orderTruth,
	"GET sources":      give((*Service).sources),
	"GET requests":     listing((*Service).Requests),
	"DELETE requests":  run((*Service).ResetRequests),
}

func run(do func(*Service)) orderFunc {
	return func(s *Service, _ url.Values, _ []byte) (any, error) { do(s); return nil, nil }
}

func give(answer func(*Service) any) orderFunc {
	return func(s *Service, _ url.Values, _ []byte) (any, error) { return answer(s), nil }
}

func listing[T any](list func(*Service) []T) orderFunc {
	return func(s *Service, _ url.Values, _ []byte) (any, error) { return linesOf(list(s)), nil }
}

func linesOf[T any](list []T) iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, v := range list {
			if !yield(v) {
				return
			}
		}
	}
}

// asks decodes the body of an order that has an answer. Unknown fields are refused: a mistyped fault would
// never happen.
func asks[T any](do func(*Service, T) (any, error)) orderFunc {
	return func(s *Service, _ url.Values, body []byte) (any, error) {
		var in T
		if err := jsontext.Decode(body, &in); err != nil {
			return nil, err
		}
		return do(s, in)
	}
}

// take makes an order without an answer.
func take[T any](do func(*Service, T) error) orderFunc {
	return asks(func(s *Service, in T) (any, error) { return nil, do(s, in) })
}

func (s *Service) sources() any {
	return struct {
		Bad  []string `json:"bad"`
		Good []string `json:"good"`
	}{s.BadSources(), s.GoodSources()}
}

func (s *Service) clockNow() any {
	return struct {
		Now      string `json:"now"`
		Standing bool   `json:"standing"`
		Today    string `json:"today"`
	}{s.Now().UTC().Format(time.RFC3339Nano), s.World.Clock.Stands(), s.Today()}
}

type clockOrder struct {
	Now      string
	Advance  string
	Standing *bool
	Speed    *float64
}

func (s *Service) setClock(in clockOrder) (any, error) {
	to := s.Now()
	if in.Now != "" {
		t, err := time.Parse(time.RFC3339, in.Now)
		if err != nil {
			return nil, err
		}
		to = t
	}
	if in.Advance != "" {
		d, err := time.ParseDuration(in.Advance)
		if err != nil {
			return nil, err
		}
		to = to.Add(d)
	}
	standing := s.World.Clock.Stands()
	if in.Standing != nil {
		standing = *in.Standing
	}
	switch {
	case in.Speed != nil && (*in.Speed <= 0 || *in.Speed > 1e6):
		return nil, fmt.Errorf("speed %v: expected more than 0 and at most 1000000", *in.Speed)
	case in.Speed != nil:
		s.RunFast(to, *in.Speed)
	case standing:
		s.SetNow(to)
	default:
		s.RunFrom(to)
	}
	return s.clockNow(), nil
}

func (s *Service) orderFunds(in struct{ Amount any }) error {
	amount, err := world.ParseFunds(in.Amount)
	if err != nil {
		return err
	}
	return s.AddFunds(amount)
}

// orderAccess changes what the order names, or nothing if one of it is refused.
func orderAccess(s *Service, _ url.Values, body []byte) (any, error) {
	in := struct {
		Report   string
		Budgets  map[string]int
		Websites []string
	}{Report: config.ReportAccesses[s.ReportAccess()], Websites: s.Websites()}
	if err := jsontext.Decode(body, &in); err != nil {
		return nil, err
	}
	report, err := config.ParseReportAccess(in.Report)
	if err != nil {
		return nil, err
	}
	for kind, n := range in.Budgets {
		if err := world.CheckBudget(kind, n); err != nil {
			return nil, err
		}
	}
	if err := s.SetWebsites(in.Websites); err != nil {
		return nil, err
	}
	s.SetReportAccess(report)
	for kind, n := range in.Budgets {
		if err := s.SetBudget(kind, n); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

type keyOrder struct {
	Key   string
	Do    string
	Until time.Time
}

func (s *Service) orderKey(in keyOrder) error {
	switch {
	case in.Do == "revoke":
		return s.RevokeKey(in.Key)
	case in.Do == "" && !in.Until.IsZero():
		return s.RenewKey(in.Key, in.Until)
	}
	return fmt.Errorf("key: expected revoke, or until")
}

type faultOrder struct {
	wire.Fault
	For string
}

func (s *Service) orderFault(in faultOrder) error {
	if in.For != "" {
		d, err := time.ParseDuration(in.For)
		if err != nil {
			return err
		}
		in.Fault.For = d
	}
	return s.Faults.Set(in.Fault)
}

type quirkLine struct {
	variations.Quirk
	Set bool `json:"set"`
}

func (s *Service) quirks() (list []quirkLine) {
	set := s.QuirksSet()
	for _, q := range variations.Quirks() {
		list = append(list, quirkLine{q, slices.Contains(set, q.Name)})
	}
	return list
}

type restateOrder struct {
	Day string
	ledger.Restatement
}

func (s *Service) orderRestatement(in restateOrder) (any, error) {
	if in.Kind == "freeze" || in.Kind == "thaw" {
		s.FreezeRestatements(in.Kind == "freeze")
		return nil, nil
	}
	line, err := s.Restate(in.Day, in.Restatement)
	if err != nil || line.Date == "" {
		return nil, err
	}
	return truthLine(line), nil
}

func (s *Service) orderChange(c Change) (any, error) {
	id, err := s.api.Apply(c)
	return struct {
		ID string `json:"id"`
	}{id}, err
}

// orderSettings answers with the settings of a campaign or, without one, of all.
func orderSettings(s *Service, q url.Values, _ []byte) (any, error) {
	ids := []string{q.Get("campaign")}
	if ids[0] == "" {
		ids = s.CampaignIDs()
	}
	list := make([]ledger.Settings, len(ids))
	for i, id := range ids {
		settings, err := s.Settings(id)
		if err != nil {
			return nil, err
		}
		list[i] = settings
	}
	return linesOf(list), nil
}

// truthMeasures are the numbers of a line; spend is text, so that no reader rounds it.
type truthMeasures struct {
	Spend       string `json:"spend"`
	Clicks      int64  `json:"clicks"`
	Impressions int64  `json:"impressions"`
	Conversions int64  `json:"conversions"`
}

func measuresOf(m ledger.Measures) truthMeasures {
	return truthMeasures{m.Exact(), m.Clicks, m.Impressions, m.Conversions}
}

func truthLine(l ledger.Line) any {
	return struct {
		Date         string `json:"date"`
		CampaignID   string `json:"campaign_id"`
		CampaignName string `json:"campaign_name"`
		CreativeID   string `json:"creative_id"`
		SourceID     string `json:"source_id"`
		truthMeasures
	}{l.Date, l.CampaignID, l.CampaignName, l.CreativeID, l.SourceID, measuresOf(l.Measures)}
}

// orderTruth answers with a day, or with all days of the reach: a line for each row or, with sum, for each day.
func orderTruth(s *Service, q url.Values, _ []byte) (any, error) {
	st := s.Snapshot()
	from, to := st.Today-clock.Reach, st.Today
	if date := q.Get("day"); date != "" {
		d, ok := clock.ParseDay(date)
		if !ok {
			return nil, fmt.Errorf("%q is not a day", date)
		}
		from, to = d, d
	}
	if q.Get("sum") != "" {
		return iter.Seq[any](func(yield func(any) bool) {
			for d := from; d <= to; d++ {
				total := st.Sum(d)
				if !yield(struct {
					Date string `json:"date"`
					Rows int64  `json:"rows"`
					truthMeasures
				}{d.String(), total.Rows, measuresOf(total.Measures)}) {
					return
				}
			}
		}), nil
	}
	return iter.Seq[any](func(yield func(any) bool) {
		for d := from; d <= to; d++ {
			for r := range st.Rows(d, ledger.Scope{}) {
				if !yield(truthLine(st.Line(d, r))) {
					return
				}
			}
		}
	}), nil
}
