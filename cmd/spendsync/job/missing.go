package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"spendsync/cmd/spendsync/phrase"
	"spendsync/extract"
	"spendsync/load"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// An entity ends only on two kinds of evidence: complete listings that lack it, and the service's own answer to a
// request for this entity. An entity that is still found lives on, whatever the listings contain, and so does one
// whose spend the report shows later (see livesByReport).

// standing is the stored state of an entity that has not ended.
type standing struct {
	campaign  string // that a creative belongs to
	archived  bool
	confirmed schema.Instant
}

// standingOf returns the stored entities of a table that have not ended, by ID. Those that
// only the report knows are left out: no listing has ever shown them.
func standingOf[R any, P history.Versioned[R]](
	s *load.Store, t schema.TableOf[R], of func(*R) (id string, e standing),
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
		id, e := of(row)
		e.confirmed = h.Confirmations.Confirmed(keyText(row))
		found[id] = e
	}
	return found, nil
}

// lostMany reports whether the reply lacks so many known entities that the reply itself is suspect: more than half of
// them, and more than one.
func lostMany(missing, known int) bool { return missing > 1 && 2*missing > known }

// archivedEvery is how often an archived entity that no listing shows is asked for. Archived
// is permanent, and some services leave archived entities out of their lists.
const archivedEvery = 24 * time.Hour

// toAsk returns which of the missing entities the run asks for one by one, those confirmed
// longest ago first, and how many more should be asked for. Every run asks for as many as
// it may send requests in a minute.
func (n *settingsReader) toAsk(missing map[string]standing) (ids []string, left int) {
	now := n.run.Now()
	for id, e := range missing {
		if !e.archived || now.Sub(e.confirmed.Time()) >= archivedEvery {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		x, y := missing[a], missing[b]
		if x.archived != y.archived {
			if x.archived {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(x.confirmed, y.confirmed), cmp.Compare(a, b))
	})
	asked := min(len(ids), max(0, n.run.RequestsPerMinute-n.asked))
	n.asked += asked
	for _, id := range ids[asked:] {
		if !missing[id].archived {
			left++
		}
	}
	return ids[:asked], left
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

// unlistedCampaigns returns the stored campaigns that a complete listing lacks. A listing
// that lacks most of them proves nothing: it counts as incomplete.
func (n *settingsReader) unlistedCampaigns() (missing map[string]standing, err error) {
	l := &n.read.listing
	if !l.Complete {
		return nil, nil
	}
	known, err := standingOf(n.run.store, schema.CampaignHistory, func(c *schema.Campaign) (string, standing) {
		return c.CampaignID, standing{archived: c.Status == schema.Some("archived")}
	})
	if err != nil {
		return nil, err
	}
	missing = maps.Clone(known)
	for _, e := range l.Entities {
		delete(missing, e.ID)
	}
	switch {
	case len(l.Entities) == 0: // the service has no way to delete a campaign
		if ever := n.stored; len(ever) > 0 { // judge adds those of the report
			l.Complete = false
			l.Why = fmt.Sprintf("the listing of campaigns is empty, and %s are known; none of them counts as deleted",
				phrase.Count(len(ever), "campaign"))
		}
	case lostMany(len(missing), len(known)) && !n.run.Full:
		l.Complete = false
		l.Why = fmt.Sprintf("the listing of campaigns lacks %d of the %s that are stored; none of them counts as "+
			"deleted; if they are gone, 'spendsync sync --full' lets those end for which the service answers 404",
			len(missing), phrase.Count(len(known), "campaign"))
	}
	return missing, nil
}

// askForCampaigns asks for the campaigns that the listing lacks. It returns those that answer
// and have to be read like listed ones.
func (n *settingsReader) askForCampaigns(ctx context.Context, missing map[string]standing) (due []found) {
	ids, left := n.toAsk(missing)
	var alive []string
	for _, a := range n.ask(ctx, ids, n.run.API.Campaign) {
		_, settled := slices.BinarySearch(n.before, a.id)
		switch {
		case a.err == nil:
			if !transform.Archived(n.run.Service, a.entity) {
				alive = append(alive, a.id)
			} else if settled && !n.run.Full {
				n.keepUnlisted(a)
				_, _, _ = n.takeCampaign(extract.Entity{}, a.entity, nil) // an error is noted
				continue                                                  // it stays settled
			}
			due = append(due, a)
		case errors.Is(a.err, extract.ErrNotFound):
			n.keepUnlisted(a)
			n.read.gone[a.id] = missing[a.id].confirmed
		case ctx.Err() == nil:
			n.fail("campaign", a.id, "failed", a.err)
		}
		delete(missing, a.id)
	}
	for id := range missing { // those that were not asked for, or are archived still
		if _, settled := slices.BinarySearch(n.before, id); settled {
			n.read.settled = append(n.read.settled, id)
		}
	}
	n.saysMissing("campaigns", "campaign", alive, left)
	return due
}

// keepUnlisted keeps the service's reply about a campaign that the listing lacks. The null of the listing keeps a
// replay from mistaking an older entry of the listing for the current one.
func (n *settingsReader) keepUnlisted(a found) {
	n.keep(listedCampaign, a.id, []byte("null"))
	if a.err != nil {
		n.keep(extract.KindCampaign, a.id, []byte("null"))
		return
	}
	n.keep(extract.KindCampaign, a.id, a.entity.Raw)
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

// readUnlistedCreatives asks for the stored creatives that the complete listing of their
// campaign lacks. A listing that lacks most of them proves nothing.
func (n *settingsReader) readUnlistedCreatives(ctx context.Context) {
	if len(n.read.allListed) == 0 {
		return
	}
	known, err := standingOf(n.run.store, schema.CreativeHistory, func(c *schema.Creative) (string, standing) {
		return c.CreativeID, standing{campaign: c.CampaignID.V, archived: c.Status == schema.Some("archived")}
	})
	if err != nil {
		n.fail("listing", "creatives", "failed", err)
		clear(n.read.allListed)
		return
	}
	missing := maps.Clone(known)
	for i := range n.read.creatives {
		delete(missing, n.read.creatives[i].Row.CreativeID)
	}
	counts := map[string][2]int{} // by campaign: missing and known
	maps.DeleteFunc(missing, func(id string, e standing) bool { return !n.read.allListed[e.campaign] })
	total := [2]int{len(missing), 0}
	for id, e := range known {
		if !n.read.allListed[e.campaign] {
			continue
		}
		total[1]++
		c := counts[e.campaign]
		c[1]++
		if _, is := missing[id]; is {
			c[0]++
		}
		counts[e.campaign] = c
	}
	ofAll := lostMany(total[0], total[1])
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		c := counts[id]
		if c[0] > 0 && (ofAll || lostMany(c[0], c[1])) && !n.run.Full {
			delete(n.read.allListed, id)
			n.fail("creatives of", id, "incomplete", fmt.Errorf(
				"the listing lacks %d of the %s that are stored; none of them counts as deleted; if they are gone, "+
					"'spendsync sync --full' lets those end for which the service answers 404",
				c[0], phrase.Count(c[1], "creative")))
		}
	}
	ids, left := n.toAsk(missing)
	var alive []string
	for _, a := range n.ask(ctx, ids, n.run.API.Creative) {
		switch {
		case a.err == nil:
			n.read.alone[a.id] = true
			creative := n.readCreative(a.entity, missing[a.id].campaign)
			_, _ = n.takeCreative(creative, missing[a.id].campaign) // an error is noted
			if !transform.Archived(n.run.Service, a.entity) {
				alive = append(alive, a.id)
			}
		case errors.Is(a.err, extract.ErrNotFound):
			n.keepCreative(extract.Entity{ID: a.id, Raw: []byte("null")}, missing[a.id].campaign)
			n.read.gone[a.id] = missing[a.id].confirmed
		case ctx.Err() == nil:
			n.fail("creative", a.id, "failed", a.err)
		}
	}
	n.saysMissing("creatives", "creative", alive, left)
}
