package notice

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"spendsync/load/durable"
)

// Folder is a folder in the data directory. It has files that are not part of a generation: the notices of each
// account, the time of the last verified backup, and the buckets to which a push has copied the store. If the folder is
// deleted, all current findings are reported again, unless a bucket has the notices, too.
const Folder = "notices"

// Verified is the file with the time of the last verified backup. Pushed is the file with the last generation that was
// pushed to each bucket.
const (
	Verified = "backup.json"
	Pushed   = "pushed.json"
)

// StateOf returns the name of the file with the state of an account's notices.
func StateOf(account string) string { return "account=" + account + ".json" }

// maxNote is larger than any file in [Folder]. The largest has up to 500 messages of a few hundred bytes for each
// receiver.
const maxNote = 16 << 20

// Read decodes a JSON file of [Folder] into v. If there is no file, v stays unchanged.
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

// Write encodes v as a JSON file of [Folder]. After a crash the file is either the new one or the old one.
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
