package job

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"spendsync/extract"
	"spendsync/schema"
	"spendsync/transform"
)

// settingsReaders is how many campaigns are read at the same time. The limiter of
// the key decides the speed, not this.
const settingsReaders = 4

// settingsReader reads the settings concurrently into a value.
type settingsReader struct {
	s      *session
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
		s: r, before: r.store.Account().SettledFor(r.Version), budget: r.newBudget(),
		read: newSettings(),
	}
}

// context returns the columns of settings rows that the replies lack.
func (n *settingsReader) context() transform.SettingsContext {
	return transform.SettingsContext{Account: n.s.Account, RunID: n.s.RunID, Service: n.s.Service}
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
		n.s.Log.Warn("a text of the settings is not as it should be",
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
		AccountID: n.s.Account, EntityType: kind, EntityID: id, Field: field, ReadState: state,
		Message: message, AttemptedAt: schema.InstantOf(n.s.Now()), RunID: n.s.RunID,
	}
}
