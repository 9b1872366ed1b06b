package load

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// upgradeFiles writes again every Parquet file of a table that has changed since the version of the base, of every
// account: a folder has files of one schema, since readers of several files refuse others or drop columns. It removes
// the replies of the settings that version 10 kept.
func (n *generation) upgradeFiles() error {
	if n.base == nil || n.base.SchemaVersion == schema.Version {
		return nil
	}
	for _, account := range n.accounts() {
		files := n.next.Accounts[account].Files
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if files[path].Kind == manifest.KindSettings { // each version has its JSON
				delete(files, path)
				n.files.removes = append(n.files.removes, path)
				continue
			}
			t := schema.Named(files[path].Table)
			if t == nil || t.FilesVersion() <= n.base.SchemaVersion || n.files.isStaged(path) {
				continue
			}
			if err := n.upgradeFile(account, path, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// upgradeFile writes a published file again.
func (n *generation) upgradeFile(account, path string, t *schema.Table) error {
	disk, a := n.store.opts.disk, n.next.Accounts[account]
	full, was := filepath.Join(n.store.dir, path), a.Files[path]
	err := manifest.CheckBytes(disk, n.store.dir, path, was)
	if err != nil {
		return err
	}
	var unread error
	recs := parquet.UntilError(parquet.Records(disk, full, t), &unread)
	if h := versionedTable(t.Name); h != nil {
		if recs, a.Confirmations[t.Name], err = h.upgrade(disk, full, a.Confirmations[t.Name]); err != nil {
			return err
		}
	}
	info, err := n.area.putPart(path, t, recs)
	if err = cmp.Or(err, unread); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if info.Rows != was.Rows {
		return fmt.Errorf("%s: %d rows were written of %d: %w", path, info.Rows, was.Rows, durable.ErrDamaged)
	}
	info.Day = was.Day
	n.files.enter(a.Files, path, info, true)
	return nil
}
