package notice

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"spendsync/load/durable"
)

// backupName is the file, beside the store, that records when a backup was last verified.
const backupName = "backup.json"

type backup struct {
	VerifiedAt time.Time `json:"verified_at"`
}

// NoteBackup records that a backup of the store was verified.
func NoteBackup(d durable.Disk, dir string, at time.Time) error {
	b, err := json.Marshal(backup{at.UTC()})
	if err != nil {
		return err
	}
	if err := d.MakeDirs(filepath.Join(dir, Folder)); err != nil {
		return err
	}
	return replace(d, filepath.Join(dir, Folder, backupName), b)
}

// BackupVerified returns when a backup was last verified; zero: never.
func BackupVerified(d durable.Disk, dir string) (at time.Time, err error) {
	path := filepath.Join(dir, Folder, backupName)
	text, err := d.ReadFile(path, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return at, nil
	}
	var b backup
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		return at, fmt.Errorf("%s: %w", path, err)
	}
	return b.VerifiedAt, nil
}

// replace replaces a file durably: afterwards the file is complete, or unchanged.
func replace(d durable.Disk, path string, content []byte) error {
	aside := path + ".new"
	if _, _, err := d.WriteFile(aside, append(content, '\n')); err != nil {
		return err
	}
	if err := d.Rename(aside, path); err != nil {
		return durable.Storage(err)
	}
	return d.SyncDir(filepath.Dir(path))
}
