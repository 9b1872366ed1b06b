package pagedata

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"

	"spendsync/cmd/spendsync/page"
	"spendsync/load"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// parts are the accounts' parts of a report, each by a key of everything that it follows from.
type parts map[string]page.Account

// ReadAgain reads the report of all accounts. The part of an account that has not changed since an earlier call is not
// read but taken from the parts that the call returned.
func ReadAgain(ctx context.Context, dir string, o load.Options, before []byte) (r page.Page, after []byte, err error) {
	now := parts{}
	if r, err = read(ctx, dir, "", o, decodeParts(before), now); err != nil {
		return r, nil, err
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if err := json.NewEncoder(w).Encode(now); err != nil {
		return r, nil, err
	}
	err = w.Close()
	return r, b.Bytes(), err
}

// maxParts bounds the parts of a report, once they are decompressed: an account's are some 100 KB.
const maxParts = 1 << 30

// decodeParts returns no part if they cannot be read: then all of the report is read again.
func decodeParts(text []byte) parts {
	known := parts{}
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil || json.NewDecoder(io.LimitReader(r, maxParts)).Decode(&known) != nil {
		return parts{}
	}
	return known
}

// keyOf returns the key of an account's part: the hash of its files, the views, the program, and the day of the
// generation, which the ages of days follow from. It is empty if the manifest has no hash of the account.
func keyOf(m *manifest.Manifest, account string, o load.Options) string {
	part := m.Parts[account]
	if part == nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %s", []string{account, part.SHA256, m.Views,
		o.DuckDB.ViewsDefinition(), o.Version}, m.SchemaVersion, schema.DateOf(m.PublishedAt.Time())))
	return hex.EncodeToString(sum[:])
}
