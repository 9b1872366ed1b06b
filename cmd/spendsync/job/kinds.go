package job

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"spendsync/extract"
	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

// campaignParts has the parts of a campaign's settings in the order of their requests. The campaign's own reply comes
// first: if the service does not find the campaign, the other parts may be skipped.
var campaignParts = []campaignPart{
	{name: campaignKind.name, ask: askCampaign, read: func(n *settingsReader, a transform.Reply) error {
		err := campaignKind.read(n, a)
		_ = deliveryKind.read(n, a) // read records the error
		return err
	}},
	{name: "creatives of", whole: schema.PartCreative, read: readListedCreative,
		ask: func(ctx context.Context, api *extract.Client, c dueCampaign) (extract.Listing, error) {
			return api.Creatives(ctx, c.ID)
		}},
	{name: ofSources, read: readSources,
		ask: func(ctx context.Context, api *extract.Client, c dueCampaign) (extract.Listing, error) {
			return single(api.Sources(ctx, c.ID))
		}},
}

// askCampaign returns the campaign's own reply. It sends a request only if the run does not have that reply yet.
func askCampaign(ctx context.Context, api *extract.Client, c dueCampaign) (extract.Listing, error) {
	if c.own != nil {
		return single(*c.own, nil)
	}
	return single(api.Campaign(ctx, c.ID))
}

var campaignKind = kind[schema.Campaign, *schema.Campaign]{
	name: "campaign", counted: "campaign", table: schema.CampaignHistory, decode: transform.Campaign,
	isListed: true, isEntity: true,
	stubs: func(r *settingsStage, s *settings) (stubs []schema.Campaign) {
		ids := map[string]bool{}
		for _, l := range s.reported {
			ids[l.CampaignID] = true
		}
		delete(ids, "")
		for _, id := range slices.Sorted(maps.Keys(ids)) {
			stubs = append(stubs, schema.Campaign{AccountID: r.Account, CampaignID: id})
		}
		return stubs
	},
	after: func(r *settingsStage, s *settings, rows []schema.Campaign) bool {
		r.findEnded(s, rows)
		return false
	},
}

// deliveryKind is the delivery status of campaigns. It is decoded from the same reply as the campaign.
var deliveryKind = kind[schema.Delivery, *schema.Delivery]{
	name: "campaign", counted: "delivery status", table: schema.DeliveryHistory, decode: transform.Delivery,
	isListed: true,
}

var creativeKind = kind[schema.Creative, *schema.Creative]{
	name: "creative", counted: "creative", table: schema.CreativeHistory, decode: transform.Creative,
	isListed: true, isEntity: true,
	gone: (*settingsStage).hasEnded,
	complete: func(r *settingsStage, seen *history.Seen[schema.Creative]) {
		l := r.reported[seen.Row.CreativeID]
		seen.Row.ImageURL, seen.Row.IconURL = l.ImageURL, l.IconURL
		if !l.ImageURL.Valid { // if the report has no address now, the stored one is kept
			seen.Unread = append(seen.Unread, "image_url")
		}
		if !l.IconURL.Valid {
			seen.Unread = append(seen.Unread, "icon_url")
		}
	},
	stubs: func(r *settingsStage, s *settings) (stubs []schema.Creative) {
		for _, l := range s.reported {
			if l.CreativeID != "" && readingsOf(s, schema.CreativeHistory)[l.CreativeID] == nil {
				stubs = append(stubs, schema.Creative{
					AccountID: r.Account, CreativeID: l.CreativeID, CampaignID: schema.Some(l.CampaignID),
					ImageURL: l.ImageURL, IconURL: l.IconURL,
				})
			}
		}
		return stubs
	},
	// A stub is the row of a creative that only the report names. Its texts come from the report and not from the
	// advertiser API, so a changed text starts no new version.
	after: func(r *settingsStage, _ *settings, rows []schema.Creative) (changed bool) {
		for i := range rows {
			row := &rows[i]
			if row.ReadState != schema.ReadStub {
				continue
			}
			l := r.reported[row.CreativeID]
			for to, from := range map[*schema.Null[string]]schema.Null[string]{
				&row.Title: l.Title, &row.Message: l.Message, &row.Status: l.Status, &row.ImageURL: l.ImageURL,
				&row.IconURL: l.IconURL,
			} {
				if from.Valid && *to != from {
					*to, changed = from, true
				}
			}
		}
		return changed
	},
}

// readListedCreative decodes a creative's entry in the list of its campaign. If the entry is short, the run requests
// the creative itself, see [settingsReader.readShortCreatives].
func readListedCreative(n *settingsReader, a transform.Reply) error {
	e := a.Own
	a.Listed = extract.Entity{} // was the campaign's
	if !transform.IsShort(n.s.Service, e) {
		return readCreative(n, a)
	}
	a.Listed, a.Own = e, extract.Entity{}
	err := readCreative(n, a)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.short[e.ID] = (openEntity{campaign: a.Campaign, lists: inShort, listed: e}); err != nil {
		delete(n.short, e.ID)
	}
	return err
}

// readCreative decodes a creative. If decoding fails, the creative is recorded with all of its fields unread: it
// exists, so it must not count as missing.
func readCreative(n *settingsReader, a transform.Reply) error {
	err := creativeKind.read(n, a)
	if id := cmp.Or(a.Own.ID, a.Listed.ID); err != nil {
		read := &reading[schema.Creative]{row: schema.Creative{AccountID: n.s.Account, CreativeID: id}}
		for _, c := range schema.CreativeHistory.Fields() {
			if c.History != schema.Refreshed { // these columns come from the report, not from this reply
				read.Unread = append(read.Unread, c.Name)
			}
		}
		n.look(creativeKind.name, id)
		n.mu.Lock()
		defer n.mu.Unlock()
		readingsOf(n.settings, schema.CreativeHistory)[id] = read // even if another list also has the creative
	}
	return err
}

// ofSources is how ops.entity_read names a campaign's source settings. They are one reply, with the source mode and the
// source rules.
const ofSources = "source settings of"

// modeKind is the source mode of a campaign. The same reply also contains the source rules, which are decoded
// separately (see [ruleKind]).
var modeKind = kind[schema.SourceMode, *schema.SourceMode]{
	name: "source settings", counted: "source settings", table: schema.SourceModeHistory,
	complete: func(_ *settingsStage, seen *history.Seen[schema.SourceMode]) {
		seen.Unread = append(seen.Unread, "bids_last_read_at")
	},
}

var balanceKind = stateKind[schema.AccountSnapshot]{
	table: schema.AccountSnapshots,
	read: func(a *accountRead) []schema.AccountSnapshot {
		if a.snapshot == nil {
			return nil
		}
		return []schema.AccountSnapshot{*a.snapshot}
	},
	key: func(*schema.AccountSnapshot) string { return "" },
	at:  func(a *schema.AccountSnapshot) *schema.Instant { return &a.SeenAt },
	same: func(x, y schema.AccountSnapshot) bool {
		x.SeenAt, x.RunID, x.Raw, y.SeenAt, y.RunID, y.Raw = 0, "", schema.Null[string]{}, 0, "", schema.Null[string]{}
		return x == y
	},
}

var limitKind = stateKind[schema.AccountLimit]{
	table: schema.AccountLimits,
	read:  func(a *accountRead) []schema.AccountLimit { return a.limits },
	key:   func(l *schema.AccountLimit) string { return l.LimitKind },
	at:    func(l *schema.AccountLimit) *schema.Instant { return &l.SeenAt },
	same: func(x, y schema.AccountLimit) bool {
		return x.Used == y.Used && x.Allowed == y.Allowed && x.ResetsAt == y.ResetsAt
	},
}
