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
//  3. days (days.go, day.go, weigh.go, bycampaign.go): several at a time. A read is the day if its pages fit each
//     other, each key came once, and as many rows came as they state; where they state nothing, the service's own sum
//     or a second read has the same. It replaces what is stored, but never against the service's own sum, nor with
//     refused rows over a finished day that was whole, nor with less than half of the stored rows or spend before
//     that sum or the next run shows the same. Otherwise the day is read again, three times in a run and then
//     campaign by campaign; what is stored stands, the replies are kept, and the message names the line that may cure
//     it.
//  4. proof (report.go). A day is the account's if one of its campaigns is stored, or is in the key's list, or in
//     another day that is. If nothing is stored, the key answers once more after the reading. Everything else is
//     withheld: its replies are kept for a later run (quarantine.go). An empty day proves nothing (silence.go).
//  5. settings (settingswalk.go), in parallel with the days. A null unsets a field; a missing key does so in two runs
//     in a row, if no entity has it as null (judge.go). An entity ends by its own error.code not_found in two runs in
//     a row, and absence from a list only makes a run ask (missing.go). A rule of a source ends when two readable
//     readings of a run lack it. Each kind of settings is a value (kinds.go) that one function stages (kind.go).
//  6. publish (publish.go): what is proven of the report and the settings, as one generation.
//  7. outcome (outcome.go): the list of findings, and the state of the store. The exit code is the gravest, the
//     sentence their join. What is stored and partial or doubtful ends every run with exit 4 until it heals, or a
//     person accepts it: a form of difference up to a size, or a day as it is stored ([Job.Accept]).
//
// [Job.Replay] and [Job.Rebuild] (repair.go) publish without asking the service.
package job
