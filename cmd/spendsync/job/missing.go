package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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

// standing is the stored state of an entity that has not ended.
type standing struct {
	campaign  string // that a creative belongs to
	confirmed schema.Instant
}

// standingOf returns the stored entities of a table that have not ended, by ID. Those that
// only the report knows are left out: no listing has ever shown them.
func standingOf[R any, P history.Versioned[R]](
	s *load.Store, t schema.TableOf[R], of func(*R) (id, campaign string),
) (map[string]standing, error) {
	h, err := load.StoredHistory[R, P](s, t)
	if err != nil {
		return nil, err
	}
	keyText, found := history.KeyTextOf(t), map[string]standing{}
	for i := range h.Rows {
		row := &h.Rows[i]
		f := P(row).FramePtr()
		if !f.IsCurrent || f.IsDeleted || f.ReadState == schema.ReadStub {
			continue
		}
		id, campaign := of(row)
		found[id] = standing{campaign, h.Confirmations.Confirmed(keyText(row))}
	}
	return found, nil
}

// toAsk returns which of the missing entities the run asks for one by one, those confirmed longest ago first, and how
// many it leaves to the next runs. Every run asks for as many as it may send requests in a minute.
func (n *settingsReader) toAsk(missing map[string]standing) (ids []string, left int) {
	ids = slices.SortedFunc(maps.Keys(missing), func(a, b string) int {
		return cmp.Or(cmp.Compare(missing[a].confirmed, missing[b].confirmed), cmp.Compare(a, b))
	})
	asked := min(len(ids), max(0, n.run.RequestsPerMinute-n.asked))
	n.asked += asked
	return ids[:asked], len(ids) - asked
}

// found is how a request for one missing entity ended.
type found struct {
	id     string
	entity extract.Entity
	err    error
}

// ask asks for missing entities one by one. It ends early if the key is refused.
func (n *settingsReader) ask(
	ctx context.Context, ids []string, read func(context.Context, string) (extract.Entity, error),
) []found {
	answers := make([]found, len(ids))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(settingsReaders)
	for i, id := range ids {
		g.Go(func() error {
			e, err := read(gctx, id)
			answers[i] = found{id, e, err}
			if errors.Is(err, extract.ErrAuth) {
				return err
			}
			return nil
		})
	}
	_ = g.Wait() // every answer has its error
	return answers
}

// unlistedCampaigns returns the stored campaigns that a complete listing lacks and that may have changed.
func (n *settingsReader) unlistedCampaigns() (missing map[string]standing, err error) {
	if !n.read.listing.Complete {
		return nil, nil
	}
	missing, err = standingOf(n.run.store, schema.CampaignHistory, func(c *schema.Campaign) (id, campaign string) {
		return c.CampaignID, c.CampaignID
	})
	for _, e := range n.read.listing.Entities {
		delete(missing, e.ID)
	}
	for _, id := range n.before {
		if _, is := missing[id]; is && !n.run.Full {
			delete(missing, id)
			entityOf(n.read.campaigns, id).isSettled = true
		}
	}
	return missing, err
}

// askForCampaigns asks for the campaigns that the listing lacks. It returns those that answer
// and have to be read like listed ones.
func (n *settingsReader) askForCampaigns(ctx context.Context, missing map[string]standing) (due []found) {
	ids, left := n.toAsk(missing)
	var alive []string
	for _, a := range n.ask(ctx, ids, n.run.API.Campaign) {
		switch {
		case a.err == nil:
			due = append(due, a)
			if !transform.Archived(n.run.Service, a.entity) {
				alive = append(alive, a.id)
			}
		case errors.Is(a.err, extract.ErrNotFound):
			entityOf(n.read.campaigns, a.id).notThere = schema.Some(missing[a.id].confirmed)
		case ctx.Err() == nil:
			n.fail("campaign", a.id, "failed", a.err)
		}
	}
	n.saysMissing("campaigns", "campaign", alive, left)
	return due
}

// saysMissing records entities that a listing lacks although the service still finds them, and those that were not
// requested.
func (n *settingsReader) saysMissing(list, what string, alive []string, left int) {
	if len(alive) > 0 {
		n.fail("listing", list, "incomplete", fmt.Errorf(
			"the listing lacks %s, which the service has: asked for one by one, it answers; its history stays open",
			someOf(what, alive)))
	}
	if left > 0 {
		n.fail("listing", list, "incomplete", fmt.Errorf(
			"the listing lacks %s more, which this run did not ask for one by one: it may send %d such requests; "+
				"the next runs ask, and until then none of them counts as deleted",
			phrase.Count(left, what), n.run.RequestsPerMinute))
	}
}

// readUnlistedCreatives asks for the stored creatives that the complete listing of their campaign lacks.
func (n *settingsReader) readUnlistedCreatives(ctx context.Context) {
	archived := map[string]bool{}
	missing, err := standingOf(n.run.store, schema.CreativeHistory, func(c *schema.Creative) (id, campaign string) {
		archived[c.CreativeID] = c.Status == schema.Some("archived") && !n.run.Full
		return c.CreativeID, c.CampaignID.V
	})
	if err != nil {
		n.fail("listing", "creatives", "failed", err)
		for _, c := range n.read.campaigns {
			c.allCreatives = false
		}
		return
	}
	maps.DeleteFunc(missing, func(id string, e standing) bool {
		c := n.read.campaigns[e.campaign]
		return archived[id] || n.read.creatives[id] != nil || c == nil || !c.allCreatives
	})
	ids, left := n.toAsk(missing)
	var alive []string
	for _, a := range n.ask(ctx, ids, n.run.API.Creative) {
		switch {
		case a.err == nil:
			entityOf(n.read.creatives, a.id).isSingle = true
			creative := n.readCreative(a.entity, missing[a.id].campaign)
			_, _ = n.takeCreative(creative, missing[a.id].campaign) // an error is noted
			if !transform.Archived(n.run.Service, a.entity) {
				alive = append(alive, a.id)
			}
		case errors.Is(a.err, extract.ErrNotFound):
			entityOf(n.read.creatives, a.id).notThere = schema.Some(missing[a.id].confirmed)
		case ctx.Err() == nil:
			n.fail("creative", a.id, "failed", a.err)
		}
	}
	n.saysMissing("creatives", "creative", alive, left)
}
