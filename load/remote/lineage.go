package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// accountsOf are what a later generation must continue.
func accountsOf(m *manifest.Manifest) map[string]Account {
	all := map[string]Account{}
	for _, name := range m.AccountNames() {
		a := m.Accounts[name]
		is := Account{Pinned: a.Pinned, Days: len(a.Days), Rows: map[string]int64{}, Ledger: map[string]Object{}}
		for _, f := range a.Files {
			if keepsHistory(f.Table) {
				is.Rows[f.Table] += f.Rows
			}
		}
		for path, size := range a.Ledger {
			is.Ledger[path] = Object{path, size, a.LedgerSHA256[path]}
		}
		all[name] = is
	}
	return all
}

// keepsHistory reports whether a table never loses a row.
func keepsHistory(table string) bool {
	return table == schema.SpendChanges.Name || table == schema.TrackerChanges.Name ||
		strings.HasSuffix(table, "_history")
}

// sharesAccount returns an error if a store is another advertiser's: it has none of the accounts in the bucket, or one
// of them is pinned to another advertiser account.
func sharesAccount(now map[string]Account, was *Pointer) error {
	var common []string
	for _, name := range slices.Sorted(maps.Keys(was.Accounts)) {
		is, ok := now[name]
		if !ok {
			continue
		}
		common = append(common, name)
		before := was.Accounts[name]
		if before.Pinned != "" && is.Pinned != "" && before.Pinned != is.Pinned {
			return fmt.Errorf("account %s of the bucket is advertiser account %s, and of this store %s: %w", name,
				before.Pinned, is.Pinned, ErrOtherHistory)
		}
	}
	if len(common) == 0 && len(was.Accounts) > 0 {
		return fmt.Errorf("the bucket has the accounts %s, and this store %s: %w",
			strings.Join(slices.Sorted(maps.Keys(was.Accounts)), ", "),
			strings.Join(slices.Sorted(maps.Keys(now)), ", "), ErrOtherHistory)
	}
	return nil
}

// continues returns an error if a generation of a store does not continue the one in the bucket. The
// ledger proves it: its lines are only ever added to.
func continues(dir string, now map[string]Account, was *Pointer) error {
	for _, name := range slices.Sorted(maps.Keys(was.Accounts)) {
		before := was.Accounts[name]
		is, ok := now[name]
		switch {
		case !ok:
			return fmt.Errorf("account %s of the bucket is not in this store: %w", name, ErrOtherHistory)
		case is.Days < before.Days:
			return fmt.Errorf("account %s has %d days, and %d in the bucket: %w", name, is.Days, before.Days,
				ErrOtherHistory)
		}
		for _, table := range slices.Sorted(maps.Keys(before.Rows)) {
			if is.Rows[table] < before.Rows[table] {
				return fmt.Errorf("account %s: %s has %d rows, and %d in the bucket: %w", name, table,
					is.Rows[table], before.Rows[table], ErrOtherHistory)
			}
		}
		for _, path := range slices.Sorted(maps.Keys(before.Ledger)) {
			if err := continuesLedger(dir, is.Ledger[path], before.Ledger[path]); err != nil {
				return err
			}
		}
	}
	return nil
}

// continuesLedger compares the part of a ledger that the bucket has with the beginning of the store's.
func continuesLedger(dir string, is, before Object) error {
	if is == before || before.SHA256 == "" {
		return nil
	}
	differs := fmt.Errorf("%s does not begin with the %d bytes that the bucket has: another store has run since, or "+
		"this one was restored from a backup: %w", before.Name, before.Bytes, ErrOtherHistory)
	if is.Bytes < before.Bytes {
		return differs
	}
	f, err := os.Open(filepath.Join(dir, before.Name))
	if errors.Is(err, os.ErrNotExist) {
		return differs
	} else if err != nil {
		return durable.Storage(err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.CopyN(sum, f, before.Bytes); errors.Is(err, io.EOF) {
		return differs
	} else if err != nil {
		return durable.Storage(err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != before.SHA256 {
		return differs
	}
	return nil
}
