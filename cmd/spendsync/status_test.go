package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"spendsync/cmd/internal/exit"
	"spendsync/cmd/spendsync/job"
	"spendsync/schema"
)

// TestStatus_NamesUnreadSettings: status names the settings that could not be read, and since when, in Chicago's time.
func TestStatus_NamesUnreadSettings(t *testing.T) {
	at := time.Date(2026, 11, 29, 13, 38, 22, 0, time.UTC)
	field := schema.EntityRead{EntityType: "creative", EntityID: "C1-7", Field: "icon_id"}
	field.FirstSeenAt = schema.InstantOf(at)
	var out bytes.Buffer
	c := &statusCommand{call: &call{now: func() time.Time { return at.Add(time.Hour) }}}
	c.print(&out, &storeStatus{Accounts: []accountStatus{{Account: "acme",
		Unread: []schema.EntityRead{field, field, field, field, field}}}})
	if n := strings.Count(out.String(), "creative C1-7 icon_id, since 2026-11-29 07:38:"); n != maxUnread ||
		!strings.Contains(out.String(), "2 more: FROM ops.entity_read") ||
		strings.Count(out.String(), ": the last known value stands") != maxUnread {
		t.Errorf("%d lines of unread settings:\n%s", n, out.String())
	}
	out.Reset()
	field.Message = schema.Some(job.NeverRead)
	c.print(&out, &storeStatus{Accounts: []accountStatus{{Account: "acme", Unread: []schema.EntityRead{field}}}})
	if !strings.Contains(out.String(), ": never read yet; the next run asks again") ||
		strings.Contains(out.String(), "stands") {
		t.Errorf("a field that was never read:\n%s", out.String())
	}
}

// TestStatus_LastRunReadTheService: the last run is one that read the service. A run that only read the operator's own
// files is shown in addition, if it published something.
func TestStatus_LastRunReadTheService(t *testing.T) {
	w := newExportWorld(t)
	w.write("day,campaign,source,clicks,approved,held,refused,revenue\n2026-11-18,{C},{S},5,1,0,0,10.5\n")
	for i, shown := range []bool{true, false} {
		w.sync(time.Hour, exit.OK, "")
		text := w.must("status")
		if !regexp.MustCompile(`(?m)^  last run +.*days? planned|last run +.*settings of`).MatchString(text) {
			t.Errorf("sync %d: the last run did not read the service:\n%s", i+1, text)
		}
		if got := strings.Contains(text, "  your own files  "); got != shown {
			t.Errorf("sync %d: the run of the own files is shown: %t:\n%s", i+1, got, text)
		}
	}
}
