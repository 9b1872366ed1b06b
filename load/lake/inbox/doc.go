// Package inbox is for fleets: many stores, more than some fifty, that follow into one lake. Each of them leaves a
// description of its generation in the lake, and one process folds the descriptions of all into one commit. A lake of
// fewer stores needs nothing of it.
//
// What it promises:
//
//   - [Describe] uploads what the lake lacks and leaves a description; [Commit] commits of each store its newest one,
//     and only if the store knows the lake's generation. Running either again does nothing, and after a death anywhere
//     the next run ends in the same state.
//   - A description that may not be folded is named, and those of other stores are folded.
//   - A description is folded within [Age] or not at all: maintenance deletes what nothing names.
//
// BenchmarkInbox of package lake: an hour of 200 stores of one account each with one changed day, whose descriptions
// one commit folds: with 110 and with 1,095 days of history 0.5 and 1.0 CPU s, 158 and 173 MiB, as it reads each
// description entirely. It sends one request for each description and 39 more: 20 to the catalog, 19 to the storage.
// The pod of a store sends 29 for itself, uploads included: it looks at every table.
package inbox
