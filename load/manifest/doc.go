// Package manifest describes what lies in a data directory: the manifest, which names every
// published file of a generation, the ledger, which records every run, and the places of the files
// of each account and day. ../FORMAT.md is the same for readers of the files.
//
// What it promises:
//
//   - It returns what was published, or a [durable.ErrDamaged] that names the file: every byte is
//     covered by a SHA-256.
//   - A store whose parts are of different generations is noticed: every part names its generation,
//     see [Manifest.Newest].
//   - How well each day is known follows from the manifest alone, see [Account.Coverage].
//   - Equal content gives equal bytes. A run of one account reads and writes the file of that account
//     and the root: of 200 accounts with 106 files each 0.2 MB an hour, where one text for all accounts
//     took 10 MB.
//
// What it never does: it writes no file and takes no lock, and it does not build a generation, see
// [Next].
package manifest
