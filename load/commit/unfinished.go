package commit

import (
	"path/filepath"

	"spendsync/load/durable"
	"spendsync/load/manifest"
	"spendsync/schema"
)

// Unfinished is a commit that has started and not finished: a run is working on it, or has died, or cannot finish it.
// Until the commit ends, some files may belong to the new generation while the manifest is the previous one.
type Unfinished struct {
	RunID      string         `json:"run_id"`
	Base       int64          `json:"base_generation"`
	Generation int64          `json:"generation"`
	Since      schema.Instant `json:"since"`
	Left       []string       `json:"files_left"` // files that are not in their places yet
}

// Find returns the unfinished commit of a store; nil if there is none. It takes no lock.
func Find(dir string) (*Unfinished, error) {
	r, err := Read(durable.OS, dir, nil)
	if r == nil || err != nil {
		return nil, err
	}
	u := &Unfinished{RunID: r.RunID, Base: r.Base, Generation: r.Generation}
	if info, err := durable.OS.Lstat(filepath.Join(dir, manifest.CommitName)); err == nil {
		u.Since = schema.InstantOf(info.ModTime())
	}
	for _, m := range r.Moves {
		if durable.Exists(filepath.Join(dir, m.From)) {
			u.Left = append(u.Left, m.To)
		}
	}
	return u, nil
}
