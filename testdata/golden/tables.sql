CREATE TABLE "main"."spend_daily" (
  "account_id" VARCHAR NOT NULL USING COMPRESSION dictionary,
  "report_date" DATE NOT NULL USING COMPRESSION rle,
  "campaign_id" VARCHAR NOT NULL USING COMPRESSION dictionary,
  "creative_id" VARCHAR NOT NULL USING COMPRESSION dictionary,
  "source_id" VARCHAR NOT NULL USING COMPRESSION fsst,
  "campaign_name" VARCHAR NOT NULL USING COMPRESSION dictionary,
  "spend" DECIMAL(18,6) NOT NULL USING COMPRESSION bitpacking,
  "clicks" BIGINT USING COMPRESSION bitpacking,
  "impressions" BIGINT USING COMPRESSION bitpacking,
  "conversions" BIGINT USING COMPRESSION bitpacking,
  "_first_seen_at" TIMESTAMP WITH TIME ZONE NOT NULL USING COMPRESSION rle,
  "_changed_at" TIMESTAMP WITH TIME ZONE NOT NULL USING COMPRESSION rle,
  "_run_id" VARCHAR NOT NULL USING COMPRESSION dictionary
);
COMMENT ON TABLE "main"."spend_daily" IS 'Raw: main.spend has the days that were over, with names, settings and the conversions still to come. Spend per Chicago day, campaign, creative and source, as the service last reported it, the open day included. On a day covered by ops.day_coverage a missing row means zero; on any other day it means unknown.';
COMMENT ON COLUMN "main"."spend_daily"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."spend_daily"."report_date" IS 'Chicago calendar day of the spend.';
COMMENT ON COLUMN "main"."spend_daily"."campaign_id" IS 'Campaign of the spend.';
COMMENT ON COLUMN "main"."spend_daily"."creative_id" IS 'Creative that was shown. Empty text: the report names none.';
COMMENT ON COLUMN "main"."spend_daily"."source_id" IS 'Traffic source that was paid. Empty text: the report names none, as for creatives without spend.';
COMMENT ON COLUMN "main"."spend_daily"."campaign_name" IS 'Name of the campaign as of when the day''s file was last written. Empty text: it was not known.';
COMMENT ON COLUMN "main"."spend_daily"."spend" IS 'US dollars, exact.';
COMMENT ON COLUMN "main"."spend_daily"."clicks" IS 'Clicks. NULL: the report gave no number; 0: there were none.';
COMMENT ON COLUMN "main"."spend_daily"."impressions" IS 'Impressions. NULL: the report gave no number; 0: there were none.';
COMMENT ON COLUMN "main"."spend_daily"."conversions" IS 'Conversions so far; more arrive for days. NULL: the report gave none, or not a whole number; 0: none yet.';
COMMENT ON COLUMN "main"."spend_daily"."_first_seen_at" IS 'When the row was first read.';
COMMENT ON COLUMN "main"."spend_daily"."_changed_at" IS 'When a read last found a changed value in the row.';
COMMENT ON COLUMN "main"."spend_daily"."_run_id" IS 'Run that last changed the row.';

CREATE TABLE "main"."spend_change" (
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
COMMENT ON TABLE "main"."spend_change" IS 'History: what changed, not what was spent. Every difference between a finished day as stored and as read again: old and new numbers, and when they were seen. The first read of a day and the growth of a day that was not over write no line; rows of a day that was known to be empty do.';
COMMENT ON COLUMN "main"."spend_change"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."spend_change"."report_date" IS 'Chicago calendar day whose numbers changed.';
COMMENT ON COLUMN "main"."spend_change"."campaign_id" IS 'Campaign of the row.';
COMMENT ON COLUMN "main"."spend_change"."creative_id" IS 'Creative of the row.';
COMMENT ON COLUMN "main"."spend_change"."source_id" IS 'Source of the row.';
COMMENT ON COLUMN "main"."spend_change"."seen_at" IS 'When the difference was read. The change itself happened between the previous read of the day and this read.';
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

CREATE TABLE "main"."spend_intraday" (
  "account_id" VARCHAR NOT NULL,
  "report_date" DATE NOT NULL,
  "seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "campaign_id" VARCHAR NOT NULL,
  "spend" DECIMAL(18,6) NOT NULL,
  "clicks" BIGINT,
  "impressions" BIGINT,
  "conversions" BIGINT,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."spend_intraday" IS 'Raw: each line has all that was spent since midnight, so lines are not to be added up. What each campaign had spent at each proven read of a day that was not over. A read that found the day as it was before has no lines. The first lines of a day hold all since midnight, and what came after its last read is in spend_daily alone.';
COMMENT ON COLUMN "main"."spend_intraday"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."spend_intraday"."report_date" IS 'Chicago calendar day, which was not over at this read.';
COMMENT ON COLUMN "main"."spend_intraday"."seen_at" IS 'When the read began.';
COMMENT ON COLUMN "main"."spend_intraday"."campaign_id" IS 'Campaign of the spend.';
COMMENT ON COLUMN "main"."spend_intraday"."spend" IS 'US dollars from the start of the day up to this read. A running total, so do not add it up over reads.';
COMMENT ON COLUMN "main"."spend_intraday"."clicks" IS 'Clicks up to this read. NULL: some row with spend lacked the number.';
COMMENT ON COLUMN "main"."spend_intraday"."impressions" IS 'Impressions up to this read. NULL: some row with spend lacked the number.';
COMMENT ON COLUMN "main"."spend_intraday"."conversions" IS 'Conversions up to this read. NULL: some row with spend lacked the number.';
COMMENT ON COLUMN "main"."spend_intraday"."_run_id" IS 'Run that made the read.';

CREATE TABLE "main"."campaign_history" (
  "account_id" VARCHAR NOT NULL,
  "campaign_id" VARCHAR NOT NULL,
  "version_no" BIGINT NOT NULL,
  "valid_from" TIMESTAMP WITH TIME ZONE NOT NULL,
  "valid_to" TIMESTAMP WITH TIME ZONE NOT NULL,
  "is_current" BOOLEAN NOT NULL,
  "is_deleted" BOOLEAN NOT NULL,
  "changed_after" TIMESTAMP WITH TIME ZONE,
  "last_confirmed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "change_type" VARCHAR NOT NULL,
  "changed_columns" VARCHAR,
  "read_state" VARCHAR NOT NULL,
  "name" VARCHAR,
  "status" VARCHAR,
  "default_bid" DECIMAL(12,6),
  "daily_spend_limit" DECIMAL(18,6),
  "target_cpa" DECIMAL(18,6),
  "start_at" TIMESTAMP WITH TIME ZONE,
  "end_at" TIMESTAMP WITH TIME ZONE,
  "country" VARCHAR,
  "states" VARCHAR,
  "platforms" VARCHAR,
  "subscribed_more_than_minutes_ago" BIGINT,
  "subscribed_less_than_minutes_ago" BIGINT,
  "min_age" BIGINT,
  "max_age" BIGINT,
  "gender" VARCHAR,
  "source_mode" VARCHAR,
  "unsupported_targeting" BOOLEAN,
  "raw" VARCHAR,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."campaign_history" IS 'History: main.campaign has the settings of now, campaign_at(day) those of a day, main.spend both beside the spend. Every version of every campaign''s settings that we saw, one row a version: a join with spend by campaign_id counts the spend once for each version.';
COMMENT ON COLUMN "main"."campaign_history"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."campaign_history"."campaign_id" IS 'Campaign.';
COMMENT ON COLUMN "main"."campaign_history"."version_no" IS 'Version of this entity, counted from 1.';
COMMENT ON COLUMN "main"."campaign_history"."valid_from" IS 'When this version was first seen: the end of the reading that saw it.';
COMMENT ON COLUMN "main"."campaign_history"."valid_to" IS 'End of this version, exclusive: when the next version was first seen; 9999-12-31 for the newest version.';
COMMENT ON COLUMN "main"."campaign_history"."is_current" IS 'Whether this is the newest version.';
COMMENT ON COLUMN "main"."campaign_history"."is_deleted" IS 'Whether the entity is deleted: two complete listings in a row lack it and the service answers not_found for its ID. A source rule is deleted when two readings in a row lack it.';
COMMENT ON COLUMN "main"."campaign_history"."changed_after" IS 'When the previous version was last confirmed: the change was after this time, and at valid_from or before. NULL: there is no previous version.';
COMMENT ON COLUMN "main"."campaign_history"."last_confirmed_at" IS 'When this version was last confirmed: all its values were read at or after this time. For a deleted entity: when it was last found missing. In a current version this is as of the last write of its row; the views have the time of the last reading.';
COMMENT ON COLUMN "main"."campaign_history"."change_type" IS 'first_seen; first_read: known before, now readable; changed; undescribed: only the JSON in raw changed, under a key without a column; deleted; restored; stub: known only from the report.';
COMMENT ON COLUMN "main"."campaign_history"."changed_columns" IS 'Columns that differ from the previous version, sorted, comma-joined.';
COMMENT ON COLUMN "main"."campaign_history"."read_state" IS 'ok; partial: some fields have never been readable; unreadable: no field has ever been readable; stub: never read.';
COMMENT ON COLUMN "main"."campaign_history"."name" IS 'Name.';
COMMENT ON COLUMN "main"."campaign_history"."status" IS 'active, paused, archived or rejected.';
COMMENT ON COLUMN "main"."campaign_history"."default_bid" IS 'US dollars per click.';
COMMENT ON COLUMN "main"."campaign_history"."daily_spend_limit" IS 'US dollars per day. NULL: no limit.';
COMMENT ON COLUMN "main"."campaign_history"."target_cpa" IS 'US dollars per conversion. NULL: source optimization is off.';
COMMENT ON COLUMN "main"."campaign_history"."start_at" IS 'When delivery may start.';
COMMENT ON COLUMN "main"."campaign_history"."end_at" IS 'When delivery stops. NULL: never.';
COMMENT ON COLUMN "main"."campaign_history"."country" IS 'Audience: country. NULL: everywhere.';
COMMENT ON COLUMN "main"."campaign_history"."states" IS 'Audience: US states, sorted, comma-joined.';
COMMENT ON COLUMN "main"."campaign_history"."platforms" IS 'Audience: platforms, sorted, comma-joined.';
COMMENT ON COLUMN "main"."campaign_history"."subscribed_more_than_minutes_ago" IS 'Audience: subscribed more than this many minutes ago.';
COMMENT ON COLUMN "main"."campaign_history"."subscribed_less_than_minutes_ago" IS 'Audience: subscribed less than this many minutes ago.';
COMMENT ON COLUMN "main"."campaign_history"."min_age" IS 'Audience: minimum age in years.';
COMMENT ON COLUMN "main"."campaign_history"."max_age" IS 'Audience: maximum age in years.';
COMMENT ON COLUMN "main"."campaign_history"."gender" IS 'Audience: M or F. NULL: both.';
COMMENT ON COLUMN "main"."campaign_history"."source_mode" IS 'block_list: buys everywhere except blocked sources; allow_list: only from allowed ones.';
COMMENT ON COLUMN "main"."campaign_history"."unsupported_targeting" IS 'Whether the audience has exclusion rules that only the dashboard shows.';
COMMENT ON COLUMN "main"."campaign_history"."raw" IS 'JSON of the campaign when this version was first read, or when the JSON last gained a key.';
COMMENT ON COLUMN "main"."campaign_history"."_run_id" IS 'Run that last changed the row.';

CREATE TABLE "main"."campaign_delivery_history" (
  "account_id" VARCHAR NOT NULL,
  "campaign_id" VARCHAR NOT NULL,
  "version_no" BIGINT NOT NULL,
  "valid_from" TIMESTAMP WITH TIME ZONE NOT NULL,
  "valid_to" TIMESTAMP WITH TIME ZONE NOT NULL,
  "is_current" BOOLEAN NOT NULL,
  "is_deleted" BOOLEAN NOT NULL,
  "changed_after" TIMESTAMP WITH TIME ZONE,
  "last_confirmed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "change_type" VARCHAR NOT NULL,
  "changed_columns" VARCHAR,
  "read_state" VARCHAR NOT NULL,
  "delivery_status" VARCHAR,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."campaign_delivery_history" IS 'History: main.campaign has the delivery status of now. Every delivery status of every campaign that we saw, one row a version. A status that could not be read is no change.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."campaign_id" IS 'Campaign.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."version_no" IS 'Version of this entity, counted from 1.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."valid_from" IS 'When this version was first seen: the end of the reading that saw it.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."valid_to" IS 'End of this version, exclusive: when the next version was first seen; 9999-12-31 for the newest version.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."is_current" IS 'Whether this is the newest version.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."is_deleted" IS 'Whether the entity is deleted: two complete listings in a row lack it and the service answers not_found for its ID. A source rule is deleted when two readings in a row lack it.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."changed_after" IS 'When the previous version was last confirmed: the change was after this time, and at valid_from or before. NULL: there is no previous version.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."last_confirmed_at" IS 'When this version was last confirmed: all its values were read at or after this time. For a deleted entity: when it was last found missing. In a current version this is as of the last write of its row; the views have the time of the last reading.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."change_type" IS 'first_seen; first_read: known before, now readable; changed; undescribed: only the JSON in raw changed, under a key without a column; deleted; restored; stub: known only from the report.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."changed_columns" IS 'Columns that differ from the previous version, sorted, comma-joined.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."read_state" IS 'ok; partial: some fields have never been readable; unreadable: no field has ever been readable; stub: never read.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."delivery_status" IS 'Why the campaign delivers or does not, in the service''s words.';
COMMENT ON COLUMN "main"."campaign_delivery_history"."_run_id" IS 'Run that last changed the row.';

CREATE TABLE "main"."creative_history" (
  "account_id" VARCHAR NOT NULL,
  "creative_id" VARCHAR NOT NULL,
  "version_no" BIGINT NOT NULL,
  "valid_from" TIMESTAMP WITH TIME ZONE NOT NULL,
  "valid_to" TIMESTAMP WITH TIME ZONE NOT NULL,
  "is_current" BOOLEAN NOT NULL,
  "is_deleted" BOOLEAN NOT NULL,
  "changed_after" TIMESTAMP WITH TIME ZONE,
  "last_confirmed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "change_type" VARCHAR NOT NULL,
  "changed_columns" VARCHAR,
  "read_state" VARCHAR NOT NULL,
  "campaign_id" VARCHAR,
  "title" VARCHAR,
  "message" VARCHAR,
  "link" VARCHAR,
  "image_id" VARCHAR,
  "icon_id" VARCHAR,
  "button1" VARCHAR,
  "button2" VARCHAR,
  "status" VARCHAR,
  "rejection_reasons" VARCHAR,
  "rejection_comment" VARCHAR,
  "image_url" VARCHAR,
  "icon_url" VARCHAR,
  "raw" VARCHAR,
  "pending_status" VARCHAR,
  "pending_title" VARCHAR,
  "pending_message" VARCHAR,
  "pending_link" VARCHAR,
  "pending_image_id" VARCHAR,
  "pending_icon_id" VARCHAR,
  "pending_button1" VARCHAR,
  "pending_button2" VARCHAR,
  "pending_rejection_reasons" VARCHAR,
  "pending_rejection_comment" VARCHAR,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."creative_history" IS 'History: main.creative has the creatives of now. Every version of every creative that we saw, with its review, one row a version: a join with spend by creative_id counts the spend once for each version.';
COMMENT ON COLUMN "main"."creative_history"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."creative_history"."creative_id" IS 'Creative.';
COMMENT ON COLUMN "main"."creative_history"."version_no" IS 'Version of this entity, counted from 1.';
COMMENT ON COLUMN "main"."creative_history"."valid_from" IS 'When this version was first seen: the end of the reading that saw it.';
COMMENT ON COLUMN "main"."creative_history"."valid_to" IS 'End of this version, exclusive: when the next version was first seen; 9999-12-31 for the newest version.';
COMMENT ON COLUMN "main"."creative_history"."is_current" IS 'Whether this is the newest version.';
COMMENT ON COLUMN "main"."creative_history"."is_deleted" IS 'Whether the entity is deleted: two complete listings in a row lack it and the service answers not_found for its ID. A source rule is deleted when two readings in a row lack it.';
COMMENT ON COLUMN "main"."creative_history"."changed_after" IS 'When the previous version was last confirmed: the change was after this time, and at valid_from or before. NULL: there is no previous version.';
COMMENT ON COLUMN "main"."creative_history"."last_confirmed_at" IS 'When this version was last confirmed: all its values were read at or after this time. For a deleted entity: when it was last found missing. In a current version this is as of the last write of its row; the views have the time of the last reading.';
COMMENT ON COLUMN "main"."creative_history"."change_type" IS 'first_seen; first_read: known before, now readable; changed; undescribed: only the JSON in raw changed, under a key without a column; deleted; restored; stub: known only from the report.';
COMMENT ON COLUMN "main"."creative_history"."changed_columns" IS 'Columns that differ from the previous version, sorted, comma-joined.';
COMMENT ON COLUMN "main"."creative_history"."read_state" IS 'ok; partial: some fields have never been readable; unreadable: no field has ever been readable; stub: never read.';
COMMENT ON COLUMN "main"."creative_history"."campaign_id" IS 'Campaign that the creative belongs to; never changes.';
COMMENT ON COLUMN "main"."creative_history"."title" IS 'Title; may hold dynamic text.';
COMMENT ON COLUMN "main"."creative_history"."message" IS 'Message; may hold dynamic text.';
COMMENT ON COLUMN "main"."creative_history"."link" IS 'Where a click leads; may hold tracking macros.';
COMMENT ON COLUMN "main"."creative_history"."image_id" IS 'Large image. NULL: none.';
COMMENT ON COLUMN "main"."creative_history"."icon_id" IS 'Icon.';
COMMENT ON COLUMN "main"."creative_history"."button1" IS 'Text of the first button. NULL: none.';
COMMENT ON COLUMN "main"."creative_history"."button2" IS 'Text of the second button. NULL: none.';
COMMENT ON COLUMN "main"."creative_history"."status" IS 'active, paused, pending_review, rejected, draft or archived.';
COMMENT ON COLUMN "main"."creative_history"."rejection_reasons" IS 'Reasons for the rejection, sorted, comma-joined.';
COMMENT ON COLUMN "main"."creative_history"."rejection_comment" IS 'The reviewer''s comment.';
COMMENT ON COLUMN "main"."creative_history"."image_url" IS 'Address of the image, from the report. The newest known one; a change makes no version.';
COMMENT ON COLUMN "main"."creative_history"."icon_url" IS 'Address of the icon, from the report. The newest known one; a change makes no version.';
COMMENT ON COLUMN "main"."creative_history"."raw" IS 'JSON of the creative when this version was first read, or when the JSON last gained a key.';
COMMENT ON COLUMN "main"."creative_history"."pending_status" IS 'Status of the edited version of a running creative: pending_review while the edit awaits approval, rejected if the edit was refused. NULL: there is no edited version.';
COMMENT ON COLUMN "main"."creative_history"."pending_title" IS 'Title of the edited version.';
COMMENT ON COLUMN "main"."creative_history"."pending_message" IS 'Message of the edited version.';
COMMENT ON COLUMN "main"."creative_history"."pending_link" IS 'Where a click on the edited version leads.';
COMMENT ON COLUMN "main"."creative_history"."pending_image_id" IS 'Large image of the edited version. NULL: none.';
COMMENT ON COLUMN "main"."creative_history"."pending_icon_id" IS 'Icon of the edited version.';
COMMENT ON COLUMN "main"."creative_history"."pending_button1" IS 'Text of the first button of the edited version. NULL: none.';
COMMENT ON COLUMN "main"."creative_history"."pending_button2" IS 'Text of the second button of the edited version. NULL: none.';
COMMENT ON COLUMN "main"."creative_history"."pending_rejection_reasons" IS 'Reasons for the rejection of the edited version, sorted, comma-joined.';
COMMENT ON COLUMN "main"."creative_history"."pending_rejection_comment" IS 'The reviewer''s comment on the edited version.';
COMMENT ON COLUMN "main"."creative_history"."_run_id" IS 'Run that last changed the row.';

CREATE TABLE "main"."source_rule_history" (
  "account_id" VARCHAR NOT NULL,
  "campaign_id" VARCHAR NOT NULL,
  "source_id" VARCHAR NOT NULL,
  "rule" VARCHAR NOT NULL,
  "version_no" BIGINT NOT NULL,
  "valid_from" TIMESTAMP WITH TIME ZONE NOT NULL,
  "valid_to" TIMESTAMP WITH TIME ZONE NOT NULL,
  "is_current" BOOLEAN NOT NULL,
  "is_deleted" BOOLEAN NOT NULL,
  "changed_after" TIMESTAMP WITH TIME ZONE,
  "last_confirmed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "change_type" VARCHAR NOT NULL,
  "changed_columns" VARCHAR,
  "read_state" VARCHAR NOT NULL,
  "bid" DECIMAL(12,6),
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."source_rule_history" IS 'History: main.source_rule has the rules of now. Every rule of every campaign about a source: blocked, allowed, a bid of its own, or left to source optimization, with when it held. Bids that could not be read are no change.';
COMMENT ON COLUMN "main"."source_rule_history"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."source_rule_history"."campaign_id" IS 'Campaign that has the rule.';
COMMENT ON COLUMN "main"."source_rule_history"."source_id" IS 'Source that the rule is about.';
COMMENT ON COLUMN "main"."source_rule_history"."rule" IS 'blocked, allowed, bid_override, or optimized: source optimization decides about the source.';
COMMENT ON COLUMN "main"."source_rule_history"."version_no" IS 'Version of this entity, counted from 1.';
COMMENT ON COLUMN "main"."source_rule_history"."valid_from" IS 'When this version was first seen: the end of the reading that saw it.';
COMMENT ON COLUMN "main"."source_rule_history"."valid_to" IS 'End of this version, exclusive: when the next version was first seen; 9999-12-31 for the newest version.';
COMMENT ON COLUMN "main"."source_rule_history"."is_current" IS 'Whether this is the newest version.';
COMMENT ON COLUMN "main"."source_rule_history"."is_deleted" IS 'Whether the entity is deleted: two complete listings in a row lack it and the service answers not_found for its ID. A source rule is deleted when two readings in a row lack it.';
COMMENT ON COLUMN "main"."source_rule_history"."changed_after" IS 'When the previous version was last confirmed: the change was after this time, and at valid_from or before. NULL: there is no previous version.';
COMMENT ON COLUMN "main"."source_rule_history"."last_confirmed_at" IS 'When this version was last confirmed: all its values were read at or after this time. For a deleted entity: when it was last found missing. In a current version this is as of the last write of its row; the views have the time of the last reading.';
COMMENT ON COLUMN "main"."source_rule_history"."change_type" IS 'first_seen; first_read: known before, now readable; changed; undescribed: only the JSON in raw changed, under a key without a column; deleted; restored; stub: known only from the report.';
COMMENT ON COLUMN "main"."source_rule_history"."changed_columns" IS 'Columns that differ from the previous version, sorted, comma-joined.';
COMMENT ON COLUMN "main"."source_rule_history"."read_state" IS 'ok; partial: some fields have never been readable; unreadable: no field has ever been readable; stub: never read.';
COMMENT ON COLUMN "main"."source_rule_history"."bid" IS 'Bid of a bid_override, in US dollars per click.';
COMMENT ON COLUMN "main"."source_rule_history"."_run_id" IS 'Run that last changed the row.';

CREATE TABLE "main"."source_mode_history" (
  "account_id" VARCHAR NOT NULL,
  "campaign_id" VARCHAR NOT NULL,
  "version_no" BIGINT NOT NULL,
  "valid_from" TIMESTAMP WITH TIME ZONE NOT NULL,
  "valid_to" TIMESTAMP WITH TIME ZONE NOT NULL,
  "is_current" BOOLEAN NOT NULL,
  "is_deleted" BOOLEAN NOT NULL,
  "changed_after" TIMESTAMP WITH TIME ZONE,
  "last_confirmed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "change_type" VARCHAR NOT NULL,
  "changed_columns" VARCHAR,
  "read_state" VARCHAR NOT NULL,
  "source_mode" VARCHAR,
  "bids_last_read_at" TIMESTAMP WITH TIME ZONE,
  "raw" VARCHAR,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."source_mode_history" IS 'History: main.source_mode has the modes of now. How each campaign chooses its sources, with when that held, and when its bids could last be read.';
COMMENT ON COLUMN "main"."source_mode_history"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."source_mode_history"."campaign_id" IS 'Campaign.';
COMMENT ON COLUMN "main"."source_mode_history"."version_no" IS 'Version of this entity, counted from 1.';
COMMENT ON COLUMN "main"."source_mode_history"."valid_from" IS 'When this version was first seen: the end of the reading that saw it.';
COMMENT ON COLUMN "main"."source_mode_history"."valid_to" IS 'End of this version, exclusive: when the next version was first seen; 9999-12-31 for the newest version.';
COMMENT ON COLUMN "main"."source_mode_history"."is_current" IS 'Whether this is the newest version.';
COMMENT ON COLUMN "main"."source_mode_history"."is_deleted" IS 'Whether the entity is deleted: two complete listings in a row lack it and the service answers not_found for its ID. A source rule is deleted when two readings in a row lack it.';
COMMENT ON COLUMN "main"."source_mode_history"."changed_after" IS 'When the previous version was last confirmed: the change was after this time, and at valid_from or before. NULL: there is no previous version.';
COMMENT ON COLUMN "main"."source_mode_history"."last_confirmed_at" IS 'When this version was last confirmed: all its values were read at or after this time. For a deleted entity: when it was last found missing. In a current version this is as of the last write of its row; the views have the time of the last reading.';
COMMENT ON COLUMN "main"."source_mode_history"."change_type" IS 'first_seen; first_read: known before, now readable; changed; undescribed: only the JSON in raw changed, under a key without a column; deleted; restored; stub: known only from the report.';
COMMENT ON COLUMN "main"."source_mode_history"."changed_columns" IS 'Columns that differ from the previous version, sorted, comma-joined.';
COMMENT ON COLUMN "main"."source_mode_history"."read_state" IS 'ok; partial: some fields have never been readable; unreadable: no field has ever been readable; stub: never read.';
COMMENT ON COLUMN "main"."source_mode_history"."source_mode" IS 'block_list: buys everywhere except blocked sources; allow_list: only from allowed ones.';
COMMENT ON COLUMN "main"."source_mode_history"."bids_last_read_at" IS 'When the bids per source were last readable, as of version 11 of the tables. The views have the time of the last reading.';
COMMENT ON COLUMN "main"."source_mode_history"."raw" IS 'JSON of the source settings when this version was first read, or when the JSON last gained a key.';
COMMENT ON COLUMN "main"."source_mode_history"."_run_id" IS 'Run that last changed the row.';

CREATE TABLE "main"."reading" (
  "account_id" VARCHAR NOT NULL,
  "campaign_id" VARCHAR NOT NULL,
  "part" VARCHAR NOT NULL,
  "entity_id" VARCHAR NOT NULL,
  "read_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."reading" IS 'When each part of each campaign''s settings was last read in full: last_confirmed_at of the views of now and of the views of versions follows from it. It differs after every run, and nothing else does.';
COMMENT ON COLUMN "main"."reading"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."reading"."campaign_id" IS 'Campaign that was read.';
COMMENT ON COLUMN "main"."reading"."part" IS 'Part that was read: campaign, delivery, creative (the list of creatives), source_mode, blocked, allowed, bid_override or optimized.';
COMMENT ON COLUMN "main"."reading"."entity_id" IS 'Empty text: the entire part. Otherwise the ID of a creative or a source that was last confirmed at another time than the rest of the part.';
COMMENT ON COLUMN "main"."reading"."read_at" IS 'When the last reading of the part began: its values were read at or after this time.';
COMMENT ON COLUMN "main"."reading"."_run_id" IS 'Run that read the part.';

CREATE TABLE "main"."account_snapshot" (
  "account_id" VARCHAR NOT NULL,
  "seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "balance" DECIMAL(18,6),
  "payment_mode" VARCHAR,
  "average_daily_spend" DECIMAL(18,6),
  "days_left" DECIMAL(18,6),
  "balance_status" VARCHAR,
  "message" VARCHAR,
  "raw" VARCHAR,
  "advertiser_id" VARCHAR,
  "auto_funding" BOOLEAN,
  "auto_funding_threshold" DECIMAL(18,6),
  "auto_funding_amount" DECIMAL(18,6),
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."account_snapshot" IS 'History: main.account has the balance of now. The account''s balance and pace each time something in it was seen to differ: a balance is not to be added up over rows.';
COMMENT ON COLUMN "main"."account_snapshot"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."account_snapshot"."seen_at" IS 'When these values were first read; they held until the seen_at of the next row.';
COMMENT ON COLUMN "main"."account_snapshot"."balance" IS 'US dollars available. A balance, so do not add it up over rows.';
COMMENT ON COLUMN "main"."account_snapshot"."payment_mode" IS 'card or prepaid wire, in the service''s words.';
COMMENT ON COLUMN "main"."account_snapshot"."average_daily_spend" IS 'Average spend in US dollars a day over the last 7 days, as the service states it.';
COMMENT ON COLUMN "main"."account_snapshot"."days_left" IS 'Days that the balance lasts at the pace of average_daily_spend, as the service states it.';
COMMENT ON COLUMN "main"."account_snapshot"."balance_status" IS 'low or depleted. NULL: no funds are needed.';
COMMENT ON COLUMN "main"."account_snapshot"."message" IS 'What to do about the balance, in the service''s words.';
COMMENT ON COLUMN "main"."account_snapshot"."raw" IS 'The three replies (me, limits, balance) as one JSON object.';
COMMENT ON COLUMN "main"."account_snapshot"."advertiser_id" IS 'The service''s own ID of the account that the API key acts on.';
COMMENT ON COLUMN "main"."account_snapshot"."auto_funding" IS 'Whether the card is charged automatically when the balance runs low. NULL: the service did not state it, as for prepaid accounts.';
COMMENT ON COLUMN "main"."account_snapshot"."auto_funding_threshold" IS 'US dollars of balance below which the card is charged.';
COMMENT ON COLUMN "main"."account_snapshot"."auto_funding_amount" IS 'US dollars that the card is charged each time.';
COMMENT ON COLUMN "main"."account_snapshot"."_run_id" IS 'Run that added the row.';

CREATE TABLE "main"."account_limit" (
  "account_id" VARCHAR NOT NULL,
  "seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "kind" VARCHAR NOT NULL,
  "used" BIGINT,
  "allowed" BIGINT,
  "resets_at" TIMESTAMP WITH TIME ZONE,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."account_limit" IS 'History: the daily change budgets of the API key''s account each time one was seen to differ.';
COMMENT ON COLUMN "main"."account_limit"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."account_limit"."seen_at" IS 'When these values were first read.';
COMMENT ON COLUMN "main"."account_limit"."kind" IS 'Kind of change that the budget is for, in the service''s words.';
COMMENT ON COLUMN "main"."account_limit"."used" IS 'Changes made since the reset.';
COMMENT ON COLUMN "main"."account_limit"."allowed" IS 'Changes allowed a day. NULL: not limited, or unknown.';
COMMENT ON COLUMN "main"."account_limit"."resets_at" IS 'When the count starts at zero again.';
COMMENT ON COLUMN "main"."account_limit"."_run_id" IS 'Run that added the row.';

CREATE TABLE "main"."payout_history" (
  "account_id" VARCHAR NOT NULL,
  "from_date" DATE NOT NULL,
  "campaign_id" VARCHAR NOT NULL,
  "creative_id" VARCHAR NOT NULL,
  "source_id" VARCHAR NOT NULL,
  "version_no" BIGINT NOT NULL,
  "valid_from" TIMESTAMP WITH TIME ZONE NOT NULL,
  "valid_to" TIMESTAMP WITH TIME ZONE NOT NULL,
  "is_current" BOOLEAN NOT NULL,
  "is_deleted" BOOLEAN NOT NULL,
  "changed_after" TIMESTAMP WITH TIME ZONE,
  "last_confirmed_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "change_type" VARCHAR NOT NULL,
  "changed_columns" VARCHAR,
  "read_state" VARCHAR NOT NULL,
  "to_date" DATE,
  "payout" DECIMAL(18,6),
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."payout_history" IS 'History: main.payout has the payouts of now. What a conversion earns, line by line as the file of SPENDSYNC_PAYOUTS had it, with when it did. A line that is no longer in the file has a version with is_deleted.';
COMMENT ON COLUMN "main"."payout_history"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."payout_history"."from_date" IS 'First Chicago day to which the payout applies.';
COMMENT ON COLUMN "main"."payout_history"."campaign_id" IS 'Campaign to which the payout applies; empty: any.';
COMMENT ON COLUMN "main"."payout_history"."creative_id" IS 'Creative to which the payout applies; empty: any.';
COMMENT ON COLUMN "main"."payout_history"."source_id" IS 'Source to which the payout applies; empty: any.';
COMMENT ON COLUMN "main"."payout_history"."version_no" IS 'Version of this entity, counted from 1.';
COMMENT ON COLUMN "main"."payout_history"."valid_from" IS 'When this version was first seen: the end of the reading that saw it.';
COMMENT ON COLUMN "main"."payout_history"."valid_to" IS 'End of this version, exclusive: when the next version was first seen; 9999-12-31 for the newest version.';
COMMENT ON COLUMN "main"."payout_history"."is_current" IS 'Whether this is the newest version.';
COMMENT ON COLUMN "main"."payout_history"."is_deleted" IS 'Whether the entity is deleted: two complete listings in a row lack it and the service answers not_found for its ID. A source rule is deleted when two readings in a row lack it.';
COMMENT ON COLUMN "main"."payout_history"."changed_after" IS 'When the previous version was last confirmed: the change was after this time, and at valid_from or before. NULL: there is no previous version.';
COMMENT ON COLUMN "main"."payout_history"."last_confirmed_at" IS 'When this version was last confirmed: all its values were read at or after this time. For a deleted entity: when it was last found missing. In a current version this is as of the last write of its row; the views have the time of the last reading.';
COMMENT ON COLUMN "main"."payout_history"."change_type" IS 'first_seen; first_read: known before, now readable; changed; undescribed: only the JSON in raw changed, under a key without a column; deleted; restored; stub: known only from the report.';
COMMENT ON COLUMN "main"."payout_history"."changed_columns" IS 'Columns that differ from the previous version, sorted, comma-joined.';
COMMENT ON COLUMN "main"."payout_history"."read_state" IS 'ok; partial: some fields have never been readable; unreadable: no field has ever been readable; stub: never read.';
COMMENT ON COLUMN "main"."payout_history"."to_date" IS 'Last Chicago day to which the payout applies. NULL: no end.';
COMMENT ON COLUMN "main"."payout_history"."payout" IS 'US dollars that a conversion earns.';
COMMENT ON COLUMN "main"."payout_history"."_run_id" IS 'Run that last changed the row.';

CREATE TABLE "main"."tracker_daily" (
  "account_id" VARCHAR NOT NULL,
  "report_date" DATE NOT NULL,
  "campaign_id" VARCHAR NOT NULL,
  "source_id" VARCHAR NOT NULL,
  "clicks" BIGINT,
  "conversions" BIGINT,
  "approved" BIGINT,
  "held" BIGINT,
  "refused" BIGINT,
  "revenue" DECIMAL(18,6),
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."tracker_daily" IS 'Raw: its days begin at midnight of the tracker''s time zone, so a day of it is a day of spend_daily only if the tracker reports in America/Chicago. What the operator''s own tracker counted, as the export that SPENDSYNC_PAYOUTS names had it. A newer export replaces the days that it has; other days stay. Ask spendsync query tracker, which adds up several days.';
COMMENT ON COLUMN "main"."tracker_daily"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."tracker_daily"."report_date" IS 'Day in the export, in the tracker''s time zone, which may not be Chicago''s.';
COMMENT ON COLUMN "main"."tracker_daily"."campaign_id" IS 'Campaign, as the export names it.';
COMMENT ON COLUMN "main"."tracker_daily"."source_id" IS 'Source, as the export names it. Empty: the tracker did not receive one.';
COMMENT ON COLUMN "main"."tracker_daily"."clicks" IS 'Clicks that arrived at the tracker. NULL: the export does not have them.';
COMMENT ON COLUMN "main"."tracker_daily"."conversions" IS 'Conversions in any state. NULL: the export has neither their total nor a number for each state.';
COMMENT ON COLUMN "main"."tracker_daily"."approved" IS 'Approved conversions. NULL: the export does not have them.';
COMMENT ON COLUMN "main"."tracker_daily"."held" IS 'Conversions that are still undecided. NULL: the export does not have them.';
COMMENT ON COLUMN "main"."tracker_daily"."refused" IS 'Refused conversions. NULL: the export does not have them.';
COMMENT ON COLUMN "main"."tracker_daily"."revenue" IS 'US dollars earned by the conversions; by the approved conversions if the export has a row for each state. NULL: the export has no revenue.';
COMMENT ON COLUMN "main"."tracker_daily"."_run_id" IS 'Run that last changed the row.';

CREATE TABLE "main"."tracker_change" (
  "account_id" VARCHAR NOT NULL,
  "report_date" DATE NOT NULL,
  "campaign_id" VARCHAR NOT NULL,
  "source_id" VARCHAR NOT NULL,
  "seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "op" VARCHAR NOT NULL,
  "file" VARCHAR NOT NULL,
  "old_clicks" BIGINT,
  "new_clicks" BIGINT,
  "old_conversions" BIGINT,
  "new_conversions" BIGINT,
  "old_approved" BIGINT,
  "new_approved" BIGINT,
  "old_held" BIGINT,
  "new_held" BIGINT,
  "old_refused" BIGINT,
  "new_refused" BIGINT,
  "old_revenue" DECIMAL(18,6),
  "new_revenue" DECIMAL(18,6),
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "main"."tracker_change" IS 'History: what changed, not what was counted. Every difference between a day of tracker_daily as stored and as a later file has it: old and new numbers, when they were read, and of which file. The first file of a day writes no line.';
COMMENT ON COLUMN "main"."tracker_change"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "main"."tracker_change"."report_date" IS 'Day of the tracker whose numbers changed.';
COMMENT ON COLUMN "main"."tracker_change"."campaign_id" IS 'Campaign of the row, as the file names it.';
COMMENT ON COLUMN "main"."tracker_change"."source_id" IS 'Source of the row, as the file names it.';
COMMENT ON COLUMN "main"."tracker_change"."seen_at" IS 'When the later file was read.';
COMMENT ON COLUMN "main"."tracker_change"."op" IS 'insert: the row appeared; update: its numbers changed; delete: it vanished.';
COMMENT ON COLUMN "main"."tracker_change"."file" IS 'Name of the later file, without its folder.';
COMMENT ON COLUMN "main"."tracker_change"."old_clicks" IS 'Clicks before.';
COMMENT ON COLUMN "main"."tracker_change"."new_clicks" IS 'Clicks after.';
COMMENT ON COLUMN "main"."tracker_change"."old_conversions" IS 'Conversions in any state before.';
COMMENT ON COLUMN "main"."tracker_change"."new_conversions" IS 'Conversions in any state after.';
COMMENT ON COLUMN "main"."tracker_change"."old_approved" IS 'Approved conversions before.';
COMMENT ON COLUMN "main"."tracker_change"."new_approved" IS 'Approved conversions after.';
COMMENT ON COLUMN "main"."tracker_change"."old_held" IS 'Undecided conversions before.';
COMMENT ON COLUMN "main"."tracker_change"."new_held" IS 'Undecided conversions after.';
COMMENT ON COLUMN "main"."tracker_change"."old_refused" IS 'Refused conversions before.';
COMMENT ON COLUMN "main"."tracker_change"."new_refused" IS 'Refused conversions after.';
COMMENT ON COLUMN "main"."tracker_change"."old_revenue" IS 'US dollars earned before.';
COMMENT ON COLUMN "main"."tracker_change"."new_revenue" IS 'US dollars earned after.';
COMMENT ON COLUMN "main"."tracker_change"."_run_id" IS 'Run that read the later file.';

CREATE TABLE "main"."calendar" (
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
COMMENT ON COLUMN "main"."calendar"."account_id" IS 'Short name of the account in this warehouse; part of the key, so join on it, too.';
COMMENT ON COLUMN "main"."calendar"."report_date" IS 'Chicago calendar day.';
COMMENT ON COLUMN "main"."calendar"."month" IS 'First day of the month.';
COMMENT ON COLUMN "main"."calendar"."iso_week" IS 'ISO 8601 week, such as 2026-W47.';
COMMENT ON COLUMN "main"."calendar"."day_of_week" IS '1 Monday to 7 Sunday.';
COMMENT ON COLUMN "main"."calendar"."is_weekend" IS 'Saturday or Sunday.';
COMMENT ON COLUMN "main"."calendar"."starts_at" IS 'First instant of the day in Chicago.';
COMMENT ON COLUMN "main"."calendar"."ends_at" IS 'First instant after the day.';
COMMENT ON COLUMN "main"."calendar"."hours" IS 'Length of the day: 24 hours; 23 or 25 when the clocks change.';
COMMENT ON COLUMN "main"."calendar"."_run_id" IS 'Run that added the day.';

CREATE TABLE "int"."campaign_spend" (
  "account_id" VARCHAR NOT NULL,
  "report_date" DATE NOT NULL,
  "campaign_id" VARCHAR NOT NULL,
  "campaign_name" VARCHAR NOT NULL,
  "rows" BIGINT NOT NULL,
  "spend" DECIMAL(18,6) NOT NULL,
  "clicks" BIGINT,
  "impressions" BIGINT,
  "conversions" BIGINT,
  "rows_with_clicks" BIGINT NOT NULL,
  "rows_with_impressions" BIGINT NOT NULL,
  "rows_with_conversions" BIGINT NOT NULL
);
COMMENT ON TABLE "int"."campaign_spend" IS 'Spend per Chicago day and campaign: the sums of spend_daily, kept beside it so that questions about long spans are answered at once. mart.campaign_day has the days without spend and the settings, too.';
COMMENT ON COLUMN "int"."campaign_spend"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "int"."campaign_spend"."report_date" IS 'Chicago calendar day of the spend.';
COMMENT ON COLUMN "int"."campaign_spend"."campaign_id" IS 'Campaign of the spend.';
COMMENT ON COLUMN "int"."campaign_spend"."campaign_name" IS 'Name of the campaign in the report; if there are several, the last in alphabetical order.';
COMMENT ON COLUMN "int"."campaign_spend"."rows" IS 'Number of rows of spend_daily in the sums.';
COMMENT ON COLUMN "int"."campaign_spend"."spend" IS 'US dollars, exact.';
COMMENT ON COLUMN "int"."campaign_spend"."clicks" IS 'Sum of the known clicks. NULL: no row has any.';
COMMENT ON COLUMN "int"."campaign_spend"."impressions" IS 'Sum of the known impressions. NULL: no row has any.';
COMMENT ON COLUMN "int"."campaign_spend"."conversions" IS 'Sum of the known conversions. NULL: no row has any.';
COMMENT ON COLUMN "int"."campaign_spend"."rows_with_clicks" IS 'Number of rows whose clicks are known. If it is less than rows, the sum is too small.';
COMMENT ON COLUMN "int"."campaign_spend"."rows_with_impressions" IS 'Number of rows whose impressions are known. If it is less than rows, the sum is too small.';
COMMENT ON COLUMN "int"."campaign_spend"."rows_with_conversions" IS 'Number of rows whose conversions are known. If it is less than rows, the sum is too small.';

CREATE TABLE "ops"."day_coverage" (
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
  "control_spend" DECIMAL(18,6),
  "control_clicks" BIGINT,
  "rows_total" BIGINT,
  "rows_total_state" VARCHAR,
  "doubt" VARCHAR,
  "partial_why" VARCHAR,
  "_run_id" VARCHAR
);
COMMENT ON TABLE "ops"."day_coverage" IS 'How well each Chicago day is known. A day that is open, complete or final is covered: there a missing row of spend_daily means zero.';
COMMENT ON COLUMN "ops"."day_coverage"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "ops"."day_coverage"."report_date" IS 'Chicago calendar day.';
COMMENT ON COLUMN "ops"."day_coverage"."state" IS 'open: stored, the day is not over; complete: stored after its end, may still be restated; final: complete and beyond the report''s reach; partial: stored but incomplete, see partial_why; missing: not proven yet, still readable; lost: never proven and no longer readable.';
COMMENT ON COLUMN "ops"."day_coverage"."first_read_at" IS 'When the first proven read began. NULL: none yet.';
COMMENT ON COLUMN "ops"."day_coverage"."last_read_at" IS 'When the last proven read began. NULL: none yet.';
COMMENT ON COLUMN "ops"."day_coverage"."reads" IS 'Proven reads.';
COMMENT ON COLUMN "ops"."day_coverage"."rows" IS 'Rows stored for the day.';
COMMENT ON COLUMN "ops"."day_coverage"."spend" IS 'US dollars stored for the day. NULL: unknown.';
COMMENT ON COLUMN "ops"."day_coverage"."clicks" IS 'Clicks stored for the day. NULL: unknown.';
COMMENT ON COLUMN "ops"."day_coverage"."control_total_state" IS 'matched: the service''s own total of the day equals the stored sum; differs: the total is another, see control_spend and control_clicks; none: the service gives no total per day; open: the day was not over; unknown: the total could not be read; unread: no proven read.';
COMMENT ON COLUMN "ops"."day_coverage"."content_hash" IS 'SHA-256 of the day''s rows as read, in key order.';
COMMENT ON COLUMN "ops"."day_coverage"."days_until_unreachable" IS 'Number of days until the report no longer covers this day, today included; 0: it no longer does. As of the publication of the generation.';
COMMENT ON COLUMN "ops"."day_coverage"."control_spend" IS 'Spend of the day in US dollars by the service''s own total; compare with spend. NULL: the service gave none.';
COMMENT ON COLUMN "ops"."day_coverage"."control_clicks" IS 'Clicks of the day by the service''s own total; compare with clicks. NULL: the service gave none.';
COMMENT ON COLUMN "ops"."day_coverage"."rows_total" IS 'Rows of the day by the service''s own count (total_rows); compare with rows. NULL: the service gave none.';
COMMENT ON COLUMN "ops"."day_coverage"."rows_total_state" IS 'matched: as many rows came as the service states, or as many rows with spend; none: the service states no usable count; differs: another number of rows came, see rows_total, and other evidence proved the day. Only days last read by an older version have differs. NULL: not read since this column was added.';
COMMENT ON COLUMN "ops"."day_coverage"."doubt" IS 'doubtful: the day is stored although something contradicts it, for example the service''s own sum; every run reads it again until the contradiction ends or a person accepts it. accepted: a person accepted it with ''spendsync repair accept''. NULL: nothing contradicts it.';
COMMENT ON COLUMN "ops"."day_coverage"."partial_why" IS 'Why the day is partial or doubtful. NULL: it is neither.';
COMMENT ON COLUMN "ops"."day_coverage"."_run_id" IS 'Run of the last proven read.';

CREATE TABLE "ops"."run" (
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
  "settings_versions" BIGINT NOT NULL,
  "campaigns_read" BIGINT NOT NULL,
  "campaigns_skipped" BIGINT NOT NULL,
  "identity_proof" VARCHAR,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "ops"."run" IS 'Every run: what it read, what it changed, how it ended.';
COMMENT ON COLUMN "ops"."run"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "ops"."run"."command" IS 'Command that ran: sync, backfill, replay, rebuild.';
COMMENT ON COLUMN "ops"."run"."started_at" IS 'When the run began.';
COMMENT ON COLUMN "ops"."run"."finished_at" IS 'When the run had finished reading; publishing follows.';
COMMENT ON COLUMN "ops"."run"."exit_code" IS 'Exit code; spendsync help config explains each.';
COMMENT ON COLUMN "ops"."run"."outcome" IS 'What the exit code means, in one line.';
COMMENT ON COLUMN "ops"."run"."generation" IS 'Generation that the run published; if it published none, the previous generation.';
COMMENT ON COLUMN "ops"."run"."published" IS 'Whether the run published a generation.';
COMMENT ON COLUMN "ops"."run"."days_planned" IS 'Report days that the plan had to read.';
COMMENT ON COLUMN "ops"."run"."days_proven" IS 'Report days proven complete.';
COMMENT ON COLUMN "ops"."run"."days_changed" IS 'Report days whose rows are new or differ from the stored ones.';
COMMENT ON COLUMN "ops"."run"."rows_read" IS 'Rows of the proven days.';
COMMENT ON COLUMN "ops"."run"."rows_inserted" IS 'Rows that were not stored before.';
COMMENT ON COLUMN "ops"."run"."rows_updated" IS 'Stored rows whose values changed.';
COMMENT ON COLUMN "ops"."run"."rows_deleted" IS 'Stored rows that the service no longer reports.';
COMMENT ON COLUMN "ops"."run"."restatements" IS 'Lines added to spend_change.';
COMMENT ON COLUMN "ops"."run"."requests" IS 'HTTP requests sent, retries included.';
COMMENT ON COLUMN "ops"."run"."retries" IS 'HTTP requests that repeated an earlier one.';
COMMENT ON COLUMN "ops"."run"."bytes_read" IS 'Bytes of the replies, decompressed.';
COMMENT ON COLUMN "ops"."run"."throttled_ms" IS 'Milliseconds that requests waited because the service asked for it.';
COMMENT ON COLUMN "ops"."run"."version" IS 'Version of spendsync.';
COMMENT ON COLUMN "ops"."run"."message" IS 'What went wrong. NULL: nothing.';
COMMENT ON COLUMN "ops"."run"."settings_versions" IS 'Versions of settings that the run added.';
COMMENT ON COLUMN "ops"."run"."campaigns_read" IS 'Campaigns whose settings were read.';
COMMENT ON COLUMN "ops"."run"."campaigns_skipped" IS 'Archived campaigns that earlier runs had read completely, so this run skipped them.';
COMMENT ON COLUMN "ops"."run"."identity_proof" IS 'Evidence that the API key and the report are the account''s. NULL: the run published nothing, was a repair, or is of a version that did not record it.';
COMMENT ON COLUMN "ops"."run"."_run_id" IS 'ID of the run; sorts by time.';

CREATE TABLE "ops"."step" (
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
COMMENT ON COLUMN "ops"."step"."stream" IS 'What was read, for example spend_report.';
COMMENT ON COLUMN "ops"."step"."unit" IS 'Which part of the stream, for example the day.';
COMMENT ON COLUMN "ops"."step"."started_at" IS 'When the reading of the unit began.';
COMMENT ON COLUMN "ops"."step"."finished_at" IS 'When the unit was finished.';
COMMENT ON COLUMN "ops"."step"."reason" IS 'Why the unit was read.';
COMMENT ON COLUMN "ops"."step"."outcome" IS 'stored: new or changed; unchanged: equal to the stored rows; failed: not read or not proven; silent: an empty answer that proves nothing; unreachable: the day is out of the report''s reach.';
COMMENT ON COLUMN "ops"."step"."attempts" IS 'Times the whole unit was read.';
COMMENT ON COLUMN "ops"."step"."pages" IS 'Pages of the proven read.';
COMMENT ON COLUMN "ops"."step"."rows" IS 'Rows of the proven read.';
COMMENT ON COLUMN "ops"."step"."bytes" IS 'Bytes of the unit''s replies, decompressed.';
COMMENT ON COLUMN "ops"."step"."rounded_values" IS 'Amounts with more than six decimals, rounded half to even.';
COMMENT ON COLUMN "ops"."step"."message" IS 'What went wrong. NULL: nothing.';
COMMENT ON COLUMN "ops"."step"."_run_id" IS 'Run that did the work.';

CREATE TABLE "ops"."entity_read" (
  "account_id" VARCHAR NOT NULL,
  "entity_type" VARCHAR NOT NULL,
  "entity_id" VARCHAR NOT NULL,
  "field" VARCHAR NOT NULL,
  "read_state" VARCHAR NOT NULL,
  "message" VARCHAR,
  "first_seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "last_seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "runs" BIGINT NOT NULL,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "ops"."entity_read" IS 'Settings that cannot be read now, and why: a line stays until a run reads the value. The last known value stands meanwhile.';
COMMENT ON COLUMN "ops"."entity_read"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "ops"."entity_read"."entity_type" IS 'Kind of entity: campaign, creative, source settings, listing, account.';
COMMENT ON COLUMN "ops"."entity_read"."entity_id" IS 'ID of the entity.';
COMMENT ON COLUMN "ops"."entity_read"."field" IS 'The field that could not be read; empty text: the entire entity.';
COMMENT ON COLUMN "ops"."entity_read"."read_state" IS 'unreadable: the reply has no usable value; missing: the reply lacks the key; failed: the request failed; incomplete: a listing did not end; absent: only the report names the entity, and the service does not show it; more: number of entities beyond the first 1,000.';
COMMENT ON COLUMN "ops"."entity_read"."message" IS 'Why the entity or the field could not be read.';
COMMENT ON COLUMN "ops"."entity_read"."first_seen_at" IS 'When a run first saw this fact.';
COMMENT ON COLUMN "ops"."entity_read"."last_seen_at" IS 'When a run last saw this fact.';
COMMENT ON COLUMN "ops"."entity_read"."runs" IS 'Runs that saw this fact.';
COMMENT ON COLUMN "ops"."entity_read"."_run_id" IS 'Run that last saw this fact.';

CREATE TABLE "ops"."unknown_field" (
  "account_id" VARCHAR NOT NULL,
  "stream" VARCHAR NOT NULL,
  "path" VARCHAR NOT NULL,
  "sample_type" VARCHAR NOT NULL,
  "first_seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "last_seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "runs" BIGINT NOT NULL,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "ops"."unknown_field" IS 'Keys in the service''s replies that its description does not name: of the report, and of the settings. And the forms of IDs in the report that it does not give.';
COMMENT ON COLUMN "ops"."unknown_field"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "ops"."unknown_field"."stream" IS 'Where the key was seen, for example spend_report.';
COMMENT ON COLUMN "ops"."unknown_field"."path" IS 'Path of the key in the reply; for an ID of an unknown form, the column and the form.';
COMMENT ON COLUMN "ops"."unknown_field"."sample_type" IS 'JSON type of the first value seen.';
COMMENT ON COLUMN "ops"."unknown_field"."first_seen_at" IS 'When a run first saw this fact.';
COMMENT ON COLUMN "ops"."unknown_field"."last_seen_at" IS 'When a run last saw this fact.';
COMMENT ON COLUMN "ops"."unknown_field"."runs" IS 'Runs that saw this fact.';
COMMENT ON COLUMN "ops"."unknown_field"."_run_id" IS 'Run that last saw this fact.';

CREATE TABLE "ops"."refused_row" (
  "account_id" VARCHAR NOT NULL,
  "stream" VARCHAR NOT NULL,
  "report_date" DATE NOT NULL,
  "page" BIGINT NOT NULL,
  "row_number" BIGINT NOT NULL,
  "reason" VARCHAR NOT NULL,
  "field" VARCHAR NOT NULL,
  "raw" VARCHAR NOT NULL,
  "first_seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "last_seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "runs" BIGINT NOT NULL,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "ops"."refused_row" IS 'Rows of the report that could not be stored as they are, as of the last read of their day, with their JSON; at most 1,000 of an account, the oldest first, and then a line with their number. A day of which rows were left out is partial until a read or a replay finds none; a row of which only clicks, impressions or conversions cannot be read is stored without them (NULL). Of stream tracker: lines of the operator''s exports that were set aside.';
COMMENT ON COLUMN "ops"."refused_row"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "ops"."refused_row"."stream" IS 'Where the row was seen: spend_report or tracker.';
COMMENT ON COLUMN "ops"."refused_row"."report_date" IS 'Chicago calendar day that was requested; of a range, the first day. For the operator''s files: the day of the row or, if it has none, the day when the file was read.';
COMMENT ON COLUMN "ops"."refused_row"."page" IS 'Number of the page or the file, from 1.';
COMMENT ON COLUMN "ops"."refused_row"."row_number" IS 'Number of the row within the page, from 1.';
COMMENT ON COLUMN "ops"."refused_row"."reason" IS 'Why the row was refused.';
COMMENT ON COLUMN "ops"."refused_row"."field" IS 'Refused field, or fields separated by commas; empty text: the entire row.';
COMMENT ON COLUMN "ops"."refused_row"."raw" IS 'JSON of the row, cut if it is very long.';
COMMENT ON COLUMN "ops"."refused_row"."first_seen_at" IS 'When a run first saw this fact.';
COMMENT ON COLUMN "ops"."refused_row"."last_seen_at" IS 'When a run last saw this fact.';
COMMENT ON COLUMN "ops"."refused_row"."runs" IS 'Runs that saw this fact.';
COMMENT ON COLUMN "ops"."refused_row"."_run_id" IS 'Run that last saw this fact.';

CREATE TABLE "ops"."note" (
  "account_id" VARCHAR NOT NULL,
  "note" VARCHAR NOT NULL,
  "is_standing" BOOLEAN NOT NULL,
  "decision" VARCHAR,
  "runs" BIGINT NOT NULL,
  "first_seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "last_seen_at" TIMESTAMP WITH TIME ZONE NOT NULL,
  "message" VARCHAR NOT NULL,
  "size_percent" BIGINT,
  "accepted_percent" BIGINT,
  "accepted_at" TIMESTAMP WITH TIME ZONE,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "ops"."note" IS 'Differences of which the data is stored: the service states another total or count than the rows have, or sends a value in a form that cannot be read, which is NULL and kept. Each ends every run with exit 4 until it is gone or a person accepts it up to its size. A note report.lost.* is a warning: an earlier read of a day had counts that are NULL now.';
COMMENT ON COLUMN "ops"."note"."account_id" IS 'Short name of the account in this warehouse.';
COMMENT ON COLUMN "ops"."note"."note" IS 'Name of the note, for ''spendsync repair accept''.';
COMMENT ON COLUMN "ops"."note"."is_standing" IS 'Whether the note no longer makes runs exit with code 4, because a person has accepted it and it has not grown since.';
COMMENT ON COLUMN "ops"."note"."decision" IS 'accepted: a person has accepted the difference. NULL: no person has.';
COMMENT ON COLUMN "ops"."note"."runs" IS 'Runs that saw the difference.';
COMMENT ON COLUMN "ops"."note"."first_seen_at" IS 'When a run first saw the difference.';
COMMENT ON COLUMN "ops"."note"."last_seen_at" IS 'When a run last saw the difference. A note that nobody accepted is deleted at the latest a week after the difference has disappeared.';
COMMENT ON COLUMN "ops"."note"."message" IS 'What differs, as of the last run that saw the difference.';
COMMENT ON COLUMN "ops"."note"."size_percent" IS 'Size of the largest difference: percent of the day''s sum or of the day''s rows, rounded up. NULL: the difference has no size.';
COMMENT ON COLUMN "ops"."note"."accepted_percent" IS 'Size up to which the difference is accepted. NULL: it is not accepted.';
COMMENT ON COLUMN "ops"."note"."accepted_at" IS 'When the difference was accepted. NULL: it is not accepted.';
COMMENT ON COLUMN "ops"."note"."_run_id" IS 'Run that last saw the difference.';

CREATE TABLE "ops"."file" (
  "account_id" VARCHAR NOT NULL,
  "path" VARCHAR NOT NULL,
  "kind" VARCHAR NOT NULL,
  "table_name" VARCHAR,
  "rows" BIGINT NOT NULL,
  "bytes" BIGINT NOT NULL,
  "sha256" VARCHAR NOT NULL,
  "_run_id" VARCHAR NOT NULL
);
COMMENT ON TABLE "ops"."file" IS 'The published files behind this generation, as the manifest names them.';
COMMENT ON COLUMN "ops"."file"."account_id" IS 'Account that the file belongs to.';
COMMENT ON COLUMN "ops"."file"."path" IS 'Path below the data directory.';
COMMENT ON COLUMN "ops"."file"."kind" IS 'parquet: rows of a table; raw: a reply of the report as received, compressed with zstd.';
COMMENT ON COLUMN "ops"."file"."table_name" IS 'Table whose rows a Parquet file holds.';
COMMENT ON COLUMN "ops"."file"."rows" IS 'Rows in the file; for a reply, rows in the reply.';
COMMENT ON COLUMN "ops"."file"."bytes" IS 'Size of the file.';
COMMENT ON COLUMN "ops"."file"."sha256" IS 'SHA-256 of the file, in hexadecimal.';
COMMENT ON COLUMN "ops"."file"."_run_id" IS 'Run that wrote the file.';

