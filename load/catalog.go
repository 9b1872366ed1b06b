package load

import (
	"spendsync/load/catalog"
	"spendsync/load/commit"
	"spendsync/schema"
)

// The words of package catalog that callers of this one need.
type (
	// Manifest is the published generation.
	Manifest = catalog.Manifest
	// Account is one account's part of it.
	Account = catalog.Account
	// Day is what is known about one proven day.
	Day = catalog.Day
	// FileInfo is one published file.
	FileInfo = catalog.FileInfo
	// ControlTotal is the service's own total of a day.
	ControlTotal = catalog.ControlTotal
	// KeyChanges is how often a key that no column shows was compared, and differed.
	KeyChanges = catalog.KeyChanges
)

// UnfinishedCommit is a commit that has begun and has not ended.
type UnfinishedCommit = commit.Unfinished

// FindUnfinishedCommit is [commit.Find].
func FindUnfinishedCommit(dir string) (*UnfinishedCommit, error) { return commit.Find(dir) }

// ManifestFormat is the version of manifest.json itself.
const ManifestFormat = catalog.ManifestFormat

// The kinds of FileInfo.
const (
	KindParquet = catalog.KindParquet
	KindRaw     = catalog.KindRaw
	KindReplies = catalog.KindReplies
)

// AccountName is what an account may be called: it is part of paths and SQL.
var AccountName = catalog.AccountName

// ReadManifest is [catalog.ReadManifest].
func ReadManifest(dir string) (*Manifest, error) { return catalog.ReadManifest(dir) }

// NewAccount is [catalog.NewAccount].
func NewAccount(since schema.Date) *Account { return catalog.NewAccount(since) }

// LastRun is [catalog.LastRun].
func LastRun(dir, account string) (*schema.Run, error) { return catalog.LastRun(dir, account) }

// LastRunThat is [catalog.LastRunThat].
func LastRunThat(dir, account string, isSo func(*schema.Run) bool) (*schema.Run, error) {
	return catalog.LastRunThat(dir, account, isSo)
}
