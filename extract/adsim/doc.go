// Package adsim is the advertising service, simulated in-process: an
// [net/http.Handler] that answers the spend report and the reads of the
// advertiser API as the service's description says, for one made-up account.
//
// # What it owns
//
// The account, its numbers, the clock they depend on, and everything a test may
// want to do to them: faults on the wire ([Service.Fail]), restated days
// ([Service.Restate]), changed settings ([Service.Change]), a settable clock
// ([Service.SetNow]), the log of what was asked ([Service.Requests]) and what a
// perfect copy holds ([Service.Truth], [Service.Settings]).
//
// # What it promises
//
//   - The account follows from the seed. The numbers of a day follow from the
//     seed, the day, the service's clock and the restatements asked for; not from
//     the order of requests, the machine or the time the process was started.
//   - Settings follow from the seed, the Chicago day of the clock and the changes
//     asked for, in their order. On one day nothing of them moves by itself but
//     delivery_status.
//   - Two replies to the same question in the same state are the same bytes.
//     (Only the request_id of an error body tells two refusals apart.)
//   - Rows have one total order: date, campaign, creative, source. A page is
//     computed from its place alone, so page 900 costs what page 1 costs, and a
//     day of millions of rows is never held in memory.
//   - Money is whole millionths of a dollar inside and exact decimal text outside.
//   - All methods may be called at any time from any goroutine.
//
// # What it never does
//
// It imports nothing of this module and spells its JSON by hand, so that a
// mistake of the client can't be mirrored here. It changes nothing on a GET. It
// opens no connection, writes no file and logs no credentials. Writes, MCP and the
// push APIs are not here yet: their paths answer 404 or 405.
//
// # Where to find it
//
// The spend report lies under [ReportPrefix] and the advertiser API under
// [APIPrefix], so with a server at http://127.0.0.1:8080 the two base URLs are
// http://127.0.0.1:8080/report and http://127.0.0.1:8080/api. With
// [Service.Transport] the host may be anything.
//
// # Settings that change on command
//
// The API's writes are not here yet; until then settings change by [Service.Change],
// or by POST /_sim/change with the same JSON where Config.Control is on:
//
//	{"campaign":"C13463005","set":{"name":"Winter","default_bid":"0.45","target_cpa":null}}
//	{"campaign":"C13463005","set":{"audience":{"country":"US","states":["NY"]}}}
//	{"campaign":"C13463005","sources":{"block":["S4711"],"bids":{"S101":"0.30","S118":null}}}
//	{"campaign":"C13463005","sources":{"mode":"allow_list","allow":["S101"]}}
//	{"campaign":"C13463005","do":"hide"}                    (also "unlist", "show")
//	{"creative":"C13463005-001","set":{"status":"rejected","rejection_reasons":["x"]}}
//	{"do":"create","set":{"name":"Fresh"}}                  (a campaign)
//	{"do":"create","campaign":"C13463005","set":{"title":"Fresh"}}  (a creative of it)
//
// The answer is {"id":ID}, of what was changed or created. A change happens whole
// or not at all, at one instant: a request sees all of it or nothing.
//
//   - The report does not know of changes: neither its numbers nor its names, texts
//     and statuses follow them, and what was created has no rows. (A later version
//     lets spending follow the settings.)
//   - A changed field stays as it was set whatever the clock says, also when that is
//     set back; the other fields go on by themselves.
//   - Values are held to the description's bounds, and what it calls permanent or
//     refused is refused, unless Change.Force is on. How far one change may go
//     (doubling, three times the default bid) is a rule of the API's writes, not
//     of what may be: it is not checked.
//   - A new audience ends unsupported_targeting, as the description says, unless the
//     same change sets it. The flag is shown within the audience.
//   - delivery_status follows from status, dates, creatives and funds until it is set.
//   - Bids of sources don't move with a changed default bid.
//   - A created campaign has an ID from C9000000001 on and the clock's time as
//     created_at; a created creative has the next number of its campaign.
//   - Hidden is not deleted: what is hidden may be changed, and shown again.
//
// # The forms of the API's bodies
//
// The description does not show them, so a client must bear all of these; [Shape]
// chooses, and openapi.json says the same:
//
//	             a list                      a campaign, creative or      the key, the limits,
//	             (campaigns, creatives)      source settings              the balance
//	named        {"campaigns":[..],"total"}  {"campaign":{..}}            {..}
//	bare         [..]                        {..}                         {..}
//	data         {"data":[..],"total"}       {"data":{..}}                {"data":{..}}
//	items        {"items":[..],"total"}      {..}                         {..}
//
// and with any of them
//
//	longids      "campaign_id" or "creative_id" in the place of "id"
//	bidmap       "bid_overrides":{"S1":0.25}, not [{"source_id":"S1","bid":0.25}]
//	limitmap     "limits":{"campaign_create":{"used":0,..}}, not [{"kind":"campaign_create","used":0,..}]
//	nototals     lists without total, limit and offset
//
// # Choices where the description is silent
//
// Spend report:
//
//   - An error body is {"error": TEXT}; the 500 text ends in "(request ID: req_...)".
//   - The order of checks: path (404), method (405), credentials (401), account
//     (403), parameters (400).
//   - A scheme other than Basic counts as no credentials. A parameter given twice
//     counts once (the first). Unknown parameters are ignored, empty ones unset.
//   - An unknown column, a column named twice, and a column of creatives
//     (creative_title to cpa) without include_creatives: 400 with a text.
//   - page below 1, page_size below 1 or above 10000, a value that is no integer or
//     no boolean (true, false, 1, 0): 400 with a text.
//   - A page beyond total_pages: 200 with no rows. No rows at all: total_pages 0.
//   - end_date after today is allowed: days to come have no rows.
//   - Rows are grouped by the dimensions asked for. campaign_name asks for the
//     campaign, not for its text: two campaigns of one name stay two rows. Columns
//     without a dimension give one row.
//   - With include_creatives there is a row for every campaign and creative that
//     existed; a creative that was not delivered has one row per day with
//     source_id null ([ZeroSpend] chooses another form). A source_id filter leaves
//     those out. Without include_creatives they are not rows at all; what was
//     delivered and not clicked is a row with total_spend 0.
//   - ctr, cpc and cpa are plain ratios (ctr 0.0125, not 1.25), computed as floats,
//     and null where they would divide by zero.
//   - creative_image_url is null for a creative without a large image, and
//     creative_icon_url for a draft.
//   - An unknown campaign, creative or source in a filter: 200 with no rows.
//   - Numbers move in steps: what a reply holds is the state at the last quarter
//     of an hour (Config.Refresh), as services do that aggregate in batches.
//   - Conversions keep arriving for up to 24 days after the click; about one row in
//     a thousand loses some clicks and their cost two to six days later (a credit).
//   - There is no rate limit on the report.
//
// Advertiser API:
//
//   - Statuses: validation_failed 400, unauthorized 401, forbidden 403, not_found
//     404, rate_limited 429, internal_error 500, unavailable 503. A known path with
//     another method is 405 with the code not_found.
//   - An unknown query parameter, one given twice and an empty status list are
//     refused (400); details is a list of {field, message}.
//   - Only accepted requests count against the 120 a minute; a refused key is not
//     counted, an invalid query is.
//   - openapi.json needs the key, as everything else does.
//   - Lists carry total, limit and offset beside the entries, see above.
//   - daily_spend_limit is null for a campaign without one: the dashboard can do
//     that, so a client has to bear it. A draft may lack title, message, link and
//     icon_id: they are null.
//   - A campaign that is being delivered has delivery_status "active": the list of
//     the description has no word for it.
//   - The balance status is "ok" when it is neither low nor depleted.
//   - As many campaigns as configured are listed on the day the service is first
//     asked; of those archived long before, only the newest. None ever goes away
//     by itself.
//   - An offset above 10000 is refused (400): of more than 10100 campaigns the rest
//     is only found status by status.
//   - A campaign is created in the evening before the Chicago day it is first seen
//     on. Newest first is by creation, then by ID.
//   - Service-Api-Key-Expiry-Warning is a sentence with the days left.
//
// Everywhere: the Date header tells the service's clock.
package adsim
