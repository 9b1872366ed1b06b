package load

import (
	"spendsync/load/commit"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// The words of package manifest that callers of this one need.
type (
	// Manifest is the published generation.
	Manifest = manifest.Manifest
	// Account is one account's part of it.
	Account = manifest.Account
	// Day is what is known about one proven day.
	Day = manifest.Day
	// FileInfo is one published file.
	FileInfo = manifest.FileInfo
	// ControlTotal is the service's own total of a day.
	ControlTotal = manifest.ControlTotal
	// KeyChanges is how often a key that no column shows was compared, and differed.
	KeyChanges = manifest.KeyChanges
)

// UnfinishedCommit is a commit that has begun and has not ended.
type UnfinishedCommit = commit.Unfinished

// FindUnfinishedCommit is [commit.Find].
func FindUnfinishedCommit(dir string) (*UnfinishedCommit, error) { return commit.Find(dir) }

// ManifestFormat is the version of manifest.json itself.
const ManifestFormat = manifest.Format

// The kinds of FileInfo.
const (
	KindParquet = manifest.KindParquet
	KindRaw     = manifest.KindRaw
	KindReplies = manifest.KindReplies
)

// AccountName is what an account may be called: it is part of paths and SQL.
var AccountName = manifest.AccountName

// ReadManifest is [manifest.Read].
func ReadManifest(dir string) (*Manifest, error) { return manifest.Read(dir) }

// NewAccount is [manifest.NewAccount].
func NewAccount(since schema.Date) *Account { return manifest.NewAccount(since) }

// LastRun is [manifest.LastRun].
func LastRun(dir, account string) (*schema.Run, error) { return manifest.LastRun(dir, account) }

// LastRunThat is [manifest.LastRunThat].
func LastRunThat(dir, account string, isSo func(*schema.Run) bool) (*schema.Run, error) {
	return manifest.LastRunThat(dir, account, isSo)
}
