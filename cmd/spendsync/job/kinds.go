package job

import (
	"maps"
	"slices"
	"strings"

	"spendsync/load/history"
	"spendsync/schema"
	"spendsync/transform"
)

var campaignKind = kind[schema.Campaign, *schema.Campaign]{
	name: "campaign", counted: "campaign", table: schema.CampaignHistory,
	expected: schema.CampaignHistory.TrackedNames(),
	id:       func(c *schema.Campaign) string { return c.CampaignID },
	raw:      func(c *schema.Campaign) schema.Null[string] { return c.Raw },
	decode:   transform.Campaign,
	read:     func(s *settings) map[string]*reading[schema.Campaign] { return s.rows.campaigns },
	isEntity: true,
	gone: func(_ *settingsStage, s *settings, c *schema.Campaign) bool {
		return s.isGone(c.CampaignID, c.IsDeleted)
	},
	stubs: func(r *settingsStage, s *settings) (stubs []schema.Campaign) {
		ids := map[string]bool{}
		for _, l := range s.reported {
			ids[l.CampaignID] = l.CampaignID != ""
		}
		for _, id := range slices.Sorted(maps.Keys(ids)) {
			if ids[id] {
				stubs = append(stubs, schema.Campaign{AccountID: r.Account, CampaignID: id})
			}
		}
		return stubs
	},
	after: func(r *settingsStage, s *settings, rows []schema.Campaign) bool {
		r.findEnded(s, rows)
		return false
	},
}

// deliveryKind is the delivery status of a campaign, which comes with its other settings.
var deliveryKind = kind[schema.Delivery, *schema.Delivery]{
	name: "campaign", counted: "delivery status", table: schema.DeliveryHistory,
	expected: []string{"delivery_status"},
	id:       func(d *schema.Delivery) string { return d.CampaignID },
	decode:   transform.Delivery,
	read:     func(s *settings) map[string]*reading[schema.Delivery] { return s.rows.delivery },
	gone: func(_ *settingsStage, s *settings, d *schema.Delivery) bool {
		return s.isGone(d.CampaignID, d.IsDeleted)
	},
}

var creativeKind = kind[schema.Creative, *schema.Creative]{
	name: "creative", counted: "creative", table: schema.CreativeHistory,
	// The report has the addresses of its images, its campaign is the one whose list it is in, and another version in
	// review has only one that was edited while it ran.
	expected: slices.DeleteFunc(schema.CreativeHistory.TrackedNames(), func(name string) bool {
		return strings.HasPrefix(name, "pending_")
	}),
	id:       func(c *schema.Creative) string { return c.CreativeID },
	raw:      func(c *schema.Creative) schema.Null[string] { return c.Raw },
	decode:   transform.Creative,
	read:     func(s *settings) map[string]*reading[schema.Creative] { return s.rows.creatives },
	isEntity: true,
	gone:     (*settingsStage).hasEnded,
	seen: func(s *settings, read *reading[schema.Creative]) history.Seen[schema.Creative] {
		c := history.Seen[schema.Creative]{Row: read.row, Unread: slices.Clone(read.Unread)}
		l := s.reportedCreative(read.row.CreativeID)
		c.Row.ImageURL, c.Row.IconURL = l.ImageURL, l.IconURL
		if !l.ImageURL.Valid { // a report that has no address now takes none away
			c.Unread = append(c.Unread, "image_url")
		}
		if !l.IconURL.Valid {
			c.Unread = append(c.Unread, "icon_url")
		}
		return c
	},
	stubs: func(r *settingsStage, s *settings) (stubs []schema.Creative) {
		for _, l := range s.reported {
			if l.CreativeID != "" && s.rows.creatives[l.CreativeID] == nil {
				stubs = append(stubs, schema.Creative{
					AccountID: r.Account, CreativeID: l.CreativeID, CampaignID: schema.Some(l.CampaignID),
					ImageURL: l.ImageURL, IconURL: l.IconURL,
				})
			}
		}
		return stubs
	},
	// The report's texts of a stub are not a read of the creative, so they make no version.
	after: func(_ *settingsStage, s *settings, rows []schema.Creative) (changed bool) {
		for i := range rows {
			r := &rows[i]
			if r.ReadState != schema.ReadStub {
				continue
			}
			l := s.reportedCreative(r.CreativeID)
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
	},
}

// modeKind is how a campaign chooses its sources. Its reply has the rules, too: see [ruleKind].
var modeKind = kind[schema.SourceMode, *schema.SourceMode]{
	name: "source settings", counted: "source settings", table: schema.SourceModeHistory,
	expected: []string{"source_mode", "blocked", "allowed", "bid_overrides"},
	id:       func(m *schema.SourceMode) string { return m.CampaignID },
	raw:      func(m *schema.SourceMode) schema.Null[string] { return m.Raw },
	read:     func(s *settings) map[string]*reading[schema.SourceMode] { return s.rows.modes },
	gone: func(_ *settingsStage, s *settings, m *schema.SourceMode) bool {
		return s.isGone(m.CampaignID, m.IsDeleted)
	},
	seen: func(_ *settings, read *reading[schema.SourceMode]) history.Seen[schema.SourceMode] {
		m := history.Seen[schema.SourceMode]{Row: read.row, Unread: []string{"bids_last_read_at"}}
		if slices.Contains(read.Unread, "source_mode") {
			m.Unread = append(m.Unread, "source_mode")
		}
		return m
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
