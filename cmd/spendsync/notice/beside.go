package notice

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"spendsync/load/durable"
)

// Folder is the folder of the data directory with what is noted beside a store: the state of each account's notices,
// the last verified backup, and the buckets to which a push has ended. It is no part of a generation. If it is deleted,
// all current findings are reported again.
const Folder = "notices"

// The notes about backups: the instant of the last verified one, and the last pushed generation by the bucket's
// address.
const (
	Verified = "backup.json"
	Pushed   = "pushed.json"
)

// maxNote exceeds any note: 500 messages of a few hundred bytes.
const maxNote = 16 << 20

// Read reads a note beside a store into v, which stays as it is if there is none.
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

// Write replaces a note durably: afterwards it is complete, or unchanged.
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
