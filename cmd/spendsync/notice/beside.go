package notice

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"spendsync/load/durable"
)

// Folder is a folder in the data directory for files that do not belong to a generation: the state of each account's
// notices, the last verified backup, and the buckets that a push has reached. If the folder is deleted, all current
// findings are reported again.
const Folder = "notices"

// Files about backups: the time of the last verified backup, and the last pushed generation by bucket address.
const (
	Verified = "backup.json"
	Pushed   = "pushed.json"
)

// maxNote is larger than any file in [Folder]: the largest has 500 messages of a few hundred bytes.
const maxNote = 16 << 20

// Read reads a file of [Folder] into v, which stays unchanged if there is no file.
func Read(d durable.Disk, dir, name string, v any) error {
	path := filepath.Join(dir, Folder, name)
	text, err := d.ReadFile(path, maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return durable.Damaged(path, "rm "+path, "it is not readable: %v", err)
	}
	return nil
}

// Write replaces a file of [Folder] durably. After a crash the file is either complete or unchanged.
func Write(d durable.Disk, dir, name string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, Folder, name)
	if err := d.MakeDirs(filepath.Dir(path)); err != nil {
		return err
	}
	if _, _, err := d.WriteFile(path+".new", append(text, '\n')); err != nil {
		return err
	}
	if err := d.Rename(path+".new", path); err != nil {
		return durable.Storage(err)
	}
	return d.SyncDir(filepath.Dir(path))
}
