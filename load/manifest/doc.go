// Package manifest describes what lies in a data directory: the manifest, which names every
// published file of a generation, the ledger, which records every run, and the places of the files
// of each account and day. ../FORMAT.md is the same for readers of the files.
//
// What it promises:
//
//   - What it reads is what was published, or it is an [durable.ErrDamaged] that names the file:
//     every byte is covered by a SHA-256.
//   - A store of which parts are of different generations shows: every part knows which
//     one it is of, see [Manifest.Newest].
//   - Of a day it is known how well: see [Account.Coverage].
//
// What it never does: it writes no file and takes no lock, and it does not know how a
// generation is made.
package manifest
