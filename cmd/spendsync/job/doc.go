// Package job is one run of spendsync: it plans, reads, proves, stages, decides and publishes.
// The command has the flags, the wiring and the printing; the store has the files.
//
// An unproven read never replaces stored data, and a day that cannot be proven does not stop the other days. Readers
// see the generation before the run or the generation after it. However a run ends, the next run continues from the
// published coverage of the days. Exit code 0 means that everything planned is published.
//
// # Words
//
//   - reach: the days that the report still covers, 32 before today.
//   - read: all pages of a day, requested once. It is proven if the rows are shown to be complete.
//   - control total: the service's own sum of a day, requested without campaigns, creatives and sources.
//   - stage, publish: a run writes its results aside, and publishes all of them in one step.
//   - quarantine: the folder of replies that did not prove their day, and of withheld days.
//   - withhold: keep a day out of the store because its account is not proven.
//   - witness: a campaign that is proven to belong to the account.
//   - silence: a report without delivery that may lack rows. It is no proof that nothing was spent.
//   - doubtful: said of a stored day whose numbers may be wrong, for example because the control total differs.
//   - partial: said of a stored day that is incomplete.
//   - note: a lasting difference that a person may accept by its name.
//   - reading: what a run has read of one entity of the settings.
//   - unread: a field without a usable value in the reply. The stored value is kept.
//   - settled: an archived campaign that was read in full. It never changes.
//   - stub: an entity known only from the report.
//
// # Phases
//
// [Job.Sync] goes through these phases (sync.go). A session holds what all phases share: clients, store, clock, log.
//
//  1. plan (plan.go): which days to read, from their coverage and the clock.
//  2. key (identity.go): the account of the API key, and its list of campaigns, requested while the days are read.
//  3. days (days.go, day.go, proof.go, bycampaign.go): several at a time. A read is proven if its pages fit each
//     other, each key comes once, and as many rows came as the pages state; if they state nothing, the control total or
//     a second read must agree. A proven read replaces the stored day, with three exceptions: the control total is the
//     sum of the stored rows; the read has refused rows, and the stored day is finished and complete; or the read has
//     less than half of the stored rows or spend, and neither the control total nor the next run has confirmed it. A
//     day without a proven read is read again, up to three times in a run and then campaign by campaign. If no read is
//     proven, the stored day stays, the replies go into quarantine, and the message names the line of the service file
//     that may help.
//  4. proof (report.go). A day belongs to the account if one of its campaigns is stored, or is in the key's list, or is
//     in another day that belongs to the account. If nothing is stored, the key must answer once more after the days
//     are read. All other days are withheld (quarantine.go). An empty day proves nothing (silence.go).
//  5. settings (settingswalk.go), in parallel with the days. A null unsets a field. A key that is missing in two
//     consecutive runs also unsets its field, if no entity has a null under that key (judge.go). An entity ends if two
//     consecutive runs ask for its ID and get error.code not_found; its absence from a list only makes a run ask
//     (missing.go). A source rule ends if two readings of its campaign in one run lack the rule. Each kind of settings
//     is a value (kinds.go) that one function stages (kind.go).
//  6. publish (publish.go): the proven days and the settings, as one generation.
//  7. outcome (outcome.go): the findings, and the state of the store. The exit code is the code of the gravest
//     finding; the sentence lists all findings. A stored day that is partial or doubtful makes every run exit with code
//     4 until it heals or a person accepts it ([Job.Accept]). A person accepts either the stored day, or a form of
//     difference up to a size.
//
// [Job.Replay] and [Job.Rebuild] (repair.go) publish without contacting the service.
package job
