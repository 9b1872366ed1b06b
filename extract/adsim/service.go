package adsim

import (
	"net/http"
	"strings"
	"time"

	"spendsync/extract/adsim/advertiser"
	"spendsync/extract/adsim/clock"
	"spendsync/extract/adsim/config"
	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/report"
	"spendsync/extract/adsim/variations"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// Service simulates the service as seen by one of its accounts. As an [http.Handler], it serves all accounts. All
// accounts share the clock, the faults, the quirks and the log. The World and the API belong to the one account; the
// World holds its campaigns and their numbers.
type Service struct {
	*world.World
	*clock.Clock
	*wire.Faults
	*variations.ActiveQuirks
	*wire.Log

	accounts []*Service // all accounts, this one included
	api      *advertiser.API
}

// New makes a service for the accounts that cfg describes. It panics if a quirk name is unknown.
func New(cfg config.Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.SetDefaults()
	first := &Service{Faults: &wire.Faults{}, ActiveQuirks: &variations.ActiveQuirks{}, Log: &wire.Log{}}
	c := &clock.Clock{Base: cfg.Now}
	first.open(cfg, 0, c)
	first.accounts = []*Service{first}
	for i, more := range cfg.Accounts {
		more = cfg.Next(more, i+1)
		more.SetDefaults()
		account := &Service{Faults: first.Faults, ActiveQuirks: first.ActiveQuirks, Log: first.Log}
		account.open(more, i+1, c)
		first.accounts = append(first.accounts, account)
	}
	for _, account := range first.accounts {
		account.accounts = first.accounts
	}
	if err := first.SetQuirks(cfg.Quirks...); err != nil {
		panic(err)
	}
	return first
}

// open makes the parts of the service that belong to one account.
func (s *Service) open(cfg config.Config, index int, c *clock.Clock) {
	s.World = world.New(cfg, index, c)
	s.Clock = c
	s.api = advertiser.NewAPI(s.World)
}

func apis(accounts []*Service) []*advertiser.API {
	return each(accounts, func(s *Service) *advertiser.API { return s.api })
}

func each[T any](accounts []*Service, value func(*Service) T) []T {
	list := make([]T, len(accounts))
	for i, s := range accounts {
		list[i] = value(s)
	}
	return list
}

// Account returns one of the accounts by number: 0 is the account of the Config itself, 1 the first of Config.Accounts.
// All accounts share the faults, the quirks and the log.
func (s *Service) Account(i int) *Service { return s.accounts[i] }

// Transport sends every request to the service in-process: see [wire.Transport].
func (s *Service) Transport() http.RoundTripper { return wire.Transport(s) }

// Change changes settings now. It refuses unknown IDs and unknown fields.
func (s *Service) Change(c Change) error {
	_, err := s.api.Apply(c)
	return err
}

// Create makes a campaign or, if c.Campaign is set, a creative of that campaign. It returns the ID of the new entity.
func (s *Service) Create(c Change) (id string, err error) {
	c.Do = Create
	return s.api.Apply(c)
}

// ServeHTTP answers requests to the service, and commands under /_sim/ if Config.Control is set.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.World.Cfg.Control && strings.HasPrefix(r.URL.Path, controlPrefix) {
		s.serveControl(w, r)
		return
	}
	st := s.Snapshot()
	f := s.Match(r)
	s.Add(r, f)
	plain := func(r *http.Request, views []report.View) wire.Reply { return s.answer(&st, r, views, f) }
	rep := s.ActiveQuirks.Answer(apis(s.accounts), &st, r, f, plain)
	wire.Send(w, r, st.Now, rep, f)
}

// answer returns the reply before quirks change it. The faults that strike while a reply is sent are not applied here.
func (s *Service) answer(st *ledger.State, r *http.Request, views []report.View, f *wire.Fault) wire.Reply {
	if f != nil {
		if rep, replaces := s.faultReply(st, r, f); replaces {
			return rep
		}
	}
	switch path := r.URL.Path; {
	case path == wire.ReportPrefix+"/ads/spend-report":
		worlds := each(s.accounts, func(s *Service) *world.World { return s.World })
		return f.Hurt(report.Serve(worlds, st.Now, r, views, f))
	case strings.HasPrefix(path, wire.APIPrefix+"/"):
		return f.Hurt(advertiser.Serve(apis(s.accounts), st.Now, r, f))
	}
	return report.Error(http.StatusNotFound, "Not found")
}

// faultReply returns the reply that a fault simulates, and true. It returns false if the fault leaves the service's own
// reply in place.
func (s *Service) faultReply(st *ledger.State, r *http.Request, f *wire.Fault) (wire.Reply, bool) {
	status := f.Status
	if status == 0 {
		status = http.StatusOK
	}
	var rep wire.Reply
	switch f.Kind {
	case wire.Status:
		if strings.HasPrefix(r.URL.Path, wire.APIPrefix+"/") {
			rep = s.api.APIError(status, http.StatusText(status))
		} else {
			rep = report.Error(status, s.reportText(status))
		}
	case wire.HTML:
		rep = wire.Reply{Status: status, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
			Body: []byte("<!DOCTYPE html>\n<html><head><title>Be right back</title></head><body><h1>We&#39;ll be " +
				"right back</h1></body></html>\n")}
	case wire.Body:
		rep = wire.JSONReply(status, []byte(f.Value))
	default:
		return wire.Reply{}, false
	}
	if wait, ok := strings.CutPrefix(f.RetryAfter, "+"); ok {
		d, _ := time.ParseDuration(wait) // Faults.Set has checked it
		rep.Header.Set("Retry-After", st.Now.Add(d).UTC().Format(http.TimeFormat))
	} else if f.RetryAfter != "" {
		rep.Header.Set("Retry-After", f.RetryAfter)
	}
	if f.Location != "" {
		rep.Header.Set("Location", f.Location)
	}
	return rep, true
}

// reportText returns the report's error text for the status of a fault.
func (s *Service) reportText(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return report.TextWrongAuth
	case http.StatusForbidden:
		return report.TextUnconfirmed
	case http.StatusInternalServerError:
		return report.TextInternal + " (request ID: " + s.RequestID() + ")"
	}
	return http.StatusText(status)
}
