package adsim

import (
	"crypto/subtle"
	"fmt"
	"net/http"
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
	// APIKey is the Bearer key of the advertiser API.
	APIKey string
	// KeyExpiresAt is when the key ends; by default it is the first of a month, two
	// to three months from the clock.
	KeyExpiresAt time.Time
	// RateLimit is the requests a key may make in any 60 seconds of the clock: 120 by
	// default, without limit if negative.
	RateLimit int

	// AdvertiserID and AdvertiserName are whom the key acts for.
	AdvertiserID, AdvertiserName string
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
	// Control serves what tests do to the service under /_sim/, without credentials.
	Control bool
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
	clock   clock
	account *account

	mu       sync.Mutex
	anchor   day // first day the service was asked on
	version  uint64
	overlays map[day]*overlay
	changes  *changes
	frozen   bool
	frozenAt time.Time

	kept     *caches
	rowBufs  sync.Pool
	faults   faultList
	log      requestLog
	limiter  limiter
	requests atomic.Uint64 // numbers request IDs
}

// New makes a service for the account that cfg describes.
func New(cfg Config) *Service {
	zone, err := time.LoadLocation("America/Chicago")
	if err != nil {
		panic(err) // time/tzdata is linked in
	}
	setDefault(&cfg.Seed, 1)
	setDefault(&cfg.Campaigns, 36)
	setDefault(&cfg.CreativesPerCampaign, 8)
	setDefault(&cfg.RowsPerDay, 2500)
	setDefault(&cfg.Sources, max(4000, cfg.RowsPerDay/15))
	setDefault(&cfg.Refresh, 15*time.Minute)
	setDefault(&cfg.ReportUser, DefaultUser)
	setDefault(&cfg.ReportPassword, DefaultPassword)
	setDefault(&cfg.APIKey, DefaultKey)
	setDefault(&cfg.RateLimit, 120)
	setDefault(&cfg.AdvertiserID, "A"+strconv.FormatUint(100000+below(mix(cfg.Seed), 900000), 10))
	setDefault(&cfg.AdvertiserName, "Acme Performance \"North\" GmbH & Söhne")
	setDefault(&cfg.PrerenderBytes, 1<<30)
	// Beyond these, IDs would have more digits than the description allows.
	cfg.Campaigns = min(max(cfg.Campaigns, 1), 100_000)
	cfg.CreativesPerCampaign = min(max(cfg.CreativesPerCampaign, 1), 1500)
	cfg.RowsPerDay, cfg.Sources = max(cfg.RowsPerDay, 1), max(cfg.Sources, 1)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Service{
		cfg:     cfg,
		zone:    zone,
		clock:   clock{base: cfg.Now},
		account: newAccount(cfg, zone),
		frozen:  cfg.FreezeRestatements,
		kept:    newCaches(cfg.PrerenderBytes),
	}
	s.rowBufs.New = func() any { return new([]row) }
	return s
}

func setDefault[T comparable](field *T, v T) {
	var zero T
	if *field == zero {
		*field = v
	}
}

// reply is an answer before it goes on the wire.
type reply struct {
	status int
	header http.Header
	body   []byte
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
	if f != nil {
		if rep, whole := s.faultReply(st, r, f); whole {
			return rep
		}
	}
	switch path := r.URL.Path; {
	case path == ReportPrefix+"/ads/spend-report":
		return s.serveReport(st, r, f)
	case strings.HasPrefix(path, APIPrefix+"/"):
		return s.serveAPI(st, r, f)
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
