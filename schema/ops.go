package schema

// Run describes one execution of a spendsync command that wrote to the store, or tried to.
type Run struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true" json:"account_id"`
	// Command that ran: sync, backfill, replay, rebuild.
	Command string `col:"command" id:"2" json:"command"`
	// When the run began.
	StartedAt Instant `col:"started_at" id:"3" json:"started_at"`
	// When the run had finished reading; publishing follows.
	FinishedAt Instant `col:"finished_at" id:"4" json:"finished_at"`
	// Exit code; spendsync help config explains each.
	ExitCode int64 `col:"exit_code" id:"5" json:"exit_code"`
	// What the exit code means, in one line.
	Outcome string `col:"outcome" id:"6" json:"outcome"`
	// Generation that the run published; if it published none, the previous generation.
	Generation int64 `col:"generation" id:"7" json:"generation"`
	// Whether the run published a generation.
	Published bool `col:"published" id:"8" json:"published"`
	// Report days that the plan had to read.
	DaysPlanned int64 `col:"days_planned" id:"9" json:"days_planned"`
	// Report days proven complete.
	DaysProven int64 `col:"days_proven" id:"10" json:"days_proven"`
	// Report days whose rows are new or differ from the stored ones.
	DaysChanged int64 `col:"days_changed" id:"11" json:"days_changed"`
	// Rows of the proven days.
	RowsRead int64 `col:"rows_read" id:"12" json:"rows_read"`
	// Rows that were not stored before.
	RowsInserted int64 `col:"rows_inserted" id:"13" json:"rows_inserted"`
	// Stored rows whose values changed.
	RowsUpdated int64 `col:"rows_updated" id:"14" json:"rows_updated"`
	// Stored rows that the service no longer reports.
	RowsDeleted int64 `col:"rows_deleted" id:"15" json:"rows_deleted"`
	// Lines added to spend_change.
	Restatements int64 `col:"restatements" id:"16" json:"restatements"`
	// HTTP requests sent, retries included.
	Requests int64 `col:"requests" id:"17" json:"requests"`
	// HTTP requests that repeated an earlier one.
	Retries int64 `col:"retries" id:"18" json:"retries"`
	// Bytes of the replies, decompressed.
	BytesRead int64 `col:"bytes_read" id:"19" json:"bytes_read"`
	// Milliseconds that requests waited because the service asked for it.
	ThrottledMs int64 `col:"throttled_ms" id:"20" json:"throttled_ms"`
	// Version of spendsync.
	Version string `col:"version" id:"21" json:"version"`
	// What went wrong. NULL: nothing.
	Message Null[string] `col:"message" id:"22" json:"message"`
	// Versions of settings that the run added.
	SettingsVersions int64 `col:"settings_versions" id:"24" json:"settings_versions"`
	// Campaigns whose settings were read.
	CampaignsRead int64 `col:"campaigns_read" id:"25" json:"campaigns_read"`
	// Archived campaigns that earlier runs had read completely, so this run skipped them.
	CampaignsSkipped int64 `col:"campaigns_skipped" id:"26" json:"campaigns_skipped"`
	// Evidence that the API key and the report are the account's. NULL: the run published nothing, was a repair, or is
	// of a version that did not record it.
	IdentityProof Null[string] `col:"identity_proof" id:"27" json:"identity_proof"`
	// ID of the run; sorts by time.
	RunID string `col:"_run_id" id:"23" key:"true" json:"_run_id"`
}

// Step is one unit of work of a run: one day of the report.
type Step struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true" json:"account_id"`
	// What was read, for example spend_report.
	Stream string `col:"stream" id:"2" key:"true" json:"stream"`
	// Which part of the stream, for example the day.
	Unit string `col:"unit" id:"3" key:"true" json:"unit"`
	// When the reading of the unit began.
	StartedAt Instant `col:"started_at" id:"4" json:"started_at"`
	// When the unit was finished.
	FinishedAt Instant `col:"finished_at" id:"5" json:"finished_at"`
	// Why the unit was read.
	Reason string `col:"reason" id:"6" json:"reason"`
	// stored: new or changed; unchanged: equal to the stored rows; failed: not read or not proven; silent: an empty
	// answer that proves nothing; unreachable: the day is out of the report's reach.
	Outcome string `col:"outcome" id:"7" json:"outcome"`
	// Times the whole unit was read.
	Attempts int64 `col:"attempts" id:"8" json:"attempts"`
	// Pages of the proven read.
	Pages int64 `col:"pages" id:"10" json:"pages"`
	// Rows of the proven read.
	Rows int64 `col:"rows" id:"11" json:"rows"`
	// Bytes of the unit's replies, decompressed.
	Bytes int64 `col:"bytes" id:"12" json:"bytes"`
	// Amounts with more than six decimals, rounded half to even.
	Rounded int64 `col:"rounded_values" id:"13" json:"rounded_values"`
	// What went wrong. NULL: nothing.
	Message Null[string] `col:"message" id:"14" json:"message"`
	// Run that did the work.
	RunID string `col:"_run_id" id:"15" key:"true" json:"_run_id"`
}

// DayCoverage describes how well one day of an account is known.
type DayCoverage struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true" json:"account_id"`
	// Chicago calendar day.
	ReportDate Date `col:"report_date" id:"2" key:"true" json:"report_date"`
	// open: stored, the day is not over; complete: stored after its end, may still be restated; final: complete and
	// beyond the report's reach; partial: stored but incomplete, see partial_why; missing: not proven yet,
	// still readable; lost: never proven and no longer readable.
	State string `col:"state" id:"3" json:"state"`
	// When the first proven read began. NULL: none yet.
	FirstReadAt Null[Instant] `col:"first_read_at" id:"4" json:"first_read_at"`
	// When the last proven read began. NULL: none yet.
	LastReadAt Null[Instant] `col:"last_read_at" id:"5" json:"last_read_at"`
	// Proven reads.
	Reads int64 `col:"reads" id:"6" json:"reads"`
	// Rows stored for the day.
	Rows int64 `col:"rows" id:"7" json:"rows"`
	// US dollars stored for the day. NULL: unknown.
	Spend Null[Money] `col:"spend" id:"8" json:"spend"`
	// Clicks stored for the day. NULL: unknown.
	Clicks Null[int64] `col:"clicks" id:"9" json:"clicks"`
	// matched: the service's own total of the day equals the stored sum; differs: the total is another, see
	// control_spend and control_clicks; none: the service gives no total per day; open: the day was not over; unknown:
	// the total could not be read; unread: no proven read.
	ControlTotalState string `col:"control_total_state" id:"10" json:"control_total_state"`
	// SHA-256 of the day's rows as read, in key order.
	ContentHash Null[string] `col:"content_hash" id:"11" json:"content_hash"`
	// Number of days until the report no longer covers this day, today included; 0: it no longer does. As of the
	// publication of the generation.
	DaysUntilUnreachable int64 `col:"days_until_unreachable" id:"12" json:"days_until_unreachable"`
	// Spend of the day in US dollars by the service's own total; compare with spend. NULL: the service gave none.
	ControlSpend Null[Money] `col:"control_spend" id:"14" json:"control_spend"`
	// Clicks of the day by the service's own total; compare with clicks. NULL: the service gave none.
	ControlClicks Null[int64] `col:"control_clicks" id:"15" json:"control_clicks"`
	// Rows of the day by the service's own count (total_rows); compare with rows. NULL: the service gave none.
	RowsTotal Null[int64] `col:"rows_total" id:"16" json:"rows_total"`
	// matched: as many rows came as the service states, or as many rows with spend; none: the service states no usable
	// count; differs: another number of rows came, see rows_total, and other evidence proved the day. Only days last
	// read by an older version have differs. NULL: not read since this column was added.
	RowsTotalState Null[string] `col:"rows_total_state" id:"17" json:"rows_total_state"`
	// doubtful: the day is stored although something contradicts it, for example the service's own sum; every run reads
	// it again until the contradiction ends or a person accepts it. accepted: a person accepted it with 'spendsync
	// repair accept'. NULL: nothing contradicts it.
	Doubt Null[string] `col:"doubt" id:"18" json:"doubt" since:"12"`
	// Why the day is partial or doubtful. NULL: it is neither.
	PartialWhy Null[string] `col:"partial_why" id:"19" json:"partial_why" since:"12"`
	// Run of the last proven read.
	RunID Null[string] `col:"_run_id" id:"13" json:"_run_id"`
}

// The values of DayCoverage.RowsTotalState. Only days that were last read before version 12 of the tables have
// RowsDiffer.
const (
	RowsMatched = "matched"
	RowsDiffer  = "differs"
	RowsNone    = "none"
)

// The values of DayCoverage.Doubt.
const (
	Doubtful = "doubtful"
	Accepted = "accepted"
)

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

// Sighting records when runs first and last saw a lasting fact, for example an unreadable field. It also has the number
// of these runs, and the last of them. Such a fact is one row, however many runs see it.
type Sighting struct {
	// When a run first saw this fact.
	FirstSeenAt Instant `col:"first_seen_at" id:"101" json:"first_seen_at"`
	// When a run last saw this fact.
	LastSeenAt Instant `col:"last_seen_at" id:"102" json:"last_seen_at"`
	// Runs that saw this fact.
	Runs int64 `col:"runs" id:"103" json:"runs"`
	// Run that last saw this fact.
	RunID string `col:"_run_id" id:"104" json:"_run_id"`
}

// SightingPtr returns the embedded Sighting. Code for all tables of lasting facts uses it to read and set the Sighting
// of a row.
func (s *Sighting) SightingPtr() *Sighting { return s }

// EntityRead is one entity that currently cannot be read, completely or in part, and the reason.
type EntityRead struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true" json:"account_id"`
	// Kind of entity: campaign, creative, source settings, listing, account.
	EntityType string `col:"entity_type" id:"2" key:"true" json:"entity_type"`
	// ID of the entity.
	EntityID string `col:"entity_id" id:"3" key:"true" json:"entity_id"`
	// The field that could not be read; empty text: the entire entity.
	Field string `col:"field" id:"4" key:"true" json:"field"`
	// unreadable: the reply has no usable value; missing: the reply lacks the key; failed: the request failed;
	// incomplete: a listing did not end; absent: only the report names the entity, and the service does not show it;
	// more: number of entities beyond the first 1,000.
	ReadState string `col:"read_state" id:"5" json:"read_state"`
	// Why the entity or the field could not be read.
	Message Null[string] `col:"message" id:"6" json:"message"`
	Sighting
}

// UnknownField is a key that a reply has, but the service's description does not name.
type UnknownField struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true" json:"account_id"`
	// Where the key was seen, for example spend_report.
	Stream string `col:"stream" id:"2" key:"true" json:"stream"`
	// Path of the key in the reply; for an ID of an unknown form, the column and the form.
	Path string `col:"path" id:"3" key:"true" json:"path"`
	// JSON type of the first value seen.
	SampleType string `col:"sample_type" id:"4" json:"sample_type"`
	Sighting
}

// RefusedRow is a row of a reply that could not be stored unchanged.
type RefusedRow struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true" json:"account_id"`
	// Where the row was seen: spend_report or tracker.
	Stream string `col:"stream" id:"2" key:"true" json:"stream"`
	// Chicago calendar day that was requested; of a range, the first day. For the operator's files: the day of the row
	// or, if it has none, the day when the file was read.
	ReportDate Date `col:"report_date" id:"3" key:"true" json:"report_date"`
	// Number of the page or the file, from 1.
	Page int64 `col:"page" id:"4" key:"true" json:"page"`
	// Number of the row within the page, from 1.
	RowNumber int64 `col:"row_number" id:"5" key:"true" json:"row_number"`
	// Why the row was refused.
	Reason string `col:"reason" id:"6" json:"reason"`
	// Refused field, or fields separated by commas; empty text: the entire row.
	Field string `col:"field" id:"7" json:"field"`
	// JSON of the row, cut if it is very long.
	Raw string `col:"raw" id:"8" json:"raw"`
	Sighting
}

// Note is a difference between the stored data and what the service states or promises.
type Note struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Name of the note, for 'spendsync repair accept'.
	Name string `col:"note" id:"2" key:"true"`
	// Whether the note no longer makes runs exit with code 4, because a person has accepted it and it has not grown
	// since.
	IsStanding bool `col:"is_standing" id:"3"`
	// accepted: a person has accepted the difference. NULL: no person has.
	Decision Null[string] `col:"decision" id:"4"`
	// Runs that saw the difference.
	Runs int64 `col:"runs" id:"5"`
	// When a run first saw the difference.
	FirstSeenAt Instant `col:"first_seen_at" id:"6"`
	// When a run last saw the difference. A note that nobody accepted is deleted at the latest a week after the
	// difference has disappeared.
	LastSeenAt Instant `col:"last_seen_at" id:"7"`
	// What differs, as of the last run that saw the difference.
	Message string `col:"message" id:"8"`
	// Size of the largest difference: percent of the day's sum or of the day's rows, rounded up. NULL: the difference
	// has no size.
	SizePercent Null[int64] `col:"size_percent" id:"10" since:"12"`
	// Size up to which the difference is accepted. NULL: it is not accepted.
	AcceptedPercent Null[int64] `col:"accepted_percent" id:"11" since:"12"`
	// When the difference was accepted. NULL: it is not accepted.
	AcceptedAt Null[Instant] `col:"accepted_at" id:"12" since:"12"`
	// Run that last saw the difference.
	RunID string `col:"_run_id" id:"9"`
}

// NoteAccepted is the value of Note.Decision after a person has accepted the difference. Before that, Note.Decision is
// NULL.
const NoteAccepted = "accepted"

// File is one published file.
type File struct {
	// Account that the file belongs to.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Path below the data directory.
	Path string `col:"path" id:"2" key:"true"`
	// parquet: rows of a table; raw: a reply of the report as received, compressed with zstd.
	Kind string `col:"kind" id:"3"`
	// Table whose rows a Parquet file holds.
	TableName Null[string] `col:"table_name" id:"4"`
	// Rows in the file; for a reply, rows in the reply.
	Rows int64 `col:"rows" id:"5"`
	// Size of the file.
	Bytes int64 `col:"bytes" id:"6"`
	// SHA-256 of the file, in hexadecimal.
	SHA256 string `col:"sha256" id:"7"`
	// Run that wrote the file.
	RunID string `col:"_run_id" id:"8"`
}

// The tables of schema ops. They are made from the manifest and the ledger (the record of all runs), and have no
// Parquet files.
var (
	Runs     = Define[Run]("ops.run", InMemory, "Every run: what it read, what it changed, how it ended.")
	Steps    = Define[Step]("ops.step", InMemory, "Every unit of work of every run, with what went wrong.")
	Coverage = Define[DayCoverage]("ops.day_coverage", InMemory, "How well each Chicago day is known. A day "+
		"that is open, complete or final is covered: there a missing row of spend_daily means zero.")
	EntityReads = Define[EntityRead]("ops.entity_read", InMemory, "Settings that cannot be read now, and why: a line "+
		"stays until a run reads the value. The last known value stands meanwhile.")
	UnknownFields = Define[UnknownField]("ops.unknown_field", InMemory, "Keys in the service's replies that its "+
		"description does not name: of the report, and of the settings. "+
		"And the forms of IDs in the report that it does not give.")
	RefusedRows = Define[RefusedRow]("ops.refused_row", InMemory, "Rows of the report that could not be stored as "+
		"they are, as of the last read of their day, with their JSON; at most 1,000 of an account, the oldest first, "+
		"and then a line with their number. A day of which rows were left out is "+
		"partial until a read or a replay finds none; a row of which only clicks, impressions or conversions cannot "+
		"be read is stored without them (NULL). Of stream tracker: lines of the operator's exports that were set "+
		"aside.")
	Notes = Define[Note]("ops.note", InMemory, "Differences of which the data is stored: the service states another "+
		"total or count than the rows have, or sends a value in a form that cannot be read, which is NULL and kept. "+
		"Each ends every run with exit 4 until it is gone or a person accepts it up to its size. A note report.lost.* "+
		"is a warning: an earlier read of a day had counts that are NULL now.")
	Files = Define[File]("ops.file", InMemory, "The published files behind this generation, as the "+
		"manifest names them.")
)

// Copies are tables whose Parquet files hold the rows of tables of schema ops. Programs that read only Parquet need
// them to tell 0 from unknown. Each file shows the state at the generation that wrote it.
var (
	CoverageFiles = Define[DayCoverage]("ops_day_coverage", ByMonth, "How well each Chicago day is known, for who "+
		"reads Parquet alone. A day that is open, complete or final is covered: there a missing row of spend_daily "+
		"means zero. A day of which there is no line was never asked for. The same rows as ops.day_coverage.",
		AnswerOf("ops.day_coverage"))
	RunFiles = Define[Run]("ops_run", ByMonth, "Every run, by the Chicago month in which it began, for who reads "+
		"Parquet alone. The run that wrote the file is in it, with the exit code that it ends with unless "+
		"something fails after it has published; runs that published nothing come with the next that does. The same "+
		"rows as ops.run.",
		AnswerOf("ops.run"))
	Copies = []*Table{CoverageFiles.Table, RunFiles.Table}
)

// Tables are all tables, in the order in which the dictionary shows them.
var Tables = []*Table{
	SpendDaily.Table, SpendChanges.Table, SpendIntraday.Table,
	CampaignHistory.Table, DeliveryHistory.Table, CreativeHistory.Table, SourceRuleHistory.Table,
	SourceModeHistory.Table, Readings.Table,
	AccountSnapshots.Table, AccountLimits.Table, PayoutHistory.Table, TrackerDaily.Table, TrackerChanges.Table,
	Calendar.Table,
	CampaignSpends.Table,
	Coverage.Table, Runs.Table, Steps.Table, EntityReads.Table, UnknownFields.Table, RefusedRows.Table,
	Notes.Table, Files.Table,
}

// ReachDays is how many days before today, in Chicago, the spend report covers. Source: the service's description,
// limits of the report.
const ReachDays = 32

// DaysUntilUnreachable returns the number of days, today included, until the report no longer covers day d; 0 if the
// day is already out of reach.
func DaysUntilUnreachable(d, today Date) int64 {
	return max(0, int64(d)+ReachDays+1-int64(today))
}
