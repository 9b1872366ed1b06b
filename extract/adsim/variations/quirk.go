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
	"spendsync/extract/adsim/jsontext"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/wire"
)

// Quirk is a plausible variation of the service: something that its description leaves
// open or says loosely, or that services of this kind do in spite of it. A quirk holds
// for every request from when it is set, unlike a [Fault], which strikes some.
//
// Quirks change replies after the service has made them, so they can be combined with
// each other, with any [Shape] and with faults. openapi.json does not follow them.
type Quirk struct {
	Name string
	Doc  string // one line
	// On says which interface it shows on: the spend report, the advertiser API.
	Report, API bool
}

// quirk is a Quirk with what it does. Each part may be nil.
type quirk struct {
	Quirk
	// ask changes the request before the service sees it.
	ask func(x *exchange)
	// override optionally replaces the reply.
	override func(x *exchange) (wire.Reply, bool)
	// change changes the body of a successful reply.
	change func(x *exchange, body *jsontext.Node) *jsontext.Node
	// wire changes a reply as it goes on the wire.
	wire func(x *exchange, rep *wire.Reply)
}

// catalogue lists all quirks, in the order in which they apply: values, then bodies,
// then the wire.
var catalogue = sync.OnceValue(func() []*quirk {
	var list []*quirk
	add := func(report, api bool, quirks []quirk) {
		for i := range quirks {
			q := &quirks[i]
			q.Report, q.API = report, api
			list = append(list, q)
		}
	}
	add(true, false, totalQuirks)
	add(true, false, numberQuirks)
	add(true, true, nameQuirks)
	add(true, false, rowQuirks)
	add(true, false, columnQuirks)
	add(true, false, dayQuirks)
	add(true, false, pageQuirks)
	add(false, true, fieldQuirks)
	add(false, true, timeQuirks)
	add(false, true, audienceQuirks)
	add(false, true, creativeQuirks)
	add(false, true, sourceQuirks)
	add(false, true, accountQuirks)
	add(false, true, idQuirks)
	add(false, true, listQuirks)
	add(false, true, envelopeQuirks)
	add(true, false, reportBodyQuirks)
	add(true, true, bothQuirks)
	add(true, true, wireQuirks)
	return list
})

// Quirks lists all quirks, in the order in which they apply.
func Quirks() []Quirk {
	var list []Quirk
	for _, q := range catalogue() {
		list = append(list, q.Quirk)
	}
	return list
}

// findQuirk finds a quirk by its name.
func findQuirk(name string) (*quirk, error) {
	for _, q := range catalogue() {
		if q.Name == name {
			return q, nil
		}
	}
	return nil, fmt.Errorf("quirk: there is no %q", name)
}

// CheckQuirks says which of the names is not that of a quirk.
func CheckQuirks(names ...string) error {
	for _, name := range names {
		if _, err := findQuirk(name); err != nil {
			return err
		}
	}
	return nil
}

// Set is the quirks that are set.
type Set struct {
	mu    sync.Mutex
	set   []*quirk
	times map[string]int // how often something of a quirk happened since they were set
}

// SetQuirks sets the quirks that hold from now on, in the place of those before. It
// changes nothing where one is unknown. Quirks are of the service as a whole.
func (l *Set) SetQuirks(names ...string) error {
	if err := CheckQuirks(names...); err != nil {
		return err
	}
	var set []*quirk
	for _, q := range catalogue() {
		if slices.Contains(names, q.Name) {
			set = append(set, q)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set, l.times = set, map[string]int{}
	return nil
}

// QuirksSet are the names of the quirks that hold, in the order in which they apply.
func (l *Set) QuirksSet() []string {
	var names []string
	for _, q := range l.list() {
		names = append(names, q.Name)
	}
	return names
}

func (l *Set) list() []*quirk {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set
}

// place is which question a request asks.
type place int

const (
	atOther     place = iota
	atDays            // the report's rows of a day
	atTotals          // the report without creatives: sums
	atTexts           // the report's creatives, without dates
	atCampaigns       // the list
	atCampaign
	atCreatives // the list
	atCreative
	atSources
	atMe
	atLimits
	atBalance
)

// onReport and onAPI say of which interface the question is.
func (p place) onReport() bool { return p == atDays || p == atTotals || p == atTexts }
func (p place) onAPI() bool    { return p >= atCampaigns }
func (p place) isList() bool   { return p == atCampaigns || p == atCreatives }

// exchange is a request that quirks look at and may change, and what it asks.
type exchange struct {
	quirks   *Set
	accounts []*advertiser.API // the first one is served by default
	now      time.Time
	today    clock.Day
	request  *http.Request // as the service will see it
	place    place
	total    int // of a list, where a header says it
}

// placeOf finds out what a request asks.
func placeOf(r *http.Request) place {
	if r.Method != http.MethodGet {
		return atOther
	}
	if r.URL.Path == wire.ReportPrefix+"/ads/spend-report" {
		q := r.URL.Query()
		switch creatives := strings.ToLower(q.Get("include_creatives")); {
		case creatives != "true" && creatives != "1":
			return atTotals
		case q.Get("columns") == "" || slices.Contains(strings.Split(q.Get("columns"), ","), "date"):
			return atDays
		}
		return atTexts
	}
	path, ok := strings.CutPrefix(r.URL.Path, wire.APIPrefix+"/v1/")
	if !ok {
		return atOther
	}
	parts := strings.Split(path, "/")
	switch {
	case path == "me":
		return atMe
	case path == "limits":
		return atLimits
	case path == "balance":
		return atBalance
	case path == "campaigns":
		return atCampaigns
	case len(parts) == 2 && parts[0] == "campaigns":
		return atCampaign
	case len(parts) == 2 && parts[0] == "creatives":
		return atCreative
	case len(parts) == 3 && parts[2] == "creatives":
		return atCreatives
	case len(parts) == 3 && parts[2] == "sources":
		return atSources
	}
	return atOther
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

// number is a parameter that is a whole number, or what counts without it.
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

// owner returns the account of the request's credentials, as it is now.
func (x *exchange) owner() ledger.State {
	own, _ := advertiser.AccountOf(x.accounts, x.request.Header.Get("Authorization"), x.now)
	if user, password, ok := x.request.BasicAuth(); ok {
		for _, a := range x.accounts {
			if a.World.IsUser(user, password) {
				own = a
			}
		}
	}
	if own == nil {
		own = x.accounts[0]
	}
	return own.World.StateAt(x.now)
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
func (l *Set) Answer(
	accounts []*advertiser.API,
	st *ledger.State,
	r *http.Request,
	f *wire.Fault,
	plain func(*http.Request) wire.Reply,
) wire.Reply {
	set := l.list()
	if len(set) == 0 {
		return plain(r)
	}
	x := &exchange{quirks: l, accounts: accounts, now: st.Now, today: st.Today, request: r, place: placeOf(r)}
	if x.place == atOther {
		return plain(r)
	}
	for _, q := range set {
		if q.ask != nil {
			q.ask(x)
		}
	}
	rep, whole := wire.Reply{}, false
	for _, q := range set {
		if q.override != nil && !whole {
			rep, whole = q.override(x)
		}
	}
	if !whole {
		rep = plain(x.request)
	}
	whole = whole || f.Replaces()
	if body, ok := jsontext.ParseTree(rep.Body); ok && rep.Status < 300 && !whole {
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

// entities are the objects that a reply of the advertiser API is about, in any [Shape].
func entities(body *jsontext.Node) []*jsontext.Node {
	if body.Kind == '[' {
		return body.Values
	}
	for _, key := range []string{"campaigns", "creatives", "items", "data"} {
		if list := body.Get(key); list != nil && list.Kind == '[' {
			return list.Values
		}
	}
	for _, key := range []string{"campaign", "creative", "source_settings", "data"} {
		if one := body.Get(key); one != nil && one.Kind == '{' {
			return []*jsontext.Node{one}
		}
	}
	return []*jsontext.Node{body}
}

// ofEntities makes a change of the entities in the replies to some questions.
func ofEntities(places []place, change func(e *jsontext.Node)) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	return func(x *exchange, body *jsontext.Node) *jsontext.Node {
		if slices.Contains(places, x.place) {
			for _, e := range entities(body) {
				change(e)
			}
		}
		return body
	}
}

// The questions about campaigns, creatives, and anything of the advertiser API.
var (
	ofCampaigns = []place{atCampaigns, atCampaign}
	ofCreatives = []place{atCreatives, atCreative}
	ofSources   = []place{atSources}
	ofAPI       = []place{atCampaigns, atCampaign, atCreatives, atCreative, atSources, atMe, atLimits, atBalance}
)

// ofRows makes a change of the rows in the report's replies to some questions.
func ofRows(
	places []place,
	change func(x *exchange, i int, row *jsontext.Node),
) func(x *exchange, body *jsontext.Node) *jsontext.Node {
	return func(x *exchange, body *jsontext.Node) *jsontext.Node {
		data := body.Get("data")
		if data == nil || !slices.Contains(places, x.place) {
			return body
		}
		for i, row := range data.Values {
			change(x, i, row)
		}
		return body
	}
}

var (
	ofDays   = []place{atDays}
	ofTotals = []place{atTotals}
	ofReport = []place{atDays, atTotals, atTexts}
)

// paid says whether a row has spend.
func paid(row *jsontext.Node) bool {
	spend := row.Get("total_spend")
	return spend != nil && spend.Raw != "0"
}

// firstPaid is the place of the first row with spend; -1 where there is none.
func firstPaid(rows []*jsontext.Node) int { return slices.IndexFunc(rows, paid) }
