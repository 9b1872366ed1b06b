package load

import (
	"path/filepath"
	"slices"

	"spendsync/load/commit"
	"spendsync/load/manifest"
)

// filing collects the staged files that a generation adds, and the published files that it removes.
type filing struct {
	store   *Store
	area    *Area
	moves   []commit.Move
	removes []string
}

// enter adds a staged file to the files of an account.
func (f *filing) enter(files map[string]*manifest.File, path string, info *manifest.File) {
	files[path] = info
	f.move(path)
}

// enterPartition adds a staged partition of a table. If the published file has the same content and all == false, the
// published file is kept. If all == true, the staged file replaces it, because the published file may be damaged. An
// empty partition that was never published is dropped.
func (f *filing) enterPartition(files map[string]*manifest.File, path string, info *manifest.File, all bool) (
	entered bool, err error) {
	old := files[path]
	if info.Rows == 0 && old == nil || old != nil && old.SHA256 == info.SHA256 && !all && !f.isStaged(path) {
		return false, f.store.opts.disk.RemoveIfThere(f.area.path(path))
	}
	f.enter(files, path, info)
	return true, nil
}

// move schedules the move of a staged file to its published path.
func (f *filing) move(path string) {
	if f.isStaged(path) {
		return // the file was staged twice
	}
	from, _ := filepath.Rel(f.store.dir, f.area.path(path))
	f.moves = append(f.moves, commit.Move{From: from, To: path})
}

// isStaged reports whether this run has staged a file for a published path.
func (f *filing) isStaged(path string) bool {
	return slices.ContainsFunc(f.moves, func(m commit.Move) bool { return m.To == path })
}

// whereIs returns the folder and the name under which a file of the generation is now, staged or published.
func (f *filing) whereIs(path string) (dir, name string) {
	if f.isStaged(path) {
		return f.area.dir, filepath.Base(f.area.path(path))
	}
	return f.store.dir, path
}
