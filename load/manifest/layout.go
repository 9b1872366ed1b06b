package manifest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"spendsync/schema"
)

// FileName is the file that names the published generation.
const FileName = "manifest.json"

// WarehouseName is the name of the DuckDB file in a data directory.
const WarehouseName = "warehouse.duckdb"

// CommitName is the record of a commit under way. While it exists, the run that
// it names is committed and its files are on their way to their places.
const CommitName = "commit.json"

// accountPath is the path of the account file with the given content hash.
func accountPath(account, sha256 string) string {
	return "manifest/account=" + account + "/" + sha256 + ".json"
}

// PartPath is the path of a table's file of an account and day, below the data directory. Account names are
// checked and days are ours, so no text of the service is ever part of a path.
func PartPath(t *schema.Table, account string, day schema.Date) string {
	dir := "parquet/" + t.Name + "/account=" + account
	if t.Partition != schema.ByAccount {
		dir += "/" + string(t.Partition) + "=" + day.String()
	}
	return dir + "/data.parquet"
}

// RawPath is the path of a stored reply of a day. Pages are counted from 1.
func RawPath(account string, day schema.Date, page int) string {
	return fmt.Sprintf("raw/spend_report/account=%s/day=%s/%04d.json.zst", account, day, page)
}

// ByPage orders the paths of the replies of a day by their pages: page 10,000 follows page 9,999.
func ByPage(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }

// LedgerPath is the path of the account's ledger of a month (UTC).
func LedgerPath(account string, at time.Time) string {
	return fmt.Sprintf("ledger/account=%s/%s.jsonl", account, at.UTC().Format("2006-01"))
}

// LeadsOut reports whether a path in a record is outside of the store.
func LeadsOut(path string) bool { return !filepath.IsLocal(path) || path == "." }
