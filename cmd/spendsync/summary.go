package main

import (
	"slices"

	"spendsync/schema"
)

// summary is the last line of a run's log: what a person asks afterwards, under keys
// that stay. Who it was (run, command, account) stands on every line.
func (s *syncer) summary(row schema.Run, expires schema.Null[schema.Instant]) []any {
	now := s.app.now()
	states, newest := map[string]int{}, ""
	coverage := s.store.Account().Coverage(s.app.cfg.Account, now)
	for _, c := range coverage {
		states[c.State]++
		if c.State == schema.StateComplete || c.State == schema.StateFinal {
			newest = c.ReportDate.String()
		}
	}
	var bytes int64
	if m := s.store.Manifest(); m != nil {
		bytes = m.Warehouse.Bytes
	}
	attrs := []any{
		"started_at", row.StartedAt.String(), "elapsed_ms", now.Sub(s.start).Milliseconds(), "version", row.Version,
		"published", row.Published, "generation", row.Generation, "warehouse_bytes", bytes,
		"days_planned", row.DaysPlanned, "days_proven", row.DaysProven, "days_changed", row.DaysChanged,
		"days_complete", states[schema.StateComplete] + states[schema.StateFinal], "days_missing", states[schema.StateMissing] + states[schema.StatePartial],
		"days_at_risk", len(atRisk(coverage)), "days_lost", states[schema.StateLost], "newest_complete_day", newest,
		"rows_read", row.RowsRead, "rows_inserted", row.RowsInserted, "rows_updated", row.RowsUpdated, "rows_deleted", row.RowsDeleted,
		"restatements", row.Restatements, "settings_versions", row.SettingsVersions,
		"campaigns_read", row.CampaignsRead, "campaigns_skipped", row.CampaignsSkipped,
		"requests", row.Requests, "retries", row.Retries, "bytes_read", row.BytesRead, "throttled_ms", row.ThrottledMs,
		"failures", len(s.tally.failures), "key_expires_at", expires,
	}
	return slices.Clip(attrs)
}
