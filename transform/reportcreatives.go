package transform

import (
	"spendsync/extract"
	"spendsync/schema"
)

// ReportCreative is what the report knows of a creative: the addresses of its
// images, which the advertiser API does not tell, and for a creative that the API
// does not list, all that there is to know.
type ReportCreative struct {
	CampaignID, CreativeID string // the creative's is empty where the report names none
	Title, Message, Status schema.Null[string]
	ImageURL, IconURL      schema.Null[string]
}

// ReportCreatives takes them from one page of the report. It is pure; the lines share
// nothing with the page.
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
		for _, f := range []struct {
			column string
			from   extract.Value
			to     *schema.Null[string]
		}{
			{"creative_title", from.Title, &to.Title}, {"creative_message", from.Message, &to.Message}, {"creative_status", from.Status, &to.Status},
			{"creative_image_url", from.ImageURL, &to.ImageURL}, {"creative_icon_url", from.IconURL, &to.IconURL},
		} {
			if *f.to, err = filled(intern, f.from); err != nil {
				return nil, refuse(f.column, f.from, err)
			}
		}
	}
	return lines, nil
}

// filled is a text; one that is absent, null or empty is none.
func filled(intern *Interner, v extract.Value) (schema.Null[string], error) {
	s, err := intern.text(v)
	if err != nil || s == "" {
		return schema.Null[string]{}, err
	}
	return schema.Some(s), nil
}
