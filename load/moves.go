package load

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"spendsync/load/catalog"
	"spendsync/load/durable"
	"spendsync/schema"
)

// probeName is the empty file that tries a folder. It is renamed back at once.
const probeName = catalog.OwnPrefix + "probe" + stagedSuffix

// tryFolders refuses a store into whose folders a file cannot be renamed from the staging
// area: a commit that has begun could never end. Such a folder is a link or a mount, or
// somebody else's.
func (s *Store) tryFolders() error {
	probe := filepath.Join(s.dir, "staging", s.account+probeName)
	defer func() { _ = s.opts.disk.Remove(probe) }()
	for _, name := range append([]string{""}, catalog.Folders...) {
		folder := filepath.Join(s.dir, name)
		there, err := s.opts.disk.Exists(folder)
		if err != nil {
			return err
		}
		if there {
			if err := tryFolder(s.opts.disk, probe, folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// tryMoves does the same for every folder that a commit will touch, before its record is
// written.
func (g *Staged) tryMoves(r commitRecord) error {
	s := g.store
	folders := map[string]bool{}
	for _, path := range append(slices.Clone(r.Removes), targets(r.Moves)...) {
		folder := filepath.Dir(filepath.Join(s.dir, path))
		for folder != s.dir {
			there, err := s.opts.disk.Exists(folder)
			if err != nil {
				return err
			}
			if there {
				break
			}
			folder = filepath.Dir(folder)
		}
		folders[folder] = true
	}
	probe := filepath.Join(g.dir, probeName)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if err := tryFolder(s.opts.disk, probe, folder); err != nil {
			return err
		}
	}
	return nil
}

func targets(moves []move) (paths []string) {
	for _, m := range moves {
		paths = append(paths, m.To)
	}
	return paths
}

// tryFolder renames an empty file into a folder and back, as a commit would. The number
// of a device does not tell: a folder that is mounted from the same file system has the
// same one, and refuses the rename all the same.
func tryFolder(d durable.Disk, probe, folder string) error {
	f, err := d.OpenFile(probe, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return durable.Storage(err)
	}
	if err := f.Close(); err != nil {
		return durable.Storage(err)
	}
	there := filepath.Join(folder, probeName)
	if err := d.Rename(probe, there); err != nil {
		return refusedFolder(folder, err)
	}
	// Another account's run that tries the same folder may have taken it.
	if err := d.Rename(there, probe); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refusedFolder(folder, err)
	}
	return nil
}

// refusedFolder says why a commit could not end in a folder.
func refusedFolder(folder string, err error) error {
	switch {
	case errors.Is(err, syscall.EXDEV):
		err = fmt.Errorf("%s and the staging area are on different file systems or mounts; the store needs one: put "+
			"the folder itself in the place of the link or mount: %w", folder, err)
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("user %d may not rename files in %s, where others may have made folders; give it that right "+
			"(chown -R, or fsGroup in a pod): %w", os.Getuid(), folder, err)
	}
	return durable.Storage(err)
}

// moveFile moves one file to its place, or finds that it is there already. A place on
// another file system gets a copy: the commit has begun and has to end, though no other
// will begin there.
func moveFile(d durable.Disk, dir string, m move) error {
	from, to := filepath.Join(dir, m.From), filepath.Join(dir, m.To)
	if err := d.MakeDirs(filepath.Dir(to)); err != nil {
		return err
	}
	err := d.Rename(from, to)
	if errors.Is(err, syscall.EXDEV) {
		// The original stays until the commit has ended: the copy's name is not durable yet.
		err = d.CopyInto(from, to)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return durable.Storage(err)
	}
	there, err := d.Exists(to)
	if err != nil {
		return err
	}
	if !there {
		return durable.Damaged(m.To, durable.MendBackup, "a committed file is neither at %s nor in its place", m.From)
	}
	// An earlier start got this far before it died.
	return nil
}

// UnfinishedCommit is a commit that has begun and has not ended: a run is ending it right
// now, or died, or something stands in its way. Until it ends, some files may be those of
// its generation while the manifest is of the one before.
type UnfinishedCommit struct {
	RunID      string         `json:"run_id"`
	Base       int64          `json:"base_generation"`
	Generation int64          `json:"generation"`
	Since      schema.Instant `json:"since"`
	Left       []string       `json:"files_left"` // that are not in their places yet
}

// FindUnfinishedCommit looks for one, without a lock; nil: there is none.
func FindUnfinishedCommit(dir string) (*UnfinishedCommit, error) {
	r, err := readCommit(durable.OS, dir, nil)
	if r == nil || err != nil {
		return nil, err
	}
	u := &UnfinishedCommit{RunID: r.RunID, Base: r.Base, Generation: r.Generation}
	if info, err := durable.OS.Lstat(filepath.Join(dir, catalog.CommitName)); err == nil {
		u.Since = schema.InstantOf(info.ModTime())
	}
	for _, m := range r.Moves {
		if durable.Exists(filepath.Join(dir, m.From)) {
			u.Left = append(u.Left, m.To)
		}
	}
	return u, nil
}
