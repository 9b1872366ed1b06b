// Package extract reads the service: one question at a time, as often as it
// takes, and no further than can be proven.
//
// It owns the requests (timeouts, retries, the limit per minute, the waits that
// the service asks for), the strict reading of the replies' JSON, and the proof
// that the pages of a report add up.
//
// # The contract with the service
//
// What the service's description states is required; what it leaves open is declared in the lines of package service;
// nothing is inferred from replies. A reply that fits neither is refused with the keys that came and the line that
// would name them.
//
//   - One judge decides what a reply is, by its status, headers and body: accepted, limited, failing, cut, refused, not
//     there, out of reach, denied, or outside the contract. It asks once more after a refusal that names no parameter,
//     and follows no redirect. A Retry-After and the words of a limit make any status one that is waited for.
//   - An entity does not exist only if the service's own error has the code not_found ([ErrNotFound]).
//   - A list is an array, or an object with one array of objects, asked for until a page brings nothing new. An entity
//     is the object that has its ID. See shape.go.
//   - A reply of the report is the object of the description: columns (all that were asked for), data, and pagination
//     that states its own place. Anything else is [ErrContract], and names the line of the service file that may cure
//     it. Without pagination it is one whole page.
//   - A walk such as [Client.Spend] goes to the last page that is stated, and returns what the pages state of each
//     other ([Evidence]): a total that changes, or that its pages do not fit. The caller compares it with the rows, and
//     asks for the day again.
//   - A report that states an error, or that rows are missing, is refused with all its rows.
//
// # What it promises
//
//   - A value is handed on as it was received. Nothing is defaulted, rounded or converted here; package transform does
//     that, with the row's place at hand.
//   - A key that the description does not name is recorded ([UnknownKey]), and the reply itself stays with its page.
//   - No window of 60 seconds holds more requests than allowed, retries included, and a wait that the service asks for
//     holds back every request of the client.
//   - All replies that are being read together take at most 64 MiB.
//   - Credentials go to the configured host only, and into no error and no log. Credentials that were accepted in this
//     run and are refused later are a failure that passes.
//   - A read ends: by its answer, by an error, or with its context. All requests of a client share one budget of
//     waiting, an answer after a wait refills it, and once it is used up each question is sent once.
//
// Errors are told apart with [errors.Is] and [errors.As]: [ErrAuth],
// [ErrUnavailable], [ErrContract], [ErrUnreachable], [ErrNotFound] and [UnprovenError].
// A context that ends is the context's error.
//
// The package stores nothing and knows nothing of Arrow, Parquet or DuckDB.
package extract
