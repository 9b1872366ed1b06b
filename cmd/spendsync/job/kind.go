package job

import (
	"cmp"
	"context"
	"errors"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// settingsKind is a kind of settings, such as campaigns or the balance. Its method stage adds what this run has read to
// the stored history.
type settingsKind interface {
	stage(r *settingsStage, s *settings) error
}

// settingsKinds has all kinds of settings in the order in which they are staged. Campaigns come first, because a
// creative or source rule ends when its campaign ends.
var settingsKinds = []settingsKind{&campaignKind, &deliveryKind, &creativeKind, ruleKind{}, &modeKind, balanceKind,
	limitKind}

// campaignPart is a part of a campaign's settings that is read by one request, or by the requests for one list.
type campaignPart struct {
	name string // in ops.entity_read
	ask  func(ctx context.Context, api *extract.Client, c dueCampaign) (extract.Listing, error)
	// read is a function that decodes one of the received entities. It records its own errors.
	read func(n *settingsReader, a transform.Reply) error
	// whole is the name under which the table of readings records that this part was read in full. If whole is empty,
	// either the history or read() records it.
	whole string
}

// single returns a complete list with only one entity.
func single(e extract.Entity, err error) (extract.Listing, error) {
	return extract.Listing{Entities: []extract.Entity{e}, Complete: true}, err
}

// kind is a kind of settings with versions: how its entities are decoded and judged, and when they end.
type kind[R any, P placed[R]] struct {
	name    string // in ops.entity_read and ops.unknown_field
	counted string // in messages, for example "delivery status"
	table   schema.TableOf[R]
	decode  func(transform.Reply, transform.SettingsContext) (R, transform.Decoded, error)

	isListed bool // whether entries of a list also have these settings
	isEntity bool // whether the kind is campaigns or creatives; only their missing fields are judged
	// This function reports whether an entity that this run has not read is deleted. If it is nil, the entity ends with
	// its campaign.
	gone func(*settingsStage, *settings, *R) bool
	// This function adds values from other replies to a row that was read. It may be nil.
	complete func(*settingsStage, *history.Seen[R])
	stubs    func(*settingsStage, *settings) []R // adds the entities that only the report names; nil: none
	// This function receives all versions of the kind before they are stored. It reports whether it changed a column
	// whose changes start no new version. It may be nil.
	after func(*settingsStage, *settings, []R) bool
}

// placed is a type constraint: a pointer to a row of a table of versions. Place returns what must be read to confirm
// the row, for example the campaign's list of creatives.
type placed[R any] interface {
	history.Versioned[R]
	Place() schema.Place
}

// idOf returns the ID of the creative or source in a row; if the row has neither, the ID of the campaign.
func (k *kind[R, P]) idOf(row *R) string {
	place := P(row).Place()
	return cmp.Or(place.EntityID, place.CampaignID)
}

// reading is what a run has read of one entity: its row, and the result of decoding each field.
type reading[R any] struct {
	row R
	transform.Decoded
	// isOwn means that the row is from the entity's own reply, or from a list's entry that is not short. Other entries
	// of lists may omit fields.
	isOwn bool
}

// read decodes a reply, and records either the row or the error. A second reply for the same entity is an error.
func (k *kind[R, P]) read(n *settingsReader, a transform.Reply) error {
	if a.Own.Raw == nil && !k.isListed {
		return nil // the request failed, and that is already recorded
	}
	id := cmp.Or(a.Own.ID, a.Listed.ID)
	row, decoded, err := k.decode(a, n.context())
	if err == nil && !k.record(n, id, &reading[R]{row, decoded, a.Own.Raw != nil}) {
		err = errors.New("two lists have it")
	}
	if err != nil {
		n.fail(k.name, id, "failed", err)
	}
	return err
}

// record adds the reading of an entity. An entity's own reply replaces its entry in a list. In every other case in
// which this run has already read the entity, record adds nothing and returns false.
func (k *kind[R, P]) record(n *settingsReader, id string, read *reading[R]) bool {
	if read.isOwn {
		n.look(k.name, id)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	readings := readingsOf(n.settings, k.table)
	if was := readings[id]; was != nil && (was.isOwn || !read.isOwn) {
		return false
	}
	readings[id] = read
	if read.isOwn {
		n.settings.addKeys(k.name, read.Decoded)
	}
	return true
}

// settingsStage stages the settings.
type settingsStage struct {
	*session
	ended     map[string]bool  // deleted campaigns; set by findEnded
	endNow    []string         // campaigns that this run found to be deleted
	versions  int64            // number of new versions
	was, next history.Readings // when each part of the settings was last confirmed, before and after this run
	part      load.StagedChange
	reported  map[string]transform.ReportCreative // the report's creatives, by ID
}

// beginReadings starts the new table of readings, which states when each part of the settings was last read in full.
// Parts that this run has read in full get the time of this run.
func (r *settingsStage) beginReadings(s *settings) (err error) {
	if r.was, err = load.StoredReadings(r.store); err != nil {
		return err
	}
	r.next = r.was.Wholes()
	for id, c := range s.campaigns {
		for part, isRead := range c.whole {
			if isRead {
				r.next[schema.Place{CampaignID: id, Part: part}] = s.since
			}
		}
	}
	r.reported = map[string]transform.ReportCreative{}
	for _, l := range s.reported {
		r.reported[l.CreativeID] = l
	}
	return nil
}

// stageSettings adds what this run has read to the stored history of each table, and stages the result for publication.
func stageSettings(r *session, s *settings) (part load.StagedChange, newVersions int64, err error) {
	stage := &settingsStage{session: r, part: load.NewStagedChange()}
	if err = stage.beginReadings(s); err != nil {
		return part, 0, err
	}
	for _, k := range settingsKinds {
		err = errors.Join(err, k.stage(stage, s))
	}
	if err != nil {
		return part, 0, err
	}
	rows := stage.next.Rows(r.Account, r.RunID)
	if err := load.PutTable(r.store, r.area, &stage.part, schema.Readings, rows); err != nil {
		return part, 0, err
	}
	stage.part.PutSettled(s.settledCampaigns(r.store.Account()))
	s.release()
	return stage.part, stage.versions, nil
}

// stage adds what this run has read of the kind to the stored history.
func (k *kind[R, P]) stage(r *settingsStage, s *settings) error {
	h, err := load.StoredHistory[R, P](r.store, k.table)
	if err != nil {
		return err
	}
	o := history.Observation[R]{
		Since: s.since, At: s.at, RunID: r.RunID, Seen: k.judge(r, s, h.Rows),
		Absence: func(row *R) history.Absence {
			if k.gone != nil {
				return goneIf(k.gone(r, s, row))
			}
			return goneIf(s.isGone(P(row).Place().CampaignID, P(row).FramePtr().IsDeleted))
		},
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

func (r *settingsStage) noteAdvance(t *schema.Table, st history.Stats) {
	r.Log.Debug("settings added to their history", "table", t.Name, "stats", st)
	r.versions += st.FirstSeen + st.Stubs + st.Versions + st.Deleted + st.Restored
}

// stateKind is a kind of settings without versions, for example the balance. A row is added if it differs from the
// newest stored row with the same key.
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
		latest, isStored := newest[k.key(&row)]
		if isStored { // a set-back clock must not make the new values older than the stored ones
			*k.at(&row) = max(*k.at(&row), *k.at(&latest)+1)
		}
		if !isStored || !k.same(latest, row) {
			rows = append(rows, row)
		}
	}
	return load.PutTable(r.store, r.area, &r.part, k.table, rows)
}
