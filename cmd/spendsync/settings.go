package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"spendsync/cmd/spendsync/config"
	"spendsync/cmd/spendsync/exit"
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

// identityWait is how long the report's numbers wait for the answer of whom the
// key acts for, once they are ready.
const identityWait = 15 * time.Second

var (
	errNoIdentity = errors.New("the service has not said yet whom the key acts for")
)

// identify asks whom the key acts for while the report is being read.
func (s *syncer) identify(ctx context.Context) {
	done := make(chan struct{})
	var who identity
	var err error
	go func() {
		defer close(done)
		if who.me, err = s.api.Me(ctx); err == nil {
			who.account, err = transform.AccountRef(who.me)
		}
	}()
	s.identity = func() (identity, error) {
		select {
		case <-done:
			return who, err
		case <-time.After(identityWait):
			return identity{}, errNoIdentity
		}
	}
}

// refuseOtherAccount stops a run whose key acts on another account than the first
// run's did: under one name two accounts would be mixed for ever. A key that
// cannot be asked about does not hold the numbers back; the settings tell.
func (s *syncer) refuseOtherAccount(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	pinned := s.store.Account().Pinned
	who, err := s.identity()
	if err != nil {
		return nil
	}
	if pinned == "" || who.account == pinned {
		// Pinned here, where the answer is known: asking again would wait again.
		s.staged.PinAccount(who.account)
		return nil
	}
	return fmt.Errorf("%w: account %s in this warehouse is %q, the key acts on %q; use another %sACCOUNT or the right key",
		exit.ErrOtherAccount, s.app.cfg.Account, pinned, who.account, config.Prefix)
}

// settingsWait is how long the report's numbers, once they are ready, wait for the
// settings: one generation costs little more than one of the report alone.
const settingsWait = 5 * time.Second

// copySettings reads the settings and publishes their history and the report, as one
// generation unless the settings take long. Whatever fails here is named, and the
// rest is stored. The error is of a run that has published nothing.
func (s *syncer) copySettings(ctx, publishing context.Context) (schema.Run, error) {
	n := &snapshot{
		s: s, api: s.api, full: s.app.full, before: s.store.Account().Settled, slow: make(chan struct{}),
		listed: map[string]bool{}, stubs: map[string]bool{}, known: map[string]bool{},
		whole: map[string]bool{}, read: map[[2]string]bool{}, bids: map[string]bool{},
	}
	row, err := n.run(ctx, publishing)
	if err == nil || n.unreported {
		return row, err
	}
	s.snapshot = n
	s.tally.stopped = s.tally.stopped || ctx.Err() != nil
	s.tally.failures = append(s.tally.failures, n.failures...)
	s.tally.failures = append(s.tally.failures, failure{"settings", err})
	if !s.reported {
		switch exit.Of(err) {
		case exit.Storage, exit.Locked, exit.Stopped:
			if n.publishing {
				return row, err // so would the report by itself
			}
		}
		s.staged.DropSettings()
		if row, failed := s.publishReport(publishing); failed != nil {
			return row, failed
		}
	}
	// The report's generation stands. The run's line says what became of the rest.
	row = s.publishedRow(s.outlook)
	if code := exit.Of(err); code != exit.OK && !s.tally.stopped {
		code = s.tally.settingsCode(s.outlook, code)
		row.ExitCode, row.Outcome = int64(code), exit.About(code).Means
	}
	s.record(row)
	return row, nil
}

// record writes the end of a run whose generation stands to the ledger.
func (s *syncer) record(row schema.Run) {
	if err := s.store.RecordFailure(row, nil); err != nil {
		s.app.log.Warn("the run's end could not be written to the ledger", "error", err)
	}
}

// run reads, lays over the history, and publishes.
func (n *snapshot) run(ctx, publishing context.Context) (row schema.Run, err error) {
	s := n.s
	who, err := s.identity()
	switch {
	case errors.Is(err, extract.ErrAuth):
		n.fail("account", "me", "failed", err)
		return row, fmt.Errorf("whom the key acts for: %w", err)
	case err != nil:
		// The account stays as it is pinned; the settings have no history but ours.
		n.fail("account", "me", "failed", err)
	case s.store.Account().Pinned != "" && who.account != s.store.Account().Pinned:
		return row, fmt.Errorf("%w: %q", exit.ErrOtherAccount, who.account)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		n.readAll(ctx, who)
	}()
	if n.takesLong(reading) {
		if row, err = s.publishReport(publishing); err != nil {
			n.unreported = true
			cancel()
			<-reading
			return row, err
		}
		s.reported = true
		<-reading
		if ctx.Err() != nil {
			s.tally.stopped = true
			row = s.publishedRow(s.outlook)
			s.record(row)
			return row, nil
		}
	}
	s.snapshot = n
	staged := s.staged
	if s.reported {
		if staged, err = s.store.Begin(s.runID); err != nil {
			return row, err
		}
		defer staged.Discard()
	}
	if err := s.app.traced(ctx, "stage settings", func(context.Context) error { return n.stage(staged) }); err != nil {
		return row, err
	}
	if n.money != nil {
		if err := n.stageAccount(staged, n.money); err != nil {
			return row, err
		}
	}
	staged.PinAccount(who.account)
	staged.PutSettled(n.settledCampaigns())
	s.tally.failures = append(s.tally.failures, n.failures...)
	n.failures = nil // they have been handed over
	s.tally.stopped = s.tally.stopped || ctx.Err() != nil
	n.publishing = true
	what := "publish"
	if s.reported {
		what = "publish settings"
	}
	err = s.app.traced(publishing, what, func(ctx context.Context) (err error) {
		row, err = n.publish(ctx, staged)
		return err
	})
	return row, err
}

// takesLong waits for the settings, and gives up once they hold the report's numbers
// back for too long, or are known to.
func (n *snapshot) takesLong(reading <-chan struct{}) bool {
	if n.s.nothingNew() {
		<-reading
		return false
	}
	enough := time.NewTimer(cmp.Or(n.s.app.settingsWait, settingsWait))
	defer enough.Stop()
	select {
	case <-reading:
		return false
	case <-n.slow:
	case <-enough.C:
	}
	return true
}

// readAll reads what there is to be read. What fails is noted.
func (n *snapshot) readAll(ctx context.Context, who identity) {
	var account sync.WaitGroup
	account.Go(func() {
		_ = n.s.app.traced(ctx, "read account", func(ctx context.Context) error { n.money = n.readAccount(ctx, who); return nil })
	})
	_ = n.s.app.traced(ctx, "read settings", func(ctx context.Context) error { n.readSettings(ctx); return nil })
	account.Wait()
	if n.at == 0 {
		n.at = schema.InstantOf(n.s.app.now())
	}
}

// publish makes a generation of the settings, and of the report if that has waited.
func (n *snapshot) publish(ctx context.Context, staged *load.Staged) (row schema.Run, err error) {
	s := n.s
	if !s.reported {
		return s.publish(ctx, staged, n.entities)
	}
	_, err = staged.Publish(ctx, load.Publication{
		Since: s.plan.Reach, Entities: n.entities,
		Run: func(o load.Outlook) schema.Run {
			row = s.publishedRow(o)
			return row
		},
	})
	return row, err
}

// keyNotice is how long before its end a key is warned of, as the service does.
const keyNotice = 14 * 24 * time.Hour

// warnOfKey tells of a key that ends soon: after that the settings stop, and
// nobody would notice from the numbers.
func (s *syncer) warnOfKey() (expires schema.Null[schema.Instant]) {
	at, warning, ok := s.api.KeyNotice()
	if !ok {
		return expires
	}
	if !at.IsZero() {
		expires = schema.Some(schema.InstantOf(at))
	}
	if warning != "" || (!at.IsZero() && at.Sub(s.app.now()) < keyNotice) {
		s.app.log.Warn("the API key expires soon; renew it on the dashboard's API access page, the key itself stays the same",
			"expires_at", expires.V.String(), "service_says", warning)
	}
	return expires
}

// settledCampaigns are the archived campaigns that need not be read again: those
// of before that are still so, and those read whole now.
func (n *snapshot) settledCampaigns() []string {
	if !n.listing.Complete {
		// What is not listed is not known to be otherwise.
		return append(n.settled, n.before...)
	}
	return n.settled
}

// accountRead is the account's money and budgets as this run saw them.
type accountRead struct {
	snapshot schema.AccountSnapshot
	limits   []schema.AccountLimit
}

// readAccount reads the balance and the change budgets.
func (n *snapshot) readAccount(ctx context.Context, who identity) *accountRead {
	limits, limitsErr := n.api.Limits(ctx)
	if limitsErr != nil {
		n.fail("account", "limits", "failed", limitsErr)
	}
	balance, balanceErr := n.api.Balance(ctx)
	if balanceErr != nil {
		n.fail("account", "balance", "failed", balanceErr)
	}
	if limitsErr != nil || balanceErr != nil {
		return nil
	}
	snap, lims, _, _, unread, err := transform.Account(who.me, limits, balance, schema.InstantOf(n.s.app.now()), n.context())
	if err != nil {
		n.fail("account", "balance", "failed", err)
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unread("account", "balance", unread)
	return &accountRead{snap, lims}
}

// stageAccount adds what differs from the newest stored rows.
func (n *snapshot) stageAccount(staged *load.Staged, a *accountRead) error {
	snapshots, err := load.StoredTable(n.s.store, schema.AccountSnapshots)
	if err != nil {
		return err
	}
	same := func(x, y schema.AccountSnapshot) bool {
		x.SeenAt, x.RunID, x.Raw, y.SeenAt, y.RunID, y.Raw = 0, "", schema.Null[string]{}, 0, "", schema.Null[string]{}
		return x == y
	}
	if k := len(snapshots); k == 0 || !same(snapshots[k-1], a.snapshot) {
		snapshots = append(snapshots, a.snapshot)
	}
	if err := load.PutTable(staged, schema.AccountSnapshots, snapshots); err != nil {
		return err
	}
	limits, err := load.StoredTable(n.s.store, schema.AccountLimits)
	if err != nil {
		return err
	}
	newest := map[string]schema.AccountLimit{}
	for _, l := range limits {
		newest[l.LimitKind] = l
	}
	for _, l := range a.limits {
		was, known := newest[l.LimitKind]
		if !known || was.Used != l.Used || was.Allowed != l.Allowed || was.ResetsAt != l.ResetsAt {
			limits = append(limits, l)
		}
	}
	return load.PutTable(staged, schema.AccountLimits, limits)
}

// atLeast is how long so many requests take under the key's limit: the first
// minute's worth goes at once.
func (n *snapshot) atLeast(requests int) time.Duration {
	minutes := max(0, requests-1) / n.s.app.cfg.RequestsPerMinute
	return time.Duration(minutes) * time.Minute
}
