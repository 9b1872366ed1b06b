package adsim

import (
	"crypto/subtle"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The two paths under which the service's interfaces are mounted. The spend
// report's base URL ends in ReportPrefix, the advertiser API's in APIPrefix.
const (
	ReportPrefix = "/report"
	APIPrefix    = "/api"
)

// The credentials of a Config that names none.
const (
	DefaultUser     = "analyst@example.com"
	DefaultPassword = "sim-password"
	DefaultKey      = "adv_sim_key"
	DefaultWriteKey = "adv_sim_write_key"
)

// Config says what account is simulated and how it answers. The zero value of a
// field takes its default.
type Config struct {
	// Seed chooses the account. Default 1.
	Seed uint64
	// Campaigns is how many campaigns are listed at the start, 36 by default and
	// 100000 at most; two thirds of them are of the present.
	Campaigns int
	// CreativesPerCampaign is their mean, 8 by default and 1500 at most.
	CreativesPerCampaign int
	// RowsPerDay is about how many rows a closed day has in the finest grain,
	// 2500 by default. It can't be more than the sources allow: a creative has at
	// most three quarters of its campaign's sources in a day.
	RowsPerDay int
	// Sources is how many websites there are: 4000 by default, more with more rows.
	Sources int

	// Now is the clock, time.Now by default. It is asked once a request.
	Now func() time.Time
	// Refresh is how often the report's numbers move, 15 minutes by default.
	Refresh time.Duration
	// FreezeRestatements begins frozen, see [Service.FreezeRestatements]: a day has
	// the conversions that arrived until its end, and keeps them.
	FreezeRestatements bool

	// ReportUser and ReportPassword are of HTTP Basic on the spend report.
	ReportUser, ReportPassword string
	// ReportAccess makes the account of these credentials one that is refused.
	ReportAccess ReportAccess
	// APIKey is the Bearer key of the advertiser API. It can only read.
	APIKey string
	// WriteKey is a second key of the same account, which may change things.
	WriteKey string
	// Keys are more keys of the account.
	Keys []Key
	// KeyExpiresAt is when the key ends; by default it is the first of a month, two
	// to three months from the clock.
	KeyExpiresAt time.Time
	// RateLimit is the requests a key may make in any 60 seconds of the clock: 120 by
	// default, without limit if negative.
	RateLimit int

	// ChangeBudgets is how many changes of a kind may be made a UTC day, where it is
	// not the usual number.
	ChangeBudgets map[string]int
	// ChangeTakes is how long a change of a campaign or creative, or a create, is in
	// progress: another is refused meanwhile. Without, it is over at once.
	ChangeTakes time.Duration
	// PauseTakes is how long a pause takes to finish, 5 seconds by default.
	PauseTakes time.Duration
	// ReviewTakes is how long a review takes. By default that is up to a day,
	// depending on the creative; if negative, until [Service.Review].
	ReviewTakes time.Duration
	// PushToken is what the authorization header of the push sending APIs holds.
	PushToken string
	// Websites are the account's, two by default, and Subscribers is how many
	// subscribers each has: 40 by default, none if negative.
	Websites    []string
	Subscribers int

	// FetchTLS and FetchAddress are for tests that serve an image_url or an external payload themselves: the
	// certificates to believe, and which addresses may be asked. Without, only public
	// addresses may.
	FetchTLS     *tls.Config
	FetchAddress func(netip.Addr) bool

	// Accounts are more accounts of the same service, with users and keys of their
	// own; by default their seeds and names go on from this one's. Of a Config here,
	// what concerns the service as a whole is ignored.
	Accounts []Config

	// AdvertiserID and AdvertiserName are whom the key acts for.
	AdvertiserID, AdvertiserName string
	// Prepaid makes the account one that pays by wire, and is what it begins with, in
	// millionths of a US dollar. Without, a card pays.
	Prepaid int64
	// BalanceStatus forces "low" or "depleted". By default it follows from the spend.
	BalanceStatus string
	// Shape is the form of the advertiser API's bodies.
	Shape Shape

	// ZeroSpend is the form of creatives that were not delivered.
	ZeroSpend ZeroSpend
	// FloatNoise writes some total_spend as services do that compute in floats:
	// 12.300000000000002, 1.23e+01. Rounded to six decimals they are exact.
	FloatNoise bool
	// EscapeUnicode writes all texts in ASCII, with \u escapes.
	EscapeUnicode bool

	// Prerender keeps every page of the report that was rendered, up to
	// PrerenderBytes (1 GiB by default), so that asking again costs nothing.
	Prerender      bool
	PrerenderBytes int64
	// Quirks are variations of the service that hold from the start: see [Quirks] and
	// [Service.SetQuirks].
	Quirks []string
	// Control serves what tests do to the service under /_sim/, without credentials.
	Control bool

	index     int // of the account
	firstMade int // number of the first campaign that is created
}

// ReportAccess is why the report refuses an account whose password is right.
type ReportAccess int

const (
	ReportGranted      ReportAccess = iota
	ReportUnconfirmed               // 403 User account not confirmed
	ReportNoAdvertiser              // 403 no advertiser_id assigned
)

// Service is one simulated service. It is an [http.Handler].
type Service struct {
	cfg     Config
	zone    *time.Location
	clock   *clock
	account *account
	// accounts are all accounts of the service, this one first; only the first one is
	// served, and hands on what concerns another.
	accounts   []*Service
	operations []*operation

	access *access

	mu       sync.Mutex
	anchor   day // first day the service was asked on
	version  uint64
	overlays map[day]*overlay
	changes  *changes
	frozen   bool
	frozenAt time.Time
	keys     []*apiKey
	budgets  *budgets
	busy     map[string]time.Time
	// fundsChecked is until when a prepaid account was looked at.
	fundsChecked time.Time
	// balanceRead is when a fresh balance was last asked for.
	balanceRead time.Time
	reviews     []review
	images      map[string]*image
	uploads     int
	fetchTime   time.Duration
	push        pushState

	kept     *caches
	rowBufs  sync.Pool
	faults   faultList
	quirks   quirkList
	log      requestLog
	journal  *journal // of all accounts
	oauth    signIns
	requests atomic.Uint64 // numbers request IDs
}

// New makes a service for the accounts that cfg describes. It panics on a quirk that
// there is not.
func New(cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := newAccountOf(cfg, &clock{base: cfg.Now})
	s.accounts, s.journal = []*Service{s}, &journal{}
	if err := s.SetQuirks(s.cfg.Quirks...); err != nil {
		panic(err)
	}
	for i, more := range s.cfg.Accounts {
		own := newAccountOf(s.cfg.next(more, i+1), s.clock)
		own.accounts, own.journal = []*Service{own}, s.journal
		s.accounts = append(s.accounts, own)
	}
	return s
}

// next is the Config of the i-th more account.
func (cfg *Config) next(more Config, i int) Config {
	n := strconv.Itoa(i + 1)
	setDefault(&more.Seed, cfg.Seed+uint64(i))
	setDefault(&more.ReportUser, "analyst"+n+"@example.com")
	setDefault(&more.APIKey, DefaultKey+n)
	setDefault(&more.WriteKey, DefaultWriteKey+n)
	setDefault(&more.PushToken, DefaultPushToken+n)
	setDefault(&more.AdvertiserName, "Second Account "+n)
	setDefault(&more.RateLimit, cfg.RateLimit)
	setDefault(&more.Refresh, cfg.Refresh)
	more.Shape, more.FetchTLS, more.FetchAddress = cfg.Shape, cfg.FetchTLS, cfg.FetchAddress
	setDefault(&more.ReviewTakes, cfg.ReviewTakes)
	setDefault(&more.PauseTakes, cfg.PauseTakes)
	setDefault(&more.ChangeTakes, cfg.ChangeTakes)
	more.Campaigns = min(more.Campaigns, 1000) // its IDs have a range of their own
	more.index = i
	return more
}

// newAccountOf makes the service of one account.
func newAccountOf(cfg Config, c *clock) *Service {
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		panic(err) // time/tzdata is linked in
	}
	cfg.setDefaults()
	s := &Service{
		cfg:       cfg,
		zone:      zone,
		clock:     c,
		account:   newAccount(cfg, zone),
		frozen:    cfg.FreezeRestatements,
		kept:      newCaches(cfg.PrerenderBytes),
		keys:      configuredKeys(&cfg),
		busy:      map[string]time.Time{},
		images:    map[string]*image{},
		fetchTime: fetchTime,
	}
	s.access = newAccess(&cfg)
	s.push.subscribers = seededSubscribers(&cfg, s.account.seed)
	s.operations = operations()
	s.rowBufs.New = func() any { return new([]row) }
	return s
}

func (cfg *Config) setDefaults() {
	setDefault(&cfg.Seed, 1)
	setDefault(&cfg.Campaigns, 36)
	setDefault(&cfg.CreativesPerCampaign, 8)
	setDefault(&cfg.RowsPerDay, 2500)
	setDefault(&cfg.Sources, max(4000, cfg.RowsPerDay/15))
	setDefault(&cfg.Refresh, 15*time.Minute)
	setDefault(&cfg.ReportUser, DefaultUser)
	setDefault(&cfg.ReportPassword, DefaultPassword)
	setDefault(&cfg.APIKey, DefaultKey)
	setDefault(&cfg.WriteKey, DefaultWriteKey)
	setDefault(&cfg.PushToken, DefaultPushToken)
	setDefault(&cfg.Subscribers, 40)
	if cfg.Websites == nil {
		cfg.Websites = []string{"https://news.example", "https://deals.example"}
	}
	setDefault(&cfg.RateLimit, 120)
	setDefault(&cfg.PauseTakes, 5*time.Second)
	setDefault(&cfg.AdvertiserID, "A"+strconv.FormatUint(100000+below(mix(cfg.Seed), 900000), 10))
	setDefault(&cfg.AdvertiserName, "Acme Performance \"North\" GmbH & Söhne")
	setDefault(&cfg.PrerenderBytes, 1<<30)
	// Beyond these, IDs would have more digits than the description allows.
	cfg.Campaigns = min(max(cfg.Campaigns, 1), 100_000)
	cfg.CreativesPerCampaign = min(max(cfg.CreativesPerCampaign, 1), 1500)
	cfg.RowsPerDay, cfg.Sources = max(cfg.RowsPerDay, 1), max(cfg.Sources, 1)
	cfg.firstMade = firstMade + cfg.index*1_000_000
}

// Account is one of the accounts by its place: 0 is the one of the Config itself,
// 1 the first of Config.Accounts. It shares the clock of the service; what is done
// to the service as a whole (faults, the log) is done to the first.
func (s *Service) Account(i int) *Service { return s.accounts[i] }

func setDefault[T comparable](field *T, v T) {
	var zero T
	if *field == zero {
		*field = v
	}
}

// reply is an answer before it goes on the wire.
type reply struct {
	status  int
	header  http.Header
	body    []byte
	chunked bool // sent without a Content-Length
}

// ServeHTTP answers a request of the service, and of the control if that is on.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Control && strings.HasPrefix(r.URL.Path, controlPrefix) {
		s.serveControl(w, r)
		return
	}
	st := s.snapshot()
	f := s.faults.match(r)
	entry := s.log.begin(r, st.now, f)
	s.send(w, r, &st, s.reply(&st, r, f), f, entry)
}

// reply works out the answer as it would be without the wire's faults.
func (s *Service) reply(st *state, r *http.Request, f *Fault) reply {
	if set := s.quirks.list(); len(set) > 0 {
		return s.quirky(st, r, f, set)
	}
	return s.plainReply(st, r, f)
}

// plainReply is the answer without quirks.
func (s *Service) plainReply(st *state, r *http.Request, f *Fault) reply {
	if f != nil {
		if rep, whole := s.faultReply(st, r, f); whole {
			return rep
		}
	}
	if rep, is := s.serveOAuth(r); is {
		return rep
	}
	switch path := r.URL.Path; {
	case path == "/" && r.Method == http.MethodGet:
		return s.serveIndex(st, r)
	case path == ReportPrefix+"/ads/spend-report":
		return s.serveReport(st, r, f)
	case strings.HasPrefix(path, APIPrefix+"/"):
		return s.serveAPI(st, r, f)
	case strings.HasPrefix(path, PushPrefix+"/"):
		return s.servePush(st, r)
	}
	return s.reportError(http.StatusNotFound, "Not found")
}

// jsonReply is a reply with a JSON body.
func jsonReply(status int, body []byte) reply {
	return reply{status: status, header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, body: body}
}

// requestID is different for every reply that carries one.
func (s *Service) requestID() string {
	return fmt.Sprintf("req_%016x", chance(s.account.seed, s.requests.Add(1)))
}

// same compares secrets in a time that tells nothing about them.
func same(x, y string) bool { return subtle.ConstantTimeCompare([]byte(x), []byte(y)) == 1 }
