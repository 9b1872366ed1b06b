package advertiser

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"

	"spendsync/extract/adsim/ledger"
	"spendsync/extract/adsim/market"
	"spendsync/extract/adsim/money"
	"spendsync/extract/adsim/wire"
	"spendsync/extract/adsim/world"
)

// getSources answers GET /v1/campaigns/{campaign_id}/sources.
func (s *API) getSources(c *call) wire.Reply {
	cp := shown(c.st, c.id)
	if cp == nil {
		return s.refuse(noSuch("campaign"))
	}
	now, t := c.st.SourcesNow(cp), s.World.Account.Sources
	out := sourceSettings{cp.ID, now.Mode(), t.Names(now.Allowed), t.Names(now.Blocked),
		make([]sourceBid, len(now.Bids))}
	for i, b := range now.Bids {
		out.Bids[i] = sourceBid{t.IDs[b.Source], money.Amount(b.Bid)}
	}
	return one("source_settings", out)
}

// sourceSettings is the JSON object with a campaign's source settings in a reply.
type sourceSettings struct {
	CampaignID string      `json:"campaign_id"`
	Mode       string      `json:"mode"`
	Allowed    []string    `json:"allowed_source_ids"`
	Blocked    []string    `json:"blocked_source_ids"`
	Bids       []sourceBid `json:"bid_overrides"`
}

type sourceBid struct {
	SourceID string       `json:"source_id"`
	Bid      money.Amount `json:"bid"`
}

// The limits of a request that changes a list of sources: the number of sources, and the body in bytes.
const (
	maxSources = 50
	maxBody    = 1 << 16
)

// changeSources answers POST /v1/campaigns/{campaign_id}/sources/{verb} for the verbs block, unblock, allow and
// disallow, and replies like getSources. These are the only writes of the simulator: spendsync prints such requests for
// its user to send.
func (s *API) changeSources(c *call) wire.Reply {
	var body struct {
		SourceIDs []string `json:"source_ids"`
	}
	d := json.NewDecoder(io.LimitReader(c.body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		return s.refuse(invalid("", "%v", err))
	}
	n := len(body.SourceIDs)
	slices.Sort(body.SourceIDs)
	switch {
	case !slices.Contains(listVerbs, c.verb):
		return s.APIError(http.StatusNotFound, "There is no such path.")
	case !c.key.canWrite:
		return s.APIError(http.StatusForbidden, "The API key is read-only.")
	case n == 0 || n > maxSources || len(slices.Compact(body.SourceIDs)) < n:
		return s.refuse(invalid("source_ids", "expected 1 to %d sources, each once", maxSources))
	}
	st, err := s.World.Edit(func(e *world.Editor) error {
		cp := shown(e.St, c.id)
		switch {
		case cp == nil:
			return noSuch("campaign")
		case e.St.CampaignNow(cp).Status == "archived":
			return conflict("Campaign %s is archived, which is permanent.", c.id)
		case ledger.Or(e.Next.Campaign(c.id).AllowList, cp.AllowList) != ofAllowList(c.verb):
			return conflict("Campaign %s has the other kind of list.", c.id)
		}
		if err := changeList(e, cp, c.verb, body.SourceIDs); err != nil {
			return err
		}
		if c.verb == "disallow" && len(e.St.AllowedNow(cp)) == 0 {
			return conflict("The last allowed source of campaign %s can't be removed.", c.id)
		}
		return nil
	})
	if err != nil {
		return s.refuse(err)
	}
	c.st = &st
	return s.getSources(c)
}

// listVerbs are the verbs that change a list of sources.
var listVerbs = []string{"block", "unblock", "allow", "disallow"}

func ofAllowList(verb string) bool { return verb == "allow" || verb == "disallow" }

// changeList changes the block list or the allow list of a campaign. The verb determines which list, and whether the
// sources are added or removed.
func changeList(e *world.Editor, cp *market.Campaign, verb string, ids []string) error {
	on := verb == "block" || verb == "allow"
	changes := e.OfCampaign(cp.ID)
	now, into := e.St.BlockedNow(cp), &changes.Blocked
	if ofAllowList(verb) {
		now, into = e.St.AllowedNow(cp), &changes.Allowed
	}
	for _, id := range ids {
		src, exists := e.Account.Sources.Index(id)
		if !exists {
			return invalid("source_ids", "there is no source %s", id)
		}
		if _, listed := slices.BinarySearch(now, src); listed != on {
			setIn(into, src, on)
		}
	}
	return nil
}

// setIn sets an entry of a map that may be nil.
func setIn[V any](m *map[int32]V, key int32, v V) {
	if *m == nil {
		*m = map[int32]V{}
	}
	(*m)[key] = v
}
