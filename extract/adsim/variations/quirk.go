package variations

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/report"
	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
)

// Quirk is a plausible variation of the service: a behavior that the service's description does not specify, or that
// services of this kind show despite their descriptions. A [wire.Fault] affects selected requests; an active quirk
// affects every read of its kind. A quirk does not affect writes.
//
// Most quirks change a reply after the service has made the reply, so that quirks combine with each other and with
// faults.
type Quirk struct {
	Name string
	Doc  string // one line
	// Report and API state which interfaces the quirk affects: the report, the advertiser API, or both.
	Report bool
	API    bool

	ask      func(x *exchange)                    // changes the request before the service sees it
	override func(x *exchange) (wire.Reply, bool) // optionally replaces the reply
	change   change                               // changes the body of a successful reply
	wire     func(x *exchange, rep *wire.Reply)   // changes the headers or the bytes of any reply
}

// catalog lists all quirks in the order in which they apply: first those of the report alone, then those of the API
// alone, then those of both.
var catalog = sync.OnceValue(func() (list []Quirk) {
	for i, quirks := range [][]Quirk{reportQuirks, apiQuirks, wireQuirks} {
		for _, q := range quirks {
			q.Report, q.API = i != 1, i != 0
			list = append(list, q)
		}
	}
	return list
})

// Quirks lists all quirks, in the order in which they apply.
func Quirks() []Quirk { return slices.Clone(catalog()) }

// CheckQuirks returns an error if one of the names is not the name of a quirk.
func CheckQuirks(names ...string) error {
	for _, name := range names {
		if !slices.ContainsFunc(catalog(), func(q Quirk) bool { return q.Name == name }) {
			return fmt.Errorf("quirk: there is no %q", name)
		}
	}
	return nil
}

// ActiveQuirks contains the quirks that are set.
type ActiveQuirks struct {
	mu     sync.Mutex
	active []Quirk
	times  map[string]int // counters for quirks that depend on earlier requests; reset when quirks are set
}

// SetQuirks replaces the quirks of the service. It changes nothing if a name is unknown.
func (a *ActiveQuirks) SetQuirks(names ...string) error {
	if err := CheckQuirks(names...); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times = map[string]int{}
	a.active = slices.DeleteFunc(Quirks(), func(q Quirk) bool { return !slices.Contains(names, q.Name) })
	return nil
}

func (a *ActiveQuirks) list() []Quirk {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.active
}

// endpoint is the kind of a read. For the report it is one of the constants below. For the API it is the resource in
// the reply, for example "campaigns" (a list) or "campaign". For all other requests it is "".
type endpoint string

// The endpoints, and lists of endpoints that are separated by spaces.
const (
	ofDays      = "days"   // the report with creatives and the column date
	ofTotals    = "totals" // the report without creatives: sums
	ofTexts     = "texts"  // the report with creatives, without the column date
	ofReport    = ofDays + " " + ofTotals + " " + ofTexts
	ofListed    = "campaigns creatives"
	ofCampaigns = "campaigns campaign"
	ofSources   = "source_settings"
	// endpoints whose bodies have the name of the resource as a key
	ofNamed = ofCampaigns + " creatives creative " + ofSources
	ofAPI   = ofNamed + " me limits balance"
)

// e.is(endpoints) reports whether e is one of the given endpoints, which are separated by spaces.
func (e endpoint) is(endpoints string) bool {
	return e != "" && slices.Contains(strings.Fields(endpoints), string(e))
}

// serve returns the service's reply to a request. The views are applied if the request is for the report.
type serve func(r *http.Request, views []report.View) wire.Reply

// exchange is a request and its context, which quirks inspect and may change.
type exchange struct {
	quirks   *ActiveQuirks
	accounts []*advertiser.API
	now      time.Time
	today    clock.Day
	request  *http.Request // the request after quirks have changed it
	views    []report.View // views that quirks have added, for the report to apply
	endpoint endpoint
}

// endpointOf returns the endpoint of a request.
func endpointOf(r *http.Request) endpoint {
	path, onAPI := strings.CutPrefix(r.URL.Path, wire.APIPrefix+"/v1/")
	parts := strings.Split(path, "/")
	switch q := r.URL.Query(); {
	case r.Method != http.MethodGet:
	case path == wire.ReportPrefix+"/ads/spend-report" && !slices.Contains([]string{"true", "1"},
		strings.ToLower(q.Get("include_creatives"))):
		return ofTotals
	case path == wire.ReportPrefix+"/ads/spend-report":
		if q.Get("columns") == "" || slices.Contains(strings.Split(q.Get("columns"), ","), "date") {
			return ofDays
		}
		return ofTexts
	case onAPI && len(parts) == 1 && endpoint(path).is("me limits balance campaigns"):
		return endpoint(path)
	case onAPI && len(parts) == 2:
		return map[string]endpoint{"campaigns": "campaign", "creatives": "creative"}[parts[0]]
	case onAPI && len(parts) == 3:
		return map[string]endpoint{"creatives": "creatives", "sources": ofSources}[parts[2]]
	}
	return ""
}

// edit changes the query that the service will see.
func (x *exchange) edit(change func(q url.Values)) {
	r := *x.request
	u := *r.URL
	q := u.Query()
	change(q)
	u.RawQuery = q.Encode()
	r.URL = &u
	x.request = &r
}

// param returns a query parameter.
func (x *exchange) param(name string) string { return x.request.URL.Query().Get(name) }

// number returns an integer query parameter. If the parameter is missing or invalid, number returns the given default.
func (x *exchange) number(name string, unset int) int {
	n, text := wire.ParsePositive(x.request.URL.Query(), name, unset, 1<<40)
	if text != "" {
		return unset
	}
	return n
}

// oneDay returns the day of a report request, and reports whether the request is for a single day.
func (x *exchange) oneDay() (clock.Day, bool) {
	d, ok := clock.ParseDay(x.param("start_date"))
	return d, ok && x.param("start_date") == x.param("end_date")
}

// times increments the counter with the given name and returns its new value.
func (x *exchange) times(what string) int {
	a := x.quirks
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times[what]++
	return a.times[what]
}

// Answer returns the reply to a request with the active quirks applied. The last parameter is a function that returns
// the reply without quirks. Quirks do not change the body of an error, a body that a fault has replaced, or a body that
// is not JSON.
func (a *ActiveQuirks) Answer(accounts []*advertiser.API, st *ledger.State, r *http.Request, f *wire.Fault,
	plain serve) wire.Reply {
	active := a.list()
	if len(active) == 0 {
		return plain(r, nil)
	}
	x := &exchange{quirks: a, accounts: accounts, now: st.Now, today: st.Today, request: r, endpoint: endpointOf(r)}
	if x.endpoint == "" {
		return plain(r, nil)
	}
	rep, replaced := x.reply(active, plain)
	replaced = replaced || f.Replaces()
	if body := tree.Parse(rep.Body); body != nil && body.Kind != 0 && rep.Status < 300 && !replaced {
		for _, q := range active {
			if q.change != nil {
				body = q.change(x, body)
			}
		}
		rep.Body = body.Append(nil)
	}
	rep.Header = maps.Clone(rep.Header)
	for _, q := range active {
		if q.wire != nil {
			q.wire(x, &rep)
		}
	}
	return rep
}

// reply returns the service's reply to the request as quirks have changed it. If a quirk replaces the service's reply,
// the method returns the quirk's reply and true.
func (x *exchange) reply(active []Quirk, plain serve) (rep wire.Reply, replaced bool) {
	for _, q := range active {
		if q.ask != nil {
			q.ask(x)
		}
	}
	for _, q := range active {
		if q.override != nil {
			if rep, replaced = q.override(x); replaced {
				return rep, true
			}
		}
	}
	return plain(x.request, x.views), false
}
