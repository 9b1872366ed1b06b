package adsim

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Service is one simulated service, seen from one of its accounts. It is an [http.Handler]. What it has beside
// its own methods are those of its rooms: what happens to the account, its keys and its notifications; the
// faults, the quirks and the log of the service.
type Service struct {
	*world
	*timekeeper
	*access
	*keyRing
	*sender
	*faultList
	*quirkList
	*requestLog

	accounts []*Service // of the service
	report   *reporter
	api      *api
	tools    *tools
	files    *fetcher
}

// New makes a service for the accounts that cfg describes. It panics if a quirk name is unknown.
func New(cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.setDefaults()
	first := &Service{faultList: &faultList{}, quirkList: &quirkList{}, requestLog: &requestLog{}}
	c, j := &clock{base: cfg.Now}, &journal{}
	first.open(cfg, 0, c, j)
	first.accounts = []*Service{first}
	for i, more := range cfg.Accounts {
		more = cfg.next(more, i+1)
		more.setDefaults()
		own := &Service{faultList: first.faultList, quirkList: first.quirkList, requestLog: first.requestLog}
		own.open(more, i+1, c, j)
		first.accounts = append(first.accounts, own)
	}
	shared := newTools(apis(first.accounts))
	for _, own := range first.accounts {
		own.accounts, own.tools = first.accounts, shared
	}
	if err := first.SetQuirks(cfg.Quirks...); err != nil {
		panic(err)
	}
	return first
}

// open makes the rooms of an account.
func (s *Service) open(cfg Config, index int, c *clock, j *journal) {
	s.files = newFetcher(cfg.FetchTLS, cfg.FetchAddress)
	s.world = newWorld(cfg, index, c, j)
	s.access, s.timekeeper = s.world.access, s.world.time
	s.keyRing = newKeyRing(s.world)
	s.sender = newSender(s.world, s.files)
	s.report = newReporter(s.world)
	s.api = newAPI(s.world, s.keyRing, s.files)
}

func apis(accounts []*Service) []*api {
	return each(accounts, func(s *Service) *api { return s.api })
}

func each[T any](accounts []*Service, of func(*Service) T) []T {
	list := make([]T, len(accounts))
	for i, s := range accounts {
		list[i] = of(s)
	}
	return list
}

// Account returns one of the accounts by number: 0 is the account of the Config itself, 1 the first of
// Config.Accounts. Faults, quirks and the log are those of the service.
func (s *Service) Account(i int) *Service { return s.accounts[i] }

// Transport answers requests in-process, without a socket: any host will do. A
// cut body reads as [io.ErrUnexpectedEOF], a reset as ECONNRESET, and a request
// that is cancelled ends with its context's error, as over TCP.
func (s *Service) Transport() http.RoundTripper { return newTransport(s) }

// EndSignIns ends all OAuth sign-ins.
func (s *Service) EndSignIns() { s.tools.endSignIns() }

// Prerender renders all pages of a question of the report (the query parameters,
// page aside) and keeps them, so that a benchmark that asks it finds them ready.
// It needs Config.Prerender. It returns how many pages and bytes there are.
func (s *Service) Prerender(query url.Values) (pages int, size int64, err error) {
	return s.report.prerender(query)
}

// ServeHTTP answers a request of the service, and of the control if that is on.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.world.cfg.Control && strings.HasPrefix(r.URL.Path, controlPrefix) {
		s.serveControl(w, r)
		return
	}
	st := s.snapshot()
	f := s.match(r)
	entry := s.begin(r, st.now, f)
	rep := s.quirkList.answer(apis(s.accounts), &st, r, f, func(r *http.Request) reply { return s.answer(&st, r, f) })
	s.send(w, r, st.now, rep, f, entry)
}

// answer returns the reply without quirks and without the wire's faults.
func (s *Service) answer(st *state, r *http.Request, f *Fault) reply {
	if f != nil {
		if rep, whole := s.faultReply(st, r, f); whole {
			return rep
		}
	}
	if rep, is := s.tools.serve(st.now, r, f); is {
		return rep
	}
	switch path := r.URL.Path; {
	case path == "/" && r.Method == http.MethodGet:
		return s.serveIndex(st, r)
	case path == ReportPrefix+"/ads/spend-report":
		return serveReport(each(s.accounts, func(s *Service) *reporter { return s.report }), st.now, r, f)
	case strings.HasPrefix(path, APIPrefix+"/"):
		return serveAPI(apis(s.accounts), st.now, r, f)
	case strings.HasPrefix(path, PushPrefix+"/"):
		return servePush(each(s.accounts, func(s *Service) *sender { return s.sender }), st.now, r)
	}
	return reportError(http.StatusNotFound, "Not found")
}
