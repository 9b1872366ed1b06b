package job

import (
	"context"
	"errors"
	"fmt"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/schema"
	"spendsync/transform"
)

// identity is whom the API key acts for.
type identity struct {
	account string // the service's own name of the advertiser account
	me      extract.Entity
}

var errUnnamed = errors.New("the reply does not name the account that the key acts on")

// askIdentity asks whom the key acts for while the report is being read.
func (r *session) askIdentity(ctx context.Context) *keyAnswer {
	a := &keyAnswer{done: make(chan struct{})}
	r.asking.Go(func() {
		defer close(a.done)
		if a.who.me, a.err = r.API.Me(ctx); a.err == nil {
			if a.who.account, a.err = transform.AccountRef(r.Service, a.who.me); a.err != nil {
				a.err = fmt.Errorf("%w: %w", errUnnamed, a.err)
			}
		}
	})
	return a
}

// keyAnswer is the reply that names the key's account. It is complete once done is closed.
type keyAnswer struct {
	done chan struct{}
	who  identity
	err  error
}

// acceptedUnpinned stands in the place of the pinned account if the operator has accepted a
// service that names none.
const acceptedUnpinned = "(unnamed)"

// campaignList is the account's list of campaigns, asked for once a run: the report is
// held to it before anything is published, and the settings are read by it.
type campaignList struct {
	done    chan struct{} // closed when the rest is there
	since   schema.Instant
	listing extract.Listing
	err     error
}

// listCampaigns asks for the campaigns while the report is being read.
func (r *session) listCampaigns(ctx context.Context) *campaignList {
	l := &campaignList{done: make(chan struct{}), since: schema.InstantOf(r.Now())}
	r.asking.Go(func() {
		defer close(l.done)
		l.listing, l.err = r.API.Campaigns(ctx)
	})
	return l
}

// storedCampaigns are the account's campaigns in the store, by ID, and whether the advertiser
// API has described them. Of the others, the stubs, the report has the ID alone.
type storedCampaigns map[string]bool

func readCampaigns(store *load.Store) (storedCampaigns, error) {
	rows, err := load.StoredTable(store, schema.CampaignHistory)
	return describedIn(rows), err
}

// describedIn returns the campaigns of the stored versions.
func describedIn(rows []schema.Campaign) storedCampaigns {
	stored := storedCampaigns{}
	for i := range rows {
		id := rows[i].CampaignID
		stored[id] = stored[id] || rows[i].ReadState != schema.ReadStub
	}
	return stored
}

// acceptsUnpinned reports whether the operator accepts, or once accepted, a service that names no
// account.
func (r *session) acceptsUnpinned() bool {
	return r.AcceptUnpinned || r.known().Pinned == acceptedUnpinned
}

// AcceptUnnamed records, as a run with AcceptUnpinned does, that the operator accepts a service
// that names no account. It publishes a generation with nothing else new.
func (j Job) AcceptUnnamed(ctx context.Context) error {
	s, err := j.begin(ctx, "check")
	if err != nil {
		return err
	}
	defer s.end()
	switch pinned := s.store.Account().Pinned; pinned {
	case acceptedUnpinned:
		return nil
	case "":
	default:
		return exit.Usagef("account %s in this warehouse is %s: a service that names no account is not accepted in "+
			"its place", s.Account, pinned)
	}
	s.staged.PinAccount(acceptedUnpinned)
	prepared, err := s.staged.Prepare(ctx, load.Contents{Since: ReachFrom(s.Now())})
	if err != nil {
		return err
	}
	defer prepared.Close()
	row := endOf(s.Job, s.command, s.start, exit.OK, fmt.Sprintf("published generation %d: a service that names no "+
		"account is accepted", prepared.Preview().Generation))
	row.Published, row.Generation = true, prepared.Preview().Generation
	_, err = prepared.Commit(ctx, load.RunRecord{Run: row})
	return err
}

// pinned returns the pinned account, or "" if none is.
func (r *session) pinned() string {
	if pinned := r.known().Pinned; pinned != acceptedUnpinned {
		return pinned
	}
	return ""
}

// keyProof is why the API key counts as the pinned account's. If err is not nil, that is not
// proven, and nothing that the key reads is published.
type keyProof struct {
	who    identity
	by     string // for example "/v1/me names adv_1"
	meErr  error  // why /v1/me did not name the account although something else proves it
	err    error
	stored storedCampaigns
	list   *campaignList
}

// described returns the stored campaigns that the advertiser API has described.
func (p keyProof) described() witnesses {
	w := witnesses{}
	for id, is := range p.stored {
		if is {
			w[id] = true
		}
	}
	return w
}

// listed waits for the key's list of campaigns, and returns their IDs. An unproven key has none.
func (p keyProof) listed() (ids []string) {
	if p.err != nil {
		return nil
	}
	<-p.list.done
	for _, e := range p.list.listing.Entities {
		ids = append(ids, e.ID)
	}
	return ids
}

// problem returns why not all campaigns of the account are known; nil: they are.
func (p keyProof) problem() error {
	switch {
	case p.err != nil:
		return p.err
	case p.list.err != nil:
		return fmt.Errorf("the campaigns of the API key: %w", p.list.err)
	case !p.list.listing.Complete:
		return fmt.Errorf("the campaigns of the API key: %s", p.list.listing.Why)
	}
	return nil
}

// proveKey waits for the service's reply that names the key's account. If it names no account, a stored campaign in
// the key's list proves the same: campaign IDs are the service's own, and a key sees only its own account.
func (r *session) proveKey(me *keyAnswer, list *campaignList) keyProof {
	p, pinned := keyProof{list: list}, r.pinned()
	p.stored, p.err = r.knownCampaigns()
	<-me.done
	p.who = me.who
	switch {
	case p.err != nil:
		return p
	case me.err == nil:
		p.err = CheckPinned(r.Account, pinned, p.who.account)
		p.by = "/v1/me names account " + p.who.account
		return p
	case errors.Is(me.err, extract.ErrAuth):
		p.err = fmt.Errorf("whom the key acts for: %w", me.err)
		return p
	}
	known := p.described()
	if e, ok := errors.AsType[*extract.ReadError](me.err); ok && e.DoubtsURL() {
		<-list.done
		isKnown := r.known().Pinned != "" || len(known) > 0
		err := OfWrongURL(me.err, r.API, isKnown)
		if errors.Is(err, exit.ErrUsage) {
			p.err = fmt.Errorf("whom the key acts for: %w", err)
			return p
		}
	}
	unnamed := errors.Is(me.err, errUnnamed) || errors.Is(me.err, extract.ErrContract)
	if unnamed && pinned == "" && len(known) == 0 {
		if r.acceptsUnpinned() {
			p.by = "accepted without an account: the service names none"
			if !errors.Is(me.err, errUnnamed) {
				p.meErr = me.err
			}
			return p
		}
		p.err = exit.Usagef("the service does not say which account the API key acts on (%v): check that the key and "+
			"the report's user belong to one account, then run 'spendsync check --accept-unpinned', or once with "+
			"SPENDSYNC_ACCEPT_UNPINNED=true",
			me.err)
		return p
	}
	<-list.done
	for _, e := range list.listing.Entities {
		if known[e.ID] {
			p.by = "the key lists the stored campaign " + e.ID
			if !errors.Is(me.err, errUnnamed) || pinned != "" { // it is normal that a service never names an account
				p.meErr = me.err
			}
			return p
		}
	}
	p.err = fmt.Errorf("waiting for proof of whom the API key acts for: %w", me.err)
	if list.err != nil {
		p.err = fmt.Errorf("%w; its list of campaigns: %w", p.err, list.err)
	}
	return p
}

// OfWrongURL returns the error of a client as one of the configuration if its base URL is wrong: it doubts the URL,
// the service has answered nothing in this run, and nothing of the interface was ever stored (isKnown). Once something
// was, the URL has worked, and the same error is the service's or the network's, which may pass.
func OfWrongURL(err error, client *extract.Client, isKnown bool) error {
	e, ok := errors.AsType[*extract.ReadError](err)
	if !ok || !e.DoubtsURL() || isKnown || client.Answered() {
		return err
	}
	return exit.As(err, exit.ErrUsage)
}

// beginKeyProof starts to prove whose the key is. The function that it returns waits for that.
func (r *session) beginKeyProof(me *keyAnswer, list *campaignList) (wait func() keyProof) {
	done := make(chan struct{})
	var p keyProof
	r.asking.Go(func() { defer close(done); p = r.proveKey(me, list) })
	return func() keyProof { <-done; return p }
}

// CheckPinned checks the account that a key acts on: it must be the account of the first run's key, if there was one.
// Otherwise the rows of two accounts would be mixed under one name.
func CheckPinned(name, pinned, actual string) error {
	if pinned == "" || actual == pinned {
		return nil
	}
	return fmt.Errorf(
		"%w: account %s in this warehouse is %q, the key acts on %q; use another SPENDSYNC_ACCOUNT or the right key",
		exit.ErrOtherAccount, name, pinned, actual)
}

// KeyNotice is how long before its end a key is warned of, as the service does.
const KeyNotice = 14 * 24 * time.Hour

// keyExpires returns when the API key expires, if the service states it. It warns if that is soon: without the key
// the settings stop, and the numbers would not show it.
func (r *session) keyExpires() (expires schema.Null[schema.Instant]) {
	at, warning, ok := r.API.KeyNotice()
	if !ok {
		return expires
	}
	if !at.IsZero() {
		expires = schema.Some(schema.InstantOf(at))
	}
	if warning != "" || (!at.IsZero() && at.Sub(r.Now()) < KeyNotice) {
		r.Log.Warn("the API key expires soon; renew it on the dashboard's API access page, the key itself "+
			"stays the same",
			"expires_at", expires.V.String(), "service_says", warning)
	}
	return expires
}

// warnOfTheService warns of ends that the service announces, and of credentials in its replies. These are removed
// before anything is stored, but other readers of the replies see them.
func (r *session) warnOfTheService() {
	for _, e := range r.endings() {
		r.Log.Warn("the service announces that a path ends; look for a newer version of spendsync", "path", e.Path,
			"deprecated", e.Deprecated, "sunset", e.Sunset)
	}
	if n := r.Report.Stats().Repeated + r.API.Stats().Repeated; n > 0 {
		r.Log.Warn("the service repeats the credentials in its replies; nothing of them is stored, but its logs may "+
			"hold them, too: report it to the service, and then renew the password and the key",
			"replies", n)
	}
}
