// Package job is one run of spendsync: it plans, reads, proves, stages, decides and
// publishes. Flags, wiring and printing are the command's; files are the store's.
//
// # What a run promises
//
//   - An unproven read never replaces stored data. A day that cannot be
//     proven keeps no other day back.
//   - Readers see the generation before the run or the one after it, never a mix.
//   - Whatever ends a run, the next one continues from the published generation: the
//     coverage of the days, not a cursor, decides which days are read.
//   - Exit code 0 means that everything planned is published. Whatever is missing is
//     named in the run's line in the ledger.
//
// # The phases
//
// [Job.Sync] goes through them in this order. Each phase is a function that takes the values of
// earlier phases and returns one. A small session holds what all of them share: clients, store,
// clock and log.
//
//  1. plan (plan.go): which days to read, from their coverage and the clock.
//  2. key (identity.go): the account of the API key, if the service names it, and its list of campaigns,
//     requested while the days are read.
//  3. days (days.go, day.go, weight.go, control.go): several days at a time, each read, proven and staged by
//     itself. A read is the day if what speaks for it outweighs what speaks against it by two. For it: the pages
//     ended; as many rows came as are stated; the service's own sum; another read with the same rows, the stored one
//     included. Against it: another number or sum, a key twice, less than is stored, values that cannot be read. A day
//     is read three times at most; if no read proves it alone, the union of their rows is weighed as one more. Only
//     pages that come without an order are read up to twelve times, for their union. A stated number of rows that left
//     rows out of the stored day, too, speaks against no read. daysum.go adds the days up.
//  4. proof (report.go). A day is the account's if one of its campaigns is stored, or is in the
//     key's list, or in another day that is; the list is by the same rule. If nothing is stored, the
//     key answers once more after the reading. Everything else is withheld: its replies are kept, and
//     if the day leaves the reach, a later run takes it from them (quarantine.go). A wrong clock,
//     failing storage, or a key or report of another account ends the run here.
//  5. settings (settings.go, settingswalk.go, settingsparts.go): in parallel with the days, from the
//     start, campaigns, creatives, sources and the account are read into one value (readentity.go),
//     as far as the budget reaches (budget.go). A null says that a field is unset; a missing or blank
//     one says so if another entity of the run has a value there (unset.go). An entity ends by its own
//     404 or 410 in two runs in a row, and absence from a list only makes a run ask; what spends today,
//     on a later day than it was last seen on, has not ended (missing.go, spent.go). A rule of a source
//     ends when two readings of a run lack it (missingrules.go). observe.go turns all of it into
//     observations of each table.
//  6. publish (publish.go): everything proven of the report and the settings, as one
//     generation. If one of the two fails, the other one is published alone.
//  7. outcome (outcome.go): the list of findings. The exit code is the gravest, the sentence their
//     join, and a note (notes.go) what lasts: after three runs, or by hand, it ends none any more.
//
// [Job.Replay] and [Job.Rebuild] (repair.go) publish without asking the service.
//
// # Glossary
//
//   - day: a calendar day in America/Chicago. It is read, proven, stored and
//     replaced as a whole.
//   - open day: a day that is not over. It is stored, and complete only as of its read.
//   - reach: the days that the service still answers for: today and the 32 before.
//   - plan: the days that a run will read, each with the reason.
//   - read: all pages of one day, requested once.
//   - proof: more that speaks for a read than against it, by two.
//   - control total: the service's own sum of a day, requested separately.
//   - union: the rows of several reads of one day. Pages without an order prove it alone, with up to twelve reads.
//   - silence: an empty day takes two empty answers, or a sum of zero, and proves nothing unless rows of other days
//     prove whose report it is, or the account rests; silence.go has the rule.
//   - raw reply: an unmodified page, kept with the stored day.
//   - restatement: a difference between two reads of a day that was over at the first.
//   - coverage: the state of knowledge about a day:  open; complete (proven after
//     the day was over); final (complete, and out of reach); partial (last read before
//     it was over); missing (not read, in reach); lost (not read, out of reach).
//   - entity: a campaign, a creative, or the source settings of a campaign.
//   - settings: the service's fields of entities and the account. Their only history
//     is the one kept here.
//   - observation: the content of one settings table as one run read it.
//   - version: the state of an entity during a half-open span of time.
//   - stub: an entity that only the report names; its settings are not known.
//   - settled campaign: archived, and read completely since. It is not read again.
//   - pinned account: the advertiser account that the first run's key acted on.
//   - witness: a campaign that is proven to be the account's. One reply is of one account: all
//     campaigns of a reply that contains a witness are witnesses.
//   - withheld day: a day with proven rows and an unproven account. Its replies are kept in
//     quarantine.
//   - generation: everything that is published at one instant, by number.
//   - staging: the private folder where a run builds its generation.
//   - run: one execution of a job. Its line in the ledger has its outcome.
//   - step: one day's part of a run.
//   - ledger: the lines of all runs, steps and unreadable entities.
package job
