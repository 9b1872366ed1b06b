package job_test

import (
	"strings"
	"testing"

	"spendsync/cmd/internal/exit"
	"spendsync/extract/adsim"
)

// TestSync_RefusedUserIsSaidOnce: what the other days were broken off for is no news.
func TestSync_RefusedUserIsSaidOnce(t *testing.T) {
	for _, says := range []string{"User account not confirmed.", "User does not have an advertiser_id assigned."} {
		w := newQuirkWorld(t)
		w.service = adsim.New(adsim.Config{Seed: 5, Campaigns: 2, RowsPerDay: 30, RateLimit: -1,
			APIKey: canaryKey, ReportPassword: canaryPassword})
		w.service.SetNow(noon)
		w.service.Fail(adsim.Fault{Kind: adsim.Body, Status: 403, Path: "/ads/spend-report",
			Value: `{"error":"` + says + `"}`})
		run := w.sync().Run
		if m := run.Message.V; run.ExitCode != exit.Auth || !strings.Contains(m, says) ||
			strings.Contains(m, "canceled") || strings.Contains(m, " more:") ||
			strings.Count(m, "403") != 1 {
			t.Errorf("exit %d: %s", run.ExitCode, m)
		}
	}
}
