package remote

import (
	"fmt"

	"spendsync/load/manifest"
	"spendsync/schema"
)

// continues returns an error if a store does not continue the history in the bucket. A store continues it if one of the
// store's ledgers contains the run that published the bucket's generation.
func continues(dir string, m *manifest.Manifest, pointer *Pointer) error {
	isPublisher := func(r *schema.Run) bool { return r.RunID == pointer.RunID }
	for _, account := range m.AccountNames() {
		if run, err := manifest.LastRunThat(dir, account, isPublisher); run != nil || err != nil {
			return err
		}
	}
	return fmt.Errorf("this store does not know run %s, which published generation %d of the bucket: another store "+
		"has run since, this one was restored from a backup, or it is of another account: %w", pointer.RunID,
		pointer.Generation, ErrOtherHistory)
}
