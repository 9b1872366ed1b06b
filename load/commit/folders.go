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

// probeName is the empty file that tries a folder. It is renamed back at once.
const probeName = manifest.OwnPrefix + "probe" + StagedSuffix

// TryFolders refuses a store into whose folders a file cannot be renamed from the staging area: a started commit could
// never finish. Such a folder is a link or a mount, or belongs to another user.
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

// tryMoves does the same for every folder that a commit will touch, before its record is
// written.
func (p Place) tryMoves(r Record) error {
	d, dir := p.Disk, p.Dir
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

func targets(moves []Move) (paths []string) {
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

// refusedFolder explains why a commit could not end in a folder.
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
