// Package manifest describes the content of a data directory: the manifest, which names every
// published file of a generation, the ledger, which records every run, and the places of the files
// of each account and day. ../FORMAT.md describes it for readers of the files.
//
// What it promises:
//
//   - It returns the published content, or a [durable.ErrDamaged] that names the file: every byte is
//     covered by a SHA-256.
//   - It detects a store with parts of different generations: every part names its generation,
//     see [Manifest.Newest].
//   - The manifest alone determines the coverage of each day, see [Account.Coverage].
//   - Equal content gives equal bytes. A run of one account reads and writes the file of that account
//     and the root: of 200 accounts with 106 files each 0.2 MB an hour; one text for all accounts
//     took 10 MB.
//
// What it never does: it writes no file and takes no lock, and it does not build a generation, see
// [Next].
package manifest
