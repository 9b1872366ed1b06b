package commit

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"spendsync/load/durable"
	"spendsync/load/manifest"
)

// probeName is the name of the empty file that is renamed into a folder and back, to test the folder.
const probeName = manifest.OwnPrefix + "probe" + StagedSuffix

// TryFolders tries to rename a file from the staging area into each top-level folder of the store. It returns an error
// if that fails, because a started commit could then never finish. The usual reasons are a link, a mount, and a folder
// of another user.
func TryFolders(d durable.Disk, dir, account string) error {
	probe := filepath.Join(dir, "staging", account+probeName)
	defer func() { _ = d.Remove(probe) }()
	for _, name := range append([]string{""}, manifest.Folders...) {
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

// tryMoves makes the test of [TryFolders] in the folders that the commit will change.
func (p Place) tryMoves(r Record) error {
	d, dir := p.Disk, p.Dir
	folders := map[string]bool{}
	paths := slices.Clone(r.Removes)
	for _, m := range r.Moves {
		paths = append(paths, m.To)
	}
	for _, path := range paths {
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

// tryFolder renames an empty file into a folder and back, as a commit would. Comparing device numbers is not enough: a
// bind mount of the same file system has the same number, and still refuses the rename.
func tryFolder(d durable.Disk, probe, folder string) error {
	f, err := d.OpenFile(probe, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return durable.Storage(err)
	}
	if err := f.Close(); err != nil {
		return durable.Storage(err)
	}
	moved := filepath.Join(folder, probeName)
	if err := d.Rename(probe, moved); err != nil {
		return refusedFolder(folder, err)
	}
	// If the file is gone, another account's run that tests the same folder has moved it.
	if err := d.Rename(moved, probe); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return refusedFolder(folder, err)
	}
	return nil
}

// refusedFolder explains why files cannot be renamed into a folder.
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
