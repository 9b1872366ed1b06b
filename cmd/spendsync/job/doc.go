// Package job is one run of spendsync: it plans, reads, proves, stages, decides and publishes.
// Flags, wiring and printing are the command's; files are the store's.
//
// An unproven read never replaces stored data, and a day that cannot be proven keeps no other day back. Readers
// see the generation before the run or the one after it. Whatever ends a run, the next one continues from the
// published coverage of the days. Exit code 0 means that everything planned is published.
//
// [Job.Sync] goes through these phases (sync.go). A session has what all of them share: clients, store, clock, log.
//
//  1. plan (plan.go): which days of the reach to read, from their coverage and the clock.
//  2. key (identity.go): the account of the API key, and its list of campaigns, asked for while the days are read.
//  3. days (days.go, day.go, weight.go): several at a time. A read, which is all pages of a day requested once, is
//     the day if what speaks for it outweighs what speaks against it by two. For it: the pages ended; as many rows,
//     or rows with spend, came as are stated; the service's own sum (control.go); another read with the same rows,
//     the stored one included. Against it: another number or sum, a key twice, less than is stored, values that
//     cannot be read. A day is read three times at most; if no read proves it alone, the union of their rows is
//     weighed as one more. Only pages that come without an order are read up to twelve times.
//  4. proof (report.go). A day is the account's if one of its campaigns is stored, or is in the key's list, or in
//     another day that is. If nothing is stored, the key answers once more after the reading. Everything else is
//     withheld: its replies are kept for a later run (quarantine.go). An empty day proves nothing (silence.go).
//  5. settings (settingswalk.go), in parallel with the days. A null says that a field is unset; a missing or blank one
//     says so if another entity of the run has a value there (unset.go). An entity ends by its own 404 or 410 in two
//     runs in a row, and absence from a list only makes a run ask (missing.go). A rule of a source ends when two
//     readings of a run lack it. observe.go turns all of it into observations of each table.
//  6. publish (publish.go): what is proven of the report and the settings, as one generation.
//  7. outcome (outcome.go): the list of findings. The exit code is the gravest, the sentence their join, and a note
//     what lasts: after three runs, or by hand, it ends none any more.
//
// [Job.Replay] and [Job.Rebuild] (repair.go) publish without asking the service.
package job
