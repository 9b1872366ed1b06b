package extract

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"spendsync/schema"
)

// Creatives lists all creatives of a campaign, whatever their status, as [Client.Campaigns] lists campaigns. The error
// is [ErrNotFound] if the account does not have the campaign.
func (c *Client) Creatives(ctx context.Context, campaignID string) (Listing, error) {
	if !IsID(campaignID) {
		return Listing{}, refuse("campaign", campaignID)
	}
	// By default the service hides archived creatives.
	l := lister{
		c: c, resource: byID(c.service, KindCreative, ""), what: "creatives of " + campaignID, about: ofEntity,
		path: c.service.Path("creatives", campaignID), statuses: c.service.Names("statuses.creative"),
	}
	return l.list(ctx)
}

// Creative reads one creative. The error is [ErrNotFound] if the account does not have it.
func (c *Client) Creative(ctx context.Context, id string) (Entity, error) {
	return entity(ctx, c, KindCreative, "creative", id)
}

// creativeColumns leave out the date and the source, so the report has one row for each creative, or several if the
// name of its campaign changed.
var creativeColumns = schema.ReportNames(schema.IsOfCreative)

// CreativeLine is one creative in the report, with unmodified values. It is valid as long as its page.
type CreativeLine struct {
	CampaignID, CreativeID            Value
	CampaignName                      Value
	Title, Message, ImageURL, IconURL Value
	Status                            Value
}

func (l *CreativeLine) place(column string) *Value {
	switch column {
	case "campaign_id":
		return &l.CampaignID
	case "creative_id":
		return &l.CreativeID
	case "campaign_name":
		return &l.CampaignName
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

// ReportCreatives walks the creatives in the spend report from one day to another, both included, in pages of pageSize
// rows (0: [maxPageSize]). A row has the creative's texts, its campaign's name, and the addresses of its images. No
// other reply contains these addresses. The client must be the client of the report. A stated total may omit creatives
// without spend, so the number of rows is not compared with the total; only contradictions between the pages are
// errors. Nothing follows an error. A page is valid until the next page is requested, see [Page].
func (c *Client) ReportCreatives(ctx context.Context, from, to schema.Date, pageSize int) iter.Seq2[Page[CreativeLine],
	error] {
	q := paged[CreativeLine]{
		what: fmt.Sprintf("creatives of the report %s to %s", from, to), path: c.service.Path("report", ""),
		query: reportQuery(c.service, from, to, creativeColumns, true), size: cmp.Or(max(0, pageSize), maxPageSize),
		service: c.service,
		decode: func(body []byte, room []CreativeLine) (pageReply[CreativeLine], error) {
			a, err := decodeAnswer(body, room, rowForm[CreativeLine]{c.service, (*CreativeLine).place})
			if err != nil {
				return a, err
			}
			return a, a.lacks(creativeColumns)
		},
	}
	return func(yield func(Page[CreativeLine], error) bool) {
		var seen Evidence
		for page, err := range pages(ctx, c, q, &seen) {
			if !yield(page, err) || err != nil {
				return
			}
		}
		if seen.Against != "" {
			yield(Page[CreativeLine]{}, &UnprovenError{What: q.what, Reason: seen.Against})
		}
	}
}
