// Package extract reads the service: one question at a time, as often as it
// takes, and no further than can be proven.
//
// It owns the requests (timeouts, retries, the limit per minute, the waits that
// the service asks for), the strict reading of the replies' JSON, and the proof
// that the pages of a report add up.
//
// What it promises:
//
//   - A walk such as [Client.Spend] ends without an error only if its pages are
//     one whole answer. Pages that arrived and do not add up are an
//     [UnprovenError]; the reader asks for the day again.
//   - A value is handed on as it was received. Nothing is defaulted, rounded or
//     converted here; package transform does that, with the row's place at hand.
//   - What the service's description does not name is recorded, never dropped in
//     silence ([UnknownKey]), and the reply itself stays with its page.
//   - No window of 60 seconds holds more requests than allowed, retries
//     included, and a wait that the service asks for holds back every request of
//     the client.
//   - Credentials go to the configured host only, and into no error and no log.
//   - A limit is temporary at any status: a Retry-After, the words of a limit, and refused credentials that were
//     accepted before in this run make a refusal one that is waited for, and so is a reply that is no JSON at all.
//   - A read ends: by its answer, by an error, or with its context. All requests of a client share one budget of
//     waiting, an answer after a wait refills it, and once it is used up each question is sent once.
//
// Errors are told apart with [errors.Is] and [errors.As]: [ErrAuth],
// [ErrUnavailable], [ErrContract], [ErrUnreachable], [ErrNotFound] and [UnprovenError].
// A context that ends is the context's error.
//
// The package stores nothing and knows nothing of Arrow, Parquet or DuckDB.
package extract
