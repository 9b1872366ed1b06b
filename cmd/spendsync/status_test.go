package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"spendsync/schema"
)

// TestStatus_NamesUnreadSettings: which of them, and since when, in Chicago's time.
func TestStatus_NamesUnreadSettings(t *testing.T) {
	at := time.Date(2026, 11, 29, 13, 38, 22, 0, time.UTC)
	field := schema.EntityRead{EntityType: "creative", EntityID: "C1-7", Field: "icon_id"}
	field.FirstSeenAt = schema.InstantOf(at)
	var out bytes.Buffer
	c := &statusCommand{call: &call{now: func() time.Time { return at.Add(time.Hour) }}}
	c.print(&out, &storeStatus{Accounts: []accountStatus{{Account: "acme",
		Unread: []schema.EntityRead{field, field, field, field, field}}}})
	if n := strings.Count(out.String(), "creative C1-7 icon_id, since 2026-11-29 07:38:"); n != maxUnread ||
		!strings.Contains(out.String(), "2 more: FROM ops.entity_read") {
		t.Errorf("%d lines of unread settings:\n%s", n, out.String())
	}
}
