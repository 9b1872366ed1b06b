package transform

import (
	"errors"
	"slices"
	"strings"

	"spendsync/extract"
	"spendsync/extract/service"
	"spendsync/schema"
)

// Creative makes a row of one creative. The addresses of its images are NULL: only the report has them (see
// [ReportCreatives]).
//
// The meaning of null, an empty text and a missing key, in the terms of [Campaign]:
//
//	field                              null     empty    missing
//	status                             unread   unread   unread: every creative has one
//	title, message, link, icon_id      unread   unread   unread; of a draft, as in the next line
//	image_id, button1, button2         NULL     Blank    Missing: optional
//	rejection_reasons and _comment     NULL     Blank    Missing: only rejected creatives have them
//
// The status is in lower case with underscores; other texts are as received. The reasons of a rejection are sorted,
// without duplicates, and comma-joined. The reply may have them as a list of texts, as a list of objects with a code,
// reason, name, message or text, or as one such text or object. Any other value is refused and its column is unread;
// the other columns are not affected. Creative returns an error if the reply has no ID, or the campaign_id of another
// campaign.
//
// If both replies have a key, a.Own counts. Without a.Own, the columns that came without a value and without a null are
// unread, because a.Listed may omit them.
func Creative(a Reply, c SettingsContext) (row schema.Creative, _ Decoded, err error) {
	r, err := newReader(c.Service, "creative", schema.CreativeHistory.Name, "creative_id", a.Own, a.Listed)
	if err != nil {
		return schema.Creative{}, Decoded{}, err
	}
	if v, ok := r.value(r.names("campaign_id")...); ok && !v.Null() {
		if campaign, isID := extract.IDOf(v); !isID || campaign != a.Campaign {
			return schema.Creative{}, Decoded{}, &FieldError{Table: r.table, ID: r.id, Column: "campaign_id",
				Value: shown(v), Err: ErrOther}
		}
	}
	status := read(r, required, r.statusOf("status",
		"active", "paused", "pending_review", "rejected", "draft", "archived"), "status")
	content := required
	if status == schema.Some("draft") {
		content = optional
	}
	row = schema.Creative{
		AccountID: c.Account, CreativeID: r.id, CampaignID: schema.Some(a.Campaign),
		Title:            read(r, content, r.filled, "title"),
		Message:          read(r, content, r.filled, "message"),
		Link:             read(r, content, r.linkOf("link"), "link"),
		ImageID:          read(r, optional, r.imageIDOf("image_id"), "image_id"),
		IconID:           read(r, content, r.imageIDOf("icon_id"), "icon_id"),
		Button1:          read(r, optional, r.filled, "button1"),
		Button2:          read(r, optional, r.filled, "button2"),
		Status:           status,
		RejectionReasons: read(r, optional, r.reasons, "rejection_reasons"),
		RejectionComment: read(r, optional, r.filled, "rejection_comment"),
		Raw:              r.raw, RunID: c.RunID,
	}
	if status.Valid && status.V != "rejected" {
		// Only rejected creatives have reasons and a comment, so a reply about any other creative is complete without
		// them.
		r.forgetUnset("rejection_reasons", "rejection_comment")
	}
	r.pendingVersion(&row)
	if a.Own.Raw == nil {
		r.missOmitted(&row)
	}
	return row, r.Decoded, nil
}

// missOmitted marks as unread every column for which a short entry has neither a value nor a null. It leaves out the
// columns that come from the report, and the reasons and the comment of a creative that is not rejected.
func (r reader) missOmitted(row *schema.Creative) {
	isRejected := !row.Status.Valid || row.Status.V == "rejected"
	for _, c := range schema.CreativeHistory.Fields() {
		isReason := c.Name == "rejection_reasons" || c.Name == "rejection_comment"
		if c.History != schema.Refreshed && (isRejected || !isReason) && !slices.Contains(r.Null, c.Name) &&
			schema.CreativeHistory.ColumnEqual(row, new(schema.Creative), c) {
			r.miss(c.Name)
		}
	}
}

// IsShort reports whether a creative's entry in a list lacks a value that every creative has. A draft, archived or not,
// may have a null instead. The description does not show the entries of lists, so a short entry may omit any value.
func IsShort(s *service.Service, listed extract.Entity) bool {
	status := strings.ToLower(string(listedValue(s, listed, "creative.status")))
	mayBeNull := status == `"draft"` || status == `"archived"`
	return slices.ContainsFunc([]string{"status", "title", "message", "link", "icon_id"}, func(column string) bool {
		v := listedValue(s, listed, "creative."+column)
		return v == nil || v.Null() && !mayBeNull
	})
}

// reasons reads the reasons of a rejection as one comma-joined text. A reason may itself contain a comma; only the raw
// JSON keeps the reasons separate.
func (c *entityContext) reasons(v extract.Value) (string, error) {
	elements, ok := v.Array()
	if !ok {
		elements = []extract.Value{v}
	}
	list := make([]string, len(elements))
	for i, e := range elements {
		if fields, ok := e.Object(); ok {
			inner := reader{entityContext: c}.inside("creative", fields)
			if e, ok = inner.value("code", "reason", "name", "message", "text"); !ok {
				return "", unknownKeys(fields)
			}
		}
		s, err := c.text(e)
		switch {
		case e.Null() || errors.Is(err, ErrNotText):
			return "", ErrNotList
		case err != nil:
			return "", err
		}
		list[i] = s
	}
	return unlessNone(list)
}
