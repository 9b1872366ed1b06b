-- What did each landing page bring on each day, on every platform?
{{ report_union('url_report', [
  'campaign_id', 'campaign_name', 'ad_group_id', 'ad_group_name', 'base_url', 'url_host',
  'url_path', 'utm_source', 'utm_medium', 'utm_campaign', 'utm_content', 'utm_term'
]) }}
