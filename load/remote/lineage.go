package remote

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// continues returns an error if a store does not continue the history in the bucket: if none of its ledgers contains
// the run that published the bucket's generation.
func continues(dir string, m *manifest.Manifest, pointer *Pointer) error {
	var ledgers []string
	for _, a := range m.Accounts {
		ledgers = slices.AppendSeq(ledgers, maps.Keys(a.Ledger))
	}
	// Newest ledgers first: the run is nearly always a recent one.
	slices.SortFunc(ledgers, func(a, b string) int { return strings.Compare(path.Base(b), path.Base(a)) })
	for _, ledger := range ledgers {
		if isListed, err := durable.OS.Contains(filepath.Join(dir, ledger), pointer.RunID); isListed || err != nil {
			return err
		}
	}
	return fmt.Errorf("this store does not know run %s, which published generation %d of the bucket: another store "+
		"has run since, this one was restored from a backup, or it is of another account: %w", pointer.RunID,
		pointer.Generation, ErrOtherHistory)
}
