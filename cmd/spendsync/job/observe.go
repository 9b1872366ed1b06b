package job

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/schema"
	"spendsync/transform"
)

// settingsStage stages the settings.
type settingsStage struct {
	*session
	spent    []string        // campaigns and creatives that spend today; nil: as stored
	ended    map[string]bool // campaigns whose creatives and rules end with them; set by parentsEnded
	versions int64           // that are new
	part     load.Part
}

// stageSettings turns the replies into observations, advances each table's history by them, and stages the result.
// spent are the campaigns and creatives that spend today; nil: the stored rows of today have them.
func (r *session) stageSettings(s *settings, spent []string) (part load.Part, newVersions int64, err error) {
	stage := &settingsStage{session: r, spent: spent, part: load.NewPart()}
	err = stage.stage(s)
	return stage.part, stage.versions, err
}

func (r *settingsStage) stage(s *settings) error {
	r.followStored(s)
	modes, err := load.StoredHistory(r.store, schema.SourceModeHistory)
	if err != nil {
		return err
	}
	if err = r.livesByReport(s); err != nil {
		return err
	}
	err = errors.Join(
		advance(r, s, schema.CampaignHistory, s.observeCampaigns(r.Account), settingsTable[schema.Campaign]{
			kind: "campaign", read: s.campaigns, id: func(c *schema.Campaign) string { return c.CampaignID },
			amend: func(rows []schema.Campaign) bool { return r.parentsEnded(s, rows) },
			raw:   func(c *schema.Campaign) schema.Null[string] { return c.Raw },
			skip:  func(c *schema.Campaign) bool { return !isSingle(s.campaigns, c.CampaignID) },
		}),
		advance(r, s, schema.DeliveryHistory, s.observeDelivery(), settingsTable[schema.Delivery]{}),
		advance(r, s, schema.CreativeHistory, r.observeCreatives(s), settingsTable[schema.Creative]{
			kind: "creative", read: s.creatives, id: func(c *schema.Creative) string { return c.CreativeID },
			amend: func(rows []schema.Creative) bool { return describeStubs(rows, s.reported) },
			raw:   func(c *schema.Creative) schema.Null[string] { return c.Raw },
			// A single read may contain more than the list; that is not a change.
			skip: func(c *schema.Creative) bool { return isSingle(s.creatives, c.CreativeID) },
		}),
		r.advanceRules(s),
		advance(r, s, schema.SourceModeHistory, s.observeModes(), settingsTable[schema.SourceMode]{
			kind: "source settings", raw: func(m *schema.SourceMode) schema.Null[string] { return m.Raw },
			odd: func(m *schema.SourceMode) bool { return s.campaigns[m.CampaignID].sources.isOdd },
		}),
	)
	if err == nil && s.money != nil {
		err = s.money.stage(r.store, r.area, &r.part)
	}
	if err != nil {
		return err
	}
	r.part.Confirmations[load.BidsRead] = s.nextBidsRead(r.store.Account().Confirmations[load.BidsRead], modes.Rows)
	r.part.PutSettled(s.settledCampaigns(r.store.Account(), r.Version))
	s.release()
	return nil
}

// followStored dates the settings after the stored ones if the run's clock is behind the clock of an earlier run by
// no more than clocks may differ: the order of the runs is known, the exact difference is not.
func (r *settingsStage) followStored(s *settings) {
	var stored schema.Instant
	for _, m := range r.store.Account().Confirmations {
		stored = max(stored, m.ObservedAt)
	}
	behind := stored.Time().Sub(s.at.Time())
	if behind <= 0 || behind > MaxClockOff {
		return // in order, or refused
	}
	r.Log.Warn("the stored settings are newer than the clock that this run follows; it counts as the later one",
		"stored", stored.String(), "read", s.at.String())
	s.at = stored + 1
}

// goneIf returns the meaning of an entity's absence: deleted, or unknown.
func goneIf(is bool) history.Absence {
	if is {
		return history.Gone
	}
	return history.Unknown
}

// unlisted returns what the absence of a campaign means. It is deleted if a complete listing lacks it and the service
// answers 404 for it. Once it has ended, the listing alone confirms the deletion.
func (s *settings) unlisted(campaign string, f *schema.Frame) history.Absence {
	return goneIf(s.isUnlisted(campaign) && (f.IsDeleted || s.campaigns[campaign].isNotThere()))
}

// isUnlisted reports whether the complete listing lacks a campaign.
func (s *settings) isUnlisted(campaign string) bool {
	c := s.campaigns[campaign]
	return s.listing.Complete && (c == nil || !c.isListed)
}

// isNotThere reports whether the service answers 404 or 410 for an entity, which may be none that was asked for.
func (e *readEntity) isNotThere() bool { return e != nil && e.notThere.Valid }

// parentsEnded finds the campaigns whose creatives and rules of sources end with them. It changes no row.
func (r *settingsStage) parentsEnded(s *settings, campaigns []schema.Campaign) (changed bool) {
	r.ended = map[string]bool{}
	for i := range campaigns {
		c := &campaigns[i]
		r.ended[c.CampaignID] = c.IsCurrent && c.IsDeleted && s.isUnlisted(c.CampaignID)
	}
	return false
}

func (s *settings) observeCampaigns(account string) history.Observation[schema.Campaign] {
	var stubs []schema.Campaign
	named := map[string]bool{}
	for _, l := range s.reported {
		if l.CampaignID != "" && !named[l.CampaignID] {
			named[l.CampaignID] = true
			stubs = append(stubs, schema.Campaign{AccountID: account, CampaignID: l.CampaignID})
		}
	}
	return history.Observation[schema.Campaign]{
		Seen: s.campaignRows(), Stubs: stubs,
		Absence: func(r *schema.Campaign) history.Absence { return s.unlisted(r.CampaignID, &r.Frame) },
	}
}

func (s *settings) observeDelivery() history.Observation[schema.Delivery] {
	return history.Observation[schema.Delivery]{
		Seen:    s.deliveryRows(),
		Absence: func(r *schema.Delivery) history.Absence { return s.unlisted(r.CampaignID, &r.Frame) },
	}
}

// observeCreatives adds the addresses of their images to the creatives that were read,
// and stubs of those that only the report names.
func (r *settingsStage) observeCreatives(s *settings) history.Observation[schema.Creative] {
	o := history.Observation[schema.Creative]{Seen: s.creativeRows()}
	reported := map[string]*transform.ReportCreative{}
	for i := range s.reported {
		reported[s.reported[i].CreativeID] = &s.reported[i]
	}
	for i := range o.Seen {
		c := &o.Seen[i]
		if l := reported[c.Row.CreativeID]; l != nil {
			// A report that has no address now takes none away.
			c.Row.ImageURL, c.Row.IconURL = l.ImageURL, l.IconURL
			c.Unread = slices.DeleteFunc(slices.Clone(c.Unread), func(name string) bool {
				return (name == "image_url" && l.ImageURL.Valid) || (name == "icon_url" && l.IconURL.Valid)
			})
		}
	}
	for _, l := range s.reported {
		if e := s.creatives[l.CreativeID]; l.CreativeID != "" && (e == nil || e.creative == nil) {
			o.Stubs = append(o.Stubs, schema.Creative{
				AccountID: r.Account, CreativeID: l.CreativeID, CampaignID: schema.Some(l.CampaignID),
				ImageURL: l.ImageURL, IconURL: l.IconURL,
			})
		}
	}
	o.Absence = func(c *schema.Creative) history.Absence { return goneIf(r.hasEnded(s, c)) }
	return o
}

// hasEnded reports whether a creative that was not read has ended: its campaign has, or the complete list of its
// campaign lacks it, and the service answers 404 or 410 for it or did so before.
func (r *settingsStage) hasEnded(s *settings, c *schema.Creative) bool {
	id := c.CampaignID.V
	switch campaign := s.campaigns[id]; {
	case !c.CampaignID.Valid:
		return false
	case r.ended[id], s.unlisted(id, new(schema.Frame)) == history.Gone:
		return true
	default:
		return campaign != nil && campaign.allCreatives && (c.IsDeleted || s.creatives[c.CreativeID].isNotThere())
	}
}

// advanceRules adds the rules of sources to their history, campaign by campaign: there may be
// hundreds of thousands. Whether something has changed is found first.
func (r *settingsStage) advanceRules(s *settings) error {
	t := schema.SourceRuleHistory
	h, err := load.StoredGroups(r.store, t)
	if err != nil {
		return err
	}
	o := history.Observation[schema.SourceRule]{
		Since: s.since, At: s.at, RunID: r.RunID, Patience: t.Patience,
		Absence: func(rule *schema.SourceRule) history.Absence {
			return goneIf(s.isRead(rule.CampaignID, rule.Rule) || r.ended[rule.CampaignID])
		},
	}
	var seen []history.SeenGroup[schema.SourceRule]
	for _, campaign := range slices.Sorted(maps.Keys(s.campaigns)) {
		if s.campaigns[campaign].sources == nil {
			continue
		}
		rows := func() []history.Seen[schema.SourceRule] { return s.rowsOfRules(r.Account, campaign) }
		seen = append(seen, history.SeenGroup[schema.SourceRule]{Name: campaign, Seen: rows})
	}
	memory, st, err := history.AdvanceGroups(t, t.Tracked(), h, o, seen, nil)
	if err == nil && !st.Changed {
		err = load.PutConfirmations(r.store, r.area, &r.part, t, memory)
	} else if err == nil {
		err = load.PutGroups(r.store, r.area, &r.part, t, func(yield func([]schema.SourceRule, error) bool) {
			stopped := errors.New("nothing more is asked for")
			memory, st, err = history.AdvanceGroups(t, t.Tracked(), h, o, seen, func(rows []schema.SourceRule) error {
				if !yield(rows, nil) {
					return stopped
				}
				return nil
			})
			if err != nil && !errors.Is(err, stopped) {
				yield(nil, err)
			}
		}, &memory)
	}
	if err == nil {
		r.noteAdvance(t.Table, st)
	}
	return err
}

// rowsOfRules returns the observed rules of a campaign, in the order of their history.
func (s *settings) rowsOfRules(account, campaign string) []history.Seen[schema.SourceRule] {
	rules := s.campaigns[campaign].sources.rules
	slices.SortFunc(rules, func(a, b sourceRule) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.rule, b.rule))
	})
	seen := make([]history.Seen[schema.SourceRule], len(rules))
	for i, r := range rules {
		seen[i].Row = schema.SourceRule{AccountID: account, CampaignID: campaign, SourceID: r.source, Rule: r.rule,
			Bid: r.bid}
	}
	return seen
}

func (s *settings) observeModes() history.Observation[schema.SourceMode] {
	return history.Observation[schema.SourceMode]{
		Seen:    s.modeRows(),
		Absence: func(r *schema.SourceMode) history.Absence { return s.unlisted(r.CampaignID, &r.Frame) },
	}
}

// advance adds an observation to one table's history, as the table declares it, and stages
// the result.
func advance[R any, P history.Versioned[R]](
	r *settingsStage, s *settings, t schema.TableOf[R], o history.Observation[R],
	by settingsTable[R],
) error {
	h, err := load.StoredHistory[R, P](r.store, t)
	if err != nil {
		return err
	}
	if by.id != nil {
		o.Seen = append(o.Seen, returned[R, P](r, t, s, by.id, h.Rows, o.Seen)...)
	}
	if by.raw != nil {
		o.Seen = slices.Clone(o.Seen)
		counted := r.store.Account().ExtraKeys[t.Name]
		keys, found := compareExtra[R, P](t, by, s.readKeys[by.kind], h.Rows, o.Seen, counted)
		if by.id != nil {
			judgeUnset[R, P](r.session, s, t, by, h.Rows, o.Seen)
		}
		r.part.ExtraKeys[t.Name] = keys
		s.undescribed = append(s.undescribed, r.undescribed(by.kind, s.at, found)...)
	}
	o.Since, o.At, o.RunID = s.since, s.at, r.RunID
	o.Patience, o.Refreshed = t.Patience, t.ColumnsThatAre(schema.Refreshed)
	next, st, err := history.Advance[R, P](t, t.Tracked(), h, o)
	if err != nil {
		return err
	}
	r.noteAdvance(t.Table, st)
	if by.amend != nil {
		st.Changed = by.amend(next.Rows) || st.Changed
	}
	if !st.Changed {
		return load.PutConfirmations(r.store, r.area, &r.part, t, next.Confirmations)
	}
	return load.PutHistory[R, P](r.store, r.area, &r.part, t, next)
}

func (r *settingsStage) noteAdvance(t *schema.Table, st history.Stats) {
	r.Log.Debug("settings added to their history", "table", t.Name, "first_seen", st.FirstSeen, "stubs", st.Stubs,
		"versions", st.Versions, "deleted", st.Deleted, "restored", st.Restored, "filled", st.Filled,
		"confirmed", st.Confirmed, "unread", st.Unread, "missing", st.Missing)
	r.versions += st.FirstSeen + st.Stubs + st.Versions + st.Deleted + st.Restored
}

// describeStubs adds the report's texts to creatives that only the report knows, and reports whether some are new.
// They are not a read of the creative, so they make no version either.
func describeStubs(rows []schema.Creative, reported []transform.ReportCreative) (changed bool) {
	lines := map[string]*transform.ReportCreative{}
	for i := range reported {
		lines[reported[i].CreativeID] = &reported[i]
	}
	for i := range rows {
		r := &rows[i]
		l := lines[r.CreativeID]
		if l == nil || r.ReadState != schema.ReadStub {
			continue
		}
		for to, from := range map[*schema.Null[string]]schema.Null[string]{
			&r.Title: l.Title, &r.Message: l.Message, &r.Status: l.Status, &r.ImageURL: l.ImageURL,
			&r.IconURL: l.IconURL,
		} {
			if from.Valid && *to != from {
				*to, changed = from, true
			}
		}
	}
	return changed
}

// nextBidsRead is when each campaign's bids could last be read, given when that was
// before this run and which campaigns' source settings are stored.
func (s *settings) nextBidsRead(was history.Confirmations, stored []schema.SourceMode) history.Confirmations {
	known := map[string]bool{}
	for _, m := range stored {
		known[m.CampaignID] = true
	}
	last := func(id string) schema.Instant { // 0 is never
		if !known[id] {
			return 0
		}
		return was.Confirmed(id)
	}
	next := history.Confirmations{ConfirmedAt: s.at, Exceptions: map[string]schema.Instant{}}
	all := maps.Clone(known)
	for id, c := range s.campaigns {
		if c.sources != nil {
			all[id] = true
		}
	}
	for id := range all { // those that were not read in this run keep the time that they had
		if !s.isRead(id, schema.RuleBid) {
			next.Exceptions[id] = last(id)
		}
	}
	next.SharedCount = int64(len(all) - len(next.Exceptions))
	return next
}

// settledCampaigns returns the archived campaigns that need not be read again: known ones that are still archived, and
// those read now. unclear are those with something that was not understood, each with the version of spendsync that
// read it.
func (s *settings) settledCampaigns(known *manifest.Account, version string) (ids []string, unclear map[string]string) {
	for id, c := range s.campaigns {
		if c.isSettled {
			ids = append(ids, id)
		}
	}
	if !s.listing.Complete {
		// What is not listed is not known to be otherwise.
		ids = slices.Concat(ids, known.SettledFor(version))
	}
	for _, id := range ids {
		by, was := known.SettledUnclear[id]
		if c := s.campaigns[id]; c != nil && c.isSettled && c.isRead {
			by, was = version, c.isUnclear
		}
		if was {
			if unclear == nil {
				unclear = map[string]string{}
			}
			unclear[id] = by
		}
	}
	return ids, unclear
}

// livesByReport revokes the end of entities that spend today, on a later day than the one they were last seen on.
func (r *settingsStage) livesByReport(s *settings) error {
	if !s.lacksSome() {
		return nil
	}
	if r.spent == nil {
		for rows, err := range r.store.StoredDay(r.plan.Today) {
			if err != nil {
				return err
			}
			for i := range rows {
				if rows[i].Spend > 0 {
					r.spent = append(r.spent, strings.Clone(rows[i].CampaignID), strings.Clone(rows[i].CreativeID))
				}
			}
		}
	}
	var alive []string
	for id, e := range s.entities() {
		if e.notThere.Valid && slices.Contains(r.spent, id) && schema.DateOf(e.notThere.V.Time()) < r.plan.Today {
			e.notThere.Valid = false
			alive = append(alive, id)
		}
	}
	s.saysSpent(alive)
	return nil
}

// saysSpent notes what the listing lacks and the service answers 404 for, while the report
// shows spend of it.
func (s *settings) saysSpent(alive []string) {
	if len(alive) == 0 {
		return
	}
	s.findings = append(s.findings, finding{what: "settings", err: fmt.Errorf(
		"the service answers 404 for %s, and its report shows later spend; its history stays open",
		someOf("campaign or creative", alive))})
}

// returned returns the ended entities of a table that spend today, on a day after their end: they are back, although
// nothing of them can be read.
func returned[R any, P history.Versioned[R]](
	r *settingsStage, t schema.TableOf[R], s *settings, id func(*R) string, rows []R, seen []history.Seen[R],
) (back []history.Seen[R]) {
	spends, read := map[string]bool{}, map[string]bool{}
	for _, id := range r.spent {
		spends[id] = true
	}
	for i := range seen {
		read[id(&seen[i].Row)] = true
	}
	var alive []string
	for i := range rows {
		f := P(&rows[i]).FramePtr()
		if f.IsCurrent && f.IsDeleted && !read[id(&rows[i])] && spends[id(&rows[i])] &&
			schema.DateOf(f.ValidFrom.Time()) < r.plan.Today {
			back = append(back, history.Seen[R]{Row: rows[i], Unread: t.FieldNames()})
			alive = append(alive, id(&rows[i]))
		}
	}
	s.saysSpent(alive)
	return back
}
