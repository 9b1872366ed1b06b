package transform

import (
	"slices"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/schema"
)

// ReportCreative is what the report knows of a creative: the addresses of its
// images, which the advertiser API does not state, and for a creative that the API
// does not list, all that there is to know.
type ReportCreative struct {
	CampaignID, CreativeID string // each empty where the report names none
	CampaignName           string // empty: none
	Title, Message, Status schema.Null[string]
	ImageURL, IconURL      schema.Null[string]
}

// ReportCreatives takes them from one page of the report. A line whose ids cannot be read
// is left out and named; a text refuses nothing. It is pure; the lines share nothing with
// the page.
func ReportCreatives(s *service.Service, p extract.Page[extract.CreativeLine]) (
	lines []ReportCreative, left []RefusedRow,
) {
	lines = make([]ReportCreative, 0, len(p.Items))
	intern := NewInterner()
	for i := range p.Items {
		from := &p.Items[i]
		refuse := func(e *RowError) {
			e.Table, e.Page, e.Row = schema.CreativeHistory.Name, p.Number, i+1
			left = append(left, RefusedRow{RowError: *e})
		}
		if _, odd := slices.BinarySearch(p.NotObjects, i+1); odd {
			refuse(&RowError{Err: ErrNotObject})
			continue
		}
		campaign, err := intern.id(from.CampaignID)
		if err != nil {
			refuse(refused("campaign_id", from.CampaignID, err))
			continue
		}
		creative, err := intern.id(from.CreativeID)
		if err != nil {
			refuse(refused("creative_id", from.CreativeID, err))
			continue
		}
		lines = append(lines, ReportCreative{
			CampaignID: campaign, CreativeID: creative, CampaignName: filled(intern, from.CampaignName).V,
			Title: filled(intern, from.Title), Message: filled(intern, from.Message),
			Status:   filled(intern, from.Status),
			ImageURL: filled(intern, from.ImageURL), IconURL: filled(intern, from.IconURL),
		})
	}
	addJSON(s, left, p.Raw)
	return lines, left
}

// filled is a text; one that is absent, null, empty or no text is none.
func filled(intern *Interner, v extract.Value) schema.Null[string] {
	s, _ := intern.text(v)
	return schema.Null[string]{V: s, Valid: s != ""}
}
