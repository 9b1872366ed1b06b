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

// enter enters a staged file into the files of an account.
func (f *filing) enter(files map[string]*manifest.File, path string, info *manifest.File) {
	files[path] = info
	f.move(path)
}

// enterPartition enters a staged partition of a table. The published file stays if its content is the same, unless all
// must be rewritten: it may be damaged.
func (f *filing) enterPartition(files map[string]*manifest.File, path string, info *manifest.File, all bool) (
	entered bool, err error) {
	old := files[path]
	if info.Rows == 0 && old == nil || old != nil && old.SHA256 == info.SHA256 && !all && !f.isStaged(path) {
		return false, f.store.opts.disk.RemoveIfThere(f.area.path(path))
	}
	f.enter(files, path, info)
	return true, nil
}

// move lets a staged file take its place.
func (f *filing) move(path string) {
	if f.isStaged(path) {
		return // written again
	}
	from, _ := filepath.Rel(f.store.dir, f.area.path(path))
	f.moves = append(f.moves, commit.Move{From: from, To: path})
}

// isStaged reports whether this run brings a new file for a published path.
func (f *filing) isStaged(path string) bool {
	return slices.ContainsFunc(f.moves, func(m commit.Move) bool { return m.To == path })
}

// whereIs returns the folder and the name of a file of the generation.
func (f *filing) whereIs(path string) (dir, name string) {
	if f.isStaged(path) {
		return f.area.dir, filepath.Base(f.area.path(path))
	}
	return f.store.dir, path
}
