package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// answer is what is asked for while the days are read. It is complete once done is closed.
type answer[T any] struct {
	done  chan struct{}
	value T
}

// later starts to ask for something.
func later[T any](s *session, ask func() T) *answer[T] {
	a := &answer[T]{done: make(chan struct{})}
	s.asking.Go(func() { defer close(a.done); a.value = ask() })
	return a
}

// wait waits for the answer.
func (a *answer[T]) wait() T { <-a.done; return a.value }

// identity is whom the API key acts for.
type identity struct {
	account string // the service's own name of the advertiser account
	me      extract.Entity
	err     error
}

var errUnnamed = errors.New("the reply does not name the account that the key acts on")

// askIdentity asks whom the key acts for.
func (r *session) askIdentity(ctx context.Context) (who identity) {
	if who.me, who.err = r.API.Me(ctx); who.err == nil {
		if who.account, who.err = transform.AccountRef(r.Service, who.me); who.err != nil {
			who.err = fmt.Errorf("%w: %w", errUnnamed, who.err)
		}
	}
	return who
}

// campaignList is the account's list of campaigns, asked for once a run: the report is
// held to it before anything is published, and the settings are read by it.
type campaignList struct {
	began   time.Duration // since the run started: the run's clock may be corrected until the list is used
	listing extract.Listing
	err     error
}

// listCampaigns asks for the campaigns.
func (r *session) listCampaigns(ctx context.Context) (l campaignList) {
	l.began = r.clock.elapsed()
	l.listing, l.err = r.API.Campaigns(ctx)
	return l
}

// readCampaigns returns the campaigns that are stored of an account in a folder: those of its settings or, while it
// has none, those of its latest day with rows.
func readCampaigns(dir, name string, account *manifest.Account) (storedCampaigns, error) {
	stored := storedCampaigns{}
	campaigns, err := storedRows(dir, manifest.PartPath(schema.CampaignHistory.Table, name, 0), account,
		schema.CampaignHistory)
	for i := range campaigns {
		id := campaigns[i].CampaignID
		stored[id] = stored[id] || campaigns[i].ReadState != schema.ReadStub
	}
	for _, day := range slices.Backward(slices.Sorted(maps.Keys(account.Days))) {
		if err != nil || len(stored) > 0 {
			break
		}
		var spend []schema.Spend
		spend, err = storedRows(dir, manifest.PartPath(schema.SpendDaily.Table, name, day), account, schema.SpendDaily)
		for i := range spend {
			if id := spend[i].CampaignID; id != "" {
				stored[id] = false
			}
		}
	}
	return stored, err
}

func storedRows[R any](dir, path string, account *manifest.Account, t schema.TableOf[R]) ([]R, error) {
	info := account.Files[path]
	if info == nil {
		return nil, nil
	}
	return manifest.Rows(durable.OS, dir, path, info, t)
}

// keyProof is what the API key has shown: the account that it acts on, and its campaigns. If err is not nil, nothing
// that the key reads is published.
type keyProof struct {
	who    identity // without an account if the reply names none
	meErr  error    // why /v1/me could not be read although the run goes on
	err    error
	stored storedCampaigns // by earlier runs
	list   *answer[campaignList]
}

// listed waits for the key's list of campaigns, and returns their IDs.
func (p keyProof) listed() (ids []string) {
	if p.err != nil {
		return nil
	}
	for _, e := range p.list.wait().listing.Entities {
		ids = append(ids, e.ID)
	}
	return ids
}

// problem returns why not all campaigns of the account are known; nil: they are.
func (p keyProof) problem() error {
	if p.err != nil {
		return p.err
	}
	switch list := p.list.wait(); {
	case list.err != nil:
		return fmt.Errorf("the campaigns of the API key: %w", list.err)
	case !list.listing.Complete:
		return &extract.UnprovenError{What: "the campaigns of the API key", Reason: list.listing.Why}
	}
	return nil
}

// readKey waits for the reply that names the key's account. It refuses a key whose account is another one than that of
// earlier runs. A reply without a name refuses nothing: the key's campaigns tell whose it is (see [prover.prove]). A
// first load waits for a reply that fails, since it has nothing else to compare a key with that is switched meanwhile.
func (r *session) readKey(me *answer[identity], list *answer[campaignList]) keyProof {
	p := keyProof{list: list}
	p.stored, p.err = r.storedCampaigns()
	p.who = me.wait()
	err := p.who.err
	if failed, is := errors.AsType[*extract.ReadError](err); is && failed.DoubtsURL() {
		list.wait()
		err = OfWrongURL(err, r.API, r.storedAccount().Pinned != "" || len(p.stored) > 0)
	}
	switch {
	case p.err != nil:
	case err == nil:
		p.err = checkPinned(r.Account, cmp.Or(r.Service.Text("account.id"), r.storedAccount().Pinned), p.who.account)
	case errors.Is(err, extract.ErrAuth), errors.Is(err, exit.ErrUsage):
		p.err = fmt.Errorf("whom the key acts for: %w", err)
	case errors.Is(err, errUnnamed), errors.Is(err, extract.ErrContract):
		r.sayUnnamed(&p, err)
	case len(p.stored) == 0:
		p.err = fmt.Errorf("whom the key acts for: %w", err)
	default:
		p.meErr = err
	}
	return p
}

// sayUnnamed reports that the service does not name the key's account: once for a service that never did, and as a
// failure for one that did before.
func (r *session) sayUnnamed(p *keyProof, why error) {
	switch {
	case r.storedAccount().Pinned != "":
		p.meErr = why
	case len(p.stored) == 0:
		r.Log.Warn("the service does not name the account of the API key, which is known by its campaigns alone; "+
			"another key for the name is a line me.account of SPENDSYNC_SERVICE_FILE", "error", why)
	}
}

// OfWrongURL returns the error of a client as one of the configuration if its base URL is wrong: it doubts the URL, and
// the service has answered nothing in this run. Once something of the interface was stored (isKnown), the host was
// right, and a network that does not find it may find it later.
func OfWrongURL(err error, client *extract.Client, isKnown bool) error {
	e, ok := errors.AsType[*extract.ReadError](err)
	if !ok || !e.DoubtsURL() || client.Answered() || isKnown && e.Status == 0 {
		return err
	}
	return exit.As(err, exit.ErrUsage)
}

// checkPinned checks the account that a key acts on: it must be the account of the first run's key, if there was one.
// Otherwise the rows of two accounts would be mixed under one name.
func checkPinned(name, pinned, actual string) error {
	if pinned == "" || actual == pinned {
		return nil
	}
	return fmt.Errorf(
		"%w: account %s in this warehouse is %q, the key acts on %q; use another SPENDSYNC_ACCOUNT or the right key",
		exit.ErrOtherAccount, name, pinned, actual)
}

// confirmKey checks that the key still acts on the account that it acted on: by the name of the account or, if the
// service gives none, by one of the listed campaigns, for a key sees only its own.
func (r *session) confirmKey(ctx context.Context, key keyProof) error {
	if key.who.account != "" {
		me, err := r.API.Me(ctx)
		if err != nil {
			return fmt.Errorf("whom the API key acts for, asked a second time: %w", err)
		}
		account, err := transform.AccountRef(r.Service, me)
		if err != nil {
			return fmt.Errorf("%w, asked a second time: %w", errUnnamed, err)
		}
		return checkPinned(r.Account, key.who.account, account)
	}
	if ids := key.listed(); len(ids) > 0 {
		if _, err := r.API.Campaign(ctx, ids[0]); err != nil {
			return fmt.Errorf("a campaign of the API key, read to confirm its account: %w", err)
		}
	}
	return nil
}

// clockWait is how long a run waits for the API's clock. Without an answer, the report's first answer decides.
const clockWait = 5 * time.Second

// askClock compares the clocks before anything is decided.
func (r *session) askClock(ctx context.Context, me *answer[identity]) error {
	if ctx.Err() != nil {
		return nil
	}
	select {
	case <-me.done: // whose key it is, is judged when the days are read
	case <-time.After(clockWait):
	case <-ctx.Done():
	}
	err := r.checkClock(r.API)
	r.start = r.clock.at(0)
	return err
}

// ReadStored reads what the store in a folder has of an account, without a lock. stored is the account in its manifest.
func ReadStored(dir, account string, stored *manifest.Account) (*StoredAccount, error) {
	campaigns, err := readCampaigns(dir, account, stored)
	return &StoredAccount{stored, campaigns}, err
}

// storedCampaigns returns the campaigns that are stored of the account.
func (s *session) storedCampaigns() (storedCampaigns, error) {
	if s.trial != nil && s.trial.Account != nil {
		return s.trial.stored, nil
	}
	return readCampaigns(s.DataDir, s.Account, s.store.Account())
}

// witnesses are campaigns that are proven to be the account's. Campaign IDs are the service's
// own, and one reply is of one account: if one of its campaigns is a witness, all of them are.
type witnesses map[string]bool

func (w witnesses) hasNone(campaigns []string) bool {
	return !slices.ContainsFunc(campaigns, func(id string) bool { return w[id] })
}

func (w witnesses) add(campaigns []string) {
	for _, id := range campaigns {
		w[id] = true
	}
}
