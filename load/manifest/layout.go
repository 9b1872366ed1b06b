package manifest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"spendsync/schema"
)

// FileName is the name of the manifest's root, which describes the published generation.
const FileName = "manifest.json"

// WarehouseName is the name of the DuckDB file in a data directory.
const WarehouseName = "warehouse.duckdb"

// CommitName is the name of the record of a commit under way. While the record exists, the run that it names is
// committed, and the files of the run are being moved to their places.
const CommitName = "commit.json"

// accountPath returns the path of the account file whose content has the given SHA-256.
func accountPath(account, sha256 string) string {
	return "manifest/account=" + account + "/" + sha256 + ".json"
}

// TablePath returns the path, below the data directory, of a table's Parquet file for an account and day; a table with
// one file per account ignores the day. No text from the service is part of a path.
func TablePath(t *schema.Table, account string, day schema.Date) string {
	dir := "parquet/" + t.Name + "/account=" + account
	if t.Partition != schema.ByAccount {
		dir += "/" + string(t.Partition) + "=" + day.String()
	}
	return dir + "/data.parquet"
}

// RawPath returns the path of a stored reply. Pages count from 1.
func RawPath(account string, day schema.Date, page int) string {
	return fmt.Sprintf("raw/spend_report/account=%s/day=%s/%04d.json.zst", account, day, page)
}

// ByPage compares the paths of a day's replies by page number, which has more than four digits from page 10,000 on.
func ByPage(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }

// LedgerPath returns the path of the account's ledger for the UTC month of an instant.
func LedgerPath(account string, at time.Time) string {
	return fmt.Sprintf("ledger/account=%s/%s.jsonl", account, at.UTC().Format("2006-01"))
}

// LeadsOut reports whether a path leads out of the data directory, or is the data directory itself.
func LeadsOut(path string) bool { return !filepath.IsLocal(path) || path == "." }
