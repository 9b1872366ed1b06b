// Package durable keeps files that survive a crash. All that the store does to its files
// passes through a [Disk], over an [FS] that a test can replace: by one that fails at any
// call, or that forgets unsynced data at a power cut.
//
// What it promises:
//
//   - A file that [Writer.Finish] or [Disk.WriteFile] has reported as written is on the disk,
//     and its SHA-256 is returned. Its name is durable after a sync of its folder.
//   - An error of the file system is an [ErrStorage]; a readable file with wrong content is
//     an [ErrDamaged].
//   - Every bit of a text with a [Seal] is covered by the hash in it.
//
// What it never does: it replaces no file in place, and it does not know what the files
// hold.
package durable
