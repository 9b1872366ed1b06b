package job

import (
	"errors"
	"runtime/debug"
	"slices"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/load/settingslog"
	"spendsync/schema"
	"spendsync/transform"
)

// listedCampaign is a campaign in a reply of the listing.
const listedCampaign = "campaign in the listing"

// settingsReplay reads the kept replies of the settings again, in their order, and repairs the tables with the fields
// that it understands.
type settingsReplay struct {
	c         transform.SettingsContext
	campaigns *history.Replay[schema.Campaign, *schema.Campaign]
	delivery  *history.Replay[schema.Delivery, *schema.Delivery]
	creatives *history.Replay[schema.Creative, *schema.Creative]
	modes     *history.Replay[schema.SourceMode, *schema.SourceMode]
	rules     *history.Replay[schema.SourceRule, *schema.SourceRule]
	money     accountReplay
	bids      map[string]schema.Instant // when bids per source were last understood, by campaign

	listed, detailed map[string]extract.Entity // the newest of each campaign
}

// replaySettings reads the kept settings again: the JSON of the current versions, for columns that could never be
// read, and then every kept reply.
func (m *offlineRun) replaySettings() error {
	// All versions of the settings are in memory at once, and to collect garbage more often takes little.
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	r := &settingsReplay{
		c:      transform.SettingsContext{Account: m.Account, RunID: m.RunID, Service: m.Service},
		bids:   map[string]schema.Instant{},
		listed: map[string]extract.Entity{}, detailed: map[string]extract.Entity{},
	}
	var err error
	r.money, err = storedMoney(m.store)
	err = errors.Join(err,
		beginRepair(m, schema.CampaignHistory, &r.campaigns, func(c *schema.Campaign) error {
			// Nobody knows whether it is the JSON of the single read, which leaves out nothing.
			return r.campaign(reread(r.c.Service, extract.KindCampaign, c.CampaignID, c.Raw.V), extract.Entity{}, 0, 0)
		}),
		beginRepair(m, schema.DeliveryHistory, &r.delivery, nil),
		beginRepair(m, schema.CreativeHistory, &r.creatives, func(c *schema.Creative) error {
			return r.creative(reread(r.c.Service, extract.KindCreative, c.CreativeID, c.Raw.V), c.CampaignID.V, 0, 0)
		}),
		beginRepair(m, schema.SourceRuleHistory, &r.rules, nil),
		beginRepair(m, schema.SourceModeHistory, &r.modes, func(s *schema.SourceMode) error {
			return r.mode(s.CampaignID, reread(r.c.Service, extract.KindSources, s.CampaignID, s.Raw.V), 0, 0)
		}))
	if err != nil {
		return err
	}
	for reading, err := range m.store.KeptReplies() {
		if err == nil {
			err = r.reading(reading)
		}
		if err != nil {
			return err
		}
	}
	return r.stage(m)
}

// beginRepair prepares the repair of a table, with the JSON of its current rows.
func beginRepair[R any, P history.Versioned[R]](
	m *offlineRun, t schema.TableOf[R], to **history.Replay[R, P], reread func(*R) error,
) error {
	h, err := load.StoredHistory[R, P](m.store, t)
	if err == nil {
		*to, err = history.NewReplay[R, P](t, h, m.RunID)
	}
	raw := t.ColumnsNamed("raw")
	for i := range h.Rows {
		if err != nil {
			break
		}
		if row := &h.Rows[i]; reread != nil && P(row).FramePtr().IsCurrent && !t.ColumnEqual(row, new(R), raw[0]) {
			err = reread(row)
		}
	}
	return err
}

// reread is an entity in a kept reply; the zero Entity where it is not understood.
func reread(s *service.Service, kind, id, reply string) extract.Entity {
	e, _ := extract.ParseEntity(s, kind, id, []byte(reply))
	return e
}

// reading applies the replies of one run.
func (r *settingsReplay) reading(kept []settingslog.Reply) error {
	touched := map[string]schema.Instant{} // campaigns, and when the first reply about them came
	var errs []error
	for _, k := range kept {
		var err error
		switch k.Kind {
		case listedCampaign, extract.KindCampaign:
			to := r.detailed
			if k.Kind == listedCampaign {
				to = r.listed
			}
			to[k.ID] = reread(r.c.Service, extract.KindCampaign, k.ID, k.Reply)
			if touched[k.ID] == 0 {
				touched[k.ID] = k.At
			}
		case extract.KindCreative:
			err = r.creative(reread(r.c.Service, k.Kind, k.ID, k.Reply), k.Of, k.At, k.Seen)
		case extract.KindSources, "source settings of":
			err = r.sources(k)
		default:
			r.money.reply(r.c.Service, k)
		}
		errs = append(errs, err)
	}
	for id, at := range touched {
		errs = append(errs, r.campaign(r.listed[id], r.detailed[id], at, kept[0].Seen))
	}
	r.money.reread(r.c)
	return errors.Join(errs...)
}

func (r *settingsReplay) campaign(listed, detail extract.Entity, at, seen schema.Instant) error {
	row, reading, err := transform.Campaign(listed, detail, r.c)
	if err != nil {
		return nil // as when it came
	}
	err = see(r.campaigns, row, reading, nil, at, seen)
	delivery, reading, deliveryErr := transform.Delivery(listed, detail, r.c)
	if deliveryErr != nil || at == 0 {
		return err
	}
	return errors.Join(err, see(r.delivery, delivery, reading, nil, at, seen))
}

func (r *settingsReplay) creative(e extract.Entity, campaign string, at, seen schema.Instant) error {
	row, reading, err := transform.Creative(e, campaign, r.c)
	if err != nil {
		return nil
	}
	return see(r.creatives, row, reading, imageURLs, at, seen)
}

func (r *settingsReplay) mode(campaign string, e extract.Entity, at, seen schema.Instant) error {
	read, err := transform.Sources(e, campaign, r.c)
	if err != nil {
		return nil
	}
	read.Unread = slices.DeleteFunc(read.Unread, func(column string) bool { return column != "source_mode" })
	return see(r.modes, read.Mode, read.Decoded, []string{"bids_last_read_at"}, at, seen)
}

// sources processes source settings: the mode, and the rules of the kinds that are understood.
func (r *settingsReplay) sources(k settingslog.Reply) error {
	e := reread(r.c.Service, extract.KindSources, k.ID, k.Reply)
	read, err := transform.Sources(e, k.ID, r.c)
	if err != nil {
		return nil
	}
	is := map[string]bool{
		schema.RuleBlocked: read.BlockedRead, schema.RuleAllowed: read.AllowedRead, schema.RuleBid: read.BidsRead,
		schema.RuleOptimized: read.OptimizedRead,
	}
	there := map[[2]string]bool{}
	err = r.mode(k.ID, e, k.At, k.Seen)
	for _, rule := range read.Rules {
		there[[2]string{rule.Rule, rule.SourceID}] = true
		err = errors.Join(err, see(r.rules, rule, transform.Decoded{}, nil, k.At, k.Seen))
	}
	r.rules.Gone(k.ID, k.At, k.Seen, func(rule *schema.SourceRule) bool {
		return is[rule.Rule] && !there[[2]string{rule.Rule, rule.SourceID}]
	})
	if read.BidsRead {
		r.bids[k.ID] = k.At
	}
	return err
}

// see processes a row of a kept reply, except for columns that the reply lacks. A missing or damaged field never
// removes a known value: the run that read it has already decided whether it was unset.
func see[R any, P history.Versioned[R]](
	m *history.Replay[R, P], row R, reading transform.Decoded, but []string, at, seen schema.Instant,
) error {
	if known := m.Current(&row); known != nil {
		reading.Unread = slices.Concat(reading.Unread, reading.Missing, reading.Blank)
		for _, text := range reading.Texts {
			reading.Unread = append(reading.Unread, text.Column)
		}
		slices.Sort(reading.Unread)
		reading.Unread = slices.Compact(reading.Unread)
	}
	return m.See(history.Seen[R]{Row: row, Unread: slices.Concat(reading.Unread, but)}, at, seen)
}

// stage stages the tables that are repaired.
func (r *settingsReplay) stage(m *offlineRun) error {
	err := errors.Join(
		putRepaired(m, schema.CampaignHistory, r.campaigns), putRepaired(m, schema.DeliveryHistory, r.delivery),
		putRepaired(m, schema.CreativeHistory, r.creatives), putRepaired(m, schema.SourceRuleHistory, r.rules),
		putRepaired(m, schema.SourceModeHistory, r.modes))
	if err != nil {
		return err
	}
	read, moved := m.store.BidsRead(), false
	for campaign, at := range r.bids {
		if at > read.Confirmed(campaign) {
			read, moved = read.With(campaign, at), true
		}
	}
	if moved {
		m.staged.PutBidsRead(read)
	}
	filled, err := r.money.stage(m.staged)
	m.filled += filled
	return err
}

func putRepaired[R any, P history.Versioned[R]](m *offlineRun, t schema.TableOf[R], by *history.Replay[R, P]) error {
	next, repaired, err := by.Versions()
	if err != nil || repaired == 0 {
		return err
	}
	m.filled += repaired
	return load.PutHistory[R, P](m.staged, t, next)
}
