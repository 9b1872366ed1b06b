package adsim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
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
// Config.Accounts, and so on; faults, quirks and the log are of the service as a whole.
//
//	GET    clock     {"now":"2026-11-21T20:00:00Z","standing":false,"today":"2026-11-21"}
//	POST   clock     {"now":"2026-11-21T20:00:00Z"} or {"advance":"24h"}; "standing" stops it or lets it run
//	POST   fault     a [Fault], with "for" as "2s"; DELETE takes all faults away
//	POST   quirks    {"set":["numbers-text","bom"]}: these hold from now on, see [Service.SetQuirks]
//	POST   restate   a [Restatement] with "day"
//	POST   change    a [Change]; the answer is {"id":"C..."}, of what was changed or created
//	POST   review    a [Verdict]: {"creative":"C...-001","approve":false,"reasons":["x"],"comment":"..."}
//	POST   funds     {"amount":"250.00"}: see [Service.AddFunds]
//	GET    settings  those of all campaigns, newest first
//	GET    truth     the rows of the reach, or of ?day=YYYY-MM-DD; with &sum=1 a line for each day
//	GET    outbox    what was sent, a [Notification] a line
//	GET    requests  the log; DELETE empties it
const controlPrefix = "/_sim/"

type orderFunc = func(s *Service, q url.Values, body []byte) (iter.Seq[any], error)

var orders = map[string]orderFunc{
	"GET clock":       func(s *Service, _ url.Values, _ []byte) (iter.Seq[any], error) { return s.clockNow(), nil },
	"POST clock":      asks((*Service).setClock),
	"POST fault":      take((*Service).orderFault),
	"DELETE fault":    take(func(s *Service, _ struct{}) error { s.ClearFaults(); return nil }),
	"POST quirks":     take(func(s *Service, in struct{ Set []string }) error { return s.SetQuirks(in.Set...) }),
	"POST restate":    take((*Service).orderRestatement),
	"POST change":     asks((*Service).orderChange),
	"POST review":     take((*Service).Review),
	"POST funds":      take((*Service).orderFunds),
	"GET settings":    orderSettings,
	"GET truth":       orderTruth,
	"GET outbox":      listing((*Service).Outbox),
	"GET requests":    listing((*Service).Requests),
	"DELETE requests": take(func(s *Service, _ struct{}) error { s.ResetRequests(); return nil }),
}

func (s *Service) serveControl(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	do := orders[r.Method+" "+r.URL.Path[len(controlPrefix):]]
	i, _ := strconv.Atoi(r.URL.Query().Get("account"))
	var answer iter.Seq[any]
	switch {
	case err != nil:
	case do == nil || i < 0 || i >= len(s.accounts):
		err = fmt.Errorf("no %s %s, or no account %d", r.Method, r.URL.Path, i)
	default:
		answer, err = do(s.accounts[i], r.URL.Query(), body)
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		answer = one(map[string]string{"error": err.Error()})
	}
	out := bufio.NewWriterSize(w, 1<<16)
	defer out.Flush()
	if answer == nil {
		return
	}
	for v := range answer {
		if _, err := out.Write(append(tree.Marshal(v), '\n')); err != nil {
			return // the client disconnected
		}
	}
}

func one(v any) iter.Seq[any] { return func(yield func(any) bool) { yield(v) } }

func listing[T any](list func(*Service) []T) orderFunc {
	return func(s *Service, _ url.Values, _ []byte) (iter.Seq[any], error) {
		return func(yield func(any) bool) {
			for _, v := range list(s) {
				if !yield(v) {
					return
				}
			}
		}, nil
	}
}

// asks decodes the body of an order that has an answer. Unknown fields are refused: a mistyped fault would never
// happen.
func asks[T any](do func(*Service, T) (iter.Seq[any], error)) orderFunc {
	return func(s *Service, _ url.Values, body []byte) (iter.Seq[any], error) {
		var in T
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		d.UseNumber() // an amount goes through no float
		if err := d.Decode(&in); err != nil && len(body) > 0 {
			return nil, err
		}
		return do(s, in)
	}
}

// take makes an order without an answer.
func take[T any](do func(*Service, T) error) orderFunc {
	return asks(func(s *Service, in T) (iter.Seq[any], error) { return nil, do(s, in) })
}

func (s *Service) clockNow() iter.Seq[any] {
	return one(struct {
		Now      string `json:"now"`
		Standing bool   `json:"standing"`
		Today    string `json:"today"`
	}{s.Now().UTC().Format(time.RFC3339Nano), s.Stands(), s.Today()})
}

func (s *Service) setClock(in struct {
	Now      time.Time
	Advance  string
	Standing *bool
}) (iter.Seq[any], error) {
	to := s.Now()
	if !in.Now.IsZero() {
		to = in.Now
	}
	if in.Advance != "" {
		d, err := time.ParseDuration(in.Advance)
		if err != nil {
			return nil, err
		}
		to = to.Add(d)
	}
	if in.Standing == nil && s.Stands() || in.Standing != nil && *in.Standing {
		s.SetNow(to)
	} else {
		s.RunFrom(to)
	}
	return s.clockNow(), nil
}

func (s *Service) orderFunds(in struct{ Amount any }) error {
	amount, ok := money.Parse(fmt.Sprint(in.Amount))
	if !ok {
		return fmt.Errorf("amount %v: expected a decimal of at most six places", in.Amount)
	}
	return s.AddFunds(amount)
}

func (s *Service) orderFault(in struct {
	wire.Fault
	For string
}) (err error) {
	if in.For != "" {
		if in.Fault.For, err = time.ParseDuration(in.For); err != nil {
			return err
		}
	}
	return s.Faults.Set(in.Fault)
}

func (s *Service) orderRestatement(in struct {
	Day string
	ledger.Restatement
}) error {
	_, err := s.Restate(in.Day, in.Restatement)
	return err
}

func (s *Service) orderChange(c Change) (iter.Seq[any], error) {
	id, err := s.api.Apply(c)
	return one(map[string]string{"id": id}), err
}

func orderSettings(s *Service, _ url.Values, _ []byte) (iter.Seq[any], error) {
	return func(yield func(any) bool) {
		for _, id := range s.CampaignIDs() {
			if settings, err := s.Settings(id); err == nil && !yield(settings) {
				return
			}
		}
	}, nil
}

// truthLine is a line of the truth. Spend is text, so that no reader rounds it.
type truthLine struct {
	Date         string `json:"date"`
	Rows         int64  `json:"rows,omitempty"`
	CampaignID   string `json:"campaign_id,omitempty"`
	CampaignName string `json:"campaign_name,omitempty"`
	CreativeID   string `json:"creative_id,omitempty"`
	SourceID     string `json:"source_id"`
	Spend        string `json:"spend"`
	Clicks       int64  `json:"clicks"`
	Impressions  int64  `json:"impressions"`
	Conversions  int64  `json:"conversions"`
}

func truthOf(l ledger.Line, rows int64) truthLine {
	return truthLine{l.Date, rows, l.CampaignID, l.CampaignName, l.CreativeID, l.SourceID, l.Exact(), l.Clicks,
		l.Impressions, l.Conversions}
}

func orderTruth(s *Service, q url.Values, _ []byte) (iter.Seq[any], error) {
	st := s.Snapshot()
	from, to := st.Today-clock.Reach, st.Today
	if date := q.Get("day"); date != "" {
		d, ok := clock.ParseDay(date)
		if !ok {
			return nil, fmt.Errorf("%q is not a day", date)
		}
		from, to = d, d
	}
	return func(yield func(any) bool) {
		for d := from; d <= to; d++ {
			if q.Get("sum") != "" {
				total := st.Sum(d)
				if !yield(truthOf(ledger.Line{Date: d.String(), Measures: total.Measures}, total.Rows)) {
					return
				}
				continue
			}
			for r := range st.Rows(d, ledger.Scope{}) {
				if !yield(truthOf(st.Line(d, r), 0)) {
					return
				}
			}
		}
	}, nil
}
