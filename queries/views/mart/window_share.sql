-- Which share of its final conversions has arrived by now, for the days of the performance window by how young they are?
-- Trap: it is the account's own curve (mart.settlement); before the account's days have been followed for long enough nothing is known and all counts as arrived. Days that are not proven complete are left out.
-- Column days: Part of the window, counted back from its last day: spend_day_1 to spend_day_9_14 as the columns of source_evidence; spend_day_15: all older days.
-- Column days_known: Days of this part that are proven complete.
-- Column conversions_share: Share of the final conversions that is there, the mean over these days. NULL: not known yet.
WITH maturity AS (
  SELECT m.* FROM mart.day_maturity AS m
)
-- Part: window_share
