CREATE TABLE IF NOT EXISTS "main"."spend_daily" (
  "account_id" VARCHAR NOT NULL,
  "report_date" DATE NOT NULL,
  "campaign_id" VARCHAR NOT NULL,
  "creative_id" VARCHAR NOT NULL,
  "source_id" VARCHAR NOT NULL,
  "campaign_name" VARCHAR NOT NULL,
  "spend" DECIMAL(18,6) NOT NULL,
  "clicks" BIGINT,
  "impressions" BIGINT,
  "conversions" BIGINT,
  "_first_seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "_changed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."spend_daily" IS 'Spend per Chicago day, campaign, creative and source, as the service last reported it. On a day covered by ops.day_coverage a missing row means zero; on any other day it means unknown.';
COMMENT ON COLUMN "main"."spend_daily"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."spend_daily"."report_date" IS 'Chicago calendar day of the spend.';
COMMENT ON COLUMN "main"."spend_daily"."campaign_id" IS 'Campaign that paid.';
COMMENT ON COLUMN "main"."spend_daily"."creative_id" IS 'Creative shown. Empty text where the report names none.';
COMMENT ON COLUMN "main"."spend_daily"."source_id" IS 'Traffic source paid. Empty text where the report names none, as for creatives without spend.';
COMMENT ON COLUMN "main"."spend_daily"."campaign_name" IS 'Name of the campaign as the report gave it when the row was last changed.';
COMMENT ON COLUMN "main"."spend_daily"."spend" IS 'US dollars, exact.';
COMMENT ON COLUMN "main"."spend_daily"."clicks" IS 'Click events. NULL: the report gave none; 0: there were none.';
COMMENT ON COLUMN "main"."spend_daily"."impressions" IS 'Times shown. NULL: the report gave none; 0: there were none.';
COMMENT ON COLUMN "main"."spend_daily"."conversions" IS 'Conversions counted so far; they keep arriving for days. NULL: the report gave none; 0: none yet.';
COMMENT ON COLUMN "main"."spend_daily"."_first_seen_at" IS 'When the row was first read.';
COMMENT ON COLUMN "main"."spend_daily"."_changed_at" IS 'When a value of the row was last read as different.';
COMMENT ON COLUMN "main"."spend_daily"."_run_id" IS 'Run that last changed the row.';

CREATE TABLE IF NOT EXISTS "main"."spend_change" (
  "account_id" VARCHAR NOT NULL,
  "report_date" DATE NOT NULL,
  "campaign_id" VARCHAR NOT NULL,
  "creative_id" VARCHAR NOT NULL,
  "source_id" VARCHAR NOT NULL,
  "seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "op" VARCHAR NOT NULL,
  "old_spend" DECIMAL(18,6),
  "new_spend" DECIMAL(18,6),
  "old_clicks" BIGINT,
  "new_clicks" BIGINT,
  "old_impressions" BIGINT,
  "new_impressions" BIGINT,
  "old_conversions" BIGINT,
  "new_conversions" BIGINT,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."spend_change" IS 'Every difference between a finished day as stored and as read again: old and new numbers, and when they were seen. The first read of a day and the growth of a day that was not over write no line.';
COMMENT ON COLUMN "main"."spend_change"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."spend_change"."report_date" IS 'Chicago calendar day whose numbers changed.';
COMMENT ON COLUMN "main"."spend_change"."campaign_id" IS 'Campaign of the row.';
COMMENT ON COLUMN "main"."spend_change"."creative_id" IS 'Creative of the row.';
COMMENT ON COLUMN "main"."spend_change"."source_id" IS 'Source of the row.';
COMMENT ON COLUMN "main"."spend_change"."seen_at" IS 'When the difference was read. The change itself lies between the previous read of the day and this.';
COMMENT ON COLUMN "main"."spend_change"."op" IS 'insert: the row appeared; update: its numbers changed; delete: it vanished.';
COMMENT ON COLUMN "main"."spend_change"."old_spend" IS 'US dollars before. NULL on insert.';
COMMENT ON COLUMN "main"."spend_change"."new_spend" IS 'US dollars after. NULL on delete.';
COMMENT ON COLUMN "main"."spend_change"."old_clicks" IS 'Clicks before.';
COMMENT ON COLUMN "main"."spend_change"."new_clicks" IS 'Clicks after.';
COMMENT ON COLUMN "main"."spend_change"."old_impressions" IS 'Impressions before.';
COMMENT ON COLUMN "main"."spend_change"."new_impressions" IS 'Impressions after.';
COMMENT ON COLUMN "main"."spend_change"."old_conversions" IS 'Conversions before.';
COMMENT ON COLUMN "main"."spend_change"."new_conversions" IS 'Conversions after.';
COMMENT ON COLUMN "main"."spend_change"."_run_id" IS 'Run that saw the change.';

CREATE TABLE IF NOT EXISTS "main"."calendar" (
  "account_id" VARCHAR NOT NULL,
  "report_date" DATE NOT NULL,
  "month" DATE NOT NULL,
  "iso_week" VARCHAR NOT NULL,
  "day_of_week" BIGINT NOT NULL,
  "is_weekend" BOOLEAN NOT NULL,
  "starts_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "ends_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "hours" BIGINT NOT NULL,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."calendar" IS 'Chicago days with their exact bounds, for every account, from the year of its first stored day to the end of next year.';
COMMENT ON COLUMN "main"."calendar"."account_id" IS 'Short name of the account in this warehouse; join on it too.';
COMMENT ON COLUMN "main"."calendar"."report_date" IS 'Chicago calendar day.';
COMMENT ON COLUMN "main"."calendar"."month" IS 'First day of the month.';
COMMENT ON COLUMN "main"."calendar"."iso_week" IS 'ISO 8601 week, such as 2026-W47.';
COMMENT ON COLUMN "main"."calendar"."day_of_week" IS '1 Monday to 7 Sunday.';
COMMENT ON COLUMN "main"."calendar"."is_weekend" IS 'Saturday or Sunday.';
COMMENT ON COLUMN "main"."calendar"."starts_at" IS 'First instant of the day in Chicago.';
COMMENT ON COLUMN "main"."calendar"."ends_at" IS 'First instant after the day.';
COMMENT ON COLUMN "main"."calendar"."hours" IS 'Length of the day: 24, or 23 and 25 when the clocks change.';
COMMENT ON COLUMN "main"."calendar"."_run_id" IS 'Run that added the day.';

CREATE TABLE IF NOT EXISTS "ops"."day_coverage" (
  "account_id" VARCHAR NOT NULL,
  "report_date" DATE NOT NULL,
  "state" VARCHAR NOT NULL,
  "first_read_at" TIMESTAMP WITH TIME ZONE,
  "last_read_at" TIMESTAMP WITH TIME ZONE,
  "reads" BIGINT NOT NULL,
  "rows" BIGINT NOT NULL,
  "spend" DECIMAL(18,6),
  "clicks" BIGINT,
  "control_total_state" VARCHAR NOT NULL,
  "content_hash" VARCHAR,
  "days_until_unreachable" BIGINT NOT NULL,
  "_run_id" VARCHAR
);
COMMENT ON TABLE "ops"."day_coverage" IS 'How well each Chicago day is known. A day that is open, complete or final is covered: there a missing row of spend_daily means zero.';
COMMENT ON COLUMN "ops"."day_coverage"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "ops"."day_coverage"."report_date" IS 'Chicago calendar day.';
COMMENT ON COLUMN "ops"."day_coverage"."state" IS 'open: stored, the day goes on; complete: stored after it was over, may be restated; final: complete and beyond the reach of the report; partial: stored, but last read before it was over; missing: not proven yet, still readable; lost: never proven and no longer readable.';
COMMENT ON COLUMN "ops"."day_coverage"."first_read_at" IS 'When the first proven read began. NULL: none yet.';
COMMENT ON COLUMN "ops"."day_coverage"."last_read_at" IS 'When the last proven read began. NULL: none yet.';
COMMENT ON COLUMN "ops"."day_coverage"."reads" IS 'Proven reads.';
COMMENT ON COLUMN "ops"."day_coverage"."rows" IS 'Rows stored for the day.';
COMMENT ON COLUMN "ops"."day_coverage"."spend" IS 'US dollars stored for the day. NULL: unknown.';
COMMENT ON COLUMN "ops"."day_coverage"."clicks" IS 'Clicks stored for the day. NULL: unknown.';
COMMENT ON COLUMN "ops"."day_coverage"."control_total_state" IS 'matched: the service''s own total of the day agrees; none: the service gives no total per day; open: the day was not over; unread: no proven read.';
COMMENT ON COLUMN "ops"."day_coverage"."content_hash" IS 'SHA-256 of the day''s rows as read, in key order.';
COMMENT ON COLUMN "ops"."day_coverage"."days_until_unreachable" IS 'Days left in which the report can be asked for this day, today included; 0: no more. Counted when the generation was published.';
COMMENT ON COLUMN "ops"."day_coverage"."_run_id" IS 'Run of the last proven read.';

CREATE TABLE IF NOT EXISTS "ops"."run" (
  "account_id" VARCHAR NOT NULL,
  "command" VARCHAR NOT NULL,
  "started_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "finished_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "exit_code" BIGINT NOT NULL,
  "outcome" VARCHAR NOT NULL,
  "generation" BIGINT NOT NULL,
  "published" BOOLEAN NOT NULL,
  "days_planned" BIGINT NOT NULL,
  "days_proven" BIGINT NOT NULL,
  "days_changed" BIGINT NOT NULL,
  "rows_read" BIGINT NOT NULL,
  "rows_inserted" BIGINT NOT NULL,
  "rows_updated" BIGINT NOT NULL,
  "rows_deleted" BIGINT NOT NULL,
  "restatements" BIGINT NOT NULL,
  "requests" BIGINT NOT NULL,
  "retries" BIGINT NOT NULL,
  "bytes_read" BIGINT NOT NULL,
  "throttled_ms" BIGINT NOT NULL,
  "version" VARCHAR NOT NULL,
  "message" VARCHAR,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "ops"."run" IS 'Every run: what it read, what it changed, how it ended.';
COMMENT ON COLUMN "ops"."run"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "ops"."run"."command" IS 'Command that ran: sync, backfill, replay, rebuild.';
COMMENT ON COLUMN "ops"."run"."started_at" IS 'When the run began.';
COMMENT ON COLUMN "ops"."run"."finished_at" IS 'When the run had read everything it could; publishing follows.';
COMMENT ON COLUMN "ops"."run"."exit_code" IS 'Exit code, as listed in the README.';
COMMENT ON COLUMN "ops"."run"."outcome" IS 'What the exit code means, in one line.';
COMMENT ON COLUMN "ops"."run"."generation" IS 'Generation that the run published, or that it left in place.';
COMMENT ON COLUMN "ops"."run"."published" IS 'Whether the run published a generation.';
COMMENT ON COLUMN "ops"."run"."days_planned" IS 'Report days to be read.';
COMMENT ON COLUMN "ops"."run"."days_proven" IS 'Report days proven complete.';
COMMENT ON COLUMN "ops"."run"."days_changed" IS 'Report days whose content was new or different.';
COMMENT ON COLUMN "ops"."run"."rows_read" IS 'Rows of the proven days.';
COMMENT ON COLUMN "ops"."run"."rows_inserted" IS 'Rows that were not stored before.';
COMMENT ON COLUMN "ops"."run"."rows_updated" IS 'Stored rows with other values.';
COMMENT ON COLUMN "ops"."run"."rows_deleted" IS 'Stored rows that the service no longer reports.';
COMMENT ON COLUMN "ops"."run"."restatements" IS 'Lines added to spend_change.';
COMMENT ON COLUMN "ops"."run"."requests" IS 'HTTP requests sent, retries included.';
COMMENT ON COLUMN "ops"."run"."retries" IS 'HTTP requests that repeated one.';
COMMENT ON COLUMN "ops"."run"."bytes_read" IS 'Bytes of the replies, decompressed.';
COMMENT ON COLUMN "ops"."run"."throttled_ms" IS 'Milliseconds that requests waited because the service asked for it.';
COMMENT ON COLUMN "ops"."run"."version" IS 'Version of spendsync.';
COMMENT ON COLUMN "ops"."run"."message" IS 'What went wrong, where something did.';
COMMENT ON COLUMN "ops"."run"."_run_id" IS 'Identity of the run; sorts by time.';

CREATE TABLE IF NOT EXISTS "ops"."step" (
  "account_id" VARCHAR NOT NULL,
  "stream" VARCHAR NOT NULL,
  "unit" VARCHAR NOT NULL,
  "started_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "finished_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "reason" VARCHAR NOT NULL,
  "outcome" VARCHAR NOT NULL,
  "attempts" BIGINT NOT NULL,
  "pages" BIGINT NOT NULL,
  "rows" BIGINT NOT NULL,
  "bytes" BIGINT NOT NULL,
  "rounded_values" BIGINT NOT NULL,
  "message" VARCHAR,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "ops"."step" IS 'Every unit of work of every run, with what went wrong.';
COMMENT ON COLUMN "ops"."step"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "ops"."step"."stream" IS 'What was read, such as spend_report.';
COMMENT ON COLUMN "ops"."step"."unit" IS 'Which part of it, such as the day.';
COMMENT ON COLUMN "ops"."step"."started_at" IS 'When its reading began.';
COMMENT ON COLUMN "ops"."step"."finished_at" IS 'When it was done.';
COMMENT ON COLUMN "ops"."step"."reason" IS 'Why it was read.';
COMMENT ON COLUMN "ops"."step"."outcome" IS 'stored: new or different; unchanged: the same as stored; failed: not read or not proven; unreachable: the day has left the reach.';
COMMENT ON COLUMN "ops"."step"."attempts" IS 'Times the whole unit was read.';
COMMENT ON COLUMN "ops"."step"."pages" IS 'Pages of the proven read.';
COMMENT ON COLUMN "ops"."step"."rows" IS 'Rows of the proven read.';
COMMENT ON COLUMN "ops"."step"."bytes" IS 'Bytes of its replies, decompressed.';
COMMENT ON COLUMN "ops"."step"."rounded_values" IS 'Amounts with more than six decimals, rounded half to even.';
COMMENT ON COLUMN "ops"."step"."message" IS 'What went wrong, where something did.';
COMMENT ON COLUMN "ops"."step"."_run_id" IS 'Run that did it.';

CREATE TABLE IF NOT EXISTS "ops"."entity_read" (
  "account_id" VARCHAR NOT NULL,
  "entity_type" VARCHAR NOT NULL,
  "entity_id" VARCHAR NOT NULL,
  "field" VARCHAR NOT NULL,
  "read_state" VARCHAR NOT NULL,
  "message" VARCHAR,
  "attempted_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "ops"."entity_read" IS 'Settings that could not be read, and why.';
COMMENT ON COLUMN "ops"."entity_read"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "ops"."entity_read"."entity_type" IS 'Kind of thing: campaign, creative, source settings, listing, account.';
COMMENT ON COLUMN "ops"."entity_read"."entity_id" IS 'Its id.';
COMMENT ON COLUMN "ops"."entity_read"."field" IS 'The field that could not be read; empty text: all of it.';
COMMENT ON COLUMN "ops"."entity_read"."read_state" IS 'unreadable: the service could not say; failed: the request failed; incomplete: a listing did not end.';
COMMENT ON COLUMN "ops"."entity_read"."message" IS 'Why.';
COMMENT ON COLUMN "ops"."entity_read"."attempted_at" IS 'When it was tried.';
COMMENT ON COLUMN "ops"."entity_read"."_run_id" IS 'Run that tried.';

CREATE TABLE IF NOT EXISTS "ops"."unknown_field" (
  "account_id" VARCHAR NOT NULL,
  "stream" VARCHAR NOT NULL,
  "path" VARCHAR NOT NULL,
  "sample_type" VARCHAR NOT NULL,
  "first_seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "ops"."unknown_field" IS 'Keys in the service''s replies that its description does not name. They are kept in the raw replies.';
COMMENT ON COLUMN "ops"."unknown_field"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "ops"."unknown_field"."stream" IS 'Where it was seen, such as spend_report.';
COMMENT ON COLUMN "ops"."unknown_field"."path" IS 'Path of the key in the reply.';
COMMENT ON COLUMN "ops"."unknown_field"."sample_type" IS 'JSON type of the first value seen.';
COMMENT ON COLUMN "ops"."unknown_field"."first_seen_at" IS 'When it was first seen.';
COMMENT ON COLUMN "ops"."unknown_field"."_run_id" IS 'Run that first saw it.';

CREATE TABLE IF NOT EXISTS "ops"."file" (
  "account_id" VARCHAR NOT NULL,
  "path" VARCHAR NOT NULL,
  "kind" VARCHAR NOT NULL,
  "table_name" VARCHAR,
  "rows" BIGINT NOT NULL,
  "bytes" BIGINT NOT NULL,
  "sha256" VARCHAR NOT NULL,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "ops"."file" IS 'The published files behind this generation, as in manifest.json.';
COMMENT ON COLUMN "ops"."file"."account_id" IS 'Account whose file it is.';
COMMENT ON COLUMN "ops"."file"."path" IS 'Path below the data directory.';
COMMENT ON COLUMN "ops"."file"."kind" IS 'parquet: rows of a table; raw: a reply as received, compressed with zstd.';
COMMENT ON COLUMN "ops"."file"."table_name" IS 'Table whose rows a Parquet file holds.';
COMMENT ON COLUMN "ops"."file"."rows" IS 'Rows in the file; for a reply, rows in the reply.';
COMMENT ON COLUMN "ops"."file"."bytes" IS 'Size of the file.';
COMMENT ON COLUMN "ops"."file"."sha256" IS 'SHA-256 of the file, in hexadecimal.';
COMMENT ON COLUMN "ops"."file"."_run_id" IS 'Run that wrote the file.';

