package schema

// Run is one run of spendsync that wrote to the store, or tried to.
type Run struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true" json:"account_id"`
	// Command that ran: sync, backfill, replay, rebuild.
	Command string `col:"command" id:"2" json:"command"`
	// When the run began.
	StartedAt Instant `col:"started_at" id:"3" json:"started_at"`
	// When the run had read everything it could; publishing follows.
	FinishedAt Instant `col:"finished_at" id:"4" json:"finished_at"`
	// Exit code; spendsync help config explains each.
	ExitCode int64 `col:"exit_code" id:"5" json:"exit_code"`
	// What the exit code means, in one line.
	Outcome string `col:"outcome" id:"6" json:"outcome"`
	// Generation that the run published, or that it left in place.
	Generation int64 `col:"generation" id:"7" json:"generation"`
	// Whether the run published a generation.
	Published bool `col:"published" id:"8" json:"published"`
	// Report days to be read.
	DaysPlanned int64 `col:"days_planned" id:"9" json:"days_planned"`
	// Report days proven complete.
	DaysProven int64 `col:"days_proven" id:"10" json:"days_proven"`
	// Report days whose content was new or different.
	DaysChanged int64 `col:"days_changed" id:"11" json:"days_changed"`
	// Rows of the proven days.
	RowsRead int64 `col:"rows_read" id:"12" json:"rows_read"`
	// Rows that were not stored before.
	RowsInserted int64 `col:"rows_inserted" id:"13" json:"rows_inserted"`
	// Stored rows with other values.
	RowsUpdated int64 `col:"rows_updated" id:"14" json:"rows_updated"`
	// Stored rows that the service no longer reports.
	RowsDeleted int64 `col:"rows_deleted" id:"15" json:"rows_deleted"`
	// Lines added to spend_change.
	Restatements int64 `col:"restatements" id:"16" json:"restatements"`
	// HTTP requests sent, retries included.
	Requests int64 `col:"requests" id:"17" json:"requests"`
	// HTTP requests that repeated one.
	Retries int64 `col:"retries" id:"18" json:"retries"`
	// Bytes of the replies, decompressed.
	BytesRead int64 `col:"bytes_read" id:"19" json:"bytes_read"`
	// Milliseconds that requests waited because the service asked for it.
	ThrottledMs int64 `col:"throttled_ms" id:"20" json:"throttled_ms"`
	// Version of spendsync.
	Version string `col:"version" id:"21" json:"version"`
	// What went wrong, where something did.
	Message Null[string] `col:"message" id:"22" json:"message"`
	// Versions of settings that the run added.
	SettingsVersions int64 `col:"settings_versions" id:"24" json:"settings_versions"`
	// Campaigns whose settings were read.
	CampaignsRead int64 `col:"campaigns_read" id:"25" json:"campaigns_read"`
	// Archived campaigns that had been read whole and were left out.
	CampaignsSkipped int64 `col:"campaigns_skipped" id:"26" json:"campaigns_skipped"`
	// What proved that the API key and the report are the account's. NULL: the run published nothing, repaired, or
	// is of a version that kept no proof.
	IdentityProof Null[string] `col:"identity_proof" id:"27" json:"identity_proof"`
	// Identity of the run; sorts by time.
	RunID string `col:"_run_id" id:"23" key:"true" json:"_run_id"`
}

// Step is one unit of work of a run: one day of the report.
type Step struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true" json:"account_id"`
	// What was read, such as spend_report.
	Stream string `col:"stream" id:"2" key:"true" json:"stream"`
	// Which part of it, such as the day.
	Unit string `col:"unit" id:"3" key:"true" json:"unit"`
	// When its reading began.
	StartedAt Instant `col:"started_at" id:"4" json:"started_at"`
	// When it was done.
	FinishedAt Instant `col:"finished_at" id:"5" json:"finished_at"`
	// Why it was read.
	Reason string `col:"reason" id:"6" json:"reason"`
	// stored: new or different; unchanged: the same as stored; failed: not read or not proven; silent: an empty answer
	// that proves nothing; unreachable: the day has left the reach.
	Outcome string `col:"outcome" id:"7" json:"outcome"`
	// Times the whole unit was read.
	Attempts int64 `col:"attempts" id:"8" json:"attempts"`
	// Pages of the proven read.
	Pages int64 `col:"pages" id:"10" json:"pages"`
	// Rows of the proven read.
	Rows int64 `col:"rows" id:"11" json:"rows"`
	// Bytes of its replies, decompressed.
	Bytes int64 `col:"bytes" id:"12" json:"bytes"`
	// Amounts with more than six decimals, rounded half to even.
	Rounded int64 `col:"rounded_values" id:"13" json:"rounded_values"`
	// What went wrong, where something did.
	Message Null[string] `col:"message" id:"14" json:"message"`
	// Run that did it.
	RunID string `col:"_run_id" id:"15" key:"true" json:"_run_id"`
}

// DayCoverage says how well one day of an account is known.
type DayCoverage struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true" json:"account_id"`
	// Chicago calendar day.
	ReportDate Date `col:"report_date" id:"2" key:"true" json:"report_date"`
	// open: stored, the day is not over; complete: stored after it was over, may be restated; final:
	// complete and beyond the reach of the report; partial: stored, but not in full, see partial_why; missing: not
	// proven yet, still readable; lost: never proven and no longer readable.
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
	// matched: the service's own total of the day agrees; differs: it does not, see control_spend and
	// control_clicks; none: the service gives no total per day; open: the day was not over; unknown:
	// the service could not be asked for it; unread: no proven read.
	ControlTotalState string `col:"control_total_state" id:"10" json:"control_total_state"`
	// SHA-256 of the day's rows as read, in key order.
	ContentHash Null[string] `col:"content_hash" id:"11" json:"content_hash"`
	// Days left in which the report can be asked for this day, today included; 0: no more. Counted
	// when the generation was published.
	DaysUntilUnreachable int64 `col:"days_until_unreachable" id:"12" json:"days_until_unreachable"`
	// US dollars of the day by the service's own total, to be compared with spend. NULL: it gave none.
	ControlSpend Null[Money] `col:"control_spend" id:"14" json:"control_spend"`
	// Clicks of the day by the service's own total, to be compared with clicks. NULL: it gave none.
	ControlClicks Null[int64] `col:"control_clicks" id:"15" json:"control_clicks"`
	// Rows of the day by the service's own count (total_rows), to be compared with rows. NULL: it gave none.
	RowsTotal Null[int64] `col:"rows_total" id:"16" json:"rows_total"`
	// matched: as many rows, or rows with spend, came as the service states; differs: they did not, see rows_total, and
	// other evidence proves the day; none: the service states no usable count. NULL: not read since this column came.
	RowsTotalState Null[string] `col:"rows_total_state" id:"17" json:"rows_total_state"`
	// doubtful: the day is stored, and something speaks against it, such as the service's own sum; it is read again by
	// every run until it fits or a person accepts it. accepted: a person has, by 'spendsync repair accept'. NULL:
	// nothing speaks against it.
	Doubt Null[string] `col:"doubt" id:"18" json:"doubt" since:"12"`
	// Why a partial day is partial, or a doubtful one doubtful. NULL: it is neither.
	PartialWhy Null[string] `col:"partial_why" id:"19" json:"partial_why" since:"12"`
	// Run of the last proven read.
	RunID Null[string] `col:"_run_id" id:"13" json:"_run_id"`
}

// The values of DayCoverage.RowsTotalState.
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

// Sighting records since when, how often and by which run a lasting fact was seen. Such a fact is one row, however
// often it is seen.
type Sighting struct {
	// When a run first saw it.
	FirstSeenAt Instant `col:"first_seen_at" id:"101" json:"first_seen_at"`
	// When a run last saw it.
	LastSeenAt Instant `col:"last_seen_at" id:"102" json:"last_seen_at"`
	// Runs that saw it.
	Runs int64 `col:"runs" id:"103" json:"runs"`
	// Run that last saw it.
	RunID string `col:"_run_id" id:"104" json:"_run_id"`
}

// SightingPtr returns the sighting of a row that embeds one.
func (s *Sighting) SightingPtr() *Sighting { return s }

// EntityRead is one entity that cannot be read now, in whole or in part, and why.
type EntityRead struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true" json:"account_id"`
	// Kind of entity: campaign, creative, source settings, listing, account.
	EntityType string `col:"entity_type" id:"2" key:"true" json:"entity_type"`
	// Its id.
	EntityID string `col:"entity_id" id:"3" key:"true" json:"entity_id"`
	// The field that could not be read; empty text: all of it.
	Field string `col:"field" id:"4" key:"true" json:"field"`
	// unreadable: the reply has no value that can be read; missing: the reply lacks the key; failed: the request
	// failed; incomplete: a listing did not end; more: entities beyond the first 1,000, which are only counted.
	ReadState string `col:"read_state" id:"5" json:"read_state"`
	// Why.
	Message Null[string] `col:"message" id:"6" json:"message"`
	Sighting
}

// UnknownField is a key in a reply that the service's description does not name.
type UnknownField struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true" json:"account_id"`
	// Where it was seen, such as spend_report.
	Stream string `col:"stream" id:"2" key:"true" json:"stream"`
	// Path of the key in the reply; for an ID, that of its column and the form.
	Path string `col:"path" id:"3" key:"true" json:"path"`
	// JSON type of the first value seen.
	SampleType string `col:"sample_type" id:"4" json:"sample_type"`
	Sighting
}

// RefusedRow is a row of a reply that could not be stored unchanged.
type RefusedRow struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true" json:"account_id"`
	// Where it was seen: spend_report or tracker.
	Stream string `col:"stream" id:"2" key:"true" json:"stream"`
	// Chicago calendar day that was asked for; the first where it was a span. Of the operator's files: the row's day,
	// or the day of reading where it has none.
	ReportDate Date `col:"report_date" id:"3" key:"true" json:"report_date"`
	// Page of the reply, or file, counted from 1.
	Page int64 `col:"page" id:"4" key:"true" json:"page"`
	// Row of the page, counted from 1.
	RowNumber int64 `col:"row_number" id:"5" key:"true" json:"row_number"`
	// Why it was refused.
	Reason string `col:"reason" id:"6" json:"reason"`
	// Field of the row that was refused, or fields, separated by commas; empty text: the row as a whole.
	Field string `col:"field" id:"7" json:"field"`
	// The row's own JSON, cut where it is very long.
	Raw string `col:"raw" id:"8" json:"raw"`
	Sighting
}

// Note is a difference between the stored data and what the service states of it or promises to send.
type Note struct {
	// Short name of the account in this warehouse.
	AccountID string `col:"account_id" id:"1" key:"true"`
	// Name of the note, as spendsync repair accept takes it.
	Name string `col:"note" id:"2" key:"true"`
	// Whether the note ends no run with exit 4: a person has accepted it, and it has not grown since.
	IsStanding bool `col:"is_standing" id:"3"`
	// accepted: a person has accepted it. NULL: nobody has.
	Decision Null[string] `col:"decision" id:"4"`
	// Runs that saw the difference.
	Runs int64 `col:"runs" id:"5"`
	// When a run first saw it.
	FirstSeenAt Instant `col:"first_seen_at" id:"6"`
	// When a run last saw it. One that nobody has accepted is forgotten once it is gone, at the latest after a week.
	LastSeenAt Instant `col:"last_seen_at" id:"7"`
	// What differs, as the last run that saw it found it.
	Message string `col:"message" id:"8"`
	// Size of the largest difference in percent, rounded up: of the sum, or of the rows of a day. NULL: it has none.
	SizePercent Null[int64] `col:"size_percent" id:"10" since:"12"`
	// Size up to which it is accepted. NULL: it is not.
	AcceptedPercent Null[int64] `col:"accepted_percent" id:"11" since:"12"`
	// When it was accepted. NULL: it is not.
	AcceptedAt Null[Instant] `col:"accepted_at" id:"12" since:"12"`
	// Run that last saw it.
	RunID string `col:"_run_id" id:"9"`
}

// NoteAccepted is the value of Note.Decision.
const NoteAccepted = "accepted"

// File is one published file.
type File struct {
	// Account whose file it is.
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

// The tables of schema ops. They are made from the manifest and the ledger.
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
		"Each ends every run with exit 4 until it is gone or a person accepts it up to its size.")
	Files = Define[File]("ops.file", InMemory, "The published files behind this generation, as the "+
		"manifest names them.")
)

// Copy is a table of schema ops that is written as Parquet, too, so that a reader of the
// files alone can tell 0 from unknown. Its rows are those of the other, so a table of that
// name is in no DuckDB file.
type Copy struct {
	*Table
	Of *Table
}

// The copies: their files are as of the generation that wrote them.
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
	Copies = []Copy{{CoverageFiles.Table, Coverage.Table}, {RunFiles.Table, Runs.Table}}
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

// ReachDays is how many days before today, in Chicago, the spend report can be
// asked for. Source: the service's description, limits of the report.
const ReachDays = 32

// DaysUntilUnreachable is how many days, today included, are left in which the
// report can be asked for day d. It is 0 when d can no longer be read.
func DaysUntilUnreachable(d, today Date) int64 {
	return max(0, int64(d)+ReachDays+1-int64(today))
}
