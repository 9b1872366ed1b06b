package extract

import (
	"context"
	"fmt"
	"iter"

	"spendsync/schema"
)

// creativeStatuses are asked for by name: by default the service hides archived
// creatives.
func creativeStatuses() []string {
	return []string{"active", "paused", "pending_review", "rejected", "draft", "archived"}
}

func creativeResource() resource {
	return resource{
		name: "creative", plural: "creatives", wrappers: []string{"creative", "data", "item", "result", "node"},
		valid: IsCreativeID,
		is:    byID("creative", IsCreativeID),
	}
}

// Creatives lists all creatives of a campaign, whatever their status, as
// [Client.Campaigns] lists campaigns. A campaign that the account does not have is
// [ErrNotFound].
func (c *Client) Creatives(ctx context.Context, campaignID string) (Listing, error) {
	if !IsCampaignID(campaignID) {
		return Listing{}, refuse("campaign", campaignID)
	}
	l := lister{
		c: c, of: creativeResource(), what: "creatives of " + campaignID, path: campaignsPath + "/" + campaignID +
			"/creatives",
		statuses: creativeStatuses(), prefix: campaignID + "-",
	}
	listing, err := l.list(ctx)
	return listing, notFound(err)
}

// Creative reads one creative. One that the account does not have is [ErrNotFound].
func (c *Client) Creative(ctx context.Context, id string) (Entity, error) {
	if !IsCreativeID(id) {
		return Entity{}, refuse("creative", id)
	}
	e, err := c.entity(ctx, KindCreative, id, "creative "+id, "v1/creatives/"+id)
	return e, notFound(err)
}

// creativeColumns have no date and no source, so that there is one row for each
// campaign and creative.
var creativeColumns = []string{
	"campaign_id", "creative_id", "creative_title", "creative_message",
	"creative_image_url", "creative_icon_url", "creative_status",
}

// CreativeLine is one creative in the report, with unmodified values. It lives as long as its page.
type CreativeLine struct {
	CampaignID, CreativeID            Value
	Title, Message, ImageURL, IconURL Value
	Status                            Value
}

func (l *CreativeLine) field(name []byte) *Value {
	switch string(name) {
	case "campaign_id":
		return &l.CampaignID
	case "creative_id":
		return &l.CreativeID
	case "creative_title":
		return &l.Title
	case "creative_message":
		return &l.Message
	case "creative_image_url":
		return &l.ImageURL
	case "creative_icon_url":
		return &l.IconURL
	case "creative_status":
		return &l.Status
	}
	return nil
}

// ReportCreatives walks the creatives that the spend report knows of from one day
// to another, both included, in pages of pageSize rows (0: [MaxPageSize]): their
// texts, and the addresses of their images, which nothing else states. Its client is
// that of the report. The walk is proven as that of [Client.Spend] is, with one row
// for each campaign and creative. Nothing follows an error. A page is lent until the
// next one is asked for, see [Page].
func (c *Client) ReportCreatives(ctx context.Context, from, to schema.Date, pageSize int) iter.Seq2[Page[CreativeLine],
	error] {
	if pageSize <= 0 {
		pageSize = MaxPageSize
	}
	return pages(ctx, c, paged[CreativeLine]{
		what: fmt.Sprintf("creatives of the report %s to %s", from, to), path: reportPath,
		query: reportQuery(from, to, creativeColumns, true), size: pageSize,
		decode: decodeCreatives,
		key: func(dst []byte, l *CreativeLine) ([]byte, error) {
			return appendKey(dst, l.CampaignID, l.CreativeID)
		},
	}, nil)
}

func decodeCreatives(body []byte, room []CreativeLine) (answer[CreativeLine], error) {
	a, err := decodeAnswer(body, room, (*CreativeLine).field)
	if err != nil {
		return a, err
	}
	return a, a.lacks(creativeColumns)
}
