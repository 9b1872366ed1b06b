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

// enter enters a file into the files of an account. A file that is not staged is in its place.
func (f *filing) enter(files map[string]*manifest.File, path string, info *manifest.File, staged bool) {
	files[path] = info
	if staged {
		f.move(path)
	}
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
