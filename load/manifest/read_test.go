package manifest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"spendsync/load/durable"
)

// racing is a disk that calls a function right before a file is opened.
type racing struct {
	durable.FS
	before func(path string)
}

func (r racing) OpenFile(path string, flag int, perm fs.FileMode) (durable.File, error) {
	r.before(path)
	return r.FS.OpenFile(path, flag, perm)
}

// TestRead_MeetsACommit: if a commit removes an account file after the old root was read, the new generation is read. A
// file that stays missing is damage.
func TestRead_MeetsACommit(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, large())
	was, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	next := was.Clone()
	next.Generation++
	next.Accounts["account-2"].Pinned = "A1"
	old := filepath.Join(dir, was.AccountFiles["account-2"].Path)
	commit := func(path string) {
		if path != old || next == nil {
			return
		}
		put(t, dir, next)
		next = nil
		if err := os.Remove(old); err != nil {
			t.Fatal(err)
		}
	}
	m, err := ReadAccounts(durable.Disk{FS: racing{durable.OS.FS, commit}}, dir, nil, "account-2", "unknown")
	if err != nil || m.Generation != was.Generation+1 || !slices.Equal(m.LoadedNames(), []string{"account-2"}) ||
		m.Accounts["account-2"].Pinned != "A1" || len(m.AccountNames()) != 5 {
		t.Errorf("%+v, %v", m, err)
	}
	if again, err := ReadAccounts(durable.OS, dir, m, "account-2"); err != nil || again != m {
		t.Errorf("the same generation is read again: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, m.AccountFiles["account-1"].Path)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); !errors.Is(err, durable.ErrDamaged) {
		t.Errorf("without a file: %v", err)
	}
	if _, err := ReadAccounts(durable.OS, dir, nil, "account-2"); err != nil {
		t.Errorf("without the file of another account: %v", err)
	}
}
