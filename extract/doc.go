// Package extract reads the service: it sends one question at a time, repeats it as often as needed, and claims no more
// than it can prove.
//
// It owns the requests (timeouts, retries, the limit per minute, the pauses that the service asks for), the strict
// decoding of replies, and the proof that the pages of a report add up.
//
// # The contract with the service
//
// Everything that the service's description states is required. Everything that the description leaves open is declared
// in the lines of package service. Nothing is inferred from replies. A reply that fits neither the description nor the
// lines is refused. The error lists the keys of the reply and the line that could name them.
//
//   - One function, judge, classifies a reply by its status, headers and body: accepted, limited, failing, cut,
//     refused, not there, out of reach, denied, or outside the contract. A question is sent once more if its refusal
//     names no parameter. Redirects are not followed. With a Retry-After header or the words of a rate limit, a reply
//     of any status is a limit, and the client waits.
//   - An entity counts as missing only if the service's own error has the code not_found ([ErrNotFound]).
//   - A list is an array, or an object with one array of objects, and is requested until a page has no new entry. An
//     entity is the object that has its ID. See shape.go.
//   - A reply of the report is the object of the description: columns (all that were requested), data, and pagination
//     that states its own page number. Anything else is [ErrContract], and the error names the line of the service file
//     that may help. A reply without pagination is one whole page.
//   - A walk, for example [Client.Spend], requests all pages up to the stated last page, and collects contradictions
//     between the pages ([Evidence]): a total that changes, or that does not fit the number of pages. The caller
//     compares the total with the rows, and may walk again.
//   - A report that states an error, or that rows are missing, is refused with all its rows.
//
// # What it promises
//
//   - Values are returned as received. Nothing is defaulted, rounded or converted here; package transform does that,
//     and can name the row.
//   - Keys that the description does not name are recorded ([UnknownKey]), and the page keeps the reply itself.
//   - No window of 60 seconds has more requests than allowed, retries included. A pause that the service asks one
//     request for delays all requests of the client.
//   - All replies that are being read take at most 64 MiB together.
//   - Credentials go only to the configured host. No error, no log and no returned reply contains them, or the
//     credentials of the other interface. If credentials were accepted in this run and are refused later, the client
//     asks a few times more.
//   - Every read ends: with its answer, with an error, or with its context. All requests of a client share one budget
//     of waiting. An answer after a wait refills the budget; once the budget is used up, each question is sent only
//     once.
//
// Errors are told apart with [errors.Is] and [errors.As]: [ErrAuth], [ErrUnavailable], [ErrPage], [ErrContract],
// [ErrUnreachable], [ErrNotFound] and [UnprovenError]. If a context ends, the error is the context's.
//
// The package stores nothing and knows nothing of Arrow, Parquet or DuckDB.
package extract
