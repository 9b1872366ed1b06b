// Package adsim is the advertising service, simulated in-process: an
// [net/http.Handler] that answers the advertiser API (over REST and MCP), the spend
// report and the push sending APIs as the service describes them, for one
// made-up account or several.
//
// # What it owns
//
// The account, its numbers, the clock that they depend on, and everything that a test may do to them: faults
// ([Service.Fail]), variations of the replies ([Service.SetQuirks]), restated days ([Service.Restate]), planted
// effects ([Service.Plant], [Service.Rates]), changed settings ([Service.Change]), reviews ([Service.Review]), an
// empty balance ([Service.SetBalance], [Service.AddFunds]), a clock that can be set ([Service.SetNow],
// [Service.RunFast]), the log of requests ([Service.Requests]), sent notifications ([Service.Outbox]), and the
// contents of a perfect copy ([Service.Truth], [Service.Settings]).
//
// # Rooms
//
// Each room imports only rooms below it. From the bottom:
//
//	chance, memo, jsontext, clock, config   hashes, results kept, JSON in odd forms, time, what can be asked for
//	market                                  the advertiser that a seed gives
//	ledger                                  numbers and settings of a state; changes nothing
//	world                                   the account that changes, and its journal
//	wire, fetch                             faults, the log, sending; downloads
//	report, advertiser, push, tools         the interfaces; tools (MCP) only for services that ask for it
//	variations                              quirks of the replies
//	adsim                                   the service: puts the rooms together, and takes orders under /_sim/
//
// # What it promises
//
//   - The account follows from the seed. The numbers of a day follow from the
//     seed, the day, the service's clock and the restatements and effects asked for;
//     not from the order of requests, the machine or the time the process was started.
//   - Settings follow from the seed, the Chicago day of the clock and the changes
//     asked for, in their order. On one day nothing of them moves by itself but
//     delivery_status and what was submitted for review.
//   - Read-only clients see an account unaffected by writes. A write moves the spending
//     of its own campaign, from then on, and nothing else.
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
// It imports nothing of this module outside its rooms, so that a mistake of the client
// can't be mirrored here. It changes nothing on a GET. It
// connects to nothing but an image_url or an external payload that it is given, and
// of those only to public addresses. It writes no file but that of
// [Service.KeepState], and no key or password anywhere.
//
// # Where to find it
//
// The spend report lies under [ReportPrefix], the advertiser API under [APIPrefix]
// and the push sending APIs under [PushPrefix], so with a server at
// http://127.0.0.1:8080 the base URLs are http://127.0.0.1:8080/report, /api and
// /push; MCP is at /api/mcp. With
// [Service.Transport] the host may be anything.
//
// An account has a user of the dashboard, a key that can read ([DefaultKey]), one
// that can write ([DefaultWriteKey]) and a push token ([DefaultPushToken]); the
// second account's have a 2 at their end, and its user is analyst2@example.com.
//
// # Spending follows what is written
//
// A campaign that was changed through the API spends by its settings from then on,
// however they change after that. Its traffic without changes is the supply: it gets
// the part of the day's traffic during which it is active (or its pause is
// finishing), within its dates, funded, and below its daily limit; from each source,
// while the source is bought; for each creative, while the creative is active. Twice
// the bid draws about twice the traffic (a sixteenth to four times) at twice the
// price; an audience draws by its share of the subscribers, at most four times the
// original traffic. The limit is per Chicago day, and delivery may exceed it by the
// clicks of a second. Changes of sources reach one source in six after ten minutes:
// those are the not_enforced_source_ids. Days before the change keep their numbers,
// and the report shows the current names and texts of the campaign and its creatives.
//
// # Settings that change on command
//
// Changes that the API does not offer are made by [Service.Change], or by POST
// /_sim/change with the same JSON if Config.Control is on:
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
// The reply is {"id":ID}, the ID of the changed or created entity. A change is atomic:
// a request sees all of it or nothing.
//
//   - The report ignores such changes: neither its numbers nor its names, texts and
//     statuses follow them, and a created entity has no rows, unless the campaign is
//     also changed through the API, before or later.
//   - A changed field keeps its value at any clock, even if the clock is set back; the
//     other fields continue to change by themselves.
//   - Values must be within the description's bounds, and changes that it calls
//     permanent or refused are refused, unless Change.Force is on. Limits on the size
//     of a change (doubling, three times the default bid) apply only to writes through
//     the API and are not checked here. No review, budget or pause blocks a change.
//   - A new audience ends unsupported_targeting, as described, unless the
//     same change sets it. The flag is shown within the audience.
//   - delivery_status follows from status, dates, creatives and funds until it is set.
//   - Bids of sources don't move with a changed default bid.
//   - A created campaign has an ID from C9000000001 on and the clock's time as
//     created_at; a created creative has the next number of its campaign.
//   - Hidden is not deleted: a hidden entity may be changed, and shown again.
//
// # Quirks
//
// If the description is silent or vague, similar services may reply differently from the
// simulator's default. [Quirks] lists such variations: numbers as texts, rounded sums,
// lists without totals, other envelopes, and so on. Config.Quirks, [Service.SetQuirks] or
// POST /_sim/quirks set any number of them at once. They change the replies to reads only: the
// state of the service ([Service.Truth], [Service.Settings]) stays, and writes, MCP and openapi.json
// do not follow them.
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
//   - page below 1, page_size below 1 or above 10000, a value that is not an integer or
//     not a boolean (true, false, 1, 0): 400 with a text.
//   - A page beyond total_pages: 200 with no rows. No rows at all: total_pages 0.
//   - end_date after today is allowed: days to come have no rows.
//   - Rows are grouped by the dimensions asked for. campaign_name asks for the
//     campaign, not for its text: two campaigns of one name stay two rows. Columns
//     without a dimension give one row.
//   - With include_creatives there is a row for every campaign and creative that
//     existed; a creative that was not delivered has one row per day with
//     source_id null (three quirks have other forms). A source_id filter leaves
//     these rows out, and they do not exist without include_creatives; a source that
//     was delivered and not clicked has a row with total_spend 0.
//   - ctr, cpc and cpa are plain ratios (ctr 0.0125, not 1.25), computed as floats,
//     and null if they would divide by zero.
//   - creative_image_url is null for a creative without a large image, and
//     creative_icon_url for a draft.
//   - An unknown campaign, creative or source in a filter: 200 with no rows.
//   - Numbers change in steps: a reply shows the state at the last quarter of an hour
//     (Config.Refresh), like services that aggregate in batches.
//   - Conversions keep arriving for up to 24 days after the click; about one row in
//     a thousand loses some clicks and their cost two to six days later (a credit).
//   - There is no rate limit on the report.
//
// Advertiser API:
//
//   - Statuses: validation_failed 400, unauthorized 401, forbidden 403, not_found
//     404, conflict 409, rate_limited 429, internal_error 500, upstream_error 502,
//     unavailable 503. A known path with another method is 405 with the code
//     not_found.
//   - An unknown query parameter, one given twice and an empty status list are
//     refused (400); details is a list of {field, message}.
//   - Only accepted requests count against the 120 a minute; a refused key is not
//     counted, an invalid query is.
//   - openapi.json needs the key, as everything else does.
//   - Lists have total, limit and offset next to the entries, see above.
//   - daily_spend_limit is null for a campaign without one: the dashboard allows that,
//     so a client must accept it. A draft may lack title, message, link and icon_id:
//     they are null.
//   - A campaign that is being delivered has delivery_status "active": the list of
//     the description has no word for it.
//   - The balance status is "ok" when it is neither low nor depleted, "low" when it
//     lasts less than two days, "depleted" when nothing is left.
//   - A card account (payment_mode "card") is charged every Monday with the cost of ten
//     days, and again when less than auto_funding.threshold is left: it never runs out
//     by itself. A prepaid account (Config.Prepaid; payment_mode "prepaid", no
//     auto_funding) has its funds from the Chicago day of its first request, and every
//     click lowers them. All its campaigns follow their settings. The funds are checked
//     every five minutes; once they are exhausted, nothing is delivered until
//     [Service.AddFunds]. Credits and restatements do not change the funds.
//   - On the day of the first request, the configured number of campaigns is listed;
//     of the campaigns archived long before, only the newest. No campaign disappears by
//     itself.
//   - An offset above 10000 is refused (400): if there are more than 10100 campaigns,
//     the rest can only be listed status by status.
//   - A campaign is created in the evening before the Chicago day it is first seen
//     on. Newest first is by creation, then by ID.
//   - Service-Api-Key-Expiry-Warning is a sentence with the days left.
//
// Writes of the advertiser API:
//
//   - The order of checks: key (401), requests a minute (429), path (404), method
//     (405), scope (403), form of the body (400), another change in progress (429),
//     whether the ID exists (404), whether the change is allowed (409, 400), the day's
//     budget (429). A refused write does not use the budget.
//   - Codes: a value out of bounds, doubling, a bid below the audience's or above
//     three times the default, an unknown field: validation_failed. A change that the
//     state forbids (archived, the last allowed source, optimize without target_cpa,
//     the list of the other mode, a pause that is finishing): conflict. An unknown
//     image ID: not_found. An unknown source: validation_failed.
//   - Bodies: at most 1 MiB of UTF-8, no key twice, whatever the Content-Type. Amounts
//     are rounded to six decimals.
//   - The kinds of change with a budget and their amounts: see usualBudgets. A
//     status other than paused counts as an update, clone_campaign as a create and
//     its creatives each, every source of a call counts. A dry run takes nothing.
//   - Pausing has no limit: no budget, no change in progress, no requests a minute.
//   - A change is in progress for Config.ChangeTakes, by default no time at all.
//   - A write replies with the new state, in the form of a read; create_creatives
//     with a list without totals, clone_campaign with cloned_creative_ids, sources
//     with changed_source_ids and unchanged_source_ids (blocking a blocked source is
//     not an error).
//   - A rejected campaign can be paused and archived, not activated; once paused it
//     can be activated like any other. Only [Service.Change] makes campaigns rejected.
//     Archiving an archived campaign changes nothing. An archived campaign can be
//     cloned, and its creatives too.
//   - end_date is after start_date; min_age is at most max_age; of two bounds in
//     minutes, "more than" is below "less than". States without the country US are
//     accepted.
//   - A draft stays a draft if submit_for_review is false, or if the field is absent and
//     the draft is incomplete; if not, it is submitted. Any other creative refuses
//     submit_for_review (409).
//   - The version of a running creative is shown as pending_version; a rejected version
//     stays there with its reasons. A second change starts from the first.
//   - A creative that is a draft, pending or rejected can't be paused (409).
//   - Campaigns have no active hours (day-parting): the API shows none.
//   - A clone of a campaign has bids and optimization of sources too.
//   - set_source_bids takes either bid or optimize; optimize false ends it, and a bid
//     does too. Optimized sources are listed as optimized_source_ids and bought at
//     50 to 150 percent of the default bid.
//   - 700 KB are 716800 bytes. Shapes are exact. At most 8192 pixels a side. Redirects
//     of an image_url are not followed; all addresses of its host must be public.
//   - A review takes one to 22 hours, depending on the creative, or Config.ReviewTakes.
//     It rejects texts that promise too much (see forbidden) and approves the rest.
//   - The keys are those of the Config: POST /v1/api-keys is not served.
//
// MCP:
//
//   - tools/call counts against the minute, other messages don't. status is a list of
//     texts in the place of a comma-separated one. A bare list comes as {"items":[..]}.
//   - An ID of the wrong form is validation_failed; REST replies not_found.
//   - OAuth is an authorization code with PKCE (S256) and dynamic registration of
//     clients, under /api/oauth/; a sign-in lasts until [Service.EndSignIns].
//
// Push sending:
//
//   - The token stands in the authorization header, with or without Bearer.
//   - Success is {"statusCode":200,"message":"request received","id":ID}.
//   - All errors have the form of the broadcast's: 400 with a text for a missing or
//     wrong field, 404 for an unknown subscriber, 405. Unknown fields are ignored. The
//     order: token, JSON, fields, website.
//   - psid takes precedence over csid. A plain form is accepted as well as multipart.
//   - schedule in the past means now. Times without a zone are UTC; "same day" and "same
//     hour" are in UTC, and compare with the clock if the value is now or empty.
//   - If the variable is missing, only different, != and not exists match. Numbers compare
//     as numbers, dates as dates.
//   - An external payload is a JSON object with any of title, message, link and icon,
//     retrieved by GET when the broadcast is sent: at the next request for the outbox.
//   - The follow-up is sent to the subscribers of the broadcast's segment that qsegment
//     selects, and not at all if the broadcast was not sent.
//
// Everywhere: the Date header is the service's clock.
package adsim
