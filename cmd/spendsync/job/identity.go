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

// future is a result that is requested in the background, while the days are read. It is complete once done is closed.
type future[T any] struct {
	done  chan struct{}
	value T
}

// async starts a background request.
func async[T any](s *session, ask func() T) *future[T] {
	a := &future[T]{done: make(chan struct{})}
	s.asking.Go(func() { defer close(a.done); a.value = ask() })
	return a
}

func (a *future[T]) wait() T { <-a.done; return a.value }

// identity is the account that the API key acts for.
type identity struct {
	account string // the account's name at the service, not the name in the store
	me      extract.Entity
	err     error
}

var errUnnamed = errors.New("the reply does not name the account that the key acts on")

// askIdentity asks which account the key acts for.
func (r *session) askIdentity(ctx context.Context) (who identity) {
	if who.me, who.err = r.API.Me(ctx); who.err == nil {
		if who.account, who.err = transform.AccountRef(r.Service, who.me); who.err != nil {
			who.err = fmt.Errorf("%w: %w", errUnnamed, who.err)
		}
	}
	return who
}

// campaignList is the account's list of campaigns, requested once per run. It proves whose report was read, and names
// the campaigns whose settings are read.
type campaignList struct {
	began   time.Duration // duration since the run started; not a time, because the run's clock may still be corrected
	listing extract.Listing
	err     error
}

func (r *session) listCampaigns(ctx context.Context) (l campaignList) {
	l.began = r.clock.elapsed()
	l.listing, l.err = r.API.Campaigns(ctx)
	return l
}

// readCampaigns returns the stored campaigns of an account in a folder: from its settings or, if no settings are
// stored, from its latest day with rows.
func readCampaigns(dir, name string, account *manifest.Account) (storedCampaigns, error) {
	stored := storedCampaigns{}
	campaigns, err := storedRows(dir, manifest.TablePath(schema.CampaignHistory.Table, name, 0), account,
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
		spend, err = storedRows(dir, manifest.TablePath(schema.SpendDaily.Table, name, day), account, schema.SpendDaily)
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

// keyProof holds what the service and the store show about the API key: its account and its campaigns. If err is not
// nil, nothing that the key reads is published.
type keyProof struct {
	who    identity // its account is empty if the reply names no account
	meErr  error    // why /v1/me could not be read; the run continues
	err    error
	stored storedCampaigns // the campaigns that earlier runs stored
	list   *future[campaignList]
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

// problem returns why the account's list of campaigns is not complete, or nil if the list is complete.
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

// readKey waits for the reply that names the key's account, and refuses the key if earlier runs had another account. If
// the reply names no account, the key's campaigns show whose key it is (see [prover.prove]). If the reply does not
// come, only the first load fails: later runs recognize a key of another account by the stored campaigns.
func (r *session) readKey(me *future[identity], list *future[campaignList]) keyProof {
	p := keyProof{list: list}
	if t := r.trial; t != nil && t.Account != nil {
		p.stored = t.stored
	} else {
		p.stored, p.err = readCampaigns(r.DataDir, r.Account, r.store.Account())
	}
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
		if r.storedAccount().Pinned != "" { // an earlier run has stored the account's name
			p.meErr = err
		}
	case len(p.stored) == 0:
		p.err = fmt.Errorf("whom the key acts for: %w", err)
	default:
		p.meErr = err
	}
	return p
}

// OfWrongURL turns a client's error into a configuration error if the base URL is probably wrong: the error suggests
// so, and the service has answered nothing in this run. If data of the interface is stored (hasData), an earlier run
// has reached the host, so a network error is returned unchanged.
func OfWrongURL(err error, client *extract.Client, hasData bool) error {
	e, ok := errors.AsType[*extract.ReadError](err)
	if !ok || !e.DoubtsURL() || client.Answered() || hasData && e.Status == 0 {
		return err
	}
	return exit.As(err, exit.ErrUsage)
}

// checkPinned checks that the key's actual account is the expected one. Both are the service's names. If no account is
// expected, any account is accepted. Without this check, the store could mix the rows of two accounts under one name.
func checkPinned(name, pinned, actual string) error {
	if pinned == "" || actual == pinned {
		return nil
	}
	return fmt.Errorf(
		"%w: account %s in this warehouse is %q, the key acts on %q; use another SPENDSYNC_ACCOUNT or the right key",
		exit.ErrOtherAccount, name, pinned, actual)
}

// confirmKey checks that the key still acts on the same account. It asks for the account's name again or, if the
// service gives no name, reads one of the listed campaigns: a key sees only the campaigns of its account.
func (r *session) confirmKey(ctx context.Context, key keyProof) error {
	if key.who.account != "" {
		again := r.askIdentity(ctx)
		if again.err != nil {
			return fmt.Errorf("whom the API key acts for, asked a second time: %w", again.err)
		}
		return checkPinned(r.Account, key.who.account, again.account)
	}
	if ids := key.listed(); len(ids) > 0 {
		if _, err := r.API.Campaign(ctx, ids[0]); err != nil {
			return fmt.Errorf("a campaign of the API key, read to confirm its account: %w", err)
		}
	}
	return nil
}

// clockWait is how long a run waits for a reply of the API to learn the service's time. If no reply comes in this time,
// the report's first reply sets the clock.
const clockWait = 5 * time.Second

// askClock compares the clocks before the run decides anything.
func (r *session) askClock(ctx context.Context, me *future[identity]) error {
	if ctx.Err() != nil {
		return nil
	}
	select {
	case <-me.done: // wait for any reply; readKey judges it later
	case <-time.After(clockWait):
	case <-ctx.Done():
	}
	err := r.checkClock(r.API)
	r.start = r.clock.at(0)
	return err
}

// ReadStored reads the stored state of an account in a folder, without a lock. The last argument is the account in the
// folder's manifest.
func ReadStored(dir, account string, stored *manifest.Account) (*StoredAccount, error) {
	campaigns, err := readCampaigns(dir, account, stored)
	return &StoredAccount{stored, campaigns}, err
}

// witnesses are campaigns that are proven to belong to the account. Campaign IDs are unique within the service, and
// every reply is of one account, so if one campaign of a reply is a witness, all of them belong to the account.
type witnesses map[string]bool

func (w witnesses) hasNone(campaigns []string) bool {
	return !slices.ContainsFunc(campaigns, func(id string) bool { return w[id] })
}

func (w witnesses) add(campaigns []string) {
	for _, id := range campaigns {
		w[id] = true
	}
}
