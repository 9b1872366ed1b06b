package main

import (
	"time"

	"spendsync/cmd/spendsync/job"
	"spendsync/schema"
)

// summary returns the attributes of the last line of a run's log: facts that people look up afterwards, under stable
// keys. Run, command and account are missing here, because every line has them. The key started_at is a time by the
// service's clock. The second argument is the run's duration by this machine's clock.
func summary(r *job.Result, took time.Duration) []any {
	row := r.Run
	states, newest := map[string]int{}, ""
	for _, c := range r.Coverage {
		states[c.State]++
		if c.State == schema.StateComplete || c.State == schema.StateFinal {
			newest = c.ReportDate.String()
		}
	}
	return []any{
		"started_at", row.StartedAt.String(),
		"elapsed_ms", took.Milliseconds(), "version", row.Version,
		"published", row.Published, "generation", row.Generation, "warehouse_bytes", r.WarehouseBytes,
		"days_planned", row.DaysPlanned, "days_proven", row.DaysProven, "days_changed", row.DaysChanged,
		"days_complete", states[schema.StateComplete] + states[schema.StateFinal],
		"days_missing", states[schema.StateMissing] + states[schema.StatePartial],
		"days_at_risk", len(job.AtRisk(r.Coverage)), "days_lost", states[schema.StateLost],
		"newest_complete_day", newest,
		"rows_read", row.RowsRead, "rows_inserted", row.RowsInserted,
		"rows_updated", row.RowsUpdated, "rows_deleted", row.RowsDeleted,
		"restatements", row.Restatements, "settings_versions", row.SettingsVersions,
		"campaigns_read", row.CampaignsRead, "campaigns_skipped", row.CampaignsSkipped,
		"requests", row.Requests, "retries", row.Retries, "bytes_read", row.BytesRead, "throttled_ms", row.ThrottledMs,
		"failures", r.Failures, "key_expires_at", r.KeyExpires,
	}
}
