package load

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/load/quarantine"
)

// Reset describes a finished reset of an account.
type Reset struct {
	Generation int64  `json:"generation"` // generation that lacks the account
	Aside      string `json:"aside"`      // path of the folder with the files, below the data directory
	Files      int    `json:"files"`      // number of moved files
}

// asideFolder is the folder in the data directory for files that were moved out of the store.
const asideFolder = "aside"

// Reset publishes a generation without the account, and moves the account's published files, ledger and quarantine
// aside. Nothing is deleted, and other accounts are unchanged. The change is a commit, so if the process dies, the
// store has either the complete account or nothing of it.
func (s *Store) Reset(ctx context.Context, runID string) (r Reset, err error) {
	a, err := s.Begin(runID)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, a.Discard()) }()
	err = s.whileLocked(ctx, func() (err error) {
		r, err = reset(ctx, s, a)
		return err
	})
	return r, err
}

func reset(ctx context.Context, s *Store, a *Area) (r Reset, err error) {
	n, err := without(s, a)
	if err != nil {
		return r, err
	}
	r.Generation = n.next.Generation
	r.Aside = asideFolder + "/" + s.account + "-" + s.opts.Now().UTC().Format("20060102T150405Z")
	if exists, err := s.opts.disk.Exists(filepath.Join(s.dir, r.Aside)); err != nil {
		return r, err
	} else if exists {
		return r, durable.Storage(fmt.Errorf("%s is there already: %w", r.Aside, fs.ErrExist))
	}
	if r.Files, err = n.moveAside(ctx, r.Aside); err != nil {
		return r, err
	}
	w := &warehouse{generation: n, fromNothing: true}
	defer func() { err = errors.Join(err, w.drop()) }()
	viewErrors, err := w.build(ctx)
	if err != nil {
		return r, err
	}
	for _, err := range viewErrors {
		s.opts.Log.Warn("a view could not be made; the next run tries again", "error", err)
	}
	if err := w.finish(ctx); err != nil {
		return r, err
	}
	removed := slices.Clone(n.files.removes)
	if err := n.commit(ctx); err != nil {
		return r, err
	}
	removeEmptyFolders(s, removed)
	return r, nil
}

// without returns the next generation, from which this account is removed.
func without(s *Store, a *Area) (*generation, error) {
	n, err := newGeneration(s, a, true)
	if err != nil {
		return nil, err
	}
	if n.base == nil || !slices.Contains(n.base.AccountNames(), s.account) {
		return nil, fmt.Errorf("%s has no account %s: %w", s.dir, s.account, durable.ErrEmpty)
	}
	n.next = n.base.Clone()
	n.head.Warehouse, n.head.Views = n.base.Warehouse, n.base.Views
	n.next.Head = n.head
	n.next.Drop(s.account)
	return n, nil
}

// moveAside stages copies of all files of the account, to be published below the given folder, and schedules the
// removal of the originals. Until the commit the published generation is complete.
func (n *generation) moveAside(ctx context.Context, folder string) (files int, err error) {
	s := n.store
	sizes, err := manifest.FilesIn(s.opts.disk, s.dir, s.account)
	if err != nil {
		return 0, err
	}
	quarantineRoot := path.Dir(quarantine.FolderOf(s.account))
	if err := manifest.AddFiles(s.opts.disk, s.dir, quarantineRoot, []string{s.account}, sizes); err != nil {
		return 0, err
	}
	for _, from := range slices.Sorted(maps.Keys(sizes)) {
		if !strings.Contains(from, "/account="+s.account+"/") {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		full, to := filepath.Join(s.dir, from), folder+"/"+from
		if info, err := s.opts.disk.Lstat(full); err != nil {
			return 0, durable.Storage(err)
		} else if !info.Mode().IsRegular() {
			return 0, durable.Damaged(from, manifest.MoveOut, "it is no file (%s)", info.Mode().Type())
		}
		if err := s.opts.disk.CopyInto(full, n.area.path(to)); err != nil {
			return 0, err
		}
		n.files.move(to)
		n.files.removes = append(n.files.removes, from)
		files++
	}
	return files, nil
}

// removeEmptyFolders removes the folders that the removed files have left empty. Failures are harmless.
func removeEmptyFolders(s *Store, removed []string) {
	for _, p := range removed {
		for dir := path.Dir(p); strings.Contains(dir, "/account="); dir = path.Dir(dir) {
			if s.opts.disk.Remove(filepath.Join(s.dir, dir)) != nil {
				break
			}
		}
	}
}
