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
	"spendsync/extract/adsim/tree"
	"spendsync/extract/adsim/wire"
)

// Quirk is a plausible variation of the service: its description is silent or loose there, or services of this
// kind do it in spite of their descriptions. A quirk holds for every request once it is set, unlike a
// [wire.Fault], which strikes some.
//
// Quirks change replies after the service has made them, so they combine with each other and with faults. The
// replies to writes do not follow them.
type Quirk struct {
	Name string `json:"name"`
	Doc  string `json:"doc"` // one line
	// Report and API name the interfaces that it shows on.
	Report bool `json:"report"`
	API    bool `json:"api"`

	ask      func(x *exchange)                    // changes the request before the service sees it
	override func(x *exchange) (wire.Reply, bool) // optionally replaces the reply
	change   change                               // changes the body of a successful reply
	wire     func(x *exchange, rep *wire.Reply)   // changes the reply on the wire
}

// catalog lists all quirks, in the order in which they apply: values, then bodies, then the wire.
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

// Set is the quirks that are set.
type Set struct {
	mu    sync.Mutex
	set   []Quirk
	times map[string]int // how often something of a quirk happened since they were set
}

// SetQuirks replaces the quirks of the service. It changes nothing if a name is unknown.
func (l *Set) SetQuirks(names ...string) error {
	if err := CheckQuirks(names...); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times = map[string]int{}
	l.set = slices.DeleteFunc(Quirks(), func(q Quirk) bool { return !slices.Contains(names, q.Name) })
	return nil
}

func (l *Set) list() []Quirk {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set
}

// place is the kind of a request: of the report's rows of a day, its sums and its creatives without dates, or of the
// advertiser API's lists, entities and reads of the account. "" is any other.
type place string

// The kinds, and words of several.
const (
	ofDays      = "days"   // rows of a day
	ofTotals    = "totals" // without creatives: sums
	ofTexts     = "texts"  // creatives, without dates
	ofReport    = ofDays + " " + ofTotals + " " + ofTexts
	ofListed    = "campaigns creatives"
	ofCampaigns = "campaigns campaign"
	ofSources   = "source_settings"
	ofNamed     = ofCampaigns + " creatives creative " + ofSources // under the name of their resource
	ofAPI       = ofNamed + " me limits balance"
)

// is reports whether the request is of one of some kinds.
func (p place) is(kinds string) bool {
	return p != "" && slices.Contains(strings.Fields(kinds), string(p))
}

// exchange is a request that quirks inspect and may change.
type exchange struct {
	quirks   *Set
	accounts []*advertiser.API // the first one is served by default
	now      time.Time
	today    clock.Day
	request  *http.Request // as the service will see it
	place    place
}

// placeOf returns the kind of a request.
func placeOf(r *http.Request) place {
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
	case onAPI && len(parts) == 1 && place(path).is("me limits balance campaigns"):
		return place(path)
	case onAPI && len(parts) == 2:
		return map[string]place{"campaigns": "campaign", "creatives": "creative"}[parts[0]]
	case onAPI && len(parts) == 3:
		return map[string]place{"creatives": "creatives", "sources": ofSources}[parts[2]]
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

// param is a parameter of the request.
func (x *exchange) param(name string) string { return x.request.URL.Query().Get(name) }

// number returns an integer parameter, or its default if it is unset.
func (x *exchange) number(name string, unset int) int {
	n, text := wire.ParsePositive(x.request.URL.Query(), name, unset, 1<<40)
	if text != "" {
		return unset
	}
	return n
}

// oneDay is the day that a request of the report asks about alone.
func (x *exchange) oneDay() (clock.Day, bool) {
	d, ok := clock.ParseDay(x.param("start_date"))
	return d, ok && x.param("start_date") == x.param("end_date")
}

// times counts how often something happened since the quirks were set, from 1.
func (x *exchange) times(what string) int {
	l := x.quirks
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times[what]++
	return l.times[what]
}

// Answer returns the reply to a request under the quirks that are set; plain makes the reply without them. An
// error, the reply of a fault, and a body that is not JSON keep their bodies.
func (l *Set) Answer(accounts []*advertiser.API, st *ledger.State, r *http.Request, f *wire.Fault,
	plain func(*http.Request) wire.Reply) wire.Reply {
	set := l.list()
	if len(set) == 0 {
		return plain(r)
	}
	x := &exchange{quirks: l, accounts: accounts, now: st.Now, today: st.Today, request: r, place: placeOf(r)}
	if x.place == "" {
		return plain(r)
	}
	rep, replaced := x.reply(set, plain)
	replaced = replaced || f.Replaces()
	if body := tree.Parse(rep.Body); body != nil && body.Kind != 0 && rep.Status < 300 && !replaced {
		for _, q := range set {
			if q.change != nil {
				body = q.change(x, body)
			}
		}
		rep.Body = body.Append(nil)
	}
	rep.Header = maps.Clone(rep.Header)
	for _, q := range set {
		if q.wire != nil {
			q.wire(x, &rep)
		}
	}
	return rep
}

// reply asks the service for a reply, or has a quirk replace it.
func (x *exchange) reply(set []Quirk, plain func(*http.Request) wire.Reply) (rep wire.Reply, replaced bool) {
	for _, q := range set {
		if q.ask != nil {
			q.ask(x)
		}
	}
	for _, q := range set {
		if q.override != nil {
			if rep, replaced = q.override(x); replaced {
				return rep, true
			}
		}
	}
	return plain(x.request), false
}
