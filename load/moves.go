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
func tryFolders(d durable.Disk, dir, account string) error {
	probe := filepath.Join(dir, "staging", account+probeName)
	defer func() { _ = d.Remove(probe) }()
	for _, name := range append([]string{""}, catalog.Folders...) {
		folder := filepath.Join(dir, name)
		there, err := d.Exists(folder)
		if err != nil {
			return err
		}
		if there {
			if err := tryFolder(d, probe, folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// tryMoves does the same for every folder that a commit will touch, before its record is
// written.
func tryMoves(d durable.Disk, dir string, r commitRecord) error {
	folders := map[string]bool{}
	for _, path := range append(slices.Clone(r.Removes), targets(r.Moves)...) {
		folder := filepath.Dir(filepath.Join(dir, path))
		for folder != dir {
			there, err := d.Exists(folder)
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
	probe := filepath.Join(dir, r.Staging, probeName)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if err := tryFolder(d, probe, folder); err != nil {
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
// of a device does not show that: a folder that is mounted from the same file system has the
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
