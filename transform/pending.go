package transform

import "spendsync/schema"

// pendingVersion reads the edited version of a running creative, which replaces the original once the edit is approved.
// If the reply has no object with that version, all its columns are NULL; the raw column has whatever the service sent.
func (r reader) pendingVersion(row *schema.Creative) {
	v, _ := r.value(r.names("pending")...)
	fields, ok := v.Object()
	if !ok {
		return
	}
	p := r.inside("pending", fields)
	row.PendingStatus = read(p, optional, p.status, "pending_status", "status")
	row.PendingTitle = read(p, optional, p.filled, "pending_title", "title")
	row.PendingMessage = read(p, optional, p.filled, "pending_message", "message")
	row.PendingLink = read(p, optional, p.linkOf("pending_link"), "pending_link", "link")
	row.PendingImageID = read(p, optional, p.imageIDOf("pending_image_id"), "pending_image_id", "image_id")
	row.PendingIconID = read(p, optional, p.imageIDOf("pending_icon_id"), "pending_icon_id", "icon_id")
	row.PendingButton1 = read(p, optional, p.filled, "pending_button1", "button1")
	row.PendingButton2 = read(p, optional, p.filled, "pending_button2", "button2")
	row.PendingReasons = read(p, optional, p.reasons, "pending_rejection_reasons", "rejection_reasons")
	row.PendingComment = read(p, optional, p.filled, "pending_rejection_comment", "rejection_comment")
}
