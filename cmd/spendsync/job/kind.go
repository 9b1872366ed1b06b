package job

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// settingsKind is a kind of settings. Its stage method adds the run's readings to the stored history.
type settingsKind interface {
	stage(r *settingsStage, s *settings) error
}

// settingsKinds are all kinds of settings in the order in which they are staged. Campaigns come first: creatives and
// source rules end with their campaign.
var settingsKinds = []settingsKind{&campaignKind, &deliveryKind, &creativeKind, ruleKind{}, &modeKind, balanceKind,
	limitKind}

// campaignPart is the part of a campaign that one request, or one list, returns.
type campaignPart struct {
	name string // in ops.entity_read
	ask  func(ctx context.Context, api *extract.Client, c dueCampaign) (extract.Listing, error)
	// read decodes one of the entities received. It records its own errors.
	read func(n *settingsReader, a transform.Reply) error
	// whole names the part of the campaign that a complete reply confirms in the table of readings. If whole is empty,
	// the function read or the history records the confirmation.
	whole string
}

// one turns a function that requests one entity into a function that requests a list.
func one(ask func(*extract.Client, context.Context, string) (extract.Entity, error)) func(context.Context,
	*extract.Client, dueCampaign) (extract.Listing, error) {
	return func(ctx context.Context, api *extract.Client, c dueCampaign) (extract.Listing, error) {
		e, err := ask(api, ctx, c.ID)
		return extract.Listing{Entities: []extract.Entity{e}, Complete: true}, err
	}
}

// kind is a kind of settings with versions: how its entities are decoded and judged, and when they end.
type kind[R any, P placed[R]] struct {
	name    string // names its entities in ops.entity_read and ops.unknown_field
	counted string // names its entities in findings, for example "3 campaigns"
	table   schema.TableOf[R]
	decode  func(transform.Reply, transform.SettingsContext) (R, transform.Decoded, error)

	isListed bool // the key's list of campaigns also contains values of this kind
	isEntity bool // the entities are campaigns or creatives, whose missing fields are judged
	// gone reports whether an entity that was not read is deleted; nil: the entity ends with its campaign.
	gone func(*settingsStage, *settings, *R) bool
	// complete adds values of other replies to a row; may be nil.
	complete func(*settingsStage, *history.Seen[R])
	stubs    func(*settingsStage, *settings) []R // returns the entities that only the report names; nil: none
	// after receives all versions of the kind before they are stored. It reports whether it changed columns whose
	// changes make no version. after may be nil.
	after func(*settingsStage, *settings, []R) bool
}

// placed is a type constraint: a pointer to a row of a table of versions. Place returns the part of the settings, for
// example a campaign's list of creatives, whose reading confirms the version.
type placed[R any] interface {
	history.Versioned[R]
	Place() schema.Place
}

// idOf returns the ID of the creative or source in a row; if the row has neither, the ID of the campaign.
func (k *kind[R, P]) idOf(row *R) string {
	place := P(row).Place()
	return cmp.Or(place.EntityID, place.CampaignID)
}

// reading is what a run has read of one entity.
type reading[R any] struct {
	row R
	transform.Decoded
	isOwn bool // from the entity's own reply, which omits nothing; the list of campaigns may omit fields
}

// read decodes a reply and records the result.
func (k *kind[R, P]) read(n *settingsReader, a transform.Reply) error {
	if a.Own.Raw == nil && !k.isListed {
		return nil // the failed request is recorded already
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

// record adds a reading, and reports whether it is the entity's first reading in this run.
func (k *kind[R, P]) record(n *settingsReader, id string, read *reading[R]) (isFirst bool) {
	n.look(k.name, id)
	n.mu.Lock()
	defer n.mu.Unlock()
	readings := readingsOf(n.settings, k.table)
	if readings[id] != nil {
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
	was, next history.Readings // the table of readings before and after this run
	part      load.StagedChange
	reported  map[string]transform.ReportCreative // the report's creatives, by ID
}

// beginReadings starts the new table of readings with the parts that this run has read in full.
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

// stageSettings turns the replies into observations, advances each table's history by the observations, and stages the
// result.
func stageSettings(r *session, s *settings) (part load.StagedChange, newVersions int64, err error) {
	stage := &settingsStage{session: r, part: load.NewStagedChange()}
	err = stage.stage(s)
	return stage.part, stage.versions, err
}

func (r *settingsStage) stage(s *settings) error {
	if err := r.beginReadings(s); err != nil {
		return err
	}
	var errs []error
	for _, k := range settingsKinds {
		errs = append(errs, k.stage(r, s))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	rows := r.next.Rows(r.Account, r.RunID)
	if err := load.PutTable(r.store, r.area, &r.part, schema.Readings, rows); err != nil {
		return err
	}
	r.part.PutSettled(s.settledCampaigns(r.store.Account()))
	s.release()
	return nil
}

// stage advances the stored history of the kind by this run's readings.
func (k *kind[R, P]) stage(r *settingsStage, s *settings) error {
	h, err := load.StoredHistory[R, P](r.store, k.table)
	if err != nil {
		return err
	}
	o := history.Observation[R]{
		Since: s.since, At: s.at, RunID: r.RunID, Seen: k.judge(r, s, h.Rows),
		Absence:   func(row *R) history.Absence { return goneIf(k.isGone(r, s, row)) },
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
	r.Log.Debug("settings added to their history", "table", t.Name, "first_seen", st.FirstSeen, "stubs", st.Stubs,
		"versions", st.Versions, "deleted", st.Deleted, "restored", st.Restored, "filled", st.Filled,
		"confirmed", st.Confirmed, "unread", st.Unread, "missing", st.Missing)
	r.versions += st.FirstSeen + st.Stubs + st.Versions + st.Deleted + st.Restored
}

// isGone reports whether an entity that was not read is deleted.
func (k *kind[R, P]) isGone(r *settingsStage, s *settings, row *R) bool {
	if k.gone != nil {
		return k.gone(r, s, row)
	}
	return s.isGone(P(row).Place().CampaignID, P(row).FramePtr().IsDeleted)
}

// seenOf converts a reading for [history.Advance].
func (k *kind[R, P]) seenOf(r *settingsStage, read *reading[R]) history.Seen[R] {
	seen := history.Seen[R]{Row: read.row}
	for _, c := range k.table.Fields() { // the reply may also have unread columns of other tables
		if slices.Contains(read.Unread, c.Name) {
			seen.Unread = append(seen.Unread, c.Name)
		}
	}
	if k.complete != nil {
		k.complete(r, &seen)
	}
	return seen
}

// stateKind is a kind of settings without versions: a new row is added if it differs from the newest stored row of its
// key.
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
		if isStored { // the values just read are newer, even if the clock was set back
			*k.at(&row) = max(*k.at(&row), *k.at(&latest)+1)
		}
		if !isStored || !k.same(latest, row) {
			rows = append(rows, row)
		}
	}
	return load.PutTable(r.store, r.area, &r.part, k.table, rows)
}
