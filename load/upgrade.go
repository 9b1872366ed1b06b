package load

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"spendsync/load/durable"
	"spendsync/load/history"
	"spendsync/load/manifest"
	"spendsync/load/parquet"
	"spendsync/schema"
)

// upgrader converts the base's files of all accounts to this version of the tables.
type upgrader struct{ *generation }

// upgrade rewrites the Parquet files of every table whose columns have changed since the base was written, because
// readers that glob a folder expect one schema. It removes the stored replies of settings: only version 10 of the
// tables kept them.
func (n upgrader) upgrade() error {
	if n.base == nil || n.base.SchemaVersion == schema.Version {
		return nil
	}
	for _, account := range n.accounts() {
		if err := n.hashes(account); err != nil {
			return err
		}
		files := n.next.Accounts[account].Files
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if files[path].Kind == manifest.KindSettings { // each version's column raw has the replies too
				delete(files, path)
				n.files.removes = append(n.files.removes, path)
				continue
			}
			t := schema.Named(files[path].Table)
			if t == nil || t.FilesVersion() <= n.base.SchemaVersion || n.files.isStaged(path) {
				continue
			}
			if err := n.file(account, path, t); err != nil {
				return err
			}
		}
		if err := n.confirmations(account); err != nil {
			return err
		}
	}
	return nil
}

// labelsSince is the first version of the tables in which the hash of a day leaves out campaign names.
const labelsSince = 12

// hashes computes the hashes of all stored days again if the base was written before version labelsSince of the tables.
func (n upgrader) hashes(account string) error {
	if n.base.SchemaVersion >= labelsSince {
		return nil
	}
	a, disk := n.next.Accounts[account], n.store.opts.disk
	for _, date := range a.DayList() {
		path := manifest.TablePath(schema.SpendDaily.Table, account, date)
		if a.Files[path] == nil || n.files.isStaged(path) {
			continue
		}
		if err := manifest.CheckBytes(disk, n.store.dir, path, a.Files[path]); err != nil {
			return err
		}
		rows, err := manifest.ReadDay(disk, filepath.Join(n.store.dir, path), account, date)
		if err != nil {
			return err
		}
		day, err := history.OrderedDay(rows)
		if err != nil {
			return durable.Damaged(path, durable.RepairReplay, "%v", err)
		}
		a.Days[date].ContentHash = day.Hash()
	}
	return nil
}

// sourceBids is a key of [manifest.Account].Memory in version 11 of the tables. Its value has the time when the bids of
// each campaign were last read.
const sourceBids = "source_bids"

// confirmations creates the table of readings, which has the times when settings were last confirmed. With version 11
// of the tables, these times were in the manifest. If the run has staged readings already, the function only removes
// the times from the manifest.
func (n upgrader) confirmations(account string) error {
	a, path := n.next.Accounts[account], manifest.TablePath(schema.Readings.Table, account, 0)
	if len(a.Memory) == 0 {
		return nil
	}
	memory := n.base.Accounts[account].Memory
	if !n.files.isStaged(path) {
		readings, err := readingsOfMemory(n.store.opts.disk, n.store.dir, account, n.base.Accounts[account])
		if err != nil {
			return err
		}
		rows := readings.Rows(account, n.area.runID)
		info, err := n.area.putRecords(path, schema.Readings.Table, parquet.Record(schema.Readings, rows))
		if err != nil {
			return err
		}
		n.files.enter(a.Files, path, info)
	}
	for table := range memory {
		a.Memory[table] = a.Memory[table].Forget()
	}
	delete(a.Memory, sourceBids)
	return nil
}

// readingsOfMemory returns the times when an account's settings were last confirmed, from a manifest that was written
// with version 11 of the tables.
func readingsOfMemory(d durable.Disk, dir, account string, a *manifest.Account) (history.Readings, error) {
	readings := history.Readings{}
	for campaign, at := range a.Memory[sourceBids].Exceptions {
		readings[schema.Place{CampaignID: campaign, Part: schema.RuleBid}] = at
	}
	for i := range versionedTables {
		h := &versionedTables[i]
		path := manifest.TablePath(h.table, account, 0)
		if a.Files[path] == nil {
			continue
		}
		if err := h.confirmed(d, filepath.Join(dir, path), a.Memory[h.table.Name], readings); err != nil {
			return nil, err
		}
	}
	bids := a.Memory[sourceBids]
	for p := range readings.Wholes() {
		place := schema.Place{CampaignID: p.CampaignID, Part: schema.RuleBid}
		if _, ok := readings[place]; p.Part == schema.PartMode && !ok && bids.ConfirmedAt != 0 {
			readings[place] = bids.ConfirmedAt
		}
	}
	maps.DeleteFunc(readings, func(_ schema.Place, at schema.Instant) bool { return at == 0 })
	return readings, nil
}

// file rewrites a published file with the columns of this version.
func (n upgrader) file(account, path string, t *schema.Table) error {
	disk, a := n.store.opts.disk, n.next.Accounts[account]
	full, published := filepath.Join(n.store.dir, path), a.Files[path]
	err := manifest.CheckBytes(disk, n.store.dir, path, published)
	if err != nil {
		return err
	}
	var unread error
	write := func(out io.Writer) (int64, error) {
		return parquet.Write(out, t, parquet.UntilError(parquet.Records(disk, full, t), &unread))
	}
	if h := versionedTable(t.Name); h != nil {
		if write, a.Memory[t.Name], err = h.upgrade(disk, full, a.Memory[t.Name]); err != nil {
			return err
		}
	}
	info, err := n.area.putFile(path, t, write)
	if err = cmp.Or(err, unread); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if info.Rows != published.Rows {
		return fmt.Errorf("%s: %d rows were written of %d: %w", path, info.Rows, published.Rows, durable.ErrDamaged)
	}
	info.Day = published.Day
	n.files.enter(a.Files, path, info)
	return nil
}
