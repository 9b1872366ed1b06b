package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// An entity ends by its own 404 or 410; its absence from a list only makes a run ask for it. Archived is permanent: a
// run asks for no archived entity that a list lacks, except in full. An entity that spends today, on a later day than
// the one it was last seen on, has not ended.

// openEntity is the stored state of an entity that has not ended.
type openEntity struct {
	campaign  string // that a creative belongs to
	confirmed schema.Instant
}

// openEntities returns the stored entities of a table that have not ended, by ID. Those that
// only the report knows are left out: no listing has ever shown them.
func openEntities[R any, P history.Versioned[R]](
	s *load.Store, t schema.TableOf[R], of func(*R) (id, campaign string),
) (map[string]openEntity, error) {
	h, err := load.StoredHistory[R, P](s, t)
	if err != nil {
		return nil, err
	}
	keyText, found := history.KeyTextOf(t), map[string]openEntity{}
	for i := range h.Rows {
		row := &h.Rows[i]
		f := P(row).FramePtr()
		if !f.IsCurrent || f.IsDeleted || f.ReadState == schema.ReadStub {
			continue
		}
		id, campaign := of(row)
		found[id] = openEntity{campaign, h.Confirmations.Confirmed(keyText(row))}
	}
	return found, nil
}

// askForMissing asks one by one for entities that a list lacks, those confirmed longest ago first: as many as the run
// may send requests in a minute. It hands over those that answer; one that answers 404 or 410 is not there.
func (n *settingsReader) askForMissing(
	ctx context.Context, list, what string, all map[string]*readEntity, missing map[string]openEntity,
	read func(context.Context, string) (extract.Entity, error), answered func(extract.Entity, string),
) {
	ids := slices.SortedFunc(maps.Keys(missing), func(a, b string) int {
		return cmp.Or(cmp.Compare(missing[a].confirmed, missing[b].confirmed), cmp.Compare(a, b))
	})
	asked := min(len(ids), max(0, n.s.RequestsPerMinute-n.asked))
	n.asked += asked
	entities, errs := make([]extract.Entity, asked), make([]error, asked)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(settingsReaders)
	for i, id := range ids[:asked] {
		g.Go(func() error {
			entities[i], errs[i] = read(gctx, id)
			if errors.Is(errs[i], extract.ErrAuth) {
				return errs[i] // so it will be for the others
			}
			return nil
		})
	}
	_ = g.Wait() // every answer has its error
	var alive []string
	for i, id := range ids[:asked] {
		switch err := errs[i]; {
		case err == nil:
			answered(entities[i], id)
			if !transform.Archived(n.s.Service, entities[i]) {
				alive = append(alive, id)
			}
		case errors.Is(err, extract.ErrNotFound):
			entityOf(all, id).notThere = schema.Some(missing[id].confirmed)
		case ctx.Err() == nil:
			n.fail(what, id, "failed", err)
		}
	}
	if len(alive) > 0 {
		n.fail("listing", list, "incomplete", fmt.Errorf(
			"the listing lacks %s, which the service has: asked for one by one, it answers; its history stays open",
			someOf(what, alive)))
	}
	if left := len(ids) - asked; left > 0 {
		n.fail("listing", list, "incomplete", fmt.Errorf(
			"the listing lacks %s more, which this run did not ask for one by one: it may send %d such requests; "+
				"the next runs ask, and until then none of them counts as deleted",
			phrase.Count(left, what), n.s.RequestsPerMinute))
	}
}

// unlistedCampaigns returns the stored campaigns that a complete listing lacks and that may have changed.
func (n *settingsReader) unlistedCampaigns() (missing map[string]openEntity, err error) {
	if !n.read.listing.Complete {
		return nil, nil
	}
	missing, err = openEntities(n.s.store, schema.CampaignHistory, func(c *schema.Campaign) (id, campaign string) {
		return c.CampaignID, c.CampaignID
	})
	for _, e := range n.read.listing.Entities {
		delete(missing, e.ID)
	}
	for _, id := range n.before {
		if _, is := missing[id]; is && !n.s.Full {
			delete(missing, id)
			entityOf(n.read.campaigns, id).isSettled = true
		}
	}
	return missing, err
}

// askForCampaigns asks for the campaigns that the listing lacks. It returns those that answer
// and have to be read like listed ones.
func (n *settingsReader) askForCampaigns(ctx context.Context, missing map[string]openEntity) (due []found) {
	n.askForMissing(ctx, "campaigns", "campaign", n.read.campaigns, missing, n.s.API.Campaign,
		func(e extract.Entity, id string) { due = append(due, found{id, e}) })
	return due
}

// readUnlistedCreatives asks for the stored creatives that the complete listing of their campaign lacks.
func (n *settingsReader) readUnlistedCreatives(ctx context.Context) {
	archived := map[string]bool{}
	missing, err := openEntities(n.s.store, schema.CreativeHistory, func(c *schema.Creative) (id, campaign string) {
		archived[c.CreativeID] = c.Status == schema.Some("archived") && !n.s.Full
		return c.CreativeID, c.CampaignID.V
	})
	if err != nil {
		n.fail("listing", "creatives", "failed", err)
		return
	}
	maps.DeleteFunc(missing, func(id string, e openEntity) bool {
		c := n.read.campaigns[e.campaign]
		return archived[id] || n.read.creatives[id] != nil || c == nil || !c.allCreatives
	})
	n.askForMissing(ctx, "creatives", "creative", n.read.creatives, missing, n.s.API.Creative,
		func(e extract.Entity, id string) {
			entityOf(n.read.creatives, id).isSingle = true
			campaign := missing[id].campaign
			_, _ = n.takeCreative(n.readCreative(e, campaign), campaign) // an error is noted
		})
}

// confirmRules reads the source settings again that lack stored rules: a rule ends when two readings in a row lack it.
// If the two differ, the rules of both stand, and the next run reads them again.
func (n *settingsReader) confirmRules(ctx context.Context) {
	sources := n.sourcesRead()
	lacking, err := n.lackingRules(sources)
	if err != nil {
		n.fail("source settings", "rules", "failed", err)
		for _, s := range sources {
			s.kinds = nil
		}
		return
	}
	for _, campaign := range lacking {
		s := sources[campaign]
		e, err := n.s.API.Sources(ctx, campaign)
		var again transform.SourceRead
		if err == nil {
			again, err = transform.Sources(e, campaign, n.context())
		}
		if err != nil {
			s.kinds = nil
			n.fail("sources of", campaign, "incomplete", fmt.Errorf(
				"some of the stored rules are missing, and none of them counts as ended: %w", err))
		}
		if second := rulesIn(again); !slices.Equal(s.rules, second) {
			s.rules = unionOf(s.rules, second)
			n.read.campaigns[campaign].isSettled = false
		}
	}
}

// sourcesRead returns the source settings that this run has read, by campaign.
func (n *settingsReader) sourcesRead() map[string]*readSources {
	read := map[string]*readSources{}
	for id, c := range n.read.campaigns {
		if c.sources != nil {
			read[id] = c.sources
		}
	}
	return read
}

// unionOf returns the rules that either of two readings has, those of the second as it has them.
func unionOf(first, second []sourceRule) []sourceRule {
	all := slices.Clone(second)
	has := map[[2]string]bool{}
	for _, r := range second {
		has[[2]string{r.rule, r.source}] = true
	}
	for _, r := range first {
		if !has[[2]string{r.rule, r.source}] {
			all = append(all, r)
		}
	}
	return all
}

// lackingRules returns the campaigns of some whose source settings lack stored rules of a kind that was read.
func (n *settingsReader) lackingRules(of map[string]*readSources) (campaigns []string, err error) {
	if len(of) == 0 {
		return nil, nil
	}
	now := map[[3]string]bool{}
	for campaign, s := range of {
		for _, r := range s.rules {
			now[[3]string{campaign, r.rule, r.source}] = true
		}
	}
	stored, err := load.StoredGroups(n.s.store, schema.SourceRuleHistory)
	if err != nil || stored.Stored == nil {
		return nil, err
	}
	for rows, err := range stored.Stored {
		if err != nil {
			return nil, err
		}
		for i := range rows {
			r := &rows[i]
			isRead := of[r.CampaignID] != nil && of[r.CampaignID].kinds[r.Rule]
			if r.IsCurrent && !r.IsDeleted && isRead && !now[[3]string{r.CampaignID, r.Rule, r.SourceID}] {
				campaigns = append(campaigns, strings.Clone(r.CampaignID))
			}
		}
	}
	return slices.Compact(campaigns), nil
}
