package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// settingsReaders is how many campaigns are read at the same time. The limiter of
// the key decides the speed, not this.
const settingsReaders = 4

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

// settingsReader reads the settings concurrently into a value.
type settingsReader struct {
	run    *session
	list   *campaignList
	before []string // campaigns that were settled before this run
	budget *budget
	stored storedCampaigns // before this run
	asked  int             // requests for entities that listings lack
	// Creatives, and drafts, that were read by themselves and brought nothing more than their list.
	inVain, draftsInVain atomic.Int64

	mu   sync.Mutex // guards the fields below
	read *settings
}

func newSettingsReader(r *session) *settingsReader {
	return &settingsReader{
		run: r, before: r.store.Account().SettledFor(r.Version), budget: r.newBudget(),
		read: newSettings(),
	}
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
		n.read.at = schema.InstantOf(n.run.Now())
	}
}

// confirmEnds takes back every 404 and 410 if the key does not act on its account any more.
func (n *settingsReader) confirmEnds(ctx context.Context, key keyProof) {
	if !n.read.lacksSome() {
		return
	}
	if err := n.run.confirmKey(ctx, key); err != nil {
		n.fail("account", "me", "failed", err)
		for _, e := range n.read.entities() {
			e.notThere.Valid = false
		}
	}
}

// context returns the columns of settings rows that the replies lack.
func (n *settingsReader) context() transform.SettingsContext {
	return transform.SettingsContext{Account: n.run.Account, RunID: n.run.RunID, Service: n.run.Service}
}

// fail records something that could not be read. A read that a signal or the budget ended is not a failure: the next
// run reads it.
func (n *settingsReader) fail(kind, id, state string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	extract.TakeReply(err) // the error may be held until the run ends
	n.mu.Lock()
	defer n.mu.Unlock()
	n.read.lines = append(n.read.lines, n.line(kind, id, "", state, schema.Some(err.Error())))
	n.read.findings = append(n.read.findings, finding{what: kind + " " + id, err: err})
}

// note records the fields of an entity that could not be read, whose last known values stay: a warning if the service
// itself could not read them, and counted if they were not understood. columns are those that the entity should have.
func (n *settingsReader) note(kind, id string, columns []string, reading transform.Decoded) {
	entity := entityKind(kind)
	for _, f := range reading.Unread {
		n.read.lines = append(n.read.lines, n.line(entity, id, f, "unreadable", reading.Message(f)))
	}
	n.read.unread.add(kind, id, columns, reading)
	n.addKeys(entity, reading)
	for _, text := range reading.Texts {
		n.run.Log.Warn("a text of the settings is not as it should be",
			"kind", kind, "id", id, "column", text.Column, "value", text.Value, "why", text.Reason)
	}
}

// addKeys records from which keys of an entity values were read.
func (n *settingsReader) addKeys(stream string, reading transform.Decoded) {
	keys := n.read.readKeys[stream]
	if keys == nil {
		keys = map[string]bool{}
		n.read.readKeys[stream] = keys
	}
	for _, key := range reading.Read {
		keys[key] = true
	}
}

func (n *settingsReader) line(kind, id, field, state string, message schema.Null[string]) schema.EntityRead {
	return schema.EntityRead{
		AccountID: n.run.Account, EntityType: kind, EntityID: id, Field: field, ReadState: state,
		Message: message, AttemptedAt: schema.InstantOf(n.run.Now()), RunID: n.run.RunID,
	}
}

// notUnderstood adds everything that was not understood to the findings.
func (n *settingsReader) notUnderstood() {
	n.mu.Lock()
	defer n.mu.Unlock()
	var unknown error
	findings := n.read.unread.notUnderstood(func(kind string, columns []string) severity {
		s, err := n.severityOf(kind, columns)
		unknown = cmp.Or(unknown, err)
		return s
	})
	for _, f := range findings {
		n.run.Log.Warn("a part of the settings is not understood", "kind", f.what, "error", f.err)
		if unknown != nil { // it cannot be told what stands
			f.severity, f.notes = failed, nil
		}
		n.read.findings = append(n.read.findings, f)
	}
}

// severityOf returns how grave it is that columns of the settings of one kind are not understood: if a value is stored
// in one, it stands as the last known one, and may be old.
func (n *settingsReader) severityOf(kind string, columns []string) (severity, error) {
	isKnown, err := true, error(nil) // the sources of a campaign: their rules stand
	switch kind {
	case "campaign":
		isKnown, err = isStored(n.run.store, schema.CampaignHistory, columns)
	case deliveryKind:
		isKnown, err = isStored(n.run.store, schema.DeliveryHistory, columns)
	case "creative":
		isKnown, err = isStored(n.run.store, schema.CreativeHistory, columns)
	case "account": // each snapshot stands for itself
		isKnown = false
	}
	if isKnown {
		return staleValue, err
	}
	return differs, err
}

func isStored[R any, P history.Versioned[R]](s *load.Store, t schema.TableOf[R], columns []string) (bool, error) {
	h, err := load.StoredHistory[R, P](s, t)
	if err != nil {
		return false, err
	}
	fields := slices.DeleteFunc(t.Fields(), func(c schema.Column) bool { return !slices.Contains(columns, c.Name) })
	for i := range h.Rows {
		for _, c := range fields {
			if P(&h.Rows[i]).FramePtr().IsCurrent && !t.ColumnEqual(&h.Rows[i], new(R), c) {
				return true, nil
			}
		}
	}
	return false, nil
}
