package schema

// Run is one run of spendsync that wrote to the store, or tried to.
type Run struct {
	AccountID        string       `col:"account_id" id:"1" key:"true" json:"account_id" doc:"Short name of the account in this warehouse."`
	Command          string       `col:"command" id:"2" json:"command" doc:"Command that ran: sync, backfill, replay, rebuild."`
	StartedAt        Instant      `col:"started_at" id:"3" json:"started_at" doc:"When the run began."`
	FinishedAt       Instant      `col:"finished_at" id:"4" json:"finished_at" doc:"When the run had read everything it could; publishing follows."`
	ExitCode         int64        `col:"exit_code" id:"5" json:"exit_code" doc:"Exit code, as listed in the README."`
	Outcome          string       `col:"outcome" id:"6" json:"outcome" doc:"What the exit code means, in one line."`
	Generation       int64        `col:"generation" id:"7" json:"generation" doc:"Generation that the run published, or that it left in place."`
	Published        bool         `col:"published" id:"8" json:"published" doc:"Whether the run published a generation."`
	DaysPlanned      int64        `col:"days_planned" id:"9" json:"days_planned" doc:"Report days to be read."`
	DaysProven       int64        `col:"days_proven" id:"10" json:"days_proven" doc:"Report days proven complete."`
	DaysChanged      int64        `col:"days_changed" id:"11" json:"days_changed" doc:"Report days whose content was new or different."`
	RowsRead         int64        `col:"rows_read" id:"12" json:"rows_read" doc:"Rows of the proven days."`
	RowsInserted     int64        `col:"rows_inserted" id:"13" json:"rows_inserted" doc:"Rows that were not stored before."`
	RowsUpdated      int64        `col:"rows_updated" id:"14" json:"rows_updated" doc:"Stored rows with other values."`
	RowsDeleted      int64        `col:"rows_deleted" id:"15" json:"rows_deleted" doc:"Stored rows that the service no longer reports."`
	Restatements     int64        `col:"restatements" id:"16" json:"restatements" doc:"Lines added to spend_change."`
	Requests         int64        `col:"requests" id:"17" json:"requests" doc:"HTTP requests sent, retries included."`
	Retries          int64        `col:"retries" id:"18" json:"retries" doc:"HTTP requests that repeated one."`
	BytesRead        int64        `col:"bytes_read" id:"19" json:"bytes_read" doc:"Bytes of the replies, decompressed."`
	ThrottledMs      int64        `col:"throttled_ms" id:"20" json:"throttled_ms" doc:"Milliseconds that requests waited because the service asked for it."`
	Version          string       `col:"version" id:"21" json:"version" doc:"Version of spendsync."`
	Message          Null[string] `col:"message" id:"22" json:"message" doc:"What went wrong, where something did."`
	SettingsVersions int64        `col:"settings_versions" id:"24" json:"settings_versions" doc:"Versions of settings that the run added."`
	CampaignsRead    int64        `col:"campaigns_read" id:"25" json:"campaigns_read" doc:"Campaigns whose settings were read."`
	CampaignsSkipped int64        `col:"campaigns_skipped" id:"26" json:"campaigns_skipped" doc:"Archived campaigns that had been read whole and were left out."`
	RunID            string       `col:"_run_id" id:"23" key:"true" json:"_run_id" doc:"Identity of the run; sorts by time."`
}

// Step is one unit of work of a run: one day of the report.
type Step struct {
	AccountID  string       `col:"account_id" id:"1" key:"true" json:"account_id" doc:"Short name of the account in this warehouse."`
	Stream     string       `col:"stream" id:"2" key:"true" json:"stream" doc:"What was read, such as spend_report."`
	Unit       string       `col:"unit" id:"3" key:"true" json:"unit" doc:"Which part of it, such as the day."`
	StartedAt  Instant      `col:"started_at" id:"4" json:"started_at" doc:"When its reading began."`
	FinishedAt Instant      `col:"finished_at" id:"5" json:"finished_at" doc:"When it was done."`
	Reason     string       `col:"reason" id:"6" json:"reason" doc:"Why it was read."`
	Outcome    string       `col:"outcome" id:"7" json:"outcome" doc:"stored: new or different; unchanged: the same as stored; failed: not read or not proven; unreachable: the day has left the reach."`
	Attempts   int64        `col:"attempts" id:"8" json:"attempts" doc:"Times the whole unit was read."`
	Pages      int64        `col:"pages" id:"10" json:"pages" doc:"Pages of the proven read."`
	Rows       int64        `col:"rows" id:"11" json:"rows" doc:"Rows of the proven read."`
	Bytes      int64        `col:"bytes" id:"12" json:"bytes" doc:"Bytes of its replies, decompressed."`
	Rounded    int64        `col:"rounded_values" id:"13" json:"rounded_values" doc:"Amounts with more than six decimals, rounded half to even."`
	Message    Null[string] `col:"message" id:"14" json:"message" doc:"What went wrong, where something did."`
	RunID      string       `col:"_run_id" id:"15" key:"true" json:"_run_id" doc:"Run that did it."`
}

// DayCoverage says how well one day of an account is known.
type DayCoverage struct {
	AccountID            string        `col:"account_id" id:"1" key:"true" json:"account_id" doc:"Short name of the account in this warehouse."`
	ReportDate           Date          `col:"report_date" id:"2" key:"true" json:"report_date" doc:"Chicago calendar day."`
	State                string        `col:"state" id:"3" json:"state" doc:"open: stored, the day goes on; complete: stored after it was over, may be restated; final: complete and beyond the reach of the report; partial: stored, but last read before it was over; missing: not proven yet, still readable; lost: never proven and no longer readable."`
	FirstReadAt          Null[Instant] `col:"first_read_at" id:"4" json:"first_read_at" doc:"When the first proven read began. NULL: none yet."`
	LastReadAt           Null[Instant] `col:"last_read_at" id:"5" json:"last_read_at" doc:"When the last proven read began. NULL: none yet."`
	Reads                int64         `col:"reads" id:"6" json:"reads" doc:"Proven reads."`
	Rows                 int64         `col:"rows" id:"7" json:"rows" doc:"Rows stored for the day."`
	Spend                Null[Money]   `col:"spend" id:"8" json:"spend" doc:"US dollars stored for the day. NULL: unknown."`
	Clicks               Null[int64]   `col:"clicks" id:"9" json:"clicks" doc:"Clicks stored for the day. NULL: unknown."`
	ControlTotalState    string        `col:"control_total_state" id:"10" json:"control_total_state" doc:"matched: the service's own total of the day agrees; differs: it does not, see control_spend and control_clicks; none: the service gives no total per day; open: the day was not over; unknown: the service could not be asked for it; unread: no proven read."`
	ContentHash          Null[string]  `col:"content_hash" id:"11" json:"content_hash" doc:"SHA-256 of the day's rows as read, in key order."`
	DaysUntilUnreachable int64         `col:"days_until_unreachable" id:"12" json:"days_until_unreachable" doc:"Days left in which the report can be asked for this day, today included; 0: no more. Counted when the generation was published."`
	ControlSpend         Null[Money]   `col:"control_spend" id:"14" since:"3" json:"control_spend" doc:"US dollars of the day by the service's own total, to be compared with spend. NULL: it gave none."`
	ControlClicks        Null[int64]   `col:"control_clicks" id:"15" since:"3" json:"control_clicks" doc:"Clicks of the day by the service's own total, to be compared with clicks. NULL: it gave none."`
	RunID                Null[string]  `col:"_run_id" id:"13" json:"_run_id" doc:"Run of the last proven read."`
}

// The values of DayCoverage.State.
const (
	StateOpen     = "open"
	StateComplete = "complete"
	StateFinal    = "final"
	StatePartial  = "partial"
	StateMissing  = "missing"
	StateLost     = "lost"
)

// The values of DayCoverage.ControlTotalState.
const (
	ControlMatched = "matched"
	ControlDiffers = "differs"
	ControlNone    = "none"
	ControlOpen    = "open"
	ControlUnknown = "unknown"
	ControlUnread  = "unread"
)

// EntityRead is one thing that could not be read, and why.
type EntityRead struct {
	AccountID   string       `col:"account_id" id:"1" key:"true" json:"account_id" doc:"Short name of the account in this warehouse."`
	EntityType  string       `col:"entity_type" id:"2" key:"true" json:"entity_type" doc:"Kind of thing: campaign, creative, source settings, listing, account."`
	EntityID    string       `col:"entity_id" id:"3" key:"true" json:"entity_id" doc:"Its id."`
	Field       string       `col:"field" id:"4" key:"true" json:"field" doc:"The field that could not be read; empty text: all of it."`
	ReadState   string       `col:"read_state" id:"5" json:"read_state" doc:"unreadable: the service could not say; failed: the request failed; incomplete: a listing did not end."`
	Message     Null[string] `col:"message" id:"6" json:"message" doc:"Why."`
	AttemptedAt Instant      `col:"attempted_at" id:"7" json:"attempted_at" doc:"When it was tried."`
	RunID       string       `col:"_run_id" id:"8" key:"true" json:"_run_id" doc:"Run that tried."`
}

// UnknownField is a key in a reply that the service's description does not name.
type UnknownField struct {
	AccountID   string  `col:"account_id" id:"1" key:"true" json:"account_id" doc:"Short name of the account in this warehouse."`
	Stream      string  `col:"stream" id:"2" key:"true" json:"stream" doc:"Where it was seen, such as spend_report."`
	Path        string  `col:"path" id:"3" key:"true" json:"path" doc:"Path of the key in the reply."`
	SampleType  string  `col:"sample_type" id:"4" json:"sample_type" doc:"JSON type of the first value seen."`
	FirstSeenAt Instant `col:"first_seen_at" id:"5" json:"first_seen_at" doc:"When it was first seen."`
	RunID       string  `col:"_run_id" id:"6" json:"_run_id" doc:"Run that first saw it."`
}

// RefusedRow is a row of a reply that could not be stored as it is.
type RefusedRow struct {
	AccountID  string  `col:"account_id" id:"1" key:"true" json:"account_id" doc:"Short name of the account in this warehouse."`
	Stream     string  `col:"stream" id:"2" key:"true" json:"stream" doc:"Where it was seen, such as spend_report."`
	ReportDate Date    `col:"report_date" id:"3" key:"true" json:"report_date" doc:"Chicago calendar day that was asked for; the first where it was a span."`
	Page       int64   `col:"page" id:"4" key:"true" json:"page" doc:"Page of the reply, counted from 1."`
	RowNumber  int64   `col:"row_number" id:"5" key:"true" json:"row_number" doc:"Row of the page, counted from 1."`
	Reason     string  `col:"reason" id:"6" json:"reason" doc:"Why it was refused."`
	Field      string  `col:"field" id:"7" json:"field" doc:"Field of the row that was refused; empty text: the row as a whole."`
	Raw        string  `col:"raw" id:"8" json:"raw" doc:"The row's own JSON, cut where it is very long."`
	SeenAt     Instant `col:"seen_at" id:"9" json:"seen_at" doc:"When it was read."`
	RunID      string  `col:"_run_id" id:"10" key:"true" json:"_run_id" doc:"Run that read it."`
}

// File is one published file.
type File struct {
	AccountID string       `col:"account_id" id:"1" key:"true" doc:"Account whose file it is."`
	Path      string       `col:"path" id:"2" key:"true" doc:"Path below the data directory."`
	Kind      string       `col:"kind" id:"3" doc:"parquet: rows of a table; raw: a reply as received, compressed with zstd."`
	TableName Null[string] `col:"table_name" id:"4" doc:"Table whose rows a Parquet file holds."`
	Rows      int64        `col:"rows" id:"5" doc:"Rows in the file; for a reply, rows in the reply."`
	Bytes     int64        `col:"bytes" id:"6" doc:"Size of the file."`
	SHA256    string       `col:"sha256" id:"7" doc:"SHA-256 of the file, in hexadecimal."`
	RunID     string       `col:"_run_id" id:"8" doc:"Run that wrote the file."`
}

// The tables of schema ops. They are made from the manifest and the ledger.
var (
	Runs     = Define[Run]("ops.run", InMemory, "Every run: what it read, what it changed, how it ended.")
	Steps    = Define[Step]("ops.step", InMemory, "Every unit of work of every run, with what went wrong.")
	Coverage = Define[DayCoverage]("ops.day_coverage", InMemory, "How well each Chicago day is known. A day "+
		"that is open, complete or final is covered: there a missing row of spend_daily means zero.")
	EntityReads   = Define[EntityRead]("ops.entity_read", InMemory, "Settings that could not be read, and why.")
	UnknownFields = Define[UnknownField]("ops.unknown_field", InMemory, "Keys in the service's replies that its "+
		"description does not name. They are kept in the raw replies.")
	RefusedRows = Define[RefusedRow]("ops.refused_row", InMemory, "Rows of the report that could not be stored, "+
		"with their JSON. A day that has some is partial until a read or a replay finds none.", Since(3))
	Files = Define[File]("ops.file", InMemory, "The published files behind this generation, as in "+
		"manifest.json.")
)

// Tables are all tables, in the order in which the dictionary shows them.
var Tables = []*Table{
	SpendDaily.Table, SpendChanges.Table, SpendIntraday.Table,
	CampaignHistory.Table, DeliveryHistory.Table, CreativeHistory.Table, SourceRuleHistory.Table,
	SourceModeHistory.Table,
	AccountSnapshots.Table, AccountLimits.Table, Calendar.Table,
	CampaignSpends.Table,
	Coverage.Table, Runs.Table, Steps.Table, EntityReads.Table, UnknownFields.Table, RefusedRows.Table, Files.Table,
}

// ReachDays is how many days before today, in Chicago, the spend report can be
// asked for. Source: the service's description, limits of the report.
const ReachDays = 32

// DaysUntilUnreachable is how many days, today included, are left in which the
// report can be asked for day d. It is 0 when d can no longer be read.
func DaysUntilUnreachable(d, today Date) int64 {
	return max(0, int64(d)+ReachDays+1-int64(today))
}
