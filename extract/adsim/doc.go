// Package adsim simulates the advertising service in-process. Its [net/http.Handler] serves the advertiser API and the
// spend report of one or more made-up accounts, as the service's description defines them. It serves the requests that
// spendsync sends, and the changes of source lists that spendsync prints for its user to send. It does not simulate the
// other writes, MCP, and the APIs that send pushes.
//
// # Packages
//
// Each package imports only packages of the lines above it, except that config imports chance:
//
//	chance, memo, money, tree, clock, config  hashes, a cache, amounts, JSON, time, the options
//	market                                    generates an advertiser from a seed
//	ledger                                    computes the numbers and settings at an instant
//	world                                     holds one account and its changes
//	wire                                      injects faults, logs requests, sends replies
//	report, advertiser                        serve the two interfaces
//	variations                                changes replies by quirks
//	adsim                                     assembles the service, and takes commands under /_sim/
//
// # What it promises
//
//   - The seed determines the account. The numbers of a day depend on the seed, the day, the service's clock and the
//     changes made by tests; not on the order of requests, the machine or the time the process was started.
//   - Two replies to the same question in the same state are the same bytes, except for the request_id of an error.
//   - Rows have one total order: date, campaign, creative, source. A page is computed without the pages before it, so
//     page 900 costs as much as page 1. Money is an integer of millionths of a dollar in Go, and exact decimal text in
//     replies.
//   - All methods may be called from any goroutine.
//
// The simulator imports no package of the client, so that a mistake of the client can't be repeated here. Without
// quirks, a GET changes no settings and no numbers. The simulator stores nothing on disk and opens no connections.
//
// # Where to find it
//
// With a server at http://127.0.0.1:8080 the base URLs are http://127.0.0.1:8080/report and /api. With
// [Service.Transport] the host may be anything. An account has a dashboard user, a read-only API key ([DefaultKey]) and
// a read-write one ([DefaultWriteKey]). The keys of the second account end in 2, and its user is analyst2@example.com.
// Where the description does not specify a reply, described_test.go shows the reply that the simulator gives.
//
// # Spending follows the settings
//
// In a prepaid account (Config.Prepaid) a campaign's spend depends on its settings. A campaign gets a share of the
// traffic that was generated for it: the traffic that arrives while the campaign runs (active and within its dates),
// the creative is active and the source is bought. Twice the bid draws about twice the traffic at twice the price. The
// daily limit and the remaining balance bound the cost of a whole day: if the day's rows together cost more, all rows
// are scaled down in proportion. Days before a change keep their numbers.
//
// # What a test can do to it
//
// Faults ([Service.Fail]) damage the replies to some requests. Quirks ([Service.SetQuirks]) vary the replies to all
// reads: numbers as texts, lists without totals, other envelopes; [Quirks] lists them. Tests can restate days
// ([Service.Restate]), plant effects ([Service.Plant]), wire money ([Service.AddFunds]) and set the clock
// ([Service.SetNow]). They can read the true rows and settings ([Service.Truth], [Service.Settings]), and the log of
// requests ([Service.Requests]).
//
// [Service.Change] changes settings as a person would in the dashboard, and also in ways that the dashboard refuses.
// Changes affect the report only if the account is prepaid.
package adsim
