package job

import (
	"errors"

	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// settingsKind is a kind of settings. Its stage adds what a run has read of it to what is stored.
type settingsKind interface {
	stage(r *settingsStage, s *settings) error
}

// settingsKinds are all kinds of settings, in the order in which they are staged: what ends with a campaign follows it.
var settingsKinds = []settingsKind{&campaignKind, &deliveryKind, &creativeKind, ruleKind{}, &modeKind, balanceKind,
	limitKind}

// kind is a kind of settings that has versions: how its entities are decoded, judged and ended.
type kind[R any, P placed[R]] struct {
	name     string // of its entities, in ops.entity_read and ops.unknown_field
	counted  string // of its values in findings
	table    schema.TableOf[R]
	expected []string        // columns that every entity should have
	id       func(*R) string // by which a run knows an entity
	decode   func(transform.Reply, transform.SettingsContext) (R, transform.Decoded, error)
	read     func(*settings) map[string]*reading[R] // what the run has read, by ID
	gone     func(*settingsStage, *settings, *R) bool

	isEntity bool                         // a campaign or a creative, whose missing fields are judged
	raw      func(*R) schema.Null[string] // the JSON; nil: the rows have none of their own
	// seen completes a row by what other replies have; nil: the row is what its reply has.
	seen  func(*settings, *reading[R]) history.Seen[R]
	stubs func(*settingsStage, *settings) []R // entities that only the report knows; nil: none
	// after receives all versions, and reports whether it has changed columns that make no version; nil: nothing does.
	after func(*settingsStage, *settings, []R) bool
}

// placed is a pointer to a version that a reading confirms.
type placed[R any] interface {
	history.Versioned[R]
	Place() schema.Place
}

// reading is what a run has read of one entity.
type reading[R any] struct {
	row R
	transform.Decoded
	isOwn bool // what was sent leaves out nothing that is set
}

// decodeReply decodes a reply and keeps what it holds.
func (k *kind[R, P]) decodeReply(n *settingsReader, id string, a transform.Reply) (read *reading[R], err error) {
	read = &reading[R]{isOwn: a.Own.Raw != nil}
	n.mu.Lock()
	isKnown := k.read(n.read)[id] != nil
	n.mu.Unlock()
	if read.row, read.Decoded, err = k.decode(a, n.context()); err == nil && isKnown {
		err = errors.New("two lists have it")
	}
	if err != nil {
		n.fail(k.name, id, "failed", err)
		return read, err
	}
	k.record(n, id, read)
	return read, nil
}

// record keeps what was read of an entity.
func (k *kind[R, P]) record(n *settingsReader, id string, read *reading[R]) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k.read(n.read)[id] = read
	if read.isOwn {
		n.read.addKeys(k.name, read.Decoded)
	}
}

// seenOf returns what was read of an entity as its history takes it.
func (k *kind[R, P]) seenOf(s *settings, read *reading[R]) history.Seen[R] {
	if k.seen != nil {
		return k.seen(s, read)
	}
	return history.Seen[R]{Row: read.row, Unread: read.Unread}
}

// stage advances the history of the kind by what was read.
func (k *kind[R, P]) stage(r *settingsStage, s *settings) error {
	h, err := load.StoredHistory[R, P](r.store, k.table)
	if err != nil {
		return err
	}
	o := history.Observation[R]{
		Since: s.since, At: s.at, RunID: r.RunID, Seen: k.judge(r, s, h.Rows),
		Absence:   func(row *R) history.Absence { return goneIf(k.gone(r, s, row)) },
		Confirmed: func(row *R) schema.Instant { return r.was.Confirmed(P(row).Place()) },
		Confirm:   func(row *R, at schema.Instant) { r.next.Confirm(P(row).Place(), at) },
		Patience:  k.table.Patience, Refreshed: k.table.ColumnsThatAre(schema.Refreshed),
	}
	if k.stubs != nil {
		o.Stubs = k.stubs(r, s)
	}
	next, st, err := history.Advance[R, P](k.table, k.table.Tracked(), h, o)
	if err != nil {
		return err
	}
	r.noteAdvance(k.table.Table, st)
	if k.after != nil {
		st.Changed = k.after(r, s, next.Rows) || st.Changed
	}
	if !st.Changed {
		return load.PutMemory(r.store, r.area, &r.part, k.table, next.Memory)
	}
	return load.PutHistory[R, P](r.store, r.area, &r.part, k.table, next)
}

// stateKind is a kind of settings without versions: a row is added if it differs from the newest one of its key.
type stateKind[R any] struct {
	table schema.TableOf[R]
	read  func(*accountRead) []R
	key   func(*R) string
	at    func(*R) *schema.Instant
	same  func(x, y R) bool
}

func (k stateKind[R]) stage(r *settingsStage, s *settings) error {
	if s.money == nil {
		return nil
	}
	rows, err := load.StoredTable(r.store, k.table)
	if err != nil {
		return err
	}
	newest := map[string]R{}
	for i := range rows {
		newest[k.key(&rows[i])] = rows[i]
	}
	for _, row := range k.read(s.money) {
		was, known := newest[k.key(&row)]
		if known { // the clock was set back: the values read now are still the newer ones
			*k.at(&row) = max(*k.at(&row), *k.at(&was)+1)
		}
		if !known || !k.same(was, row) {
			rows = append(rows, row)
		}
	}
	return load.PutTable(r.store, r.area, &r.part, k.table, rows)
}
