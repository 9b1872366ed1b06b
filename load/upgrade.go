package load

import (
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
			if t == nil || t.FilesVersion() <= n.base.SchemaVersion {
				continue
			}
			if err := n.upgradeFile(account, path, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// upgradeFile writes one file again, unless this run has written it.
func (n *generation) upgradeFile(account, path string, t *schema.Table) error {
	disk, a := n.g.store.opts.disk, n.next.Accounts[account]
	dir, name := n.files.whereIs(path)
	full, was := filepath.Join(dir, name), a.Files[path]
	version, err := parquet.Version(disk, full)
	if version == t.FilesVersion() || err != nil {
		return err
	}
	if !n.files.isStaged(path) {
		if err := manifest.CheckBytes(disk, dir, path, was); err != nil {
			return err
		}
	}
	recs := parquet.Records(disk, full, t)
	if h := versionedTable(t.Name); h != nil {
		if recs, a.Confirmations[t.Name], err = h.upgrade(disk, full, a.Confirmations[t.Name]); err != nil {
			return err
		}
	}
	into := "again/" + path // the staged file may be the one that is read
	info, err := n.g.area.putAnswer(into, t, recs)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if info.Rows != was.Rows {
		return fmt.Errorf("%s: %d rows were written of %d: %w", path, info.Rows, was.Rows, durable.ErrDamaged)
	}
	if err := disk.Rename(n.g.area.path(into), n.g.area.path(path)); err != nil {
		return durable.Storage(err)
	}
	info.Day = was.Day
	n.files.enter(a.Files, path, info, true)
	return nil
}
