// Package adsim is the advertising service, simulated in-process: an [net/http.Handler] that answers the advertiser
// API over REST and the spend report as the service's description has them, for one made-up account or several. It
// answers what spendsync asks, and takes the changes of source lists that spendsync prints: of the other writes, MCP
// and the push sending APIs it knows nothing.
//
// # Rooms
//
// Each room imports only rooms below it. From the bottom:
//
//	chance, memo, money, tree, clock, config  hashes, results kept, amounts, JSON, time, what can be asked for
//	market                                    the advertiser that a seed gives
//	ledger                                    numbers and settings of a state; changes nothing
//	world                                     the account that changes
//	wire                                      faults, the log, sending
//	report, advertiser                        the interfaces
//	variations                                quirks of the replies
//	adsim                                     the service: puts the rooms together, and takes orders under /_sim/
//
// # What it promises
//
//   - The account follows from the seed. The numbers of a day follow from the seed, the day, the service's clock and
//     what was asked for; not from the order of requests, the machine or the time the process was started.
//   - Two replies to the same question in the same state are the same bytes, but for the request_id of an error.
//   - Rows have one total order: date, campaign, creative, source. A page is computed from its place alone, so page 900
//     costs what page 1 costs. Money is whole millionths of a dollar inside and exact decimal text outside.
//   - All methods may be called from any goroutine.
//
// It imports nothing of this module outside its rooms, so that a mistake of the client can't be mirrored here. It
// changes nothing on a GET, keeps nothing when it ends, and connects to nothing.
//
// # Where to find it
//
// With a server at http://127.0.0.1:8080 the base URLs are http://127.0.0.1:8080/report and /api. With
// [Service.Transport] the host may be anything. An account has a user of the dashboard, a key that can read
// ([DefaultKey]) and one that can write ([DefaultWriteKey]); the second account's have a 2 at their end, and its user
// is analyst2@example.com. The report refuses unconfirmed@example.com and unassigned@example.com with its two texts of
// 403. What the description leaves open is chosen in described_test.go, a line for each choice.
//
// # Spending follows the settings
//
// In a prepaid account (Config.Prepaid) each campaign spends by its settings. Its traffic without changes is the
// supply: it gets the part of the day's
// traffic during which it is active, within its dates, from each source while the source is bought, for each
// creative while that is active. Twice the bid draws about twice the traffic at twice the price. The day's limit,
// and what is left of a prepaid balance, are of the day as a whole: if its rows cost more, each gets its part of the
// amount. Days before a change keep their numbers.
//
// # What a test can do to it
//
// Faults ([Service.Fail]) strike some requests. Quirks ([Service.SetQuirks]) are variations of the replies to reads
// that hold for every request: numbers as texts, lists without totals, other envelopes; [Quirks] lists them. Days can
// be restated ([Service.Restate]), effects planted ([Service.Plant]), money wired ([Service.AddFunds]), the clock set
// ([Service.SetNow]); and what a perfect copy holds can be read ([Service.Truth], [Service.Settings]), as can the log
// ([Service.Requests]).
//
// [Service.Change] changes settings as a person would in the dashboard, or as no person could. The report ignores
// changes, unless the account is prepaid.
package adsim
