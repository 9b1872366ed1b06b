package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// readSettings reads the listing and then every campaign that may have changed, as far as the budget reaches. Failures
// are recorded; the other campaigns are still read, unless the key is refused.
func (n *settingsReader) readSettings(ctx context.Context) {
	ctx, cancel := n.budget.bound(ctx)
	defer cancel()
	select {
	case <-n.list.done:
	case <-ctx.Done():
		if n.budget.spent() {
			n.fail("listing", "campaigns", "failed", fmt.Errorf("no reply within %s", n.budget.lasts))
		}
		return
	}
	n.read.since, n.read.listing = n.list.since, n.list.listing
	if err := n.list.err; err != nil {
		n.fail("listing", "campaigns", "failed", err)
		return
	}
	missing, err := n.unlistedCampaigns()
	if err != nil {
		n.fail("listing", "campaigns", "failed", err)
		return
	}
	due := n.due()
	var reported sync.WaitGroup
	reported.Go(func() { n.readReportCreatives(ctx) })
	unlisted := n.askForCampaigns(ctx, missing)
	requests := 3 * (len(due) + len(unlisted))
	n.s.Log.Info("reading settings", "campaigns", len(due)+len(unlisted), "archived_and_settled", n.read.skipped,
		"requests", requests, "requests_saved", 3*n.read.skipped, "at_least", n.atLeast(requests).String())
	bar := n.s.progress("campaigns", len(due)+len(unlisted))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(settingsReaders)
	read := func(c dueCampaign, parts func(context.Context) error) {
		if gctx.Err() != nil || n.budget.spent() {
			n.leave(c)
			return
		}
		g.Go(func() error {
			err := parts(gctx)
			bar.Step()
			if errors.Is(err, extract.ErrAuth) {
				return err // the key is refused: so it will be for the others
			}
			if errors.Is(err, context.Canceled) {
				n.leave(c)
			}
			return nil
		})
	}
	for _, c := range due {
		read(c, func(ctx context.Context) error { return n.readCampaign(ctx, c.Entity) })
	}
	for _, a := range unlisted {
		read(dueCampaign{a.entity, schema.InstantOf(n.s.Now())}, func(ctx context.Context) error {
			return n.readUnlisted(ctx, a)
		})
	}
	_ = g.Wait() // noted where it happened
	bar.Done()
	n.readUnlistedCreatives(ctx)
	n.confirmRules(ctx)
	reported.Wait()
	n.read.at = schema.InstantOf(n.s.Now())
}

// dueCampaign is a campaign to read, with the instant of its last confirmed read, or 0.
type dueCampaign struct {
	extract.Entity
	confirmed schema.Instant
}

// due returns the listed campaigns that may have changed, which is all but the settled ones.
// Those confirmed longest ago come first.
func (n *settingsReader) due() (due []dueCampaign) {
	t := schema.CampaignHistory
	memory, keyOf := n.s.store.Account().Confirmations[t.Name], history.KeyTextOf(t)
	for _, e := range n.read.listing.Entities {
		c := entityOf(n.read.campaigns, e.ID)
		c.isListed = true
		_, settled := slices.BinarySearch(n.before, e.ID)
		if settled && !n.s.Full && transform.Archived(n.s.Service, e) {
			n.read.skipped++
			c.isSettled = true
			continue
		}
		d := dueCampaign{Entity: e}
		if n.stored[e.ID] {
			d.confirmed = memory.Confirmed(keyOf(&schema.Campaign{AccountID: n.s.Account, CampaignID: e.ID}))
		}
		due = append(due, d)
	}
	slices.SortStableFunc(due, func(a, b dueCampaign) int { return cmp.Compare(a.confirmed, b.confirmed) })
	return n.ofEachStatus(due)
}

// atLeast returns the least time that the requests take under the key's limit. The first minute's worth is sent at
// once.
func (n *settingsReader) atLeast(requests int) time.Duration {
	minutes := max(0, requests-1) / n.s.RequestsPerMinute
	return time.Duration(minutes) * time.Minute
}

// mostTried is how many campaigns a trial reads at most.
const mostTried = 8

// ofEachStatus returns the first campaign of each status; without a trial, all of them.
func (n *settingsReader) ofEachStatus(due []dueCampaign) []dueCampaign {
	if n.s.trial == nil {
		return due
	}
	seen := map[string]bool{}
	due = slices.DeleteFunc(due, func(c dueCampaign) bool {
		status := transform.ListedStatus(n.s.Service, c.Entity)
		was := seen[status]
		seen[status] = true
		return was
	})
	return due[:min(len(due), mostTried)]
}

// leave leaves a campaign to the next run if the budget is used up. Other reasons why it was
// not read are noted where they happened.
func (n *settingsReader) leave(c dueCampaign) {
	if !n.budget.spent() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.read.left++
	since, first := c.confirmed.Time(), n.s.store.Account().Since
	if c.confirmed == 0 { // it cannot have been read before the account's first run
		since = (first + schema.ReachDays).Start()
	}
	if first != 0 && n.s.Now().Sub(since) >= overdueAfter {
		n.read.overdue = append(n.read.overdue, c.ID)
	}
}

// noteOverdue notes campaigns that were not read for a day or longer.
func (n *settingsReader) noteOverdue() {
	if len(n.read.overdue) == 0 {
		return
	}
	slices.Sort(n.read.overdue)
	n.read.findings = append(n.read.findings, finding{what: "settings", err: fmt.Errorf(
		"%s not read for a day or longer, for example %s: the budget of %s does not reach all of them",
		phrase.Count(len(n.read.overdue), "campaign"), n.read.overdue[0], n.budget.lasts)})
}

// settingsRead is the outcome of reading the settings. If err is not nil, nothing of them may
// be published.
type settingsRead struct {
	settings *settings
	err      error
}

// value returns the settings that were read; nil: none were.
func (r *settingsRead) value() *settings {
	if r == nil || r.err != nil {
		return nil
	}
	return r.settings
}

// beginSettings starts to read the settings at the same time as the days, once it is proven which account the key
// belongs to. The returned function waits for them.
func (r *session) beginSettings(ctx context.Context, key func() keyProof) (wait waitForSettings) {
	n, done := newSettingsReader(r), make(chan struct{})
	read := &settingsRead{settings: n.read}
	r.asking.Go(func() {
		defer close(done)
		p := key()
		if err := cmp.Or(p.meErr, p.err); err != nil {
			n.fail("account", "me", "failed", err)
		}
		if read.err = p.err; p.err == nil {
			n.list = p.list
			if n.stored = p.stored; r.trial != nil {
				n.stored = nil // a trial asks for no campaign that the list lacks
			}
			n.readAll(ctx, p)
		}
	})
	return func(known int) *settingsRead {
		<-done
		if read.err == nil {
			n.judge(known)
		}
		return read
	}
}

// waitForSettings waits for the settings. known is how many campaigns the account has by then.
type waitForSettings func(known int) *settingsRead

// noSettings is the outcome of a run that reads no settings.
func noSettings(int) *settingsRead { return nil }

// judge adds the conclusions that also need the days.
func (n *settingsReader) judge(known int) {
	if l := &n.read.listing; l.Complete && len(l.Entities) == 0 && known > 0 {
		l.Complete = false
		l.Why = fmt.Sprintf("the listing of campaigns is empty, and %s are known; none of them counts as deleted",
			phrase.Count(known, "campaign"))
	}
	if l := n.read.listing; !l.Complete && l.Why != "" {
		n.fail("listing", "campaigns", "incomplete", errors.New(l.Why))
	}
	n.notUnderstood()
	n.noteOverdue()
}

// readAll reads all settings. Failures are recorded.
func (n *settingsReader) readAll(ctx context.Context, key keyProof) {
	var account sync.WaitGroup
	account.Go(func() { n.read.money = n.readAccount(ctx, key) })
	n.readSettings(ctx)
	account.Wait()
	n.confirmEnds(ctx, key)
	if n.read.at == 0 {
		n.read.at = schema.InstantOf(n.s.Now())
	}
}

// confirmEnds takes back every 404 and 410 if the key does not act on its account any more.
func (n *settingsReader) confirmEnds(ctx context.Context, key keyProof) {
	if !n.read.lacksSome() {
		return
	}
	if err := n.s.confirmKey(ctx, key); err != nil {
		n.fail("account", "me", "failed", err)
		for _, e := range n.read.entities() {
			e.notThere.Valid = false
		}
	}
}

// notUnderstood adds everything that was not understood to the findings.
func (n *settingsReader) notUnderstood() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, f := range n.read.unread.notUnderstood(n.severityOf) {
		n.s.Log.Warn("a part of the settings is not understood", "kind", f.what, "error", f.err)
		n.read.findings = append(n.read.findings, f)
	}
}

// severityOf returns how grave it is that columns of the settings of one kind are not understood: if a value is stored
// in one, it stands as the last known one, and may be old.
func (n *settingsReader) severityOf(kind string, columns []string) severity {
	isKnown := true // the sources of a campaign: their rules stand
	switch kind {
	case "campaign":
		isKnown = isStored(n.s.store, schema.CampaignHistory, columns)
	case deliveryKind:
		isKnown = isStored(n.s.store, schema.DeliveryHistory, columns)
	case "creative":
		isKnown = isStored(n.s.store, schema.CreativeHistory, columns)
	case "account": // each snapshot stands for itself
		isKnown = false
	}
	if isKnown {
		return doubtful
	}
	return differs
}

// isStored reports whether a current version has a value in one of some columns, as far as that can be read.
func isStored[R any, P history.Versioned[R]](s *load.Store, t schema.TableOf[R], columns []string) bool {
	h, err := load.StoredHistory[R, P](s, t)
	if err != nil {
		return true
	}
	fields := slices.DeleteFunc(t.Fields(), func(c schema.Column) bool { return !slices.Contains(columns, c.Name) })
	for i := range h.Rows {
		for _, c := range fields {
			if P(&h.Rows[i]).FramePtr().IsCurrent && !t.ColumnEqual(&h.Rows[i], new(R), c) {
				return true
			}
		}
	}
	return false
}
