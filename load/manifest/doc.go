// Package manifest describes the content of a data directory. The manifest names every published file of a generation.
// The ledger records every run. Functions return the places of the files of each account and day. ../FORMAT.md
// describes the directory for readers of the files.
//
// What it promises:
//
//   - It returns the published content, or a [durable.ErrDamaged] that names the file.
//   - It detects a store with parts of different generations, see [Manifest.Newest].
//   - The manifest alone determines the coverage of each day, see [Account.Coverage].
//   - Equal content gives equal bytes.
//   - A run of one account reads and writes only manifest.json and the file of that account. With 200 accounts of 106
//     files each, it writes 0.2 MB an hour, in place of 10 MB if there were one file for all accounts.
//
// What it never does: it takes no lock, and it does not publish.
package manifest
