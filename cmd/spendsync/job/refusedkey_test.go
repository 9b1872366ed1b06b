package job_test

import (
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// TestSync_RefusedUserIsSaidOnce: what the other days were broken off for is no news.
func TestSync_RefusedUserIsSaidOnce(t *testing.T) {
	for access, says := range map[adsim.ReportAccess]string{
		adsim.ReportUnconfirmed: "not confirmed", adsim.ReportNoAdvertiser: "advertiser_id",
	} {
		w := newQuirkWorld(t)
		w.service = adsim.New(adsim.Config{Seed: 5, Campaigns: 2, RowsPerDay: 30, RateLimit: -1,
			APIKey: canaryKey, ReportPassword: canaryPassword, ReportAccess: access})
		w.service.SetNow(noon)
		run := w.sync().Run
		if m := run.Message.V; run.ExitCode != exit.Auth || !strings.Contains(m, says) ||
			strings.Contains(m, "canceled") || strings.Contains(m, " more:") ||
			strings.Count(m, "403") != 1 {
			t.Errorf("exit %d: %s", run.ExitCode, m)
		}
	}
}
