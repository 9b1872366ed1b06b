-- What did each ad bring on each day, on every platform?
{{ report_union('ad_report', [
  'campaign_id', 'campaign_name', 'ad_group_id', 'ad_group_name', 'ad_id', 'ad_name'
]) }}
