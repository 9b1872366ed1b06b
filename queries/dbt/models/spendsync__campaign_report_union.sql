-- What did each campaign bring on each day, on every platform?
{{ report_union('campaign_report', [
  'campaign_id', 'campaign_name'
]) }}
