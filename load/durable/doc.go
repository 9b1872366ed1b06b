// Package durable writes files that survive a crash. All file operations of the store go through a [Disk], which calls
// an [FS]. A test can replace the FS by one that fails at any call, or that forgets unsynced data at a power cut.
package durable
