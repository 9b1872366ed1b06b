package manifest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"spendsync/schema"
)

// FileName is the file that names the published generation.
const FileName = "manifest.json"

// CommitName is the record of a commit under way. While it exists, the run that
// it names is committed and its files are on their way to their places.
const CommitName = "commit.json"

// accountPath is where the file of an account lies whose content has a hash, below the data directory.
func accountPath(account, sha256 string) string {
	return "manifest/account=" + account + "/" + sha256 + ".json"
}

// AccountName is what an account may be called: it is part of paths and SQL.
var AccountName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// PartPath is where a table's file of an account and day lies, below the data
// directory. Account names are checked and days are ours, so nothing that came
// from the service is ever part of a path.
func PartPath(t *schema.Table, account string, day schema.Date) string {
	dir := "parquet/" + t.Name + "/account=" + account
	if t.Partition != schema.ByAccount {
		dir += "/" + string(t.Partition) + "=" + day.String()
	}
	return dir + "/data.parquet"
}

// RawPath is where a stored reply of a day lies, below the data directory. Pages are
// counted from 1.
func RawPath(account string, day schema.Date, page int) string {
	return fmt.Sprintf("raw/spend_report/account=%s/day=%s/%04d.json.zst", account, day, page)
}

// RepliesPath is where the replies of the settings lie that were new on a day, below the data
// directory.
func RepliesPath(account string, seen schema.Date) string {
	return fmt.Sprintf("raw/settings/account=%s/seen=%s/replies.jsonl.zst", account, seen)
}

// RepliesIndexPath is where it says which replies of the settings are the last.
func RepliesIndexPath(account string) string {
	return fmt.Sprintf("raw/settings/account=%s/index.jsonl.zst", account)
}

// LedgerPath is the account's ledger of a month (UTC), below the data directory.
func LedgerPath(account string, at time.Time) string {
	return fmt.Sprintf("ledger/account=%s/%s.jsonl", account, at.UTC().Format("2006-01"))
}

// LeadsOut says that a path in a record is not that of a file within the store.
func LeadsOut(path string) bool { return !filepath.IsLocal(path) || path == "." }

// TableNamed is the table of which the store has files by that name; nil: there is none. Marts are made from
// the others, and are none of them.
func TableNamed(name string) *schema.Table {
	if t := schema.Named(name); t != nil && t.HasFiles() && t.View == "" {
		return t
	}
	return nil
}
