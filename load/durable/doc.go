// Package durable writes files that survive a crash. All file operations of the store go through a [Disk], over an [FS]
// that a test can replace: by one that fails at any call, or that forgets unsynced data at a power cut.
//
// What it promises:
//
//   - When [Writer.Finish] or [Disk.WriteFile] returns without an error, the content is durable. The name is durable
//     after a sync of the folder.
//   - An error of the file system is an [ErrStorage]; a readable file with wrong content is an [ErrDamaged].
//   - The hash in a text with a [Seal] covers every bit of the text.
//
// What it never does: it replaces no file in place, and it does not know the content of the files.
package durable
