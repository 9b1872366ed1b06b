package transform

import "spendsync/schema"

// pendingKeys may hold the version of a running creative that waits for its review.
var pendingKeys = []string{"pending_version", "version_in_review", "pending_changes", "pending_update", "new_version",
	"pending"}

// pendingVersion reads the version of a running creative that was edited: the original runs until the new one is
// approved. If there is none, or it is not an object, all its columns are NULL; the raw column has the service's
// value.
func (r reader) pendingVersion(row *schema.Creative) {
	v, _ := r.value("", pendingKeys...)
	fields, ok := v.Fields()
	if !ok {
		return
	}
	p := r.inside(fields)
	row.PendingStatus = read(p, optional, p.status, "pending_status", "status", "review_status", "state")
	row.PendingTitle = read(p, optional, p.filled, "pending_title", "title")
	row.PendingMessage = read(p, optional, p.filled, "pending_message", "message")
	row.PendingLink = read(p, optional, p.linkOf("pending_link"), "pending_link", "link")
	row.PendingImageID = read(p, optional, p.imageIDOf("pending_image_id"), "pending_image_id", "image_id", "image")
	row.PendingIconID = read(p, optional, p.imageIDOf("pending_icon_id"), "pending_icon_id", "icon_id", "icon")
	row.PendingButton1 = read(p, optional, p.label, "pending_button1", "button1")
	row.PendingButton2 = read(p, optional, p.label, "pending_button2", "button2")
	row.PendingReasons = read(p, optional, p.reasons, "pending_rejection_reasons", "rejection_reasons")
	row.PendingComment = read(p, optional, p.label, "pending_rejection_comment", "rejection_comment")
}
