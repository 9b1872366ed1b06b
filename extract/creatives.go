package extract

import (
	"context"
	"fmt"
	"iter"

	"spendsync/extract/service"
	"spendsync/schema"
)

func creativeResource(s *service.Service) resource {
	return resource{
		service: s, name: "creative", plural: "creatives", wrappers: s.Names("wrappers.creative"),
		is: byID(s, "creative"),
	}
}

// Creatives lists all creatives of a campaign, whatever their status, as
// [Client.Campaigns] lists campaigns. A campaign that the account does not have is
// [ErrNotFound].
func (c *Client) Creatives(ctx context.Context, campaignID string) (Listing, error) {
	if !IsID(campaignID) {
		return Listing{}, refuse("campaign", campaignID)
	}
	// By default the service hides archived creatives.
	l := lister{
		c: c, of: creativeResource(c.service), what: "creatives of " + campaignID,
		path: c.service.Path("creatives", campaignID), statuses: c.service.Texts("statuses.creative"),
	}
	listing, err := l.list(ctx)
	return listing, notFound(err)
}

// Creative reads one creative. One that the account does not have is [ErrNotFound].
func (c *Client) Creative(ctx context.Context, id string) (Entity, error) {
	if !IsID(id) {
		return Entity{}, refuse("creative", id)
	}
	e, err := c.entity(ctx, KindCreative, id, "creative "+id, c.service.Path("creative", id))
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

func (l *CreativeLine) place(column string) *Value {
	switch column {
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
// to another, both included, in pages of pageSize rows (0: [maxPageSize]): their
// texts, and the addresses of their images, which nothing else states. Its client is
// that of the report. The walk is proven by its end alone, with one row for each campaign and
// creative: a stated total may leave out creatives without spend, and these rows carry no numbers.
// Nothing follows an error. A page is lent until the next one is asked for, see [Page].
func (c *Client) ReportCreatives(ctx context.Context, from, to schema.Date, pageSize int) iter.Seq2[Page[CreativeLine],
	error] {
	return func(yield func(Page[CreativeLine], error) bool) {
		for refused := (refusals{}); ; {
			ask := c.ask.current()
			first := func(err error) (again bool) {
				if err == nil {
					c.ask.answered(ask)
				}
				return isTooLarge(err) && c.ask.refused(c.service, err, ask, pageSize) ||
					refused.pass(ctx, c, "creatives of the report", err)
			}
			if !c.walkCreatives(ctx, from, to, ask.size(pageSize), first, yield) {
				return
			}
		}
	}
}

// walkCreatives walks once. It reports whether first, which sees how the first page ended, wants another walk.
func (c *Client) walkCreatives(ctx context.Context, from, to schema.Date, size int, first func(error) (again bool),
	yield func(Page[CreativeLine], error) bool) (again bool) {
	q := paged[CreativeLine]{
		what: fmt.Sprintf("creatives of the report %s to %s", from, to), path: c.service.Path("report", ""),
		query: reportQuery(c.service, from, to, creativeColumns, true), size: size, service: c.service,
		decode: func(body []byte, room []CreativeLine) (pageReply[CreativeLine], error) {
			return decodeCreatives(c.service, body, room)
		},
		key: func(dst []byte, l *CreativeLine) ([]byte, error) {
			return appendKey(dst, l.CampaignID, l.CreativeID)
		},
	}
	var seen Evidence
	for page, err := range pages(ctx, c, q, nil, &seen) {
		if first != nil && first(err) {
			return true
		}
		if first = nil; !yield(page, err) || err != nil {
			return false
		}
	}
	if seen.Ended {
		seen.Total, seen.Moved = -1, ""
	}
	if err := seen.whole(q.what); err != nil {
		yield(Page[CreativeLine]{}, err)
	}
	return false
}

func decodeCreatives(s *service.Service, body []byte, room []CreativeLine) (pageReply[CreativeLine], error) {
	a, err := decodeAnswer(body, room, rowForm[CreativeLine]{s, (*CreativeLine).place})
	if err != nil {
		return a, err
	}
	return a, a.lacks(creativeColumns)
}
