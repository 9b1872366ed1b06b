-- What did each account bring on each day, on every platform?
{{ report_union('account_report') }}
