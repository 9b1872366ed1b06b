package transform

import (
	"errors"

	"spendsync/extract"
	"spendsync/schema"
)

// Creative makes a row of a creative of a campaign. The addresses of its images
// are NULL: only the report tells them (see [ReportCreatives]).
//
// What null and a missing key mean, as for [Campaign]:
//
//	field                              null   missing
//	status                             NULL   unread: every creative has one
//	title, message, link, icon_id      NULL   NULL for a draft, which may lack them; else unread
//	image_id, button1, button2         NULL   NULL: optional
//	rejection_reasons and _comment     NULL   NULL: only rejected creatives have them
//
// The status is in lower case; texts are as they were sent. The reasons of a
// rejection are sorted, each once, and comma-joined; they may be texts, objects
// with a code, reason, name, message or text, or one text. A campaign_id has to be
// the campaign's.
func Creative(e extract.Entity, campaignID string, c SettingsContext) (row schema.Creative, unread []string, err error) {
	r, err := newReader(schema.CreativeHistory.Name, "creative_id", e)
	if err != nil {
		return schema.Creative{}, nil, err
	}
	of := read(r, optional, r.text, "campaign_id")
	if of.Valid && of.V != campaignID {
		r.refuse("campaign_id", e.Fields["campaign_id"], ErrOther)
	}
	status := read(r, needed, r.lower, "status")
	content := needed
	if status == schema.Some("draft") {
		content = optional
	}
	row = schema.Creative{
		AccountID: c.Account, CreativeID: r.id, CampaignID: schema.Some(campaignID),
		Title:            read(r, content, r.text, "title"),
		Message:          read(r, content, r.text, "message"),
		Link:             read(r, content, r.text, "link"),
		ImageID:          read(r, optional, r.text, "image_id"),
		IconID:           read(r, content, r.text, "icon_id"),
		Button1:          read(r, optional, r.text, "button1"),
		Button2:          read(r, optional, r.text, "button2"),
		Status:           status,
		RejectionReasons: unlessEmpty(read(r, optional, r.reasons, "rejection_reasons")),
		RejectionComment: read(r, optional, r.text, "rejection_comment"),
		Raw:              r.raw, RunID: c.RunID,
	}
	if r.err != nil {
		return schema.Creative{}, nil, r.err
	}
	return row, r.unread, nil
}

// reasons are texts for people, which may hold commas: the raw JSON has them apart.
func (f *findings) reasons(v extract.Value) (string, error) {
	elements, ok := v.Array()
	if !ok {
		return f.text(v)
	}
	list := make([]string, len(elements))
	for i, e := range elements {
		if fields, ok := e.Object(); ok {
			inner := reader{findings: f, from: []map[string]extract.Value{fields}}
			if e, ok = inner.value("", "code", "reason", "name", "message", "text"); !ok {
				return "", unknownKeys(fields)
			}
		}
		s, err := f.text(e)
		switch {
		case e.Null() || errors.Is(err, ErrNotText):
			return "", ErrNotList
		case err != nil:
			return "", err
		}
		list[i] = s
	}
	return joined(list), nil
}
