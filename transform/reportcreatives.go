package transform

import (
	"spendsync/extract"
	"spendsync/schema"
)

// ReportCreative is what the report knows of a creative and the advertiser API
// does not tell: the addresses of its images, and that it exists.
type ReportCreative struct {
	CampaignID, CreativeID string // the creative's is empty where the report names none
	ImageURL, IconURL      schema.Null[string]
}

// ReportCreatives takes them from one page of the report. It is pure.
func ReportCreatives(p extract.Page[extract.CreativeLine]) ([]ReportCreative, error) {
	lines := make([]ReportCreative, len(p.Items))
	intern := NewInterner()
	for i := range p.Items {
		from, to := &p.Items[i], &lines[i]
		refuse := func(column string, v extract.Value, err error) error {
			e := refused(column, v, err)
			e.Table, e.Page, e.Row = schema.CreativeHistory.Name, p.Number, i+1
			return e
		}
		var err error
		if to.CampaignID, err = intern.id(from.CampaignID); err == nil && to.CampaignID == "" {
			err = ErrMissing
		}
		if err != nil {
			return nil, refuse("campaign_id", from.CampaignID, err)
		}
		if to.CreativeID, err = intern.id(from.CreativeID); err != nil {
			return nil, refuse("creative_id", from.CreativeID, err)
		}
		if to.ImageURL, err = address(intern, from.ImageURL); err != nil {
			return nil, refuse("creative_image_url", from.ImageURL, err)
		}
		if to.IconURL, err = address(intern, from.IconURL); err != nil {
			return nil, refuse("creative_icon_url", from.IconURL, err)
		}
	}
	return lines, nil
}

// address is a text; one that is absent, null or empty is none.
func address(intern *Interner, v extract.Value) (schema.Null[string], error) {
	s, err := intern.text(v)
	if err != nil || s == "" {
		return schema.Null[string]{}, err
	}
	return schema.Some(s), nil
}
