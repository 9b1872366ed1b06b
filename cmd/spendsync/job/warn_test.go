package job

import (
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// TestWarnings_AreOneForACause: an outage is one warning about all days that are not proven, with the number of days.
func TestWarnings_AreOneForACause(t *testing.T) {
	w := newWorld(t)
	w.service.Fail(adsim.Fault{Kind: adsim.Status, Status: 503, Path: "/ads/spend-report"})
	w.sync(exit.Unreachable)
	var of []string
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "level=WARN") && strings.Contains(line, "proven") {
			of = append(of, line)
		}
	}
	if len(of) != 1 || !strings.Contains(of[0], "count=33") {
		t.Errorf("%d warnings:\n%s", len(of), strings.Join(of, ""))
	}
}
