-- What did each ad group bring on each day, on every platform?
{{ report_union('ad_group_report', [
  'campaign_id', 'campaign_name', 'ad_group_id', 'ad_group_name'
]) }}
