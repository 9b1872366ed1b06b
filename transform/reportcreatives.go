package transform

import (
	"slices"

	"spendsync/extract"
	"spendsync/schema"
)

// ReportCreative is a creative as the report shows it. The advertiser API does not have the addresses of the images.
// For a creative that the API does not list, the report is the only source.
type ReportCreative struct {
	CampaignID, CreativeID string // empty: the report names none
	CampaignName           string // empty: none
	Title, Message, Status schema.Null[string]
	ImageURL, IconURL      schema.Null[string]
}

// ReportCreatives decodes the creatives of one page of the report. It leaves out lines that are not objects or whose
// IDs cannot be read, and returns their errors. A text is never refused. The function is pure, and the lines share no
// memory with the page.
func ReportCreatives(p extract.Page[extract.CreativeLine]) (lines []ReportCreative, left []*RowError) {
	lines = make([]ReportCreative, 0, len(p.Items))
	intern := NewInterner()
	for i := range p.Items {
		from := &p.Items[i]
		campaign, err := intern.id(from.CampaignID)
		why := refused("campaign_id", from.CampaignID, err)
		creative, creativeErr := intern.id(from.CreativeID)
		if err == nil {
			why = refused("creative_id", from.CreativeID, creativeErr)
		}
		if slices.Contains(p.NotObjects, i+1) {
			why = &RowError{Err: ErrNotObject}
		}
		if why.Err != nil {
			why.Table, why.Page, why.Row = schema.CreativeHistory.Name, p.Number, i+1
			left = append(left, why)
			continue
		}
		lines = append(lines, ReportCreative{
			CampaignID: campaign, CreativeID: creative, CampaignName: filled(intern, from.CampaignName).V,
			Title: filled(intern, from.Title), Message: filled(intern, from.Message),
			Status:   filled(intern, from.Status),
			ImageURL: filled(intern, from.ImageURL), IconURL: filled(intern, from.IconURL),
		})
	}
	return lines, left
}

// filled returns a text; NULL: it is absent, null, empty, or not a text.
func filled(intern *Interner, v extract.Value) schema.Null[string] {
	s, _ := intern.text(v)
	return schema.Null[string]{V: s, Valid: s != ""}
}
