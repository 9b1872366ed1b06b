package load

import (
	"context"

	"spendsync/load/duck"
	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// addAccountFiles writes the DuckDB file of each account that the generation may change, see [duck.AccountFile]. A
// store with a single account has no such file, so the file of an earlier generation is removed.
func (n *warehouse) addAccountFiles(ctx context.Context) error {
	several := len(n.next.AccountNames()) > 1
	if several && n.base != nil && len(n.base.AccountNames()) < 2 {
		if err := n.loadAll(); err != nil { // the account that was the only one until now needs a file of its own
			return err
		}
	}
	for _, account := range n.accounts() {
		path, files := duck.AccountFile(account), n.next.Accounts[account].Files
		if !several {
			if files[path] != nil {
				delete(files, path)
				n.files.removes = append(n.files.removes, path)
			}
			continue
		}
		if err := n.addAccountFile(ctx, account, path); err != nil {
			return err
		}
	}
	return nil
}

func (n *warehouse) addAccountFile(ctx context.Context, account, path string) error {
	disk, staged := n.store.opts.disk, n.area.path(path)
	if err := n.w.WriteAccount(ctx, staged, account); err != nil {
		return err
	}
	sha, size, err := disk.HashFile(staged)
	if err != nil {
		return err
	}
	if err := disk.SyncFile(staged); err != nil {
		return err
	}
	if err := disk.Chmod(staged, 0o444); err != nil {
		return durable.Storage(err)
	}
	n.files.enter(n.next.Accounts[account].Files, path, &manifest.File{Kind: manifest.KindDuckDB, Bytes: size,
		SHA256: sha, RunID: n.area.runID})
	return nil
}
